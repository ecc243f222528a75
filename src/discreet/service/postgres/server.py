"""Server of PostgreSQL's protocol: who may connect, how many at once, and whose statements are cancelled.

Connections are counted before and after signing in, by network address and by person, so that no one takes the places
of others. A failed sign-in counts against its address, as a wrong password does; and no one guesses a token.
Beyond this computer connections are encrypted, with the certificate of the service, or not accepted.
"""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import ssl
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import Any

from fastapi import FastAPI
from sqlglot import exp

from discreet.curator.people.scram import Verifier
from discreet.errors import BadInput, DiscreetError, NotAllowed, NotSignedIn, TooMany
from discreet.noise.entropy import SYSTEM
from discreet.service.api.limits import Buckets, neighbourhood
from discreet.service.in_process import in_process_by_digest
from discreet.service.listen import Certificate, listening
from discreet.service.postgres import messages
from discreet.service.postgres.catalogue import Catalogue, Result
from discreet.service.postgres.connection import Connection, Ended, Prepared
from discreet.service.postgres.messages import BadMessage, Startup
from discreet.service.postgres.questions import Questions
from discreet.service.postgres.scram import Exchange, certificate_digest
from discreet.service.postgres.session import Session
from discreet.service.postgres.session_settings import REPORTED, SERVER_VERSION, SessionSettings
from discreet.service.postgres.sign_in import SIGN_IN_SECONDS, sign_in
from discreet.service.postgres.sqlstate import error_message
from discreet.service.postgres.stream import Stream, refuse
from discreet.service.settings import Settings
from discreet.service.turns import Turns

MOST_CONNECTIONS, MOST_OF_PERSON = 300, 80
"""Connections of people who have signed in: of all, and of each."""
MOST_NEW, MOST_OF_ADDRESS = 128, 80
"""Connections of those who have not: of all, and of each address."""
_CATALOGUES_AT_ONCE, _CATALOGUES_WAITING = 4, 100
_MOST_CATALOGUES = 32
_READ_BYTES = 65_536
_NOBODYS = Verifier(b"\0" * 32, b"\0" * 32)
"""A digest that no token has."""
_LOG = logging.getLogger("discreet.service.postgres")


