"""Relay for parties that cannot call each other, as both are behind firewalls: it joins two calls, and passes on bytes.

Both parties call the relay and name their meeting, and it joins the two calls. Inside them they speak TLS as without
a relay, each checking the other's key, so the relay is trusted with nothing: it sees who speaks with whom, when and how
much, and can cut a connection, as any router on the way can. Names of meetings follow from the manifest, so a relay
joins the parties of the session that it was started for and no one else.
"""

from __future__ import annotations

import asyncio
import hashlib
import socket
from collections.abc import Callable
from contextlib import suppress
from itertools import combinations

from discreet.errors import BadInput, EngineError
from discreet.verbs.combine.net.manifest import Endpoint, Manifest, read_place

INTRODUCTION_SECONDS = 10.0
"""Time limit for opening a connection and for the first line on it, seconds."""
_MAX_STRANGERS = 256
"""Maximum number of connections that have not named a meeting yet."""
_BLOCK_BYTES = 1 << 16
_KEEPALIVE = {"TCP_KEEPIDLE": 30, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 3}
"""Seconds of silence before a probe, seconds between probes, and probes without an answer before a call has ended."""
_WAIT, _CALL = b"wait", b"call"
_JOINED = b"joined\n"

Call = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Relay:
    """Joins the calls of the parties of one session."""

    def __init__(self, manifest: Manifest, progress: Callable[[str], None] = lambda _: None) -> None:
        self._meetings = {
            _meeting(manifest, answering, calling): f"{answering.name} and {calling.name}"
            for answering, calling in combinations(manifest.parties, 2)
            if answering.relayed
        }
        if not self._meetings:
            raise BadInput(
                f"No party of {manifest.name} that others call is at a relay.",
                hint="Write --at NAME=relay:HOST:PORT when the manifest is made; the last party calls all others.",
            )
        self._progress = progress
        self._calls: set[asyncio.Task[None]] = set()
        self._strangers: dict[asyncio.StreamWriter, None] = {}
        """Connections that have not named a meeting yet, the oldest first."""
        self._waiting: dict[tuple[bytes, bytes], asyncio.Future[Call]] = {}
        """By side and meeting, what tells a call that waits of the other."""
        self._joined: dict[bytes, tuple[Call, Call]] = {}

    async def serve(self, host: str, port: int) -> None:
        """Listen and join calls until cancelled."""
        try:
            server = await asyncio.start_server(self._take, host, port, limit=_BLOCK_BYTES)
        except OSError as error:
            raise EngineError(
                f"The relay cannot listen at {host}:{port}: {error}.", hint="--listen HOST:PORT names another place."
            ) from None
        self._progress(f"Relay at {host}:{port} for {', '.join(self._meetings.values())}.")
        try:
            await server.serve_forever()
        finally:
            server.close()
            for task in self._calls:
                task.cancel()
            await asyncio.gather(*self._calls, return_exceptions=True)

    async def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Take one call, from its first line to its end."""
        if task := asyncio.current_task():
            self._calls.add(task)
            task.add_done_callback(self._calls.discard)
        try:
            with suppress(OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
                side, meeting = await self._introduction(reader, writer)
                if side in (_WAIT, _CALL) and meeting in self._meetings:
                    await self._meet(side, meeting, (reader, writer))
        finally:
            writer.close()

    async def _introduction(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> tuple[bytes, bytes]:
        if len(self._strangers) >= _MAX_STRANGERS:
            next(iter(self._strangers)).transport.abort()
        self._strangers[writer] = None
        try:
            async with asyncio.timeout(INTRODUCTION_SECONDS):
                side, _, meeting = (await reader.readuntil(b"\n")).rstrip().partition(b" ")
        finally:
            self._strangers.pop(writer, None)
        keep_alive(writer.get_extra_info("socket"))
        return side, meeting

    async def _meet(self, side: bytes, meeting: bytes, call: Call) -> None:
        """Join this call to the other side's, or wait for that; a new call takes the place of an older one."""
        if other := self._waiting.pop((_CALL if side == _WAIT else _WAIT, meeting), None):
            other.set_result(call)
            await call[1].wait_closed()  # the call that came first passes on the bytes of both
            return
        told: asyncio.Future[Call] = asyncio.get_running_loop().create_future()
        if older := self._waiting.get((side, meeting)):
            older.cancel()
        self._waiting[side, meeting] = told
        hung_up = asyncio.create_task(call[0].read(1))  # a call that waits has nothing to say
        try:
            await asyncio.wait((told, hung_up), return_when=asyncio.FIRST_COMPLETED)
        finally:
            hung_up.cancel()
            await asyncio.gather(hung_up, return_exceptions=True)
            if self._waiting.get((side, meeting)) is told:
                del self._waiting[side, meeting]
        if told.done() and not told.cancelled():
            await self._join(meeting, call, told.result())

    async def _join(self, meeting: bytes, first: Call, second: Call) -> None:
        """Pass on bytes between two calls until one of them ends."""
        for _, writer in self._joined.get(meeting, ()):
            writer.transport.abort()
        pair = self._joined[meeting] = (first, second)
        self._progress(f"{self._meetings[meeting]}: joined")
        for _, writer in pair:
            writer.write(_JOINED)
        ways = [asyncio.create_task(_pass_on(one[0], other[1])) for one, other in ((first, second), (second, first))]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            for _, writer in pair:
                writer.close()
            if self._joined[meeting] is pair:
                del self._joined[meeting]
            self._progress(f"{self._meetings[meeting]}: ended")


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while block := await reader.read(_BLOCK_BYTES):
            writer.write(block)
            await writer.drain()


def run_relay(manifest: Manifest, listen: str | None, progress: Callable[[str], None]) -> None:
    """Run the relay of a session here until interrupted, at its address in the manifest or another."""
    relay = Relay(manifest, progress)
    places = {party.place for party in manifest.parties if party.relayed}
    if listen is None and len(places) > 1:
        raise BadInput(
            f"{manifest.name} has {len(places)} relays.", hint="--listen HOST:PORT says which of them this is."
        )
    host, port = places.pop() if listen is None else read_place(listen)
    asyncio.run(relay.serve(host, port))


async def meet(raw: socket.socket, manifest: Manifest, answering: Endpoint, calling: Endpoint, *, wait: bool) -> None:
    """Name the meeting to a relay, and wait until the other side is there; on an error the socket is closed."""
    loop = asyncio.get_running_loop()
    keep_alive(raw)
    side, said = (_WAIT if wait else _CALL), b""
    try:
        await loop.sock_sendall(raw, b"%s %s\n" % (side, _meeting(manifest, answering, calling)))
        while said != _JOINED:
            more = await loop.sock_recv(raw, len(_JOINED) - len(said))
            said += more
            if not more:
                raise OSError("the relay hung up; was it started with this manifest?")
            if not _JOINED.startswith(said):
                raise OSError("what answers there is not a relay")
    except BaseException:
        raw.close()
        raise


def keep_alive(raw: socket.socket) -> None:
    """Notice within a minute that the other end of a silent connection has gone."""
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEPALIVE.items():
        if hasattr(socket, name):  # not on every system
            raw.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def _meeting(manifest: Manifest, answering: Endpoint, calling: Endpoint) -> bytes:
    """Name of a meeting: the same at every attempt, and known only to those who have the manifest."""
    names = f"{answering.name} {calling.name}".encode()
    return hashlib.sha256(b"discreet combine relay 1\n" + manifest.at_attempt(1).digest + names).hexdigest().encode()
