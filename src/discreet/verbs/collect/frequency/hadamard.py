"""Hadamard response: one bit of a transform; the quickest oracle, for any number of values.

Write every value as a row of signs, such that two rows agree in exactly half of the positions (those of the Hadamard
matrix of the next power of two). A device draws a position evenly, looks up its own value's sign there, and reports the
position and that sign, or the opposite by a coin. Why this is private: the place depends on no one's answer, and the
sign is reported truly with probability e**ε / (e**ε + 1), rounded down, so that a report is at most e**ε times as
likely for one answer as for another (Nguyên and others 2016; Cormode, Kulkarni, Srivastava 2018).

A report supports the values whose sign at its place is the one it tells: the own one with p, any other with exactly one
half. What supports each value comes out of all reports by one fast transform, so the collector's work hardly grows with
the number of values.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.core.catalogue import declare
from discreet.core.compiled import njit
from discreet.core.exact import exp_lower
from discreet.core.families import FREQUENCY_ORACLES
from discreet.noise.entropy import Entropy
from discreet.verbs.collect.domain import Codes, Counts
from discreet.verbs.collect.frequency_oracle import FrequencyOracle
from discreet.verbs.collect.report_arrays import count_outcomes
from discreet.verbs.collect.report_distribution import Matrix, PublicChoice, SymmetricAnswers, round_down


@declare(FREQUENCY_ORACLES, "hadamard", rank=6, paper="Nguyên and others 2016", init=False)
class Hadamard(FrequencyOracle):
    """Hadamard response: a position and a sign."""

    operations = 4
    q_other = Fraction(1, 2)

    @cached_property
    def p_own(self) -> Fraction:
        """p: probability that the sign is reported truly, rounded down."""
        odds = exp_lower(self.epsilon)
        return round_down(odds / (odds + 1))

    @cached_property
    def report_distribution(self) -> SymmetricAnswers:
        """A public choice of the position, at which the answer has one sign or the other.

        Any two answers have the same sign at half of the positions, where they cannot be told apart, and other signs at
        the other half.
        """
        true, false = (self.p_own, 1 - self.p_own), (1 - self.p_own, self.p_own)

        def whole() -> PublicChoice:
            return PublicChoice(
                tuple(
                    Matrix(tuple(true if sign(position, value) else false for value in range(len(self.domain))))
                    for position in range(self.positions)
                )
            )

        return SymmetricAnswers(PublicChoice((Matrix((true, true)), Matrix((true, false)))), len(self.domain), whole)

    @cached_property
    def positions(self) -> int:
        """Number of positions: the next power of two."""
        return 1 << (len(self.domain) - 1).bit_length()

    @cached_property
    def report_type(self) -> pa.DataType:
        """Arrow type of a report: twice the position, and one more if the sign is plus."""
        return pa.uint16() if self.positions <= 1 << 15 else pa.uint32()

    def draw(self, codes: Codes, entropy: Entropy) -> pa.Array[Any]:
        """Draw a position, and the sign there or the opposite."""
        position = entropy.many_below(self.positions, codes.size)
        plus = np.bitwise_count(position & codes) & 1 == 0
        report_codes: Codes = 2 * position + (plus == entropy.flips(self.p_own, codes.size))
        return pa.array(report_codes.astype(self.report_type.to_pandas_dtype()))

    @property
    def counter_length(self) -> int:
        """Number of counts: minuses and pluses of every position."""
        return 2 * self.positions

    def count(self, reports: pa.Array[Any]) -> Counts:
        return count_outcomes(reports.to_numpy(), self.counter_length, "A report names an unknown position.")

    def support_counts(self, counts: Counts) -> Counts:
        """Transform of the surplus of pluses over minuses at each position."""
        more = counts[1::2] - counts[::2]
        _transform(more)
        return np.asarray((counts.sum() + more[: len(self.domain)]) // 2)


def sign(position: int, value: int) -> bool:
    """Whether a value's sign at a position is plus: whether they share an even number of bits."""
    return (position & value).bit_count() % 2 == 0


@njit(cache=True)
def _transform(row: Any) -> None:
    """Walsh–Hadamard transform, in place, of a row whose length is a power of two."""
    half = 1
    while half < row.size:
        for start in range(0, row.size, 2 * half):
            for at in range(start, start + half):
                one, other = row[at], row[at + half]
                row[at], row[at + half] = one + other, one - other
        half *= 2
