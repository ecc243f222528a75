"""An integer program over how many people there are of each kind, by HiGHS; every solution is verified exactly."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.core import programs
from discreet.core.programs import Matrix
from discreet.errors import DataError

Array = npt.NDArray[Any]
Row = tuple[dict[int, float], float, float]


@dataclass
class Program:
    """Counts of ``kinds`` (the first variables; whole, together ``people``), then switches that are 0 or 1."""

    kinds: int
    people: int
    _rows: list[Row] = field(default_factory=list)
    _switches: int = 0
    _reached: dict[tuple[int, int], int] = field(default_factory=dict)
    """The switch that says whether so many people are of a kind."""

    def __post_init__(self) -> None:
        self.require(np.ones(self.kinds), self.people, self.people)

    def require(self, weights: Array, low: float, high: float) -> None:
        """The weighted sum of the counts lies between ``low`` and ``high``. Weights and limits are whole."""
        self._rows.append(({int(at): float(weights[at]) for at in np.flatnonzero(weights)}, float(low), float(high)))

    def choose(self, options: int) -> list[int]:
        """Switches of which exactly one is on."""
        made = [self._switch() for _ in range(options)]
        self._rows.append((dict.fromkeys(made, 1.0), 1.0, 1.0))
        return made

    def require_if(self, switch: int, weights: Array, low: float, high: float) -> None:
        """As ``require``, for weights of 0 and 1, only if ``switch`` is on."""
        some = {int(at): 1.0 for at in np.flatnonzero(weights)}
        if low > 0:
            self._rows.append((some | {switch: -float(low)}, 0.0, float(self.people)))
        if high < self.people:
            self._rows.append((some | {switch: float(self.people - high)}, 0.0, float(self.people)))

    def solve(self, cost: dict[int, float] | None = None, also: list[Row] | None = None) -> Array | None:
        """Counts that fulfil everything, of least cost; None if there are none."""
        rows = self._rows + (also or [])
        size = self.kinds + self._switches
        objective = np.zeros(size)
        for at, price in (cost or {}).items():
            objective[at] = price
        matrix = Matrix.of_rows((list(weights), list(weights.values())) for weights, *_ in rows)
        ends = [np.array([row[end] for row in rows]) for end in (1, 2)]
        most = np.repeat([self.people, 1], [self.kinds, self._switches])
        solved = programs.Program(objective, matrix, ends[0], ends[1], 0.0, most, integral=True).solve()
        if solved.infeasible:
            return None
        if solved.x is None:
            raise DataError(f"The integer program was not solved: {solved.status.value}.")
        whole = np.rint(solved.x).astype(np.int64)
        for weights, low, high in rows:
            if not low <= sum(int(weight) * int(whole[at]) for at, weight in weights.items()) <= high:
                raise DataError("The integer program was solved too inexactly to be believed.")
        return np.asarray(whole[: self.kinds])

    def common(self, found: Array) -> Array:
        """How many people of each kind every solution has: those of ``found`` that no other solution can do without.

        Look for the solution that keeps fewest of them, drop what it does not keep, and again until all are kept.
        """
        kept = found.copy()
        while kept.any():
            other = self.solve(cost=dict.fromkeys(self._copies(kept), 1.0))
            if other is None or (np.minimum(kept, other) == kept).all():
                return kept
            kept = np.minimum(kept, other)
        return kept

    def count(self, first: Array, most: int) -> tuple[int, bool]:
        """How many solutions there are, and whether that is all: each found one is ruled out, then the next sought."""
        also: list[Row] = []
        found: Array | None = first
        number = 0
        while found is not None and number < most:
            number += 1
            copies = self._copies(found)
            also.append((dict.fromkeys(copies, 1.0), 0.0, float(len(copies) - 1)))
            found = self.solve(also=also)
        return number, found is None

    def _copies(self, counts: Array) -> list[int]:
        """A switch for each person: the first, second … of a kind. Another solution has not all of them."""
        return [
            self._at_least(int(at), rank) for at in np.flatnonzero(counts) for rank in range(1, int(counts[at]) + 1)
        ]

    def _at_least(self, kind: int, rank: int) -> int:
        """The switch that is on if and only if there are ``rank`` people of ``kind`` or more."""
        if (kind, rank) not in self._reached:
            switch = self._reached[kind, rank] = self._switch()
            self._rows.append(({kind: 1.0, switch: -float(rank)}, 0.0, float(self.people)))
            most = float(self.people - rank + 1)
            self._rows.append(({kind: 1.0, switch: -most}, -most, float(rank - 1)))
        return self._reached[kind, rank]

    def _switch(self) -> int:
        self._switches += 1
        return self.kinds + self._switches - 1
