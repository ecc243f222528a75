"""Tables of every k questions together: a device draws one such table and reports its cell of it.

Why this is private: a report is about one table, drawn without looking at any answer, by a protocol that loses at most
ε (``one_of``). Accuracy is that of one question with as many values as the table has cells, asked of every m-th person,
where m is the number of tables (Cormode, Kulkarni, Srivastava 2018: sampling marginals beats releasing everything).

Two tables that share questions are asked of different people, so they say different things about what they share.
*consistent* is the step that settles it: every table is the sum of what its sets of questions add on top of smaller
sets (an analysis of variance); what a set adds is taken from the mean of all tables that have it. That is a projection,
so figures stay unbiased, and add up to one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import chain, combinations
from math import prod
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.core.exact import Number
from discreet.errors import BadInput, NotFound
from discreet.noise.entropy import Entropy
from discreet.noise.expand import BULK
from discreet.verbs.collect.domain import Codes, Counts, Domain, Values
from discreet.verbs.collect.integer_reports import Reports, in_parts
from discreet.verbs.collect.multidimensional.questions import Questions
from discreet.verbs.collect.multidimensional.split_sample import shares_of
from discreet.verbs.collect.numbers.grid import Floats
from discreet.verbs.collect.probability import epsilon_of
from discreet.verbs.collect.protocol import Reporting
from discreet.verbs.collect.question_sampling import OneOf, short
from discreet.verbs.collect.report_distribution import Law

_MOST = 1 << 22
Sides = tuple[int, ...]


@dataclass(frozen=True, init=False)
class Marginals(Reporting):
    """All tables of ``ways`` questions."""

    name = "marginals"
    questions: Questions
    epsilon: Fraction
    ways: int

    def __init__(
        self, questions: Questions | Mapping[str, Domain | int | Iterable[Any]], epsilon: Number, ways: int = 2
    ) -> None:
        asked = questions if isinstance(questions, Questions) else Questions(questions)
        object.__setattr__(self, "questions", asked)
        object.__setattr__(self, "epsilon", epsilon_of(epsilon))
        object.__setattr__(self, "ways", ways)
        if not 1 <= ways <= len(asked):
            raise BadInput(f"A table is of 1 to {len(asked)} of the questions, got {ways}.")
        if sum(map(self._size, self.sides)) > _MOST:
            raise BadInput(f"These tables have more than {_MOST:,} cells.", hint="Ask for fewer ways or fewer values.")

    @cached_property
    def sides(self) -> tuple[Sides, ...]:
        """The questions of each table."""
        return tuple(combinations(range(len(self.questions)), self.ways))

    @cached_property
    def one_of(self) -> OneOf:
        """A protocol for each table."""
        return OneOf(tuple(short(self._size(sides), self.epsilon) for sides in self.sides))

    @cached_property
    def law(self) -> Law:
        """The table is public."""
        columns = [np.array(self.questions.to(place)) for place in range(len(self.questions))]
        return self.one_of.law([tuple(self._cells(columns, sides).tolist()) for sides in self.sides])

    @property
    def report_type(self) -> pa.DataType:
        """A number."""
        return self.one_of.report_type

    @property
    def parameters(self) -> dict[str, Any]:
        """What it is made with beside epsilon, as plain data."""
        return {"questions": self.questions.parameters, "ways": self.ways}

    def draw(self, columns: list[Codes], entropy: Entropy) -> pa.Array[Any]:
        """A table, and a report about its cell."""
        return self.one_of.draw([self._cells(columns, sides) for sides in self.sides], entropy)

    def randomize(self, table: pa.Table | Mapping[str, Values], *, entropy: Entropy = BULK) -> pa.Array[Any]:
        """A report for each row; a column has a question's name."""
        columns = self.questions.codes(table)
        return in_parts(len(columns[0]), lambda part: self.draw([codes[part] for codes in columns], entropy))

    @property
    def kept(self) -> int:
        """How many counts a collector keeps."""
        return self.one_of.outcomes

    def count(self, reports: Reports) -> Counts:
        """How often each report was told. Counts add up."""
        return self.one_of.count(reports)

    def estimate(self, reports: Reports, *, confidence: float = 0.95) -> MarginalEstimate:
        """All tables."""
        return self.estimate_counts(self.count(reports), confidence=confidence)

    def estimate_counts(self, counts: Counts, *, confidence: float = 0.95) -> MarginalEstimate:
        """The same of what is kept."""
        tables = []
        for sides, client, kept in zip(self.sides, self.one_of.clients, self.one_of.apart(counts), strict=True):
            found, shape = shares_of(client, kept, confidence), self._shape(sides)
            tables.append(Marginal(found.shares.reshape(shape), found.bars.reshape(shape)))
        return MarginalEstimate(self, int(counts.sum()), tuple(tables), confidence)

    def _shape(self, sides: Sides) -> tuple[int, ...]:
        return tuple(self.questions.sizes[side] for side in sides)

    def _size(self, sides: Sides) -> int:
        return prod(self._shape(sides))

    def _cells(self, columns: list[Codes], sides: Sides) -> Codes:
        return np.ravel_multi_index([columns[side] for side in sides], self._shape(sides)).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Marginal:
    """The share of people in each cell of a table, and how far each is off at most, each by itself."""

    shares: Floats
    bars: Floats


