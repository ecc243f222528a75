"""Exact hiding: the fewest non-sensitive itemsets lost, or the fewest items removed, by integer programming.

After the inline approach of Gkoulalas-Divanis and Verykios (2006), "An integer programming approach for frequent
itemset hiding", and Menon, Sarkar and Mukherjee (2005). Where they have a variable for each cell, the program here is
*decomposed*:

- Only transactions with a secret are looked at, and in each only items of the secrets that it has. Why that is enough:
  put back everything else that a solution takes out. No secret gets more transactions by that (one that the transaction
  did not have is not made by putting back its own items), and no non-sensitive itemset fewer. For the same reason each
  set of items that leaves a transaction is a minimal one for the secrets that it breaks. The antecedent of a rule only
  gets more frequent, which lowers the confidence.
- Transactions with the same secrets and the same endangered itemsets are alike. So a variable is how many of such a
  class lose a given set of items, a whole number, and there are as many as there are classes times a few sets.
- A non-sensitive itemset is endangered only if enough transactions with a secret have it that it could get lost. Those
  that are hit by the same and have the same room are one row with their number as weight.

A secret itemset S is hidden if enough transactions lose an item of it: Σ y ≥ support − limit. A rule is hidden by its
support in the same way or by its confidence p/q, that is q·S' ≤ p·A' − 1, which is linear too; a binary variable says
which. (Of all p/q that mean the same for a number of transactions, the one with q at most that many is taken.) An
itemset F stays frequent if Σ y over what hits it is at most its room, or it is lost, which a binary variable says. All
itemsets that are not lost in the best solution make the border constraints of the inline approach hold.

The start is the best of the heuristics' solutions, so that the result is never worse. If time is over, the result is
the best so far, with the bound below which nothing can be.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil
from typing import ClassVar, Literal

import numpy as np

from discreet.core.catalogue import check_parameters, declare, parameter
from discreet.core.families import HIDING
from discreet.core.programs import Matrix, Program
from discreet.core.text import number
from discreet.errors import NoPromise
from discreet.releases.method import Progress, silent
from discreet.verbs.hide.methods.classes import Classes, classified
from discreet.verbs.hide.methods.heuristics import BBA, IGA, SWA, Atallah, MaxFIA, MaxMin, MinFIA
from discreet.verbs.hide.mining.rules import written
from discreet.verbs.hide.problem import HidingMethod, HidingProblem, HidingResult, Step
from discreet.verbs.hide.transactions import Array, Transactions

HEURISTICS: tuple[HidingMethod, ...] = (Atallah(), MaxFIA(), MinFIA(), IGA(), SWA(), BBA(), MaxMin())
"""Heuristics that an exact solution starts from, and is compared with."""
_CONFLICTS = 5
Goal = Literal["lost", "changed"]
_FIRST_PART = 0.7
"""Share of the time for the first objective."""
_ALMOST = 1e-5
"""Largest excess over a whole number that counts as rounding: the solver computes in floats."""
_LESS_THAN_ONE = 0.999
"""Gap at which a solution is optimal, since all figures are whole numbers."""
_FINEST = 2e-6
"""Smallest distance of confidences that the solver can tell from none: it lets rows be missed by half of it."""


@declare(HIDING, "exact", rank=0, extra="tabulate", paper="Gkoulalas-Divanis and Verykios 2006")
class Exact:
    """Fewest possible side effects, with a proof, or a bound on the distance from the optimum."""

    name: ClassVar[str]
    least: Goal = parameter("Objective: fewest non-sensitive itemsets lost, or fewest items removed.", default="lost")
    seconds: float = parameter("Time limit of the search, seconds.", default=60.0, above=0)

    def __post_init__(self) -> None:
        check_parameters(self)

    def apply(self, problem: HidingProblem, progress: Progress = silent) -> HidingResult:
        """Solve the program, starting with the best of the heuristics."""
        until = time.monotonic() + self.seconds
        tried: list[tuple[tuple[int, int], str, HidingResult]] = []
        for place, heuristic in enumerate(HEURISTICS):
            progress(0.5 * place / len(HEURISTICS), heuristic.name)
            outcome = heuristic.apply(problem)
            tried.append((self._rank(*cost(problem, outcome.after)), heuristic.name, outcome))
        progress(0.5, "building the integer program")
        classes = classified(problem, [one.after for _, _, one in tried])
        progress(0.6, "solving")
        keeping = [one for one in tried if not problem.lost(one[2].after)]
        best = min(keeping, key=lambda one: one[0], default=None)
        solved = solve(classes, best and best[2].after, self.least, until)
        if solved is None:
            raise _conflict(problem, self.seconds)
        outcome = _carried_out(problem, classes, solved.taken)
        reached = self._rank(*cost(problem, outcome.after))
        figures = {"exact": self._rank(*reached)}
        if best is not None:
            figures[f"best heuristic ({best[1]})"] = self._rank(*best[0])
            if reached > best[0] or problem.visible(outcome.after):  # it never is, but a solver computes in floats
                outcome, figures["exact"] = best[2], self._rank(*best[0])
        facts = (
            *_proof_facts(problem, solved, self, figures["exact"]),
            *_comparison(figures),
            *_conflicts(problem, outcome),
        )
        return HidingResult(outcome.after, outcome.steps, facts=facts)

    def _rank(self, one: int, other: int) -> tuple[int, int]:
        """Lost and changed, the objective first; applied twice, it restores their order."""
        return (one, other) if self.least == "lost" else (other, one)


def cost(problem: HidingProblem, after: Transactions) -> tuple[int, int]:
    """Number of non-sensitive itemsets lost, and of items removed."""
    gone = problem.transactions.bits & ~after.bits
    rarer = {problem.transactions.items[code] for code in np.flatnonzero(gone.any(axis=1))}
    lost = sum(not rarer.isdisjoint(one) and after.support(one) < problem.least for one in problem.innocent)
    changed = int(np.bitwise_count(gone).sum(dtype=np.int64))
    return lost, changed


def _carried_out(problem: HidingProblem, classes: Classes, taken: Mapping[int, Sequence[str]]) -> HidingResult:
    """Take the chosen items out of the chosen transactions."""
    steps = []
    for row, items in sorted(taken.items()):
        for item in items:
            broken = [str(one) for one in classes.secrets if item in one.whole and row in classes.having[one]]
            why = (
                f"{number(len(broken), 'secret')} less in the transaction, in the solution with the least side effects"
            )
            steps.append(Step(row, item, "out", "; ".join(broken), why))
    return HidingResult(problem.transactions.without((step.row, step.item) for step in steps), tuple(steps))


def _conflict(problem: HidingProblem, seconds: float) -> NoPromise:
    """The error that names a minimal set of secrets that cannot be hidden while the itemsets to keep stay frequent."""
    needed = list(problem.secrets)
    for secret in problem.secrets:
        fewer = replace(problem, secrets=tuple(one for one in needed if one != secret))
        if fewer.secrets and solve(classified(fewer), None, "changed", time.monotonic() + seconds / 10) is None:
            needed = list(fewer.secrets)
    return NoPromise(
        f"No solution was found that hides {'; '.join(map(str, needed))} while "
        f"{'; '.join(map(written, problem.keep))} "
        f"{'stays' if len(problem.keep) == 1 else 'stay'} frequent.",
        hint='Hide or protect less, or set a higher threshold for a secret: "bread, wine; support=5%".',
    )


def _conflicts(problem: HidingProblem, outcome: HidingResult) -> list[tuple[str, str]]:
    """The non-sensitive itemsets that could not be kept, each with the secrets that share its items."""
    lost = [one for one in problem.border if outcome.after.support(one) < problem.least]
    told = []
    for itemset in lost[:_CONFLICTS]:
        shared = [f"{{{one}}}" for one in problem.secrets if one.whole & itemset]
        told.append(f"{{{written(itemset)}}} with {', '.join(shared)}")
    more = f"; and {len(lost) - _CONFLICTS:,} more" if len(lost) > _CONFLICTS else ""
    return [("in conflict", "; ".join(told) + more)] if told else []


def _comparison(figures: Mapping[str, tuple[int, int]]) -> list[tuple[str, str]]:
    return [
        (name, f"{number(lost, 'itemset')} lost, {number(changed, 'item')} removed")
        for name, (lost, changed) in figures.items()
    ]


def _proof_facts(
    problem: HidingProblem, solved: ExactSolution, exact: Exact, reached: tuple[int, int]
) -> list[tuple[str, str]]:
    """Facts for the report: whether the border is kept, whether the result is proved optimal, the program's size."""
    lost, changed = reached
    goal = lost if exact.least == "lost" else changed
    proved = solved.bound >= goal
    bound = f"not proved within {exact.seconds:g} seconds: {goal:,}, where at least {solved.bound:,} are needed"
    if not lost:
        border = f"all {len(problem.innocent):,} non-sensitive itemsets stay frequent"
    elif proved and exact.least == "lost":
        border = (
            f"relaxed: no solution hides the secrets and keeps all {len(problem.innocent):,} non-sensitive itemsets"
        )
    else:
        border = f"relaxed: {number(lost, 'non-sensitive itemset')} of {len(problem.innocent):,} are lost"
    what = "non-sensitive itemsets lost" if exact.least == "lost" else "items removed"
    return [
        ("border", border),
        (f"fewest {what}", "proved" if proved else bound),
        ("program", solved.program),
    ]


