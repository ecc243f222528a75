"""What the desk shows: tables, budgets and lines of the ledger, as somebody may see them."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Any, Self

from discreet.budget.entries import Charged, Limited, Line, Opened
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
    """What a question may cost: an epsilon (and a delta, where groups are not declared), or a rho."""

    epsilon: Number | None = None
    delta: Number = 0
    rho: Number | None = None

    def arguments(self) -> dict[str, Any]:
        """As ``Curator.ask`` takes it."""
        return {"epsilon": self.epsilon, "delta": self.delta, "rho": self.rho}


@dataclass(frozen=True)
class TableView:
    """A table as somebody may see it: what its card declares, and what they may spend on it."""

    name: str
    card: Card
    public: bool
    left: Left | None
    """``None``: whoever looks may not ask it."""
    synthetic: str | None = None
    """The release that is its synthetic stand-in, if it has one."""
    audited: bool = False
    """Whether it is answered exactly or not at all, and never with noise."""


@dataclass(frozen=True)
class BudgetView:
    """An account of the ledger: a table's, or an analyst's own below it."""

    account: str
    table: str
    analyst: str | None
    budget: Budget
    spent: Loss
    left: Loss


@dataclass(frozen=True)
class LedgerLine:
    """A line of the ledger, for people. ``kind`` is opened, limited or charged."""

    number: int
    at: dt.datetime
    account: str
    kind: str
    loss: Loss | None
    """What was charged, or the new limit."""
    what: str
    """The questions, or the reason."""


@dataclass(frozen=True)
class Books(Verdict):
    """What was found in the ledger and in the audit log: how many lines of each are sound, and what is wrong."""

    logged: int = 0
    """How many lines of the audit log are sound; the other numbers are the ledger's."""

    @classmethod
    def of(cls, ledger: Verdict, log: Verdict) -> Self:
        """Both together; the ledger's problem comes first."""
        problem = ledger.problem
        if ledger.sound and not log.sound:
            problem = f"the audit log is not sound, at its line {log.line}: {log.problem}"
        return cls(ledger.lines, problem, ledger.line, log.lines)

    def __str__(self) -> str:
        said = f"{number(self.lines, 'line')} of the ledger and {number(self.logged, 'line')} of the audit log"
        if self.sound:
            return f"{said}, all sound."
        where = "" if self.line is None else f"line {self.line} of the ledger: "
        return f"{said} are sound; {where}{self.problem}."


def shown(line: Line, accounts: set[str]) -> bool:
    """Whether a line is for somebody who may see these accounts; seals cost nothing, and are left out."""
    entry = line.entry
    if not isinstance(entry, Charged | Limited | Opened) or entry.account not in accounts:
        return False
    return not (isinstance(entry, Charged) and entry.key.startswith(SEAL))


def told(line: Line) -> LedgerLine:
    """A line in the words of people."""
    match line.entry:
        case Charged(account=account, loss=loss, purpose=purpose):
            return LedgerLine(line.number, line.at, account, "charged", loss, purpose.rpartition("\n")[0])
        case Limited(account=account, budget=budget, why=why):
            return LedgerLine(line.number, line.at, account, "limited", budget.limit, why)
        case Opened(account=account, budget=budget):
            return LedgerLine(line.number, line.at, account, "opened", budget.limit, "")
    raise AssertionError(line)
