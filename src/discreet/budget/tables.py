"""SQL tables of a ledger: its lines and their sums, loaded before every charge and saved after it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any

from discreet.budget.entries import Account, Began, Book, Charged, Entry, Line, path, read
from discreet.budget.filter import Budget, Spent
from discreet.budget.store import REMEDY, Queried, Session, digest
from discreet.core.document import fields
from discreet.errors import BadInput, DiscreetError, Unsound

SCHEMA = (
    "CREATE TABLE lines (number integer PRIMARY KEY, key text UNIQUE, content text NOT NULL, digest text NOT NULL)",
    "CREATE TABLE accounts (name text PRIMARY KEY, budget text NOT NULL, partition text, "
    "whole text NOT NULL, peak text NOT NULL, period integer NOT NULL DEFAULT 0, past text)",
    "CREATE TABLE parts (account text, part text, spent text NOT NULL, PRIMARY KEY (account, part))",
)
"""``lines`` is the ledger. The others hold what its lines add up to, so that a charge costs the same after
ten as after ten million; ``verify`` adds up again and compares."""
_ACCOUNTS = "SELECT name, budget, partition, whole, peak, period, past FROM accounts"
"""Columns by name: a later version may add others while this one has the ledger open."""
_PAGE, _SHORT_PAGE = 5000, 500
"""Lines read at once, oldest first and newest first."""
_NO_LINE = 2**31 - 1
_CHECKED = 4
"""Number of lines whose digests are verified before a charge: those of the last answer. Opening verifies all."""


def add_periods(session: Session) -> None:
    """Migrate accounts to the version in which budgets can renew; those of existing accounts do not."""
    session.run("ALTER TABLE accounts ADD COLUMN period integer NOT NULL DEFAULT 0", [()])
    session.run("ALTER TABLE accounts ADD COLUMN past text", [()])


def all_accounts(session: Queried) -> list[Account]:
    """All accounts, in no order."""
    return [account_of(row) for row in session.rows(_ACCOUNTS)]


def load(session: Session, entries: Sequence[Entry], known: Book) -> Book:
    """The state that is needed to write ``entries``: the last line, and their accounts, parts and keys.

    An error if the ledger does not go on from the last line of ``known``, has other sums at that line, or if one of its
    last lines, which the next one builds on, is not what its digest says.
    """
    rows = session.rows("SELECT number, digest, content FROM lines ORDER BY number DESC LIMIT ?", (_CHECKED + 1,))
    there = head = [row[:2] for row in rows[:1]]
    if head and head[0][0] > known.number:
        there = session.rows("SELECT number, digest FROM lines WHERE number = ?", (known.number,))
    if there != [(known.number, known.digest)]:
        raise Unsound(f"Entry {known.number:,} of the ledger is gone or changed.", hint=REMEDY)
    for (number, found, content), (_, before, _) in pairwise(rows):
        if found != digest(before, content):
            raise Unsound(f"Entry {number:,} of the ledger was edited: its digest does not match.", hint=REMEDY)
    book = Book(*head[0])
    book.accounts |= accounts_among(session, _names(entries))
    for row in _among(session, "SELECT * FROM parts WHERE (account, part)", _parts(entries)):
        book.parts[row[0], row[1]] = spent_of(row[2])
    keys = {(entry.key,) for entry in entries if isinstance(entry, Charged)}
    for row in _among(session, "SELECT number, content, digest FROM lines WHERE key", keys):
        line = line_of(*row)
        if isinstance(line.entry, Charged):
            book.charged[line.entry.key] = line
    if book.number == known.number:
        edited = [name for name, account in book.accounts.items() if known.accounts.get(name, account) != account]
        edited += [part[0] for part, spent in book.parts.items() if known.parts.get(part, spent) != spent]
        if edited:
            raise Unsound(f"The account {edited[0]} in the ledger does not match the sum of its entries.", hint=REMEDY)
    return book


def save(session: Session, book: Book) -> None:
    """Write the lines that ``book`` got since it was loaded, and the sums that they change."""
    entries = [line.entry for line, _ in book.written]
    lines = [(line.number, _key(line.entry), content, line.digest) for line, content in book.written]
    session.run("INSERT INTO lines (number, key, content, digest) VALUES (?, ?, ?, ?)", lines)
    session.run(
        "INSERT INTO accounts (name, budget, partition, whole, peak, period, past) VALUES (?, ?, ?, ?, ?, ?, ?) "
        "ON CONFLICT (name) DO UPDATE SET budget = excluded.budget, whole = excluded.whole, peak = excluded.peak, "
        "period = excluded.period, past = excluded.past",
        [_row(book.accounts[name]) for name in sorted(_names(entries))],
    )
    session.run(
        "INSERT INTO parts (account, part, spent) VALUES (?, ?, ?) ON CONFLICT (account, part) "
        "DO UPDATE SET spent = excluded.spent",
        [(*part, _text(book.parts[part])) for part in sorted(_parts(entries))],
    )


def sums_of(book: Book) -> dict[str, Any]:
    """Sums of all lines up to the last one, as plain data."""
    return {
        "line": book.number,
        "digest": book.digest,
        "accounts": [_row(account) for account in book.accounts.values()],
        "parts": [[*part, _text(spent)] for part, spent in book.parts.items()],
    }


def book_of(sums: object) -> Book | None:
    """The book that ``sums_of`` described; ``None`` for anything else."""
    if sums is None:
        return None
    try:
        said = fields(sums, "it", line=int, digest=str, accounts=list, parts=list)
        accounts = {row[0]: account_of(tuple(row)) for row in said["accounts"]}
        parts = {(account, part): spent_of(spent) for account, part, spent in said["parts"]}
    except (DiscreetError, ValueError, TypeError, IndexError):
        return None
    return Book(said["line"], said["digest"], accounts, parts)


def page_after(session: Session, number: int) -> list[tuple[int, str | None, str, str]]:
    """The next few thousand lines (number, key, content, digest) after a line."""
    sql = "SELECT number, key, content, digest FROM lines WHERE number > ? ORDER BY number LIMIT ?"
    return session.rows(sql, (number, _PAGE))


def page_before(session: Session, number: int | None) -> list[tuple[int, str | None, str, str]]:
    """The few hundred lines before a line, or the last ones; newest first."""
    sql = "SELECT number, key, content, digest FROM lines WHERE number < ? ORDER BY number DESC LIMIT ?"
    return session.rows(sql, (_NO_LINE if number is None else number, _SHORT_PAGE))


def accounts_among(session: Queried, names: Iterable[str]) -> dict[str, Account]:
    """The named accounts, as far as they exist."""
    rows = _among(session, f"{_ACCOUNTS} WHERE name", {(name,) for name in names})
    return {row[0]: account_of(row) for row in rows}


def account_of(row: tuple[Any, ...]) -> Account:
    """The account in a row of ``accounts``."""
    name, budget, partition, whole, peak, period, past = row
    before = None if past is None else spent_of(past)
    return Account(name, _budget_of(budget), partition, spent_of(whole), spent_of(peak), period, before)


@lru_cache(maxsize=1024)
def spent_of(text: str) -> Spent:
    """A spent loss, from its text; cached, because it is read more often than it changes."""
    return Spent.from_dict(_loaded(text))


@lru_cache(maxsize=1024)
def _budget_of(text: str) -> Budget:
    """A budget, from its text; cached, because its ceiling takes a while to work out."""
    return Budget.from_dict(_loaded(text))


def _loaded(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, TypeError, RecursionError):
        raise BadInput("An account cannot be read.", hint=REMEDY) from None


def line_of(number: int, content: str, found: str) -> Line:
    """The line in a row of ``lines``."""
    try:
        said, at, entry = read(content)
    except BadInput as error:
        raise Unsound(f"Entry {number:,} of the ledger cannot be read: {error}.", hint=REMEDY) from None
    if said != number:
        raise Unsound(f"Entry {number:,} of the ledger says that it is entry {said:,}.", hint=REMEDY)
    return Line(number, at, entry, found)


def _among(session: Queried, sql: str, wanted: set[Any]) -> list[tuple[Any, ...]]:
    """Rows of a query whose last columns, at the end of ``sql``, are one of the tuples ``wanted``."""
    if not wanted:
        return []
    tuples = sorted(wanted)
    one = f"({', '.join('?' * len(tuples[0]))})"
    return session.rows(
        f"{sql} IN (VALUES {', '.join([one] * len(tuples))})", [value for each in tuples for value in each]
    )


def _names(entries: Iterable[Entry]) -> set[str]:
    return {name for entry in entries if not isinstance(entry, Began) for name in path(entry.account)}


def _parts(entries: Iterable[Entry]) -> set[tuple[str, str]]:
    charges = (entry for entry in entries if isinstance(entry, Charged))
    return {(name, entry.part) for entry in charges if entry.part is not None for name in path(entry.account)}


def _key(entry: Entry) -> str | None:
    return entry.key if isinstance(entry, Charged) else None


def _row(account: Account) -> tuple[object, ...]:
    texts = [_text(said) for said in (account.budget, account.whole, account.peak)]
    past = None if account.past is None else _text(account.past)
    return (account.name, texts[0], account.partition, *texts[1:], account.period, past)


def _text(said: Budget | Spent) -> str:
    return json.dumps(said.to_dict(), sort_keys=True, separators=(",", ":"))
