"""Everybody's connections and messages, as one party has them: what it sends to each, and what it got of each.

A party is known by its key alone; ``roads`` (TLS between hosts) open connections and say whose they are. Here
messages are numbered, signed, sealed, kept until the end and sent again after a connection broke; what comes is
checked, and the same message twice is ignored. Whoever sends a different message in the place of another, or of a
kind it sent before, is convicted by its own signatures.
"""

from __future__ import annotations

import asyncio
import hashlib
import struct
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from discreet._version import __version__
from discreet.combine.effects import Body
from discreet.combine.net import wire
from discreet.combine.net.evidence import Evidence, contradict
from discreet.combine.net.frames import (
    ABORT,
    HELLO,
    SETTLED,
    SIGNATURE,
    Frame,
    Header,
    Sealer,
    Signed,
    public_half,
    sign,
)
from discreet.combine.net.journal import Journal
from discreet.combine.net.keys import Identity
from discreet.combine.net.link import ASK, BUSY, DONE, GREETING, HAVE, Link
from discreet.combine.net.manifest import Manifest
from discreet.combine.net.transcript_log import Log
from discreet.errors import Aborted, BadInput
from discreet.noise.stream import Stream

EVIDENCE = "evidence.json"
_MOST_HELLO = 1000
_LAST = 0xFFFFFFFF
_ONE = struct.Struct(">H")
_MOST_PROOF = 100
_UNREAD = 4
"""So many times the largest message may lie here unread, of one party."""


@dataclass
class Peer:
    """Another party: what is for it, what came of it, and how it is reached."""

    name: str
    link: Link | None = None
    hello: Signed | None = None
    sealer: Sealer | None = None
    seal_key: bytes = b""
    outbox: list[Frame | _Unsealed] = field(default_factory=list)
    got: list[Signed] = field(default_factory=list)
    """Its messages to this party, in their order."""
    known: dict[str | int, Signed] = field(default_factory=dict)
    """The same by kind, and by number."""
    chain: list[bytes] = field(default_factory=list)
    """Digests of everything it told all others, up to each of them."""
    met: bool = False
    """Whether it has this party's hello, and this party its."""
    unread: int = 0
    done: bool = False
    """Whether it is at its end and has what it needs of this party."""
    busy: bool = False
    """Whether it answered when it was asked."""
    left: Aborted | None = None
    """Why it ended the session, if it did."""
    problem: str = ""
    """Why there is no connection, if something is known."""

    @property
    def there(self) -> bool:
        """Whether it can be spoken to."""
        return self.link is not None and self.link.has

    def heard(self, signed: Signed) -> None:
        """Count in what it told all others."""
        if not signed.header.to and signed.header.kind not in (ABORT, SETTLED):
            before = self.chain[-1] if self.chain else b""
            self.chain.append(hashlib.sha256(before + signed.raw).digest())


@dataclass(frozen=True)
class _Unsealed:
    """A message for a party that did not say yet what to seal with."""

    number: int
    kind: str
    body: Body


