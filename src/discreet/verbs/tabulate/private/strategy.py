"""Measurement strategy: which tables to count with which share of the loss, for the least expected error."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import combinations
from math import prod
from typing import TypeAlias

import numpy as np

from discreet.verbs.tabulate.tables.crosstable import Numbers

MOST_CELLS = 1_000_000
"""Largest number of cells that are counted."""
_MOST_MERGED = 40  # tables: beyond, looking at all pairs of them takes too long
_LEAST_SHARE = 1e-3
_QUICK, _LONG = 4, 200
_FINE = 1 << 20
Columns: TypeAlias = frozenset[str]


@dataclass(frozen=True)
class Workload:
    """Tables by sets of columns, with all their totals; a cell that several tables share is printed once."""

    names: tuple[str, ...]
    sizes: tuple[int, ...]
    """How many leaves each column has."""
    groups: tuple[tuple[int, ...], ...]
    """For each column, how many leaves every code has below it, the total of all left out."""
    tables: tuple[Columns, ...]

    @cached_property
    def leaves(self) -> dict[str, int]:
        """How many leaves each column has, by its name."""
        return dict(zip(self.names, self.sizes, strict=True))

    @cached_property
    def printed(self) -> tuple[Columns, ...]:
        """Every set of columns whose cells, without totals, are printed; the smallest first."""
        return closed_below(self.tables)

    @property
    def cells(self) -> int:
        """How many cells are printed."""
        codes = {name: len(group) for name, group in zip(self.names, self.groups, strict=True)}
        return sum(prod(codes[name] for name in columns) for columns in self.printed)

    def size(self, columns: Iterable[str]) -> int:
        """How many leaves the table by these columns has."""
        return prod(self.leaves[name] for name in columns)

    @cached_property
    def needs(self) -> dict[Columns, float]:
        """Share of each part of the counts in the summed variance of all printed cells.

        The counts of a table split into one part for each subset B of its columns: what the table by B says beyond
        those by fewer columns. A cell that has the share f of a column's leaves has f (1 - f) of it within B, and
        f² outside, which is the squared length of its part of B over the number of all leaves (as in Xiao, He, Zhang
        and Kifer 2023, with totals as well as leaves).
        """
        inside, outside = {}, {}
        for name, n, group in zip(self.names, self.sizes, self.groups, strict=True):
            inside[name] = sum(g / n * (1 - g / n) for g in group)
            outside[name] = sum((g / n) ** 2 for g in group)
        found: dict[Columns, float] = {}
        for columns in self.printed:
            for part in subsets(columns):
                amount = prod(inside[name] if name in part else outside[name] for name in columns)
                found[part] = found.get(part, 0.0) + amount
        return found


def subsets(columns: Iterable[str]) -> list[Columns]:
    """Every subset, the smallest first."""
    some = sorted(columns)
    return [frozenset(chosen) for ways in range(len(some) + 1) for chosen in combinations(some, ways)]


def closed_below(sets: Iterable[Columns]) -> tuple[Columns, ...]:
    """Every subset of any of the sets, the smallest first."""
    found = {part for columns in sets for part in subsets(columns)}
    return tuple(sorted(found, key=lambda columns: (len(columns), sorted(columns))))


@dataclass(frozen=True)
class Strategy:
    """The tables of leaves that are counted and get noise, and each one's share of the price."""

    sets: tuple[Columns, ...]
    shares: tuple[Fraction, ...]


@lru_cache(maxsize=32)
def choose(workload: Workload, *, pure: bool) -> Strategy:
    """The best found of: the tables themselves, some of them counted as one, and any of their totals counted too.

    Why it may be trusted: what is chosen changes the error alone, never the promise. The error that is compared is
    exact for least squares (``Workload.needs``), but for the difference between discrete and continuous noise. With
    Gaussian noise it is convex in the shares; with Laplace noise a local minimum is found. Fewer, larger tables
    save pure loss, which adds up, at the cost of longer sums (Qardaji, Yang, Li 2014).
    """
    tables = [one for one in workload.tables if not any(one < other for other in workload.tables)]
    search = _Search(workload, pure)
    merged = search.merged(tables)
    alone = search.shared(merged)
    every = search.shared(list(closed_below(merged)))
    worth = [one for one, share in zip(every.sets, every.shares, strict=True) if share > _LEAST_SHARE or one in merged]
    best = min(alone, search.shared(worth), key=lambda found: found.error)
    parts = [max(1, round(_FINE * float(share))) for share in best.shares]
    return Strategy(tuple(best.sets), tuple(Fraction(part, sum(parts)) for part in parts))


@dataclass(frozen=True, eq=False)
class _Found:
    sets: list[Columns]
    shares: Numbers
    error: float


class _Search:
    """Compares strategies by the summed variance of all printed cells, at a price of 1."""

    def __init__(self, workload: Workload, pure: bool) -> None:
        self._workload = workload
        self._pure = pure
        self._parts = list(workload.needs)
        self._needs = np.array([workload.needs[part] for part in self._parts])
        self._known: dict[Columns, Numbers] = {}

    def merged(self, tables: list[Columns]) -> list[Columns]:
        """The tables, two of them counted as one wherever that helps most, as long as it does."""
        current = self.shared(tables, _QUICK)
        while 1 < len(current.sets) <= _MOST_MERGED:
            tried = [_with(current.sets, one | other) for one, other in combinations(current.sets, 2)]
            found = [self.shared(sets, _QUICK) for sets in tried if self._cells(sets) <= MOST_CELLS]
            best = min(found, key=lambda one: one.error, default=current)
            if best.error >= current.error:
                break
            current = best
        return current.sets

    def shared(self, sets: list[Columns], rounds: int = _LONG) -> _Found:
        """The best shares for counting these sets.

        Noise of the share s has the precision s² / 2 (Laplace) or 2 s (Gaussian), in units of the price, and a part
        is known with the sum of the precisions of all tables it is in, each over its cells. At the best shares
        the error falls alike whichever is raised; each round raises those where it falls faster. For tables that
        have nothing in common one round suffices: cube roots or square roots of the numbers of cells.
        """
        power = 1 / 3 if self._pure else 1 / 2
        over = np.array([self._column(one) for one in sets]).T
        shares = np.array([float(self._workload.size(one)) ** power for one in sets])
        best = _Found(sets, shares, float("inf"))
        for _ in range(rounds):
            shares = shares / shares.sum()
            precision = over @ (shares**2 / 2 if self._pure else 2 * shares)
            error = float((self._needs / precision).sum())
            if error < best.error:
                best = _Found(sets, shares, error)
            falls = (self._needs / precision**2) @ over
            shares = shares * (falls * shares if self._pure else falls) ** power
        return best

    def _column(self, one: Columns) -> Numbers:
        if one not in self._known:
            each = 1 / self._workload.size(one)
            self._known[one] = np.array([each if part <= one else 0.0 for part in self._parts])
        return self._known[one]

    def _cells(self, sets: Sequence[Columns]) -> int:
        return sum(map(self._workload.size, sets))


def _with(sets: Sequence[Columns], union: Columns) -> list[Columns]:
    return [*(one for one in sets if not one <= union), union]
