"""Editable copy of transactions, and the loop that all heuristic hiding methods share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from discreet.releases.method import Progress
from discreet.verbs.hide.problem import Action, HidingProblem, HidingResult, Step
from discreet.verbs.hide.secrets import Secret
from discreet.verbs.hide.transactions import Array, Transactions, Words


class TransactionEditor:
    """A copy of the transactions that cells are changed in, and the list of the changes."""

    def __init__(self, problem: HidingProblem) -> None:
        self.problem = problem
        self.before = problem.transactions
        self.bits: Words = self.before.bits.copy()
        self.after = Transactions(self.before.items, self.bits, self.before.rows)
        """The transactions as they are now."""
        self.steps: list[Step] = []
        self.lengths: Array = np.diff(self.before.by_row[0])
        """How many items each transaction has now."""

    def outcome(self) -> HidingResult:
        return HidingResult(self.after, tuple(self.steps))

    def change(self, row: int, item: str, secret: Secret, why: str, action: Action = "out") -> None:
        """Take an item out of a transaction, or put it in, and note it."""
        code, bit = self.before.number[item], np.uint64(1) << np.uint64(row % 64)
        held = self.bits[code, row // 64]
        self.bits[code, row // 64] = held | bit if action == "in" else held & ~bit
        self.lengths[row] += 1 if action == "in" else -1
        self.steps.append(Step(int(row), item, action, str(secret), why))

    def excess(self, secret: Secret) -> int:
        """How many transactions must lose an item of its consequent for the secret to be hidden; 0 if it is."""
        return secret.excess(self.after.support(secret.whole), self.after.support(secret.antecedent))

    def has(self, items: Sequence[str], rows: Array) -> Array:
        """Which of some transactions (across) has which of some items (down)."""
        codes = np.array([self.before.number[item] for item in items], np.int64)
        found: Array = self.bits[np.ix_(codes, rows // 64)] >> (rows % 64).astype(np.uint64) & np.uint64(1)
        return found.astype(bool)


def until_hidden(
    working: TransactionEditor,
    hide_one: Callable[[Secret], None],
    progress: Progress,
    order: Iterable[Secret] | None = None,
) -> HidingResult:
    """Hide one secret after the other, and again what came back.

    Taking items out can only lower the support of an itemset, so that one that is hidden stays so. The confidence of a
    rule can rise, as its antecedent gets rarer; then it is gone through again. This ends: each time something is taken
    out, and with nothing left there is nothing to see.
    """
    secrets = list(order or working.problem.secrets)
    while visible := [one for one in secrets if working.excess(one)]:
        for number, secret in enumerate(visible):
            progress(number / len(visible), f"hiding {number + 1} of {len(visible)}")
            if working.excess(secret):
                hide_one(secret)
    return working.outcome()


def shortest(working: TransactionEditor, rows: Array) -> Array:
    """Transactions, the ones with fewest items first: they have fewest other itemsets to lose."""
    ordered: Array = rows[np.lexsort((rows, working.lengths[rows]))]
    return ordered
