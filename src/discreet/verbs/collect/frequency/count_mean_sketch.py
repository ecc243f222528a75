"""Few counts for very many values: the count-mean sketch (Apple 2017), with and without the Hadamard transform.

There are k public functions that send values to m buckets. A device draws one of them, and reports it together with a
report of its own value's *bucket*, by SUE or by Hadamard response over the buckets. Why this is private: the function
hangs on nobody's answer, so the loss is that of the report of the bucket. The collector keeps what the k × m buckets
count: a fixed size, however many values there are.

Functions are v -> a v² + b v + c in the field of P = 2**31 - 1 elements, cut into stretches as in ``hashing``. Any
three values go to even and independent places, so the chance s that two share a bucket is known exactly, and so is how
the sharings of one value with two others hang together. A report supports every value that its function sends to a
supported bucket: the own with p, another with q = p s + q' (1 - s), where q' is what the report over buckets has. With
these the estimate is unbiased over the draw of the functions.

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

from discreet.core.exact import Number
from discreet.errors import BadInput, DataError
from discreet.noise.entropy import SYSTEM, Entropy
from discreet.verbs.collect.bit_reports import reports_to_rows, rows_to_reports
from discreet.verbs.collect.domain import Codes, Counts, Domain
from discreet.verbs.collect.frequency.hadamard import Hadamard
from discreet.verbs.collect.frequency.local_hashing import FIELD, bucket_of, collision_probability
from discreet.verbs.collect.frequency.unary_encoding import SUE
from discreet.verbs.collect.frequency_oracle import FrequencyOracle
from discreet.verbs.collect.report_distribution import MappedAnswers, PublicChoice

_MOST = 1 << 16
_SEED = 128


@dataclass(frozen=True, init=False)
class CountMeanSketch(FrequencyOracle):
    """What both count-mean sketches share: public functions, and a protocol over their buckets."""

    over: ClassVar[type[FrequencyOracle]]
    field: ClassVar[int] = FIELD
    functions: int
    """k."""
    buckets: int
    """m."""
    seed: int
    """What the functions are made of: public, and drawn anew for each survey unless it is given."""

    def __init__(
        self,
        domain: Domain | int | Iterable[Any],
        epsilon: Number,
        functions: int = 1024,
        buckets: int = 1024,
        seed: int | None = None,
    ) -> None:
        super().__init__(domain, epsilon)
        if not (1 <= functions <= _MOST and 2 <= buckets <= _MOST):
            raise BadInput(f"There are 1 to {_MOST:,} functions and 2 to {_MOST:,} buckets.")
        if len(self.domain) > self.field:
            raise BadInput(f"Values must be no more than {self.field:,} to be hashed.")
        object.__setattr__(self, "functions", functions)
        object.__setattr__(self, "buckets", buckets)
        object.__setattr__(self, "seed", SYSTEM.bits(_SEED) if seed is None else seed)
        if not 0 <= self.seed < 1 << _SEED:
            raise BadInput(f"A seed has {_SEED} bits.")

    @property
    def parameters(self) -> dict[str, Any]:
        """The functions and buckets."""
        return {"functions": self.functions, "buckets": self.buckets, "seed": self.seed}

    @cached_property
    def inner(self) -> FrequencyOracle:
        """The protocol over buckets."""
        return self.over(self.buckets, self.epsilon)

    @property
    def p_own(self) -> Fraction:
        """The own bucket is supported."""
        return self.inner.p_own

    @cached_property
    def q_other(self) -> Fraction:
        """Another value shares the own bucket, or lies in one that is supported instead."""
        shared = collision_probability(self.field, self.buckets)
        return self.inner.p_own * shared + self.inner.q_other * (1 - shared)

    @cached_property
    def report_distribution(self) -> PublicChoice:
        """For every function, the bucket's law."""
        rows = self.inner.report_distribution
        return PublicChoice(
            tuple(MappedAnswers(rows, tuple(self.sent(index).tolist())) for index in range(self.functions))
        )

    @cached_property
    def report_type(self) -> pa.DataType:
        """Two bytes for the function, and the report of the bucket."""
        return pa.binary(2 + self.inner.report_type.bit_width // 8)

    @property
    def operations(self) -> int:
        """A function, and a report of a bucket."""
        return 6 + self.inner.operations

    @property
    def batch_size(self) -> int:
        """As many as the protocol over buckets."""
        return self.inner.batch_size

    @cached_property
    def coefficients(self) -> NDArray[np.int64]:
        """a, b and c of every function: 31 bits each of what the seed is stretched to, without those that are P."""
        wanted, spare = 3 * self.functions, 64
        while True:
            stretched = shake_256(self.seed.to_bytes(_SEED // 8, "little")).digest(4 * (wanted + spare))
            result = np.frombuffer(stretched, dtype="<u4").astype(np.int64) >> 1
            result = result[result < self.field]
            if result.size >= wanted:
                return result[:wanted].reshape(3, -1)
            spare *= 2

    def sent(self, function: int) -> NDArray[np.int64]:
        """The bucket that a function sends every value to."""
        return self._bucket(np.int64(function), np.arange(len(self.domain)))

    def draw(self, codes: Codes, entropy: Entropy) -> pa.Array[Any]:
        """A function, and a report of the bucket that it sends the own value to."""
        function = entropy.many_below(self.functions, codes.size)
        inner = reports_to_rows(self.inner.draw(self._bucket(function, codes), entropy))
        report_codes = np.empty((codes.size, 2 + inner.shape[1]), dtype=np.uint8)
        report_codes[:, :2] = function.astype("<u2").view(np.uint8).reshape(-1, 2)
        report_codes[:, 2:] = inner
        return rows_to_reports(report_codes)

    @property
    def counter_length(self) -> int:
        """What the protocol over buckets keeps, for every function."""
        return self.functions * self.inner.counter_length

    def count(self, reports: pa.Array[Any]) -> Counts:
        """Reports of each function are counted for themselves."""
        report_codes = reports_to_rows(reports)
        function = report_codes[:, :2].copy().view("<u2")[:, 0]
        if function.max() >= self.functions:
            raise DataError("A report names a function that there is not.")
        ordered = report_codes[np.argsort(function, kind="stable"), 2:]
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
        """What supports a value's bucket, over all functions."""
        result = np.zeros(len(self.domain), dtype=np.int64)
        for index, row in enumerate(counts.reshape(self.functions, -1)):
            result += self.inner.support_counts(row)[self.sent(index)]
        return result

    def variances(self, n: int, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """With the variance of collisions: see above."""
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


@dataclass(frozen=True, init=False)
class CMS(CountMeanSketch):
    """Count-mean sketch: a bit for every bucket."""

    name = "cms"
    over = SUE


@dataclass(frozen=True, init=False)
class HCMS(CountMeanSketch):
    """Count-mean sketch with Hadamard response: four bytes, for any number of values."""

    name = "hcms"
    over = Hadamard
