"""Durable journal of one party: its secret, the digest of its input, every message received, and who was late.

With these, playing again from the beginning does exactly what was done before, so a party resumes after a crash by
playing again. Everything that decides what a party says next is on the disk before it says it. A record that a crash
left unfinished is cut off; then the message in it counts as not received and is sent again by its sender.

All draws of the party come from its secret and the digest of its input together, so that two inputs never share a mask,
whatever becomes of the journal. As long as no other party was met, nothing was said that depends on the input, and the
session may be begun again with another.

Which sessions a party began is noted outside of their folders too, beside its key: one whose folder is gone is not
begun again, since no one knows what the party said in it.
"""

from __future__ import annotations

import fcntl
import os
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from discreet._version import __version__
from discreet.core import document
from discreet.core.document import Format, flush_name, owned, private_folder, write
from discreet.errors import Aborted, BadInput, Damaged
from discreet.noise.entropy import SYSTEM
from discreet.noise.stream import Stream
from discreet.verbs.combine.net.frames import SIGNATURE_BYTES, Frame, Signed
from discreet.verbs.combine.net.manifest import Manifest

FORMAT: Format[dict[str, Any]] = Format("journal", unmarked=True)
"""A step is given the first record of a journal."""
SECRET, JOURNAL = "secret", "journal"
_BEGUN, _GOT, _LATE, _ENDED, _OVER, _SETTLED, _DATA_SENT = range(1, 8)
_NEW, _DIGEST = "secret.new", 32
_RECORD = struct.Struct(">IIB")
_FRAME = struct.Struct(">H")
_TRACKS = {"data_sent": "recorded"}
"""In the first record: whether the journal records that something of the data was sent. Older ones did not."""


