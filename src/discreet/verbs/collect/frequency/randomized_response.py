"""Randomised response: by two coins for yes and no (Warner 1965), and over any number of values (GRR).

**GRR, generalised randomised response.** Why this is private. The own value is reported with probability p, every other
with (1 - p) / (d - 1); the two differ by a factor of at most e**ε when p <= e**ε / (e**ε + d - 1), and p is that,
rounded down. With p = 3/4 and two values it is two fair coins (Kairouz, Bonawitz and Ramage 2016).

**Two coins, the oldest local protocol (Warner 1965).** The first coin says whether to tell the truth; if not, the
second coin is the answer. A yes is reported with probability t + (1 - t) h by those who mean it and (1 - t) h by the
others, where t is the first coin's probability of heads and h the second's. Why this is private: each answer can come
from anyone, and the loss is the logarithm of the largest of

    (t + (1 - t) h) / ((1 - t) h)     and     (t + (1 - t) (1 - h)) / ((1 - t) (1 - h)).

With two fair coins both are 3: ε = ln 3. With a second coin that nearly always says yes, a yes tells next to nothing
and a no tells much; yes and no then have probabilities of their own.

**How it is drawn.** Which of the other values is reported, is an even number below d - 1, found exactly: 32 random bits
times d - 1, of which the upper half counts, and which is drawn again where the lower half would favour someone (Lemire
2019).
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.core.catalogue import declare, parameter
from discreet.core.compiled import njit
from discreet.core.exact import Number, exact, exp_lower
from discreet.core.families import FREQUENCY_ORACLES
from discreet.errors import BadInput
from discreet.noise.entropy import Entropy, Flags
from discreet.verbs.collect.domain import Codes, Counts, Domain, Floats, set_fields
from discreet.verbs.collect.frequency_oracle import FrequencyOracle
from discreet.verbs.collect.report_arrays import count_outcomes, integer_type, to_integer_reports
from discreet.verbs.collect.report_distribution import (
    Matrix,
    SymmetricAnswers,
    epsilon_claim,
    randomized_response_distribution,
    round_down,
)


@declare(FREQUENCY_ORACLES, "grr", rank=0, paper="Kairouz, Bonawitz and Ramage 2016", init=False)
class GRR(FrequencyOracle):
    """Generalised randomised response: the most accurate oracle where there are few values."""

    operations = 4

    @cached_property
    def p_own(self) -> Fraction:
        """p: probability of reporting the own value, rounded down."""
        odds = exp_lower(self.epsilon)
        return round_down(odds / (odds + len(self.domain) - 1))

    @cached_property
    def q_other(self) -> Fraction:
        """q: an equal part of the rest for each other value."""
        return (1 - self.p_own) / (len(self.domain) - 1)

    @cached_property
    def report_distribution(self) -> SymmetricAnswers:
        """Randomised response: the own value with p, every other with q."""
        return randomized_response_distribution(self.p_own, len(self.domain))

    @cached_property
    def report_type(self) -> pa.DataType:
        """Arrow type of a report: the index of a value."""
        return integer_type(len(self.domain))

    def draw(self, codes: Codes, entropy: Entropy) -> pa.Array[Any]:
        """Draw the own value, or a step of 1 to d - 1 further round the list."""
        report_codes = randomized_response(codes, self.p_own, len(self.domain), entropy)
        return to_integer_reports(report_codes, len(self.domain))

    def count(self, reports: pa.Array[Any]) -> Counts:
        return count_outcomes(reports.to_numpy(), len(self.domain), "A report names an unknown value.")


@declare(FREQUENCY_ORACLES, "coins", rank=10, paper="Warner 1965", init=False)
class Coins(FrequencyOracle):
    """Randomised response by two coins with declared probabilities, for two values: no and yes."""

    report_type = pa.uint8()
    operations = 3
    truth: Fraction = parameter(
        "Probability that the first coin falls heads: the truth is reported.",
        default=Fraction(1, 2),
        above=0,
        below=1,
        python=True,
    )
    heads: Fraction = parameter(
        "Probability that the second coin falls heads: the second value is reported.",
        default=Fraction(1, 2),
        above=0,
        below=1,
        python=True,
    )

    def __init__(
        self,
        domain: Domain | int | Iterable[Any] = ("no", "yes"),
        truth: Number = Fraction(1, 2),
        heads: Number = Fraction(1, 2),
    ) -> None:
        set_fields(
            self, truth=_chance(truth, "The first coin's chance"), heads=_chance(heads, "The second coin's chance")
        )
        lie, no = 1 - self.truth, 1 - self.heads
        super().__init__(domain, epsilon_claim(max(1 + self.truth / (lie * self.heads), 1 + self.truth / (lie * no))))
        if len(self.domain) != 2:
            raise BadInput(f"Two coins choose between two values, not {len(self.domain)}.", hint="Use GRR.")

    @property
    def p_own(self) -> Fraction:
        """Probability for the first value; where the second coin is not fair, that of the second differs."""
        return self._p(0)

    @property
    def q_other(self) -> Fraction:
        """Probability for the first value; where the second coin is not fair, that of the second differs."""
        return self._q(0)

    def _p(self, value: int) -> Fraction:
        """Probability that a value's owner reports it: by the truth or by the second coin."""
        return self.truth + self._q(value)

    def _q(self, value: int) -> Fraction:
        """Probability that anyone else reports it: by the second coin."""
        return (1 - self.truth) * (self.heads if value else 1 - self.heads)

    @cached_property
    def probabilities(self) -> tuple[Floats, Floats]:
        owns, others = ([float(probability(value)) for value in (0, 1)] for probability in (self._p, self._q))
        return np.array(owns), np.array(others)

    @cached_property
    def report_distribution(self) -> Matrix:
        """Matrix of two answers by two reports."""
        return Matrix(((self._p(0), self._q(1)), (self._q(0), self._p(1))))

    def draw(self, codes: Codes, entropy: Entropy) -> pa.Array[Any]:
        """Draw the truth, or what the second coin says."""
        report_codes = np.where(entropy.flips(self.truth, codes.size), codes, entropy.flips(self.heads, codes.size))
        return pa.array(report_codes.astype(np.uint8))

    def count(self, reports: pa.Array[Any]) -> Counts:
        return count_outcomes(reports.to_numpy(), 2, "A report names an unknown value.")


