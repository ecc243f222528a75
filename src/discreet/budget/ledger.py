"""The ledger: every loss is written down, for good, before anything is answered.

A charge to the account ``visits/ann`` must fit the budget of ``visits`` (the table's) and that of
``visits/ann`` (the analyst's own), and is written to both or to neither. Nothing is ever given back: a crash
at any point may waste budget, but what was answered was charged.

Every line carries the SHA-256 of the line before it and its own content, so that a change to any line
breaks every digest after it. That is checked when a ledger is opened (``verify.py``), with the sums of its
accounts and with how far it is known to have come (``Witness``): an edited, damaged or shortened ledger, or
an old copy in its place, is an error before anything is charged. From then on every charge must go on from the
line that was last seen. Anyone who can write to the database and to the files beside it could work all of that out
again; the receipts handed out with releases are what shows that, so ``verify`` takes them.
"""

from __future__ import annotations

import datetime as dt
import os
import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from pathlib import Path
from types import TracebackType
from typing import Generic, Self, TypeVar

from discreet.budget.entries import Account, Began, Book, Charged, Entry, Limited, Line, Opened, path
from discreet.budget.filter import Budget
from discreet.budget.sqlite import create_store, open_store
from discreet.budget.store import POSTGRES, Contents, Session, Store
from discreet.budget.tables import (
    SCHEMA,
    accounts_among,
    add_periods,
    all_accounts,
    line_of,
    load,
    page_after,
    page_before,
    save,
    sums_of,
)
from discreet.budget.verify import Verdict, require_sound, verify_entries
from discreet.core.document import Format, Migration
from discreet.core.loss import Loss
from discreet.core.release import Receipt
from discreet.errors import DiscreetError, LedgerError, NotFound

FORMAT: Format[Session] = Format("ledger", {2: Migration("0.2.0", add_periods)}, error=LedgerError)
_FEW, _MANY = 1000, 10_000
"""Lines after which sums are kept for the next opening: when a ledger is opened or closed, and while it is charged."""
_LARGEST_GROUP = 500
"""Requests written in one transaction, at most."""
_SHARE_OF_WRITING = 0.25
"""Longest wait for more requests, as a share of the time the last write took."""
_NEVER = 2**31
POSTGRES_SCHEMA = "discreet_ledger"
"""The schema of a ledger in PostgreSQL."""
_PAUSE_SECONDS = 0.01
"""Least time between two records of how far the ledger has come, so that many charges in a row cost nothing more."""

Request = TypeVar("Request")
Answer = TypeVar("Answer")


def create_ledger(where: str | Path, *, witness: Path | None = None) -> SqlLedger:
    """A new ledger, where there must be none yet; ``witness`` is as for ``open_ledger``."""
    if str(where).startswith(POSTGRES):
        return create_postgres(str(where), witness=witness)
    create_store(Path(where), LEDGER)
    return open_ledger(where)


def open_ledger(where: str | Path, *, witness: Path | None = None) -> SqlLedger:
    """The ledger that is there, if it is sound. A missing one is an error: an empty one would forget everything.

    How far a ledger had come is kept in files beside the path ``witness``; those of an SQLite file lie beside it.
    """
    if str(where).startswith(POSTGRES):
        return open_postgres(str(where), witness=witness)
    return SqlLedger(open_store(Path(where), LEDGER))


def create_postgres(address: str, *, schema: str = POSTGRES_SCHEMA, witness: Path | None = None) -> SqlLedger:
    """A new ledger in a new schema of the database at ``address``; there as a whole or not at all."""
    from discreet.budget.postgres import PostgresStore

    store = PostgresStore(address, schema, LEDGER, witness)
    try:
        store.create()
    except BaseException:
        store.close()
        raise
    return SqlLedger(store)


def open_postgres(address: str, *, schema: str = POSTGRES_SCHEMA, witness: Path | None = None) -> SqlLedger:
    """The ledger in the database at ``address``. A missing one is an error, not made.

    The files beside the path ``witness`` say how far it had come; without one, an old copy goes unnoticed.
    """
    from discreet.budget.postgres import PostgresStore

    store = PostgresStore(address, schema, LEDGER, witness)
    try:
        store.open()
    except BaseException:
        store.close()
        raise
    return SqlLedger(store)


