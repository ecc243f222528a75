"""A network in memory with a clock of its own, on which parties are killed and messages harmed, as a schedule says.

The parties run the driver and the mesh as they are; only the roads are others. Time passes when nobody has anything to
do, so that deadlines cost nothing, and a session in which nobody ever will is noticed at once: that is a hang.
"""

from __future__ import annotations

import asyncio
import selectors
import struct
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace

from tests.combine.net.sessions import identity, part

from discreet.verbs.combine.net.driver import run
from discreet.verbs.combine.net.frames import SIGNATURE_BYTES, Header, decode_body, encode_body, sign
from discreet.verbs.combine.net.link import Link

LATENCY, INSTANT = 0.01, 1e-7
_HEAD = struct.Struct(">BII")
_LONG = 10_000.0


class Hang(Exception):
    """Nobody will ever have anything to do."""


class Idle(selectors.SelectSelector):
    """Waits for nothing from outside: time passes instead."""

    now = 0.0

    def select(self, timeout=None):
        if timeout is None or self.now > _LONG:
            raise Hang
        self.now += max(timeout, 0)
        return []


class Clock(asyncio.SelectorEventLoop):
    """An event loop whose time passes only when nothing else can happen."""

    def __init__(self):
        self.idle = Idle()
        super().__init__(self.idle)

    def time(self):
        return self.idle.now


def on_clock(work):
    """Run a coroutine on a clock of its own, in a thread of its own."""

    def begin():
        with asyncio.Runner(loop_factory=Clock) as runner:
            return runner.run(work())

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(begin).result()


@dataclass
class Network:
    """All parties of a session, their connections, and what is done to them."""

    session: object
    folder: object
    harm: Callable[[str, str, bytes], list[bytes] | None] = lambda of, to, data: [data]
    """What becomes of a message on its way: what arrives instead, or None: the connection breaks."""
    latency: Callable[[str, str], float] = lambda of, to: LATENCY
    bring: Callable[[str], object] = lambda name: None
    connector: dict[str, Connector] = field(default_factory=dict)
    tasks: dict[str, asyncio.Task] = field(default_factory=dict)

    def start(self, name):
        """Start a party, or start it again."""
        self.connector[name] = Connector(self, name)
        work = run(
            self.session,
            identity(name),
            part(self.session, name, 2, self.bring(name)),
            self.folder / name,
            brought=str(self.bring(name)),
            connector=self.connector[name],
        )
        self.tasks[name] = asyncio.get_running_loop().create_task(work)

    async def kill(self, name):
        """End a party's process at once."""
        self.connector[name].dead = True
        self.sever(name)
        self.tasks[name].cancel()
        with suppress(asyncio.CancelledError, Exception):
            await self.tasks[name]

    def sever(self, one, other=None):
        """Break connections of a party."""
        for peer, end in list(self.connector[one].ends.items()):
            if other in (None, peer):
                end.abort()

    async def outcomes(self):
        """How it ended for each party that was not killed for good: a total, or an error."""
        alive = {name: task for name, task in self.tasks.items() if not self.connector[name].dead}
        ended = await asyncio.gather(*alive.values(), return_exceptions=True)
        return dict(zip(alive, ended, strict=True))


class Connector:
    """A party's way to the others: the later one calls the earlier one until it is there."""

    def __init__(self, network, name):
        self.network, self.name, self.dead, self.mesh = network, name, False, None
        self.ends, self.calls = {}, []

    def open(self, mesh):
        self.mesh = mesh
        names = self.network.session.terms.parties
        for other in names[: names.index(self.name)]:
            self.calls.append(asyncio.get_running_loop().create_task(self.call(other)))

    async def call(self, other):
        while True:
            there = self.network.connector.get(other)
            if there and there.mesh and not there.dead:
                mine = connect(self, there)
                await mine.gone
            await asyncio.sleep(5 * LATENCY)

    async def close(self):
        self.mesh_gone = self.mesh
        for task in self.calls:
            task.cancel()
        await asyncio.gather(*self.calls, return_exceptions=True)
        self.mesh = None


def connect(here, there):
    """A connection between two parties; gives the link of the first."""
    near, far = Link(here.mesh, there.name), Link(there.mesh, here.name)
    ends = End(here, there, near), End(there, here, far)
    ends[0].other, ends[1].other = ends[1], ends[0]
    for end in ends:
        end.connector.ends[end.peer.name] = end
        end.link.connection_made(end)
    return near


class End(asyncio.Transport):
    """One end of a connection in memory: what is written arrives later, in order, as one piece."""

    def __init__(self, connector, peer, link):
        super().__init__()
        self.connector, self.peer, self.link, self.other = connector, peer, link, None
        self.closing = self.lost = False
        self.due = 0.0

    def get_write_buffer_size(self):
        return int(self.due > asyncio.get_running_loop().time())

    def is_closing(self):
        return self.closing

    def write(self, data):
        loop, network = asyncio.get_running_loop(), self.connector.network
        if self.closing:
            return
        pieces = network.harm(self.connector.name, self.peer.name, bytes(data))
        if pieces is None:
            self.abort()
            return
        self.due = max(self.due, loop.time() + network.latency(self.connector.name, self.peer.name))
        for piece in pieces:
            self.due += INSTANT  # what is due at the same time would come in any order
            loop.call_at(self.due, self.other.feed, piece)

    def feed(self, data):
        while data and not self.lost and not self.connector.dead:
            room = self.link.get_buffer(len(data))
            count = min(len(room), len(data))
            room[:count] = data[:count]
            self.link.buffer_updated(count)
            data = data[count:]

    def close(self):
        """After what was written."""
        if not self.closing:
            self.closing = True
            loop = asyncio.get_running_loop()
            loop.call_at(max(self.due, loop.time()) + LATENCY, self.abort)

    def abort(self):
        """At once."""
        self.closing = True
        for end in (self, self.other):
            asyncio.get_running_loop().call_soon(end.lose)

    def lose(self):
        if not self.lost:
            self.lost = self.closing = True
            self.link.connection_lost(None)


def read(data):
    """The place, header, signature and body of a frame that is written as one piece; nothing for others."""
    word, place, size = _HEAD.unpack_from(data)
    if word:
        return None
    at = _HEAD.size + size
    return place, Header.unpack(data[_HEAD.size : at]), data[at : at + SIGNATURE_BYTES], data[at + SIGNATURE_BYTES :]


def twisted(data, **changes):
    """The same message saying something else, signed by its sender all the same; nothing if it is sealed.

    ``changes`` are those to its header.
    """
    found = read(data)
    if found is None or found[1].sealed:
        return None
    place, header, _, body = found
    said = decode_body(body, 1_000_000)
    for name, value in said.items():
        if isinstance(value, bytes):
            said[name] = bytes([value[0] ^ 1]) + value[1:]
        elif not isinstance(value, str | tuple):
            said[name] = value + value.dtype.type(1)
    return packed(place, sign(identity(header.of), replace(header, **changes), encode_body(said, 1_000_000)))


def packed(place, frame):
    """A frame as it is written."""
    raw = frame.signed.raw
    return _HEAD.pack(0, place, len(raw)) + raw + frame.signed.signature + frame.body
