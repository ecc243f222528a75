"""Words: what a column's name says about what is in it, how many of something there are, what was meant."""

from __future__ import annotations

import datetime as dt
import re
import unicodedata
from collections.abc import Iterable
from decimal import Decimal
from difflib import get_close_matches

CODES = frozenset({"zip", "zipcode", "postcode", "postal", "plz", "phone", "telephone", "mobile", "ssn", "iban"})
"""Words for what is written in digits and is no number: no one adds up zip codes."""
_LONG = 10_000


def number(count: int, one: str, many: str | None = None) -> str:
    """A count with its noun: 1 row, 2,000 rows."""
    return f"1 {one}" if count == 1 else f"{count:,} {many or one + 's'}"


def bound(value: object, edge: dt.time) -> str:
    """A bound as people read it: 500,000 and not 500000.0; a moment at the ``edge`` of a day as that day."""
    if isinstance(value, dt.datetime):
        return str(value.date() if value.time() == edge and value.tzinfo is None else value)
    if isinstance(value, int | float | Decimal):
        shown = int(value) if value == int(value) else value
        return str(shown) if -_LONG < value < _LONG else f"{shown:,}"  # what is short may be a year
    return str(value)


def meant(said: str, known: Iterable[str]) -> str:
    """What to add behind a name that is not known, if one of the ``known`` ones is close; else nothing."""
    near = get_close_matches(said, list(known), 1)
    return f" (did you mean {near[0]!r}?)" if near else ""


def words(name: str) -> frozenset[str]:
    """The words in a column's name, be it ``patient_id``, ``Patient ID`` or ``patientId``, without accents."""
    parted = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name.replace("ß", "ss"))
    plain = unicodedata.normalize("NFKD", parted).encode("ascii", "ignore").decode()
    return frozenset(re.findall(r"[a-z]+", plain.lower()))
