"""Connections to other parties, and the state of each of these parties.

After the handshake of TLS each side says hello (a signed frame), and answers the other's by saying how many of its
messages it has already; what is missing follows in order. Frames are numbered by their place among all for this
receiver, so that a gap cannot pass unnoticed. Sizes are checked before memory is taken, and a body is read straight
into its place.

At the end parties *settle*: each signs how many broadcasts of every party it heard, with a digest of them, and compares
what the others say with what it heard itself.
"""

from __future__ import annotations

import asyncio
import hashlib
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from discreet.errors import Aborted, BadInput
from discreet.verbs.combine.effects import Body
from discreet.verbs.combine.net.evidence import DisputedBroadcast
from discreet.verbs.combine.net.frames import ABORT, MAX_HEADER_BYTES, SIGNATURE_BYTES, Frame, Sealer, Signed

if TYPE_CHECKING:
    from discreet.verbs.combine.net.mesh import Mesh

HAVE, DONE, ASK, BUSY = range(1, 5)
"""Control words: how much a side has; that it has finished; a question whether the peer is there; the answer."""
GREETING = 0xFFFFFFFF
"""Place of a hello."""
_FRAME = 0
_HEAD = struct.Struct(">BII")
_BUFFER_BYTES, _FULL_BUFFER_BYTES = 1 << 12, 1 << 16
_JOINED_BYTES = 1 << 14
"""Size of bodies that are joined with their header into one write."""
_CHAIN = struct.Struct(">I16s")


