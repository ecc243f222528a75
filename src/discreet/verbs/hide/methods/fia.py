"""One item for each secret: MaxFIA, MinFIA and IGA.

Oliveira and Zaïane (2002), "Privacy preserving frequent itemset mining". Each secret gets a *victim*, one of its items,
which leaves as many of its transactions as needed: for MaxFIA the item that most transactions have, for MinFIA the one
that fewest have. Transactions with few secrets come first, since the others may be cleaned by other secrets' victims.

IGA, the item grouping, looks for items that several secrets share. Such an item is the victim of all of them, and
transactions with most secrets come first, so that one item taken out hides several.

Nothing appears: items only leave.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from discreet.core.catalogue import declare
from discreet.core.families import HIDING
from discreet.releases.method import Progress, silent
from discreet.verbs.hide.methods.edit import Working, until_hidden
from discreet.verbs.hide.problem import HidingProblem, HidingResult
from discreet.verbs.hide.secrets import Secret
from discreet.verbs.hide.transactions import Array


@declare(HIDING, "maxfia", paper="Oliveira and Zaïane 2002")
class MaxFIA:
    """The victim is the item that most transactions have."""

    name: ClassVar[str]

    def apply(self, problem: HidingProblem, progress: Progress = silent) -> HidingResult:
        """Take each secret's victim out of as many transactions as needed."""
        return _sanitised(problem, progress, _extreme(problem, -1), "most transactions have it", most_secrets=False)


@declare(HIDING, "minfia", paper="Oliveira and Zaïane 2002")
class MinFIA:
    """The victim is the item that fewest transactions have."""

    name: ClassVar[str]

    def apply(self, problem: HidingProblem, progress: Progress = silent) -> HidingResult:
        """Take each secret's victim out of as many transactions as needed."""
        return _sanitised(problem, progress, _extreme(problem, 1), "fewest transactions have it", most_secrets=False)


@declare(HIDING, "iga", paper="Oliveira and Zaïane 2002")
class IGA:
    """The victim is an item that several secrets share, and the rarest if there is no such item."""

    name: ClassVar[str]

    def apply(self, problem: HidingProblem, progress: Progress = silent) -> HidingResult:
        """Take each group's victim out of as many transactions as needed."""
        return _sanitised(problem, progress, _grouped(problem), "most secrets share it", most_secrets=True)


def _supports(problem: HidingProblem) -> Mapping[str, int]:
    return dict(zip(problem.transactions.items, problem.transactions.supports.tolist(), strict=True))


def _extreme(problem: HidingProblem, sign: int) -> Mapping[Secret, str]:
    """A victim for each secret: its most (-1) or least (1) frequent item."""
    support = _supports(problem)
    return {one: min(one.consequent, key=lambda item: (sign * support[item], item)) for one in problem.secrets}


def _grouped(problem: HidingProblem) -> Mapping[Secret, str]:
    """A victim for each secret: the item that most secrets without one share; of several the rarest."""
    support = _supports(problem)
    victims: dict[Secret, str] = {}
    left = list(problem.secrets)
    while left:
        items = {item for one in left for item in one.consequent}
        victim = min(items, key=lambda item: (-sum(item in one.consequent for one in left), support[item], item))
        victims |= {one: victim for one in left if victim in one.consequent}
        left = [one for one in left if victim not in one.consequent]
    return victims


def _sanitised(
    problem: HidingProblem, progress: Progress, victims: Mapping[Secret, str], why: str, *, most_secrets: bool
) -> HidingResult:
    working = Working(problem)

    def hide_one(secret: Secret) -> None:
        rows = working.rows(secret.whole)
        conflicts = working.after.holds([one.whole for one in problem.secrets], rows).sum(axis=0)
        chosen = _first(working, rows, -conflicts if most_secrets else conflicts)[: working.excess(secret)]
        for place in chosen.tolist():
            told = f"{why}, and the transaction has {conflicts[place]} of the secrets"
            working.change(int(rows[place]), victims[secret], secret, told)

    until_hidden(working, hide_one, progress)
    return working.outcome()


def _first(working: Working, rows: Array, degree: Array) -> Array:
    order: Array = np.lexsort((rows, working.lengths[rows], degree))
    return order
