"""The ledger: every loss is written down, for good, before anything is answered.

A charge to the account ``visits/ann`` must fit the budget of ``visits`` (the table's) and that of
``visits/ann`` (the analyst's own), and is written to both or to neither. Nothing is ever given back: a crash
at any point may waste budget, but what was answered was charged.

Every line carries the SHA-256 of the line before it and its own content, so that a change to any line
breaks every digest after it. Whoever can write to the database could work all digests out again, cut off
the last lines, or put an old copy back; the receipts handed out with releases are what shows that, so
``verify`` takes them.
"""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self, TypeVar

from discreet.budget.book import Account, Book
from discreet.budget.filter import Budget
from discreet.budget.group import Group
from discreet.budget.lines import FORMAT, Began, Charged, Entry, Limited, Line, Opened, digest, path, write
from discreet.budget.store import (
    SCHEMA,
    Contents,
    Session,
    Store,
    account_of,
    accounts_among,
    line_of,
    load,
    page_after,
    page_before,
    save,
    spent_of,
)
from discreet.core.loss import Loss
from discreet.core.release import Receipt
from discreet.errors import BadInput, BudgetExceeded, DiscreetError, LedgerError, NotFound

_K = TypeVar("_K")
_V = TypeVar("_V")


class Ledger(Protocol):
    """What charges are written to."""

    def charge(self, account: str, loss: Loss, *, key: str, what: str, part: str | None = None) -> Receipt:
        """Charge ``loss`` to an account and all above it: durable when this returns, refused if one is exceeded.

        The same request under the same key is charged once, and gets the first receipt again; another
        request under the same key is an error. ``part`` names the part of the account's partition that
        alone is looked at.
        """


@dataclass(frozen=True)
class Verdict:
    """What ``verify`` found: how many lines are sound, and what is wrong with the first that is not."""

    lines: int
    problem: str = ""
    line: int | None = None
    """The first bad line; ``None`` if there is none, or the problem is not with one line."""

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problem

    def __str__(self) -> str:
        if self.sound:
            return f"{self.lines:,} lines, all sound."
        where = f"line {self.line}" if self.line is not None else "the accounts"
        return f"{self.lines:,} lines are sound; {where}: {self.problem}."


class SqlLedger:
    """A ledger in an SQL database. Threads may share it; a process that forked must open it again."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._group: Group[Entry, Line | None] = Group(self._commit)

    def charge(self, account: str, loss: Loss, *, key: str, what: str, part: str | None = None) -> Receipt:
        """See ``Ledger.charge``."""
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

        From then on the new limit is what is promised to everybody in the table, also for what was
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
        return accounts_among(self._store, names)

    def accounts(self) -> tuple[Account, ...]:
        """All accounts, by name."""
        with self._store.reading() as session:
            return tuple(sorted(map(account_of, session.rows("SELECT * FROM accounts")), key=lambda a: path(a.name)))

    def lines(self, account: str | None = None, *, newest_first: bool = False) -> Iterator[Line]:
        """All lines in order, or those of one account and all below it: who spent what on what, and when."""
        at = None if newest_first else 0
        while True:  # a transaction a page: whoever stops half way leaves none open
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

    def verify(self, receipts: Iterable[Receipt] = ()) -> Verdict:
        """Go through all lines again: digests, order, rules, and whether the accounts are their sum.

        Every receipt given must be the receipt of the line it names.
        """
        with self._store.reading() as session:
            return _verified(session, self._store, receipts)

    def close(self) -> None:
        """Finish what is waiting, and let go."""
        if self._group.close():
            self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._store.place!r})"

    def _commit(self, entries: Sequence[Entry]) -> list[Line | Exception | None]:
        """Write what the rules allow of ``entries`` in one transaction. Refused ones leave no trace."""
        answers: list[Line | Exception | None] = []
        with self._store.writing() as session:
            book = load(session, entries)
            now = dt.datetime.now(dt.UTC)
            for entry in entries:
                try:
                    answers.append(book.post(entry, now))
                except DiscreetError as refusal:
                    answers.append(refusal)
            save(session, book)
        return answers


def begin(session: Session) -> None:
    """Write the first line of a new ledger."""
    book = Book()
    book.post(Began(), dt.datetime.now(dt.UTC))
    save(session, book)


LEDGER = Contents(
    what="ledger",
    application=0x64634C67,  # "dcLg"
    format=FORMAT,
    schema=SCHEMA,
    lines="lines",
    begin=begin,
    again="Try again under the same key: it is charged once.",
)
"""What a store of a ledger holds."""


def _verified(session: Session, store: Store, receipts: Iterable[Receipt]) -> Verdict:
    awaited: defaultdict[int, set[Receipt]] = defaultdict(set)
    for receipt in receipts:
        awaited[receipt.line].add(receipt)
    book = Book()
    while page := page_after(session, book.number):
        for number, key, content, found in page:
            try:
                _check(book, number, key, content, found)
                if (told := awaited.pop(number, None)) and told != {line_of(number, content, found).receipt}:
                    raise LedgerError("it is not the charge that a receipt for this line says")
            except DiscreetError as error:
                return Verdict(book.number, error.message.rstrip("."), number)
            book.number, book.digest = number, found
    if book.number == 0:
        return Verdict(0, "the first line is missing", 1)
    if awaited:
        return Verdict(book.number, "a receipt was given for it, and it is missing", min(awaited))
    try:
        wrong = _wrong_sums(session, book) + store.problems(session)
    except BadInput as error:
        wrong = [error.message.rstrip(".")]
    return Verdict(book.number, wrong[0] if wrong else "")


def _check(book: Book, number: int, key: str | None, content: str, found: str) -> None:
    """Whether a row is the line that comes next; if so, it is folded into ``book``."""
    if number != book.number + 1:
        raise LedgerError("a line before it is missing")
    if found != digest(book.digest, content):
        raise LedgerError("its digest is not that of its content and the line before it")
    line = line_of(number, content, found)
    if content != write(number, line.at, line.entry):
        raise LedgerError("it is not written as a ledger writes")
    if key != (line.entry.key if isinstance(line.entry, Charged) else None):
        raise LedgerError("it is filed under another key")
    if isinstance(line.entry, Began) != (number == 1):
        raise LedgerError("a ledger begins on its first line")
    try:
        book.apply(line.entry)
    except BudgetExceeded:
        raise LedgerError("it charges more than was left") from None


def _wrong_sums(session: Session, book: Book) -> list[str]:
    """Accounts and parts that are not what their lines add up to."""
    accounts = {row[0]: account_of(row) for row in session.rows("SELECT * FROM accounts")}
    parts = {(account, part): spent_of(spent) for account, part, spent in session.rows("SELECT * FROM parts")}
    differing = _different(accounts, book.accounts) | {account for account, _ in _different(parts, book.parts)}
    return [f"{name} is not what its lines add up to" for name in sorted(differing)]


def _different(one: dict[_K, _V], other: dict[_K, _V]) -> set[_K]:
    return {key for key in one.keys() | other.keys() if one.get(key) != other.get(key)}


def _budget(given: Budget | Loss) -> Budget:
    return given if isinstance(given, Budget) else Budget(given)
