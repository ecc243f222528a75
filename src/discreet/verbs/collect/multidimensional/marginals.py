"""Marginals: contingency tables of every k questions, of which each device reports a cell of one.

Why this is private: a report is about one table, drawn without looking at any answer, by a protocol that loses at most
ε (``question_sampling``). Accuracy is that of one question with as many values as the table has cells, asked of every
m-th person, where m is the number of tables (Cormode, Kulkarni, Srivastava 2018: sampling marginals beats releasing
everything).

Two tables that share questions are asked of different people, so they say different things about what they share.
*consistent* is the step that settles it: every table is the sum of what its sets of questions add on top of smaller
sets (an analysis of variance); what a set adds is taken from the mean of all tables that have it. That is a projection,
so figures stay unbiased, and add up to one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, combinations
from math import prod
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.core.exact import Number
from discreet.errors import BadInput, NotFound
from discreet.noise.entropy import Entropy
from discreet.verbs.collect.domain import Codes, Counts, Domain, Floats
from discreet.verbs.collect.multidimensional.questions import Questions, QuestionsProtocol, question_shares
from discreet.verbs.collect.question_sampling import QuestionSampling, SamplingProtocol, compact_oracle
from discreet.verbs.collect.report_distribution import ReportDistribution

_MAX_CELLS = 1 << 22
"""Largest number of cells of all tables."""
Sides = tuple[int, ...]


@dataclass(frozen=True, init=False)
class Marginals(SamplingProtocol["MarginalEstimate"], QuestionsProtocol["MarginalEstimate"]):
    """Contingency tables of every ``ways`` questions."""

    name = "marginals"
    ways: int

    def __init__(
        self, questions: Questions | Mapping[str, Domain | int | Iterable[Any]], epsilon: Number, ways: int = 2
    ) -> None:
        super().__init__(questions, epsilon)
        object.__setattr__(self, "ways", ways)
        if not 1 <= ways <= len(self.questions):
            raise BadInput(f"A marginal covers 1 to {len(self.questions)} of the questions, got {ways}.")
        if sum(map(self._size, self.sides)) > _MAX_CELLS:
            raise BadInput(f"These tables have more than {_MAX_CELLS:,} cells.", hint="Ask for fewer ways or values.")

    @cached_property
    def sides(self) -> tuple[Sides, ...]:
        """Indices of the questions of each table."""
        return tuple(combinations(range(len(self.questions)), self.ways))

    @cached_property
    def sampling(self) -> QuestionSampling:
        return QuestionSampling(tuple(compact_oracle(self._size(sides), self.epsilon) for sides in self.sides))

    @cached_property
    def report_distribution(self) -> ReportDistribution:
        """A public choice of the table."""
        columns = [np.array(self.questions.answers_to(index)) for index in range(len(self.questions))]
        return self.sampling.report_distribution([tuple(self._cells(columns, sides).tolist()) for sides in self.sides])

    @property
    def parameters(self) -> dict[str, Any]:
        return {**super().parameters, "ways": self.ways}

    def draw(self, columns: list[Codes], entropy: Entropy) -> pa.Array[Any]:
        """Draw a table, and a report about its cell."""
        return self.sampling.draw([self._cells(columns, sides) for sides in self.sides], entropy)

    def estimate_counts(self, counts: Counts, *, confidence: float = 0.95) -> MarginalEstimate:
        tables = []
        parts = self.sampling.split_counts(counts)
        for sides, oracle, part in zip(self.sides, self.sampling.oracles, parts, strict=True):
            shares, shape = question_shares(oracle, part, confidence), self._shape(sides)
            tables.append(Marginal(shares.shares.reshape(shape), shares.error_bars.reshape(shape)))
        return MarginalEstimate(self, int(counts.sum()), tuple(tables), confidence)

    def _shape(self, sides: Sides) -> tuple[int, ...]:
        return tuple(self.questions.sizes[side] for side in sides)

    def _size(self, sides: Sides) -> int:
        return prod(self._shape(sides))

    def _cells(self, columns: list[Codes], sides: Sides) -> Codes:
        return np.ravel_multi_index([columns[side] for side in sides], self._shape(sides)).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Marginal:
    """Estimated share of people in each cell of a table, and the largest error of each, each by itself."""

    shares: Floats
    error_bars: Floats


@dataclass(frozen=True, eq=False)
class MarginalEstimate:
    """Estimated contingency tables of some questions."""

    protocol: Marginals
    n: int
    tables: tuple[Marginal, ...]
    confidence: float
    steps: tuple[str, ...] = ()
    """Post-processing steps; error bars stay those of before."""

    def of(self, *names: str) -> Marginal:
        """Table of some questions, in their own order."""
        known = self.protocol.questions.names
        wanted = tuple(sorted(known.index(name) for name in names if name in known))
        if len(wanted) < len(names) or wanted not in self.protocol.sides:
            raise NotFound(
                f"There is no table of {', '.join(names)}.", hint=f"Tables are of {self.protocol.ways} questions."
            )
        return self.tables[self.protocol.sides.index(wanted)]

    def table(self, *names: str) -> pa.Table:
        """Table of some questions as rows: a value of each, the share of people with all of them, and its error bar."""
        result = self.of(*names)
        indices = np.indices(result.shares.shape).reshape(result.shares.ndim, -1)
        asked = [domain for domain in self.protocol.questions.domains if domain[0] in names]
        columns: dict[str, Any] = {
            name: [domain.values[index] for index in along.tolist()]
            for (name, domain), along in zip(asked, indices, strict=True)
        }
        return pa.table(columns | {"share": result.shares.ravel(), "share_error": result.error_bars.ravel()})

    def consistent(self) -> MarginalEstimate:
        """Make tables agree about the questions they share, and add up to one."""
        sides = self.protocol.sides
        added: dict[Sides, list[Floats]] = {}
        for of, table in zip(sides, self.tables, strict=True):
            for part in _subsets(of):
                added.setdefault(part, []).append(_interaction(table.shares, of, part))
        means = {part: np.mean(result, axis=0) for part, result in added.items()}
        means[()] = np.ones(())
        made = [
            replace(
                table,
                shares=sum((_contribution(means[part], of, part, table.shares) for part in _subsets(of)), np.zeros(())),
            )
            for of, table in zip(sides, self.tables, strict=True)
        ]
        return replace(self, tables=tuple(made), steps=(*self.steps, "consistent"))


def _subsets(of: Sides) -> list[Sides]:
    """All subsets of a table's questions."""
    return list(chain.from_iterable(combinations(of, size) for size in range(len(of) + 1)))


def _interaction(shares: Floats, of: Sides, part: Sides) -> Floats:
    """Interaction of a set of questions: their table, less its mean along each."""
    table: Floats = shares.sum(axis=tuple(axis for axis, side in enumerate(of) if side not in part))
    for axis in range(len(part)):
        table = table - table.mean(axis=axis, keepdims=True)
    return table


def _contribution(added: Floats, of: Sides, part: Sides, like: Floats) -> Floats:
    """Contribution of a set to each cell of a table: spread evenly over the questions that are not in it."""
    others = tuple(axis for axis, side in enumerate(of) if side not in part)
    spread: Floats = np.broadcast_to(np.expand_dims(added, others), like.shape)
    return spread / float(prod(like.shape[axis] for axis in others))
