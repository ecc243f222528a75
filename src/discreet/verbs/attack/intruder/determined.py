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

In large systems no whole-number solution is found in a random direction. But *small* ones abound: a few people swap
two values, and no released sum changes (moves, as in a Markov basis; Diaconis and Sturmfels, 1998). The smallest
change under which a count changes, added up over all unknowns, is a linear program whose solutions are whole numbers
more often than not, the more so if only two or three values are let change; if not, an integer program is near.

Time is that in which this thread has worked, so that a busy machine decides as an idle one does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import IntEnum
from itertools import combinations, islice
from time import thread_time
from typing import Any

import numpy as np

from discreet.core.programs import Numbers, Program, Solver, Status
from discreet.noise.masking import Generator, generator
from discreet.verbs.attack.intruder.sparse import components, sparse
from discreet.verbs.attack.intruder.unknowns import MergedUnknowns, Simplex, Unknowns, open_sides

_MOVES = 1e-6
"""Change that counts as one, of counts that may change by 1."""
_ROUNDS = 12
"""Random directions in which whole-number databases are looked for, before counts are asked one by one."""


_TIMES = (1, 2, 3, 4, 6)
_COMMON = 6
_MOST_SWAPS = 60
"""Kinds of unknowns, the most common ones, that others are swapped with, and pairs or triples that are tried."""
_LONGEST = 5.0
"""Seconds for one integer program of a large system, at most."""


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
    kind: Numbers
    """For each unknown what it counts, such as the value; -1 for one that follows from others."""


@dataclass(eq=False)
class Seen:
    """What changes alike in all possible databases that were found on the way."""

    marks: Numbers = field(default_factory=lambda: np.zeros(0, np.uint64))
    """For each unknown its changes from the true database, added up with random weights modulo 2 ** 64."""
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
    deadline = thread_time() + seconds
    relations = sparse().csr_array(system.relations)
    falls, rises = open_sides(relations, system.fall > 0, system.rise > 0)
    moving = falls | rises
    verdicts = np.full(len(asked), Verdict.DETERMINED, np.int8)
    verdicts[moving[asked]] = Verdict.UNDECIDED
    left = np.flatnonzero(moving)
    if seen is not None:
        seen.marks, seen.part = np.zeros(len(moving), np.uint64), np.full(len(moving), -1)
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
        one = _Component(part, system.kind[left[mine]], deadline, generator(seed), _ROUNDS if seen is not None else 0)
        verdicts[here] = one.decide_by_reals(places) if reals else one.decide(places)
        if seen is not None:
            seen.part[left[mine]], seen.marks[left[mine]] = component, one.marks
    return verdicts[again]


class _InteriorPoint:
    """A linear program over a large part, solved from scratch by an interior-point method for every goal."""

    def __init__(self, part: Unknowns, deadline: float) -> None:
        self._part, self._deadline = part, deadline

    def furthest(self, columns: Numbers, weights: Numbers) -> Numbers | None:
        """As ``Simplex.furthest``; ``None`` if time runs out. Where the method fails, the simplex is tried."""
        part, cost = self._part, np.zeros(len(self._part))
        cost[columns] = -weights
        program = Program(cost, part.relations, 0.0, 0.0, -part.fall, part.rise)
        found = program.solve(deadline=self._deadline, solver="ipm", run_crossover="off").x
        return found if found is not None else program.solve(deadline=self._deadline, solver="simplex").x


class _SmallestChanges:
    """The smallest changes of a part under which one of its unknowns changes."""

    def __init__(self, part: Unknowns, deadline: float, rng: Generator) -> None:
        self._merged, self._deadline = MergedUnknowns.of(part), deadline
        small = self._merged.part
        both = sparse().csr_array(sparse().hstack([small.relations, -small.relations], format="csr"))
        most = np.concatenate([small.rise, small.fall])
        self._program = Program(rng.uniform(1.0, 1.2, len(most)), both, 0.0, 0.0, np.zeros(len(most)), most)
        self._solver = Solver(solver="simplex", presolve="off")
        self._solver.load(self._program)
        self._solver.stop_at(deadline)

    def of(self, column: int) -> Iterator[Numbers]:
        """The smallest change under which an unknown rises, and that under which it falls, if there are any."""
        at, count = int(self._merged.column[column]), len(self._merged.part)
        most = self._program.most
        for ends in ((at, at + count), (at + count, at)) if at >= 0 else ():
            both = np.array(ends)
            if most[both[0]] < 1:
                continue
            self._solver.set_bounds(both, (1.0, 0.0), (most[both[0]], 0.0))
            found = self._solver.solution().x if self._solver.run() is Status.OPTIMAL else None
            self._solver.set_bounds(both, 0.0, most[both])
            if found is not None and np.abs(found - np.rint(found)).max() > _MOVES:
                found = self._whole(*ends)
            if found is not None:
                change = np.append(found[:count] - found[count:], 0.0)  # the last is for those that cannot move
                yield change[self._merged.column] * np.where(self._merged.turned, -1.0, 1.0)

    def _whole(self, up: int, down: int) -> Numbers | None:
        """The same in whole numbers, if that is found soon."""
        least, most = self._program.least.copy(), self._program.most.copy()
        least[up], most[down] = 1.0, 0.0
        program = replace(self._program, least=least, most=most, integral=True)
        return program.solve(deadline=min(self._deadline, thread_time() + _LONGEST)).x


