"""Operations on budgets and the ledger."""

from __future__ import annotations

from itertools import islice

from discreet.budget.filter import Budget
from discreet.core.loss import Loss
from discreet.curator.audited import require_noise
from discreet.curator.curator import Curator
from discreet.curator.people.audit import Audit
from discreet.curator.people.person import Person
from discreet.service.operations.permissions import READERS, Permissions
from discreet.service.views import Books, BudgetView, LedgerLine, is_visible, line_view

SEARCHED = 20_000
"""How many lines of the ledger are searched for those of an analyst."""


class BudgetOperations:
    """What may be spent, what was, and whether the books are sound."""

    def __init__(self, curator: Curator, audit: Audit, may: Permissions) -> None:
        self._curator, self._audit, self._may = curator, audit, may

    def accounts(self, who: Person) -> list[BudgetView]:
        """All accounts; for an analyst their own, and those of the tables above them."""
        self._may.require(who)
        views = []
        for account in self._curator.ledger.accounts():
            if account.name.partition("/")[0] in self._curator.workspace.private:
                views.append(BudgetView.of(account))
        if who.role in READERS:
            return views
        mine = {view.table for view in views if view.analyst == who.name}
        return [view for view in views if view.table in mine and view.analyst in (None, who.name)]

    def set_limit(self, who: Person, account: str, budget: Budget | Loss, *, why: str) -> BudgetView:
        """Set an account's limit; what was spent stays spent."""
        with self._may.noted(who.name, "set limit", account=account, limit=str(budget)):
            self._may.require_steward(who)
            self._may.require_here(account)
            require_noise(self._curator.ledger, [account.partition("/")[0]])
            self._curator.ledger.set_limit(account, budget, why=why)
            return next(view for view in self.accounts(who) if view.account == account)

    def lines(self, who: Person, *, account: str | None = None, most: int = 200) -> list[LedgerLine]:
        """The last ledger entries, newest first; for an analyst those of their own accounts.

        An analyst has the newest lines searched alone: others' questions, however many, must not make theirs slow.
        """
        self._may.require(who)
        reader = who.role in READERS
        seen = {view.account for view in self.accounts(who) if reader or view.analyst is not None}
        if account is not None:
            seen = {name for name in seen if f"{name}/".startswith(f"{account}/")}
        lines = islice(self._curator.ledger.lines(newest_first=True), None if reader else SEARCHED)
        return [line_view(line) for line in islice((line for line in lines if is_visible(line, seen)), most)]

    def verify(self, who: Person) -> Books:
        """Go through the ledger line by line and compare it with every answer given, and through the audit log."""
        with self._may.noted(who.name, "verify"):
            self._may.require(who, *READERS)
            return Books.of(self._curator.verify(), self._audit.verify())
