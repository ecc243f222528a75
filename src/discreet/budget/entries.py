"""Entries of a ledger: content and spelling of each line, and the rules for which lines may be written."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, TypeAlias, cast

from discreet.budget.filter import Budget, Spent
from discreet.budget.period import first_day, period_number
from discreet.budget.store import digest
from discreet.core import loss as losses
from discreet.core.document import fields
from discreet.core.exact import equation
from discreet.core.loss import Approximate, Concentrated, Loss, Pure, Renyi
from discreet.core.release import Receipt
from discreet.errors import BadInput, BudgetExceeded, LedgerError, NoPromise, NotFound, Taken

START = "0" * 64
"""The digest before the first line."""
_LONGEST_NAME = 200
_LONGEST_TEXT = 20_000


@dataclass(frozen=True)
class Began:
    """The first line of a ledger, with the format version it was created in."""

    format: int = 1


@dataclass(frozen=True)
class Opened:
    """An account was opened. ``partition`` names the column that divides its table, if parts are charged apart."""

    account: str
    budget: Budget
    partition: str | None = None

    def __post_init__(self) -> None:
        _require_account(self.account)
        if self.partition is not None:
            require_name(self.partition, "A partition")


@dataclass(frozen=True)
class Limited:
    """An account was given another limit, and why."""

    account: str
    budget: Budget
    why: str

    def __post_init__(self) -> None:
        _require_account(self.account)
        _described(self.why, "The reason for a limit")


@dataclass(frozen=True)
class Charged:
    """A loss was charged to an account and to all above it."""

    account: str
    loss: Loss
    key: str
    purpose: str
    part: str | None = None

    def __post_init__(self) -> None:
        _require_account(self.account)
        if not isinstance(self.loss, Loss):
            raise BadInput(f"A charge needs a privacy loss, not {self.loss!r:.80}.", hint="Such as Pure(0.1).")
        require_name(self.key, "A key")
        _described(self.purpose, "The purpose of a charge")
        if self.part is not None:
            require_name(self.part, "A part")


Entry: TypeAlias = Began | Opened | Limited | Charged


@dataclass(frozen=True)
class Line:
    """A line of a ledger. ``digest`` is the SHA-256 of the digest before it and the line's own content."""

    number: int
    at: dt.datetime
    entry: Entry
    digest: str

    @property
    def receipt(self) -> Receipt:
        """The receipt for a charge."""
        charged = self.entry
        if not isinstance(charged, Charged):
            raise BadInput(f"Entry {self.number} is not a charge.")
        return Receipt(charged.account, charged.key, charged.loss, self.number, self.digest, self.at)


def path(account: str) -> tuple[str, ...]:
    """An account and all above it, from the top: "visits/ann" is charged to "visits" too."""
    steps = account.split("/")
    return tuple("/".join(steps[: n + 1]) for n in range(len(steps)))


def write(number: int, at: dt.datetime, entry: Entry) -> str:
    """A line's content: JSON in one spelling only, so that a digest can be worked out again."""
    said: dict[str, Any] = {"kind": _KINDS[type(entry)], "line": number, "at": at.isoformat(), **vars(entry)}
    return json.dumps(said, sort_keys=True, separators=(",", ":"), default=lambda value: value.to_dict())


def is_filed_under(content: str, key: str | None) -> bool:
    """Whether a line's content has this key (``None``: it has none), without reading all of it.

    Quotation marks inside of texts are escaped, so what is looked for stands nowhere else.
    """
    if key is None:
        return '"kind":"charged"' not in content
    return f',"key":{json.dumps(key)},"kind":"charged"' in content


def read(content: str) -> tuple[int, dt.datetime, Entry]:
    """What ``write`` wrote, read back strictly."""
    try:
        said = json.loads(content)
        kind = said.pop("kind")
        number, at = said.pop("line"), dt.datetime.fromisoformat(said.pop("at"))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise BadInput("this is not a ledger entry") from None
    if type(number) is not int or at.tzinfo is None:
        raise BadInput("its number or its time is invalid")
    return number, at, _entry(kind, said)


def require_name(text: str, what: str) -> str:
    """``text`` if it can name something: short, printable, and without the slash that divides accounts."""
    printable = isinstance(text, str) and text.isprintable()
    if not printable or not 0 < len(text) <= _LONGEST_NAME or text != text.strip():
        raise BadInput(f"{what} needs a name of 1 to {_LONGEST_NAME} printable characters, not {text!r:.80}.")
    return text


