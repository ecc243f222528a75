"""Suppressing single cells: values stay as they are or become ``*``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np

from discreet.core.catalogue import check_parameters, declare, parameter
from discreet.core.exact import Number, exact
from discreet.core.families import RECODERS
from discreet.core.table import Table
from discreet.models.model import Model
from discreet.noise.entropy import SYSTEM, Entropy
from discreet.utility.quality import figures
from discreet.verbs.publish import tuple_recoding
from discreet.verbs.publish.clusters import Effort
from discreet.verbs.publish.local import WARNING, Grouped, group
from discreet.verbs.publish.recoding import Progress, Recoding, allowed, require_quasi
from discreet.verbs.publish.tuples import Tuples, tuples_of


@declare(RECODERS, "suppress-cells", rank=3)
class SuppressCells:
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
    weights: Mapping[str, Number] = parameter("How much a cell of a column counts.", default_factory=dict, above=0)
    suppress: Number = parameter("Largest share of the rows left out, such as 5%.", default=0, least=0, most=1)
    effort: int = parameter("Times that a few classes are put together anew, for each class.", default=16, least=0)
    time_limit: float | None = parameter("Seconds to search; the best so far is taken.", default=None, least=0)
    entropy: Entropy = field(default=SYSTEM, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_parameters(self)

    def recode(self, table: Table, require: Sequence[Model], progress: Progress | None = None) -> Recoding:
        """The cells to suppress so that all models hold; an error if that cannot be."""
        effort = Effort.within(self.effort, self.time_limit)
        models = tuple_recoding.local_models(require, table.quasi())
        quasi = table.quasi()
        columns = tuple(replace(c, hierarchy=None) if c.name in quasi else c for c in table.card.columns)
        plain = replace(table, card=replace(table.card, columns=columns))
        tuples = tuples_of(plain, sorted({name for model in models for name in model.sensitive}))
        weights = self._weights(tuples)
        limit = min(allowed(self.suppress, tuples.rows), max(tuples.rows - 1, 0))
        total = float(sum(weights))
        cells = [
            np.stack([np.zeros(len(values)), np.full(len(values), float(weight) * len(weights) / total)])
            for values, weight in zip(tuples.values, weights, strict=True)
        ]
        found = group(tuples, cells, models, limit, effort=effort, entropy=self.entropy, progress=progress)
        starred = found.levels @ tuples.counts
        return self._result(tuples, found, weights, dict(zip(tuples.names, map(int, starred), strict=True)))

    def _weights(self, tuples: Tuples) -> list[Fraction]:
        require_quasi(self.weights, tuples.names)
        return [exact(self.weights.get(name, 1), f"The weight of {name}") for name in tuples.names]

    def _result(
        self, tuples: Tuples, found: Grouped, weights: Sequence[Fraction], starred: Mapping[str, int]
    ) -> Recoding:
        cells = sum(starred.values())
        counted = sum(
            weight * (starred[name] + found.suppressed) for name, weight in zip(tuples.names, weights, strict=True)
        )
        loss = float(counted / (sum(weights) * max(tuples.rows, 1)))
        listed = ", ".join(f"{name} {count:,}" for name, count in starred.items())
        return Recoding(
            levels=None,
            dropped=None,
            mapping=found.mapping,
            suppressed=found.suppressed,
            loss=loss,
            quality={"suppressed cells": float(cells), **figures(tuples, found.levels, found.groups, found.kept)},
            parameters={
                "suppress": exact(self.suppress, "suppress"),
                "weights": dict(zip(tuples.names, weights, strict=True)),
                "effort": self.effort,
                "time_limit": self.time_limit,
                "suppressed_cells": dict(starred),
                "locally_optimal": found.settled,
            },
            steps=(
                f"{cells:,} of {tuples.rows * len(tuples.names):,} cells became *: {listed}.",
                "A suppressed cell is a value of its own, like other suppressed cells and like nothing else.",
                found.ending,
                f"{found.suppressed:,} of {tuples.rows:,} rows were suppressed as a whole.",
                WARNING,
            ),
            optimal=False,
            gap=None if found.bound is None else max(loss - found.bound, 0.0),
        )
