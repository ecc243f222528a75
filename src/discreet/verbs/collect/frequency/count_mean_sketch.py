"""Count-mean sketch (Apple 2017), with and without the Hadamard transform: few counts for very many values.

There are k public functions that send values to m buckets. A device draws one of them, and reports it together with a
report of its own value's *bucket*, by SUE or by Hadamard response over the buckets. Why this is private: the function
depends on no one's answer, so the loss is that of the report of the bucket. The collector keeps what the k × m buckets
count: a fixed size, however many values there are.

Functions are v -> a v² + b v + c in the field of P = 2**31 - 1 elements, cut into stretches as in ``local_hashing``.
Any three values go to even and independent places, so the probability s that two share a bucket is known exactly, and
so is the dependence between the collisions of one value with two others. A report supports every value that its
function sends to a supported bucket: the own with p, another with q = p s + q' (1 - s), where q' is what the report
over buckets has. With these the estimate is unbiased over the draw of the functions.

People who share a value share their fate: if it meets another in a bucket of one function, all of them do. So to the
variance of independent reports comes that of the collisions, which grows with the squares of the figures:

    var(supporting v) = n_v p (1 - p) + Σ n_w (q (1 - q) - D² s (1 - s) / k)
                        + D² / k · (s (1 - s) Σ n_w² + c ((Σ n_w)² - Σ n_w²))        over the other values w

with D = p - q' and c the covariance of two sharings. Bars are made of it, at the estimated figures; their noise makes
the sum of squares too large rather than too small.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from hashlib import shake_256
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.core.catalogue import declare
from discreet.core.exact import Number
from discreet.core.families import FREQUENCY_ORACLES
from discreet.errors import BadInput, DataError
from discreet.noise.entropy import SYSTEM, Entropy
from discreet.verbs.collect.domain import Codes, Counts, Domain, Floats, set_fields
from discreet.verbs.collect.frequency.hadamard import Hadamard
from discreet.verbs.collect.frequency.local_hashing import FIELD, bucket_of, collision_probability
from discreet.verbs.collect.frequency.unary_encoding import SUE
from discreet.verbs.collect.frequency_oracle import FrequencyOracle
from discreet.verbs.collect.report_arrays import reports_to_rows, rows_to_reports
from discreet.verbs.collect.report_distribution import MappedAnswers, PublicChoice

_MAX_SIZE = 1 << 16
_SEED_BITS = 128


@dataclass(frozen=True, init=False)
class CountMeanSketch(FrequencyOracle):
    """A count-mean sketch: public hash functions, and a frequency oracle over their buckets."""

    bucket_oracle: ClassVar[type[FrequencyOracle]]
    field: ClassVar[int] = FIELD
    functions: int
    """k: number of hash functions."""
    buckets: int
    """m: number of buckets."""
    seed: int
    """Public seed of the hash functions; drawn afresh for each survey unless it is given."""

    def __init__(
        self,
        domain: Domain | int | Iterable[Any],
        epsilon: Number,
        functions: int = 1024,
        buckets: int = 1024,
        seed: int | None = None,
    ) -> None:
        super().__init__(domain, epsilon)
        if not (1 <= functions <= _MAX_SIZE and 2 <= buckets <= _MAX_SIZE):
            raise BadInput(f"Choose 1 to {_MAX_SIZE:,} functions and 2 to {_MAX_SIZE:,} buckets.")
        if len(self.domain) > self.field:
            raise BadInput(f"Values must be no more than {self.field:,} to be hashed.")
        set_fields(self, functions=functions, buckets=buckets, seed=SYSTEM.bits(_SEED_BITS) if seed is None else seed)
        if not 0 <= self.seed < 1 << _SEED_BITS:
            raise BadInput(f"A seed has {_SEED_BITS} bits.")

    @cached_property
    def inner(self) -> FrequencyOracle:
        """The frequency oracle over buckets."""
        return self.bucket_oracle(self.buckets, self.epsilon)

    @property
    def p_own(self) -> Fraction:
        return self.inner.p_own

    @cached_property
    def q_other(self) -> Fraction:
        """q: another value shares the own bucket, or lies in one that is supported instead."""
        shared = collision_probability(self.field, self.buckets)
        return self.inner.p_own * shared + self.inner.q_other * (1 - shared)

    @cached_property
    def report_distribution(self) -> PublicChoice:
        """A public choice of the function, and the distribution of the bucket's report."""
        rows = self.inner.report_distribution
        buckets = (tuple(self.buckets_of(index).tolist()) for index in range(self.functions))
        return PublicChoice(tuple(MappedAnswers(rows, to) for to in buckets))

    @cached_property
    def report_type(self) -> pa.DataType:
        """Arrow type of a report: two bytes for the function, and the report of the bucket."""
        return pa.binary(2 + self.inner.report_type.bit_width // 8)

    @property
    def operations(self) -> int:
        """Steps of a function and a report of a bucket."""
        return 6 + self.inner.operations

    @property
    def batch_size(self) -> int:
        return self.inner.batch_size

    @cached_property
    def coefficients(self) -> NDArray[np.int64]:
        """Coefficients a, b and c of every function: 31 bits each, expanded from the seed, without those equal to P."""
        wanted, spare = 3 * self.functions, 64
        while True:
            stretched = shake_256(self.seed.to_bytes(_SEED_BITS // 8, "little")).digest(4 * (wanted + spare))
            result = np.frombuffer(stretched, dtype="<u4").astype(np.int64) >> 1
            result = result[result < self.field]
            if result.size >= wanted:
                return result[:wanted].reshape(3, -1)
            spare *= 2

    def buckets_of(self, function: int) -> NDArray[np.int64]:
        """Bucket of every value under a function."""
        return self._bucket(np.int64(function), np.arange(len(self.domain)))

    def draw(self, codes: Codes, entropy: Entropy) -> pa.Array[Any]:
        """Draw a function, and a report of the own value's bucket."""
        function = entropy.many_below(self.functions, codes.size)
        inner = reports_to_rows(self.inner.draw(self._bucket(function, codes), entropy))
        rows = np.empty((codes.size, 2 + inner.shape[1]), dtype=np.uint8)
        rows[:, :2] = function.astype("<u2").view(np.uint8).reshape(-1, 2)
        rows[:, 2:] = inner
        return rows_to_reports(rows)

    @property
    def counter_length(self) -> int:
        """Number of counts: those of the oracle over buckets, for every function."""
        return self.functions * self.inner.counter_length

    def count(self, reports: pa.Array[Any]) -> Counts:
        rows = reports_to_rows(reports)
        function = rows[:, :2].copy().view("<u2")[:, 0]
        if function.max() >= self.functions:
            raise DataError("A report names an unknown hash function.")
        ordered = rows[np.argsort(function, kind="stable"), 2:]
        ends = np.cumsum(np.bincount(function, minlength=self.functions))
        counts = np.zeros((self.functions, self.inner.counter_length), dtype=np.int64)
        start = 0
        for index, end in enumerate(ends.tolist()):
            if start < end:
                part = pa.py_buffer(np.ascontiguousarray(ordered[start:end]).data)
                counts[index] = self.inner.count(
                    pa.Array.from_buffers(self.inner.report_type, end - start, [None, part])
                )
            start = end
        return counts.reshape(-1)

    def support_counts(self, counts: Counts) -> Counts:
        """Number of reports that support each value's bucket, over all functions."""
        result = np.zeros(len(self.domain), dtype=np.int64)
        for index, row in enumerate(counts.reshape(self.functions, -1)):
            result += self.inner.support_counts(row)[self.buckets_of(index)]
        return result

    def variances(self, n: int, shares: Floats) -> Floats:
        """Variance of each count, with that of collisions (see above)."""
        shared = collision_probability(self.field, self.buckets)
        apart = float(shared * (1 - shared))
        covary = float(collision_probability(self.field, self.buckets, 3) - shared**2)
        p, q, step = float(self.p_own), float(self.q_other), float(self.inner.p_own - self.inner.q_other)
        people = n * shares
        others, squares = n - people, np.sum(people**2) - people**2
        alone = people * p * (1 - p) + others * (q * (1 - q) - step**2 * apart / self.functions)
        together = step**2 / self.functions * (apart * squares + covary * (others**2 - squares))
        return (alone + together) / (p - q) ** 2

    def _bucket(self, function: Codes | np.int64, value: Codes) -> Codes:
        a, b, c = self.coefficients[:, function]
        return bucket_of(((a * value + b) % self.field * value + c) % self.field, self.field, self.buckets)


@declare(FREQUENCY_ORACLES, "cms", rank=8, paper="Apple 2017", init=False)
class CMS(CountMeanSketch):
    """CMS: a bit for every bucket."""

    bucket_oracle = SUE


@declare(FREQUENCY_ORACLES, "hcms", rank=7, paper="Apple 2017", init=False)
class HCMS(CountMeanSketch):
    """HCMS, with Hadamard response: four bytes, for any number of values."""

    bucket_oracle = Hadamard