def _require_account(name: str) -> None:
    for step in name.split("/") if isinstance(name, str) else [name]:
        require_name(step, "An account")


def _described(text: str, what: str) -> None:
    if not isinstance(text, str) or len(text) > _LONGEST_TEXT:
        raise BadInput(f"{what} must be a text of at most {_LONGEST_TEXT:,} characters.", hint="Shorten it.")


_KINDS: dict[type, str] = {Began: "began", Opened: "opened", Limited: "limited", Charged: "charged"}


def _entry(kind: object, said: object) -> Entry:
    what, maybe = f"a line of kind {kind!r}", str | None
    match kind:
        case "began":
            return Began(**fields(said, what, format=int))
        case "opened":
            data = fields(said, what, account=str, budget=dict, partition=maybe)
            return Opened(**data | {"budget": Budget.from_dict(data["budget"])})
        case "limited":
            data = fields(said, what, account=str, budget=dict, why=str)
            return Limited(**data | {"budget": Budget.from_dict(data["budget"])})
        case "charged":
            data = fields(said, what, account=str, loss=dict, key=str, purpose=str, part=maybe)
            return Charged(**data | {"loss": losses.from_dict(data["loss"])})
    raise BadInput(f"an entry is of the kind began, opened, limited or charged, not {kind!r}")


@dataclass(frozen=True)
class Account:
    """A budget and what has been spent of it.

    Why this is private: a unit lies in one part, so it has lost what was spent on everyone and what was
    spent on its own part, and no more than ``whole`` and ``peak`` together (parallel composition; McSherry
    2009). Charges to other parts lose it nothing, whatever they were chosen by.

    Of a budget that renews, ``whole`` and ``peak`` are those of the present period, and ``past`` is what earlier ones
    add up to: of every one the ``total``, which is never less than what any unit lost in it (``filter.py`` has the
    argument for periods). ``period`` only grows: a time before the present period counts as in it, so no clock makes
    a period begin again.
    """

    name: str
    budget: Budget
    partition: str | None
    """What the table is divided by, where every unit lies in exactly one part."""
    whole: Spent
    """What was spent on everyone."""
    peak: Spent
    """What was spent on any one part at most."""
    period: int = 0
    """The period that it is in, if its budget renews (``period.py``); else 0."""
    past: Spent | None = None
    """What was spent in earlier periods; ``None`` if there was none."""

    @property
    def total(self) -> Spent:
        """Largest loss of any person, in the accountant's own terms; of one period, if the budget renews."""
        return self.budget.join(self.whole, self.peak)

    @property
    def spent(self) -> Loss:
        """Largest loss of any person, in the terms of the limit; of one period, if the budget renews."""
        return self.budget.restated(self.total)

    @property
    def spent_ever(self) -> Loss:
        """Largest loss of any person in all periods together, in the terms of the limit, or of the lifetime cap."""
        return (self.budget.lifetime or self.budget).restated(self.budget.join(self._past, self.total))

    @property
    def left(self) -> Loss:
        """What may still be charged to everyone, in this period if the budget renews."""
        return self.budget.left(self.total, self.ceiling)

    @property
    def left_ever(self) -> Loss | None:
        """What the lifetime cap leaves of a budget that renews; ``None`` without a cap."""
        lifetime = self.budget.lifetime
        return None if lifetime is None else lifetime.left(self.budget.join(self._past, self.total))

    @property
    def began(self) -> dt.date | None:
        """The first day of the present period; ``None`` if the budget does not renew."""
        return first_day(self.budget.renews, self.period) if self.budget.renews else None

    @property
    def renewal(self) -> dt.date | None:
        """The first day of the next period; ``None`` if the budget does not renew, or if the calendar ends before."""
        return first_day(self.budget.renews, self.period + 1) if self.budget.renews else None

    @property
    def ceiling(self) -> Spent:
        """What may be spent until the budget renews, if it does, or ever."""
        return self.budget.restricted(self._past)

    def admits(self, loss: Loss) -> bool:
        """Whether ``loss`` may still be charged to everyone."""
        return self.budget.admits(self.total, loss, self.ceiling)

    def as_of(self, at: dt.datetime) -> Account:
        """The account at a time: in a new period if one has begun since, and never in an earlier one."""
        budget = self.budget
        if budget.renews is None or (now := period_number(budget.renews, at)) <= self.period:
            return self
        past = budget.join(self._past, self.total)
        return replace(self, whole=budget.nothing, peak=budget.nothing, period=now, past=past)

    def with_budget(self, budget: Budget, at: dt.datetime) -> Account:
        """The account under another budget of its kind. What was spent counts: in the present period, if there is one.

        With periods from now on, what was spent before is spent in the first of them; without periods from now on, all
        that was ever spent counts against the limit.
        """
        past, whole, period = self.past, self.whole, self.period
        if budget.renews is None:
            past, whole, period = None, budget.join(self._past, self.whole), 0
        elif budget.renews != self.budget.renews:
            period = period_number(budget.renews, at)
        return replace(self, budget=budget, whole=whole, period=period, past=past)

    @property
    def _past(self) -> Spent:
        return self.budget.nothing if self.past is None else self.past