@dataclass(frozen=True, eq=False)
class MarginalEstimate:
    """All tables of some questions."""

    protocol: Marginals
    n: int
    tables: tuple[Marginal, ...]
    confidence: float
    steps: tuple[str, ...] = ()
    """What was done to the figures after they were estimated; their bars stay those of before."""

    def of(self, *names: str) -> Marginal:
        """The table of these questions, in their own order."""
        known = self.protocol.questions.names
        wanted = tuple(sorted(known.index(name) for name in names if name in known))
        if len(wanted) < len(names) or wanted not in self.protocol.sides:
            raise NotFound(
                f"There is no table of {', '.join(names)}.", hint=f"Tables are of {self.protocol.ways} questions."
            )
        return self.tables[self.protocol.sides.index(wanted)]

    def table(self, *names: str) -> pa.Table:
        """The same as rows: a value of each question, the share of people who have all of them, and its error bar."""
        found = self.of(*names)
        places = np.indices(found.shares.shape).reshape(found.shares.ndim, -1)
        asked = [domain for domain in self.protocol.questions.domains if domain[0] in names]
        columns: dict[str, Any] = {
            name: [domain.values[place] for place in along.tolist()]
            for (name, domain), along in zip(asked, places, strict=True)
        }
        return pa.table(columns | {"share": found.shares.ravel(), "share_error": found.bars.ravel()})

    def consistent(self) -> MarginalEstimate:
        """Tables that agree about what they share, and add up to one."""
        sides = self.protocol.sides
        added: dict[Sides, list[Floats]] = {}
        for of, table in zip(sides, self.tables, strict=True):
            for part in _parts(of):
                added.setdefault(part, []).append(_adds(table.shares, of, part))
        means = {part: np.mean(found, axis=0) for part, found in added.items()}
        means[()] = np.ones(())
        made = [
            replace(
                table, shares=sum((_spread(means[part], of, part, table.shares) for part in _parts(of)), np.zeros(()))
            )
            for of, table in zip(sides, self.tables, strict=True)
        ]
        return replace(self, tables=tuple(made), steps=(*self.steps, "consistent"))


def _parts(of: Sides) -> list[Sides]:
    """All sets of a table's questions."""
    return list(chain.from_iterable(combinations(of, size) for size in range(len(of) + 1)))


def _adds(shares: Floats, of: Sides, part: Sides) -> Floats:
    """What a set of questions adds: the table of these, less its mean along each."""
    table: Floats = shares.sum(axis=tuple(axis for axis, side in enumerate(of) if side not in part))
    for axis in range(len(part)):
        table = table - table.mean(axis=axis, keepdims=True)
    return table


def _spread(added: Floats, of: Sides, part: Sides, like: Floats) -> Floats:
    """What a set adds to each cell of a table: spread evenly over the questions that are not in it."""
    others = tuple(axis for axis, side in enumerate(of) if side not in part)
    spread: Floats = np.broadcast_to(np.expand_dims(added, others), like.shape)
    return spread / float(prod(like.shape[axis] for axis in others))
