"""Local hashing: each device draws a hash function, and randomises the bucket of its value (BLH, OLH).

Every device draws a function that sends all values to a few buckets, and reports it together with the bucket of its own
value, or another bucket by randomised response. Why this is private: the function depends on no one's answer, so the
report loses what randomised response over the buckets loses. It supports every value that its function sends to the
bucket it names.

* *BLH* has 2 buckets, *OLH* about e**ε + 1, where it is as accurate as OUE (Wang, Blocki, Li, Jha 2017); a report has
  nine bytes however many values there are, and the collector pays for that: every report is tried on every value.

The functions are v -> a v + b in the field of P = 2**31 - 1 elements, with a and b drawn evenly, and buckets are
parts of that field. Two values then go to an even and independent pair of elements, so the probability that they
share a bucket is known exactly: the sum of squares of the buckets' shares. With that the estimate is unbiased exactly,
not nearly.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.core.catalogue import declare
from discreet.core.compiled import njit
from discreet.core.exact import Number, exp_lower
from discreet.core.families import FREQUENCY_ORACLES
from discreet.errors import BadInput, DataError
from discreet.noise.entropy import Entropy
from discreet.verbs.collect.domain import Codes, Counts, Domain
from discreet.verbs.collect.frequency.randomized_response import randomized_response
from discreet.verbs.collect.frequency_oracle import FrequencyOracle
from discreet.verbs.collect.report_arrays import reports_to_rows, rows_to_reports
from discreet.verbs.collect.report_distribution import (
    MappedAnswers,
    PublicChoice,
    SymmetricAnswers,
    randomized_response_distribution,
    round_down,
)

FIELD = 2**31 - 1
_MAX_BUCKETS = 256
_REPORT = np.dtype([("a", "<u4"), ("b", "<u4"), ("bucket", "u1")])
_REPORTS_PER_BATCH = 1 << 12


@dataclass(frozen=True, init=False)
class LocalHashing(FrequencyOracle):
    """Local hashing to a given number of buckets."""

    name = "hashing"
    field: ClassVar[int] = FIELD
    buckets: int

    def __init__(self, domain: Domain | int | Iterable[Any], epsilon: Number, buckets: int) -> None:
        super().__init__(domain, epsilon)
        if not 2 <= buckets <= _MAX_BUCKETS:
            raise BadInput(f"The number of buckets must be 2 to {_MAX_BUCKETS}, not {buckets}.")
        if len(self.domain) > self.field:
            raise BadInput(f"Values must be no more than {self.field:,} to be hashed.")
        object.__setattr__(self, "buckets", buckets)

    @cached_property
    def p_own(self) -> Fraction:
        """p: probability that the own bucket is reported, rounded down."""
        odds = exp_lower(self.epsilon)
        return round_down(odds / (odds + self.buckets - 1))

    @cached_property
    def q_other(self) -> Fraction:
        """q: another value shares the own bucket, or lies in the one that is reported instead."""
        shared = collision_probability(self.field, self.buckets)
        return self.p_own * shared + (1 - self.p_own) / (self.buckets - 1) * (1 - shared)

    @cached_property
    def report_distribution(self) -> SymmetricAnswers:
        """Randomised response over buckets, for functions that separate any two answers.

        Given a function, an answer's row is that of its bucket, and all pairs of different buckets are alike in their
        quotients. So it takes no more functions than tell every pair of answers apart at least once: those that send an
        answer to a digit of its number.
        """
        rows = randomized_response_distribution(self.p_own, self.buckets)

        def whole() -> PublicChoice:
            digits, unit = [], 1
            while unit < len(self.domain):
                digits.append(MappedAnswers(rows, tuple(v // unit % self.buckets for v in range(len(self.domain)))))
                unit *= self.buckets
            return PublicChoice(tuple(digits))

        return SymmetricAnswers(rows.pair, len(self.domain), whole)

    @cached_property
    def report_type(self) -> pa.DataType:
        """Arrow type of a report: a, b and the bucket."""
        return pa.binary(_REPORT.itemsize)

    @property
    def operations(self) -> int:
        """Steps of a function and its bucket; and every report is tried on every value."""
        return 6 + len(self.domain)

    def draw(self, codes: Codes, entropy: Entropy) -> pa.Array[Any]:
        """Draw a function for each device, and the own bucket or another."""
        a, b = (entropy.many_below(self.field, codes.size) for _ in range(2))
        bucket = bucket_of((a * codes + b) % self.field, self.field, self.buckets)
        records = np.empty(codes.size, dtype=_REPORT)
        records["a"], records["b"], records["bucket"] = (
            a,
            b,
            randomized_response(bucket, self.p_own, self.buckets, entropy),
        )
        return rows_to_reports(records)

    def count(self, reports: pa.Array[Any]) -> Counts:
        """Count the reports whose function sends each value to the bucket they name."""
        records = reports_to_rows(reports).view(_REPORT)[:, 0]
        if max(records["a"].max(), records["b"].max()) >= self.field or records["bucket"].max() >= self.buckets:
            raise DataError("A report names an unknown bucket or hash function.")
        counts = np.zeros(len(self.domain), dtype=np.int64)
        edges = bucket_edges(self.field, self.buckets).astype(np.uint32)
        for start in range(0, records.size, _REPORTS_PER_BATCH):
            part = records[start : start + _REPORTS_PER_BATCH]
            low = edges[part["bucket"]]
            size = edges[part["bucket"] + np.int64(1)] - low
            _add_up(part["a"].copy(), part["b"].copy(), (low, size), np.uint32(self.field), counts)
        return counts


@declare(FREQUENCY_ORACLES, "olh", rank=4, paper="Wang and others 2017", init=False)
class OLH(LocalHashing):
    """OLH, optimised local hashing: as accurate as OUE, in nine bytes."""

    def __init__(self, domain: Domain | int | Iterable[Any], epsilon: Number) -> None:
        FrequencyOracle.__init__(self, domain, epsilon)
        super().__init__(self.domain, epsilon, min(_MAX_BUCKETS, max(2, round(exp_lower(self.epsilon)) + 1)))


@declare(FREQUENCY_ORACLES, "blh", rank=3, paper="Wang and others 2017", init=False)
class BLH(LocalHashing):
    """BLH, binary local hashing: two buckets."""

    def __init__(self, domain: Domain | int | Iterable[Any], epsilon: Number) -> None:
        super().__init__(domain, epsilon, 2)


def bucket_of(element: Codes, field: int, buckets: int) -> Codes:
    """Bucket whose part of the field an element lies in."""
    return element * buckets // field


def bucket_edges(field: int, buckets: int) -> NDArray[np.int64]:
    """First element of each bucket's part of the field, and the field's end."""
    return np.array([-(-index * field // buckets) for index in range(buckets + 1)], dtype=np.int64)


def collision_probability(field: int, buckets: int, values: int = 2) -> Fraction:
    """Probability that values, each hashed to an even and independent element of the field, share a bucket."""
    return Fraction(sum(int(size) ** values for size in np.diff(bucket_edges(field, buckets))), field**values)


@njit(cache=True)
def _add_up(a: Any, element: Any, stretch: Any, field: np.uint32, counts: Counts) -> None:
    """Go through all values: each report's element moves by its a, and counts if it is in the reported bucket."""
    low, size = stretch
    for value in range(counts.size):
        inside = np.uint32(0)
        for report in range(a.size):
            at = element[report]
            inside += np.uint32(np.uint32(at - low[report]) < size[report])
            at += a[report]
            if at >= field:
                at -= field
            element[report] = at
        counts[value] += inside