@dataclass
class Book:
    """The part of a ledger that a transaction has read, and the lines that it is going to write."""

    number: int = 0
    digest: str = START
    accounts: dict[str, Account] = field(default_factory=dict)
    parts: dict[tuple[str, str], Spent] = field(default_factory=dict)
    """What was spent on one part, by account and part."""
    charged: dict[str, Line] = field(default_factory=dict)
    """The charges found under the keys that are asked about."""
    written: list[tuple[Line, str]] = field(default_factory=list)

    def post(self, entry: Entry, at: dt.datetime) -> Line | None:
        """Write ``entry`` down if the rules allow it. ``None`` if that account is open already, with the same limit."""
        if isinstance(entry, Charged) and (found := self.charged.get(entry.key)):
            return _repeated(found, entry)
        if isinstance(entry, Opened) and (account := self.accounts.get(entry.account)):
            _require_same(account, entry)
            return None
        self.apply(entry, at)
        content = write(self.number + 1, at, entry)
        line = Line(self.number + 1, at, entry, digest(self.digest, content))
        self.number, self.digest = line.number, line.digest
        if isinstance(entry, Charged):
            self.charged[entry.key] = line
        self.written.append((line, content))
        return line

    def apply(self, entry: Entry, at: dt.datetime) -> None:
        """Fold ``entry``, of a line of that time, into the accounts; an error leaves them as they were."""
        match entry:
            case Began():
                if self.number:
                    raise LedgerError("A ledger has one opening entry.")
            case Opened():
                self._open(entry, at)
            case Limited():
                self._limit(entry, at)
            case Charged():
                self._charge(entry, at)

    def _open(self, entry: Opened, at: dt.datetime) -> None:
        if entry.account in self.accounts:
            raise LedgerError(f"The account {entry.account} already exists.")
        for name in path(entry.account)[:-1]:
            self._account(name)
        _require_no_periods(entry.budget, entry.partition)
        nothing, renews = entry.budget.nothing, entry.budget.renews
        period = period_number(renews, at) if renews else 0
        self.accounts[entry.account] = Account(entry.account, entry.budget, entry.partition, nothing, nothing, period)

    def _limit(self, entry: Limited, at: dt.datetime) -> None:
        account = self._account(entry.account).as_of(at)
        _require_no_periods(entry.budget, account.partition)
        if account.budget.nothing != entry.budget.nothing:
            raise BadInput(
                f"The account {account.name} is accounted as {account.budget.ceiling.core}; a limit of "
                f"{entry.budget} has another kind or other orders.",
                hint="Give a limit of the same kind.",
            )
        self.accounts[account.name] = account.with_budget(entry.budget, at)

    def _charge(self, entry: Charged, at: dt.datetime) -> None:
        """All accounts on the path are charged, or none."""
        accounts = [self._account(name).as_of(at) for name in path(entry.account)]
        changed, refusals = [], []
        for account in accounts:
            try:
                changed.append(self._after_charge(account, entry))
            except BudgetExceeded as refusal:
                refusals.append(refusal)
        if refusals:
            raise tightest_refusal(refusals)
        for account, on_part in changed:
            self.accounts[account.name] = account
            if entry.part is not None:
                self.parts[account.name, entry.part] = on_part

    def _after_charge(self, account: Account, entry: Charged) -> tuple[Account, Spent]:
        """``account`` after the charge, and what will have been spent on the part, if it is to one."""
        on_part = account.budget.nothing
        if entry.part is None:
            after = replace(account, whole=account.budget.add(account.whole, entry.loss))
        elif account.partition is None:
            raise BadInput(
                f"The account {account.name} has no parts.",
                hint="Charge it as a whole, or open an account with a partition.",
            )
        else:
            on_part = account.budget.add(self._spent_on(account, entry.part), entry.loss)
            after = replace(account, peak=account.budget.peak(account.peak, on_part))
        if not account.budget.covers(after.total, account.ceiling):
            spent = account.total
            if entry.part is not None:
                spent = account.budget.join(account.whole, self._spent_on(account, entry.part))
            raise budget_refusal(account, spent, entry.loss)
        return after, on_part

    def _spent_on(self, account: Account, part: str) -> Spent:
        return self.parts.get((account.name, part), account.budget.nothing)

    def _account(self, name: str) -> Account:
        if name not in self.accounts:
            raise NotFound(f"There is no account {name!r}.", hint="Open it with a budget of its own first.")
        return self.accounts[name]


