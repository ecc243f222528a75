"""Words: what a column's name says about what is in it, and how many of something there are."""

from __future__ import annotations

import re
import unicodedata

CODES = frozenset({"zip", "zipcode", "postcode", "postal", "plz", "phone", "telephone", "mobile", "ssn", "iban"})
"""Words for what is written in digits and is no number: nobody adds up zip codes."""


def number(count: int, one: str, many: str | None = None) -> str:
    """A count with its noun: 1 row, 2,000 rows."""
    return f"1 {one}" if count == 1 else f"{count:,} {many or one + 's'}"


def words(name: str) -> frozenset[str]:
    """The words in a column's name, be it ``patient_id``, ``Patient ID`` or ``patientId``, without accents."""
    parted = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name.replace("ß", "ss"))
    plain = unicodedata.normalize("NFKD", parted).encode("ascii", "ignore").decode()
    return frozenset(re.findall(r"[a-z]+", plain.lower()))
