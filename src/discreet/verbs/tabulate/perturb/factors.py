"""Multiplicative noise: each respondent's contribution is multiplied by a factor of their own, near 1.

Evans, Zayatz and Slanta (1998), for the economic statistics of the United States. The table is added up from the
changed contributions, so it adds up. A figure that many made changes little, for factors up and down cancel; a figure
that one respondent made changes as much as their factor says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar, Literal

import numpy as np

from discreet.core.catalogue import check_parameters, declare, parameter
from discreet.core.families import TABLE_METHODS
from discreet.core.table import Table
from discreet.errors import BadInput
from discreet.verbs.tabulate.method import ProtectedTable, ProtectionProblem
from discreet.verbs.tabulate.perturb.record_keys import KeyedRows, secret_of, source_of
from discreet.verbs.tabulate.tables.crosstable import CrossTable, Numbers, summed

_EXACT = 1e-9


@declare(TABLE_METHODS, "factors", example="factors least=10% most=25%", paper="Evans, Zayatz and Slanta 1998")
class Multiply:
    """Multiply each respondent's contribution by a random factor of their own before it is summed.

    A factor is 1 + s or 1 - s by a fair coin, with s from ``least`` to ``most``; ``ramp``: values near ``least`` are
    likelier, falling in a line to 0 at ``most``; ``uniform``: all are as likely.

    Why this is private, and how far: a figure that one respondent made is printed off by at least ``least`` of it, also
    after rounding, and which way is a fair coin. Of a figure that two made, each can subtract what they contributed but
    not what it became. It is no differential privacy: the change is in proportion to the figure, so large and small
    stay apart, it is never more than ``most`` but for rounding, and a 0 stays 0.
    """

    name: ClassVar[str]
    needs_sensitivity_rules: ClassVar[bool] = False
    least: float = parameter("Minimum relative change.", default=0.1)
    most: float = parameter("Maximum relative change.", default=0.25)
    law: Literal["ramp", "uniform"] = parameter("Distribution of the factor.", default="ramp")

    def __post_init__(self) -> None:
        check_parameters(self)
        if not 0 < self.least < self.most < 1:
            raise BadInput(f"Factors need 0 < least < most < 1, got {self.least} and {self.most}.")

    @property
    def variance(self) -> float:
        """Of a factor, whose mean is 1."""
        a, wide = self.least, self.most - self.least
        return a**2 + (2 * a * wide / 3 + wide**2 / 6 if self.law == "ramp" else a * wide + wide**2 / 3)

    def of(self, numbers: Numbers) -> Numbers:
        """The factors that go with these uniform 64-bit numbers: the lowest bit is the coin, the upper 53 are s."""
        chance = (numbers >> np.uint64(11)).astype(np.float64) / 2.0**53
        share = 1 - np.sqrt(1 - chance) if self.law == "ramp" else chance
        off = self.least + (self.most - self.least) * share
        return 1 + np.where(numbers & np.uint64(1), off, -off)

    def apply(self, problem: ProtectionProblem) -> ProtectedTable:
        source = source_of(problem, self.name, weights=False)
        if problem.value is None:
            raise BadInput(
                "Factors apply to sums, but this is a table of counts.", hint="Name the column to sum (value)."
            )
        if len(problem.by) > 1:
            raise BadInput("Factors apply to one table at a time.")
        secret, caveats = secret_of(problem, source)
        made = multiplied(
            source,
            problem.by[0],
            problem.value,
            self,
            secret,
            decimals=problem.cells.decimals,
            declared=problem.cells.has_empty_codes,
        )
        return ProtectedTable(
            made.table.values.ravel(),
            np.zeros(len(problem.cells), bool),
            caveats=(
                f"A figure of one respondent is changed by at least {self.least:.3g} and at most "
                f"{self.most:.3g} of it, apart from rounding; figures of many respondents are changed less, "
                "or not at all where changes cancel. Large and small figures remain distinguishable, and a 0 "
                "stays 0.",
                *caveats,
            ),
            steps=("each respondent's contribution was multiplied by a random factor and then summed",),
            recipe_details={"least": self.least, "most": self.most, "law": self.law},
            holder=_expected(made.expected),
            secret=secret,
        )


@dataclass(frozen=True, eq=False)
class MultipliedTable:
    """A table of changed contributions."""

    table: CrossTable
    expected: Numbers
    """Of each cell the standard deviation of its change, as a share of its true figure; not a number where that is 0.
    It says how few made a figure: for the holder."""


def multiplied(
    table: Table,
    by: Sequence[str],
    value: str,
    factors: Multiply,
    secret: bytes,
    *,
    decimals: int | None = None,
    declared: bool = False,
) -> MultipliedTable:
    """The table that ``build`` makes, from contributions multiplied by their respondents' factors.

    A respondent has the same factor in all cells of all tables with this ``secret``, so no one can take the mean of
    several. The change of an inner cell is rounded to whole units away from 0, and totals are added up from them. What
    one respondent has in several cells changes in the same sense, so a total of theirs is as far off as they are; if
    some of it is negative that need not be so, and a table with such a figure printed too close is refused.
    """
    rows = KeyedRows.of(table, by, value, secret=secret, use="factor", decimals=decimals, declared=declared)
    batches = [(np.stack(places), numbers, units) for places, numbers, units in rows.stream()]
    places = np.concatenate([one for one, _, _ in batches], axis=1)
    numbers, units = (np.concatenate([batch[part] for batch in batches]) for part in (1, 2))
    sides = rows.dimensions
    inner = np.ix_(*(side.leaves for side in sides))
    true, off = np.zeros(rows.shape, np.int64), np.zeros(rows.shape)
    np.add.at(true, tuple(places), units)
    np.add.at(off, tuple(places), (factors.of(numbers) - 1) * units)
    squares, alone = np.zeros(rows.shape), np.zeros(rows.shape, np.bool_)
    for maps in product(*([side.totals_at(depth) for depth in range(max(side.depths) + 1)] for side in sides)):
        where = np.ravel_multi_index([up[place] for up, place in zip(maps, places, strict=True)], rows.shape)
        order = np.lexsort((numbers, where))
        first = _starts(where[order], numbers[order])
        owned = np.add.reduceat(units[order].astype(np.float64), first)
        cells = where[order][first]
        starts = _starts(cells)
        squares.ravel()[cells[starts]] = np.add.reduceat(owned**2, starts)
        alone.ravel()[cells[starts]] = np.add.reduceat((owned != 0).astype(np.int64), starts) == 1
    size = np.abs(summed(sides, true[inner])).astype(np.float64)
    expected = np.sqrt(factors.variance * squares) / np.where(size == 0, np.nan, size)
    change = summed(sides, _away(off[inner]))
    if (alone & (np.abs(change) < factors.least * size * (1 - _EXACT))).any():
        raise BadInput(
            "A figure of one respondent would be published too closely: it has negative parts, and the table "
            "has too few decimals for their changes.",
            hint="Use more decimals, or another method.",
        )
    changed = summed(sides, true[inner]) + change
    return MultipliedTable(CrossTable(sides, changed, value, rows.what.decimals), expected)


def _away(off: Numbers) -> Numbers:
    """Whole units, away from 0."""
    return (np.sign(off) * np.ceil(np.abs(off))).astype(np.int64)


def _starts(*sorted_by: Numbers) -> Numbers:
    """Where a run of equal values begins."""
    new = np.ones(len(sorted_by[0]), np.bool_)
    new[1:] = np.any([values[1:] != values[:-1] for values in sorted_by], axis=0)
    return np.flatnonzero(new)


def _expected(shares: np.ndarray[Any, Any]) -> tuple[tuple[str, str], ...]:
    """For the holder: how far off figures are expected to be."""
    known = shares[np.isfinite(shares)]
    if not len(known):
        return ()
    return (("expected change", f"{np.median(known):.1%} of a figure (median), {known.max():.1%} at most"),)
