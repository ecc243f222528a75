"""A coin for every value, twice: RAPPOR, which can be asked again and again (Erlingsson, Pihur, Korolova 2014).

A device makes a row of bits once, by a coin for every value, and keeps it: the *permanent* step. Each time it is asked
it reports that row with every bit turned over by a further coin: the *instantaneous* step. This is basic RAPPOR, with a
bit of its own for each value.

Why this is private. However often it is asked, all that a device ever reports is made of the row that it keeps. That
row is a report of SUE with a loss of ``forever``, and what is made of a report loses no more (post-processing): so that
is the loss of infinitely many reports about an answer that does not change. One report alone has both steps: a bit
is told truly with a chance of own = a s + (1 - a) (1 - s), where a and s are the chances that the permanent and the
instantaneous step tell it truly; two answers differ in two bits, and s is such that (own / (1 - own))² <= e**ε.

``randomize`` takes both steps anew, which is for people who are asked once. To ask again, keep ``permanent.draw`` on
the device and report ``again`` of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.collect.chance import down, epsilon_of, power
from discreet.collect.domain import Codes, Domain
from discreet.collect.frequency.bits import bits_as_reports, rows_of, words_of
from discreet.collect.frequency.unary import SUE, Unary
from discreet.collect.law import Coins
from discreet.core.exact import Number
from discreet.core.loss import Pure
from discreet.errors import BadInput
from discreet.noise.entropy import Entropy
from discreet.noise.packed import packed_flips


@dataclass(frozen=True, init=False)
class RAPPOR(Unary):
    """Basic RAPPOR: ``epsilon`` is the loss of one report, ``forever`` that of infinitely many about one answer."""

    name = "rappor"
    forever: Fraction

    def __init__(self, domain: Domain | int | Iterable[Any], epsilon: Number, forever: Number | None = None) -> None:
        """``forever`` is twice ``epsilon`` unless it is given."""
        super().__init__(domain, epsilon)
        object.__setattr__(self, "forever", 2 * self.epsilon if forever is None else epsilon_of(forever))
        if self.forever <= self.epsilon:
            raise BadInput(
                f"All reports together lose more than one: forever must be above epsilon, got {forever}.",
                hint="With SUE, one report has all of it.",
            )

    @property
    def parameters(self) -> dict[str, Any]:
        """The loss of all reports together."""
        return {"forever": str(self.forever)}

    @property
    def loss_forever(self) -> Pure:
        """What all reports about one answer lose together, however many they are."""
        return Pure(self.forever)

    @cached_property
    def permanent(self) -> Unary:
        """The step that is taken once."""
        return SUE(self.domain, self.forever)

    @cached_property
    def steady(self) -> Fraction:
        """s: the chance that a report tells a bit of the permanent row truly, rounded down."""
        odds, a = power(self.epsilon / 2), self.permanent.own
        return down((odds / (odds + 1) - (1 - a)) / (2 * a - 1))

    @cached_property
    def own(self) -> Fraction:
        """Both steps tell a bit truly, or both turn it over."""
        a, s = self.permanent.own, self.steady
        return a * s + (1 - a) * (1 - s)

    @cached_property
    def other(self) -> Fraction:
        """1 - p."""
        return 1 - self.own

    @property
    def law_forever(self) -> Coins:
        """The law of the row that is kept: nothing is ever told but what is made of it."""
        return self.permanent.law

    def draw(self, codes: Codes, entropy: Entropy) -> pa.Array[Any]:
        """Both steps, once."""
        return self.again(self.permanent.draw(codes, entropy), entropy)

    def again(self, rows: pa.Array[Any], entropy: Entropy) -> pa.Array[Any]:
        """A report of each permanent row."""
        d, words = len(self.domain), words_of(len(self.domain))
        told = np.zeros((len(rows), 8 * words), dtype=np.uint8)
        told[:, : rows.type.byte_width] = rows_of(rows)
        turned = packed_flips(1 - self.steady, len(rows) * words, entropy).reshape(-1, words)
        return bits_as_reports(told.view("<u8") ^ turned, d)