class SqlLedger:
    """A ledger in an SQL database. Threads may share it; a process that forked must open it again."""

    def __init__(self, store: Store) -> None:
        """A ledger that is checked first: ``Unsound`` if it is not what was written."""
        self._store = store
        try:
            self._known, self._kept = require_sound(store)
        except BaseException:
            store.close()
            raise
        self._keep_sums(_FEW)
        self._group: Group[Entry, Line | None] = Group(self._commit)

    def charge(self, account: str, loss: Loss, *, key: str, what: str, part: str | None = None) -> Receipt:
        """Charge ``loss`` to an account and all above it: durable when this returns, refused if one is exceeded.

        The same request under the same key is charged once, and gets the first receipt again; another
        request under the same key is an error. ``part`` names the part of the account's partition that
        alone is looked at.
        """
        line = self._group.submit(Charged(account, loss, key, what, part))
        assert line is not None  # noqa: S101  # only an account that was opened before has no line
        return line.receipt

    def open_account(self, name: str, budget: Budget | Loss, *, partition: str | None = None) -> Account:
        """Open an account: a table ("visits"), or an analyst's own below it ("visits/ann").

        Opening it again in the same way changes nothing. A ``partition`` names what divides the table into
        parts that may be charged apart: every unit must lie in one part with all that belongs to it.
        """
        self._group.submit(Opened(name, _budget(budget), partition))
        return self.account(name)

    def set_limit(self, name: str, budget: Budget | Loss, *, why: str) -> Account:
        """Give an account another limit, on a line of its own; what was spent stays spent.

        From then on the new limit is what is promised to everyone in the table, also for what was
        answered before.
        """
        self._group.submit(Limited(name, _budget(budget), why))
        return self.account(name)

    def account(self, name: str) -> Account:
        """An account: its budget, what was spent, what is left."""
        found = self.find_accounts(name)
        if not found:
            raise NotFound(f"There is no account {name!r} in {self._store.place}.")
        return found[name]

    def find_accounts(self, *names: str) -> dict[str, Account]:
        """Those of the named accounts that there are, all as of one moment."""
        now = self._clock()
        return {name: account.as_of(now) for name, account in accounts_among(self._store, names).items()}

    def accounts(self) -> tuple[Account, ...]:
        """All accounts, by name."""
        now = self._clock()
        with self._store.reading() as session:
            found = [account.as_of(now) for account in all_accounts(session)]
        return tuple(sorted(found, key=lambda account: path(account.name)))

    def lines(self, account: str | None = None, *, newest_first: bool = False) -> Iterator[Line]:
        """All lines in order, or those of one account and all below it: who spent what on what, and when."""
        at = None if newest_first else 0
        while True:  # a transaction a page: anyone who stops half way leaves none open
            with self._store.reading() as session:
                page = page_before(session, at) if newest_first else page_after(session, at or 0)
            if not page:
                return
            for number, _, content, found in page:
                line = line_of(number, content, found)
                of = None if isinstance(line.entry, Began) else line.entry.account
                if account is None or (of is not None and account in path(of)):
                    yield line
            at = page[-1][0]

    def find(self, key: str) -> Receipt | None:
        """The receipt of the charge under ``key``, if there was one."""
        line = self.find_line(key)
        return None if line is None else line.receipt

    def find_line(self, key: str) -> Line | None:
        """The line of the charge under ``key``, if there was one."""
        rows = self._store.rows("SELECT number, content, digest FROM lines WHERE key = ?", (key,))
        return line_of(*rows[0]) if rows else None

    def keys(self, beginning: str) -> list[str]:
        """The keys of all charges that begin so."""
        rows = self._store.rows("SELECT key FROM lines WHERE key LIKE ?", (f"{beginning}%",))
        return [key for (key,) in rows if key.startswith(beginning)]

    def verify(self, receipts: Iterable[Receipt] = ()) -> Verdict:
        """Go through all lines again: digests, order, rules, and whether the accounts are their sum.

        Every receipt given must be the receipt of the line it names.
        """
        with self._store.reading() as session:
            return verify_entries(session, self._store, receipts)[0]

    def renewals(self, charged: Iterable[str]) -> tuple[str, ...]:
        """What budgets that renew promise of each period and of all together: those of these accounts and above."""
        names = sorted({name for account in charged for name in path(account)})
        accounts = {name: found for name in names if (found := self._known.accounts.get(name)) is not None}
        if len(accounts) < len(names):  # others write, too
            accounts = self.find_accounts(*names)
        budgets = ((name, account.budget) for name, account in sorted(accounts.items()))
        return tuple(f"The budget of {name} renews. {budget.promise}" for name, budget in budgets if budget.renews)

    def close(self) -> None:
        """Finish what is waiting, and let go."""
        if self._group.close():
            self._keep_sums(_FEW)
            self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._store.place!r})"

    @staticmethod
    def _clock() -> dt.datetime:
        """The time of the lines that are written now. The periods of budgets follow it, but never back."""
        return dt.datetime.now(dt.UTC)

    def _commit(self, entries: Sequence[Entry]) -> list[Line | Exception | None]:
        """Write what the rules allow of ``entries`` in one transaction. Refused ones leave no trace."""
        answers: list[Line | Exception | None] = []
        with self._store.writing() as session:
            book = load(session, entries, self._known)
            seen = book.number
            now = self._clock()
            for entry in entries:
                try:
                    answers.append(book.post(entry, now))
                except DiscreetError as refusal:
                    answers.append(refusal)
            save(session, book)
        if seen != self._known.number:  # others write, too: what all lines add up to is not known here any more
            self._known, self._kept = Book(), _NEVER
        self._known.accounts |= book.accounts
        self._known.parts |= book.parts
        self._known.number, self._known.digest = book.number, book.digest
        if self._store.witness and book.written:
            self._store.witness.write(book.number, book.digest, pause=_PAUSE_SECONDS)
        self._keep_sums(_MANY)
        return answers

    def _keep_sums(self, lines: int) -> None:
        """Keep for the next opening what the lines add up to, if that saves adding up many lines."""
        if self._store.witness and self._known.number - self._kept >= lines:
            self._store.witness.write_sums(sums_of(self._known))
            self._kept = self._known.number


