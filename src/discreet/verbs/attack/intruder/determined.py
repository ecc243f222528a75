"""Which unknown counts are the same in every database that agrees with what was released.

Everything is said in changes from the true database, as in ``unknowns.py``: a count may fall and rise within its
bounds, and the changes of all counts must keep every relation. A count is *determined* if it changes in no possible
database. Counts are whole numbers, and an intruder knows that, so a fractional solution proves nothing:

* a whole-number solution in which a count changes proves that it is not determined;
* a count that no solution over the reals changes is determined, since whole numbers are among the reals. Of many
  counts at once this is decided by one pair of programs: a sum of them with random weights that is constant means that
  each of them is, with probability 1 over the weights (two solutions that differ at a count would have to cancel);
* what is left is asked of an integer program, one count at a time. If it runs out of time, the count is undecided,
  and that is not safe.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from time import monotonic
from typing import Any

import numpy as np

from discreet.core.programs import Numbers, Program, Status
from discreet.noise.masking import Generator, generator
from discreet.verbs.attack.intruder.sparse import components, sparse
from discreet.verbs.attack.intruder.unknowns import Simplex, Unknowns, open_sides

_MOVES = 1e-6
"""Change that counts as one, of counts that may change by 1."""
_ROUNDS = 12
"""Random directions in which whole-number databases are looked for, before counts are asked one by one."""


_TIMES = (1, 2, 3, 4, 6)


LARGE = 2_000
"""Unknowns from which a system is large: an interior-point method is faster then than the simplex."""


class Verdict(IntEnum):
    """What is known of a count."""

    FREE = 0
    """There are two possible databases in which it differs."""
    DETERMINED = 1
    """It is the same in every possible database."""
    UNDECIDED = 2
    """Too large or too slow to tell."""


@dataclass(frozen=True, eq=False)
class LinearSystem:
    """Unknown counts in changes from their true values: ``relations @ change == 0``, ``-fall <= change <= rise``."""

    relations: Any
    """A ``scipy.sparse.csr_array`` of whole numbers: a row a relation, a column an unknown."""
    fall: Numbers
    rise: Numbers


@dataclass(eq=False)
class Seen:
    """Possible databases that were found on the way, in changes from the true one."""

    changes: Numbers = field(default_factory=lambda: np.zeros((0, 0), np.int64))
    """A row a database, a column an unknown."""
    part: Numbers = field(default_factory=lambda: np.zeros(0, np.int64))
    """For each unknown the connected part it is in; -1 if it is determined for a simple reason."""


def determined(
    system: LinearSystem,
    asked: Numbers,
    *,
    seconds: float = 60.0,
    seed: int = 0,
    seen: Seen | None = None,
    reals: bool = False,
) -> Numbers:
    """The ``Verdict`` on each of the unknowns ``asked``; ``seen`` takes databases that were found.

    With ``reals`` only what is the same in every solution over the reals is said to be determined, and nothing is said
    of the rest: in large systems that takes seconds, and whole-number databases minutes.
    """
    asked, again = np.unique(asked, return_inverse=True)  # a solver takes no goal that names a column twice
    deadline = monotonic() + seconds
    relations = sparse().csr_array(system.relations)
    falls, rises = open_sides(relations, system.fall > 0, system.rise > 0)
    moving = falls | rises
    verdicts = np.full(len(asked), Verdict.DETERMINED, np.int8)
    verdicts[moving[asked]] = Verdict.UNDECIDED
    left = np.flatnonzero(moving)
    if seen is not None:
        seen.changes, seen.part = np.zeros((_ROUNDS, len(moving)), np.int64), np.full(len(moving), -1)
    if not len(left) or not moving[asked].any():
        return verdicts[again]
    relations = sparse().csr_array(relations[:, left])
    relations = sparse().csr_array(relations[np.diff(relations.indptr) > 0])
    fall, rise = np.where(falls, system.fall, 0.0)[left], np.where(rises, system.rise, 0.0)[left]
    where = np.full(len(moving), -1)
    where[left] = np.arange(len(left))
    columns = where[asked]
    coordinates = relations.tocoo()
    count, width = relations.shape
    label = components(coordinates.row, count + coordinates.col, count + width)
    for component in np.unique(label[count:][columns[columns >= 0]]):
        mine = np.flatnonzero(label[count:] == component)
        rows = np.flatnonzero(label[:count] == component)
        part = Unknowns(mine, sparse().csr_array(relations[rows][:, mine]), fall[mine], rise[mine])
        here = np.flatnonzero((columns >= 0) & (label[count:][np.maximum(columns, 0)] == component))
        places = np.searchsorted(mine, columns[here])
        one = _Component(part, deadline, generator(seed), _ROUNDS if seen is not None else 0)
        verdicts[here] = one.decide_by_reals(places) if reals else one.decide(places)
        if seen is not None:  # parts do not hang together: a database of each makes one of all
            seen.part[left[mine]] = component
            for row, changes in enumerate(one.found[:_ROUNDS]):
                seen.changes[row, left[mine]] = changes
    return verdicts[again]


class _InteriorPoint:
    """A linear program over a large part, solved from scratch by an interior-point method for every goal."""

    def __init__(self, part: Unknowns, deadline: float) -> None:
        self._part, self._deadline = part, deadline

    def furthest(self, columns: Numbers, weights: Numbers) -> Numbers:
        """As ``Simplex.furthest``; nothing changes if time runs out, and then nobody believes it."""
        part, cost = self._part, np.zeros(len(self._part))
        cost[columns] = -weights
        program = Program(cost, part.relations, 0.0, 0.0, -part.fall, part.rise)
        found = program.solve(max(self._deadline - monotonic(), 0.01), solver="ipm", run_crossover="off").x
        return np.zeros(len(part)) if found is None else found


class _Component:
    """Connected unknowns, and which of them are known to differ between possible databases."""

    def __init__(self, part: Unknowns, deadline: float, rng: Generator, keep: int = 0) -> None:
        self._part, self._deadline, self._rng, self._keep = part, deadline, rng, keep
        self.found: list[Numbers] = []
        self._moves = np.zeros(len(part), bool)

    def decide_by_reals(self, asked: Numbers) -> Numbers:
        return np.where(self._constant(asked), Verdict.DETERMINED, Verdict.UNDECIDED)

    def decide(self, asked: Numbers) -> Numbers:
        verdicts = np.full(len(asked), Verdict.UNDECIDED, np.int8)
        self._look_around(asked)
        open_ = np.flatnonzero(~self._moves[asked])
        constant = self._constant(asked[open_])
        verdicts[open_[constant]] = Verdict.DETERMINED
        for place in open_[~constant].tolist():
            if monotonic() > self._deadline:
                break
            if not self._moves[asked[place]]:
                found = self._by_whole_numbers(int(asked[place]))
                if found is not None:
                    verdicts[place] = found
        verdicts[self._moves[asked]] = Verdict.FREE
        return verdicts

    def _look_around(self, asked: Numbers) -> None:
        """Collect whole-number databases in random directions."""
        program = Simplex(self._part)
        settled = -1
        for round_ in range(_ROUNDS):
            open_ = asked[~self._moves[asked]]
            settled_now = not len(open_) or (round_ > 3 and settled == len(open_))
            if monotonic() > self._deadline or (settled_now and round_ >= self._keep):
                return
            settled = len(open_)
            if settled_now:
                open_ = asked
            self._note(program.furthest(open_, self._weights(len(open_))))

    def _constant(self, asked: Numbers) -> Numbers:
        """Which of these are the same in every solution over the reals."""
        part = self._part
        unit = Unknowns(part.cells, part.relations, (part.fall > 0).astype(float), (part.rise > 0).astype(float))
        program = Simplex(unit) if len(part) < LARGE else _InteriorPoint(unit, self._deadline)
        constant = np.ones(len(asked), bool)
        while constant.any():
            if monotonic() > self._deadline:
                return np.zeros(len(asked), bool)
            open_ = np.flatnonzero(constant)
            weights = self._weights(len(open_))
            changed = np.zeros(len(open_), bool)
            for sign in (1.0, -1.0):
                found = program.furthest(asked[open_], sign * weights)
                changed |= np.abs(found[asked[open_]]) > _MOVES
                for times in _TIMES:  # a small change in fractions, several times, may be one in whole numbers
                    self._note(times * found)
            if not changed.any():
                return constant if monotonic() <= self._deadline else np.zeros(len(asked), bool)
            constant[open_[changed]] = False
        return constant

    def _by_whole_numbers(self, column: int) -> Verdict | None:
        """Whether some whole-number database has another count here; ``None`` if time runs out."""
        part = self._part
        for least, most in ((1.0, part.rise[column]), (-part.fall[column], -1.0)):
            low, high = -part.fall, part.rise.copy()
            low[column], high[column] = least, most
            if least > most:
                continue
            program = Program(
                np.zeros(len(part)), part.relations, 0.0, 0.0, low, high, integral=np.ones(len(part), bool)
            )
            solved = program.solve(max(self._deadline - monotonic(), 0.01))
            if solved.x is not None:
                self._note(solved.x)
                return Verdict.FREE if self._moves[column] else None
            if solved.status is not Status.INFEASIBLE:
                return None
        return Verdict.DETERMINED

    def _note(self, changes: Numbers) -> None:
        """Take note of a database, if it is one: whole numbers that keep every relation exactly."""
        whole = np.rint(changes).astype(np.int64)
        if np.abs(changes - whole).max(initial=0.0) > _MOVES:
            return
        if (self._part.relations.astype(np.int64) @ whole).any():
            return
        if (whole < -self._part.fall).any() or (whole > self._part.rise).any():
            return
        self._moves |= whole != 0
        if len(self.found) < self._keep:
            self.found.append(whole)

    def _weights(self, count: int) -> Numbers:
        return np.asarray(self._rng.uniform(1.0, 2.0, count) * self._rng.choice((-1.0, 1.0), count))