def _chance(number: Number, what: str) -> Fraction:
    probability = exact(number, what)
    if not 0 < probability < 1:
        raise BadInput(f"{what} must be between 0 and 1, got {number}.", hint="For a fair coin write 1/2.")
    return probability


def randomized_response(codes: Codes, probability: Fraction, d: int, entropy: Entropy) -> Codes:
    """Keep each code with a probability, else move it by 1 to d - 1 round all ``d`` of them."""
    report_codes, heads = codes.copy(), entropy.flips(probability, codes.size)
    done = 0
    while done < codes.size:
        lies = codes.size - done - int(np.count_nonzero(heads[done:]))
        done = _move(report_codes, done, heads, d, entropy.words((lies + 1) // 2 + 1).view(np.uint32))
    return report_codes


@njit(cache=True)
def _move(report_codes: Codes, done: int, heads: Flags, d: int, random: Any) -> int:
    """Move the codes that are not kept, from ``done`` on; return how far the random numbers lasted."""
    others, at = np.uint64(d - 1), 0
    uneven = np.uint64(0x100000000) % others
    for row in range(done, report_codes.size):
        if heads[row]:
            continue
        while True:
            if at == random.size:
                return row
            product = np.uint64(random[at]) * others
            at += 1
            if product & np.uint64(0xFFFFFFFF) >= uneven:
                break
        moved = report_codes[row] + np.int64(1) + np.int64(product >> np.uint64(32))
        report_codes[row] = moved - d if moved >= d else moved
    return report_codes.size
