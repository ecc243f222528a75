"""Transcript of one party: a line for each message sent or received, chained by digests.

A line has no body, only its digest and the signed header. Bodies are sealed or have a salt, so that a digest says
nothing about them and the transcript may be shown to others. A line that says someone sent something has that party's
signature. In the message with which it settles, a party signs the chain up to there: nothing before can be changed or
left out later without another signature, and the others have the first one. A session that did not come so far has
only the chain, which anyone who has the folder could make anew. What the party itself saw, in words, is in a file
beside it that only its owner can read.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import UnionType

from discreet.core import document
from discreet.core.document import owned
from discreet.errors import BadInput, Damaged
from discreet.verbs.combine.effects import Body
from discreet.verbs.combine.net.frames import SETTLED, Signed, decode_body
from discreet.verbs.combine.transcript import TranscriptEntry, describe_body, single_number

TRANSCRIPT, SEEN = "transcript.jsonl", "seen.jsonl"
HEAD = "transcript"
"""Field of the settling message that holds the chain so far."""
_MAX_LINE_LETTERS = 200_000
"""Longest line, characters."""
_CHAIN_FIELD = ', "chain": "'
_TRUTH = ("false", "true")


@dataclass(frozen=True)
class TranscriptLine:
    """One message in a party's transcript."""

    number: int
    """Number among the sender's messages."""
    at: float
    """Time by the party's own clock, seconds since 1970."""
    sent: bool
    peer: str
    """Sender, or receivers: a name, names with commas, or ``all``."""
    kind: str
    digest: str
    """SHA-256 of the body as it was sent, in hexadecimal."""
    size: int
    previous: str
    """Chain before this line; before the first line, the session's digest."""
    chain: str
    """Chain with this line."""
    header: bytes
    signature: bytes
    shown: bytes = b""
    """Body of the party's own settling message."""

    @property
    def signed(self) -> Signed:
        """Signed header, which can be shown to others as proof."""
        return Signed(self.header, self.signature)


class TranscriptLog:
    """Transcript of one party, to which messages are appended."""

    def __init__(self, folder: Path, session: bytes) -> None:
        self._folder, self._chain = folder, session.hex()
        self.sent: dict[int, bytes] = {}
        """Headers of messages sent, by number."""
        self.got: set[tuple[str, int]] = set()
        """Sender and number of messages received."""
        _remove_unfinished(folder / TRANSCRIPT)
        _remove_unfinished(folder / SEEN)
        if (folder / TRANSCRIPT).exists():
            for line in read_transcript(folder, session):
                self._chain = line.chain
                if line.sent:
                    self.sent[line.number] = line.header
                else:
                    self.got.add((line.peer, line.number))
        self._files = [_append(folder / TRANSCRIPT), _append(folder / SEEN)]
        self._lines: tuple[list[str], list[str]] = ([], [])

    @property
    def head(self) -> bytes:
        """Chain including all lines."""
        return bytes.fromhex(self._chain)

    def add(self, signed: Signed, body: Body, *, sent: bool, shown: bytes = b"") -> None:
        """Append a message, unless it is there already; ``shown`` is its body, if it may be seen by all."""
        header = signed.header
        if sent:
            if header.number in self.sent:
                return
            self.sent[header.number] = signed.raw
        elif (header.of, header.number) in self.got:
            return
        else:
            self.got.add((header.of, header.number))
        peer = header.of if not sent else ",".join(header.to) or "all"
        kind = json.dumps(header.kind)
        text = (
            f'{{"number": {header.number}, "at": {time.time():.3f}, "sent": {_TRUTH[sent]}, "peer": "{peer}", '
            f'"kind": {kind}, "digest": "{header.digest.hex()}", "size": {header.size}, "previous": "{self._chain}", '
            f'"header": "{_text(signed.raw)}", "signature": "{_text(signed.signature)}", '
            f'"shown": "{_text(shown)}"'
        )
        self._chain = hashlib.sha256(text.encode()).hexdigest()
        self._lines[0].append(f'{text}{_CHAIN_FIELD}{self._chain}"}}\n')
        self._lines[1].append(
            f'{{"number": {header.number}, "of": "{header.of}", "to": {json.dumps(header.to)}, "kind": {kind}, '
            f'"what": {json.dumps(describe_body(body))}, "sealed": {_TRUTH[header.sealed]}, '
            f'"short": "{single_number(body)}"}}\n'
        )

    def flush(self, *, to_disk: bool = False) -> None:
        """Write pending lines to the files; with ``to_disk``, make the transcript durable."""
        for handle, lines in zip(self._files, self._lines, strict=True):
            if lines:
                os.write(handle, "".join(lines).encode())
                lines.clear()
        if to_disk:
            os.fdatasync(self._files[0])

    def close(self) -> None:
        for handle in self._files:
            os.close(handle)
        self._files = []