class PostgresServer:
    """Serves an app to clients that speak PostgreSQL's protocol."""

    def __init__(self, app: FastAPI, settings: Settings) -> None:
        """``app`` is the whole service, to which all requests go."""
        self._app, self._settings = app, settings
        self.tls = settings.tls
        self._certificate: Certificate | None = app.state.certificate
        self._door: socket.socket | None = None
        self._failures = Buckets(settings.sign_ins_a_minute / 60, settings.sign_ins_a_minute)
        self._catalogues = _Catalogues(app.state.desk.workspace.folder.name)
        self._new: Counter[str] = Counter()
        self._people: Counter[str] = Counter()
        self._connections: dict[tuple[int, bytes], Connection] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def listen(self) -> socket.socket:
        """Take the port; an error if someone else has it."""
        if self._door is None:
            self._door = listening(replace(self._settings, port=self._settings.postgres_port or 0))
        return self._door

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self.listen().getsockname()[1])

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """Accept connections until this is left; then those that are there end."""
        door = self.listen()
        loop = asyncio.get_running_loop()

        def protocol() -> asyncio.StreamReaderProtocol:
            reader = _CountingReader(limit=_READ_BYTES, loop=loop)
            return asyncio.StreamReaderProtocol(reader, self._connected, loop=loop)

        server = await loop.create_server(protocol, sock=door)
        try:
            yield
        finally:
            server.close()
            for task in self._tasks:
                task.cancel()
            if self._tasks:
                await asyncio.wait(self._tasks, timeout=self._settings.grace)
            self._catalogues.close()
            self._door = None

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peer = writer.get_extra_info("peername") or ("",)
        stream = Stream(reader, writer)
        try:
            await self._welcome(stream, reader, writer, neighbourhood(str(peer[0])))
        except asyncio.CancelledError:  # the service stops
            await refuse(stream, "57P01", "The service is stopping.")
        except BadMessage as error:
            await refuse(stream, "08P01", f"A message cannot be understood: {error}.")
        except TimeoutError:
            await refuse(stream, "57P05", "The connection was idle for too long.")
        except (ConnectionError, asyncio.IncompleteReadError, ssl.SSLError, Ended):
            pass
        except Exception:  # noqa: BLE001  # its words are for no one
            _LOG.exception("fault")
        finally:
            writer.close()
            with suppress(Exception):
                await asyncio.wait_for(writer.wait_closed(), 1)

    async def _welcome(
        self, stream: Stream, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, address: str
    ) -> None:
        """Sign someone in and serve them. Their place among the new is theirs until they are known."""
        if self._new.total() >= MOST_NEW or self._new[address] >= MOST_OF_ADDRESS:
            await refuse(stream, "53300", "Too many connections are signing in.")
            return
        self._new[address] += 1
        try:
            async with asyncio.timeout(SIGN_IN_SECONDS):
                greeted = await self._greeted(stream, reader, writer)
                if greeted is None:
                    return
                startup, tls = greeted
                person = startup.parameters.get("user", "")
                digest = await self._known(stream, person, address, tls=tls)
        except TimeoutError:
            return
        finally:
            self._new[address] -= 1
            if not self._new[address]:
                del self._new[address]
        if digest is None:
            return
        if self._people.total() >= MOST_CONNECTIONS or self._people[person] >= MOST_OF_PERSON:
            await refuse(stream, "53300", "There are too many connections.", "Close some of yours.")
            return
        self._people[person] += 1
        try:
            await self._serve_person(stream, person, digest, startup)
        finally:
            self._people[person] -= 1
            if not self._people[person]:
                del self._people[person]

    async def _greeted(
        self, stream: Stream, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> tuple[Startup, bool] | None:
        """The startup message of a client, and whether it came over TLS; ``None`` if there is nothing more to do."""
        tls = False
        for _ in range(4):
            startup = await stream.startup()
            if startup.code == messages.CANCEL_REQUEST and startup.key is not None:
                self._cancel(startup.key)
                return None
            if startup.code == messages.GSS_REQUEST:
                stream.send(b"N")
                await stream.flush()
            elif startup.code == messages.SSL_REQUEST and not tls:
                tls = await self._encrypted(stream, reader, writer)
            elif startup.code >> 16 == messages.PROTOCOL >> 16:
                if self.tls and not tls:
                    await refuse(
                        stream, "28000", "The connection must be encrypted.", "Connect with sslmode=verify-full."
                    )
                    return None
                if startup.code != messages.PROTOCOL or any(name.startswith("_pq_.") for name in startup.parameters):
                    stream.send(_negotiated(startup))
                return startup, tls
            else:
                raise BadMessage("its version of the protocol is not 3")
        raise BadMessage("it is repeated")

    async def _encrypted(self, stream: Stream, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Whether the connection is encrypted from now on. Nothing that came before counts as said after."""
        stream.send(b"N" if self._certificate is None else b"S")
        if self._certificate is None:
            await stream.flush()
            return False
        transport = writer.transport
        if isinstance(transport, asyncio.ReadTransport):
            transport.pause_reading()
        if not isinstance(reader, _CountingReader) or reader.unread:
            raise BadMessage("something came before the encryption")
        await stream.flush()
        await writer.start_tls(self._certificate.context, ssl_handshake_timeout=SIGN_IN_SECONDS)
        return True

    async def _known(self, stream: Stream, person: str, address: str, *, tls: bool) -> str | None:
        """The digest of the token that someone proves to know; ``None``: they were turned away."""
        try:
            self._failures.require(address)
            try:
                return await sign_in(stream, self, person, tls=tls)
            except NotSignedIn:
                with suppress(TooMany):
                    self._failures.take(address)
                _LOG.warning("a sign-in by PostgreSQL's protocol failed")
                raise
        except TooMany as error:
            await refuse(stream, "28000", error.message, error.hint)
        except NotSignedIn as error:
            await refuse(stream, "28P01", error.message, error.hint)
        return None

    def exchange(self, person: str, *, tls: bool) -> Exchange:
        """A new exchange with someone who calls themselves ``person``."""
        verifiers = self._app.state.desk.people.verifiers(person) or {"": _NOBODYS}  # so that it takes as long
        certificate = self._certificate if tls else None
        binding = None if certificate is None else certificate_digest(certificate.chain)
        return Exchange(person, verifiers, binding)

    async def _serve_person(self, stream: Stream, person: str, digest: str, startup: Startup) -> None:
        request = in_process_by_digest(self._app, digest)

        async def send(method: str, path: str, body: Mapping[str, Any] | None) -> Any:
            return await request(method, path, body, None)

        most = self._settings.postgres_cap
        settings = SessionSettings(person, most, usual=str(most or 1))
        questions = Questions(send, settings)
        try:
            found = await send("GET", "/v1/session", None)
            if found["name"] != person or found["role"] != "analyst":
                raise NotAllowed("Only analysts connect here.", hint="Add an account: discreet people add.")
            if found["must_change"]:
                raise NotAllowed(
                    "You have a one-time password, which must be changed first.", hint="Sign in to the console."
                )
            await questions.tables()
            settings.start(_given(startup.parameters))
        except DiscreetError as error:
            stream.send(error_message(error, "FATAL"))
            await stream.flush()
            return
        prepared: dict[str, Prepared] = {}
        connection = Connection(stream, Session(questions, settings, self._lookup(person), prepared), prepared)
        key = self._key()
        self._connections[key] = connection
        try:
            stream.send(messages.authentication(0))
            for name in REPORTED:
                stream.send(messages.parameter_status(name, settings.require(name)))
            stream.send(messages.backend_key(*key) + messages.ready("I"))
            await stream.flush()
            await connection.serve()
        finally:
            del self._connections[key]

    def _lookup(self, person: str) -> Callable[..., Any]:
        async def lookup(
            tables: Sequence[Mapping[str, Any]], query: Callable[[Mapping[str, str]], exp.Query]
        ) -> Result:
            return await self._catalogues.look_up(person, tables, query)

        return lookup

    def _key(self) -> tuple[int, bytes]:
        """What a client needs to have its statements cancelled: no one guesses it."""
        while True:
            key = int.from_bytes(SYSTEM.bytes(4)) >> 1, SYSTEM.bytes(4)
            if key not in self._connections:
                return key

    def _cancel(self, key: tuple[int, bytes]) -> None:
        connection = self._connections.get(key)
        if connection is not None:
            connection.cancel()


class _Catalogues:
    """A catalogue for each analyst: a few are asked at once, one of each. What is unused for longest is dropped."""

    def __init__(self, database: str) -> None:
        self._database = database
        self._turns = Turns(_CATALOGUES_AT_ONCE, _CATALOGUES_WAITING)
        self._kept: OrderedDict[str, tuple[str, Catalogue]] = OrderedDict()

    async def look_up(
        self, person: str, tables: Sequence[Mapping[str, Any]], query: Callable[[Mapping[str, str]], exp.Query]
    ) -> Result:
        """The result of a statement."""
        return await self._turns.work(person, lambda: self._look_up(person, tables, query))

    def _look_up(
        self, person: str, tables: Sequence[Mapping[str, Any]], query: Callable[[Mapping[str, str]], exp.Query]
    ) -> Result:
        shown = [{name: value for name, value in one.items() if name not in ("left", "synthetic")} for one in tables]
        now = json.dumps(shown, sort_keys=True)
        known, catalogue = self._kept.pop(person, ("", None))
        if catalogue is None or known != now:
            if catalogue is not None:
                catalogue.close()
            catalogue = Catalogue(shown, person, self._database, f"PostgreSQL {SERVER_VERSION}")
        try:
            return catalogue.run(query(catalogue.tables))
        finally:
            self._kept[person] = now, catalogue
            while len(self._kept) > _MOST_CATALOGUES:
                _, (_, oldest) = self._kept.popitem(last=False)
                oldest.close()

    def close(self) -> None:
        """Let go of all of them."""
        while self._kept:
            _, (_, catalogue) = self._kept.popitem()
            catalogue.close()


class _CountingReader(asyncio.StreamReader):
    """A reader that knows whether everything that came was read."""

    unread = 0
    """Bytes that came and were not read."""

    def feed_data(self, data: Any) -> None:
        self.unread += len(data)
        super().feed_data(data)

    async def readexactly(self, n: int) -> bytes:
        found = await super().readexactly(n)
        self.unread -= len(found)
        return found


def _given(parameters: Mapping[str, str]) -> dict[str, str]:
    """The parameters of a session that a client sets as it connects; those in ``options`` too."""
    ignored = {"user", "database", "options", "replication"}
    if parameters.get("replication", "off").lower() not in ("off", "false", "no", "0"):
        raise BadInput("There is nothing to replicate here.")
    found = {name: value for name, value in parameters.items() if name not in ignored and not name.startswith("_pq_.")}
    words = iter(_words(parameters.get("options", "")))
    for word in words:
        said = word.removeprefix("-c") if word.startswith("-c") else word.removeprefix("--")
        said = said or next(words, "")
        name, equals, value = said.partition("=")
        if not word.startswith(("-c", "--")) or not equals:
            raise BadInput("The options of a connection have the form -c name=value.")
        found[name.strip().replace("-", "_")] = value
    return found


def _words(options: str) -> list[str]:
    """Words between spaces; a space behind a backslash is part of one."""
    words, word, escaped = [], "", False
    for letter in options:
        if escaped:
            word, escaped = word + letter, False
        elif letter == "\\":
            escaped = True
        elif letter.isspace():
            words += [word] if word else []
            word = ""
        else:
            word += letter
    return [*words, word] if word else words


def _negotiated(startup: Startup) -> bytes:
    """That this is version 3.0, and which options of the protocol are not known."""
    unknown = [name for name in startup.parameters if name.startswith("_pq_.")]
    parts = [messages.PROTOCOL.to_bytes(4), len(unknown).to_bytes(4), *map(messages.text, unknown)]
    return messages.message(b"v", b"".join(parts))
