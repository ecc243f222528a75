"""Integer program of exact hiding in HiGHS: number of transactions of each class that lose which items."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

import numpy as np

from discreet.core.programs import Matrix, Program
from discreet.verbs.hide.methods.classes import Classes
from discreet.verbs.hide.transactions import Array, Transactions

_FIRST_PART = 0.7
"""The share of the time for what is made least first."""
_ALMOST = 1e-5
"""A bound that is so little above a whole number is that number: the solver computes in floats."""
_LESS_THAN_ONE = 0.999
"""All figures are whole: less than 1 apart is equal."""
_FINEST = 2e-6
"""The solver lets rows be missed by half of that, so that no smaller distance is told from none."""


@dataclass(frozen=True)
class Solved:
    """The items that leave each transaction, and what no solution can be below in what is made least."""

    taken: Mapping[int, Sequence[str]]
    bound: int
    variables: int
    classes: int
    rows: int
    endangered: int
    left_out: tuple[str, ...]
    """What was not considered; if there is anything, the bound is none."""

    def __str__(self) -> str:
        return (
            f"{self.rows:,} transactions in {self.classes:,} classes, {self.variables:,} variables, "
            f"{self.endangered:,} endangered itemsets" + "".join(f"; {one}" for one in self.left_out)
        )


def solve(classes: Classes, start: Transactions | None, first: str, until: float) -> Solved | None:
    """Make one of two figures least, then the other one among what is as good, within the time.

    None if there is no start and no solution was found.
    """
    program = _Program(classes)
    given = None if start is None else program.started(start)
    goals = (program.lost, program.changed) if first == "lost" else (program.changed, program.lost)
    begun = time.monotonic()
    value, bound = program.settle(goals[0], given, begun + _FIRST_PART * (until - begun))
    if value is None:
        return None
    program.limit(goals[0], round(float(goals[0] @ value)) + 0.5)
    value = program.settle(goals[1], value, until)[0]
    assert value is not None  # noqa: S101  # it has a start
    left_out = []
    if not classes.complete:
        left_out.append("transactions with many secrets lose two items at most, or what a heuristic takes")
    if not program.sharp:
        left_out.append("confidences are a little lower than they must be")
    return Solved(
        program.taken(value),
        0 if left_out else bound,
        program.size,
        len(classes.classes),
        classes.rows,
        sum(map(len, classes.endangered)),
        tuple(left_out),
    )


def reached(share: Fraction, most: int) -> Fraction:
    """The smallest fraction with a denominator of at most ``most`` that is not below ``share``.

    A confidence of S' / A' with A' of at most ``most`` reaches the one if and only if it reaches the other.
    """
    near = share.limit_denominator(most)
    if near >= share:
        return near
    # The closest one is below, so that the next one of such a denominator is not. Of a/b it is c/d with b·c - a·d = 1
    # and d as large as can be.
    above, below = near.numerator, near.denominator
    denominator = most - (most + pow(above, -1, below)) % below
    return Fraction(1 + above * denominator, below * denominator)


class _Program:
    """Variables: a number for each class and choice; lost or not for each endangered group; how each rule is hidden.

    Endangered groups have a row only when it is needed: the border, since all else is frequent if that is, and then
    what a solution loses beyond it. With fewer rows nothing is lost that counts, so that a bound is one all the same.
    """

    def __init__(self, classes: Classes) -> None:
        self.classes = classes
        self.keys = [(place, pick) for place, one in enumerate(classes.classes) for pick in range(len(one.choices))]
        choices = [classes.classes[place].choices[pick] for place, pick in self.keys]
        groups, secrets = len(classes.endangered), classes.secrets
        self.numbers = len(self.keys)
        self.size = self.numbers + groups + len(secrets)
        self.lost, self.changed = np.zeros(self.size), np.zeros(self.size)
        self.lost[self.numbers : self.numbers + groups] = [len(one) for one in classes.endangered]
        self.changed[: self.numbers] = [len(one.items) for one in choices]
        self.upper = np.ones(self.size)
        self.upper[: self.numbers] = [len(classes.classes[place].rows) for place, _ in self.keys]
        for group, itemsets in enumerate(classes.endangered):
            if not set(itemsets).isdisjoint(classes.problem.keep):
                self.upper[self.numbers + group] = 0.0
        self.sharp = True
        """Whether every confidence is told from the next lower one that there can be."""
        self.rows: list[tuple[Array, Array, float, float]] = []
        self.limits: list[tuple[Array, Array, float, float]] = []
        self.hits = [np.array(one, int) for one in _hit_by((one.secrets for one in choices), len(secrets))]
        self.thins = [np.array(one, int) for one in _hit_by((one.antecedents for one in choices), len(secrets))]
        self.harms = _hit_by((one.endangered for one in choices), groups)
        self._capacities()
        self._secrets()
        self.watched: set[int] = set()
        inner = {one for one, _ in classes.below}
        kept = np.flatnonzero(self.upper[self.numbers : self.numbers + groups] == 0).tolist()
        self._watch({group for group in range(groups) if group not in inner} | set(kept))

    def settle(self, goal: Array, start: Array | None, until: float) -> tuple[Array | None, int]:
        """The best found (the start, if nothing is better) and a whole number that nothing is below."""
        best, bound = start, 0
        while True:
            found, low = self.run(goal, best, until)
            bound = max(bound, low)
            if found is None:
                return None, bound
            found = self._completed(found)
            missing = {group for group in self._lost(found) if group not in self.watched}
            allowed = all(float(by @ found[which]) <= high for which, by, _, high in self.limits)
            if allowed and (best is None or goal @ found < goal @ best):
                best = found
            if not missing or time.monotonic() > until or (best is not None and bound >= goal @ best):
                return best, bound if best is None else min(bound, round(float(goal @ best)))
            self._watch(missing)

    def row(self, by: Array, low: float, high: float) -> None:
        """One more row, given by a figure for every variable."""
        which = np.flatnonzero(by)
        self._add(which, by[which], low, high)

    def limit(self, by: Array, high: float) -> None:
        """A row that solutions must meet with all that they lose, also beyond what is watched."""
        self.row(by, -np.inf, high)
        self.limits.append(self.rows[-1])

    def started(self, after: Transactions) -> Array:
        """A solution that somebody else found, as values of the variables."""
        value = np.zeros(self.size)
        number = {key: place for place, key in enumerate(self.keys)}
        for key in self.classes.chosen(after):
            value[number[key]] += 1
        return self._completed(value)

    def _lost(self, value: Array) -> list[int]:
        """The groups that are lost by what is taken out."""
        return [group for group, harm in enumerate(self.harms) if value[harm].sum() > self.classes.room[group] + 0.5]

    def _completed(self, value: Array) -> Array:
        """The same with what is lost, and how rules are hidden, as they follow from what is taken out."""
        value = value.copy()
        value[self.numbers : self.numbers + len(self.harms)] = 0.0
        value[self.numbers + np.array(self._lost(value), int)] = 1.0
        for place, secret in enumerate(self.classes.secrets):
            left = self._support(place) - value[self.hits[place]].sum()
            value[self.size - len(self.classes.secrets) + place] = float(left < secret.support)
        return value

    def taken(self, value: Array) -> dict[int, Sequence[str]]:
        """The items that leave each transaction."""
        found: dict[int, Sequence[str]] = {}
        used = [0] * len(self.classes.classes)
        for (place, pick), count in zip(self.keys, np.round(value[: self.numbers]).astype(int).tolist(), strict=True):
            one = self.classes.classes[place]
            for row in one.rows[used[place] : used[place] + count].tolist():
                found[row] = sorted(one.choices[pick].items)
            used[place] += count
        return found

    def run(self, goal: Array, start: Array | None, until: float) -> tuple[Array | None, int]:
        """The best of the program with the rows so far, and a whole number that nothing is below."""
        if not self.numbers:  # no transaction has a secret
            return np.zeros(self.size), 0
        least = np.inf if start is None else round(float(goal @ start))
        if least == 0:
            return start, 0
        low, high = (np.array(ends) for ends in zip(*(ends for _, _, *ends in self.rows), strict=True))
        matrix = Matrix.of_rows((which, by) for which, by, *_ in self.rows)
        found = Program(goal, matrix, low, high, 0.0, self.upper, integral=True).solve(
            until - time.monotonic(), absolute_gap=_LESS_THAN_ONE, start=start
        )
        bound = max(0, ceil(found.bound - _ALMOST)) if np.isfinite(found.bound) else 0
        if found.x is not None:
            value = np.round(found.x)
            if goal @ value <= least:
                return value, min(bound, round(float(goal @ value)))
        return start, int(min(bound, least))

    def _watch(self, groups: set[int]) -> None:
        """Rows for more groups: one is lost, or no more transactions lose it than there is room for."""
        self.watched |= groups
        for group in sorted(groups):
            harm, room = self.harms[group], self.classes.room[group]
            reach = sum(len(self.classes.classes[place].rows) for place in {self.keys[one][0] for one in harm})
            which = np.array([*harm, self.numbers + group])
            self._add(which, [1.0] * len(harm) + [float(room - reach)], -np.inf, room)
        for one, other in self.classes.below:
            if {one, other} <= self.watched and not groups.isdisjoint((one, other)):
                self._add(np.array([self.numbers + one, self.numbers + other]), [1.0, -1.0], -np.inf, 0.0)

    def _add(self, which: Array, by: Iterable[float], low: float, high: float) -> None:
        self.rows.append((np.asarray(which), np.asarray(list(by), float), low, high))

    def _capacities(self) -> None:
        """No more transactions of a class lose something than there are."""
        number = 0
        for one in self.classes.classes:
            count = len(one.choices)
            if count > 1:
                self._add(np.arange(number, number + count), np.ones(count), -np.inf, len(one.rows))
            number += count

    def _support(self, place: int) -> int:
        return len(self.classes.having[self.classes.secrets[place]])

    def _secrets(self) -> None:
        """Itemsets by their support; rules by their support if the last variable says so, else by their confidence."""
        for place, secret in enumerate(self.classes.secrets):
            hits, thins = self.hits[place], self.thins[place]
            whole, ones = self._support(place), np.ones(len(self.hits[place]))
            needed = max(0, whole - secret.support + 1)
            if secret.confidence is None:
                self._add(hits, ones, needed, np.inf)
                continue
            way = self.size - len(self.classes.secrets) + place
            self._add(np.append(hits, way), [*ones, -needed], 0.0, np.inf)
            below = self.classes.problem.transactions.support(secret.antecedent)
            share = reached(secret.confidence, max(1, below))
            apart = max(1 / share.denominator, _FINEST)
            self.sharp &= apart * share.denominator <= 1
            by = np.zeros(self.size)
            by[hits] -= 1.0
            by[thins] += float(share)
            by[way] = -(whole + 1.0)
            self.row(by, -np.inf, float(share * below - whole) - apart)


def _hit_by(masks: Iterable[int], count: int) -> list[list[int]]:
    """For each bit the numbers of the masks that have it."""
    found: list[list[int]] = [[] for _ in range(count)]
    for number, mask in enumerate(masks):
        left = mask
        while left:
            low = left & -left
            found[low.bit_length() - 1].append(number)
            left ^= low
    return found
