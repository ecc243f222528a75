"""Feasibility intervals of all hidden cells of a connected part."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from threading import Lock
from typing import Any

import numpy as np

from discreet.core.programs import Numbers
from discreet.verbs.attack.intruder.unknowns import MergedUnknowns, Simplex, Unknowns, outer_bounds

Tick = Callable[[float], None]
"""Told the share of the work that is done, now and then, by whichever thread does it; an error it raises ends it."""
_MOVES = 1e-6  # of cells that may move by 1: less is no movement
_NEARLY = 1 - 1e-9
_WORTH_SHARING = 200  # programs: with fewer, another solver takes longer to start than it saves


def extent(part: Unknowns, columns: Numbers, tick: Tick) -> tuple[Numbers, Numbers]:
    """How far each of these columns can fall and rise: by maximum flows if the part is a network, else by programs."""
    from discreet.verbs.attack.intruder.network import Network

    network = Network.of(part.relations)
    if network is not None:
        least, most = outer_bounds(part)
        opened = network.opened(part.rise, part.fall)
        fall, rise = np.zeros(len(columns)), np.zeros(len(columns))
        for place, column in enumerate(columns.tolist()):
            tick(place / len(columns))
            fall[place] = opened.reach(column, -1, float(least[column])).amount
            rise[place] = opened.reach(column, 1, float(most[column])).amount
        return np.minimum(fall, least[columns]), np.minimum(rise, most[columns])
    merged = MergedUnknowns.of(part)
    asked = np.unique(merged.column[columns])
    fall, rise = merged.back(*_by_programs(merged.part, asked[asked >= 0], tick))
    return fall[columns], rise[columns]


def movable(part: Unknowns) -> Numbers:
    """Whether each unknown can move at all."""
    merged = MergedUnknowns.of(part)
    moves = np.append(_movable(merged.part, np.arange(len(merged.part))), False)
    return np.asarray(moves[merged.column])


def reaching(part: Unknowns, below: Numbers, above: Numbers, tick: Tick) -> tuple[Numbers, Numbers]:
    """How far each column can fall and rise; no further than is needed where something is."""
    merged = MergedUnknowns.of(part)
    here = merged.column >= 0
    need_fall, need_rise = np.zeros(len(merged.part)), np.zeros(len(merged.part))
    np.maximum.at(need_fall, merged.column[here], np.where(merged.turned, above, below)[here])
    np.maximum.at(need_rise, merged.column[here], np.where(merged.turned, below, above)[here])
    columns = np.flatnonzero(need_fall + need_rise)
    falling, rising = _endless(merged.part, columns, *outer_bounds(merged.part))
    need_fall[columns[falling]] = need_rise[columns[rising]] = 0.0
    search = Search(merged.part, need_fall, need_rise)
    search.run(np.flatnonzero(need_fall), np.flatnonzero(need_rise), tick)
    search.fall[columns[falling]], search.rise[columns[rising]] = np.inf, np.inf
    return merged.back(search.fall, search.rise)


def processors() -> int:
    """How many solvers may run at a time."""
    return os.cpu_count() or 1


def in_turn(work: Callable[..., Any], jobs: Sequence[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
    """Do the work for all jobs, several at a time; each comes back with what came of it behind it."""
    with ThreadPoolExecutor(processors()) as pool:
        waiting = {pool.submit(work, *job): job for job in jobs}
        for future in as_completed(waiting):
            yield (*waiting[future], future.result())


class Search:
    """How far columns can move, from possible tables seen so far.

    Every table that a program finds counts for all columns. A side is done when what was seen is ``enough`` for it
    (an outer bound, or all that is asked for), or when a program was solved for it. With ``either``, one side that
    moves is enough.
    """

    def __init__(self, part: Unknowns, least: Numbers, most: Numbers, *, either: bool = False) -> None:
        self.fall, self.rise = np.zeros(len(part)), np.zeros(len(part))
        ends = np.concatenate([least, most])
        self.size = float(np.max(ends, where=np.isfinite(ends), initial=0.0))
        self._part, self._least, self._most, self._either = part, least, most, either
        self._lock = Lock()

    def run(self, falling: Numbers, rising: Numbers, tick: Tick = lambda share: None) -> None:
        """See how far the falling columns fall and the rising ones rise."""
        program = Simplex(self._part)
        asked = np.concatenate([falling, rising])
        sides = np.concatenate([np.full(len(falling), -1.0), np.full(len(rising), 1.0)])
        left = 2 * len(asked)
        while True:  # all open sides at once, as long as that settles many
            still = self._open(asked, sides)
            if len(still) > 0.9 * left or len(still) < 10:
                break
            left = len(still)
            for side in (1.0, -1.0):
                some = still[sides[still] == side]
                if len(some):
                    self._see(program.furthest(asked[some], sides[some]))
        if len(still) < _WORTH_SHARING:
            self._one_by_one(program, asked[still], sides[still], tick)
            return
        programs = [program, *(Simplex(self._part) for _ in range(processors() - 1))]
        with ThreadPoolExecutor(len(programs)) as pool:  # the solver runs outside Python's lock
            shares = [still[one :: len(programs)] for one in range(len(programs))]
            work = [
                pool.submit(self._one_by_one, p, asked[s], sides[s], tick)
                for p, s in zip(programs, shares, strict=True)
            ]
            for one in work:
                one.result()

    def _one_by_one(self, program: Simplex, asked: Numbers, sides: Numbers, tick: Tick) -> None:
        for place in range(len(asked)):
            tick(place / len(asked))
            one = slice(place, place + 1)
            if len(self._open(asked[one], sides[one])):
                self._see(program.furthest(asked[one], sides[one]))

    def _see(self, changes: Numbers) -> None:
        with self._lock:
            np.maximum(self.rise, changes, out=self.rise)
            np.maximum(self.fall, -changes, out=self.fall)

    def _open(self, columns: Numbers, sides: Numbers) -> Numbers:
        """Which of these sides are not done."""
        fallen = self.fall[columns] >= self._least[columns] * _NEARLY
        risen = self.rise[columns] >= self._most[columns] * _NEARLY
        return np.flatnonzero(~(fallen | risen if self._either else np.where(sides < 0, fallen, risen)))


def _by_programs(part: Unknowns, columns: Numbers, tick: Tick) -> tuple[Numbers, Numbers]:
    """How far these columns fall and rise; of the others, nothing that counts."""
    least, most = outer_bounds(part)
    falling, rising = _endless(part, columns, least, most)
    search = Search(part, least, most)
    search.run(columns[~falling], columns[~rising], tick)
    fall, rise = np.minimum(search.fall, least), np.minimum(search.rise, most)
    fall[columns[falling]], rise[columns[rising]] = np.inf, np.inf
    doubtful = columns[(fall + rise)[columns] <= 1e-6 * max(1.0, search.size)]
    if len(doubtful):
        still = doubtful[~_movable(part, doubtful)]
        fall[still] = rise[still] = 0.0
    return fall, rise


def _movable(part: Unknowns, columns: Numbers) -> Numbers:
    """Whether each of these columns can move at all."""
    free = Unknowns(part.cells, part.relations, (part.fall > 0).astype(float), (part.rise > 0).astype(float))
    search = Search(free, np.full(len(part), _MOVES), np.full(len(part), _MOVES), either=True)
    search.run(columns, columns)
    return np.maximum(search.fall, search.rise)[columns] >= _MOVES


def _endless(part: Unknowns, columns: Numbers, least: Numbers, most: Numbers) -> tuple[Numbers, Numbers]:
    """Which of these columns can fall, and rise, without end.

    They can if they can along a ray: a change that keeps the relations and in which no cell moves towards an end it
    has. Rays can be stretched, so cells of a ray may move by 1.
    """
    falls, rises = np.isinf(least[columns]), np.isinf(most[columns])
    if not (falls.any() or rises.any()):
        return falls, rises
    down, up = np.isinf(part.fall), np.isinf(part.rise)
    ray = Unknowns(part.cells, part.relations, down.astype(np.float64), up.astype(np.float64))
    search = Search(ray, np.full(len(part), _MOVES), np.full(len(part), _MOVES))
    search.run(columns[falls], columns[rises])
    return falls & (search.fall[columns] >= _MOVES), rises & (search.rise[columns] >= _MOVES)
