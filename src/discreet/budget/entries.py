"""The lines of a ledger: what each says, how it is written, and the digest that ties it to those before it."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from dataclasses import dataclass
from typing import Any, TypeAlias

from discreet.budget.filter import Budget
from discreet.core import loss as losses
from discreet.core.document import fields
from discreet.core.loss import Loss
from discreet.core.release import Receipt
from discreet.errors import BadInput

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
    """An account was opened. ``partition`` says what its table is divided by, if parts are charged apart."""

    account: str
    budget: Budget
    partition: str | None = None

    def __post_init__(self) -> None:
        _require_account(self.account)
        if self.partition is not None:
            named(self.partition, "A partition")


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
        named(self.key, "A key")
        _described(self.purpose, "The purpose of a charge")
        if self.part is not None:
            named(self.part, "A part")


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
            raise BadInput(f"Line {self.number} is no charge.")
        return Receipt(charged.account, charged.key, charged.loss, self.number, self.digest, self.at)


def path(account: str) -> tuple[str, ...]:
    """An account and all above it, from the top: "visits/ann" is charged to "visits" too."""
    steps = account.split("/")
    return tuple("/".join(steps[: n + 1]) for n in range(len(steps)))


def digest(before: str, content: str) -> str:
    """The digest of a line with this content after one with that digest."""
    return hashlib.sha256(f"{before}\n{content}".encode()).hexdigest()


def write(number: int, at: dt.datetime, entry: Entry) -> str:
    """A line's content: JSON in one spelling only, so that a digest can be worked out again."""
    said: dict[str, Any] = {"kind": _KINDS[type(entry)], "line": number, "at": at.isoformat(), **vars(entry)}
    return json.dumps(said, sort_keys=True, separators=(",", ":"), default=lambda value: value.to_dict())


def is_filed_under(content: str, key: str | None) -> bool:
    """Whether ``key`` is the key in a content that ``write`` wrote, ``None`` if it has none; without reading all of it.

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
        raise BadInput("this is no line of a ledger") from None
    if type(number) is not int or at.tzinfo is None:
        raise BadInput("its number or its time is not one")
    return number, at, _entry(kind, said)


def named(text: str, what: str) -> str:
    """``text`` if it can name something: short, printable, and without the slash that divides accounts."""
    printable = isinstance(text, str) and text.isprintable()
    if not printable or not 0 < len(text) <= _LONGEST_NAME or text != text.strip():
        raise BadInput(f"{what} needs a name of 1 to {_LONGEST_NAME} printable characters, not {text!r:.80}.")
    return text


def _require_account(name: str) -> None:
    for step in name.split("/") if isinstance(name, str) else [name]:
        named(step, "An account")


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
    raise BadInput(f"a line is began, opened, limited or charged, not {kind!r}")
