"""Workload: the tables to print, as far as their expected error depends on declarations."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import prod
from typing import TypeAlias

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
        """For each part of the counts how much of the summed variance of all printed cells hangs on it.

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
