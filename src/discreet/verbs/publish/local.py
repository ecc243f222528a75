"""Local recoding: every class has labels of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import pyarrow as pa

from discreet.core.catalogue import check_parameters, declare, parameter
from discreet.core.exact import Number, exact
from discreet.core.families import QUALITIES, RECODERS
from discreet.core.table import Table
from discreet.errors import BadInput
from discreet.models.classes import Flags, Integers
from discreet.models.k_anonymity import KAnonymity
from discreet.models.model import Model
from discreet.noise.entropy import SYSTEM, Entropy
from discreet.utility.quality import Floats, Granularity, Precision, figures
from discreet.verbs.publish import tuple_recoding
from discreet.verbs.publish.clustering_cost import by_hierarchy
from discreet.verbs.publish.clusters import Effort, Found, Search, Terms
from discreet.verbs.publish.model_pruning import Rules
from discreet.verbs.publish.recoding import Progress, Recoding, allowed
from discreet.verbs.publish.tuples import Tuples, tuples_of

WARNING = (
    "Classes were formed so as to lose little, which is a hint at what is in them: a label no finer than it had to be "
    "says that no finer one would do (combinatorial refinement, arXiv 2509.03350). Among groupings about as good the "
    "choice was random, which blurs the hint and does not take it away. Full-domain generalisation gives less of it."
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
    suppress: Number = parameter("Largest share of the rows left out, such as 5%.", default=0, least=0, most=1)
    quality: Granularity | Precision = parameter("Loss that is least.", default_factory=Granularity, family=QUALITIES)
    effort: int = parameter("Times that a few classes are put together anew, for each class.", default=16, least=0)
    time_limit: float | None = parameter("Seconds to search; the best so far is taken.", default=None, least=0)
    entropy: Entropy = field(default=SYSTEM, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_parameters(self)
        arithmetic = isinstance(self.quality, Granularity) and self.quality.mean == "arithmetic"
        if not arithmetic and not isinstance(self.quality, Precision):
            raise BadInput(
                f"Classes are formed by a loss that adds up over cells, not by {self.quality}.",
                hint='Use Granularity() or Precision(); Granularity("geometric") is for Generalize.',
            )

    def recode(self, table: Table, require: Sequence[Model], progress: Progress | None = None) -> Recoding:
        """The best classes found for which all models hold; an error if there are none."""
        effort = Effort.within(self.effort, self.time_limit)
        models = tuple_recoding.local_models(require, table.quasi())
        tuples = tuples_of(table, sorted({name for model in models for name in model.sensitive}))
        limit = min(allowed(self.suppress, tuples.rows), max(tuples.rows - 1, 0))
        cells = [self.quality.cells(tuples, column) for column in range(len(tuples.names))]
        found = group(tuples, cells, models, limit, effort=effort, entropy=self.entropy, progress=progress)
        loss = self.quality.loss(tuples, found.levels, found.groups, found.kept)
        return Recoding(
            levels=None,
            dropped=None,
            mapping=found.mapping,
            suppressed=found.suppressed,
            loss=loss,
            quality=figures(tuples, found.levels, found.groups, found.kept),
            parameters={
                "suppress": exact(self.suppress, "suppress"),
                "measure": str(self.quality),
                "effort": self.effort,
                "time_limit": self.time_limit,
                "locally_optimal": found.settled,
            },
            steps=(
                f"{len(tuples.counts):,} distinct combinations of values were grouped into {found.classes:,} classes "
                f"that lose little by {self.quality}; each class got the finest labels that all its members share.",
                found.ending,
                f"{found.suppressed:,} of {tuples.rows:,} rows were suppressed.",
                WARNING,
            ),
            optimal=False,
            gap=None if found.bound is None else max(loss - found.bound, 0.0),
        )


@dataclass(frozen=True)
class Grouped:
    """Tuples in classes, with their labels."""

    levels: tuple_recoding.Levels
    groups: Integers
    """The class of each tuple, as far as labels tell."""
    kept: Flags
    """Whether a class is kept."""
    mapping: pa.Table
    suppressed: int
    settled: bool
    bound: float | None
    """What is lost at least, as a share of all; ``None``: not known."""
    hurried: bool
    """Whether there was a time limit."""

    @property
    def classes(self) -> int:
        """How many classes are kept."""
        return int(self.kept.sum())

    @property
    def ending(self) -> str:
        """How far the search got, for the recipe."""
        if self.settled:
            return (
                "The grouping is locally optimal: every combination was tried in every class, and every class was "
                "split by every finer label, and nothing lost less."
            )
        until = "as long as time and models allowed" if self.hurried else "by many tries, not by every one there is"
        return f"Classes were bettered {until}; a single step may still better them."


def group(
    tuples: Tuples,
    cells: Sequence[Floats],
    models: Sequence[Model],
    limit: int,
    *,
    effort: Effort,
    entropy: Entropy,
    progress: Progress | None,
) -> Grouped:
    """Classes of tuples that lose little by ``cells`` (what a label loses in each column, (levels, values))."""
    labels = tuple_recoding.Labels(tuples)
    check = tuple_recoding.check_of(tuples, models, lambda of: labels.alike(of, labels.levels(of)))
    plain = all(isinstance(model, KAnonymity) for model in models)
    terms = Terms(Rules(models, limit).smallest, limit, None if plain else check)
    layout = by_hierarchy(tuples, cells)
    found: Found | None = Found(np.zeros(0, dtype=np.int64), settled=True, bound=0)
    if tuples.rows:
        found = Search(layout.points, terms, effort, entropy).run(progress)
    if found is None or check(found.of).any():
        raise tuple_recoding.refusal(tuples, models)
    of, levels = found.of, labels.levels(found.of)
    groups = labels.alike(of, levels)
    kept = np.zeros(int(groups.max(initial=-1)) + 1, dtype=np.bool_)
    kept[groups[of != tuple_recoding.GONE]] = True
    return Grouped(
        levels,
        groups,
        kept,
        tuple_recoding.mapping(tuples, labels.cells(of, levels), of != tuple_recoding.GONE),
        int(tuples.counts[of == tuple_recoding.GONE].sum()),
        found.settled,
        None if found.bound is None else found.bound / layout.scale / max(tuples.rows, 1),
        effort.until is not None,
    )
