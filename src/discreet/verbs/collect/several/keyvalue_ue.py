"""PCKV by two bits a key: for each key nothing, minus or plus.

Why this is private. The own key is told with a chance of 1/2, and then with its true sign with p; any other is told
with b, and a fair sign. Two pairs of different keys differ in two places, by at most 2 p (1 - b) / b; two signs of one
key by p / (1 - p); a made-up key leaves all d places alike. b is rounded up and p down such that all of these are at
most e**ε. A person is a mixture of the pairs that may be drawn, and no mixture is worse. What would be told of made-up
keys is not reported.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.errors import DataError
from discreet.noise.entropy import Entropy
from discreet.noise.packed import packed_flips
from discreet.verbs.collect.chance import down, power, up
from discreet.verbs.collect.domain import Counts
from discreet.verbs.collect.frequency.bits import as_reports, bits_as_reports, bits_type, count_bits, rows_of, words_of
from discreet.verbs.collect.numbers.alphabet import Reports
from discreet.verbs.collect.several.keyvalue import Gains, KeyValue
from discreet.verbs.collect.several.pairs import Drawn

_AT_ONCE = 1 << 20


@dataclass(frozen=True)
class Symbols:
    """Places that are filled independently of each other: for each answer, the chances of each place's symbols."""

    rows: tuple[tuple[tuple[Fraction, ...], ...], ...]

    @property
    def answers(self) -> int:
        """How many answers it is given for."""
        return len(self.rows)

    def ratio(self, one: int, other: int) -> Fraction:
        """The product of every place's largest quotient; no chance is 0."""
        whole = Fraction(1)
        for a, b in zip(self.rows[one], self.rows[other], strict=True):
            whole *= max(x / y for x, y in zip(a, b, strict=True))
        return whole


@dataclass(frozen=True, init=False)
class KeyValueUE(KeyValue):
    """PCKV-UE: two bits for every key; for many keys."""

    name = "pckv-ue"

    @cached_property
    def truth(self) -> Fraction:
        """p: the chance that the sign of the own key is told truly, rounded down."""
        odds = power(self.epsilon)
        return down(odds / (odds + 1))

    @cached_property
    def other(self) -> Fraction:
        """b: the chance that a key that is not the own one is told, rounded up."""
        return up(2 * self.truth / (power(self.epsilon) + 2 * self.truth))

    @cached_property
    def law(self) -> Symbols:
        """Places of keys that neither of two people has are filled alike for both, so that two keys stand for all."""
        return self.law_of(2)

    def law_of(self, d: int) -> Symbols:
        """Of so many keys: a made-up one, and each with each sign; at each place nothing, minus or plus."""
        half = Fraction(1, 2)
        blank = (1 - self.other, self.other / 2, self.other / 2)
        minus = (half, half * self.truth, half * (1 - self.truth))
        own = (minus, (minus[0], minus[2], minus[1]))
        rows = [tuple(sign if place == key else blank for place in range(d)) for key in range(d) for sign in own]
        return Symbols(((blank,) * d, *rows))

    @property
    def report_type(self) -> pa.DataType:
        """A bit for every key that is told with a minus, then one for every key that is told with a plus."""
        return pa.binary(2 * bits_type(len(self.keys)).byte_width)

    @cached_property
    def gains(self) -> Gains:
        """The own key is told half of the time."""
        return Gains(float(self.other), float(Fraction(1, 2) - self.other), float(self.truth - Fraction(1, 2)))

    def draw(self, pairs: Drawn, entropy: Entropy) -> pa.Array[Any]:
        """So many devices at once as memory is bounded by."""
        step = max(1, _AT_ONCE // words_of(len(self.keys)))
        starts = range(0, max(pairs.keys.size, 1), step)
        parts = [self._drawn(pairs.keys[at : at + step], pairs.high[at : at + step], entropy) for at in starts]
        return parts[0] if len(parts) == 1 else pa.concat_arrays(parts)

    def _drawn(self, keys: Any, high: Any, entropy: Entropy) -> pa.Array[Any]:
        """All keys by chance, and then the own one again by its own."""
        n, d = keys.size, len(self.keys)
        words = words_of(d)
        told = packed_flips(self.other, n * words, entropy).reshape(n, words)
        plus = told & entropy.words(n * words).reshape(n, words)
        minus = told & ~plus
        own = np.flatnonzero(keys < d)
        word, bit = keys[own] >> 6, np.uint64(1) << (keys[own] & 63).astype(np.uint64)
        truly = entropy.flips(self.truth, own.size)
        is_told, is_plus = entropy.coins(own.size), (high[own] == 1) == truly
        for plane, here in ((minus, is_told & ~is_plus), (plus, is_told & is_plus)):
            plane[own, word] = np.where(here, plane[own, word] | bit, plane[own, word] & ~bit)
        planes = [rows_of(bits_as_reports(plane, d)) for plane in (minus, plus)]
        return as_reports(np.hstack(planes))

    def count(self, reports: Reports) -> Counts:
        """What is kept."""
        if reports.type != self.report_type or reports.null_count:
            raise DataError(
                f"A report is {self.report_type}, and none is missing.", hint="Read them with their own survey."
            )
        counts = np.zeros(1 + 2 * len(self.keys), dtype=np.int64)
        for chunk in reports.chunks if isinstance(reports, pa.ChunkedArray) else [reports]:
            minus, plus = np.split(rows_of(chunk), 2, axis=1)
            if (minus & plus).any():
                raise DataError("A report tells a key with both signs.")
            told = [count_bits(plane, len(self.keys)) for plane in (minus, plus)]
            counts += np.concatenate([[len(chunk)], *told])
        return counts