@dataclass(frozen=True)
class ExactSolution:
    """Items removed from each transaction, and a lower bound of the objective."""

    taken: Mapping[int, Sequence[str]]
    bound: int
    """Lower bound of the objective; 0 if the program left something out."""
    program: str
    """Size of the program, and what it left out, in words."""


def solve(classes: Classes, start: Transactions | None, first: str, until: float) -> ExactSolution | None:
    """Minimise the first objective, then the second among solutions that are as good, within the time.

    None if there is no start and no solution was found.
    """
    program = _Program(classes)
    given = None if start is None else program.values_of(start)
    goals = (program.lost, program.changed) if first == "lost" else (program.changed, program.lost)
    begun = time.monotonic()
    value, bound = program.settle(goals[0], given, begun + _FIRST_PART * (until - begun))
    if value is None:
        return None
    program.limit(goals[0], round(float(goals[0] @ value)) + 0.5)
    value = program.settle(goals[1], value, until)[0]
    assert value is not None  # noqa: S101  # it has a start
    told = f"{classes.rows:,} transactions in {len(classes.classes):,} classes, {program.size:,} variables, "
    told += f"{sum(map(len, classes.endangered)):,} endangered itemsets"
    if not classes.complete:
        told += "; transactions with many secrets lose two items at most, or what a heuristic takes"
    if not program.sharp:
        told += "; confidences are a little lower than they must be"
    return ExactSolution(program.removals(value), bound if classes.complete and program.sharp else 0, told)


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
    """Integer program: counts for each class and choice; flags for endangered groups (lost) and rules (how hidden).

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
        """The best solution found (the start, if nothing is better), and a lower bound of the objective."""
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
        """Add a constraint, given by a coefficient for every variable."""
        which = np.flatnonzero(by)
        self._add(which, by[which], low, high)

    def limit(self, by: Array, high: float) -> None:
        """Add a constraint on solutions that counts all their losses, also of groups that have no row."""
        self.row(by, -np.inf, high)
        self.limits.append(self.rows[-1])

    def values_of(self, after: Transactions) -> Array:
        """A heuristic's solution as values of the variables."""
        value = np.zeros(self.size)
        number = {key: place for place, key in enumerate(self.keys)}
        for key in self.classes.chosen(after):
            value[number[key]] += 1
        return self._completed(value)

    def _lost(self, value: Array) -> list[int]:
        """The groups of itemsets that are lost by the removals."""
        return [group for group, harm in enumerate(self.harms) if value[harm].sum() > self.classes.room[group] + 0.5]

    def _completed(self, value: Array) -> Array:
        """The solution with the variables that follow from its removals: groups lost, and how rules are hidden."""
        value = value.copy()
        value[self.numbers : self.numbers + len(self.harms)] = 0.0
        value[self.numbers + np.array(self._lost(value), int)] = 1.0
        for place, secret in enumerate(self.classes.secrets):
            left = self._support(place) - value[self.hits[place]].sum()
            value[self.size - len(self.classes.secrets) + place] = float(left < secret.support)
        return value

    def removals(self, value: Array) -> dict[int, Sequence[str]]:
        """Items removed from each transaction."""
        found: dict[int, Sequence[str]] = {}
        used = [0] * len(self.classes.classes)
        for (place, pick), count in zip(self.keys, np.round(value[: self.numbers]).astype(int).tolist(), strict=True):
            one = self.classes.classes[place]
            for row in one.rows[used[place] : used[place] + count].tolist():
                found[row] = sorted(one.choices[pick].items)
            used[place] += count
        return found

    def run(self, goal: Array, start: Array | None, until: float) -> tuple[Array | None, int]:
        """The best solution of the program with the rows so far, and a lower bound of the objective."""
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
        """Add rows for groups: a group is lost, or no more transactions lose it than there is room for."""
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
        """Add rows: no more transactions of a class lose something than there are."""
        number = 0
        for one in self.classes.classes:
            count = len(one.choices)
            if count > 1:
                self._add(np.arange(number, number + count), np.ones(count), -np.inf, len(one.rows))
            number += count

    def _support(self, place: int) -> int:
        return len(self.classes.having[self.classes.secrets[place]])

    def _secrets(self) -> None:
        """Add rows that hide the secrets: itemsets by support, rules by support or confidence as a variable decides."""
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
    """For each bit, the places of the masks that have it."""
    found: list[list[int]] = [[] for _ in range(count)]
    for place, mask in enumerate(masks):
        left = mask
        while left:
            low = left & -left
            found[low.bit_length() - 1].append(place)
            left ^= low
    return found
