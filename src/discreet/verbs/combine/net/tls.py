"""Connections between hosts by TLS 1.3, in which both sides prove to have the key in the manifest.

Each side trusts exactly the certificates that it makes itself of the names and keys in the manifest (``keys.py``), so
the handshake fails for everybody else, before a byte of theirs is looked at. Whose connection it is, is read off the
certificate and nothing else: a caller cannot claim another name, and whoever is called must be the one who was meant.
Handshakes that are not finished are limited in number and time, so that strangers cost little memory; when there are
too many, one makes room that has said nothing yet, the oldest of the address that has most of these, so that strangers
do not keep a party out.

Of two parties the later one in the manifest calls the earlier one, again and again until it answers.
"""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
from collections import Counter
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
from discreet.verbs.combine.net.tls_socket import TlsTransport, handshake, wait_ready

with extra("combine"):
    from cryptography.hazmat.primitives.serialization import Encoding

HANDSHAKE_SECONDS = 10.0
"""Handshake timeout."""
_MAX_STRANGERS = 256
"""Number of unfinished handshakes besides those of the parties."""
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.05, 1.0
_CLOSE_SECONDS = 1.0
"""Time limit for closing a connection."""


class TlsConnector:
    """TLS connections to all other parties."""

    def __init__(self, manifest: Manifest, identity: Identity) -> None:
        self._me = manifest.party(identity.name)
        if identity.public != self._me.key:
            raise BadInput(
                f"The manifest has another key of {identity.name} than the one here.",
                hint=f"Send {identity.name}.pub again to whoever makes the manifest.",
            )
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
        """Listen and call; goes on until ``close``."""
        if self._later:
            listening = _listen(self._me)
            self._start(self._answer(mesh, listening, _context(self._key, self._later, ssl.PROTOCOL_TLS_SERVER)))
        if self._earlier:
            context = _context(self._key, self._earlier, ssl.PROTOCOL_TLS_CLIENT)
            for party in self._earlier:
                self._start(self._call(mesh, party, context))

    async def close(self) -> None:
        """Stop listening and calling, and close all connections: after what was sent, if that does not take long."""
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

    async def _call(self, mesh: Mesh, party: Endpoint, context: ssl.SSLContext) -> None:
        names, pause = {_der(party): party.name}, _FIRST_PAUSE_SECONDS
        while True:
            try:
                raw = await _connect(*party.place)
                link = self._attach(mesh, await handshake(raw, context, server=False, seconds=HANDSHAKE_SECONDS), names)
                await asyncio.shield(link.gone)
                pause = _FIRST_PAUSE_SECONDS if link.greeted else pause
            except ssl.SSLCertVerificationError:
                mesh.peers[party.name].problem = f"at {party.address} answers somebody who has not {party.name}'s key"
            except (TimeoutError, OSError) as error:
                mesh.peers[party.name].problem = f"{party.address}: {error}"
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)

    def _attach(self, mesh: Mesh, secure: ssl.SSLSocket, names: dict[bytes, str]) -> Link:
        """Attach a connection to the party whose certificate was shown; TLS has checked it against the manifest."""
        name = names.get(secure.getpeercert(binary_form=True) or b"")
        if name is None:
            secure.close()
            raise ssl.SSLCertVerificationError("A certificate of nobody.")
        link = Link(mesh, name)
        self._links.add(link)
        link.gone.add_done_callback(lambda _: self._links.discard(link))
        TlsTransport(secure, link)
        return link


async def _connect(host: str, port: int) -> socket.socket:
    """Open a connected socket."""
    loop = asyncio.get_running_loop()
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    except socket.gaierror:  # a name, which is asked for without making others wait
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    problem = OSError(f"{host} has no address")
    for family, kind, protocol, _, address in found:
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
