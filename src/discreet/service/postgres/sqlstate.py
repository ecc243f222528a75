"""Errors in the protocol: SQLSTATE, message and hint, in the words of the API."""

from __future__ import annotations

from discreet.errors import (
    BadInput,
    BadQuery,
    BudgetExceeded,
    Damaged,
    DiscreetError,
    LedgerError,
    NotAllowed,
    NotFound,
    NotSignedIn,
    Refused,
    TooMany,
)
from discreet.service.postgres import messages

_CODES: tuple[tuple[type[DiscreetError], str], ...] = (
    (BudgetExceeded, "53400"),
    (Refused, "42501"),
    (BadQuery, "0A000"),
    (NotFound, "42704"),
    (BadInput, "22023"),
    (NotSignedIn, "28000"),
    (NotAllowed, "42501"),
    (TooMany, "53000"),
    (LedgerError, "58000"),
    (Damaged, "58000"),
    (DiscreetError, "XX000"),
)
"""The first that fits."""
_UNREADABLE, _UNKNOWN_TABLE = "The SQL cannot be parsed", "There is no table"


def code_of(error: DiscreetError) -> str:
    """The SQLSTATE of an error."""
    if isinstance(error, BadQuery) and error.message.startswith(_UNREADABLE):
        return "42601"
    if isinstance(error, BadInput) and error.message.startswith((_UNKNOWN_TABLE, "There is no relation")):
        return "42P01"
    return next(code for kind, code in _CODES if isinstance(error, kind))


def error_message(error: DiscreetError, severity: str = "ERROR") -> bytes:
    """An error as a message."""
    return messages.error(severity, code_of(error), error.message, error.hint.strip())
