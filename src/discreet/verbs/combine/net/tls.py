"""TLS 1.3 connections between hosts, in which both sides prove possession of the key in the manifest.

Each side trusts exactly the certificates that it makes itself of the names and keys in the manifest (``keys.py``), so
the handshake fails for everyone else, before a byte of theirs is looked at. Whose connection it is, is taken from the
certificate and nothing else: a caller cannot claim another name, and anyone who is called must be the one who was
meant. Handshakes that are not finished are limited in number and time, so that strangers cost little memory; when
there are too many, one makes room that has said nothing yet, the oldest of the address that has most of these, so
that strangers do not keep a party out.

Of two parties the later one in the manifest calls the earlier one, again and again until it answers. If the earlier
one's address is that of a relay, both call the relay (``relay.py``).

**The transport reads and writes its socket directly.** asyncio's own TLS passes everything through buffers in memory
and several objects in Python, which for short messages costs more than the cryptography. Here OpenSSL has the socket
itself: bytes go straight into the place they are for. Connections end without TLS's farewell: a party knows from the
messages, not from the connection, that all has come.
"""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
from collections import Counter, deque
from collections.abc import Coroutine
from contextlib import suppress
from tempfile import NamedTemporaryFile
from typing import IO

from discreet.core.optional import extra
from discreet.errors import BadInput, EngineError
from discreet.verbs.combine.net.keys import Identity, certificate
from discreet.verbs.combine.net.link import Link
from discreet.verbs.combine.net.manifest import Endpoint, Manifest
from discreet.verbs.combine.net.mesh import Mesh
from discreet.verbs.combine.net.relay import meet

with extra("combine"):
    from cryptography.hazmat.primitives.serialization import Encoding

HANDSHAKE_SECONDS = 10.0
"""Handshake timeout, seconds."""
_MAX_STRANGERS = 256
"""Maximum number of unfinished handshakes besides those of the parties."""
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.05, 1.0
_CLOSE_SECONDS = 1.0
"""Time limit for closing a connection, seconds."""
_HIGH_WATER_BYTES, _LOW_WATER_BYTES = 1 << 18, 1 << 16
"""Pending bytes above which the writer is paused, and below which it resumes."""
_MAX_READS = 64
"""Number of reads of one connection before others have their turn."""


