"""PCKV by randomised response: a pair of a key and a sign, or any other.

Why this is private. The d keys and ``length`` made-up ones, each with either sign, are 2 (d + length) pairs. The truth
is told with odds of t' = 1 + length (e**ε - 1) to any other pair. A report is the truth of at most one of the at least
``length`` keys that are drawn from, so its chance is at most (t' + length - 1) / length = e**ε times what it has at
least for everybody. Keys differ from each other, or this would not hold; so the sampling earns a larger loss inside.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.noise.entropy import Entropy
from discreet.verbs.collect.chance import down, power
from discreet.verbs.collect.domain import Counts
from discreet.verbs.collect.numbers.alphabet import Reports, counted, reported, type_of
from discreet.verbs.collect.report_distribution import Matrix
from discreet.verbs.collect.respond import respond
from discreet.verbs.collect.several.keyvalue import Gains, KeyValue
from discreet.verbs.collect.several.pairs import Drawn


@dataclass(frozen=True, init=False)
class KeyValueGRR(KeyValue):
    """PCKV-GRR: a pair, in a few bytes; for few keys."""

    name = "pckv-grr"

    @property
    def pairs(self) -> int:
        """How many pairs can be reported: the d keys and the made-up ones, each with either sign."""
        return 2 * (len(self.keys) + self.length)

    @cached_property
    def own(self) -> Fraction:
        """The chance that the pair is told truly, rounded down."""
        odds = 1 + self.length * (power(self.epsilon) - 1)
        return down(odds / (odds + self.pairs - 1))

    @cached_property
    def other(self) -> Fraction:
        """That of any other pair."""
        return (1 - self.own) / (self.pairs - 1)

    @cached_property
    def law(self) -> Matrix:
        """People with no pair, with one, and with all keys: nobody's reports differ more than those of two with one."""
        d = len(self.keys)
        ones = [[(key, sign)] for key in range(d) for sign in (0, 1)]
        return Matrix(tuple(self.row(pairs) for pairs in [[], *ones, [(key, key % 2) for key in range(d)]]))

    def row(self, pairs: list[tuple[int, int]]) -> tuple[Fraction, ...]:
        """How likely each report is for a person with pairs of a key's place and a sign."""
        among = max(len(pairs), self.length)
        made_up = range(len(self.keys), len(self.keys) + among - len(pairs))
        weights = dict.fromkeys(((key, sign) for key in made_up for sign in (0, 1)), Fraction(1, 2))
        weights |= dict.fromkeys(pairs, Fraction(1))
        told = ((key, sign) for key in range(self.pairs // 2) for sign in (0, 1))
        return tuple(self.other + weights.get(pair, Fraction(0)) / among * (self.own - self.other) for pair in told)

    @property
    def report_type(self) -> pa.DataType:
        """Twice a key's place, and one more if the sign is plus."""
        return type_of(self.pairs)

    @cached_property
    def gains(self) -> Gains:
        """A key is told with either sign if the truth is, or by chance."""
        gain = float(self.own - self.other)
        return Gains(float(2 * self.other), gain, gain)

    def draw(self, pairs: Drawn, entropy: Entropy) -> pa.Array[Any]:
        """The pair, or another."""
        return reported(respond(2 * pairs.keys + pairs.high, self.own, self.pairs, entropy), self.pairs)

    def count(self, reports: Reports) -> Counts:
        """What is kept."""
        told = counted(reports, self.pairs)
        signs = told[: 2 * len(self.keys)]
        return np.concatenate([[told.sum()], signs[::2], signs[1::2]])
