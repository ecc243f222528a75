"""Weaken a rule: raise its antecedent, lower its consequent, or lower the whole.

Verykios, Elmagarmid, Bertino, Saygin and Dasseni (2004), "Association rule hiding", strategies 1.a, 1.b and 2.a. The
confidence is the support of the whole over that of the antecedent. It falls if the antecedent gets more frequent where
the consequent is not (1.a: items are *put in*, and itemsets can become frequent that were not), or if the whole gets
rarer while the antecedent stays (1.b). 2.a takes any item of the whole, until support or confidence are too low; it
hides itemsets as well.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from discreet.core.catalogue import declare
from discreet.core.families import HIDING
from discreet.errors import BadInput, NoPromise
from discreet.releases.method import Progress, silent
from discreet.verbs.hide.methods.edit import TransactionEditor, shortest, until_hidden
from discreet.verbs.hide.problem import HidingProblem, HidingResult
from discreet.verbs.hide.secrets import Secret


@declare(HIDING, "raise-antecedent", paper="Verykios and others 2004")
class RaiseAntecedent:
    """1.a: put the antecedent into transactions without the consequent that have most of it already."""

    name: ClassVar[str]

    def apply(self, problem: HidingProblem, progress: Progress = silent) -> HidingResult:
        """Put items in. An error if all transactions do not suffice, or if this makes another secret visible."""
        _require_rules(problem, self.name)
        working = TransactionEditor(problem)
        for number, secret in enumerate(problem.secrets):
            progress(number / len(problem.secrets), f"hiding {number + 1} of {len(problem.secrets)}")
            self._raised(working, secret)
        if back := [str(one) for one in problem.secrets if working.excess(one)]:
            raise NoPromise(
                f"Adding items for other secrets reveals again: {'; '.join(back)}.",
                hint="Use a method that removes items, such as lower-consequent or exact.",
            )
        return working.outcome()

    @staticmethod
    def _raised(working: TransactionEditor, secret: Secret) -> None:
        if not working.excess(secret):
            return
        names = sorted(secret.antecedent)
        everything = np.arange(working.before.rows)
        has = working.has(names, everything)
        free = ~working.has(sorted(secret.consequent), everything).all(axis=0) & ~has.all(axis=0)
        rows = np.flatnonzero(free)
        order = np.lexsort((rows, -working.lengths[rows], -has[:, rows].sum(axis=0)))
        for row in rows[order].tolist():
            if not working.excess(secret):
                return
            missing = [name for name, there in zip(names, has[:, row], strict=True) if not there]
            for item in missing:
                why = (
                    f"the transaction has {len(names) - len(missing)} of {len(names)} items of the antecedent, the most"
                )
                working.change(row, item, secret, why, "in")
        if working.excess(secret):
            raise NoPromise(
                f"{secret} cannot be hidden by raising its antecedent: with it in every transaction that lacks the "
                "consequent the confidence is still too high.",
                hint="Use a method that removes items, such as lower-consequent or exact.",
            )


@declare(HIDING, "lower-consequent", paper="Verykios and others 2004")
class LowerConsequent:
    """1.b: take the consequent's most frequent item out of the shortest transactions of the rule."""

    name: ClassVar[str]

    def apply(self, problem: HidingProblem, progress: Progress = silent) -> HidingResult:
        """Take items of consequents out."""
        _require_rules(problem, self.name)
        working = TransactionEditor(problem)

        def hide_one(secret: Secret) -> None:
            item = max(sorted(secret.consequent), key=lambda one: working.after.support([one]))
            for row in shortest(working, working.after.rows_of(secret.whole))[: working.excess(secret)].tolist():
                working.change(row, item, secret, "most frequent item of the consequent, in a short transaction")

        return until_hidden(working, hide_one, progress)


@declare(HIDING, "lower-rule", paper="Verykios and others 2004")
class LowerRule:
    """2.a: take the most frequent item of the whole out of the shortest transactions."""

    name: ClassVar[str]

    def apply(self, problem: HidingProblem, progress: Progress = silent) -> HidingResult:
        """Take items out, looking at support and confidence after each."""
        working = TransactionEditor(problem)

        def hide_one(secret: Secret) -> None:
            item = max(sorted(secret.whole), key=lambda one: working.after.support([one]))
            for row in shortest(working, working.after.rows_of(secret.whole)).tolist():
                if not working.excess(secret):
                    break
                working.change(row, item, secret, "most frequent item of the rule, in a short transaction")

        return until_hidden(working, hide_one, progress)


def _require_rules(problem: HidingProblem, name: str) -> None:
    if plain := [str(one) for one in problem.secrets if not one.is_rule]:
        raise BadInput(
            f"{name} weakens rules, and {plain[0]!r} is an itemset.", hint="Use another method: exact hides both."
        )