class TlsConnector:
    """TLS connections to all other parties."""

    def __init__(self, manifest: Manifest, identity: Identity) -> None:
        self._me = manifest.party(identity.name)
        if identity.public != self._me.key:
            raise BadInput(
                f"The manifest has another key of {identity.name} than the one here.",
                hint=f"Send {identity.name}.pub again to the author of the manifest.",
            )
        self._manifest = manifest
        place = manifest.parties.index(self._me)
        self._earlier, self._later = manifest.parties[:place], manifest.parties[place + 1 :]
        self._key = identity.pem()
        self._tasks: set[asyncio.Task[None]] = set()
        self._links: set[Link] = set()
        self._handshakes: dict[asyncio.Task[None], str] = {}
        """Unfinished handshakes, the oldest first, with their addresses."""
        self._silent: dict[asyncio.Task[None], str] = {}
        """Handshakes in which the caller has sent nothing yet."""

    def open(self, mesh: Mesh) -> None:
        """Listen for and open connections until ``close``."""
        if self._me.relayed:
            for party in self._later:
                self._start(self._connect(mesh, party, _context(self._key, (party,), ssl.PROTOCOL_TLS_SERVER)))
        elif self._later:
            listening = _listen(self._me)
            self._start(self._answer(mesh, listening, _context(self._key, self._later, ssl.PROTOCOL_TLS_SERVER)))
        if self._earlier:
            context = _context(self._key, self._earlier, ssl.PROTOCOL_TLS_CLIENT)
            for party in self._earlier:
                self._start(self._connect(mesh, party, context))

    async def close(self) -> None:
        """Stop listening and connecting, and close all connections, after what was sent if that is quick."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for end in (Link.leave, Link.drop):
            for link in tuple(self._links):
                end(link)
            if self._links:
                await asyncio.wait([link.gone for link in self._links], timeout=_CLOSE_SECONDS)

    def _start(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _answer(self, mesh: Mesh, listening: socket.socket, context: ssl.SSLContext) -> None:
        loop = asyncio.get_running_loop()
        names = {_der(party): party.name for party in self._later}
        with listening:
            while True:
                try:
                    caller, address = await loop.sock_accept(listening)
                except OSError:  # one who hung up at once, or too many open files
                    await asyncio.sleep(_FIRST_PAUSE_SECONDS)
                    continue
                if len(self._handshakes) >= _MAX_STRANGERS + len(names):
                    self._make_room()
                task = self._start(self._receive(mesh, caller, context, names))
                self._handshakes[task] = self._silent[task] = address[0]
                task.add_done_callback(self._forget)

    def _make_room(self) -> None:
        """Cancel the oldest handshake of the address that has most of them, silent ones first."""
        some = self._silent or self._handshakes
        [(most, _)] = Counter(some.values()).most_common(1)
        oldest = next(task for task, address in some.items() if address == most)
        self._forget(oldest)
        oldest.cancel()

    def _forget(self, task: asyncio.Task[None]) -> None:
        self._handshakes.pop(task, None)
        self._silent.pop(task, None)

    async def _receive(
        self, mesh: Mesh, caller: socket.socket, context: ssl.SSLContext, names: dict[bytes, str]
    ) -> None:
        with caller, suppress(TimeoutError, OSError):  # a stranger, or one who hung up
            async with asyncio.timeout(HANDSHAKE_SECONDS):
                await wait_ready(caller)
            if task := asyncio.current_task():
                self._silent.pop(task, None)
            self._attach(mesh, await handshake(caller, context, server=True, seconds=HANDSHAKE_SECONDS), names)

    async def _connect(self, mesh: Mesh, party: Endpoint, context: ssl.SSLContext) -> None:
        """Connect to this party again and again: by a call, or at a relay."""
        names, pause = {_der(party): party.name}, _FIRST_PAUSE_SECONDS
        answers = party in self._later
        answering, calling = (self._me, party) if answers else (party, self._me)
        peer = mesh.peers[party.name]
        while True:
            try:
                raw = await _call(*answering.place)
                if answering.relayed:
                    peer.problem = f"has not called the {answering.address} yet"
                    await meet(raw, self._manifest, answering, calling, wait=answers)
                secure = await handshake(raw, context, server=answers, seconds=HANDSHAKE_SECONDS)
                link = self._attach(mesh, secure, names)
                await asyncio.shield(link.gone)
                pause = _FIRST_PAUSE_SECONDS if link.greeted else pause
            except ssl.SSLCertVerificationError:
                peer.problem = f"at {answering.address} answers a party that does not have {party.name}'s key"
            except (TimeoutError, OSError) as error:
                peer.problem = f"{answering.address}: {error}"
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)

    def _attach(self, mesh: Mesh, secure: ssl.SSLSocket, names: dict[bytes, str]) -> Link:
        """Attach a connection to the party whose certificate was shown; TLS has checked it against the manifest."""
        name = names.get(secure.getpeercert(binary_form=True) or b"")
        if name is None:
            secure.close()
            raise ssl.SSLCertVerificationError("A certificate without a name.")
        link = Link(mesh, name)
        self._links.add(link)
        link.gone.add_done_callback(lambda _: self._links.discard(link))
        TlsTransport(secure, link)
        return link


async def _call(host: str, port: int) -> socket.socket:
    loop = asyncio.get_running_loop()
    try:
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    except socket.gaierror:  # a name, which is asked for without making others wait
        addresses = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    problem = OSError(f"{host} has no address")
    for family, kind, protocol, _, address in addresses:
        raw = socket.socket(family, kind, protocol)
        try:
            raw.setblocking(False)
            async with asyncio.timeout(HANDSHAKE_SECONDS):
                await loop.sock_connect(raw, address)
        except OSError as error:
            raw.close()
            problem = error
        except BaseException:
            raw.close()
            raise
        else:
            return raw
    raise problem


def _context(key: bytes, others: tuple[Endpoint, ...], side: int) -> ssl.SSLContext:
    context = ssl.SSLContext(side)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False  # names are those of the manifest, not of hosts
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(cadata=b"".join(map(_der, others)))
    if side == ssl.PROTOCOL_TLS_SERVER:
        context.num_tickets = 0
    with _memory_file() as file:
        file.write(key)
        file.flush()
        context.load_cert_chain(f"/proc/self/fd/{file.fileno()}" if isinstance(file.name, int) else file.name)
    return context


def _memory_file() -> IO[bytes]:
    """A file for a key, which TLS reads from files: in memory where possible, so that a crash leaves nothing."""
    return os.fdopen(os.memfd_create("key"), "wb") if hasattr(os, "memfd_create") else NamedTemporaryFile()


def _der(party: Endpoint) -> bytes:
    return certificate(party.name, party.key).public_bytes(Encoding.DER)


def _listen(me: Endpoint) -> socket.socket:
    host, port = me.place
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        listening = socket.create_server((host, port), family=family, backlog=1024)
    except OSError as error:
        raise EngineError(
            f"{me.name} cannot listen at {me.address}: {error}.", hint="The manifest says where each party listens."
        ) from None
    listening.setblocking(False)
    return listening


async def handshake(raw: socket.socket, context: ssl.SSLContext, *, server: bool, seconds: float) -> ssl.SSLSocket:
    """Do the TLS handshake; on OSError or TimeoutError the socket is closed."""
    raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    secure = context.wrap_socket(raw, server_side=server, do_handshake_on_connect=False)
    try:
        async with asyncio.timeout(seconds):
            while True:
                try:
                    secure.do_handshake()
                    return secure
                except ssl.SSLWantReadError:
                    await wait_ready(secure, write=False)
                except ssl.SSLWantWriteError:
                    await wait_ready(secure, write=True)
    except BaseException:
        secure.close()
        raise


async def wait_ready(secure: socket.socket, *, write: bool = False) -> None:
    """Wait until there is something to read, or room to write."""
    loop = asyncio.get_running_loop()
    there: asyncio.Future[None] = loop.create_future()
    handle = secure.fileno()
    add, remove = (loop.add_writer, loop.remove_writer) if write else (loop.add_reader, loop.remove_reader)
    add(handle, _tell, there)
    try:
        await there
    finally:
        remove(handle)


def _tell(there: asyncio.Future[None]) -> None:
    if not there.done():
        there.set_result(None)


class TlsTransport(asyncio.Transport):
    """Transport between a TLS socket and a buffered protocol."""

    def __init__(self, secure: ssl.SSLSocket, protocol: asyncio.BufferedProtocol) -> None:
        super().__init__()
        self._loop, self._socket, self._protocol = asyncio.get_running_loop(), secure, protocol
        self._handle = secure.fileno()
        self._waiting: deque[memoryview] = deque()
        self._size = 0
        self._paused = self._closing = self._gone = False
        protocol.connection_made(self)
        if not self._gone:
            self._loop.add_reader(self._handle, self._read)
            self._loop.call_soon(self._read)  # what came with the handshake

    def is_closing(self) -> bool:
        return self._closing

    def get_write_buffer_size(self) -> int:
        return self._size

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Send bytes, now or when there is room."""
        if self._closing:
            return
        self._waiting.append(memoryview(data))
        self._size += len(data)
        if len(self._waiting) == 1:
            self._write()
            if self._size and not self._gone:
                self._loop.add_writer(self._handle, self._write)
        if self._size > _HIGH_WATER_BYTES and not self._paused:
            self._paused = True
            self._protocol.pause_writing()

    def close(self) -> None:
        """Close when everything is sent."""
        self._closing = True
        if not self._size:
            self.abort()

    def abort(self) -> None:
        if not self._gone:
            self._gone = self._closing = True
            self._loop.remove_reader(self._handle)
            self._loop.remove_writer(self._handle)
            self._socket.close()
            self._loop.call_soon(self._protocol.connection_lost, None)

    def _read(self) -> None:
        for _ in range(_MAX_READS):
            if self._gone:
                return
            buffer = self._protocol.get_buffer(-1)
            try:
                count = self._socket.recv_into(buffer)
            except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
                return
            except OSError:
                count = 0
            if not count:
                self.abort()
                return
            self._protocol.buffer_updated(count)
        self._loop.call_soon(self._read)  # OpenSSL may hold more, of which the socket does not know

    def _write(self) -> None:
        while self._waiting and not self._gone:
            try:
                count = self._socket.send(self._waiting[0])
            except (ssl.SSLWantWriteError, ssl.SSLWantReadError):
                break  # OpenSSL goes on where it was when it is given the same again
            except OSError:
                self.abort()
                return
            self._size -= count
            if count == len(self._waiting[0]):
                self._waiting.popleft()
            else:
                self._waiting[0] = self._waiting[0][count:]
        if self._gone:
            return
        if not self._waiting:
            self._loop.remove_writer(self._handle)
            if self._closing:
                self.abort()
                return
        if self._paused and self._size < _LOW_WATER_BYTES:
            self._paused = False
            self._protocol.resume_writing()
