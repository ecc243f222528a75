"""One person's device: 32 secret bytes, of which everything that it remembers comes out again.

That has to hold for years, over whatever versions of discreet the device sees: a device that remembered otherwise after
an upgrade would give second permanent answers, and lose as much again. So the way from a secret to an answer is frozen.
It has a number, ``VERSION``, which is in the label of every random stream, and is this:

* the label has the version, the protocol (its name, its values and what it is made with, as JSON with sorted keys and
  no spaces), the question's name and what the stream is for, each behind its length;
* the stream is HMAC-SHA256 in counter mode (``noise.keyed``);
* a protocol draws of it as it does now: its coins, its order, its chances to the last of 64 bits.

Known-answer tests hold on to all three. A change of any of them would need a new version beside this one, and devices
that are out there stay with the old.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import pyarrow as pa

from discreet.noise.entropy import Entropy
from discreet.noise.expand import BULK
from discreet.noise.keyed import Keyed
from discreet.verbs.collect.domain import Domain

VERSION = b"discreet device 1"
"""How a device remembers: written down above, and never changed."""


class MemoizedProtocol(Protocol):
    """A protocol that makes a permanent answer of a value, and reports of that."""

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def domain(self) -> Domain:
        """What may be answered."""

    @property
    def arguments(self) -> Mapping[str, Any]:
        """What it is made with beside its domain, as plain data."""

    def permanent_answer(self, code: int, stream: Callable[..., Entropy]) -> pa.Array[Any]:
        """The permanent answer to a value, of random streams that have names."""

    def instantaneous_report(self, kept: pa.Array[Any], entropy: Entropy) -> pa.Array[Any]:
        """A report of a permanent answer."""


@dataclass(frozen=True)
class Device:
    """What one person carries: the protocol, a secret, and the question's name.

    Streams are keyed by the protocol and the question too: under two of them, permanent answers are independent, and
    what they lose adds up.
    """

    protocol: MemoizedProtocol
    secret: bytes = field(repr=False)
    question: str
    """Its own name for each question: two of one name would have the same permanent answers, and tell that answers to
    both are the same."""

    def report(self, value: Any, *, entropy: Entropy = BULK) -> pa.Array[Any]:
        """A report, by fresh randomness, of what is remembered for the value."""
        return self.protocol.instantaneous_report(self.permanent_answer(value), entropy)

    def permanent_answer(self, value: Any) -> pa.Array[Any]:
        """The permanent answer to a value: always the same. It never leaves the device."""
        return self.protocol.permanent_answer(int(self.protocol.domain.codes([value])[0]), self._stream)

    def _stream(self, *name: object) -> Keyed:
        return Keyed(self.secret, (*self._label, *(str(part).encode() for part in name)))

    @cached_property
    def _label(self) -> tuple[bytes, ...]:
        made = self.protocol
        about = {"protocol": made.name, "values": list(made.domain.values), "with": dict(made.arguments)}
        document = json.dumps(about, sort_keys=True, separators=(",", ":"), ensure_ascii=True, default=str)
        return VERSION, document.encode(), self.question.encode()
