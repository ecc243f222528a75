"""The witness of a chain of lines: how far it had come, in small files outside the database that holds it.

An old copy of a database is sound in itself, and so is one whose last lines were cut off. So the number and the digest
of the last line are kept a second time, in a file ``…-head``. It is written after a commit is durable, not waited for,
and not after every line: it may lag behind the database, and it is ahead only if the database lost lines that it had
promised to keep. Whoever opens the database reads this file first, so that lines that others add meanwhile raise no
alarm.

A second file, ``…-sums``, says what the lines of a ledger added up to some time ago, so that whoever opens it adds up
only what came since. It saves time: if it leads to a wrong sum, everything is added up again. Whoever forges it
together with the accounts is found by ``budget verify``, which adds up everything.

Whoever may write to the folder can change these files too, or put the whole folder back as it was; against that, only
receipts kept elsewhere help.
"""

from __future__ import annotations

import json
import os
import threading
import time
from contextlib import suppress
from math import inf
from pathlib import Path
from typing import Any
from zlib import crc32

from discreet.errors import LedgerError

_READINGS = 100
"""How often a record is read that another process may be writing, before it is taken for none."""


class Witness:
    """The files beside ``path`` that say how far its lines had come. Processes and threads may share them."""

    def __init__(self, path: Path) -> None:
        self._head = Path(f"{path}-head")
        self._sums = Path(f"{path}-sums")
        self._file: int | None = None
        self._turn = threading.Lock()
        self._waiting: tuple[int, str] | None = None
        self._written = -inf

    def head(self) -> tuple[int, str] | None:
        """Number and digest of the last line that is known to have been written; ``None`` if none is."""
        for _ in range(_READINGS):
            try:
                data = self._head.read_bytes()
            except FileNotFoundError:
                return None
            except OSError as error:
                raise LedgerError(f"{self._head} cannot be read: {error.strerror}.") from None
            if (found := _read(data)) is not None:
                return found
        return None

    def write(self, number: int, digest: str, *, pause: float = 0.0) -> None:
        """Note a line that is durable. Within ``pause`` seconds of another, it waits for the next, or for the end."""
        with self._turn:
            self._waiting = (number, digest)
            if time.monotonic() >= self._written + pause:
                self._flush()

    def _flush(self) -> None:
        with suppress(OSError):  # what fails is left to the next line
            if self._file is None:
                self._file = os.open(self._head, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            known = _read(os.pread(self._file, 1000, 0))
            if self._waiting is not None and (known is None or known[0] < self._waiting[0]):  # others write, too
                os.pwrite(self._file, _record(*self._waiting), 0)
        self._waiting = None
        self._written = time.monotonic()

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
            if self._waiting is not None:
                self._flush()
            if self._file is not None:
                os.close(self._file)
            self._file = None


def _record(number: int, digest: str) -> bytes:
    """A record of one length, with a sum by which one that is half written is known."""
    said = f"{number:010} {digest} "
    return f"{said}{crc32(said.encode()):08x}".encode()


def _read(data: bytes) -> tuple[int, str] | None:
    number, digest = (*data.decode(errors="replace").split(" "), "", "")[:2]
    return (int(number), digest) if number.isdecimal() and data == _record(int(number), digest) else None