class Mesh:
    """One party's side of all connections."""

    def __init__(self, manifest: Manifest, identity: Identity, journal: Journal, folder: Path) -> None:
        self.manifest, self.name = manifest, identity.name
        self.peers = {party.name: Peer(party.name) for party in manifest.others(identity.name)}
        self.inbox: dict[tuple[str, str], Body] = {}
        """What came and was not taken yet, by sender and kind."""
        self.aborted: Aborted | None = None
        """Why the session cannot go on, if it cannot."""
        self.own = Peer(identity.name)
        """What this party told all others."""
        self._identity, self._journal, self._folder = identity, journal, folder
        self._session = manifest.digest
        self._log = Log(folder, self._session)
        self._seal = Stream(journal.secret, (self._session, b"sealing")).bytes(32)
        self._number = 0
        self._ended = False
        self._wakes: asyncio.Future[None] | None = None
        hello = {"seal": public_half(self._seal), "version": __version__}
        self._hello = self._framed(0, (), HELLO, hello)
        self.own.heard(self._hello.signed)
        for known in journal.frames:
            self._take(self.peers[known.header.of], known)

    # -- what the driver does

    def send(self, to: str, kind: str, body: Body) -> None:
        """A sealed message for one party."""
        self._number += 1
        peer = self._known(to)
        peer.outbox.append(_Unsealed(self._number, kind, body))
        if peer.hello:
            self._seal_all(peer)
        self.writable(peer.link)

    def tell(self, to: tuple[str, ...], kind: str, body: Body) -> None:
        """One message for several parties."""
        self._number += 1
        receivers = [self._known(name) for name in to]
        everybody = len(receivers) == len(self.peers)
        made = self._framed(self._number, () if everybody else tuple(to), kind, body)
        self.own.heard(made.signed)
        for peer in receivers:
            peer.outbox.append(made)
            self.writable(peer.link)

    def abort(self, error: Aborted) -> None:
        """Tell everybody that this party ends the session, and why: its last word, whatever its number would be."""
        said = {"culprits": error.culprits, "why": error.message, "proof": self._proof(error.culprits)}
        made = self._framed(_LAST, (), ABORT, said)
        for peer in self.peers.values():
            peer.outbox.append(made)
            self.writable(peer.link)

    def take(self, of: str, kind: str) -> Body:
        """A message that came."""
        body = self.inbox.pop((of, kind))
        self.peers[of].unread -= _weight(body)
        return body

    def flush(self) -> None:
        """See to it that what came is on the disk."""
        self._journal.flush()
        self._log.flush()

    async def changed(self, until: float) -> bool:
        """Wait until something happened; whether it did before this time."""
        loop = asyncio.get_running_loop()
        self._wakes = loop.create_future()
        timer = loop.call_at(until, self._wake)
        await self._wakes
        timer.cancel()
        return loop.time() < until

    def ask(self, names: Iterable[str]) -> None:
        """Ask parties whether they are there."""
        for name in names:
            peer = self.peers[name]
            peer.busy = False
            if peer.link and peer.there:
                peer.link.say(ASK)

    def finish(self) -> None:
        """Tell everybody that this party is at its end, after everything else that is for them."""
        self._ended = True
        for peer in self.peers.values():
            self.writable(peer.link)

    def convict(self, first: Signed, second: Signed) -> Aborted:
        """Keep two headers that contradict each other as evidence; what to end the session with."""
        for signed in (first, second):
            signed.check(self.manifest)
        path = self._folder / EVIDENCE
        if not path.exists():
            path.write_text(Evidence(first, second).dump())
        who = first.header.of
        return Aborted(
            f"{who} signed two messages that contradict each other ({first.header.kind}, {second.header.kind}).",
            culprits=(who,),
            hint=f"Both are kept in {path}.",
        )

    @property
    def sent(self) -> int:
        """How many bytes were sent, before TLS."""
        return sum(peer.link.sent for peer in self.peers.values() if peer.link)

    def close(self) -> None:
        """Let go of files and connections."""
        for peer in self.peers.values():
            if peer.link:
                peer.link.leave()
        self._log.flush()
        self._log.close()

    # -- what connections tell

    def opened(self, link: Link) -> None:
        """A connection to ``link.peer`` is there: greet."""
        peer = self.peers[link.peer]
        if peer.link:
            peer.link.drop()
        peer.link, peer.problem = link, ""
        link.frame(GREETING, self._hello)

    def largest(self, link: Link) -> int:
        """How many bytes the next body may have."""
        return self.manifest.most_bytes if link.greeted else _MOST_HELLO

    def arrived(self, link: Link, place: int, came: Frame) -> None:
        """A message came."""
        peer = self.peers[link.peer]
        if peer.link is not link:
            return
        self._check(peer, came)
        if place == GREETING:
            self._greeted(peer, link, came)
        elif not link.greeted:
            raise BadInput("A message came before the hello.")
        elif place < len(peer.got):
            if peer.got[place].raw != came.signed.raw:
                self._differs(peer, peer.got[place], came.signed)
        elif place > len(peer.got):
            link.drop()  # something is missing: when the connection is there again, it will be sent
        else:
            self._take(peer, came, new=True)
        self._wake()

    def told(self, link: Link, word: int, count: int) -> None:
        """The other side said how much it has, that it is at its end, or asks, or answers."""
        peer = self.peers[link.peer]
        if peer.link is not link:
            return
        match word:
            case 1:
                if not link.greeted:
                    return
                link.next, link.has, peer.met = count, True, True
                self.writable(link)
            case 2:
                peer.done = True
            case 3:
                link.say(BUSY)
            case 4:
                peer.busy = True
        self._wake()

    def writable(self, link: Link | None) -> None:
        """Send what is still to be sent, as far as there is room."""
        if not link or not link.has or not link.open:
            return
        outbox = self.peers[link.peer].outbox
        while not link.full and link.next < len(outbox):
            waiting = outbox[link.next]
            if isinstance(waiting, _Unsealed):
                return
            link.frame(link.next, waiting)
            link.next += 1
        if self._ended and link.next == len(outbox) and not link.finished:
            link.finished = True
            link.say(DONE)

    def failed(self, link: Link, error: BadInput) -> None:
        """The other side broke the rules of the wire."""
        link.drop()
        if self.peers[link.peer].link is link:
            self._stop(Aborted(f"{link.peer} broke the rules: {error.message}", culprits=(link.peer,)))

    def closed(self, link: Link) -> None:
        """A connection is gone."""
        peer = self.peers.get(link.peer)
        if peer and peer.link is link:
            peer.link = None
            self._wake()

    # -- how it is done

    def _known(self, name: str) -> Peer:
        if name not in self.peers:
            raise BadInput(f"{name!r} is no other party of this session.")
        return self.peers[name]

    def _framed(self, number: int, to: tuple[str, ...], kind: str, body: Body, sealer: Sealer | None = None) -> Frame:
        data = wire.encode(body)
        if sealer:
            data = sealer.seal(self.name, number, kind, data)
        if len(data) > self.manifest.most_bytes:
            raise BadInput(
                f"A message of {len(data):,} bytes is larger than the session allows.",
                hint="Agree on a larger `largest` in the manifest.",
            )
        header = Header(self._session, number, self.name, to, sealer is not None, kind)
        made = sign(self._identity, header, data)
        if self._log.sent.get(number, made.signed.raw) != made.signed.raw:
            raise BadInput(
                f"Message {number} ({kind}) would now say something else than before the interruption.",
                hint="This party cannot go on with this session: agree on a new one.",
            )
        self._log.add(made.signed, body, sent=True)
        return made

    def _seal_all(self, peer: Peer) -> None:
        if not peer.sealer:
            peer.sealer = Sealer(self._seal, peer.seal_key, self._session, (self.name, peer.name))
        for place, waiting in enumerate(peer.outbox):
            if isinstance(waiting, _Unsealed):
                peer.outbox[place] = self._framed(waiting.number, (peer.name,), waiting.kind, waiting.body, peer.sealer)

    def _check(self, peer: Peer, came: Frame) -> None:
        header = came.header
        if header.of != peer.name:
            raise BadInput(f"It sent a message in the name of {header.of}.")
        if header.session != self._session:
            raise BadInput(
                f"It has another manifest: its digest is {header.session.hex()[:16]}…, here it is "
                f"{self._session.hex()[:16]}…. Compare the files."
            )
        if header.to and self.name not in header.to:
            raise BadInput("It sent a message that is for others.")
        came.check_body()

    def _greeted(self, peer: Peer, link: Link, came: Frame) -> None:
        if came.header.kind != HELLO or came.header.number:
            raise BadInput("It did not say hello.")
        if peer.hello and peer.hello.raw != came.signed.raw:
            self._differs(peer, peer.hello, came.signed)
            return
        if not peer.hello:
            self._journal.got(came)
            self._meet(peer, came)
        link.greeted = True
        link.say(HAVE, len(peer.got))

    def _meet(self, peer: Peer, came: Frame) -> None:
        body = wire.decode(came.body, _MOST_HELLO)
        key, version = body.get("seal"), body.get("version")
        if set(body) != {"seal", "version"} or not isinstance(key, bytes) or len(key) != 32:
            raise BadInput("Its hello cannot be read.")
        if version != __version__:
            raise BadInput(f"It runs version {version} of discreet, here is {__version__}.")
        peer.hello, peer.seal_key = came.signed, key
        peer.known[HELLO] = peer.known[0] = came.signed
        peer.heard(came.signed)
        self._log.add(came.signed, body, sent=False)
        if any(isinstance(waiting, _Unsealed) for waiting in peer.outbox):
            self._seal_all(peer)

    def _take(self, peer: Peer, came: Frame, *, new: bool = False) -> None:
        """Read a message that was not here before."""
        header = came.header
        if header.kind == HELLO:
            if not new:
                self._meet(peer, came)
                return
            raise BadInput("It said hello twice.")
        if before := peer.known.get(header.kind) or peer.known.get(header.number):
            self._differs(peer, before, came.signed)
            return
        body = self._opened(peer, came)
        if new:
            self._journal.got(came)
        peer.got.append(came.signed)
        peer.known[header.kind] = peer.known[header.number] = came.signed
        peer.heard(came.signed)
        self._log.add(came.signed, body, sent=False)
        if header.kind in (ABORT, SETTLED):
            came.signed.check(self.manifest)
        if header.kind == ABORT:
            self._leaves(peer, body)
            return
        peer.unread += _weight(body)
        if peer.unread > _UNREAD * self.manifest.most_bytes:
            raise BadInput("It sent more than anybody asked for.")
        self.inbox[peer.name, header.kind] = body

    def _opened(self, peer: Peer, came: Frame) -> dict[str, Any]:
        header, data = came.header, came.body
        if header.sealed:
            if not peer.sealer:
                peer.sealer = Sealer(self._seal, peer.seal_key, self._session, (self.name, peer.name))
            data = peer.sealer.open(header.of, header.number, header.kind, data)
        return wire.decode(data, self.manifest.most_bytes)

    def _differs(self, peer: Peer, first: Signed, second: Signed) -> None:
        if contradict(self.manifest, first.header, second.header):
            self._stop(self.convict(first, second))
        else:
            self._stop(Aborted(f"{peer.name} sent another message in the place of one.", culprits=(peer.name,)))

    def _leaves(self, peer: Peer, body: Body) -> None:
        match body:
            case {"culprits": tuple(culprits), "why": str(why), "proof": bytes(proof)} if len(body) == 3:
                said = f" {why}" if why else ""
                peer.left = Aborted(f"{peer.name} ended the session.{said}", culprits=culprits or (peer.name,))
                self._examine(proof)
            case _:
                raise BadInput("Its last word cannot be read.")

    def _proof(self, culprits: tuple[str, ...]) -> bytes:
        """What these parties told all others, signed by them: others may have been told something else."""
        told = [
            signed
            for name in culprits
            if name in self.peers
            for key, signed in self.peers[name].known.items()
            if isinstance(key, int) and not signed.header.to
        ]
        return b"".join(_ONE.pack(len(one.raw)) + one.raw + one.signature for one in told[:_MOST_PROOF])

    def _examine(self, proof: bytes) -> None:
        """Compare what somebody shows with what came here; keep what contradicts it."""
        at = 0
        while at < len(proof):
            [size] = _ONE.unpack_from(proof.ljust(at + _ONE.size), at)
            at += _ONE.size + size + SIGNATURE
            shown = Signed(proof[at - SIGNATURE - size : at - SIGNATURE], proof[at - SIGNATURE : at])
            known = self.peers[shown.header.of].known if shown.header.of in self.peers else {}
            for held in (known.get(shown.header.kind), known.get(shown.header.number)):
                if held and contradict(self.manifest, held.header, shown.header):
                    self.convict(held, shown)

    def _stop(self, error: Aborted) -> None:
        self.aborted = self.aborted or error
        self._wake()

    def _wake(self) -> None:
        if self._wakes and not self._wakes.done():
            self._wakes.set_result(None)


def _weight(body: Body) -> int:
    return sum(getattr(part, "nbytes", None) or len(part) for part in body.values()) + 100
