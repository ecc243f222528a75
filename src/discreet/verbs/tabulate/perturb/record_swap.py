"""Targeted record swapping: records at risk exchange their areas with similar records elsewhere.

Shlomo, Tudor and Groom (2010) for the censuses of the United Kingdom; sdcMicro's ``recordSwap``. Whole
households change places, with one that has as many members and agrees with it member by member on the ``match``
columns. So every area keeps its number of people and of households, and every count by area and match columns is as it
was. Tables are made of the swapped rows, and they are consistent and add up.

Why this is private, and how far: anyone who finds someone alone in a cell cannot be sure that they live there. There is
no more to it: who was not swapped is as they were, and in a table without areas nothing is hidden at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from discreet.core.catalogue import check_parameters, declare, parameter
from discreet.core.families import TABLE_METHODS
from discreet.core.table import Table
from discreet.core.text import meant
from discreet.engines.read import read
from discreet.errors import BadInput, DataError, NotFound
from discreet.noise.masking import Generator, generator
from discreet.verbs.tabulate.method import ProtectedTable, ProtectionProblem
from discreet.verbs.tabulate.perturb.record_keys import source_of
from discreet.verbs.tabulate.tables.build import build
from discreet.verbs.tabulate.tables.cells import Cells
from discreet.verbs.tabulate.tables.crosstable import Numbers


@declare(TABLE_METHODS, "swap", example="swap areas=region risk=age,sex", paper="Shlomo, Tudor and Groom 2010")
class SwapRecords:
    """Swap households that stand out in their area with similar ones elsewhere, then tabulate."""

    name: ClassVar[str]
    needs_sensitivity_rules: ClassVar[bool] = False
    areas: str = parameter("Columns of areas, largest first, separated by commas.")
    risk: str = parameter("Columns in which rare combinations are risky.")
    match: str = parameter("Columns on which swapped people must agree.", default="")
    household: str = parameter("Column of households, which move together.", default="")
    k: int = parameter("Minimum number of equal people in an area that is not risky.", default=3)
    rate: float = parameter("Minimum share of people who are swapped.", default=0.0)

    def __post_init__(self) -> None:
        check_parameters(self)
        require_settings(self.k, self.rate)

    def apply(self, problem: ProtectionProblem) -> ProtectedTable:
        """The table of swapped rows."""
        source = source_of(problem, self.name)
        areas, risk, match = (_names(text) for text in (self.areas, self.risk, self.match))
        made = record_swap(
            source,
            areas=areas,
            risk=risk,
            match=match,
            household=self.household or None,
            k=self.k,
            rate=float(self.rate),
            seed=problem.seed,
        )
        how: dict[str, Any] = {
            "weight": problem.weight,
            "decimals": problem.cells.decimals,
            "declared": problem.cells.has_empty_codes,
        }
        tables = [build(made.table, by, problem.value, keep_largest=0, **how) for by in problem.by]
        if [one.dimensions for one in tables] != [one.dimensions for one in problem.cells.tables]:
            raise BadInput("Swapping emptied an area of this table.", hint="Tabulate larger areas.")
        return ProtectedTable(
            Cells.of(*tables).values,
            np.zeros(len(problem.cells), bool),
            caveats=("People who were not swapped are counted where they live; who was swapped is not published.",),
            steps=(f"people with rare values of {', '.join(risk)} were swapped between {', '.join(areas)}",),
            recipe_details={"areas": list(areas), "risk": list(risk), "match": list(match), "k": self.k},
            holder=(("changed places", f"{made.swapped:,} of {made.households:,}; {made.left:,} found no partner"),),
        )


@dataclass(frozen=True, eq=False)
class SwappedRows:
    """Rows after a swap: for the holder, who tabulates them."""

    table: Table
    households: int
    swapped: int
    """Households that changed places."""
    at_risk: int
    """Households with a member who stands out in some area."""
    left: int
    """Households at risk that found no partner and are where they were."""


def record_swap(
    table: Table,
    *,
    areas: Sequence[str],
    risk: Sequence[str],
    match: Sequence[str] = (),
    household: str | None = None,
    k: int = 3,
    rate: float = 0.0,
    seed: int | None = None,
) -> SwappedRows:
    """Swap the households with a member whose ``risk`` values fewer than ``k`` people have in their area.

    ``areas`` are columns from the largest areas to the smallest, each within the one before. A household that stands
    out at one level only changes places within the area above it, so tables of that are as they were. If fewer than
    ``rate`` of all households are swapped in the end, others are, at random, at the lowest level. Without a
    ``household`` column the rows of one unit in one area are one, and without a unit on the card each row is. With a
    ``seed``, anyone who knows it can undo the swap.
    """
    if not areas or not risk or set(areas) & {*risk, *match}:
        raise BadInput("Swapping needs columns of areas, and columns of risk or matching.")
    require_settings(k, rate)
    for name in (*areas, *risk, *match, *(() if household is None else (household,))):
        if name not in table.columns:
            raise NotFound(f"There is no column {name!r}{meant(name, table.columns)}.")
    rows, rng = table.fetch(), generator(seed)
    unit = table.card.unit
    together = () if unit is None else (unit, *areas)
    people = _People.of(rows, areas, match, together if household is None else (household,))
    pairs = _Pairs(np.ones(people.count, np.bool_), np.arange(people.count), rng)
    at_risk = np.zeros(people.count, np.bool_)
    levels = range(len(areas))
    for level in levels:
        alike = _numbered(people.by_row[level], *(_codes(rows, name) for name in risk))
        at_risk[people.of_row[np.bincount(alike)[alike] < k]] = True
        pairs.add(people.alike_within(level), people.areas[level], at_risk)
    more = ceil(rate * people.count) - pairs.paired
    if more > 0:
        lowest = levels[-1]
        pairs.add(people.alike_within(lowest), people.areas[lowest], pairs.free.copy(), ceil(more / 2))
    source = people.first[pairs.partner[people.of_row]]
    for name in areas:
        rows = rows.set_column(rows.column_names.index(name), name, rows.column(name).take(source))
    left = int((at_risk & pairs.free).sum())
    return SwappedRows(read(rows, table.card), people.count, pairs.paired, int(at_risk.sum()), left)


def require_settings(k: int, rate: float) -> None:
    """An error unless swapping can be done with these."""
    if type(k) is not int or k < 2 or not 0 <= rate <= 1:
        raise BadInput(f"Swapping needs a k of 2 or more and a rate from 0 to 1, got {k!r} and {rate!r}.")


@dataclass(frozen=True, eq=False)
class _People:
    of_row: Numbers
    """Of each row its household."""
    first: Numbers
    """Of each household its first row."""
    by_row: list[Numbers]
    areas: list[Numbers]
    """Of each row, and of each household, its area at every level."""
    profile: Numbers
    """Equal for households that match."""

    @classmethod
    def of(cls, rows: pa.Table, areas: Sequence[str], match: Sequence[str], together: Sequence[str]) -> _People:
        """Who lives together (rows that agree on these columns), where, and who matches."""
        of_row = _numbered(*(_codes(rows, name) for name in together)) if together else np.arange(rows.num_rows)
        first = np.unique(of_row, return_index=True)[1]
        codes = [_codes(rows, name) for name in areas]
        by_row = [_numbered(*codes[: level + 1]) for level in range(len(areas))]
        if (by_row[-1] != by_row[-1][first][of_row]).any():
            raise DataError(
                f"A household of {together[0]} lives in two areas.", hint="Correct the areas of the household."
            )
        member = _numbered(np.zeros(rows.num_rows, np.int64), *(_codes(rows, name) for name in match))
        return cls(of_row, first, by_row, [one[first] for one in by_row], _profiles(of_row, member))

    @property
    def count(self) -> int:
        return len(self.first)

    def alike_within(self, level: int) -> Numbers:
        """Equal for households that match and live in the same area above this level."""
        return _numbered(self.profile, self.areas[level - 1]) if level else self.profile


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Who changes places with whom."""

    free: Numbers
    partner: Numbers
    rng: Generator

    @property
    def paired(self) -> int:
        return int((~self.free).sum())

    def add(self, group: Numbers, area: Numbers, seeking: Numbers, most: int | None = None) -> None:
        """Pair records to swap with free ones of their group in other areas, up to a given number of pairs.

        In each round every one that seeks proposes to a random candidate, in random order; a proposal is taken if
        neither is in an earlier one. The first always is, so the rounds come to an end.
        """
        wide = int(area.max(initial=0)) + 1
        key = group * wide + area
        while most is None or most > 0:
            pool = np.flatnonzero(self.free)
            pool = pool[np.argsort(key[pool], kind="stable")]
            seekers = self.rng.permutation(np.flatnonzero(self.free & seeking))
            start, end = (np.searchsorted(key[pool], (group[seekers] + more) * wide) for more in (0, 1))
            own, beyond = (np.searchsorted(key[pool], key[seekers] + more) for more in (0, 1))
            others = (end - start) - (beyond - own)
            able = others > 0
            if not able.any():
                return
            drawn = start[able] + self.rng.integers(others[able])
            chosen = pool[np.where(drawn >= own[able], drawn + (beyond - own)[able], drawn)]
            proposals = np.stack([seekers[able], chosen], axis=1)
            first = np.zeros(proposals.size, np.bool_)
            first[np.unique(proposals, return_index=True)[1]] = True
            taken = proposals[first.reshape(-1, 2).all(axis=1)][:most]
            self.partner[taken[:, 0]], self.partner[taken[:, 1]] = taken[:, 1], taken[:, 0]
            self.free[taken] = False
            most = None if most is None else most - len(taken)


