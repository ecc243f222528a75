"""Extra metadata allowed in a released table: how far synthetic rows are from the table they were made of.

A table's metadata are no place for anything of people, and anyone who made the table may have left something there. So
one key is kept, and of it only what can be read as a word, numbers, and names of the table's own columns.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

from discreet.core.document import fields, texts
from discreet.errors import BadInput

SYNTHETIC = "discreet.synthetic"
"""Where a file or table of synthetic rows says how they were made."""
_FIELDS = {"by": str, "rows": int, "columns": list, "exact": list, "reach": dict}
_WORD = re.compile(r"[a-z]{1,16}")


def kept(metadata: Mapping[bytes, bytes] | None, columns: Sequence[str]) -> dict[bytes, bytes] | None:
    """Of a table's metadata what may leave with its columns."""
    found = (metadata or {}).get(SYNTHETIC.encode())
    try:
        return None if found is None else {SYNTHETIC.encode(): json.dumps(read(found, columns)).encode()}
    except BadInput:
        return None


def read(written: bytes, columns: Sequence[str] | None = None) -> dict[str, Any]:
    """What is said of synthetic rows, read strictly: ``by``, ``rows``, ``columns``, ``exact``, ``reach``.

    With ``columns``, no other ones are named.
    """
    try:
        said = fields(json.loads(written), SYNTHETIC, **_FIELDS)
    except ValueError:
        raise BadInput(f"{SYNTHETIC} is not JSON.") from None
    names = texts(said["columns"], "columns")
    numbers = [said["rows"], *said["reach"].values()]
    if not all(type(one) in (int, float) and math.isfinite(one) and one >= 0 for one in numbers):
        raise BadInput(f"{SYNTHETIC}: rows and reach must be numbers of at least zero.")
    strange = {*texts(said["exact"], "exact")} - {*names}
    strange |= {*said["reach"]} - {called(one) for one in sets(names)}
    if strange or not (columns is None or {*names} <= {*columns}):
        raise BadInput(f"{SYNTHETIC} names an unknown column.")
    if not _WORD.fullmatch(said["by"]):
        raise BadInput(f"{SYNTHETIC}: by is one word.")
    return said


def sets(columns: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """All columns, and all pairs of them."""
    yield from ((one,) for one in columns)
    yield from combinations(columns, 2)


def called(columns: Sequence[str]) -> str:
    """What a set of columns is called."""
    return " × ".join(columns)
