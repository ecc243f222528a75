"""One person's device: permanent answers derived from 32 secret bytes.

That has to hold for years, over whatever versions of discreet the device sees: a device that remembered otherwise after
an upgrade would give second permanent answers, and lose as much again. So the way from a secret to an answer is frozen.
It has a number, ``VERSION``, which is in the label of every random stream, and is this:

* the label has the version, the protocol (its name, its values and what it is made with, as JSON with sorted keys and
  no spaces), the question's name and what the stream is for, each behind its length;
* the stream is HMAC-SHA256 in counter mode (``noise.keyed``);
* a protocol draws of it as it does now: its coins, its order, its probabilities to the last of 64 bits.

Known-answer tests hold on to all three. A change of any of them would need a new version beside this one, and devices
that are out there stay with the old.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pyarrow as pa

from discreet.noise.entropy import Entropy
from discreet.noise.expand import BULK
from discreet.noise.stream import Keyed
from discreet.verbs.collect.longitudinal.dbitflip import DBitFlip
from discreet.verbs.collect.longitudinal.memoization import MemoizedOracle

VERSION = b"discreet device 1"
"""Version of the derivation, specified above and never changed."""


@dataclass(frozen=True)
class Device:
    """A person's protocol, secret and question.

    Streams are keyed by the protocol and the question too: under two of them, permanent answers are independent, and
    what they lose adds up.
    """

    protocol: MemoizedOracle | DBitFlip
    secret: bytes = field(repr=False)
    question: str
    """Its own name for each question: two of one name would have the same permanent answers, and tell that answers to
    both are the same."""

    def report(self, value: Any, *, entropy: Entropy = BULK) -> pa.Array[Any]:
        """Report a value: fresh randomness on its permanent answer."""
        return self.protocol.instantaneous_report(self.permanent_answer(value), entropy)

    def permanent_answer(self, value: Any) -> pa.Array[Any]:
        """Permanent answer for a value: always the same. It never leaves the device."""
        return self.protocol.permanent_answer(int(self.protocol.domain.codes([value])[0]), self._stream)

    def _stream(self, *name: object) -> Keyed:
        return Keyed(self.secret, (*self._label, *(str(part).encode() for part in name)))

    @cached_property
    def _label(self) -> tuple[bytes, ...]:
        protocol = self.protocol
        about = {"protocol": protocol.name, "values": list(protocol.domain.values), "with": dict(protocol.arguments)}
        text = json.dumps(about, sort_keys=True, separators=(",", ":"), ensure_ascii=True, default=str)
        return VERSION, text.encode(), self.question.encode()
