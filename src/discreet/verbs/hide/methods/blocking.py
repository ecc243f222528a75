"""Blocking: items become unknown instead of leaving.

Saygin, Verykios and Clifton (2001), "Using unknowns to prevent discovery of association rules". An unknown cell, "?",
may or may not have its item, so that a support is an interval: from the transactions that have the itemset for certain
to those that may have it. Nothing that is released is false. Here a secret is hidden if it is so for anyone who takes
unknown for absent, which also puts the least possible confidence (the least support of the whole over the largest of
the antecedent) below the threshold, since the antecedent's largest support is no smaller than its certain one.

If only present items became unknown, every "?" would be read as present. So for each there is a decoy, a "?" where the
item is not: in a transaction with the rest of the secret if there is one, drawn at random. And if only items of secrets
were unknown somewhere, they would be named by it. So as many other items, drawn at random, are unknown in as many
transactions that lack them.
"""

from __future__ import annotations

from collections import Counter
from typing import ClassVar, TypeVar

import numpy as np

from discreet.core.catalogue import declare, parameter
from discreet.core.families import HIDING
from discreet.core.text import number
from discreet.noise.entropy import Entropy
from discreet.releases.method import Progress, silent
from discreet.verbs.hide.methods.edit import TransactionEditor, shortest, until_hidden
from discreet.verbs.hide.problem import HidingProblem, HidingResult, Step
from discreet.verbs.hide.secrets import Secret
from discreet.verbs.hide.transactions import Array, Transactions, Words, all_ones, places

_T = TypeVar("_T")


@declare(HIDING, "blocking", paper="Saygin, Verykios and Clifton 2001")
class Blocking:
    """The most frequent item becomes unknown in the shortest transactions, and in as many that lack it."""

    name: ClassVar[str]
    decoys: bool = parameter("Whether cells without the item become unknown as well.", default=True)

    def apply(self, problem: HidingProblem, progress: Progress = silent) -> HidingResult:
        """Make cells unknown. ``after`` has what is certain, ``possible`` what may be there."""
        working = TransactionEditor(problem)
        possible = problem.transactions.bits.copy()
        entropy = Entropy()

        def hide_one(secret: Secret) -> None:
            item = max(sorted(secret.consequent), key=lambda one: working.after.support([one]))
            rows = shortest(working, working.after.rows_of(secret.whole))[: working.excess(secret)]
            for row in rows.tolist():
                working.change(row, item, secret, "most have it, and the transaction is short", "unknown")
            if self.decoys:
                code = problem.transactions.number[item]
                for row in _decoys(working, possible[code], secret, item, len(rows), entropy):
                    possible[code, row // 64] |= np.uint64(1) << np.uint64(row % 64)
                    working.steps.append(Step(row, item, "unknown", str(secret), "a decoy: the item is absent"))

        until_hidden(working, hide_one, progress)
        if self.decoys:
            _others(working, possible, entropy)
        may = Transactions(problem.transactions.items, possible, problem.transactions.rows)
        told = [("every unknown taken as present", _largest(one, may, working)) for one in problem.secrets]
        of_secrets = {item for one in problem.secrets for item in one.whole}
        unknown = sorted({step.item for step in working.steps})
        named = [f"{item} ({'of a secret' if item in of_secrets else 'a decoy'})" for item in unknown]
        told.append(("items that are unknown somewhere", ", ".join(named)))
        return HidingResult(working.after, tuple(working.steps), may, tuple(told))


def _decoys(  # noqa: PLR0917
    working: TransactionEditor, possible: Array, secret: Secret, item: str, count: int, entropy: Entropy
) -> list[int]:
    """Up to ``count`` transactions in which the item is not, those with the rest of the secret first."""
    lacks = all_ones(working.before.rows) & ~possible
    rest = working.after.having(secret.whole - {item})
    first = _drawn(places(lacks & rest).tolist(), count, entropy)
    return first + _drawn(places(lacks & ~rest).tolist(), count - len(first), entropy)


def _others(working: TransactionEditor, possible: Words, entropy: Entropy) -> None:
    """For each item that is unknown somewhere another one, of no secret, in as many transactions that lack it."""
    unknown = Counter(step.item for step in working.steps)
    of_secrets = {item for one in working.problem.secrets for item in one.whole}
    free = [item for item in working.before.items if item not in of_secrets]
    counts = [count for _, count in sorted(unknown.items())]
    for item, count in zip(_drawn(free, len(counts), entropy), counts, strict=False):
        code = working.before.number[item]
        for row in _drawn(places(all_ones(working.before.rows) & ~possible[code]).tolist(), count, entropy):
            possible[code, row // 64] |= np.uint64(1) << np.uint64(row % 64)
            working.steps.append(
                Step(row, item, "unknown", "", "a decoy: the item is absent, and belongs to no secret")
            )


def _drawn(pool: list[_T], count: int, entropy: Entropy) -> list[_T]:
    """Up to ``count`` of a pool, each as likely as any other."""
    left = list(pool)
    for taken in range(min(count, len(left))):
        other = taken + entropy.below(len(left) - taken)
        left[taken], left[other] = left[other], left[taken]
    return left[:count]


def _largest(secret: Secret, may: Transactions, working: TransactionEditor) -> str:
    low, high = working.after.support(secret.whole), may.support(secret.whole)
    return f"{secret} is in {low:,} to {number(high, 'transaction')}"
