"""What a column's name says about what is in it."""

from __future__ import annotations

import re

CODES = frozenset({"zip", "zipcode", "postcode", "postal", "plz", "phone", "telephone", "mobile", "ssn", "iban"})
"""Words for what is written in digits and is no number: nobody adds up zip codes."""


def words(name: str) -> frozenset[str]:
    """The words in a column's name, be it ``patient_id``, ``Patient ID`` or ``patientId``."""
    return frozenset(re.findall(r"[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()))
