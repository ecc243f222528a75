"""Mesh of connections to all other parties: numbered, signed and sealed messages, and checks of what arrives.

A party is known by its key alone; a connector (TLS between hosts) opens connections and says whose they are. Here
messages are numbered, signed, sealed, kept until the end and sent again after a connection broke; what comes is
checked, its signature included, and the same message twice is ignored. Anyone who sends a different message in the
place of another, or of a kind it sent before, is convicted by its own signatures.

A message is sealed for one party or told to all others, also to those who left: one rule for all, so that at the end
everyone can compare all that was told. What is told has a random part of its own, the salt: its digest, which stands
in transcripts that others may see, says nothing about it.
"""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from discreet._version import __version__
from discreet.core.document import write
from discreet.errors import Aborted, BadInput
from discreet.noise.stream import Stream
from discreet.verbs.combine.effects import Body
from discreet.verbs.combine.net import evidence, frames
from discreet.verbs.combine.net.journal import Journal
from discreet.verbs.combine.net.keys import Identity
from discreet.verbs.combine.net.link import (
    ASK,
    BUSY,
    DONE,
    GREETING,
    HAVE,
    Link,
    Peer,
    Unsealed,
    broadcast_digests,
    compare_broadcasts,
)
from discreet.verbs.combine.net.manifest import MAX_ATTEMPTS, Manifest
from discreet.verbs.combine.net.transcript_log import HEAD, TranscriptLog

EVIDENCE = "evidence.json"
_MAX_HELLO_BYTES = 1000
_LAST_NUMBER = 0xFFFFFFFF
_SALT, _SALT_BYTES = "salt", 16
_MAX_UNREAD_MESSAGES = 4
"""Unread data of one party, in messages of the largest size."""


