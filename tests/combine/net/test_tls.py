"""Who may connect: the party that has the key, under its own name, and nobody else."""

import asyncio
import socket
import ssl
import tempfile

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key
from tests.combine.net.sessions import identity, manifest, part, total
from tests.loops import run as run_loop

from discreet.errors import Aborted, BadInput, EngineError
from discreet.verbs.combine.net import tls
from discreet.verbs.combine.net.driver import run
from discreet.verbs.combine.net.keys import Identity, certificate
from discreet.verbs.combine.net.tls import TlsTransport

PAIR = ("north", "south")


def stranger(session, mine, shown):
    """A context for calling north with this key and this certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.load_verify_locations(cadata=certificate("north", session.party("north").key).public_bytes(Encoding.DER))
    key = load_pem_private_key(mine.pem(), None).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    with tempfile.NamedTemporaryFile() as file:
        file.write(shown.public_bytes(Encoding.PEM) + key)
        file.flush()
        context.load_cert_chain(file.name)
    return context


async def knock(session, context):
    """What north answers to a caller: nothing at all, if all is well."""
    host, port = session.party("north").place
    for _ in range(100):
        try:
            reader, writer = await asyncio.open_connection(host, port, ssl=context, server_hostname="")
            break
        except ConnectionRefusedError:
            await asyncio.sleep(0.05)
    try:
        return await reader.read(10)
    except (ssl.SSLError, ConnectionError):
        return b""
    finally:
        writer.close()


def knocked(session, tmp_path, context):
    """North runs; somebody knocks; then south comes, and all goes well."""

    async def play():
        north = asyncio.create_task(run(session, identity("north"), part(session, "north"), tmp_path / "north"))
        said = await knock(session, context)
        south = await run(session, identity("south"), part(session, "south"), tmp_path / "south")
        return said, await north, south

    said, *totals = run_loop(play())
    for found in totals:
        assert (found.vector == total(PAIR, 3)).all()
    return said


def test_a_stranger_is_turned_away_in_the_handshake(tmp_path):
    session = manifest(PAIR)
    other = Identity.new("south")
    assert knocked(session, tmp_path, stranger(session, other, certificate("south", other.public))) == b""


def test_a_party_that_claims_the_name_of_another_is_turned_away(tmp_path):
    """East is a party of the session and has a key that is known; what it shows says it is south."""
    session = manifest(("north", "south", "east"), start_within=2)
    context = stranger(session, identity("east"), certificate("south", identity("east").public))

    async def play():
        north = asyncio.create_task(run(session, identity("north"), part(session, "north"), tmp_path / "north"))
        said = await knock(session, context)
        with pytest.raises(Aborted) as caught:
            await north
        return said, caught.value

    said, error = run_loop(play())
    assert said == b""
    assert error.culprits == ("south", "east")


def test_who_has_a_known_key_speaks_for_itself_alone(tmp_path):
    """East calls with its own certificate and says hello as south."""
    session = manifest(("north", "south", "east"), start_within=10)
    context = stranger(session, identity("east"), certificate("east", identity("east").public))

    async def play():
        north = asyncio.create_task(run(session, identity("north"), part(session, "north"), tmp_path / "north"))
        host, port = session.party("north").place
        await asyncio.sleep(0.2)
        _, writer = await asyncio.open_connection(host, port, ssl=context, server_hostname="")
        writer.write(_hello(session, "south"))
        with pytest.raises(Aborted) as caught:
            await north
        writer.close()
        return caught.value

    error = run_loop(play())
    assert error.culprits == ("east",)
    assert "in the name of south" in error.message


def _hello(session, name):
    from tests.combine.faults.network import packed

    from discreet.verbs.combine.net.frames import HELLO, Header, sign
    from discreet.verbs.combine.net.link import GREETING

    return packed(
        GREETING, sign(identity(name), Header(session.digest, 0, name, (), sealed=False, kind=HELLO), b"\x00")
    )


def test_who_answers_must_be_the_one_who_was_meant(tmp_path):
    """At north's address somebody else listens: south does not talk to it, and says so."""
    session = manifest(PAIR, start_within=1)

    async def play():
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        with tempfile.NamedTemporaryFile() as file:
            file.write(Identity.new("north").pem())
            file.flush()
            context.load_cert_chain(file.name)
        server = await asyncio.start_server(lambda reader, writer: None, *session.party("north").place, ssl=context)
        async with server:
            with pytest.raises(Aborted, match="a party that does not have north's key") as caught:
                await run(session, identity("south"), part(session, "south"), tmp_path)
        return caught.value.culprits

    assert run_loop(play()) == ("north",)


def test_the_manifest_must_have_the_own_key():
    with pytest.raises(BadInput, match=r"Send south\.pub again"):
        tls.TlsConnector(manifest(PAIR), Identity.new("south"))


def test_an_address_that_is_taken_is_said(tmp_path):
    session = manifest(PAIR)
    with socket.create_server(session.party("north").place), pytest.raises(EngineError, match="cannot listen at"):
        run_loop(run(session, identity("north"), part(session, "north"), tmp_path))


def test_the_key_is_on_no_disk():
    with tls._memory_file() as file:
        assert isinstance(file.name, int)


class Trickle:
    """A socket that takes three bytes at a time."""

    def __init__(self, real):
        self.real = real

    def __getattr__(self, name):
        return getattr(self.real, name)

    def send(self, data):
        return self.real.send(data[:3])


def test_what_a_socket_takes_in_part_is_sent_whole():
    async def play():
        here, there = socket.socketpair()
        here.setblocking(False)
        transport = TlsTransport(Trickle(here), asyncio.BufferedProtocol())
        transport.write(b"north and ")
        transport.write(b"south")
        transport.close()
        with there:
            return await asyncio.to_thread(there.makefile("rb").read)

    assert run_loop(play()) == b"north and south"


def test_strangers_who_say_nothing_cost_little_and_do_not_disturb(tmp_path):
    """More silent callers than handshakes may be under way: they stay, and south gets in all the same."""
    session = manifest(PAIR)

    async def play():
        north = asyncio.create_task(run(session, identity("north"), part(session, "north"), tmp_path / "north"))
        await asyncio.sleep(0.1)
        silent = [await asyncio.open_connection(*session.party("north").place) for _ in range(400)]
        closed = await asyncio.gather(
            *(asyncio.wait_for(reader.read(1), 1) for reader, _ in silent), return_exceptions=True
        )
        south = await run(session, identity("south"), part(session, "south"), tmp_path / "south")
        for _, writer in silent:
            writer.close()
        return closed, (await north, south)

    closed, totals = run_loop(play())
    assert sum(one == b"" or isinstance(one, ConnectionError) for one in closed) >= 140, "those beyond the limit"
    for found in totals:
        assert (found.vector == total(PAIR, 3)).all()
