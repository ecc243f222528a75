"""Nearest integer solution of additivity relations."""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic
from typing import Any

import numpy as np

from discreet.core.programs import Numbers, Program
from discreet.errors import EngineError, NoPromise
from discreet.releases.method import Progress
from discreet.verbs.attack.intruder.sparse import sparse


@dataclass(frozen=True, eq=False)
class WholeNumbers:
    """Whole numbers near to given ones; ``distance`` and ``bound`` are weighted sums of how far off they are."""

    values: Numbers
    """int64."""
    reach: int
    """Each is less than this far off; with 1, each is one of the two next to the given one, and a whole one stays."""
    distance: float
    bound: float
    """No such numbers within reach are less far off than this."""


@dataclass(frozen=True, eq=False)
class WholeNumberProblem:
    """The numbers ``floors`` + ``fractions``, which fulfil the relations at least nearly, and what the whole ones must
    keep to; both neighbours of each number are within ``least`` and ``most``."""

    relations: Any
    floors: Numbers
    """int64."""
    fractions: Numbers
    """From 0 to below 1."""
    weights: Numbers
    least: Numbers
    most: Numbers

    def nearest(self, seconds: float, gap: float, progress: Progress) -> WholeNumbers:
        """Whole numbers that fulfil the relations, nearest by weighted absolute difference.

        First only neighbours are tried, then one further, and so on, each in half of the time left. The variables are
        how many steps a number is off its floor, so that HiGHS sees small numbers, however large the values are; that
        the answer fulfils the relations is checked in whole numbers.
        """
        if not self.fractions.any() and not (self.relations.astype(np.int64) @ self.floors).any():
            return WholeNumbers(self.floors, 1, 0.0, 0.0)
        deadline = monotonic() + seconds
        reach = 1
        while (left := deadline - monotonic()) > 0.01:
            progress(1 - left / seconds, f"whole numbers within {reach}")
            program, steps = self._steps(reach)
            found = program.solve_whole(left / 2, gap)
            if found.x is not None:
                moved = np.rint(steps @ np.rint(found.x)).astype(np.int64)
                if (self.relations.astype(np.int64) @ (self.floors + moved)).any():
                    raise EngineError("HiGHS returned a solution that does not add up.")
                distance = float(self.weights @ np.abs(moved - self.fractions))
                bound = found.bound + float(self.weights @ self.fractions)
                return WholeNumbers(self.floors + moved, reach, distance, min(distance, bound))
            reach += 1
        raise NoPromise(
            f"No additive rounded table was found in {seconds:g} seconds.",
            hint="Allow more time, combine codes, or use fewer dimensions.",
        )

    def _steps(self, reach: int) -> tuple[Program, Any]:
        """The programme for one reach, and the matrix that makes of its answer the steps from the floors.

        A number between two whole ones may go up by one step, which costs 1 - 2 · fraction. Any number may go on in
        either direction at a cost of 1 a step. These costs increase outwards, so the cheapest way is the distance.
        """
        lib = sparse()
        between = self.fractions > 0
        one = lib.eye_array(len(self.floors), format="csc")
        moves, costs = [one[:, np.flatnonzero(between)]], [(self.weights * (1 - 2 * self.fractions))[between]]
        limits = [np.ones(int(between.sum()))]
        if reach > 1:
            moves += [one, -one]
            costs += [self.weights, self.weights]
            limits += [
                np.minimum(reach - 1, self.most - self.floors - between),
                np.minimum(reach - 1, self.floors - self.least),
            ]
        steps, cost, most = lib.hstack(moves, format="csc"), np.concatenate(costs), np.concatenate(limits)
        need = -(self.relations.astype(np.int64) @ self.floors)
        matrix = self.relations.astype(np.float64) @ steps
        return Program(cost, matrix, need, need, 0.0, most, integral=True), steps
