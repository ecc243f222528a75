"""Messages that are broken in every way: no crash, no hang, and no answer to anyone who has not signed in."""

import random
import socket

import pytest
from tests.service.wire.wire import (
    END,
    FLUSH,
    SYNC,
    Wire,
    bind,
    describe,
    execute,
    letters,
    message,
    parse,
    query,
    rows,
    startup,
)

SEED = 20_261_118
MESSAGES = (
    query("SELECT 1"),
    query("SELECT relname FROM pg_class"),
    query("SET discreet.epsilon = 0.1; SHOW discreet.epsilon"),
    query("SELECT * FROM visits"),
    query("BEGIN; SAVEPOINT a; ROLLBACK TO a; COMMIT"),
    parse("SELECT $1::int4", "s", (23,)),
    parse("SELECT relname FROM pg_class WHERE oid = $1", "t"),
    bind(b"1", statement="s", portal="p"),
    bind(None, statement="t"),
    describe("S", "s"),
    describe("P", "p"),
    execute("p", 1),
    execute(),
    message("C", b"Ss\0"),
    message("F", b"\0\0\0\1\0\0\0\0\0\0"),
    message("d", b"data"),
    FLUSH,
    SYNC,
)
SIGN_IN = (
    startup(user="ann", database="clinic", options="-c discreet.epsilon=1"),
    message("p", b"SCRAM-SHA-256\0\0\0\0\x16n,,n=,r=abcdefghijklmn"),
    message("p", b"c=biws,r=abcdefghijklmn,p=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="),
    (8).to_bytes(4) + (80877103).to_bytes(4),
    (16).to_bytes(4) + (80877102).to_bytes(4) + b"12345678",
)


def mutated(draw, data):
    """A message with a few bytes changed, cut, doubled, or its length."""
    made = bytearray(data)
    for _ in range(draw.randrange(1, 4)):
        place = draw.randrange(len(made)) if made else 0
        match draw.randrange(6):
            case 0 if made:
                made[place] = draw.randrange(256)
            case 1:
                del made[place : place + draw.randrange(1, 8)]
            case 2:
                made[place:place] = draw.randbytes(draw.randrange(1, 8))
            case 3:
                made[place:place] = made[place : place + draw.randrange(1, 30)]
            case 4 if len(made) > 5:
                made[1:5] = draw.choice([0, 3, 4, 5, 100, 10**6, 2**31 - 1, 2**32 - 1]).to_bytes(4)
            case _ if made:
                made[place] ^= 1 << draw.randrange(8)
    return bytes(made)


def finished(wire, sent):
    """What is answered to something, until the connection ends or waits for more."""
    try:
        wire.send(sent)
        wire.socket.shutdown(socket.SHUT_WR)
    except OSError:
        pass
    return wire.rest()


def strangers(endpoint, count, seed):
    draw = random.Random(seed)  # noqa: S311
    for _ in range(count):
        several = [mutated(draw, draw.choice(SIGN_IN + MESSAGES)) for _ in range(draw.randrange(1, 4))]
        first = draw.choice([b"", SIGN_IN[0]])
        with Wire(endpoint.port) as wire:
            try:
                wire.send(first, *several)
                wire.socket.shutdown(socket.SHUT_WR)
            except OSError:
                continue
            got = b""
            try:
                while piece := wire.socket.recv(4096):
                    got += piece
            except ConnectionError:
                pass
        assert got[:1] in (b"", b"R", b"E", b"N", b"v"), (several, got)
        assert b"\0\0\0\x08\0\0\0\0" not in got, "signed in"
        assert not any(word in got for word in (b"visits", b"pg_class", b"SELECT", b"server_version")), (several, got)


def analysts(endpoint, count, seed):
    draw = random.Random(seed)  # noqa: S311
    left = count
    while left > 0:
        with Wire(endpoint.port) as wire:
            wire.sign_in("ann", endpoint.tokens["ann"])
            batch = min(left, draw.randrange(1, 40))
            left -= batch
            sent = b"".join(mutated(draw, m) if draw.random() < 0.3 else m for m in draw.choices(MESSAGES, k=batch))
            finished(wire, sent + SYNC + END)


def check(endpoint, count, seed):
    strangers(endpoint, count // 4, seed)
    analysts(endpoint, count - count // 4, seed + 1)
    with Wire(endpoint.port) as wire:
        wire.sign_in("ann", endpoint.tokens["ann"])
        assert rows(wire.ask(query("SELECT 1"))) == [["1"]]
        assert letters(wire.ask(query("SELECT relname FROM pg_class"))).endswith("CZ")
    assert '"fault"' not in endpoint.service.log.getvalue()


@pytest.fixture(autouse=True)
def no_faults(caplog):
    yield
    assert not [one for one in caplog.get_records("call") if one.levelname == "ERROR"], "a fault of ours"


def test_some_thousand_mutated_messages(endpoint):
    check(endpoint, 3_000, SEED)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_a_hundred_thousand_mutated_messages(endpoint, seed):
    check(endpoint, 25_000, seed)