def _profiles(of_row: Numbers, member: Numbers) -> Numbers:
    """Equal for households with as many members who match each other one by one."""
    order = np.lexsort((member, of_row))
    sizes = np.bincount(of_row)
    starts = np.cumsum(sizes) - sizes
    found, used = np.empty(len(sizes), np.int64), 0
    for size in np.unique(sizes):
        here = np.flatnonzero(sizes == size)
        members = member[order][starts[here][:, None] + np.arange(size)]
        found[here] = used + np.unique(members, axis=0, return_inverse=True)[1].ravel()
        used = int(found[here].max()) + 1
    return found


def _codes(rows: pa.Table, name: str) -> Numbers:
    """A number for each value of a column; missing is a value."""
    column: Any = rows.column(name).combine_chunks()
    return np.asarray(column.dictionary_encode(null_encoding="encode").indices.to_numpy(zero_copy_only=False), np.int64)


def _numbered(*codes: Numbers) -> Numbers:
    """A number for each combination, from 0 without gaps."""
    found = codes[0]
    for more in codes[1:]:
        found = found * (int(more.max(initial=0)) + 1) + more
        found = np.unique(found, return_inverse=True)[1]
    return np.unique(found, return_inverse=True)[1]


def _names(text: str) -> tuple[str, ...]:
    return tuple(filter(None, map(str.strip, str(text).split(","))))
