"""Messages of a protocol as effects: send, broadcast, receive, gather.

A protocol is a generator of these effects, one for each party, and does not know how they are carried out. So the same
code runs between hosts, in one process, and on symbols instead of numbers. Everything random in it comes from
``Crypto`` under a label, so running it again on the same messages repeats it exactly: that is how a party resumes after
a crash.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

MessagePart: TypeAlias = Any
"""A vector of the group, bytes (keys, shares, digests), a text or a tuple of texts; symbols when run on symbols."""
Body: TypeAlias = Mapping[str, MessagePart]
"""The parts of a message, by name."""


@dataclass(frozen=True)
class Send:
    """Send a message to one party; no one else can read it."""

    to: str
    kind: str
    body: Body
    keys_only: bool = False
    """Whether the body is drawn for this session, and depends on no one's data."""


@dataclass(frozen=True)
class Broadcast:
    """Send one signed message to all other parties: anyone who tells them different things can be convicted of it."""

    to: tuple[str, ...]
    kind: str
    body: Body
    keys_only: bool = False
    """Whether the body is drawn for this session, and depends on no one's data."""


@dataclass(frozen=True)
class Receive:
    """Wait for one message, whose body it gives. If it is late, the session ends and names who was missing."""

    of: str
    kind: str
    broadcast: bool = False
    """Whether it must have been broadcast: a message to this party alone ends the session."""


@dataclass(frozen=True)
class Gather:
    """Wait for one message of each party, and give the bodies of those in time, by party.

    When fewer than ``least`` are in time, the session ends.
    """

    of: tuple[str, ...]
    kind: str
    least: int
    broadcast: bool = False
    """Whether each must have been broadcast, as with ``Receive``."""


Effect: TypeAlias = Send | Broadcast | Receive | Gather
T = TypeVar("T")
Play: TypeAlias = Generator[Effect, Any, T]
"""One party's run of a protocol, step by step; it returns the party's result."""