def read_transcript(folder: Path, session: bytes | None = None) -> Iterator[TranscriptLine]:
    """Read a party's transcript; Damaged at the first line that breaks the chain."""
    before = session.hex() if session else None
    chains = set()
    with (folder / TRANSCRIPT).open(encoding="utf-8") as file:
        for place, text in enumerate(iter(lambda: file.readline(_MAX_LINE_LETTERS), ""), 1):
            line = _line(text, f"Line {place} of {folder / TRANSCRIPT}")
            if before is not None and line.previous != before:
                raise Damaged(f"Line {place} of {folder / TRANSCRIPT} does not follow from the line before.")
            before = line.chain
            chains.add(line.previous)
            if line.sent and line.kind == SETTLED and _head(line) not in chains:
                raise Damaged(f"{folder / TRANSCRIPT} is not the one that was signed in line {place}.")
            yield line


def read_view(folder: Path, parties: tuple[str, ...]) -> tuple[TranscriptEntry, ...]:
    """Read what a party of a session among ``parties`` saw, as transcript entries."""
    entries = []
    for text in (folder / SEEN).read_text(encoding="utf-8").splitlines():
        data = document.loads(text)
        known = isinstance(data, dict)
        if not known or any(not isinstance(data.get(name), kind) for name, kind in _VIEW_FIELDS.items()):
            raise Damaged(f"{folder / SEEN} was changed.")
        to = document.texts(data["to"], SEEN) or tuple(party for party in parties if party != data["of"])
        entries.append(TranscriptEntry(**{**{name: data[name] for name in _VIEW_FIELDS}, "to": to}))
    return tuple(entries)


_VIEW_FIELDS = {"number": int, "of": str, "to": list, "kind": str, "what": str, "sealed": bool, "short": str}


def _line(text: str, where: str) -> TranscriptLine:
    try:
        data = document.fields(document.loads(text), where, **_LINE_FIELDS)
        if hashlib.sha256(text.rpartition(_CHAIN_FIELD)[0].encode()).hexdigest() != data["chain"]:
            raise Damaged(f"{where} was changed: its digest does not match.")
        for name in ("header", "signature", "shown"):
            data[name] = base64.b64decode(data[name], validate=True)
    except (BadInput, ValueError) as error:
        raise Damaged(f"{where} cannot be read: {error}") from None
    return TranscriptLine(**data)


_LINE_FIELDS: dict[str, type | UnionType] = {
    **dict.fromkeys(("peer", "kind", "digest", "previous", "header", "signature", "shown", "chain"), str),
    **{"number": int, "size": int, "sent": bool, "at": float | int},
}


def _head(line: TranscriptLine) -> str:
    """Chain that a party signed in its settling message."""
    try:
        body = decode_body(line.shown, _MAX_LINE_LETTERS)
        head = body.get(HEAD) if hashlib.sha256(line.shown).digest() == line.signed.header.digest else None
    except BadInput:
        head = None
    return head.hex() if isinstance(head, bytes) else ""


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _append(path: Path) -> int:
    return owned(str(path), os.O_WRONLY | os.O_CREAT | os.O_APPEND)


def _remove_unfinished(path: Path) -> None:
    """Remove a last line that a crash left unfinished."""
    if path.exists():
        data = path.read_bytes()
        os.truncate(path, data.rfind(b"\n") + 1)
