"""Driver of one party between hosts: carries out its effects over the mesh, within deadlines and across crashes.

Whatever decides what the party says next (a message, who was late) is on the disk before the play goes on; playing
again from the beginning gives identical messages. At the end the parties *settle*: each signs what it heard everyone
tell all, and no one takes a result before these agree. What a protocol expects to be told must have been told to all
(``broadcast``), and counts among what is compared. So a party that tells two others different things is found out,
whatever the protocol, and two honest parties never hold results of different messages.

Time: a step has the manifest's deadline. Anyone who has not spoken by then is asked whether it is there; one that
answers gets as long again (it waits for someone else, perhaps), one that does not is late. Where the protocol can do
without it, the others go on; otherwise the session ends, and all are told who was missing. Each asks for itself
before it names someone (``evidence.py``).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from discreet.errors import Aborted, BadInput, DiscreetError
from discreet.verbs.combine.crypto import NumericCrypto
from discreet.verbs.combine.effects import Body, Broadcast, Gather, MessagePart, Play, Receive, Send
from discreet.verbs.combine.group import ModularGroup, Vector
from discreet.verbs.combine.net.evidence import DisputedBroadcast, SessionEnded
from discreet.verbs.combine.net.frames import OWN_KINDS, SETTLED
from discreet.verbs.combine.net.journal import Journal
from discreet.verbs.combine.net.keys import Identity
from discreet.verbs.combine.net.link import Peer
from discreet.verbs.combine.net.manifest import Manifest
from discreet.verbs.combine.net.mesh import Mesh
from discreet.verbs.combine.net.tls import TlsConnector

T = TypeVar("T")
_ANSWER_FRACTION = 4
"""A party that is asked whether it is there has the deadline divided by this to answer."""


@dataclass(frozen=True)
class Progress:
    """Progress of a session."""

    step: str
    """Current step: ``parties`` at first, then kinds of messages, ``settled`` and ``end``."""
    there: tuple[str, ...]
    """Parties that are connected."""
    waiting: tuple[str, ...]
    """Parties that are awaited."""
    problems: tuple[str, ...] = ()
    """Why some of them cannot be met, as sentences without a full stop."""


class Connector(Protocol):
    """Opens connections to the other parties and says whose they are."""

    def open(self, mesh: Mesh) -> None:
        """Start opening connections."""

    async def close(self) -> None:
        """Close all connections."""


async def run(
    manifest: Manifest,
    identity: Identity,
    part: Callable[[NumericCrypto], Play[T]],
    folder: Path,
    *,
    brought: str = "",
    begun: Path | None = None,
    progress: Callable[[Progress], None] | None = None,
    connector: Connector | None = None,
) -> T:
    """Run one party of a session to its end; gives the result, or raises Aborted, which names culprits.

    ``folder`` is the party's own for this session. If it was begun there before, it goes on, provided that
    ``brought`` (a digest of the party's input) is the same as then; ``begun`` is the file that notes which sessions
    this party began, so that one whose folder is gone is not begun again.
    """
    connector = connector or TlsConnector(manifest, identity)
    journal = Journal(folder, manifest, identity.name, brought, begun)
    try:
        if journal.ended:
            raise journal.ended
        mesh = Mesh(manifest, identity, journal, folder)
        try:
            crypto = _WidthNotingCrypto(journal.secret, manifest.digest, mesh.widths)
            driver = _Driver(manifest, mesh, journal, part(crypto), progress)
            mesh.flush()
            if not journal.over:
                connector.open(mesh)
            try:
                return await driver.play()
            finally:
                await connector.close()
        finally:
            mesh.close()
    finally:
        journal.close()


class _WidthNotingCrypto(NumericCrypto):
    """Primitives that note the group of vectors of each length, which is the width they are sent with."""

    def __init__(self, secret: bytes, session: bytes, widths: dict[int, int]) -> None:
        super().__init__(secret, session)
        self._widths = widths

    def draw(self, label: str, group: ModularGroup, length: int) -> Vector:
        self._widths[length] = group.bits
        return super().draw(label, group, length)

    def mask(self, seed: bytes, label: str, group: ModularGroup, length: int) -> Vector:
        self._widths[length] = group.bits
        return super().mask(seed, label, group, length)

    def fits(self, part: MessagePart, group: ModularGroup, length: int) -> bool:
        self._widths[length] = group.bits
        return super().fits(part, group, length)


class _Driver(Generic[T]):
    """State of one party's run."""

    def __init__(
        self,
        manifest: Manifest,
        mesh: Mesh,
        journal: Journal,
        play: Play[T],
        progress: Callable[[Progress], None] | None,
    ) -> None:
        self._mesh, self._journal, self._play, self._progress = mesh, journal, play, progress
        self._deadline, self._start_within = float(manifest.deadline), float(manifest.start_within)
        self._threshold = manifest.terms.threshold
        self._least = (self._threshold or len(manifest.parties)) - 1
        """Number of other parties that must stay to the end."""
        self._waits = 0
        self._late: set[str] = set()
        self._others = tuple(mesh.peers)
        self._about: tuple[str, ...] | None = None
        """Parties whose messages may show who is to blame, if the error itself does not say so."""

    async def play(self) -> T:
        """Run everything, from meeting the others to parting."""
        try:
            if not self._begun:
                await self._assemble()
            result = await self._go_on()
            await self._settle()
        except Aborted as error:
            raise await self._abort(error) from None
        except DiscreetError:  # what it says may be for the party's own eyes
            await self._abort(Aborted(f"{self._mesh.name} could not continue.", culprits=(self._mesh.name,)))
            raise
        await self._part()
        return result

    # -- the beginning

    @property
    def _begun(self) -> bool:
        return any(peer.got for peer in self._mesh.peers.values())

    async def _assemble(self) -> None:
        """Wait until all have met; when time is up, go on without some where the protocol allows it."""
        until = asyncio.get_running_loop().time() + self._start_within
        while missing := [peer for peer in self._mesh.peers.values() if not peer.met]:
            self._check_ended()
            names = tuple(peer.name for peer in missing)
            self._report("parties", names)
            if not await self._mesh.changed(until):
                if self._threshold and len(self._others) - len(missing) >= self._least:
                    break
                why = "".join(f" ({peer.problem})" for peer in missing if peer.problem)
                raise _NeverMet(
                    f"No connection from {', '.join(names)} within {self._start_within:.0f} seconds{why}.",
                    culprits=names,
                    hint="Run it again when they run the session, too.",
                )
        self._check_ended()
        self._mesh.flush()  # nothing is said before it is on the disk that someone is there

    # -- the play

    async def _go_on(self) -> T:
        received: Any = None
        while True:
            try:
                effect = self._play.send(received)
            except StopIteration as ended:
                return ended.value  # type: ignore[no-any-return]
            except Aborted:
                self._about = self._others  # what it found may come of someone who told different things
                raise
            received = None
            if effect.kind in OWN_KINDS:
                raise BadInput(f"No protocol may call a message {effect.kind!r}.")
            if isinstance(effect, Send | Broadcast) and not effect.keys_only:
                self._journal.record_data_sent()
            match effect:
                case Send(to=to, kind=kind, body=body):
                    self._mesh.send(to, kind, body)
                case Broadcast(kind=kind, body=body):
                    self._mesh.broadcast(kind, body)
                case Receive(of=of, kind=kind, broadcast=broadcast):
                    received = (await self._wait((of,), kind, 1, broadcast=broadcast))[of]
                case Gather(of=several, kind=kind, least=least, broadcast=broadcast):
                    received = await self._wait(several, kind, least, broadcast=broadcast)

    async def _wait(self, of: tuple[str, ...], kind: str, least: int, *, broadcast: bool) -> dict[str, Body]:
        """Wait for one message of each party; what came in time is on the disk when this returns."""
        self._waits += 1
        late = self._journal.late.get(self._waits)
        if late is None:
            late = await self._missing(of, kind, least)
            if late:
                self._journal.record_late(self._waits, late)
        self._late |= set(late)
        self._mesh.flush()
        return {name: self._mesh.take(name, kind, broadcast=broadcast) for name in of if name not in late}

    async def _missing(self, of: tuple[str, ...], kind: str, least: int) -> tuple[str, ...]:
        """Wait for messages; gives the parties that did not send any in time."""
        mesh, begun = self._mesh, asyncio.get_running_loop().time()
        until, asked = begun + self._deadline, False
        while True:
            self._check_ended()
            missing = tuple(name for name in of if (name, kind) not in mesh.inbox)
            waiting = tuple(name for name in missing if not mesh.peers[name].left)
            if waiting:
                self._report(kind, waiting)
                if await mesh.changed(until):
                    continue
                if not asked:
                    mesh.ask(waiting)
                    asked, until = True, until + self._deadline / _ANSWER_FRACTION
                    continue
                if until < begun + 2 * self._deadline and any(mesh.peers[name].busy for name in waiting):
                    until = begun + 2 * self._deadline
                    continue
            if len(of) - len(missing) >= least:
                return missing
            raise self._too_few(missing, kind)

    def _too_few(self, missing: tuple[str, ...], kind: str) -> Aborted:
        for name in missing:
            if left := self._mesh.peers[name].left:
                return left
        silent = tuple(name for name in missing if not self._mesh.peers[name].busy)
        if silent:
            return Aborted.missing(silent, kind, cut=tuple(name for name in silent if not self._mesh.peers[name].link))
        return Aborted(
            f"{Aborted.missing(missing, kind).message} They are connected, and may be waiting for another party."
        )

    def _check_ended(self) -> None:
        """Raise if the session cannot go on: a party broke the rules, or too many dropped out."""
        if self._mesh.aborted:
            raise self._mesh.aborted
        left = self._mesh.departed
        if left and (not self._threshold or len(self._others) - len(left) < self._least):
            raise left[0]

    # -- the end

    async def _settle(self) -> None:
        """Agree with the others on all broadcasts."""
        mesh = self._mesh
        mesh.settle()
        staying = tuple(name for name in self._others if name not in self._late and not mesh.peers[name].left)
        least = min(self._least, len(staying)) if self._threshold else len(staying)
        for name, body in (await self._wait(staying, SETTLED, least, broadcast=True)).items():
            mesh.compare(name, body.get("heard"))

    async def _abort(self, error: Aborted) -> Aborted:
        """Broadcast the abort and wait until it is received; gives the error in the light of what others said."""
        mesh = self._mesh
        self._play.close()
        if isinstance(error, _NeverMet):
            return error
        suspects = error.suspects if isinstance(error, SessionEnded | DisputedBroadcast) else error.culprits
        self._journal.record_abort(error)
        mesh.abort(error, suspects if self._about is None else self._about)
        mesh.flush()
        mesh.ask(name for name in suspects if name in mesh.peers)
        mesh.finish()
        await self._linger(self._deadline / _ANSWER_FRACTION, lambda peer: peer.link is None)
        judged = self._attribute(error)
        if judged is not error:
            self._journal.record_abort(judged)
        return judged

    def _attribute(self, error: Aborted) -> Aborted:
        """Name the convicted; without proof, a witness that showed none, or a suspect that is missing here, too."""
        mesh = self._mesh
        if error is mesh.aborted:
            return error
        if mesh.convicted:
            return mesh.convicted
        if isinstance(error, DisputedBroadcast):
            return Aborted(f"{error.message} It gave no proof.", culprits=(error.witness,))
        if isinstance(error, SessionEnded) and not error.culprits:
            peers = (mesh.peers[name] for name in error.suspects if name in mesh.peers)
            missing = tuple(peer.name for peer in peers if not (peer.left or peer.done or (peer.link and peer.busy)))
            return Aborted(error.message, culprits=missing)
        return error

    async def _part(self) -> None:
        """Stay until all have what they need of this party, also those who crashed and come back."""
        if self._journal.over:
            return
        self._mesh.finish()
        if await self._linger(self._deadline, lambda peer: peer.name in self._late or peer.left is not None):
            self._journal.record_finished()

    async def _linger(self, seconds: float, without: Callable[[Peer], bool]) -> bool:
        until = asyncio.get_running_loop().time() + seconds
        while waiting := tuple(peer.name for peer in self._mesh.peers.values() if not peer.done and not without(peer)):
            self._report("end", waiting)
            if not await self._mesh.changed(until):
                return False
        return True

    def _report(self, step: str, waiting: tuple[str, ...]) -> None:
        if self._progress:
            there = tuple(peer.name for peer in self._mesh.peers.values() if peer.there)
            problems = (self._mesh.peers[name].attempt_problem for name in waiting)
            self._progress(Progress(step, there, waiting, tuple(filter(None, problems))))


class _NeverMet(Aborted):
    """A party never came: nothing was sent yet, and the session can be started again."""
