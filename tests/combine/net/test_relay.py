"""A relay joins the parties of its session, and nobody else; it can read nothing."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest
from tests.combine.net.sessions import NAMES, identity, manifest, part, ports, total
from tests.loops import run as run_loop

from discreet.errors import Aborted, BadInput, EngineError
from discreet.verbs.combine.net import relay as relays
from discreet.verbs.combine.net.driver import run
from discreet.verbs.combine.net.manifest import dump, parse
from discreet.verbs.combine.net.relay import Relay, run_relay

PAIR = ("north", "south")


def relayed(names=PAIR, **also):
    """A session in which nobody can be called: all meet at one relay."""
    [port] = ports(1)
    return manifest(names, at=[f"relay:127.0.0.1:{port}"] * len(names), **also), port


async def served(session, port, said=None):
    """The relay, once it listens."""
    task = asyncio.create_task(Relay(session, (said if said is not None else []).append).serve("127.0.0.1", port))
    for _ in range(200):
        with suppress(OSError):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.close()
            return task
        await asyncio.sleep(0.02)
    raise AssertionError("the relay does not listen")


async def ended(task):
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def joined(session, tmp_path, late=0.0, length=3):
    """All parties run, each a little after the one before."""

    async def one(place, name):
        await asyncio.sleep(late * place)
        return await run(session, identity(name), part(session, name, length), tmp_path / name)

    return await asyncio.gather(*(one(place, name) for place, name in enumerate(session.terms.parties)))


@pytest.mark.parametrize("names", [PAIR, NAMES])
def test_parties_that_cannot_be_called_meet_at_a_relay(tmp_path, names):
    session, port = relayed(names, text="masks")
    said = []

    async def play():
        relay = await served(session, port, said)
        found = await joined(session, tmp_path)
        await ended(relay)
        return found

    for found in run_loop(play()):
        assert (found.vector == total(names, 3)).all()
    assert sum(line.endswith(": joined") for line in said) == len(names) * (len(names) - 1) // 2


def test_the_relay_may_come_last_and_the_parties_in_any_order(tmp_path):
    session, port = relayed(NAMES[:3])

    async def play():
        parties = asyncio.create_task(joined(session, tmp_path, late=0.2))
        await asyncio.sleep(0.7)
        relay = await served(session, port)
        found = await parties
        await ended(relay)
        return found

    for found in run_loop(play()):
        assert (found.vector == total(NAMES[:3], 3)).all()


def test_a_relay_that_is_started_again_loses_nothing(tmp_path):
    """It is cut while the parties speak; they call again, and what was under way is sent once more."""
    session, port = relayed(PAIR, deadline=20)
    cut = []

    async def play():
        relay = await served(session, port)
        parties = asyncio.create_task(joined(session, tmp_path, late=0.3))
        for _ in range(3):
            await asyncio.sleep(0.15)
            await ended(relay)
            cut.append(not parties.done())
            relay = await served(session, port)
        found = await parties
        await ended(relay)
        return found

    for found in run_loop(play()):
        assert (found.vector == total(PAIR, 3)).all()
    assert cut[0]


def test_what_the_relay_passes_on_is_tls_and_a_change_of_it_is_noticed(tmp_path, monkeypatch):
    """A relay that keeps everything sees no value; one that turns a bit around gets no wrong sum out."""
    session, port = relayed(PAIR, start_within=20, deadline=3)
    seen, turned = [], []

    async def turning(reader, writer):
        total_bytes = 0
        while block := await reader.read(1 << 16):
            total_bytes += len(block)
            if total_bytes > 4_000 and not turned:
                turned.append(len(block))
                block = block[:-1] + bytes([block[-1] ^ 1])
            seen.append(block)
            writer.write(block)
            await writer.drain()

    monkeypatch.setattr(relays, "_pass_on", turning)

    async def play():
        relay = await served(session, port)
        found = await asyncio.gather(joined(session, tmp_path, length=500), return_exceptions=True)
        await ended(relay)
        return found[0]

    found = run_loop(play())
    if not isinstance(found, Aborted):  # the connection was made anew after the broken one
        for one in found:
            assert (one.vector == total(PAIR, 500)).all()
    everything = b"".join(seen)
    assert len(everything) > 4_000
    assert turned
    for word in (b"hello", b"sum 1/", b"settled", b"north", b"south", session.digest, session.digest.hex().encode()):
        assert word not in everything


def test_who_does_not_know_the_manifest_meets_nobody(tmp_path):
    session, port = relayed(PAIR, start_within=20)
    other = manifest(PAIR, at=[f"relay:127.0.0.1:{port}"] * 2, nonce="fedcba9876543210", start_within=2)

    async def knock(line):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(line)
        try:
            return await asyncio.wait_for(reader.read(10), 5)
        except ConnectionError:
            return b""
        finally:
            writer.close()

    async def play():
        relay = await served(session, port)
        lines = (
            b"call " + b"0" * 64 + b"\n",
            b"\n",
            b"wait\n",
            b"\x16\x03\x01" + b"\xff" * 100_000,
            b"GET / HTTP/1.1\r\n\r\n",
        )
        said = [await knock(line) for line in lines]
        with pytest.raises(Aborted) as caught:
            await run(other, identity("south"), part(other, "south"), tmp_path / "other")
        found = await joined(session, tmp_path)
        await ended(relay)
        return said, caught.value, found

    said, error, found = run_loop(play())
    assert said == [b""] * 5
    assert "was it started with this manifest?" in error.message
    for one in found:
        assert (one.vector == total(PAIR, 3)).all()


def test_silent_strangers_do_not_keep_parties_out(tmp_path):
    session, port = relayed(PAIR)

    async def play():
        relay = await served(session, port)
        strangers = [await asyncio.open_connection("127.0.0.1", port) for _ in range(300)]
        found = await joined(session, tmp_path)
        for _, writer in strangers:
            writer.close()
        await ended(relay)
        return found

    for found in run_loop(play()):
        assert (found.vector == total(PAIR, 3)).all()


def test_a_party_that_is_not_there_is_named(tmp_path):
    session, port = relayed(PAIR, start_within=1)

    async def play():
        relay = await served(session, port)
        with pytest.raises(Aborted) as caught:
            await run(session, identity("south"), part(session, "south"), tmp_path / "south")
        await ended(relay)
        return caught.value

    assert f"has not called the relay:127.0.0.1:{port} yet" in run_loop(play()).message


def test_a_manifest_names_relays():
    session, port = relayed(NAMES[:3])
    assert parse(dump(session)).digest == session.digest
    assert session.party("east").place == ("127.0.0.1", port)
    with pytest.raises(BadInput, match=r"north: .127\.0\.0\.1. is not an address"):
        manifest(PAIR, at=["relay:127.0.0.1", "127.0.0.1:2"])


def test_a_relay_is_of_use_and_has_a_place():
    direct = manifest(PAIR)
    with pytest.raises(BadInput, match="No party of session that others call is at a relay"):
        Relay(direct)
    two = manifest(NAMES[:3], at=["relay:127.0.0.1:5", "relay:127.0.0.1:6", "127.0.0.1:7"])
    with pytest.raises(BadInput, match="session has 2 relays"):
        run_relay(two, None, print)
    with pytest.raises(BadInput, match="'here' is not an address"):
        run_relay(two, "here", print)
    with ThreadPoolExecutor(1) as thread, pytest.raises(EngineError, match=r"cannot listen at 192\.0\.2\.1:5"):
        thread.submit(run_relay, two, "192.0.2.1:5", print).result()  # a browser may have a loop in this thread
