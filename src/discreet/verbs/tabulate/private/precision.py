"""Error of a published cell after all counts were made consistent by least squares."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.core.exact import Number
from discreet.noise.deviation import Noise, Weighted, weighted_error
from discreet.verbs.tabulate.private.workload import Columns, subsets

SMALLEST = 1e-100
"""Smallest variance that is divided by."""
_CANCELLED = 1e-12  # what is left of a weight that is zero


@dataclass(frozen=True)
class Precision:
    """Tables of leaves that were counted with noise, every cell of a table with noise of the same kind."""

    leaves: Mapping[str, int]
    """How many leaves each column has."""
    sets: tuple[Columns, ...]
    noises: tuple[Noise, ...]

    def weights(self, cell: Mapping[str, int]) -> list[Weighted]:
        """Which noises the least-squares figure of a cell is made of: of each counted table, how much of how many.

        ``cell`` says for each column of a table how many of its leaves the cell is the total of; columns that
        are left out, of all.

        Why this is right: let every column's counts split into their mean and what differs from it. The tables that
        were counted see the parts that these splits make, one for each set B of columns, each part evenly and
        no two together, since all cells of a table have the same noise; so the best estimate is, part by part, the
        mean of all tables that see it, weighted by their precision p over the number of their cells. A part's
        precision is c = Σ p / cells, and a cell of the table A weighs in it with p / (cells · c) times the product
        over the columns of what the two have in common of B: in or out (1 or 0) less the share f of the leaves within
        B, f outside (McKenna, Miklau, Hay, Machanavajjhala 2018; Xiao, He, Zhang, Kifer 2023).
        """
        share = {name: count / self.leaves[name] for name, count in cell.items()}
        found = []
        for table, noise, precision in zip(self.sets, self.noises, self._precisions, strict=True):
            common = [name for name in cell if name in table]
            beyond = math.prod(share[name] for name in cell if name not in table)
            times = np.full((2,) * len(common), math.prod(self.leaves[name] for name in table if name not in cell))
            sizes = np.empty((2,) * len(common))  # first by outside and within B, then by out of the cell and in it
            for which in np.ndindex(sizes.shape):
                part = frozenset(name for name, within in zip(common, which, strict=True) if within)
                sizes[which] = precision / (self._known(part) * self._size(table))
            for axis, name in enumerate(common):
                f, inside = share[name], cell[name]
                sizes = np.moveaxis(np.tensordot([[f, -f], [f, 1 - f]], sizes, axes=(1, axis)), 0, axis)
                many = np.array([self.leaves[name] - inside, inside])
                times = times * many.reshape([-1 if place == axis else 1 for place in range(len(common))])
            there = (times > 0) & (np.abs(sizes) > _CANCELLED)
            found.append(Weighted(noise, sizes[there] * beyond, times[there].astype(np.float64)))
        return found

    def variance(self, cell: Mapping[str, int]) -> float:
        """The variance of the least-squares figure of a cell: Σ over its parts of their squared length over c."""
        share = {name: count / self.leaves[name] for name, count in cell.items()}
        total = 0.0
        for part in subsets(cell):
            length = math.prod(f * (1 - f) if name in part else f * f for name, f in share.items())
            if length:
                total += length / self._known(part)
        return total

    def error(self, cell: Mapping[str, int], beta: Number) -> float:
        """How far the least-squares figure of a cell may be off, with probability 1 - beta."""
        return weighted_error(self.weights(cell), beta)

    @cached_property
    def _precisions(self) -> tuple[float, ...]:
        return tuple(1 / max(noise.variance, SMALLEST) for noise in self.noises)

    def _known(self, part: Columns) -> float:
        """With what precision a part is known, in all."""
        if part not in self._parts:
            seen = zip(self.sets, self._precisions, strict=True)
            self._parts[part] = sum(precision / self._size(table) for table, precision in seen if part <= table)
        return self._parts[part]

    @cached_property
    def _parts(self) -> dict[Columns, float]:
        return {}

    def _size(self, columns: Iterable[str]) -> int:
        return math.prod(self.leaves[name] for name in columns)
