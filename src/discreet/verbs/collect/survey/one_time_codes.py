"""One-time codes, and a file that says which were used and not in which order."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable
from pathlib import Path

from discreet.core.document import flush_name, write
from discreet.errors import BadInput, DataError, NotAllowed, NotFound

_HASH_DIGITS = 64
_LINE_BYTES = _HASH_DIGITS + len(" x\n")


def read_codes(path: Path) -> frozenset[str]:
    """Read one-time codes, one a line."""
    try:
        codes = frozenset(path.read_text(encoding="utf-8").split())
    except FileNotFoundError:
        raise NotFound(f"There is no list of codes at {path}.", hint="Make one: discreet collect new --codes") from None
    if not codes:
        raise BadInput(f"There is no code in {path}.")
    return codes


class OneTimeCodes:
    """One-time codes and which of them were used.

    The file has their hashes, sorted, each with a mark that it was used. A mark is put where it belongs and no line is
    ever moved or added: so the file does not say who came first, and cannot be laid beside reports, which do come in an
    order.
    """

    def __init__(self, path: Path, codes: Iterable[str]) -> None:
        self._used = _used(path) if path.exists() else set()
        every = sorted(self._used | set(map(_hashed, codes)))
        new = path.with_name(f".{path.name}.new")
        new.unlink(missing_ok=True)
        write(new, "".join(f"{one} {'x' if one in self._used else '-'}\n" for one in every).encode())
        new.replace(path)
        flush_name(path.absolute())
        self._places = {one: index for index, one in enumerate(every)}
        self._owed: dict[str, str] = {}
        self._file = path.open("r+b", buffering=0)

    def use(self, code: str, report: str) -> None:
        """Mark a code as used by a report, on the disk, unless another report used it.

        Until the report is ``forget_report`` it may come again, should the disk have been full.
        """
        hashed = _hashed(code)
        if hashed not in self._places:
            raise NotAllowed("This code is not on the list.", hint="Is it written as it was given to you?")
        if hashed in self._used and self._owed.get(report) != hashed:
            raise NotAllowed("This code has been used.", hint="Each counts once.")
        self._used.add(hashed)
        self._owed[report] = hashed
        os.pwrite(self._file.fileno(), b"x", self._places[hashed] * _LINE_BYTES + _HASH_DIGITS + 1)
        os.fsync(self._file.fileno())

    def forget_report(self, report: str) -> None:
        """Forget which code a report came with, once the report is on the disk."""
        self._owed.pop(report, None)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _used(path: Path) -> set[str]:
    text = path.read_text(encoding="utf-8", errors="replace")
    if not re.fullmatch(rf"([0-9a-f]{{{_HASH_DIGITS}}} [-x]\n)*", text):
        raise DataError(f"{path.name} does not say which codes were used.", hint="Restore it from a backup.")
    return {line[:_HASH_DIGITS] for line in text.splitlines() if line.endswith("x")}


def _hashed(code: str) -> str:
    return hashlib.sha256(code.encode("utf-8", "surrogatepass")).hexdigest()
