"""A peer as seen by one party: messages for it, messages from it, and its broadcasts.

At the end parties *settle*: each signs how many broadcasts of every party it heard, with a digest of them, and compares
what the others say with what it heard itself.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field

from discreet.errors import Aborted, BadInput
from discreet.verbs.combine.effects import Body
from discreet.verbs.combine.net.evidence import DisputedBroadcast
from discreet.verbs.combine.net.frames import ABORT, Frame, Sealer, Signed
from discreet.verbs.combine.net.link import Link

_CHAIN = struct.Struct(">I16s")


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
    told: list[Signed] = field(default_factory=list)
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
        if signed.header.place != len(self.told):
            raise BadInput("It left out something that it told others.")
        before = self.chain[-1] if self.chain else b""
        self.told.append(signed)
        self.chain.append(hashlib.sha256(before + signed.raw).digest())


def broadcast_digests(everybody: Sequence[Peer]) -> bytes:
    """Number of broadcasts of each party heard here, with a digest of them."""
    ends = [(len(peer.chain), peer.chain[-1][:16] if peer.chain else b"") for peer in everybody]
    return b"".join(_CHAIN.pack(*end) for end in ends)


def compare_broadcasts(everybody: Sequence[Peer], own: Peer, name: str, heard: object) -> None:
    """Abort unless the party of this name heard the same broadcasts, as far as both heard them."""
    if not isinstance(heard, bytes) or len(heard) != _CHAIN.size * len(everybody):
        raise Aborted(f"{name} broke the rules: what it says it heard cannot be read.", culprits=(name,))
    for peer, (count, digest) in zip(everybody, _CHAIN.iter_unpack(heard), strict=True):
        if 0 < count <= len(peer.chain) and peer.chain[count - 1][:16] != digest:
            if peer is own or peer.name == name:
                raise Aborted(f"{name} says something else than it heard or told.", culprits=(name,))
            raise DisputedBroadcast(peer.name, name, own.name)
        if count > len(peer.chain) and peer is own:
            raise Aborted(f"{name} says it heard what was never told.", culprits=(name,))
