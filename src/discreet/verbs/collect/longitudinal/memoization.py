"""Memoization: a device keeps one randomised answer for each value, and randomises it again in each report.

Fresh noise in every round would average out: T reports would lose T times what one loses. So a device randomises each
value once (the *permanent* step), and each report randomises that once more (the *instantaneous* step). What it
remembers is not stored: it comes out the same again, of a secret that never leaves the device and HMAC-SHA256.

What is promised, by three losses of which each is exact or rounded up:

* one report loses ``epsilon``;
* T reports about a value that stays lose ``loss_of(T)``, which grows with T to ``permanent_epsilon`` and not beyond,
  since all of them are made of one permanent answer (post-processing);
* a person who has k different values, one after the other, loses k times ``permanent_epsilon`` about *which* they were,
  because each has a permanent answer of its own.

The last does not hide *when* a value changed, nor that an earlier one came back. Two people whose values change at
different times are told apart the better the longer they are asked, and all that can be promised against that is the
instantaneous step of every round: ``loss_of_changes``. The literature's "k times ε" is silent on this.

**The device** derives permanent answers from 32 secret bytes. That has to hold for years, over whatever versions of
discreet the device sees: a device that remembered otherwise after an upgrade would give second permanent answers, and
lose as much again. So the way from a secret to an answer is frozen. It has a number, ``VERSION``, which is in the label
of every random stream, and is this:

* the label has the version, the protocol (its name, its values and what it is made with, as JSON with sorted keys and
  no spaces), the question's name and what the stream is for, each behind its length;
* the stream is HMAC-SHA256 in counter mode (``noise.keyed``);
* a protocol draws of it as it does now: its coins, its order, its probabilities to the last of 64 bits.

Known-answer tests hold on to all three. A change of any of them would need a new version beside this one, and devices
that are out there stay with the old.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.core.exact import Number
from discreet.core.loss import Pure
from discreet.errors import BadInput
from discreet.noise.entropy import Entropy
from discreet.noise.expand import BULK
from discreet.noise.stream import Keyed
from discreet.verbs.collect.domain import Codes, Domain
from discreet.verbs.collect.frequency_oracle import FrequencyOracle
from discreet.verbs.collect.longitudinal.dbitflip import DBitFlip
from discreet.verbs.collect.report_distribution import epsilon_claim, require_epsilon

_POWER_DENOMINATOR = 1 << 256
VERSION = b"discreet device 1"
"""Version of the derivation, specified above and never changed."""


@dataclass(frozen=True, init=False)
class MemoizedOracle(FrequencyOracle):
    """A frequency oracle of a permanent and an instantaneous step."""

    permanent_epsilon: Fraction
    """Loss of all reports about one value; ``epsilon`` is that of one report."""

    def __init__(
        self, domain: Domain | int | Iterable[Any], epsilon: Number, permanent_epsilon: Number | None = None
    ) -> None:
        """Make an oracle; ``permanent_epsilon`` is twice ``epsilon`` by default."""
        super().__init__(domain, epsilon)
        self._promise(permanent_epsilon)

    def _promise(self, permanent_epsilon: Number | None) -> None:
        object.__setattr__(
            self,
            "permanent_epsilon",
            require_epsilon(2 * self.epsilon if permanent_epsilon is None else permanent_epsilon),
        )
        if self.permanent_epsilon <= self.epsilon:
            raise BadInput(
                f"permanent_epsilon must be above epsilon, got {permanent_epsilon}.",
                hint="A protocol without a second step has one report lose all of it.",
            )

    @property
    def parameters(self) -> dict[str, Any]:
        """Permanent epsilon, under the name that the frozen label of a device has for it."""
        return {"forever": str(self.permanent_epsilon)}

    @property
    @abstractmethod
    def permanent(self) -> FrequencyOracle:
        """The permanent step, taken once for each value."""

    @abstractmethod
    def instantaneous_report(self, permanent: pa.Array[Any], entropy: Entropy) -> pa.Array[Any]:
        """Draw a report of each permanent answer: the instantaneous step."""

    @abstractmethod
    def ratio(self, rounds: int) -> Fraction:
        """Largest quotient of the probabilities of several reports under two values that stay."""

    @property
    @abstractmethod
    def instantaneous_ratio(self) -> Fraction:
        """Largest quotient of a report's probabilities under two permanent answers."""

    def draw(self, codes: Codes, entropy: Entropy) -> pa.Array[Any]:
        """Draw both steps: the first reports of devices."""
        return self.instantaneous_report(self.permanent.draw(codes, entropy), entropy)

    def permanent_answer(self, code: int, stream: Callable[..., Entropy]) -> pa.Array[Any]:
        """Permanent answer of a device, from the random stream of the value."""
        return self.permanent.draw(np.array([code]), stream("value", code))

    def loss_of(self, rounds: int) -> Pure:
        """Loss of several reports about a value that stays."""
        if rounds < 1:
            raise BadInput(f"The number of rounds must be at least 1, got {rounds}.")
        return self.loss if rounds == 1 else Pure(min(epsilon_claim(self.ratio(rounds)), self.permanent_epsilon))

    @property
    def permanent_loss(self) -> Pure:
        """Loss of all reports about a value that stays, however many they are."""
        return Pure(self.permanent_epsilon)

    def loss_of_values(self, values: int) -> Pure:
        """Loss of all reports of a person about which values they had; not about when they changed."""
        return Pure(values * self.permanent_epsilon)

    def loss_of_changes(self, rounds: int) -> Pure:
        """Loss of several reports about anything, even about when values changed."""
        return Pure(rounds * epsilon_claim(self.instantaneous_ratio))


def power_lower(base: Fraction, times: int) -> Fraction:
    """A multiple of 2**-256 at most ``base``**``times``, for a base from 0 to 1."""
    result = Fraction(1)
    while times:
        if times & 1:
            result = _floor(result * base)
        base, times = _floor(base * base), times >> 1
    return result


def _floor(number: Fraction) -> Fraction:
    return Fraction(number.numerator * _POWER_DENOMINATOR // number.denominator, _POWER_DENOMINATOR)


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
