"""What a party sent and got, in the order it happened: one line a message, each with the digest of all before it.

A line has no body, only its digest and the signed header. Bodies are sealed or have a salt, so that a digest says
nothing about them and the transcript may be shown to others. A line that says somebody sent something has that party's
signature. In the message with which it settles, a party signs the chain up to there: nothing before can be changed or
left out later without another signature, and the others have the first one. A session that did not come so far has
only the chain, which whoever has the folder could make anew. What the party itself saw, in words, is in a file beside
it that only its owner can read.
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
from discreet.errors import BadInput, Damaged
from discreet.verbs.combine.effects import Body
from discreet.verbs.combine.net import wire
from discreet.verbs.combine.net.frames import SETTLED, Signed
from discreet.verbs.combine.transcript import Said, held, single

TRANSCRIPT, SEEN = "transcript.jsonl", "seen.jsonl"
HEAD = "transcript"
"""The part of the message that settles which is the chain up to there."""
_LONGEST_LINE = 200_000
_LAST = ', "chain": "'
_TRUTH = ("false", "true")


@dataclass(frozen=True)
class Line:
    """One message as a party wrote it down."""

    number: int
    """Of the sender's messages."""
    at: float
    """Seconds since 1970, by the party's own clock."""
    sent: bool
    peer: str
    """Who sent it, or whom it was for: a name, names with commas, or ``all``."""
    kind: str
    digest: str
    """SHA-256 of the body as it was sent, in hexadecimal."""
    size: int
    previous: str
    """The chain up to here; at first the session's digest."""
    chain: str
    """The chain with this line."""
    header: bytes
    signature: bytes
    shown: bytes = b""
    """The body of the own message that settles."""

    @property
    def signed(self) -> Signed:
        """What can be shown to others as proof."""
        return Signed(self.header, self.signature)


class Log:
    """The transcript of one party, as it grows."""

    def __init__(self, folder: Path, session: bytes) -> None:
        self._folder, self._chain = folder, session.hex()
        self.sent: dict[int, bytes] = {}
        """The headers of what was sent, by number."""
        self.got: set[tuple[str, int]] = set()
        """Whose messages of which number were written down."""
        _cut(folder / TRANSCRIPT)
        _cut(folder / SEEN)
        if (folder / TRANSCRIPT).exists():
            for line in read(folder, session):
                self._chain = line.chain
                if line.sent:
                    self.sent[line.number] = line.header
                else:
                    self.got.add((line.peer, line.number))
        self._files = [_append(folder / TRANSCRIPT, 0o644), _append(folder / SEEN, 0o600)]
        self._lines: tuple[list[str], list[str]] = ([], [])

    @property
    def head(self) -> bytes:
        """The chain with all lines."""
        return bytes.fromhex(self._chain)

    def add(self, signed: Signed, body: Body, *, sent: bool, shown: bytes = b"") -> None:
        """Write a message down, unless it is there already; ``shown`` is its body, if anybody may see it."""
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
        self._lines[0].append(f'{text}{_LAST}{self._chain}"}}\n')
        self._lines[1].append(
            f'{{"number": {header.number}, "of": "{header.of}", "to": {json.dumps(header.to)}, "kind": {kind}, '
            f'"what": {json.dumps(held(body))}, "sealed": {_TRUTH[header.sealed]}, "short": "{single(body)}"}}\n'
        )

    def flush(self, *, to_disk: bool = False) -> None:
        """Hand what was added to the operating system, or see to it that the transcript is on the disk."""
        for handle, lines in zip(self._files, self._lines, strict=True):
            if lines:
                os.write(handle, "".join(lines).encode())
                lines.clear()
        if to_disk:
            os.fdatasync(self._files[0])

    def close(self) -> None:
        """Let go of the files."""
        for handle in self._files:
            os.close(handle)
        self._files = []


def read(folder: Path, session: bytes | None = None) -> Iterator[Line]:
    """The lines of a party's transcript; Damaged at the first that does not follow from those before."""
    before = session.hex() if session else None
    chains = set()
    with (folder / TRANSCRIPT).open(encoding="utf-8") as file:
        for place, text in enumerate(iter(lambda: file.readline(_LONGEST_LINE), ""), 1):
            line = _line(text, f"Line {place} of {folder / TRANSCRIPT}")
            if before is not None and line.previous != before:
                raise Damaged(f"Line {place} of {folder / TRANSCRIPT} does not follow from the line before.")
            before = line.chain
            chains.add(line.previous)
            if line.sent and line.kind == SETTLED and _head(line) not in chains:
                raise Damaged(f"{folder / TRANSCRIPT} is not the one that was signed in line {place}.")
            yield line


def seen(folder: Path, parties: tuple[str, ...]) -> tuple[Said, ...]:
    """What a party of a session among ``parties`` saw, in words, in its order."""
    said = []
    for text in (folder / SEEN).read_text(encoding="utf-8").splitlines():
        data = document.loads(text)
        if not isinstance(data, dict) or any(not isinstance(data.get(name), kind) for name, kind in _SEEN.items()):
            raise Damaged(f"{folder / SEEN} was changed.")
        to = document.texts(data["to"], SEEN) or tuple(party for party in parties if party != data["of"])
        said.append(Said(**{**{name: data[name] for name in _SEEN}, "to": to}))
    return tuple(said)


_SEEN = {"number": int, "of": str, "to": list, "kind": str, "what": str, "sealed": bool, "short": str}


def _line(text: str, where: str) -> Line:
    try:
        data = document.fields(document.loads(text), where, **_KINDS)
        if hashlib.sha256(text.rpartition(_LAST)[0].encode()).hexdigest() != data["chain"]:
            raise Damaged(f"{where} was changed: its digest is another.")
        for name in ("header", "signature", "shown"):
            data[name] = base64.b64decode(data[name], validate=True)
    except (BadInput, ValueError) as error:
        raise Damaged(f"{where} cannot be read: {error}") from None
    return Line(**data)


_KINDS: dict[str, type | UnionType] = {
    **dict.fromkeys(("peer", "kind", "digest", "previous", "header", "signature", "shown", "chain"), str),
    **{"number": int, "size": int, "sent": bool, "at": float | int},
}


def _head(line: Line) -> str:
    """The chain that a party signed when it settled."""
    try:
        body = wire.decode(line.shown, _LONGEST_LINE)
        head = body.get(HEAD) if hashlib.sha256(line.shown).digest() == line.signed.header.digest else None
    except BadInput:
        head = None
    return head.hex() if isinstance(head, bytes) else ""


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _append(path: Path, mode: int) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, mode)


def _cut(path: Path) -> None:
    """Take away a last line that a crash left unfinished."""
    if path.exists():
        data = path.read_bytes()
        os.truncate(path, data.rfind(b"\n") + 1)
