"""The sliding window.

Oliveira and Zaïane (2003), "Protecting sensitive knowledge by data sanitization". Transactions are gone through once, a
window of them at a time, so that they need not all be at hand. In each window every secret has its own quota: of its
transactions seen so far the same share stays as may stay of all. From the others, the shortest first, leaves that item
of the secret which is in most of the window's sensitive transactions: one that other secrets are likely to have too.

Why the quotas suffice: of n transactions seen of a secret that all S have, at most ⌊n·L/S⌋ stay, and at the end, with
n = S, that is the limit L.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from discreet.core.catalogue import check_parameters, declare, parameter
from discreet.core.families import HIDING
from discreet.releases.method import Progress, silent
from discreet.verbs.hide.methods.edit import Working, shortest
from discreet.verbs.hide.problem import HidingProblem, HidingResult
from discreet.verbs.hide.secrets import Secret
from discreet.verbs.hide.transactions import Array


@declare(HIDING, "swa", paper="Oliveira and Zaïane 2003")
class SWA:
    """One pass over windows of transactions, with a quota for each secret."""

    name: ClassVar[str]
    window: int = parameter("Number of transactions looked at together.", default=10_000, least=1)

    def __post_init__(self) -> None:
        check_parameters(self)

    def apply(self, problem: HidingProblem, progress: Progress = silent) -> HidingResult:
        """Go through the transactions; once more only for a rule whose antecedent got rarer meanwhile."""
        working = Working(problem)
        while visible := [one for one in problem.secrets if working.excess(one)]:
            self._passed(working, visible, progress)
        return working.outcome()

    def _passed(self, working: Working, secrets: list[Secret], progress: Progress) -> None:
        having = {one: working.rows(one.whole) for one in secrets}
        total = {one: len(having[one]) for one in secrets}
        limit = {one: total[one] - working.excess(one) for one in secrets}
        seen, kept = dict.fromkeys(secrets, 0), dict.fromkeys(secrets, 0)
        items = sorted({item for one in secrets for item in one.whole})
        for start in range(0, working.before.rows, self.window):
            progress(start / working.before.rows, f"transaction {start:,}")
            here = {one: _between(rows, start, start + self.window) for one, rows in having.items()}
            sensitive = np.unique(np.concatenate(list(here.values())))
            if not len(sensitive):
                continue
            often = dict(zip(items, working.has(items, sensitive).sum(axis=1).tolist(), strict=True))
            for secret, rows in here.items():
                seen[secret] += len(rows)
                quota = seen[secret] * limit[secret] // total[secret] - kept[secret]
                still = rows[working.has(sorted(secret.whole), rows).all(axis=0)]
                victim = max(sorted(secret.consequent), key=lambda item: often[item])
                why = f"{often[victim]:,} sensitive transactions of the window have it, and this one is short"
                surplus = max(0, len(still) - quota)
                for row in shortest(working, still)[:surplus].tolist():
                    working.change(row, victim, secret, why)
                kept[secret] += len(still) - surplus


def _between(rows: Array, start: int, end: int) -> Array:
    return rows[np.searchsorted(rows, start) : np.searchsorted(rows, end)]
