"""What the operations return to users: tables, budgets and ledger lines, as far as each user may see them."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Any, Self

from discreet.budget.entries import Account, Charged, Limited, Line, Opened
from discreet.budget.filter import Budget
from discreet.budget.verify import Verdict
from discreet.core.card import Card
from discreet.core.exact import Number
from discreet.core.loss import Loss
from discreet.core.text import number
from discreet.curator.answer import Left
from discreet.releases.store import SEAL


@dataclass(frozen=True)
class Spend:
    """Loss of a question: an epsilon (and a delta, where groups are not declared), or a rho."""

    epsilon: Number | None = None
    delta: Number = 0
    rho: Number | None = None

    def arguments(self) -> dict[str, Any]:
        """Keyword arguments for ``Curator.ask``."""
        return {"epsilon": self.epsilon, "delta": self.delta, "rho": self.rho}


@dataclass(frozen=True)
class TableView:
    """A table as a user may see it: its card's declarations and the user's remaining budget."""

    name: str
    card: Card
    public: bool
    left: Left | None
    """Remaining budget; ``None`` if the user may not ask questions about it."""
    synthetic: str | None = None
    """Release of its synthetic stand-in, if it has one."""
    audited: bool = False
    """Whether it is under query auditing: exact answers or denials, never noise."""


@dataclass(frozen=True)
class BudgetView:
    """An account of the ledger: a table's, or an analyst's on it."""

    account: str
    table: str
    analyst: str | None
    budget: Budget
    spent: Loss
    """Of one period, if the budget renews; and so is what is left."""
    left: Loss
    spent_ever: Loss | None = None
    """In all periods, if the budget renews."""
    left_ever: Loss | None = None
    """What its lifetime cap leaves, if it has one."""
    renewal: dt.date | None = None
    """The first day of the next period (UTC), if the budget renews."""

    @classmethod
    def of(cls, account: Account) -> BudgetView:
        """An account for display."""
        table, _, analyst = account.name.partition("/")
        ever = account.spent_ever if account.budget.renews else None
        about = (account.name, table, analyst or None, account.budget, account.spent, account.left)
        return cls(*about, ever, account.left_ever, account.renewal)


@dataclass(frozen=True)
class LedgerLine:
    """A ledger line for display; ``kind`` is opened, limited or charged."""

    number: int
    at: dt.datetime
    account: str
    kind: str
    loss: Loss | None
    """Loss that was charged, or the new limit."""
    what: str
    """The questions, or the reason for a limit."""


@dataclass(frozen=True)
class Books(Verdict):
    """Integrity check of the ledger and the audit log: number of sound lines of each, and the first problem."""

    logged: int = 0
    """Number of sound lines of the audit log; the inherited numbers are the ledger's."""

    @classmethod
    def of(cls, ledger: Verdict, log: Verdict) -> Self:
        """Combine both checks; the ledger's problem comes first."""
        problem = ledger.problem
        if ledger.sound and not log.sound:
            problem = f"the audit log failed its check, at entry {log.line}: {log.problem}"
        return cls(ledger.lines, problem, ledger.line, log.lines)

    def __str__(self) -> str:
        ledger, log = (number(count, "entry", "entries") for count in (self.lines, self.logged))
        said = f"{ledger} of the ledger and {log} of the audit log"
        if self.sound:
            return f"{said}, all valid."
        where = "" if self.line is None else f"entry {self.line} of the ledger: "
        return f"{said} are valid; {where}{self.problem}."


def is_visible(line: Line, accounts: set[str]) -> bool:
    """Whether a ledger line is for a user who may see these accounts; seals have no cost and are left out."""
    entry = line.entry
    if not isinstance(entry, Charged | Limited | Opened) or entry.account not in accounts:
        return False
    return not (isinstance(entry, Charged) and entry.key.startswith(SEAL))


def line_view(line: Line) -> LedgerLine:
    """A ledger line as a view."""
    match line.entry:
        case Charged(account=account, loss=loss, purpose=purpose):
            return LedgerLine(line.number, line.at, account, "charged", loss, purpose.rpartition("\n")[0])
        case Limited(account=account, budget=budget, why=why):
            return LedgerLine(line.number, line.at, account, "limited", budget.limit, why)
        case Opened(account=account, budget=budget):
            return LedgerLine(line.number, line.at, account, "opened", budget.limit, "")
    raise AssertionError(line)