def begin(session: Session) -> None:
    """Write the first line of a new ledger."""
    book = Book()
    book.post(Began(FORMAT.version), dt.datetime.now(dt.UTC))
    save(session, book)


LEDGER = Contents(
    format=FORMAT,
    application=0x64634C67,  # "dcLg"
    schema=SCHEMA,
    lines="lines",
    begin=begin,
    again="Try again under the same key: it is charged once.",
)
"""What a store of a ledger holds."""


def _budget(given: Budget | Loss) -> Budget:
    return given if isinstance(given, Budget) else Budget(given)


class Group(Generic[Request, Answer]):
    """Group commit: callers that wait at the same time share one transaction, and so one write to the disk.

    Callers that were answered together come back together. So the thread waits for as many as it answered
    last, up to a quarter of the time that writing took; a lone caller is never kept waiting.
    """

    def __init__(self, work: Callable[[Sequence[Request]], Sequence[Answer | Exception]], what: str = "ledger") -> None:
        self._work = work
        self._what = what
        self._waiting: queue.SimpleQueue[tuple[Request, Future[Answer]] | None] = queue.SimpleQueue()
        self._process = os.getpid()
        self._closed = False
        self._gate = threading.Lock()
        self._thread = threading.Thread(target=self._run, name=what, daemon=True)
        self._thread.start()

    def submit(self, request: Request) -> Answer:
        """Wait until ``request`` has been written, or refused."""
        future: Future[Answer] = Future()
        if self._process != os.getpid():
            raise LedgerError(
                f"This {self._what} was opened in another process.",
                hint="Open it in every process that uses it, after forking.",
            )
        with self._gate:
            if self._closed:
                raise LedgerError(f"This {self._what} has been closed.", hint="Open it again.")
            self._waiting.put((request, future))
        return future.result()

    def close(self) -> bool:
        """Finish what is waiting, and stop. Whether there was something to stop, in this process."""
        if self._process != os.getpid():
            return False
        with self._gate:
            if self._closed:
                return False
            self._closed = True
        self._waiting.put(None)
        self._thread.join()
        return True

    def _run(self) -> None:
        answered, took = 0, 0.0
        while batch := self._gathered(answered, time.monotonic() + took * _SHARE_OF_WRITING):
            began = time.monotonic()
            self._answer(batch)
            answered, took = len(batch), time.monotonic() - began

    def _gathered(self, expected: int, deadline: float) -> list[tuple[Request, Future[Answer]]]:
        batch: list[tuple[Request, Future[Answer]]] = []
        while len(batch) < _LARGEST_GROUP:
            try:
                if not batch:
                    found = self._waiting.get()
                elif len(batch) < expected and (left := deadline - time.monotonic()) > 0:
                    found = self._waiting.get(timeout=left)
                else:
                    found = self._waiting.get_nowait()
            except queue.Empty:
                break
            if found is None:
                if batch:
                    self._waiting.put(None)
                break
            batch.append(found)
        return batch

    def _answer(self, batch: Sequence[tuple[Request, Future[Answer]]]) -> None:
        try:
            answers = self._work([request for request, _ in batch])
        except BaseException as error:  # noqa: BLE001  # whatever it is, those who wait must hear of it
            for _, future in batch:
                future.set_exception(error)
            return
        for (_, future), answer in zip(batch, answers, strict=True):
            if isinstance(answer, Exception):
                future.set_exception(answer)
            else:
                future.set_result(answer)
