"""The witness of a chain of lines: how far it had come, in small files outside the database that holds it.

An old copy of a database is sound in itself, and so is one whose last lines were cut off. So the number and the digest
of the last line are kept a second time, in a file ``…-head``. It is written after a commit is durable, and never waited
for: after a crash it may lag behind the database, and it is ahead only if the database lost lines that it had promised
to keep. Whoever opens the database reads this file first, so that lines that others add meanwhile raise no alarm.

A second file, ``…-sums``, says what the lines of a ledger added up to some time ago, so that whoever opens it adds up
only what came since. It saves time and is trusted for nothing else: if it leads to a wrong sum, everything is
added up again.

Whoever may write to the folder can change these files too, or put the whole folder back as it was; against that, only
receipts kept elsewhere help.
"""

from __future__ import annotations

import fcntl
import json
import os
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

from discreet.errors import LedgerError

_RECORD_BYTES = 80


class Witness:
    """The files beside ``path`` that say how far its lines had come. Processes and threads may share them."""

    def __init__(self, path: Path) -> None:
        self._head = Path(f"{path}-head")
        self._sums = Path(f"{path}-sums")
        self._file: int | None = None
        self._turn = threading.Lock()

    def head(self) -> tuple[int, str] | None:
        """Number and digest of the last line that is known to have been written; ``None`` if none is."""
        try:
            with self._head.open("rb") as file:
                fcntl.flock(file, fcntl.LOCK_SH)  # let go of when it is closed
                return _record(file.read(_RECORD_BYTES))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise LedgerError(f"{self._head} cannot be read: {error.strerror}.") from None

    def write(self, number: int, digest: str) -> None:
        """Note a line that is durable. What fails here, or is being written by others, is left to the next line."""
        with self._turn, suppress(OSError):
            if self._file is None:
                self._file = os.open(self._head, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            try:
                known = _record(os.pread(self._file, _RECORD_BYTES, 0))
                if known is None or known[0] < number:
                    os.pwrite(self._file, f"{number:<{_RECORD_BYTES - 66}} {digest}\n".encode(), 0)
            finally:
                fcntl.flock(self._file, fcntl.LOCK_UN)

    def sums(self) -> object:
        """What ``write_sums`` wrote last; ``None`` if that cannot be read."""
        try:
            return json.loads(self._sums.read_bytes())
        except (OSError, ValueError, RecursionError):
            return None

    def write_sums(self, sums: Any) -> None:
        """Note what lines added up to."""
        draft = Path(f"{self._sums}.{os.getpid()}")
        with suppress(OSError):
            handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(sums, file)
            draft.replace(self._sums)

    def close(self) -> None:
        """Let go of the file."""
        with self._turn:
            if self._file is not None:
                os.close(self._file)
            self._file = None


def _record(data: bytes) -> tuple[int, str] | None:
    number, _, digest = data.decode(errors="replace").partition(" ")
    digest = digest.strip()
    return (int(number), digest) if number.isdecimal() and len(digest) == 64 else None