class _Component:
    """Connected unknowns, and which of them are known to differ between possible databases."""

    def __init__(self, part: Unknowns, kind: Numbers, deadline: float, rng: Generator, rounds: int) -> None:
        self._part, self._kind, self._deadline, self._rng, self._rounds = part, kind, deadline, rng, rounds
        self.marks = np.zeros(len(part), np.uint64)
        self._moves = np.zeros(len(part), bool)

    def decide_by_reals(self, asked: Numbers) -> Numbers:
        return np.where(self._constant(asked), Verdict.DETERMINED, Verdict.UNDECIDED)

    def decide(self, asked: Numbers) -> Numbers:
        verdicts = np.full(len(asked), Verdict.UNDECIDED, np.int8)
        large = len(self._part) >= LARGE
        if large:
            self._swap(asked, 2)
        else:
            self._look_around(asked)
        open_ = np.flatnonzero(~self._moves[asked])
        constant = self._constant(asked[open_])
        verdicts[open_[constant]] = Verdict.DETERMINED
        if large:
            self._swap(asked[open_[~constant]], 3)
            self._change_little(np.arange(len(self._part)), asked[open_[~constant]])
        for place in open_[~constant].tolist():
            if thread_time() > self._deadline:
                break
            if not self._moves[asked[place]]:
                found = self._by_whole_numbers(int(asked[place]))
                if found is not None:
                    verdicts[place] = found
        verdicts[self._moves[asked]] = Verdict.FREE
        return verdicts

    def _swap(self, asked: Numbers, many: int) -> None:
        """Collect whole-number databases in which only a few kinds of unknowns change, and what follows from them."""
        kinds, counts = np.unique(self._kind[self._kind >= 0], return_counts=True)
        common = kinds[np.argsort(-counts, kind="stable")][:_COMMON].tolist()
        mine = sorted({*(common if (self._kind[asked] < 0).any() else ()), *self._kind[asked].tolist()} - {-1})
        sets = dict.fromkeys(
            tuple(sorted((one, *others)))
            for one in mine
            for others in combinations(common, many - 1)
            if one not in others
        )
        for some in islice(sets, _MOST_SWAPS):
            self._change_little(np.flatnonzero(np.isin(self._kind, [-1, *some])), asked)

    def _change_little(self, among: Numbers, asked: Numbers) -> None:
        """Collect the smallest changes of some of the unknowns under which those asked for change."""
        asked = np.intersect1d(asked[~self._moves[asked]], among)
        if not len(asked) or thread_time() > self._deadline:
            return
        relations = sparse().csr_array(self._part.relations[:, among])
        relations = sparse().csr_array(relations[np.diff(relations.indptr) > 0])
        part = Unknowns(among, relations, self._part.fall[among], self._part.rise[among])
        smallest, changes = _SmallestChanges(part, self._deadline, self._rng), np.zeros(len(self._part))
        for column in asked.tolist():
            for found in smallest.of(int(np.searchsorted(among, column))) if not self._moves[column] else ():
                changes[among] = found
                self._note(changes)
                if self._moves[column]:
                    break

    def _look_around(self, asked: Numbers) -> None:
        """Collect whole-number databases in random directions."""
        program = Simplex(self._part)
        settled = -1
        for round_ in range(_ROUNDS):
            open_ = asked[~self._moves[asked]]
            settled_now = not len(open_) or (round_ > 3 and settled == len(open_))
            if thread_time() > self._deadline or (settled_now and round_ >= self._rounds):
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
            if thread_time() > self._deadline:
                return np.zeros(len(asked), bool)
            open_ = np.flatnonzero(constant)
            weights = self._weights(len(open_))
            changed = np.zeros(len(open_), bool)
            for sign in (1.0, -1.0):
                found = program.furthest(asked[open_], sign * weights)
                if found is None:
                    return np.zeros(len(asked), bool)
                changed |= np.abs(found[asked[open_]]) > _MOVES
                for times in _TIMES:  # a small change in fractions, several times, may be one in whole numbers
                    self._note(times * found)
            if not changed.any():
                return constant
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
            longest = _LONGEST if len(part) >= LARGE else np.inf
            solved = program.solve(deadline=min(self._deadline, thread_time() + longest))
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
        self.marks += whole.astype(np.uint64) * np.uint64(self._rng.integers(1, 2**62))

    def _weights(self, count: int) -> Numbers:
        return np.asarray(self._rng.uniform(1.0, 2.0, count) * self._rng.choice((-1.0, 1.0), count))
