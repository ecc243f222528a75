"""Local recoding: every class has labels of its own; and cell suppression, its case without hierarchies."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from discreet.core.catalogue import Checked, check_parameters, declare, parameter
from discreet.core.exact import Number, exact
from discreet.core.families import QUALITIES, RECODERS
from discreet.core.table import Table
from discreet.errors import BadInput
from discreet.models.classes import Flags, Integers
from discreet.models.k_anonymity import KAnonymity
from discreet.models.model import Model
from discreet.noise.entropy import SYSTEM, Entropy
from discreet.releases.method import Progress
from discreet.utility.quality import Floats, Granularity, Precision, figures
from discreet.verbs.publish.recoding import Recoding, allowed_suppressions, require_quasi
from discreet.verbs.publish.tuples import (
    GONE,
    Labels,
    Levels,
    PruningRules,
    Tuples,
    check_of,
    local_models,
    mapping,
    refusal,
    tuples_of,
)

WARNING = (
    "Classes were formed to minimise information loss, which reveals something about their content: a coarse "
    "label implies that no finer one was possible (combinatorial refinement, arXiv 2509.03350). The choice "
    "among similarly good groupings was random, which weakens but does not remove this. Full-domain "
    "generalisation reveals less."
)


@declare(RECODERS, "local", rank=1)
class LocalRecode:
    """Group rows into classes that lose little, and give each class the finest labels all its members share.

    Labels are those of the hierarchies; the same value may get different ones in different classes, so much less is
    lost than when whole columns are generalised. All models hold: every class is judged by the labels that are
    released. With k-anonymity alone the result is locally optimal: no row can be moved to another class or suppressed,
    and no class split by a finer label, without losing more (rows with equal values stay together).

    At most a share ``suppress`` of the rows is suppressed, exactly. ``effort`` is how often, for each class, a few
    classes near each other are put together anew; with a ``time_limit`` in seconds the best found until then is taken.

    Why this is private: as its models are; nothing else is promised. Utility-optimising recoding of classes can be
    exploited by combinatorial refinement attacks (arXiv 2509.03350); see ``WARNING``, which every recipe repeats.
    """

    own_labels: ClassVar[bool] = True
    suppress: Number = parameter("Maximum share of rows suppressed, such as 5%.", default=0, least=0, most=1)
    quality: Granularity | Precision = parameter(
        "Information loss to minimise.", default_factory=Granularity, family=QUALITIES
    )
    effort: int = parameter("Ruin-and-recreate rounds per class.", default=16, least=0)
    time_limit: float | None = parameter(
        "Time limit of the search, seconds; the best result so far is used.", default=None, least=0
    )
    entropy: Entropy = field(default=SYSTEM, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_parameters(self)
        arithmetic = isinstance(self.quality, Granularity) and self.quality.mean == "arithmetic"
        if not arithmetic and not isinstance(self.quality, Precision):
            raise BadInput(
                f"Local recoding needs a loss that is a sum over cells, not {self.quality}.",
                hint='Use Granularity() or Precision(); Granularity("geometric") is for Generalize.',
            )

    def recode(self, table: Table, require: Sequence[Model], progress: Progress | None = None) -> Recoding:
        """The best classes found for which all models hold; an error if there are none."""

        def losses(tuples: Tuples) -> list[Floats]:
            return [self.quality.cells(tuples, column) for column in range(len(tuples.names))]

        tuples, found = _group_tuples(self, table, require, losses, progress)
        return found.recoding(
            self,
            tuples,
            self.quality.loss(tuples, found.levels, found.groups, found.kept),
            {"measure": str(self.quality)},
            (
                f"{len(tuples.counts):,} distinct combinations of values were grouped into {int(found.kept.sum()):,} "
                f"classes with low {self.quality}; each class got the finest labels that all its members share.",
            ),
        )


@declare(RECODERS, "suppress-cells", rank=3)
class SuppressCells(Checked):
    """Suppress as few cells as can be found, so that all models hold. No hierarchies are used.

    A suppressed cell is ``*``, and that is a value of its own: it is like other suppressed cells, and like nothing
    else. So every class that can be seen in the release satisfies the models. Other tools let a missing value match
    anything, and suppress fewer cells; who takes such a table at its word finds classes that are too small.

    Rows with equal values stay together, so a rare value may take a frequent one along; allowing some rows to be
    suppressed as a whole helps against that.

    ``weights`` says how much a cell of a column counts (1, if nothing is said): cells of a column with a large weight
    are kept before others. At most a share ``suppress`` of the rows is left out as a whole. ``effort`` and
    ``time_limit`` are those of ``LocalRecode``, of which this is the case of hierarchies without inner levels; and
    so is what is locally optimal.

    Why this is private: as its models are; nothing else is promised.
    """

    own_labels: ClassVar[bool] = True
    weights: Mapping[str, Number] = parameter("Weight of a column's cells.", default_factory=dict, above=0)
    suppress: Number = parameter("Maximum share of rows suppressed, such as 5%.", default=0, least=0, most=1)
    effort: int = parameter("Ruin-and-recreate rounds per class.", default=16, least=0)
    time_limit: float | None = parameter(
        "Time limit of the search, seconds; the best result so far is used.", default=None, least=0
    )
    entropy: Entropy = field(default=SYSTEM, repr=False, compare=False)

    def recode(self, table: Table, require: Sequence[Model], progress: Progress | None = None) -> Recoding:
        """The cells to suppress so that all models hold; an error if that cannot be."""
        quasi = table.quasi()
        require_quasi(self.weights, quasi)
        columns = tuple(replace(c, hierarchy=None) if c.name in quasi else c for c in table.card.columns)
        weights = {name: exact(self.weights.get(name, 1), f"The weight of {name}") for name in quasi}
        total = sum(weights.values())

        def losses(tuples: Tuples) -> list[Floats]:
            shares = [float(weights[name]) * len(weights) / float(total) for name in tuples.names]
            return [np.outer([0.0, share], np.ones(len(own))) for share, own in zip(shares, tuples.values, strict=True)]

        plain = replace(table, card=replace(table.card, columns=columns))
        tuples, found = _group_tuples(self, plain, require, losses, progress)
        starred = dict(zip(tuples.names, map(int, found.levels @ tuples.counts), strict=True))
        counted = sum(weight * (starred[name] + found.suppressed) for name, weight in weights.items())
        cells, listed = sum(starred.values()), ", ".join(f"{name} {count:,}" for name, count in starred.items())
        made = found.recoding(
            self,
            tuples,
            float(counted / (total * max(tuples.rows, 1))),
            {"weights": weights, "suppressed_cells": starred},
            (
                f"{cells:,} of {tuples.rows * len(tuples.names):,} cells became *: {listed}.",
                "A suppressed cell counts as a separate value, equal only to other suppressed cells.",
            ),
        )
        return replace(made, quality={"suppressed cells": float(cells), **made.quality})


@dataclass(frozen=True)
class Grouped:
    """Tuples in classes, with their labels."""

    levels: Levels
    groups: Integers
    """The class of each tuple, as far as labels tell."""
    kept: Flags
    """Whether a class is kept."""
    mapping: pa.Table
    suppressed: int
    settled: bool
    """Whether the grouping is locally optimal."""
    bound: float | None
    """Lower bound on the loss, as a share of all; ``None``: not known."""

    def recoding(
        self,
        method: LocalRecode | SuppressCells,
        tuples: Tuples,
        loss: float,
        parameters: Mapping[str, Any],
        steps: tuple[str, ...],
    ) -> Recoding:
        """The classes as a recoding, with what both methods say of them."""
        ending = (
            "The grouping is locally optimal: no move of a combination to another class, and no split of a "
            "class by a finer label, loses less."
        )
        if not self.settled:
            hurried = method.time_limit is not None
            until = "as long as time and models allowed" if hurried else "by many steps, not all possible ones"
            ending = f"Classes were improved {until}; a single step might still improve them."
        return Recoding(
            mapping=self.mapping,
            suppressed=self.suppressed,
            loss=loss,
            quality=figures(tuples, self.levels, self.groups, self.kept),
            parameters={
                "suppress": exact(method.suppress, "suppress"),
                "effort": method.effort,
                "time_limit": method.time_limit,
                "locally_optimal": self.settled,
                **parameters,
            },
            steps=(*steps, ending, f"{self.suppressed:,} of {tuples.rows:,} rows were suppressed as a whole.", WARNING),
            gap=None if self.bound is None else max(loss - self.bound, 0.0),
        )


def _group_tuples(
    method: LocalRecode | SuppressCells,
    table: Table,
    require: Sequence[Model],
    losses: Callable[[Tuples], Sequence[Floats]],
    progress: Progress | None,
) -> tuple[Tuples, Grouped]:
    """Tuples in classes that lose little by ``losses`` (what a label loses in each column, (levels, values))."""
    from discreet.verbs.publish.clusters import Found, Search, Terms  # compiled, which takes a moment
    from discreet.verbs.publish.partition import by_hierarchy

    until = None if method.time_limit is None else time.monotonic() + method.time_limit
    models = local_models(require, table.quasi())
    tuples = tuples_of(table, sorted({name for model in models for name in model.sensitive}))
    labels, limit = Labels(tuples), min(allowed_suppressions(method.suppress, tuples.rows), max(tuples.rows - 1, 0))
    check = check_of(tuples, models, lambda of: labels.alike(of, labels.levels(of)))
    plain = all(isinstance(model, KAnonymity) for model in models)
    terms = Terms(PruningRules(models, limit).smallest, limit, None if plain else check, method.effort, until)
    layout = by_hierarchy(tuples, losses(tuples))
    found: Found | None = Found(np.zeros(0, dtype=np.int64), settled=True, bound=0)
    if tuples.rows:
        found = Search(layout.points, terms, method.entropy).run(progress)
    if found is None or check(found.of).any():
        raise refusal(tuples, models)
    of, levels = found.of, labels.levels(found.of)
    groups = labels.alike(of, levels)
    kept = np.zeros(int(groups.max(initial=-1)) + 1, dtype=np.bool_)
    kept[groups[of != GONE]] = True
    return tuples, Grouped(
        levels,
        groups,
        kept,
        mapping(tuples, labels.cells(of, levels), of != GONE),
        int(tuples.counts[of == GONE].sum()),
        found.settled,
        None if found.bound is None else found.bound / layout.scale / max(tuples.rows, 1),
    )
