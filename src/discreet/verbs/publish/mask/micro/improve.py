"""Iterated local search for better groups (Numba). Import this where it is needed only.

Again and again a few groups that lie side by side are taken apart and put together anew (ruin and recreate, Schrimpf
and others 2000), then records are moved and swapped among them as long as that helps. What is a little worse is kept,
too, the less often the longer the search goes on (simulated annealing). No group ever has fewer than k records.

All this needs of a handful of records is their distances: the sum of squares within a group is the sum of the squared
distances of its pairs over its size, so that a move or a swap is weighed by a few additions in any number of columns.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from discreet.core.compiled import njit
from discreet.verbs.publish.mask.micro.diverse import ANY, Rule, satisfied, tally
from discreet.verbs.publish.mask.micro.tree import squared_distance

Array = npt.NDArray[Any]

NOBODY: Any = np.int64(-1)  # no literal: Numba would compile everything twice
ROOM = 16
"""Largest number of records looked at together, as a multiple of k."""
_GROUPS: Any = np.int64(8)
"""Fewer groups than two more than these are taken at a time."""
_FEWER: Any = np.int64(4)
"""One attempt in this number forms one group fewer than possible."""
_HEAT, _COOLING = 0.03, 5.0
"""Simulated annealing: mean relative loss accepted at first, and the exponent by which it falls."""
_SMALL = 1e-9


class Groups(NamedTuple):
    """The groups of all records."""

    of: Array
    """The group of each record."""
    after: Array
    """For each record the next member of its group."""
    first: Array
    """For each group a member; ``NOBODY`` (-1): it does not exist."""
    free: Array
    """Numbers of groups that do not exist; the last entry is how many of them there are."""


class Pool(NamedTuple):
    """Some records, and how they are grouped. Groups are numbered anew here, from 0."""

    who: Array
    apart: Array
    """The squared distance of each two of them."""
    of: Array
    """The group of each, or ``NOBODY``."""
    total: Array
    """For each record and group the sum of its squared distances from the members."""
    size: Array
    """Number of members of each group; 0: it does not exist."""
    pairs: Array
    """For each group the sum of the squared distances of its pairs."""
    old: Array
    """Which groups of all records were taken."""


@njit(cache=True)
def search(  # noqa: PLR0917  # Numba takes arguments by position
    points: Array, groups: Groups, near: Array, k: int, tries: int, seed: int, codes: Array, rule: Rule
) -> float:
    """Improve ``groups`` by ``tries`` attempts; the decrease of the sum of squares.

    ``near``: for each record its neighbours. The same ``seed`` makes the same choices.
    """
    pool, state = _pool(ROOM * k, k), np.full(1, np.uint64(seed))
    gained = 0.0
    for attempt in range(tries):
        count, taken = _take(groups, near, pool, 2 + _below(state, _GROUPS), state)
        if count == 0:  # a group larger than the pool
            continue
        now = _measure(points, pool, count, taken)
        made = _recreate(pool, count, k, state)
        _settle(pool, count, made, k)
        gain = now - _cost(pool, made)
        worse = -_HEAT * now * np.exp(-_COOLING * attempt / tries) * np.log(_unit(state))
        if gain > -worse and _diverse(pool, count, made, codes, rule):
            _keep(groups, pool, count, taken, made)
            gained += gain
    return gained


@njit(cache=True)
def link_groups(of: Array, most: int) -> Groups:
    """The groups that records form by the numbers they are given; there may be ``most`` of them."""
    groups = Groups(of.copy(), np.full(len(of), NOBODY), np.full(most, NOBODY), np.zeros(most + 1, np.int64))
    for point in range(len(of)):
        groups.after[point] = groups.first[of[point]]
        groups.first[of[point]] = point
    for group in range(most):
        if groups.first[group] == NOBODY:
            groups.free[groups.free[most]] = group
            groups.free[most] += 1
    return groups


@njit(cache=True)
def _pool(room: int, k: int) -> Pool:
    most = room // k
    return Pool(
        np.empty(room, np.int64),
        np.empty((room, room)),
        np.empty(room, np.int64),
        np.empty((room, most)),
        np.empty(most, np.int64),
        np.empty(most),
        np.empty(most, np.int64),
    )


@njit(cache=True)
def _take(groups: Groups, near: Array, pool: Pool, wanted: int, state: Array) -> tuple[int, int]:
    """Put the members of some groups into the pool, each a neighbour of one before. How many records, and groups."""
    count = taken = 0
    point = _below(state, len(groups.of))
    for _ in range(4 * wanted):
        group, known = groups.of[point], False
        for one in pool.old[:taken]:
            known |= one == group
        if not known:
            end, member = count, groups.first[group]
            while member != NOBODY and end < len(pool.who):
                pool.who[end], pool.of[end] = member, taken
                end, member = end + 1, groups.after[member]
            if member == NOBODY:
                pool.old[taken] = group
                count, taken = end, taken + 1
        if taken == wanted or count == 0:
            break
        beside = _below(state, near.shape[1]) * _below(state, near.shape[1]) // near.shape[1]
        point = near[pool.who[_below(state, count)], beside]
    return count, taken


@njit(cache=True)
def _measure(points: Array, pool: Pool, count: int, taken: int) -> float:
    """The distances within the pool, and the sum of squares within its groups as they are."""
    pool.pairs[:taken] = 0.0
    pool.size[:taken] = 0
    for one in range(count):
        pool.size[pool.of[one]] += 1
        pool.apart[one, one] = 0.0
        for two in range(one):
            gap = squared_distance(points[pool.who[one]], points[pool.who[two]])
            pool.apart[one, two] = pool.apart[two, one] = gap
            if pool.of[one] == pool.of[two]:
                pool.pairs[pool.of[one]] += gap
    return _cost(pool, taken)


@njit(cache=True)
def _cost(pool: Pool, made: int) -> float:
    """The sum of squares within all groups."""
    cost = 0.0
    for group in range(made):
        cost += pool.pairs[group] / pool.size[group]
    return cost


@njit(cache=True)
def _recreate(pool: Pool, count: int, k: int, state: Array) -> int:
    """Group all anew: around a record chosen at random the k - 1 that lie nearest to the growing group, again and
    again; those who remain join where they cost least. How many groups there are."""
    made = max(count // k - int(_below(state, _FEWER) == 0), 1)
    pool.of[:count] = NOBODY
    pool.total[:count, :made] = 0.0
    pool.pairs[:made] = 0.0
    pool.size[:made] = 0
    for group in range(made):
        skip = _below(state, count - group * k)
        seed = 0
        while pool.of[seed] != NOBODY or skip > 0:
            skip -= pool.of[seed] == NOBODY
            seed += 1
        _join(pool, count, seed, group)
        for _ in range(k - 1):
            best, chosen = np.inf, NOBODY
            for one in range(count):
                if pool.of[one] == NOBODY and pool.total[one, group] < best:
                    best, chosen = pool.total[one, group], one
            _join(pool, count, chosen, group)
    for one in range(count):
        if pool.of[one] == NOBODY:
            best, chosen = np.inf, NOBODY
            for group in range(made):
                cost = _cost_of_joining(pool, one, group)
                if cost < best:
                    best, chosen = cost, group
            _join(pool, count, one, chosen)
    return made


@njit(cache=True)
def _settle(pool: Pool, count: int, made: int, k: int) -> None:
    """Move and swap records as long as that helps."""
    again = True
    while again:
        again = False
        for one in range(count):
            own = pool.of[one]
            if pool.size[own] > k:
                spared = pool.pairs[own] / pool.size[own]
                spared -= (pool.pairs[own] - pool.total[one, own]) / (pool.size[own] - 1)
                best, chosen = spared * (1.0 - _SMALL), NOBODY
                for group in range(made):
                    if group != own:
                        cost = _cost_of_joining(pool, one, group)
                        if cost < best:
                            best, chosen = cost, group
                if chosen != NOBODY:
                    _leave(pool, count, one)
                    _join(pool, count, one, chosen)
                    own, again = chosen, True
            best, chosen = -_SMALL * pool.pairs[own] / pool.size[own], NOBODY
            for two in range(one):
                other = pool.of[two]
                if other != own:
                    here = pool.total[two, own] - pool.total[one, own] - pool.apart[one, two]
                    there = pool.total[one, other] - pool.total[two, other] - pool.apart[one, two]
                    cost = here / pool.size[own] + there / pool.size[other]
                    if cost < best:
                        best, chosen = cost, two
            if chosen != NOBODY:
                other = pool.of[chosen]
                _leave(pool, count, one)
                _leave(pool, count, chosen)
                _join(pool, count, one, other)
                _join(pool, count, chosen, own)
                again = True


@njit(cache=True)
def _cost_of_joining(pool: Pool, one: int, group: int) -> float:
    """Increase of the sum of squares when a record joins a group."""
    size, pairs = pool.size[group], pool.pairs[group]
    return float((pairs + pool.total[one, group]) / (size + 1) - pairs / size)


@njit(cache=True)
def _join(pool: Pool, count: int, one: int, group: int) -> None:
    pool.of[one] = group
    pool.pairs[group] += pool.total[one, group]
    pool.size[group] += 1
    for other in range(count):
        pool.total[other, group] += pool.apart[one, other]


@njit(cache=True)
def _leave(pool: Pool, count: int, one: int) -> None:
    group = pool.of[one]
    pool.of[one] = NOBODY
    pool.pairs[group] -= pool.total[one, group]
    pool.size[group] -= 1
    for other in range(count):
        pool.total[other, group] -= pool.apart[one, other]


@njit(cache=True)
def _diverse(pool: Pool, count: int, made: int, codes: Array, rule: Rule) -> bool:
    """Whether all groups are diverse enough."""
    if rule.kind == ANY:
        return True
    for group in range(made):
        counts = tally(pool.who[:0], codes, rule)
        for one in range(count):
            counts[codes[pool.who[one]]] += pool.of[one] == group
        if not satisfied(counts, rule):
            return False
    return True


@njit(cache=True)
def _keep(groups: Groups, pool: Pool, count: int, taken: int, made: int) -> None:
    """Put the groups of the pool in place of those that were taken."""
    last = len(groups.first)
    for at in range(taken):
        groups.first[pool.old[at]] = NOBODY
    for at in range(taken, made):
        groups.free[last] -= 1
        pool.old[at] = groups.free[groups.free[last]]
    for at in range(made, taken):
        groups.free[groups.free[last]] = pool.old[at]
        groups.free[last] += 1
    for one in range(count):
        point, group = pool.who[one], pool.old[pool.of[one]]
        groups.of[point] = group
        groups.after[point] = groups.first[group]
        groups.first[group] = point


@njit(cache=True)
def _word(state: Array) -> Any:
    """The next 64 bits of SplitMix64 (Steele, Lea and Flood 2014): enough for a search, and not for privacy."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    word = state[0]
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


@njit(cache=True)
def _below(state: Array, count: int) -> Any:
    return np.int64(_word(state) >> np.uint64(1)) % count


@njit(cache=True)
def _unit(state: Array) -> Any:
    """A number from 0 to 1, and never 0."""
    return (float(_word(state) >> np.uint64(11)) + 1.0) / 9007199254740993.0
