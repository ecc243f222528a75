"""Signing in: the messages of a SCRAM exchange, and the same error whatever is wrong."""

from __future__ import annotations

from typing import Protocol

from anyio import to_thread

from discreet.errors import NotSignedIn
from discreet.service.postgres import messages
from discreet.service.postgres.messages import BadMessage
from discreet.service.postgres.scram import Exchange
from discreet.service.postgres.stream import Stream

SIGN_IN_SECONDS = 15.0
"""Time limit for signing in."""


class Register(Protocol):
    """The parts of the service that signing in needs."""

    tls: bool
    """Whether only encrypted connections are accepted."""

    def exchange(self, person: str, *, tls: bool) -> Exchange:
        """A new exchange with someone who calls themselves ``person``."""


async def sign_in(stream: Stream, register: Register, person: str, *, tls: bool) -> str:
    """The digest of the token that a client knows; an error, the same whatever is wrong, if it knows none."""
    exchange = await to_thread.run_sync(lambda: register.exchange(person, tls=tls))
    offered = b"".join(messages.text(one) for one in exchange.mechanisms) + b"\0"
    stream.send(messages.authentication(10, offered))
    await stream.flush()
    reader = messages.Reader(await _sign_in_message(stream))
    mechanism, length = reader.text(), reader.int32()
    first = exchange.first(mechanism, reader.take(length))
    reader.end()
    if first is None:
        raise _wrong()
    stream.send(messages.authentication(11, first))
    await stream.flush()
    known = exchange.final(await _sign_in_message(stream))
    if known is None:
        raise _wrong()
    digest, proof = known
    stream.send(messages.authentication(12, proof))
    return digest


async def _sign_in_message(stream: Stream) -> bytes:
    letter, data = await stream.message(messages.MOST_SIGN_IN_BYTES, SIGN_IN_SECONDS)
    if letter != "p":
        raise BadMessage("it is no answer to the sign-in")
    return data


def _wrong() -> NotSignedIn:
    return NotSignedIn(
        "Name or token is wrong.",
        hint="The password is a token of this user: discreet people token WORKSPACE NAME makes one. Tokens that were "
        "made by an earlier discreet do not work here.",
    )