class Journal:
    """The journal of one party in one session; in ``folder``, which one process at a time may use."""

    def __init__(self, folder: Path, manifest: Manifest, name: str, brought: str, begun: Path | None = None) -> None:
        """``begun`` is the file that notes which sessions this party began, if there is one."""
        private_folder(folder)
        self._handle = os.open(folder / JOURNAL, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        self._pending: list[bytes | bytearray] = []
        self.frames: list[Frame] = []
        """Messages received before, in their order."""
        self.late: dict[int, tuple[str, ...]] = {}
        """Parties that were late, by number of the wait."""
        self.ended: Aborted | None = None
        """How the session ended, if it ended without a result."""
        self.over = False
        """Whether all parties have everything."""
        self._data_sent = False
        self.settled: tuple[bytes, bytes] | None = None
        """Digests of broadcasts and the transcript's chain, as signed at the end; None before."""
        try:
            _lock(self._handle, folder)
            self._begin(folder, manifest, name, brought, begun)
        except BaseException:
            os.close(self._handle)
            raise
        self.key = (folder / SECRET).read_bytes()
        """32 secret bytes of this party in this session."""
        self.secret = Stream(self.key, (manifest.digest, b"draws", brought.encode())).bytes(32)
        """Seed of all its draws: another for another input."""

    def record_message(self, frame: Frame) -> None:
        signed = frame.signed
        self._add(_GOT, _FRAME.pack(len(signed.raw)), signed.raw, signed.signature, frame.body)

    def record_late(self, place: int, late: tuple[str, ...]) -> None:
        """Record the parties that were late at a wait."""
        self._add(_LATE, document.dumps({"place": place, "late": list(late)}).encode())

    def record_abort(self, error: Aborted) -> None:
        """Record that the session ended without a result."""
        ending = {"message": error.message, "culprits": list(error.culprits), "hint": error.hint}
        self._add(_ENDED, document.dumps(ending).encode())
        self.flush()

    def record_settled(self, heard: bytes, head: bytes) -> None:
        """Record what is signed at the end, so that it is the same again after a crash."""
        self.settled = heard, head
        self._add(_SETTLED, head, heard)
        self.flush()

    def record_data_sent(self) -> None:
        """Record, before the first message that depends on the party's data, that there is one from here on."""
        if not self._data_sent:
            self._data_sent = True
            self._add(_DATA_SENT)
            self.flush()

    def record_finished(self) -> None:
        """Record that all parties have everything. If this is lost, nothing is."""
        self._add(_OVER)
        self._write_pending()

    def flush(self) -> None:
        """Make all records durable."""
        if self._pending:
            self._write_pending()
            os.fdatasync(self._handle)

    def close(self) -> None:
        os.close(self._handle)

    def _write_pending(self) -> None:
        _write(self._handle, self._pending)
        self._pending = []

    def _begin(self, folder: Path, manifest: Manifest, name: str, brought: str, noted: Path | None) -> None:
        version = __version__
        begun = {"session": manifest.digest.hex(), "name": name, "brought": brought, "version": version} | _TRACKS
        records = list(self._records())
        if not records:
            if noted and is_begun(noted, manifest):
                raise Damaged(
                    f"{name} started this session before, but its files are no longer in {folder}: it cannot "
                    "resume, because its earlier messages are unknown.",
                    hint="Restore the folder, or agree on a new session (discreet combine new).",
                )
            self._new(folder, begun)
        if noted and not is_begun(noted, manifest):
            _note(noted, manifest)
        if not records:
            return
        if not (folder / SECRET).exists() and (folder / _NEW).exists():  # a crash came between the two
            (folder / _NEW).rename(folder / SECRET)
        if not (folder / SECRET).is_file():
            raise Damaged(f"{folder} has lost its secret: this party cannot continue.", hint="Agree on a new session.")
        first = FORMAT.read(document.loads(records[0][1].decode()), folder)
        agreed = all(first.get(part) == begun[part] for part in ("session", "name", "version"))
        if len(records) == 1 and agreed and first.get("brought") != brought:  # no one was met yet
            os.ftruncate(self._handle, 0)
            self._add(_BEGUN, document.dumps(FORMAT.mark() | begun).encode())
            self.flush()
            return
        for part, what in (
            ("session", "manifest"),
            ("name", "party"),
            ("brought", "input"),
            ("version", "version of discreet"),
        ):
            if first.get(part) != begun[part]:
                raise BadInput(
                    f"{folder} was started with another {what}; a session must be resumed with the same.",
                    hint="Use that one, or agree on a new session (discreet combine new).",
                )
        for kind, data in records[1:]:
            self._replay(kind, data)

    def _new(self, folder: Path, begun: dict[str, str]) -> None:
        """Start a journal: the secret gets its name afterwards, so that a secret alone means a lost journal."""
        if (folder / SECRET).exists():
            raise Damaged(
                f"{folder} has lost its journal: this party cannot resume, because its earlier messages are unknown.",
                hint="Agree on a new session.",
            )
        (folder / _NEW).unlink(missing_ok=True)
        write(folder / _NEW, SYSTEM.bytes(32), private=True)
        self._add(_BEGUN, document.dumps(FORMAT.mark() | begun).encode())
        self.flush()
        flush_name(folder / JOURNAL)
        (folder / _NEW).rename(folder / SECRET)

    def _replay(self, kind: int, data: bytes) -> None:
        match kind:
            case 2:
                [size] = _FRAME.unpack_from(data)
                at = _FRAME.size + size
                signed = Signed(data[_FRAME.size : at], data[at : at + SIGNATURE_BYTES])
                self.frames.append(Frame(signed, data[at + SIGNATURE_BYTES :]))
            case 3:
                record = document.loads(data.decode())
                self.late[record["place"]] = tuple(record["late"])
            case 4:
                ending = document.loads(data.decode())
                self.ended = Aborted(ending["message"], culprits=ending["culprits"], hint=ending["hint"])
            case 5:
                self.over = True
            case 6:
                self.settled = data[_DIGEST:], data[:_DIGEST]
            case 7:
                self._data_sent = True

    def _records(self) -> Iterator[tuple[int, bytes]]:
        at = 0
        for kind, data in _read_records(self._handle):
            at += _RECORD.size + len(data)
            yield kind, data
        os.ftruncate(self._handle, at)

    def _add(self, kind: int, *parts: bytes | bytearray) -> None:
        check = length = 0
        for part in parts:
            check, length = zlib.crc32(part, check), length + len(part)
        self._pending += [_RECORD.pack(length, check, kind), *parts]


def abandon(folder: Path, to: Path) -> None:
    """Give up an attempt at a session that sent nothing of the party's data: its folder is moved ``to`` another name.

    So a party sends what depends on its data in one attempt at most, and one charge pays for all attempts.
    """
    handle = os.open(folder / JOURNAL, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        _lock(handle, folder)
        if _sent_data(handle, folder):
            raise BadInput(
                "This party has already sent messages that depend on its data: this session cannot be tried again.",
                hint="Resume it without --attempt, or agree on a new one (discreet combine new).",
            )
        folder.rename(to)
        flush_name(to)
    finally:
        os.close(handle)


def may_try_again(folder: Path) -> bool:
    """Whether nothing that depends on the party's data was sent in the session of this folder."""
    handle = os.open(folder / JOURNAL, os.O_RDONLY)
    try:
        return not _sent_data(handle, folder)
    finally:
        os.close(handle)


def _sent_data(handle: int, folder: Path) -> bool:
    """Whether a message that depends on the data may have been sent: also if the journal is lost, or does not say."""
    records = list(_read_records(handle))
    if not records:
        return (folder / SECRET).exists()
    tracks = _TRACKS.items() <= document.loads(records[0][1].decode()).items()
    return not tracks or any(kind == _DATA_SENT for kind, _ in records)


def _lock(handle: int, folder: Path) -> None:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise BadInput(f"Another process is running this session in {folder}.") from None


def _read_records(handle: int) -> Iterator[tuple[int, bytes]]:
    """The whole records of a journal, by kind."""
    size, at = os.fstat(handle).st_size, 0
    while at + _RECORD.size <= size:
        length, check, kind = _RECORD.unpack(os.pread(handle, _RECORD.size, at))
        at += _RECORD.size
        if at + length > size:
            return
        data = os.pread(handle, length, at)
        if zlib.crc32(data) != check or not kind:
            return
        at += length
        yield kind, data


def is_begun(file: Path, manifest: Manifest) -> bool:
    """Whether the file beside a party's key notes that it began this session."""
    return file.is_file() and manifest.digest.hex() in file.read_text().split()


def _note(file: Path, manifest: Manifest) -> None:
    """Note durably that a session was begun, before anything is sent in it."""
    with open(file, "ab", buffering=0, opener=owned) as handle:
        handle.write(f"{manifest.digest.hex()}\n".encode())
        os.fsync(handle.fileno())
    flush_name(file)


def _write(handle: int, parts: list[Any]) -> None:
    for start in range(0, len(parts), _MOST_PARTS):
        some = [memoryview(part) for part in parts[start : start + _MOST_PARTS] if len(part)]
        while some:
            done = os.writev(handle, some)
            while some and done >= len(some[0]):
                done -= len(some.pop(0))
            if some:
                some[0] = some[0][done:]


_MOST_PARTS = 512