class Mesh:
    """One party's side of all connections."""

    def __init__(self, manifest: Manifest, identity: Identity, journal: Journal, folder: Path) -> None:
        self.manifest, self.name = manifest, identity.name
        self.peers = {party.name: Peer(party.name) for party in manifest.others(identity.name)}
        self.inbox: dict[tuple[str, str], Body] = {}
        """Messages received and not taken yet, by sender and kind."""
        self.aborted: Aborted | None = None
        """Why the session cannot go on, if it cannot."""
        self.departed: list[Aborted] = []
        """Why others ended the session, in the order they did."""
        self.convicted: Aborted | None = None
        """Abort that names a party by its own signatures: it contradicted itself, or began twice."""
        self.widths: dict[int, int] = {}
        """Bits of an element, by length of the vector."""
        self.own = Peer(identity.name)
        """This party's own broadcasts."""
        self._identity, self._journal, self._folder = identity, journal, folder
        self._session = manifest.digest
        self._log = TranscriptLog(folder, self._session)
        self._seal = Stream(journal.key, (self._session, b"sealing")).bytes(32)
        self._salt = Stream(journal.key, (self._session, b"salts")).bytes(32)
        self._number = 0
        self._ended = False
        self._wakes: asyncio.Future[None] | None = None
        hello = {"seal": frames.sealing_key(self._seal), "version": __version__}
        self._hello = self._framed(0, frames.HELLO, hello)
        self.own.record_broadcast(self._hello.signed)
        for known in journal.frames:
            self._take(self.peers[known.header.of], known)

    # -- what the driver does

    def send(self, to: str, kind: str, body: Body) -> None:
        """Send a sealed message to one party."""
        self._number += 1
        peer = self._known(to)
        peer.outbox.append(Unsealed(self._number, kind, body))
        if peer.hello:
            try:
                self._seal_all(peer)
            except _NoKey as error:
                raise Aborted(f"What {to} sent as its encryption key is not a key.", culprits=(to,)) from error
        self.writable(peer.link)

    def broadcast(self, kind: str, body: Body) -> None:
        """Send one message to all other parties."""
        self._number += 1
        made = self._framed(self._number, kind, body)
        self.own.record_broadcast(made.signed)
        self._to_all(made)

    def settle(self) -> None:
        """Sign and broadcast the digest of all broadcasts heard, and the transcript up to here."""
        if not self._journal.settled:
            self._log.flush(to_disk=True)
            self._journal.record_settled(broadcast_digests(self._everybody), self._log.head)
        heard, head = self._journal.settled or (b"", b"")
        self.broadcast(frames.SETTLED, {"heard": heard, HEAD: head})

    def compare(self, name: str, heard: object) -> None:
        """Abort unless another party heard the same broadcasts as this one, as far as both did."""
        compare_broadcasts(self._everybody, self.own, name, heard)

    def abort(self, error: Aborted, about: Iterable[str]) -> None:
        """Broadcast that this party ends the session, and why: its last message, whatever its number would be.

        It shows what it was told by those whom it is ``about``: others may have been told something else.
        """
        proof = evidence.pack_proof(
            signed for name in about if name in self.peers for signed in self.peers[name].broadcasts
        )
        body = {"culprits": error.culprits, "why": evidence.printable_excerpt(error.message), "proof": proof}
        self._to_all(self._framed(_LAST_NUMBER, frames.ABORT, body))

    def take(self, of: str, kind: str, *, broadcast: bool) -> Body:
        """Take a received message; aborts if it had to be a ``broadcast`` and was sent to this party alone."""
        if broadcast and self.peers[of].known[kind].header.sealed:
            raise Aborted(f"{of} sent {kind!r} to {self.name} alone, but it must go to all parties.", culprits=(of,))
        body = self.inbox.pop((of, kind))
        self.peers[of].unread -= _weight(body)
        return body

    def flush(self) -> None:
        """Make everything received durable."""
        self._journal.flush()
        self._log.flush()

    async def changed(self, until: float) -> bool:
        """Wait until something happens; whether it did before this time."""
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
        """Tell all parties that this one has finished, after everything else that is for them."""
        self._ended = True
        for peer in self.peers.values():
            self.writable(peer.link)

    def convict(self, first: frames.Signed, second: frames.Signed) -> Aborted:
        """Keep two contradictory headers as evidence; gives the abort that names their signer."""
        for signed in (first, second):
            signed.check(self.manifest)
        path = self._folder / EVIDENCE
        if not path.exists():
            write(path, evidence.Evidence(first, second).dump().encode(), private=True)
        who = first.header.of
        self.convicted = self.convicted or Aborted(
            f"{who} signed two messages that contradict each other ({first.header.kind}, {second.header.kind}).",
            culprits=(who,),
            hint=f"Both are kept in {path}.",
        )
        return self.convicted

    @property
    def sent(self) -> int:
        """Bytes sent, before TLS."""
        return sum(peer.link.sent for peer in self.peers.values() if peer.link)

    def close(self) -> None:
        for peer in self.peers.values():
            if peer.link:
                peer.link.leave()
        self._log.flush()
        self._log.close()

    # -- what connections tell

    def opened(self, link: Link) -> None:
        """Greet the peer of a new connection."""
        peer = self.peers[link.peer]
        if peer.link:
            peer.link.drop()
        peer.link, peer.problem = link, ""
        link.frame(GREETING, self._hello)

    def largest(self, link: Link) -> int:
        """Size limit of the next body, bytes."""
        return self.manifest.most_bytes if link.greeted else _MAX_HELLO_BYTES

    def arrived(self, link: Link, place: int, came: frames.Frame) -> None:
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

    def control(self, link: Link, word: int, count: int) -> None:
        """Handle a control word: how much the peer has, that it has finished, a question or an answer."""
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
        """Send pending messages, as far as there is room."""
        if not link or not link.has or not link.open:
            return
        outbox = self.peers[link.peer].outbox
        while not link.full and link.next < len(outbox):
            waiting = outbox[link.next]
            if isinstance(waiting, Unsealed):
                return
            link.frame(link.next, waiting)
            link.next += 1
        if self._ended and link.next == len(outbox) and not link.finished:
            link.finished = True
            link.say(DONE)

    def failed(self, link: Link, error: BadInput) -> None:
        """Handle a violation of the wire format."""
        link.drop()
        peer = self.peers[link.peer]
        if isinstance(error, _OtherAttempt):
            peer.problem = peer.attempt_problem = error.message  # it may come again, at the same attempt
        elif peer.link is link:
            message = (
                error.message if isinstance(error, _OtherManifest) else f"{link.peer} broke the rules: {error.message}"
            )
            self._stop(Aborted(message, culprits=(link.peer,)))

    def closed(self, link: Link) -> None:
        peer = self.peers.get(link.peer)
        if peer and peer.link is link:
            peer.link = None
            self._wake()

    # -- how it is done

    @property
    def _everybody(self) -> list[Peer]:
        return sorted((self.own, *self.peers.values()), key=lambda peer: peer.name)

    def _known(self, name: str) -> Peer:
        if name not in self.peers:
            raise BadInput(f"{name!r} is no other party of this session.")
        return self.peers[name]

    def _to_all(self, made: frames.Frame) -> None:
        for peer in self.peers.values():
            peer.outbox.append(made)
            self.writable(peer.link)

    def _framed(self, number: int, kind: str, body: Body, to: Peer | None = None) -> frames.Frame:
        """Make a message: sealed for one party, or for all, with its salt and its place."""
        most, place = self.manifest.most_bytes, 0
        if to:
            data = frames.encode_body(body, most, self.widths)
            data = self._sealer(to).seal(self.name, number, kind, data)
        else:
            place = _LAST_NUMBER if kind == frames.ABORT else len(self.own.broadcasts)
            salt = hmac.digest(self._salt, number.to_bytes(4, "big"), "sha256")[:_SALT_BYTES]
            data = frames.encode_body({**body, _SALT: salt}, most, self.widths)
        if len(data) > most:
            raise BadInput(
                f"A message of {len(data):,} bytes is larger than the session allows.",
                hint="Agree on a larger `largest` in the manifest.",
            )
        receivers = (to.name,) if to else ()
        header = frames.Header(self._session, number, self.name, receivers, to is not None, kind, place=place)
        made = frames.sign(self._identity, header, data)
        if self._log.sent.get(number, made.signed.raw) != made.signed.raw:
            raise BadInput(
                f"Message {number} ({kind}) would now differ from the one before the interruption.",
                hint="This party cannot continue this session: agree on a new one.",
            )
        self._log.add(made.signed, body, sent=True, shown=data if kind == frames.SETTLED else b"")
        return made

    def _seal_all(self, peer: Peer) -> None:
        self._sealer(peer)
        for place, waiting in enumerate(peer.outbox):
            if isinstance(waiting, Unsealed):
                peer.outbox[place] = self._framed(waiting.number, waiting.kind, waiting.body, peer)

    def _sealer(self, peer: Peer) -> frames.Sealer:
        if not peer.sealer:
            try:
                peer.sealer = frames.Sealer(self._seal, peer.seal_key, self._session, (self.name, peer.name))
            except BadInput as error:
                raise _NoKey(error.message) from None
        return peer.sealer

    def _check(self, peer: Peer, came: frames.Frame) -> None:
        header = came.header
        if header.of != peer.name:
            raise BadInput(f"It sent a message in the name of {header.of}.")
        if header.session != self._session:
            for number in range(1, MAX_ATTEMPTS + 1):
                if header.session == self.manifest.at_attempt(number).digest:
                    raise _OtherAttempt(
                        f"{peer.name} is at attempt {number} of this session, and {self.name} at "
                        f"{self.manifest.attempt}: all parties must give the same --attempt"
                    )
            digests = f"its digest is {header.session.hex()[:16]}…, here it is {self._session.hex()[:16]}…"
            raise _OtherManifest(f"{peer.name} has another manifest: {digests}. Compare the files.")
        if header.to and self.name not in header.to:
            raise BadInput("It sent a message addressed to others.")
        if header.to != ((self.name,) if header.sealed else ()):
            raise BadInput("It sent some of the parties a message that must be encrypted for one, or sent to all.")
        came.check_body()
        came.signed.check(self.manifest)

    def _greeted(self, peer: Peer, link: Link, came: frames.Frame) -> None:
        if came.header.kind != frames.HELLO or came.header.number:
            raise BadInput("It did not say hello.")
        if peer.hello and peer.hello.raw != came.signed.raw:
            self._began_twice(peer.name)
            return
        if not peer.hello:
            self._journal.record_message(came)
            self._meet(peer, came)
        link.greeted = True
        link.say(HAVE, len(peer.got))

    def _meet(self, peer: Peer, came: frames.Frame) -> None:
        body = _unsalted(frames.decode_body(came.body, _MAX_HELLO_BYTES))
        key, version = body.get("seal"), body.get("version")
        if set(body) != {"seal", "version"} or not isinstance(key, bytes) or len(key) != 32:
            raise BadInput("Its hello cannot be read.")
        if version != __version__:
            raise BadInput(f"It runs version {version} of discreet; this party runs {__version__}.")
        peer.hello, peer.seal_key = came.signed, key
        peer.known[frames.HELLO] = peer.known[0] = came.signed
        peer.record_broadcast(came.signed)
        self._log.add(came.signed, body, sent=False)
        if any(isinstance(waiting, Unsealed) for waiting in peer.outbox):
            self._seal_all(peer)

    def _take(self, peer: Peer, came: frames.Frame, *, new: bool = False) -> None:
        """Accept a new message."""
        header = came.header
        if header.kind == frames.HELLO:
            if not new:
                self._meet(peer, came)
                return
            raise BadInput("It said hello twice.")
        if before := peer.known.get(header.kind) or peer.known.get(header.number):
            self._differs(peer, before, came.signed)
            return
        body = self._opened(peer, came)
        peer.record_broadcast(came.signed)
        if new:
            self._journal.record_message(came)
        peer.got.append(came.signed)
        peer.known[header.kind] = peer.known[header.number] = came.signed
        self._log.add(came.signed, body, sent=False)
        if header.kind == frames.ABORT:
            self._leaves(peer, body)
            return
        peer.unread += _weight(body)
        if peer.unread > _MAX_UNREAD_MESSAGES * self.manifest.most_bytes:
            raise BadInput("It sent more than was requested.")
        self.inbox[peer.name, header.kind] = body

    def _opened(self, peer: Peer, came: frames.Frame) -> dict[str, Any]:
        header, data, most = came.header, came.body, self.manifest.most_bytes
        if header.sealed:
            return frames.decode_body(self._sealer(peer).open(header.of, header.number, header.kind, data), most)
        return _unsalted(frames.decode_body(data, most))

    def _differs(self, peer: Peer, first: frames.Signed, second: frames.Signed) -> None:
        if evidence.contradict(self.manifest, first.header, second.header):
            self._stop(self.convict(first, second))
        else:
            self._stop(Aborted(f"{peer.name} replaced a message that it had already sent.", culprits=(peer.name,)))

    def _began_twice(self, name: str) -> None:
        """Abort because a party said two hellos: no one knows which of them it stands by."""
        self.convicted = self.convicted or Aborted(
            f"{name} started this session twice with different keys: it lost its folder, or ran it in two places.",
            culprits=(name,),
            hint="The session cannot continue: agree on a new one (discreet combine new).",
        )
        self._stop(self.convicted)

    def _leaves(self, peer: Peer, body: Body) -> None:
        match body:
            case {"culprits": tuple(culprits), "why": str(why), "proof": bytes(proof)} if len(body) == 3:
                suspects = tuple(name for name in self.manifest.terms.parties if name in culprits)
                self._examine(proof)
                peer.left = evidence.SessionEnded(peer.name, suspects, why)
                self.departed.append(peer.left)
            case _:
                raise BadInput("Its closing message cannot be read.")

    def _examine(self, proof: bytes) -> None:
        """Compare shown headers with what came here, and convict anyone who signed contradictory ones.

        Of a party that said two hellos nothing else is compared: both times it began with other keys.
        """
        twice: set[str] = set()
        for one in evidence.unpack_proof(proof):
            header, peer = one.header, self.peers.get(one.header.of)
            if peer is None or header.sealed or peer.name in twice:
                continue
            if header.kind == frames.HELLO and peer.hello and peer.hello.header != header:
                one.check(self.manifest)
                twice.add(peer.name)
                self._began_twice(peer.name)
                continue
            here = [peer.known.get(header.kind), peer.known.get(header.number), *peer.broadcasts[header.place :][:1]]
            for earlier in here:
                if earlier and evidence.contradict(self.manifest, earlier.header, header):
                    self._stop(self.convict(earlier, one))

    def _stop(self, error: Aborted) -> None:
        self.aborted = self.aborted or error
        self._wake()

    def _wake(self) -> None:
        if self._wakes and not self._wakes.done():
            self._wakes.set_result(None)


class _OtherAttempt(BadInput):
    """Another party is at another attempt at this session."""


class _OtherManifest(BadInput):
    """Another party has another manifest: most likely a mistake of anyone who distributed it."""


class _NoKey(BadInput):
    """Another party's sealing key is no key."""


def _unsalted(body: dict[str, Any]) -> dict[str, Any]:
    """A broadcast's body without its salt; BadInput if it has none."""
    salt = body.pop(_SALT, None)
    if not isinstance(salt, bytes) or len(salt) != _SALT_BYTES:
        raise BadInput("Its broadcast has no salt.")
    return body


def _weight(body: Body) -> int:
    return sum(getattr(part, "nbytes", None) or len(part) for part in body.values()) + 100