def budget_refusal(account: Account, spent: Spent, asked: Loss) -> BudgetExceeded:
    """The error for a loss that an account's budget does not cover."""
    left = account.budget.room(spent, asked, account.ceiling)
    day, wait = account.renewal, ""
    if day and account.as_of(dt.datetime.combine(day, dt.time(), dt.UTC)).admits(asked):
        wait = f", wait until it renews on {day} (UTC)"
    return BudgetExceeded(
        f"The budget of {account.name} does not cover this: {asked} was asked, {left} is left of "
        f"{account.budget}. Nothing was charged.",
        asked=asked,
        left=left,
        account=account.name,
        hint=f"Ask for less{wait}, or have the holder of the data raise the limit.",
    )


def tightest_refusal(refusals: Sequence[BudgetExceeded]) -> BudgetExceeded:
    """The refusal with the least budget left: no account refuses a loss that fits into that.

    They come from the table's account down to the analyst's own, which is named if they leave the same.
    """
    return min(reversed(refusals), key=lambda one: _size(cast("Loss", one.left)))


def limit_warnings(account: Account, budget: Budget) -> list[str]:
    """Warnings of surprising effects of a new limit, before an account gets it."""
    said = []
    was, now = account.budget.limit, budget.limit
    if isinstance(was, Approximate) and was.delta and (not isinstance(now, Approximate) or not now.delta):
        said.append(
            f"the limit had {equation('δ', was.delta)}, and would have none: questions that need a δ would be refused"
        )
    if account.budget.nothing == budget.nothing:
        changed = account.with_budget(budget, dt.datetime.now(dt.UTC))
        if not budget.covers(changed.total, changed.ceiling):
            said.append(f"more was already spent ({changed.spent}): no further question would be answered")
    if budget.renews and not budget.lifetime and not (account.budget.renews and not account.budget.lifetime):
        said.append("nothing would limit all periods together")
    return said


def is_above(own: Budget, whole: Budget) -> bool:
    """Whether an analyst's budget is larger than that of the table above it, as far as the two compare."""
    try:
        larger = not whole.admits(whole.nothing, own.limit)
    except NoPromise:
        return False
    return larger or (own.renews is not None and whole.renews is None)


def _size(loss: Loss) -> tuple[Fraction, Fraction]:
    match loss:
        case Pure(epsilon=epsilon):
            return epsilon, Fraction(0)
        case Approximate(epsilon=epsilon, delta=delta):
            return epsilon, delta
        case Concentrated(rho=rho):
            return rho, Fraction(0)
        case Renyi(curve=curve):
            return min(epsilon for _, epsilon in curve), Fraction(0)


def _require_no_periods(budget: Budget, partition: str | None) -> None:
    if budget.renews and partition is not None:
        raise BadInput("The budget of an account with parts cannot renew.", hint="Give a limit without a period.")


def _repeated(found: Line, entry: Charged) -> Line:
    if found.entry == entry:
        return found
    raise Taken(
        f"The key {entry.key!r} was used for another charge, in entry {found.number}.",
        hint="A key identifies one request: repeat it unchanged, or choose a new key.",
    )


def _require_same(account: Account, entry: Opened) -> None:
    if (account.budget, account.partition) != (entry.budget, entry.partition):
        raise Taken(
            f"The account {account.name} already exists, with a budget of {account.budget}.",
            hint="To change its limit: discreet budget limit, or set_limit of the ledger.",
        )