class Link(asyncio.BufferedProtocol):
    """A connection, seen from one side. BadInput that its mesh raises comes back by ``Mesh.failed``."""

    def __init__(self, owner: Mesh, peer: str = "") -> None:
        self.peer, self.full, self.next = peer, False, 0
        """Whose it is; whether writing must wait; the place of the next frame to be sent."""
        self.greeted = self.has = False
        """Whether the other side said hello, and how much it has."""
        self.finished = False
        """Whether the other side was told that this one is at its end."""
        self.sent = 0
        """Bytes given to the transport."""
        self.gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._owner = owner
        self._transport: asyncio.Transport | None = None
        self._buffer, self._start, self._end = bytearray(_BUFFER_BYTES), 0, 0
        self._head: tuple[int, Signed] | None = None
        self._body, self._filled = bytearray(), 0

    # -- called by the transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The connection is there, and TLS has checked the other side."""
        self._transport = cast(asyncio.Transport, transport)
        self._owner.opened(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        if not self.gone.done():
            self.gone.set_result(None)
        self._owner.closed(self)

    def pause_writing(self) -> None:
        self.full = True

    def resume_writing(self) -> None:
        self.full = False
        self._owner.writable(self)

    def get_buffer(self, sizehint: int) -> memoryview:
        """Buffer for the next bytes: the body that is being read, or the common buffer."""
        if self._head:
            return memoryview(self._body)[self._filled :]
        if self._start == self._end:
            self._start = self._end = 0
        elif self._start:
            rest = self._buffer[self._start : self._end]
            self._buffer[: len(rest)] = rest
            self._start, self._end = 0, len(rest)
        if self._end == len(self._buffer):
            self._buffer = self._buffer.ljust(_FULL_BUFFER_BYTES)
        return memoryview(self._buffer)[self._end :]

    def buffer_updated(self, nbytes: int) -> None:
        try:
            if self._head:
                self._filled += nbytes
                if self._filled == len(self._body):
                    self._deliver(*self._head)
            else:
                self._end += nbytes
                while self._transport and self._parse():
                    pass
        except BadInput as error:
            self._owner.failed(self, error)

    # -- called by the owner

    @property
    def open(self) -> bool:
        """Whether something can be sent."""
        return self._transport is not None and not self._transport.is_closing()

    def frame(self, place: int, frame: Frame) -> None:
        """Send a message."""
        signed, body = frame.signed, frame.body
        head = _HEAD.pack(_FRAME, place, len(signed.raw)) + signed.raw + signed.signature
        self._write(head + body if len(body) <= _JOINED_BYTES else head)
        if len(body) > _JOINED_BYTES:
            self._write(body)

    def say(self, word: int, count: int = 0) -> None:
        """Send one of HAVE, DONE, ASK, BUSY."""
        self._write(_HEAD.pack(word, count, 0))

    def leave(self) -> None:
        """Close the connection after what was sent; without TLS's closing alert, where all of it is on its way."""
        if self._transport and self._transport.get_write_buffer_size():
            self._transport.close()
        else:
            self.drop()

    def drop(self) -> None:
        """Close the connection at once."""
        if self._transport:
            self._transport.abort()

    def _write(self, data: bytes | bytearray) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self.sent += len(data)
            self._transport.write(data)

    def _parse(self) -> bool:
        """Parse one control word or header from the buffer; whether there was a whole one."""
        have = self._end - self._start
        if self._head or have < _HEAD.size:
            return False
        word, count, size = _HEAD.unpack_from(self._buffer, self._start)
        if word in (HAVE, DONE, ASK, BUSY):
            self._start += _HEAD.size
            self._owner.control(self, word, count)
            return True
        if word != _FRAME or size > MAX_HEADER_BYTES:
            raise BadInput("The received data is not a message.")
        if have < _HEAD.size + size + SIGNATURE_BYTES:
            return False
        at = self._start + _HEAD.size
        raw = bytes(self._buffer[at : at + size])
        signed = Signed(raw, bytes(self._buffer[at + size : at + size + SIGNATURE_BYTES]))
        self._start = at + size + SIGNATURE_BYTES
        if signed.header.size > self._owner.largest(self):
            raise BadInput(f"A message of {signed.header.size:,} bytes is larger than the session allows.")
        self._head, self._body = (count, signed), bytearray(signed.header.size)
        self._filled = min(len(self._body), self._end - self._start)
        self._body[: self._filled] = self._buffer[self._start : self._start + self._filled]
        self._start += self._filled
        if self._filled < len(self._body):
            return False
        self._deliver(count, signed)
        return True

    def _deliver(self, place: int, signed: Signed) -> None:
        self._head, body = None, self._body
        self._body = bytearray()
        self._owner.arrived(self, place, Frame(signed, body))


@dataclass(frozen=True)
class Unsealed:
    """A message for a party whose sealing key is not known yet."""

    number: int
    kind: str
    body: Body


@dataclass
class Peer:
    """Another party: its messages, its connection and its state."""

    name: str
    link: Link | None = None
    hello: Signed | None = None
    sealer: Sealer | None = None
    seal_key: bytes = b""
    outbox: list[Frame | Unsealed] = field(default_factory=list)
    got: list[Signed] = field(default_factory=list)
    """Messages received from it, in their order."""
    known: dict[str | int, Signed] = field(default_factory=dict)
    """The same by kind, and by number."""
    broadcasts: list[Signed] = field(default_factory=list)
    """Its broadcasts, by place."""
    chain: list[bytes] = field(default_factory=list)
    """Digests of its broadcasts, up to each of them."""
    met: bool = False
    """Whether both have each other's hello."""
    unread: int = 0
    done: bool = False
    """Whether it has finished and has what it needs of this party."""
    busy: bool = False
    """Whether it answered when it was asked."""
    left: Aborted | None = None
    """Why it ended the session, if it did."""
    attempt_problem: str = ""
    """Why the party cannot be met, if it is at another attempt."""
    problem: str = ""
    """Why there is no connection, if something is known."""

    @property
    def there(self) -> bool:
        """Whether messages can be sent to it."""
        return self.link is not None and self.link.has

    def record_broadcast(self, signed: Signed) -> None:
        """Record a broadcast; BadInput if it left one out."""
        if signed.header.sealed or signed.header.kind == ABORT:
            return
        if signed.header.place != len(self.broadcasts):
            raise BadInput("It left out something that it sent to others.")
        before = self.chain[-1] if self.chain else b""
        self.broadcasts.append(signed)
        self.chain.append(hashlib.sha256(before + signed.raw).digest())


def broadcast_digests(everybody: Sequence[Peer]) -> bytes:
    """Number of broadcasts of each party heard here, with a digest of them."""
    ends = [(len(peer.chain), peer.chain[-1][:16] if peer.chain else b"") for peer in everybody]
    return b"".join(_CHAIN.pack(*end) for end in ends)


def compare_broadcasts(everybody: Sequence[Peer], own: Peer, name: str, heard: object) -> None:
    """Abort unless the party of this name heard the same broadcasts, as far as both heard them."""
    if not isinstance(heard, bytes) or len(heard) != _CHAIN.size * len(everybody):
        raise Aborted(f"{name} broke the rules: its report of what it received cannot be read.", culprits=(name,))
    for peer, (count, digest) in zip(everybody, _CHAIN.iter_unpack(heard), strict=True):
        if 0 < count <= len(peer.chain) and peer.chain[count - 1][:16] != digest:
            if peer is own or peer.name == name:
                raise Aborted(f"{name} reports other messages than it received or sent.", culprits=(name,))
            raise DisputedBroadcast(peer.name, name, own.name)
        if count > len(peer.chain) and peer is own:
            raise Aborted(f"{name} reports a message that was never sent.", culprits=(name,))
