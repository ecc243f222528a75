"""A row of coins that is kept, and every bit turned over now and then: RAPPOR and L-OSUE.

A device makes a row of bits once, by a coin for every value, and keeps it: the permanent step. Each time it is asked
it reports that row with every bit turned over by a further coin: the instantaneous step.

* *RAPPOR* (Erlingsson, Pihur, Korolova 2014) makes the permanent row by SUE. This is basic RAPPOR, with a bit of its
  own for each value.
* *L-OSUE* (Arcolezi and others 2022) makes it by OUE, which is more accurate.

Why this is private. All that a device ever reports is made of the row that it keeps, which has a loss of ``forever``:
however often it is asked, it loses no more (post-processing). In that row the own bit is 1 with a chance a, any other
with b, and each report tells a bit of it truly with a chance s. So in one report they are 1 with p = a s + (1 - a) (1 -
s) and q = b s + (1 - b) (1 - s); two answers differ in two bits, and a report's chances by p (1 - q) / (q (1 - p)) at
most, which is kept at or below e**ε:

* RAPPOR has b = 1 - a, hence q = 1 - p, and p / (1 - p) is e**(ε/2);
* L-OSUE has a = 1/2, hence p = 1/2, and q is 1 / (e**ε + 1);

s, of which either follows, is rounded down: towards reports that tell nothing. Of T reports about a value that stays,
those tell most that have its bit 1 every time and the other value's 0 every time: bits are independent, and the more
often a bit was 1, the likelier it is 1 in the permanent row.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.noise.entropy import Entropy
from discreet.noise.packed import packed_flips
from discreet.verbs.collect.bit_reports import bits_as_reports, rows_of, words_of
from discreet.verbs.collect.frequency.unary_encoding import OUE, SUE, Unary
from discreet.verbs.collect.longitudinal.memoization import Memoised, power_below
from discreet.verbs.collect.probability import down, power


@dataclass(frozen=True, init=False)
class KeptRow(Memoised, Unary):
    """What the protocols share that keep a row of coins."""

    @property
    @abstractmethod
    def steady(self) -> Fraction:
        """s: the chance that a report tells a bit of the permanent row truly, rounded down."""

    @cached_property
    def own(self) -> Fraction:
        """The own bit is 1 and told truly, or 0 and turned over."""
        return self._told(self.permanent.own)

    @cached_property
    def other(self) -> Fraction:
        """A bit of another value is 1 and told truly, or 0 and turned over."""
        return self._told(self.permanent.other)

    @property
    def step_ratio(self) -> Fraction:
        """Two permanent rows may differ in every bit."""
        return (self.steady / (1 - self.steady)) ** len(self.domain)

    def ratio(self, rounds: int) -> Fraction:
        """That of reports that all have the value's bit, and none the other's."""
        a, b = self.permanent.own, self.permanent.other
        fade = power_below((1 - self.steady) / self.steady, rounds)
        one = (a + (1 - a) * fade) / (b + (1 - b) * fade)
        return one * (1 - b + b * fade) / (1 - a + a * fade)

    def again(self, kept: pa.Array[Any], entropy: Entropy) -> pa.Array[Any]:
        """A report of each permanent row."""
        d, words = len(self.domain), words_of(len(self.domain))
        told = np.zeros((len(kept), 8 * words), dtype=np.uint8)
        told[:, : kept.type.byte_width] = rows_of(kept)
        turned = packed_flips(1 - self.steady, len(kept) * words, entropy).reshape(-1, words)
        return bits_as_reports(told.view("<u8") ^ turned, d)

    def _told(self, chance: Fraction) -> Fraction:
        """The chance that a bit is 1 in a report, by that in the permanent row."""
        return chance * self.steady + (1 - chance) * (1 - self.steady)


@dataclass(frozen=True, init=False)
class RAPPOR(KeptRow):
    """Basic RAPPOR: each bit is told truly with the same chance."""

    name = "rappor"

    @cached_property
    def permanent(self) -> SUE:
        """The step that is taken once for each value."""
        return SUE(self.domain, self.forever)

    @cached_property
    def steady(self) -> Fraction:
        """Such that p / (1 - p) is e**(ε/2), rounded down."""
        odds, a = power(self.epsilon / 2), self.permanent.own
        return down((odds / (odds + 1) - (1 - a)) / (2 * a - 1))


@dataclass(frozen=True, init=False)
class LOSUE(KeptRow):
    """Longitudinal optimised-symmetric unary encoding: the most accurate over time, at a bit for every value."""

    name = "l-osue"

    @cached_property
    def permanent(self) -> OUE:
        """The step that is taken once for each value."""
        return OUE(self.domain, self.forever)

    @cached_property
    def steady(self) -> Fraction:
        """Such that q is 1 / (e**ε + 1), rounded down."""
        b = self.permanent.other
        return down((1 - b - 1 / (power(self.epsilon) + 1)) / (1 - 2 * b))
