"""Exact hiding: the fewest innocent itemsets lost, or the fewest items taken out, by integer programming.

After the inline approach of Gkoulalas-Divanis and Verykios (2006), "An integer programming approach for frequent
itemset hiding", and Menon, Sarkar and Mukherjee (2005). Where they have a variable for each cell, the program here is
*decomposed*:

- Only transactions with a secret are looked at, and in each only items of the secrets that it has. Why that is enough:
  put back everything else that a solution takes out. No secret gets more transactions by that (one that the transaction
  did not have is not made by putting back its own items), and no innocent itemset fewer. For the same reason each set
  of items that leaves a transaction is a minimal one for the secrets that it breaks. The antecedent of a rule only
  gets more frequent, which lowers the confidence.
- Transactions with the same secrets and the same endangered itemsets are alike. So a variable is how many of such a
  class lose a given set of items, a whole number, and there are as many as there are classes times a few sets.
- An innocent itemset is endangered only if so many transactions with a secret have it that it could get lost. Those
  that are hit by the same and have the same room are one row with their number as weight.

A secret itemset S is hidden if enough transactions lose an item of it: Σ y ≥ support − limit. A rule is hidden by its
support in the same way or by its confidence p/q, that is q·S' ≤ p·A' − 1, which is linear too; a binary variable says
which. (Of all p/q that mean the same for so many transactions, the one with q at most that many is taken.) An itemset F
stays frequent if Σ y over what hits it is at most its room, or it is lost, which a binary variable says. All itemsets
that are not lost in the best solution make the border constraints of the inline approach hold.

The start is the best of the heuristics' solutions, so that the result is never worse. If time is over, the result is
the best so far, with the bound below which nothing can be.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar, Literal

import numpy as np

from discreet.core.catalogue import check_parameters, declare, parameter
from discreet.core.families import HIDING
from discreet.core.text import number
from discreet.errors import NoPromise
from discreet.releases.method import Progress, silent
from discreet.verbs.hide.methods.atallah import Atallah
from discreet.verbs.hide.methods.border import BBA, MaxMin
from discreet.verbs.hide.methods.classes import Classes, classified
from discreet.verbs.hide.methods.fia import IGA, MaxFIA, MinFIA
from discreet.verbs.hide.methods.program import Solved, solve
from discreet.verbs.hide.methods.swa import SWA
from discreet.verbs.hide.mining.rules import written
from discreet.verbs.hide.problem import HidingMethod, HidingProblem, HidingResult, Step
from discreet.verbs.hide.transactions import Transactions

HEURISTICS: tuple[HidingMethod, ...] = (Atallah(), MaxFIA(), MinFIA(), IGA(), SWA(), BBA(), MaxMin())
"""What an exact solution starts from, and is compared with."""

_CONFLICTS = 5

Goal = Literal["lost", "changed"]


@declare(HIDING, "exact", rank=0, extra="tabulate", paper="Gkoulalas-Divanis and Verykios 2006")
class Exact:
    """The least side effects that there can be, with the proof or how far from it."""

    name: ClassVar[str]
    least: Goal = parameter("What is least: innocent itemsets lost, or items taken out.", default="lost")
    seconds: float = parameter("Seconds to search.", default=60.0, above=0)

    def __post_init__(self) -> None:
        check_parameters(self)

    def apply(self, problem: HidingProblem, progress: Progress = silent) -> HidingResult:
        """Solve the program, starting with the best of the heuristics."""
        until = time.monotonic() + self.seconds
        tried: list[tuple[tuple[int, int], str, HidingResult]] = []
        for place, way in enumerate(HEURISTICS):
            progress(0.5 * place / len(HEURISTICS), way.name)
            outcome = way.apply(problem)
            tried.append((self._rank(*cost(problem, outcome.after)), way.name, outcome))
        progress(0.5, "making the program")
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
        facts = (*_told(problem, solved, self, figures["exact"]), *_beside(figures), *_conflicts(problem, outcome))
        return HidingResult(outcome.after, outcome.steps, facts=facts)

    def _rank(self, one: int, other: int) -> tuple[int, int]:
        """Lost and changed, in the order of what is made least; the same again puts them back."""
        return (one, other) if self.least == "lost" else (other, one)


def cost(problem: HidingProblem, after: Transactions) -> tuple[int, int]:
    """How many innocent itemsets are lost, and how many items were taken out."""
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
    """Say which secrets cannot be hidden while all that is to be kept stays: none of them can be left out."""
    needed = list(problem.secrets)
    for secret in problem.secrets:
        fewer = replace(problem, secrets=tuple(one for one in needed if one != secret))
        if fewer.secrets and solve(classified(fewer), None, "changed", time.monotonic() + seconds / 10) is None:
            needed = list(fewer.secrets)
    return NoPromise(
        f"No way was found to hide {'; '.join(map(str, needed))} while {'; '.join(map(written, problem.keep))} "
        f"{'stays' if len(problem.keep) == 1 else 'stay'} frequent.",
        hint='Hide or keep less, or set a higher threshold for a secret: "bread, wine; support=5%".',
    )


def _conflicts(problem: HidingProblem, outcome: HidingResult) -> list[tuple[str, str]]:
    """The innocent itemsets that could not be kept, each with the secrets that share its items."""
    lost = [one for one in problem.border if outcome.after.support(one) < problem.least]
    told = []
    for itemset in lost[:_CONFLICTS]:
        shared = [f"{{{one}}}" for one in problem.secrets if one.whole & itemset]
        told.append(f"{{{written(itemset)}}} with {', '.join(shared)}")
    more = f"; and {len(lost) - _CONFLICTS:,} more" if len(lost) > _CONFLICTS else ""
    return [("in conflict", "; ".join(told) + more)] if told else []


def _beside(figures: Mapping[str, tuple[int, int]]) -> list[tuple[str, str]]:
    return [
        (name, f"{number(lost, 'itemset')} lost, {number(changed, 'item')} taken out")
        for name, (lost, changed) in figures.items()
    ]


def _told(problem: HidingProblem, solved: Solved, way: Exact, reached: tuple[int, int]) -> list[tuple[str, str]]:
    """Whether the border is kept, whether that is proved to be the best, and how large the program was."""
    lost, changed = reached
    goal = lost if way.least == "lost" else changed
    proved = solved.bound >= goal
    bound = f"not proved within {way.seconds:g} seconds: at least {solved.bound:,}, and {goal:,} were reached"
    if not lost:
        border = f"all {len(problem.innocent):,} innocent itemsets stay frequent"
    elif proved and way.least == "lost":
        border = f"relaxed: nothing that hides the secrets keeps all {len(problem.innocent):,} innocent itemsets"
    else:
        border = f"relaxed: {number(lost, 'innocent itemset')} of {len(problem.innocent):,} are lost"
    what = "innocent itemsets lost" if way.least == "lost" else "items taken out"
    return [
        ("border", border),
        (f"fewest {what}", "proved" if proved else bound),
        ("program", str(solved)),
    ]
