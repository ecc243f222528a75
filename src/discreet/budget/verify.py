"""Whether a ledger is sound: its chain of digests, the rules, the sums of its accounts, and how far it had come.

All of that is gone through when a ledger is opened, before anything is charged. The digests of all lines are computed
again, since a change to an old line shows nowhere else. What the lines add up to is taken from the last opening
(``Witness``) as far as the chain is the one that was added up then; only lines after that are added.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar

from discreet.budget.entries import Began, Book, Charged, is_filed_under, write
from discreet.budget.store import REMEDY, Session, Store, digest, require_head
from discreet.budget.tables import all_accounts, book_of, line_of, page_after, spent_of
from discreet.core.release import Receipt
from discreet.errors import BadInput, BudgetExceeded, DiscreetError, LedgerError, Unsound

_K = TypeVar("_K")
_V = TypeVar("_V")
_OTHER_KEY = "it is stored under another key"


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
            return f"{self.lines:,} entries, all valid."
        where = f"entry {self.line}" if self.line is not None else "the accounts"
        return f"{self.lines:,} entries are valid; {where}: {self.problem}."


def require_sound(store: Store) -> tuple[Book, int]:
    """Sums of a ledger's entries; an error if it was edited, damaged, truncated or replaced by an older copy.

    The number is that of the line up to which sums were kept from the last opening.
    """
    witness = store.witness
    head = witness.head() if witness else None  # before the ledger is read: others may add lines at any time
    known = book_of(witness.sums()) if witness else None
    added_up = known.number if known else 0
    with store.reading() as session:
        verdict, book = verify_entries(session, store, since=known)
        if known is not None and not verdict.sound:
            verdict, book = verify_entries(session, store)
        if verdict.sound:
            require_head(session, "lines", head, f"The ledger {store.place}")
    if not verdict.sound:
        raise Unsound(f"The ledger {store.place} was edited or damaged: {verdict}", hint=REMEDY)
    if witness:
        witness.write(book.number, book.digest)
    return book, added_up


def verify_entries(
    session: Session, store: Store, receipts: Iterable[Receipt] = (), *, since: Book | None = None
) -> tuple[Verdict, Book]:
    """Verify all entries, and sum them up: from ``since`` on if its last one is in the chain, else from the first."""
    awaited: defaultdict[int, set[Receipt]] = defaultdict(set)
    for receipt in receipts:
        awaited[receipt.line].add(receipt)
    book = Book()
    while page := page_after(session, book.number):
        for number, key, content, found in page:
            try:
                _check_chain(book, number, content, found)
                if since is None or number > since.number:
                    _check(book, number, key, content, found)
                elif not is_filed_under(content, key):
                    raise LedgerError(_OTHER_KEY)
                if (told := awaited.pop(number, None)) and told != {line_of(number, content, found).receipt}:
                    raise LedgerError("it does not match the receipt for this entry")
            except DiscreetError as error:
                return Verdict(book.number, error.message.rstrip("."), number), book
            book.number, book.digest = number, found
            if since is not None and (number, found) == (since.number, since.digest):
                book = since
    return _verdict(session, store, book, awaited), book


def _verdict(session: Session, store: Store, book: Book, awaited: Iterable[int]) -> Verdict:
    if book.number == 0:
        return Verdict(0, "the first entry is missing", 1)
    if (missing := min(awaited, default=None)) is not None:
        return Verdict(book.number, "it is missing, although there is a receipt for it", missing)
    try:
        wrong = _wrong_sums(session, book) + store.problems(session)
    except BadInput as error:
        wrong = [error.message.rstrip(".")]
    return Verdict(book.number, wrong[0] if wrong else "")


def _check_chain(book: Book, number: int, content: str, found: str) -> None:
    """An error if a row is not the next entry of the chain."""
    if number != book.number + 1:
        raise LedgerError("an entry before it is missing")
    if found != digest(book.digest, content):
        raise LedgerError("its digest does not match its content and the entry before it")


def _check(book: Book, number: int, key: str | None, content: str, found: str) -> None:
    """Fold a line into ``book``; an error if it does not keep the rules."""
    line = line_of(number, content, found)
    if content != write(number, line.at, line.entry):
        raise LedgerError("it is not in the ledger's format")
    if key != (line.entry.key if isinstance(line.entry, Charged) else None):
        raise LedgerError(_OTHER_KEY)
    if isinstance(line.entry, Began) != (number == 1):
        raise LedgerError("an opening entry must be the first")
    try:
        book.apply(line.entry, line.at)
    except BudgetExceeded:
        raise LedgerError("it charges more than was left") from None


def _wrong_sums(session: Session, book: Book) -> list[str]:
    """Accounts and parts that are not what their lines add up to."""
    accounts = {account.name: account for account in all_accounts(session)}
    parts = {(account, part): spent_of(spent) for account, part, spent in session.rows("SELECT * FROM parts")}
    differing = _different(accounts, book.accounts) | {account for account, _ in _different(parts, book.parts)}
    return [f"{name} does not match the sum of its entries" for name in sorted(differing)]


def _different(one: dict[_K, _V], other: dict[_K, _V]) -> set[_K]:
    return {key for key in one.keys() | other.keys() if one.get(key) != other.get(key)}
