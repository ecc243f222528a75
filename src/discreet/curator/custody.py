"""What the holder of a workspace does with it: makes it, says who may ask, has twins made, looks at the books.

What is asked of it, and leaves, is the curator's (``curator.py``), which is built on this.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from discreet.budget.filter import Budget
from discreet.budget.ledger import SqlLedger
from discreet.budget.opening import create_ledger
from discreet.budget.verify import Verdict
from discreet.core.loss import Loss
from discreet.core.table import Table
from discreet.curator.answer import Left
from discreet.curator.audited import Audits
from discreet.curator.books import open_books
from discreet.curator.bounded_tables import Twins
from discreet.curator.noise_or_audit import require_noise
from discreet.curator.synthetic import Synthetic, Synthetics
from discreet.curator.workspace import LEDGER, Public, Workspace, new_workspace, open_workspace
from discreet.curator.workspace import Given as Source
from discreet.errors import NotFound, Refused
from discreet.releases.method import Method
from discreet.releases.pipeline import Given, Pipeline, account_of
from discreet.releases.store import Store
from discreet.verbs.ask.query_auditing.policy import Policy

ANALYST = "analyst"
"""Who asks, unless somebody else is named."""


class Custody:
    """A workspace, its ledger and its store in the holder's hands."""

    def __init__(self, folder: str | Path) -> None:
        """Open the workspace in ``folder``."""
        self.workspace: Workspace = open_workspace(Path(folder))
        self.ledger: SqlLedger = open_books(self.workspace)
        self._store = Store(self.workspace.releases, self.ledger)
        self._pipeline = Pipeline(
            self.ledger, self._store, self.workspace.limits, lambda names: require_noise(self.ledger, names)
        )
        self._twins = Twins(self.workspace)
        self._synthetics = Synthetics(self.workspace, self._store, self._twins, self._pipeline)
        self._audits = Audits(self.workspace, self.ledger, self._store, self._twins)

    @classmethod
    def create(
        cls,
        folder: str | Path,
        tables: Mapping[str, Source],
        budget: Budget | Loss,
        *,
        ledger: str | None = None,
        analyst: str | None = ANALYST,
        public: Mapping[str, Public] | None = None,
    ) -> Self:
        """Make a workspace in a new folder: all of it or, on any failure, nothing.

        ``tables`` are sources, as ``read`` takes them, each with its card. Each table gets ``budget``, and so does
        ``analyst``; ``None`` lets nobody ask until ``add_analyst``. ``ledger`` is the address of a PostgreSQL
        database that several curators share; without one it is a file in the folder. ``public`` are sources that are
        about nobody, for questions to join with: they need no card, and no budget.
        """
        with new_workspace(Path(folder), tables, ledger, public) as workspace, _new_ledger(workspace) as book:
            for name in workspace.private:
                book.open_account(name, budget)
                if analyst is not None:
                    book.open_account(account_of(name, analyst), budget)
            book.close()  # before the folder gets its name
        return cls(folder)

    def add_analyst(self, name: str, budget: Budget | Loss, tables: Sequence[str] | None = None) -> None:
        """Let somebody ask about ``tables`` (default: all), each within a budget of their own below the table's."""
        chosen = self.workspace.private if tables is None else tuple(tables)
        for table in chosen:
            self._require_private(table)
        for table in chosen:
            self.ledger.open_account(account_of(table, name), budget)

    def audit(self, table: str, columns: Mapping[str, str], *, by: Sequence[str] = ()) -> Policy:
        """From now on answer questions about a table exactly, or deny them (``ask_audited``), and none with noise.

        ``columns`` says how each audited column is watched over: "sum" (SUM and AVG), "extremes" (MAX and MIN), or
        "bounded=1000:look" (SUM and AVG of numbers whose bounds are known, where an answer may be looked at before it
        is denied). Conditions and groups may use the columns ``by``, which everybody may know of everybody. This is
        decided once, before anything was spent on the table, and nothing can be charged to it from then on.
        """
        self._require_private(table)
        return self._audits.start(table, columns, by)

    def audited(self, table: str) -> Policy | None:
        """How a table is audited, if it is."""
        self._require_private(table)
        return self._audits.policy(table)

    def make_synthetic(self, method: Method[Any], table: str) -> Given:
        """Make the synthetic twin of a table, by a method that makes rows, for the loss that it promises.

        It is the holder's to make, for everybody who may ask the table: so the table is charged, and no analyst. It
        takes the place of an earlier one where questions are asked of it, and the same again is free. If there was a
        crash on the way, making it again is charged once.
        """
        self._require_private(table)
        return self._synthetics.make(method, table)

    def synthetic(self, table: str) -> Synthetic | None:
        """The synthetic twin of a table, if it has one."""
        self._require_private(table)
        return self._synthetics.find(table)

    def set_synthetic(self, table: str, release: str | None) -> None:
        """Have another of the twins that were made of a table answer, or none. What was released stays released."""
        self._require_private(table)
        if release is None:
            self._synthetics.withdraw(table)
        else:
            self._synthetics.note(table, release)

    def left(self, table: str, analyst: str = ANALYST) -> Left:
        """What may still be spent on a table."""
        self._require_private(table)
        return self._left([table], analyst)[table]

    def verify(self) -> Verdict:
        """Go through the ledger line by line, and compare it with the receipts of all answers that were given.

        The twins in the folder are compared with what was cut.
        """
        self.workspace.require_twins()
        return self.ledger.verify(self._store.receipts())

    def close(self) -> None:
        """Let go of the ledger and the engines."""
        self.ledger.close()
        self._twins.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Curator({str(self.workspace.folder)!r})"

    def _table(self, name: str, analyst: str) -> Table:
        tables = self._tables(analyst)
        known = [one for one in tables if one in self.workspace.private]
        if name not in known:
            raise NotFound(f"There is no table about people called {name!r}; there are {', '.join(known)}.")
        return tables[name]

    def _require_private(self, name: str) -> None:
        if name not in self.workspace.private:
            known = ", ".join(self.workspace.private)
            raise NotFound(f"There is no table about people called {name!r}; there are {known}.")

    def _tables(self, analyst: str) -> Mapping[str, Table]:
        """The tables somebody may ask about: those the ledger has an account for, and the public ones."""
        accounts = {account_of(name, analyst): name for name in self.workspace.private}
        found = self.ledger.find_accounts(*accounts)
        allowed = [name for account, name in accounts.items() if account in found]
        if not allowed:
            raise Refused(f"{analyst} may ask about nothing here.", hint="The data's holder adds analysts.")
        allowed += [name for name, one in self.workspace.tables.items() if one.public]
        return self._twins.among(allowed)

    def _left(self, tables: Sequence[str], analyst: str) -> dict[str, Left]:
        own = {table: account_of(table, analyst) for table in tables}
        found = self.ledger.find_accounts(*own, *own.values())
        for name in own.values() - found.keys():
            self.ledger.account(name)  # which says that there is none
        return {table: Left(found[name].left, found[table].left) for table, name in own.items()}


def _new_ledger(workspace: Workspace) -> SqlLedger:
    """A new ledger in the folder; one in PostgreSQL may be there already, with other curators' accounts."""
    if workspace.ledger == workspace.ledger_place:
        try:
            return open_books(workspace)
        except NotFound:
            pass
    return create_ledger(workspace.ledger_place, witness=workspace.folder / LEDGER)
