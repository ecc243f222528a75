"""Projective geometry response (Feldman, Nelson, Nguyen, Talwar 2022).

Values are points of the projective space over the field of q elements (q a prime near e**ε + 1): vectors of length t
whose first entry that is not 0 is 1. A report is a point too, and supports all values whose vectors are orthogonal to
it. Every value has equally many orthogonal points, S, and any two values share equally many of them, so a report is
about as accurate as one of subset selection, and has a few bytes.

Why this is private. Every point that is orthogonal to the own value is reported with the same probability p / S, every
other with (1 - p) / (K - S); the first is at most e**ε times the second, p being rounded down, and no other quotients
occur.

How a point is drawn exactly. Say the own value's first 1 is at a place i. All entries but that are drawn evenly, and
the i-th is what makes the product with the own value 0 (or, for the other points, a number drawn evenly of those that
are not). Vectors with that product are drawn evenly so, and each point is as many vectors as there are factors but 0.

How reports are counted. The Fourier transform over vectors, of how often each vector's point was reported, is at v the
sum of q - 1 for every report that is orthogonal to v and of -1 for every other one. So one transform gives the support
of all values; it is rounded to the whole number that it is.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.core.catalogue import declare
from discreet.core.compiled import njit
from discreet.core.exact import Number, exp_lower
from discreet.core.families import FREQUENCY_ORACLES
from discreet.errors import BadInput
from discreet.noise.entropy import Entropy
from discreet.verbs.collect.domain import Codes, Counts, Domain, set_fields
from discreet.verbs.collect.frequency_oracle import FrequencyOracle
from discreet.verbs.collect.report_arrays import count_outcomes, integer_type, to_integer_reports
from discreet.verbs.collect.report_distribution import Matrix, SymmetricAnswers, round_down

_MAX_VECTORS = 1 << 24
"""Largest number of vectors: their transform takes half a gigabyte."""


@declare(FREQUENCY_ORACLES, "pgr", rank=9, paper="Feldman and others 2022", init=False)
class PGR(FrequencyOracle):
    """Projective geometry response: nearly as accurate as subset selection, in a few bytes."""

    field: int
    """q: size of the field, a prime."""
    length: int
    """t: number of entries of a vector."""

    def __init__(self, domain: Domain | int | Iterable[Any], epsilon: Number) -> None:
        super().__init__(domain, epsilon)
        near = int(exp_lower(self.epsilon)) + 1
        shapes = [
            (field, length)
            for length in range(2, _MAX_VECTORS.bit_length())
            for field in _fields(len(self.domain), length, near)
        ]
        if not shapes:
            raise BadInput(f"{len(self.domain):,} values are too many for PGR.", hint="Use HCMS.")
        _, field, length = min((self._chances(*shape)[2], *shape) for shape in shapes)
        set_fields(self, field=field, length=length)

    @property
    def p_own(self) -> Fraction:
        """p: probability that an orthogonal point is reported, rounded down."""
        return self._p_and_q[0]

    @property
    def q_other(self) -> Fraction:
        """q: points that are orthogonal to another value, among those of the own value and among the rest."""
        return self._p_and_q[1]

    @cached_property
    def points(self) -> int:
        """K: number of points."""
        return _points(self.field, self.length)

    @cached_property
    def report_distribution(self) -> SymmetricAnswers:
        """Probability of every point: for two values, orthogonal to both, to one, to the other or to neither.

        All pairs of values have as many of each kind, which is all that quotients depend on.
        """
        planes, shared = (_points(self.field, self.length - less) for less in (1, 2))
        inside, outside = self.p_own / planes, (1 - self.p_own) / (self.points - planes)
        either, neither = planes - shared, self.points - 2 * planes + shared
        kinds = (shared * inside, either * inside, either * outside, neither * outside)
        pair = Matrix((kinds, (kinds[0], kinds[2], kinds[1], kinds[3])))

        def whole() -> Matrix:
            vectors = np.array([self._vector(point) for point in range(self.points)])
            orthogonal = vectors[: len(self.domain)] @ vectors.T % self.field == 0
            return Matrix(tuple(tuple(inside if hit else outside for hit in row) for row in orthogonal.tolist()))

        return SymmetricAnswers(pair, len(self.domain), whole)

    @cached_property
    def report_type(self) -> pa.DataType:
        """Arrow type of a report: the number of a point."""
        return integer_type(self.points)

    @property
    def operations(self) -> int:
        """Steps of a vector, its product with another, its point, and a count."""
        return 4 + 4 * self.length

    def draw(self, codes: Codes, entropy: Entropy) -> pa.Array[Any]:
        """Draw an orthogonal point or another, evenly."""
        q, rest = self.field, self.field ** (self.length - 1)
        entries, product = np.empty_like(codes), np.zeros_like(codes)
        inside = entropy.flips(self.p_own, codes.size)
        entries[inside] = 1 + entropy.many_below(rest - 1, int(inside.sum()))
        drawn = entropy.many_below(rest * (q - 1), int((~inside).sum()))
        entries[~inside], product[~inside] = drawn % rest, 1 + drawn // rest
        inverse = np.array([pow(x, -1, q) if x else 0 for x in range(q)])
        report_codes = np.empty_like(codes)
        _draw_points(codes, (entries, product), (self.length, inverse), report_codes)
        return to_integer_reports(report_codes, self.points)

    @property
    def counter_length(self) -> int:
        return self.points

    def count(self, reports: pa.Array[Any]) -> Counts:
        return count_outcomes(reports.to_numpy(), self.points, "A report names an unknown point.")

    def support_counts(self, counts: Counts) -> Counts:
        """Supports by one Fourier transform of all vectors; a vector's number has its first entry as highest digit."""
        q, t = self.field, self.length
        every = np.zeros(q**t)
        for digits in range(t):  # points whose 1 has this many entries behind it
            first, many = _points(q, digits), q**digits
            behind = np.arange(many)
            for factor in range(1, q):
                every[factor * many + _times(behind, factor, q, digits)] = counts[first : first + many]
        turned = np.fft.fftn(every.reshape((q,) * t)).real.reshape(-1)
        numbers = np.concatenate([q**digits + np.arange(q**digits) for digits in range(t)])[: len(self.domain)]
        return np.asarray(np.rint((turned[numbers] + counts.sum()) / q).astype(np.int64))

    @cached_property
    def _p_and_q(self) -> tuple[Fraction, Fraction]:
        return self._chances(self.field, self.length)[:2]

    def _chances(self, field: int, length: int) -> tuple[Fraction, Fraction, Fraction]:
        """p and q of a space, and the factor of the variance where no one has a value."""
        points, planes, shared = (_points(field, length - less) for less in (0, 1, 2))
        odds = exp_lower(self.epsilon)
        own = round_down(odds * planes / (odds * planes + points - planes))
        other = own * Fraction(shared, planes) + (1 - own) * Fraction(planes - shared, points - planes)
        return own, other, other * (1 - other) / (own - other) ** 2

    def _vector(self, point: int) -> tuple[int, ...]:
        digits = 0
        while _points(self.field, digits + 1) <= point:
            digits += 1
        number = self.field**digits + point - _points(self.field, digits)
        return tuple(number // self.field**index % self.field for index in reversed(range(self.length)))


def _points(field: int, length: int) -> int:
    """Number of points of the projective space of vectors of a length."""
    return int((field**length - 1) // (field - 1))


def _fields(d: int, length: int, near: int) -> list[int]:
    """Candidate primes: the smallest with enough points, and those beside ``near``, within the limit of vectors."""
    most = int(_MAX_VECTORS ** (1 / length))
    least = 2
    while _points(least, length) < d and least <= most:
        least += 1
    below = range(min(near, most), least - 1, -1)
    return sorted(
        {
            result
            for tried in (range(least, most + 1), below, range(max(near, least), most + 1))
            if (result := next(filter(_prime, tried), None)) is not None
        }
    )


def _prime(number: int) -> bool:
    return number > 1 and all(number % by for by in range(2, int(number**0.5) + 1))


def _times(numbers: Codes, factor: int, field: int, digits: int) -> Codes:
    """Numbers of vectors multiplied by a factor."""
    made, unit = np.zeros_like(numbers), 1
    for _ in range(digits):
        made += numbers // unit % field * factor % field * unit
        unit *= field
    return made


@njit(cache=True)
def _draw_points(codes: Codes, random: Any, space: Any, report_codes: Any) -> None:
    """Number of each drawn point, given all entries but the one that makes the product with the own value."""
    (entries, product), (t, inverse) = random, space
    q = inverse.size
    vector = np.empty(t, dtype=np.int64)
    for row in range(codes.size):
        behind, many = codes[row], 1
        while behind >= many:  # how many entries the own value has behind its first 1
            behind -= many
            many *= q
        left, sum_, unit, own = entries[row], 0, 1, -1
        for index in range(t):
            if unit == many:
                own = index
            else:
                vector[index] = left % q
                left //= q
                if unit < many:
                    sum_ += vector[index] * (behind // unit % q)
            unit *= q
        vector[own] = (product[row] - sum_) % q
        top = t - 1
        while vector[top] == 0:
            top -= 1
        factor, number, unit, before = inverse[vector[top]], 0, 1, 0
        for index in range(top):
            number += vector[index] * factor % q * unit
            before += unit
            unit *= q
        report_codes[row] = before + number
