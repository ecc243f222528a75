"""One person's device: 32 secret bytes, of which everything that it remembers comes out again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from typing import Any, Protocol

import pyarrow as pa

from discreet.collect.domain import Domain
from discreet.noise.entropy import Entropy
from discreet.noise.expand import BULK
from discreet.noise.keyed import Keyed


class Remembering(Protocol):
    """A protocol that makes a permanent answer of a value, and reports of that."""

    @property
    def domain(self) -> Domain:
        """What may be answered."""

    def remembered(self, code: int, stream: Callable[..., Entropy]) -> pa.Array[Any]:
        """The permanent answer to a value, of random streams that have names."""

    def again(self, kept: pa.Array[Any], entropy: Entropy) -> pa.Array[Any]:
        """A report of a permanent answer."""


@dataclass(frozen=True)
class Device:
    """What one person carries: the protocol, a secret, and the question's name.

    Streams are keyed by the protocol and the question too: under two of them, permanent answers are independent, and
    what they lose adds up. The same would happen if a later version drew otherwise of the same stream: a test keeps to
    what devices remember today.
    """

    protocol: Remembering
    secret: bytes = field(repr=False)
    question: str
    """Its own name for each question: two of one name would have the same permanent answers, and tell that answers to
    both are the same."""

    def report(self, value: Any, *, entropy: Entropy = BULK) -> pa.Array[Any]:
        """A report, by fresh randomness, of what is remembered for the value."""
        return self.protocol.again(self.remembered(value), entropy)

    def remembered(self, value: Any) -> pa.Array[Any]:
        """The permanent answer to a value: always the same. It never leaves the device."""
        return self.protocol.remembered(int(self.protocol.domain.codes([value])[0]), self._stream)

    def _stream(self, *name: object) -> Keyed:
        return Keyed(self.secret, (self._protocol, self.question.encode(), *(str(part).encode() for part in name)))

    @cached_property
    def _protocol(self) -> bytes:
        return sha256(repr(self.protocol).encode()).digest()
