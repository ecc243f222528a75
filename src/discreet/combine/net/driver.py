"""Plays a party's part between hosts: does its effects over the mesh, in time, so that it can go on after a crash.

Whatever decides what the party says next (a message, who was late) is on the disk before the play goes on; playing
again from the beginning gives identical messages. At the end the parties *settle*: each signs what it heard everybody
tell all, and nobody takes a result before these agree. So a party that tells two others different things is found
out, whatever the protocol, and two honest parties never hold results of different messages.

Time: a step has the manifest's deadline. Whoever has not spoken by then is asked whether it is there; one that
answers gets as long again (it waits for somebody else, perhaps), one that does not is late. Where the protocol can do
without it, the others go on; otherwise the session ends, and all are told who was missing.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from discreet.combine.effects import Body, Gather, Play, Receive, Send, Tell
from discreet.combine.net.frames import OWN_KINDS, SETTLED
from discreet.combine.net.journal import Journal
from discreet.combine.net.keys import Identity
from discreet.combine.net.manifest import Manifest
from discreet.combine.net.mesh import Mesh, Peer
from discreet.combine.net.tls import Tls
from discreet.combine.tools import Numeric
from discreet.errors import Aborted, BadInput, DiscreetError

T = TypeVar("T")
_PATIENCE = 4
"""Who is asked has the deadline over this to answer."""
_CHAIN = struct.Struct(">I16s")


@dataclass(frozen=True)
class Progress:
    """How far a session is."""

    step: str
    """What is waited for: ``parties`` at first, then kinds of messages, ``settled`` and ``end``."""
    there: tuple[str, ...]
    """The other parties that are connected."""
    waiting: tuple[str, ...]
    """The parties that are waited for."""


class Roads(Protocol):
    """What opens connections to the other parties and says whose they are."""

    def open(self, mesh: Mesh) -> None:
        """Begin."""

    async def close(self) -> None:
        """End."""


async def run(
    manifest: Manifest,
    identity: Identity,
    part: Callable[[Numeric], Play[T]],
    folder: Path,
    *,
    brought: str = "",
    progress: Callable[[Progress], None] | None = None,
    roads: Roads | None = None,
) -> T:
    """Play a party's part in a session to its end; gives the result, or raises Aborted, which names culprits.

    ``folder`` is the party's own for this session. If it was begun there before, it goes on, provided that
    ``brought`` (a digest of the party's input) is the same as then.
    """
    road = roads or Tls(manifest, identity)
    journal = Journal(folder, manifest, identity.name, brought)
    try:
        if journal.ended:
            raise journal.ended
        mesh = Mesh(manifest, identity, journal, folder)
        try:
            tools = Numeric(journal.secret, manifest.digest)
            driver = _Driver(manifest, mesh, journal, part(tools), progress)
            mesh.flush()
            if not journal.over:
                road.open(mesh)
            try:
                return await driver.play()
            finally:
                await road.close()
        finally:
            mesh.close()
    finally:
        journal.close()


class _Driver(Generic[T]):
    """One party's play, as it goes."""

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
        """So many others must stay to the end."""
        self._waits = 0
        self._late: set[str] = set()
        self._others = tuple(mesh.peers)

    async def play(self) -> T:
        """Everything, from meeting the others to parting."""
        try:
            if not self._begun:
                await self._assemble()
            result = await self._go_on()
            await self._settle()
        except Aborted as error:
            await self._abort(error)
            raise
        except DiscreetError:  # what it says may be for the party's own eyes
            await self._abort(Aborted(f"{self._mesh.name} could not go on.", culprits=(self._mesh.name,)))
            raise
        await self._part()
        return result

    # -- the beginning

    @property
    def _begun(self) -> bool:
        return any(peer.got for peer in self._mesh.peers.values())

    async def _assemble(self) -> None:
        """Wait until everybody has met; go on without some only where the protocol can, and when time is up."""
        until = asyncio.get_running_loop().time() + self._start_within
        while missing := [peer for peer in self._mesh.peers.values() if not peer.met]:
            self._check_ended()
            names = tuple(peer.name for peer in missing)
            self._report("parties", names)
            if not await self._mesh.changed(until):
                if self._threshold and len(self._others) - len(missing) >= self._least:
                    break
                why = "".join(f" ({peer.problem})" for peer in missing if peer.problem)
                raise _NotThere(
                    f"Nobody came for {', '.join(names)} within {self._start_within:.0f} seconds{why}.",
                    culprits=names,
                    hint="When they run the session as well, run it again.",
                )
        self._check_ended()

    # -- the play

    async def _go_on(self) -> T:
        given: Any = None
        while True:
            try:
                effect = self._play.send(given)
            except StopIteration as ended:
                return ended.value  # type: ignore[no-any-return]
            given = None
            if effect.kind in OWN_KINDS:
                raise BadInput(f"No protocol may call a message {effect.kind!r}.")
            match effect:
                case Send(to=to, kind=kind, body=body):
                    self._mesh.send(to, kind, body)
                case Tell(to=many, kind=kind, body=body):
                    self._mesh.tell(many, kind, body)
                case Receive(of=of, kind=kind):
                    given = (await self._wait((of,), kind, 1))[of]
                case Gather(of=several, kind=kind, least=least):
                    given = await self._wait(several, kind, least)

    async def _wait(self, of: tuple[str, ...], kind: str, least: int) -> dict[str, Body]:
        """One message of each, of those in time; what it was is on the disk when this returns."""
        self._waits += 1
        late = self._journal.late.get(self._waits)
        if late is None:
            late = await self._missing(of, kind, least)
            if late:
                self._journal.waited(self._waits, late)
        self._late |= set(late)
        self._mesh.flush()
        return {name: self._mesh.take(name, kind) for name in of if name not in late}

    async def _missing(self, of: tuple[str, ...], kind: str, least: int) -> tuple[str, ...]:
        """Wait for messages; who did not send any in time."""
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
                    asked, until = True, until + self._deadline / _PATIENCE
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
        return Aborted.missing(silent or missing, kind)

    def _check_ended(self) -> None:
        """Raise if the session cannot go on: somebody broke the rules, or too many left."""
        if self._mesh.aborted:
            raise self._mesh.aborted
        left = [peer.left for peer in self._mesh.peers.values() if peer.left]
        if left and (not self._threshold or len(self._others) - len(left) < self._least):
            raise left[0]

    # -- the end

    async def _settle(self) -> None:
        """Agree with the others on what everybody told all."""
        mesh = self._mesh
        everybody = {mesh.name: mesh.own, **mesh.peers}
        heard = [(len(peer.chain), peer.chain[-1][:16] if peer.chain else b"") for _, peer in sorted(everybody.items())]
        told = b"".join(_CHAIN.pack(*one) for one in heard)
        mesh.tell(self._others, SETTLED, {"heard": told})
        staying = tuple(name for name in self._others if name not in self._late and not mesh.peers[name].left)
        least = min(self._least, len(staying)) if self._threshold else len(staying)
        bodies = await self._wait(staying, SETTLED, least)
        for name, body in bodies.items():
            self._compare(name, body.get("heard"), [peer for _, peer in sorted(everybody.items())])

    def _compare(self, name: str, heard: object, everybody: list[Peer]) -> None:
        if not isinstance(heard, bytes) or len(heard) != _CHAIN.size * len(everybody):
            raise Aborted(f"{name} broke the rules: what it says it heard cannot be read.", culprits=(name,))
        for peer, (count, digest) in zip(everybody, _CHAIN.iter_unpack(heard), strict=True):
            if 0 < count <= len(peer.chain) and peer.chain[count - 1][:16] != digest:
                if peer is self._mesh.own or peer.name == name:
                    raise Aborted(f"{name} says something else than it heard or told.", culprits=(name,))
                raise Aborted(f"{peer.name} told {name} something else than {self._mesh.name}.", culprits=(peer.name,))
            if count > len(peer.chain) and peer is self._mesh.own:
                raise Aborted(f"{name} says it heard what was never told.", culprits=(name,))

    async def _abort(self, error: Aborted) -> None:
        """Tell everybody, and leave when they know."""
        mesh = self._mesh
        self._play.close()
        if isinstance(error, _NotThere):
            return
        self._journal.end(error)
        mesh.abort(error)
        mesh.flush()
        mesh.finish()
        await self._linger(self._deadline / _PATIENCE, lambda peer: peer.link is None)

    async def _part(self) -> None:
        """Stay until everybody has what it needs of this party, also those who crashed and come back."""
        if self._journal.over:
            return
        self._mesh.finish()
        if await self._linger(self._deadline, lambda peer: peer.name in self._late or peer.left is not None):
            self._journal.close_up()

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
            self._progress(Progress(step, there, waiting))


class _NotThere(Aborted):
    """Somebody never came: nothing was said yet, and the session can be begun again."""
