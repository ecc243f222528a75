"""Exceptions that discreet raises deliberately.

    DiscreetError
    ├── BadInput            what was given cannot be used as it is
    │   ├── CardError       a data card has problems (all of them, each with its line)
    │   ├── HierarchyError  a hierarchy cannot be built, or does not know a value
    │   ├── DataError       a file or table is not what it, or its card, says
    │   ├── NotFound        no such file, table, column or folder
    │   ├── BadQuery        a question that cannot be asked
    │   └── BadProgram      a program that cannot be read, or uses what cannot be reasoned about
    ├── Refused             privacy says no
    │   ├── NotDeclared     something must be declared that discreet will not take from the data
    │   ├── NoPromise       nothing true can be promised (an unsound composition, a group too large)
    │   ├── Exposed         together with earlier releases it would reveal too much
    │   └── BudgetExceeded  the budget does not cover this
    ├── AccessError         the caller may not do this
    │   ├── NotSignedIn     no one is signed in, or the sign-in failed or is over
    │   ├── NotAllowed      signed in, and not allowed to do this
    │   └── TooMany         too often in too short a time
    ├── Aborted             a computation of several parties ended without a result
    ├── Damaged             a saved release was changed or cannot be read
    ├── LedgerError         a ledger cannot be used, or could not write a charge down
    │   ├── Taken           a key or an account is used for something else already
    │   └── Unsound         a ledger, audit log or register was edited, damaged, cut short or put back from a copy
    ├── EngineError         an engine cannot be reached or could not do its work
    │   ├── Unreachable     nothing answers at that address
    │   └── LoginFailed     it answers, and refuses the sign-in
    └── MissingPart         an optional part is not installed

A message says what happened and what was expected; ``hint`` says what to do. The CLI prints both as one
paragraph. ``BadInput`` and ``EngineError`` are for the holder of the data and may quote it; a ``Refused``
may be shown to anyone, and never does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


class Place(Protocol):
    """Position in a text; line and column count from 1."""

    @property
    def line(self) -> int: ...
    @property
    def column(self) -> int: ...


class DiscreetError(Exception):
    """Base class of all errors of discreet."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()


class BadInput(DiscreetError):
    """Input that cannot be used as it is."""


@dataclass(frozen=True)
class Problem:
    """One problem of a data card: the keys that lead to it, and a description."""

    path: tuple[str, ...]
    what: str
    line: int | None = None

    def __str__(self) -> str:
        place = [f"line {self.line}"] if self.line else []
        place += [".".join(self.path)] if self.path else []
        return f"{', '.join(place)}: {self.what}" if place else self.what


class CardError(BadInput):
    """Problems of a data card, all in ``problems``, in the order of their lines."""

    def __init__(self, source: str, problems: Sequence[Problem], *, hint: str = "") -> None:
        self.source = source
        self.problems = tuple(sorted(problems, key=lambda p: (p.line is None, p.line or 0)))
        count = f"{len(self.problems)} problem{'s' * (len(self.problems) != 1)}"
        lines = "".join(f"\n  {problem}" for problem in self.problems)
        super().__init__(f"{source} has {count}:{lines}", hint=f"\n{hint}" if hint else "")


class HierarchyError(BadInput):
    """A hierarchy cannot be built, or does not know a value."""


class DataError(BadInput):
    """A file or table does not match its format or its card."""


class NotFound(BadInput):
    """No such file, table, column or folder."""


class BadQuery(BadInput):
    """A query that is not supported or not valid. The message quotes the query, never the data."""


class BadProgram(BadInput):
    """A program that cannot be parsed or analysed. ``line`` and ``column`` count from 1."""

    def __init__(self, what: str, at: Place, text: str = "", *, hint: str = "") -> None:
        self.line, self.column = at.line, at.column
        shown = f"\n  {text}\n  {' ' * (at.column - 1)}^\n" if text else ""
        super().__init__(f"Line {at.line}, column {at.column}: {what}{shown}", hint=hint)


class Refused(DiscreetError):
    """Refusal for the sake of privacy. The message never reveals the data."""


class NotDeclared(Refused):
    """A missing declaration that discreet will not taken from the data."""


class NoPromise(Refused):
    """No true statement is possible: an unsound composition, or a group too large for the guarantee."""


class Exposed(Refused):
    """A release would give too much away together with earlier releases of the same people."""


class BudgetExceeded(Refused):
    """The budget does not cover a question. ``asked`` and ``left`` are privacy losses; nothing was charged.

    ``account`` is the one that does not cover it.
    """

    def __init__(self, message: str, *, asked: object, left: object, account: str = "", hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.asked = asked
        self.left = left
        self.account = account


class AccessError(DiscreetError):
    """Access denied. The message may be shown to anyone."""


class NotSignedIn(AccessError):
    """No user is signed in, or the sign-in failed or expired."""


class NotAllowed(AccessError):
    """The signed-in user lacks the right to do this."""


class TooMany(AccessError):
    """Rate limit exceeded; ``wait`` is the number of seconds to wait before trying again."""

    def __init__(self, message: str, *, wait: int, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.wait = wait


class Aborted(DiscreetError):
    """A joint computation ended without a result. ``culprits`` are the parties that were missing or broke the rules.

    Nothing of anyone's value was revealed beyond what the protocol says.
    """

    def __init__(self, message: str, *, culprits: Sequence[str] = (), hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.culprits = tuple(culprits)

    @classmethod
    def missing(cls, parties: Sequence[str], kind: str, *, cut: Sequence[str] = ()) -> Aborted:
        """Error for a session in which parties sent nothing in time; the connection to some is ``cut``."""
        message = f"Nothing came from {', '.join(parties)} in time ({kind})."
        if cut:
            message += f" The connection to {', '.join(cut)} was lost: the network may have failed, not the party."
        return cls(message, culprits=parties)


class Damaged(DiscreetError):
    """A saved release was changed after it was saved."""


class LedgerError(DiscreetError):
    """A ledger cannot be used, or could not record a charge."""


class Taken(LedgerError):
    """A key or account name is already in use for something else."""


class Unsound(LedgerError):
    """A ledger, audit log or register was edited, damaged, truncated or restored from an older copy.

    Nothing was charged, and nothing has left.
    """


class EngineError(DiscreetError):
    """An engine cannot be reached, or failed."""


class Unreachable(EngineError):
    """No server answers at an address."""


class LoginFailed(EngineError):
    """The server at an address rejected the login."""


class MissingPart(DiscreetError):
    """An optional dependency is not installed."""

    def __init__(self, part: str, extra: str) -> None:
        super().__init__(f"{part} is not installed.", hint=f"Run: pip install 'discreet[{extra}]'")
