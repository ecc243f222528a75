"""What a protocol may do besides computing: tell others something, and wait for what they tell.

A protocol is a generator of these effects, one for each party, and knows nothing of how they are carried out. So the
same code runs between hosts, in one process, and on symbols instead of numbers; and since everything random in it
comes from ``Tools`` under a label, running it again on the same messages does exactly the same again, which is how a
party resumes after a crash.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

Part: TypeAlias = Any
"""A vector of the group, bytes (keys, shares, digests), a text or a tuple of texts; symbols when run on symbols."""
Body: TypeAlias = Mapping[str, Part]
"""What a message says, by name."""


@dataclass(frozen=True)
class Send:
    """A message for one party, which nobody else can read."""

    to: str
    kind: str
    body: Body


@dataclass(frozen=True)
class Tell:
    """One message for all other parties, signed once: whoever tells them different things can be convicted of it."""

    to: tuple[str, ...]
    kind: str
    body: Body


@dataclass(frozen=True)
class Receive:
    """Wait for a message; gives its body. If it does not come in time, the session ends and names who was missing."""

    of: str
    kind: str
    told: bool = False
    """Whether it must have been told alike to all (``Tell``): one that went to this party alone ends the session."""


@dataclass(frozen=True)
class Gather:
    """Wait for one message of each; gives the bodies of those who were in time, by party.

    When fewer than ``least`` of them are, the session ends.
    """

    of: tuple[str, ...]
    kind: str
    least: int
    told: bool = False
    """Whether each must have been told alike to all, as with ``Receive``."""


Effect: TypeAlias = Send | Tell | Receive | Gather
T = TypeVar("T")
Play: TypeAlias = Generator[Effect, Any, T]
"""What one party does, step by step; what it returns is its result."""
