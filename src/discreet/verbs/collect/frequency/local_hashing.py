"""A hash function of one's own, and randomised response on what it gives.

Every device draws a function that sends all values to a few buckets, and reports it together with the bucket of its own
value, or another bucket by randomised response. Why this is private: the function hangs on nobody's answer, so the
report loses what randomised response over the buckets loses. It supports every value that its function sends to the
bucket it names.

* *BLH* has 2 buckets, *OLH* about e**ε + 1, where it is as accurate as OUE (Wang, Blocki, Li, Jha 2017); a report has
  nine bytes however many values there are, and the collector pays for that: every report is tried on every value.

The functions are v -> a v + b in the field of P = 2**31 - 1 elements, with a and b drawn evenly, and buckets are
stretches of that field. Two values then go to an even and independent pair of places, so the chance that they share a
bucket is known exactly: the sum of squares of the buckets' shares. With that the estimate is unbiased exactly, not
nearly.
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

from discreet.core.compiled import njit
from discreet.core.exact import Number
from discreet.errors import BadInput, DataError
from discreet.noise.entropy import Entropy
from discreet.verbs.collect.bit_reports import as_reports, rows_of
from discreet.verbs.collect.domain import Codes, Counts, Domain
from discreet.verbs.collect.frequency_oracle import Client
from discreet.verbs.collect.probability import down, power
from discreet.verbs.collect.randomized_response import respond
from discreet.verbs.collect.report_distribution import Alike, Public, Sent, response

FIELD = 2**31 - 1
_MOST = 256
_REPORT = np.dtype([("a", "<u4"), ("b", "<u4"), ("bucket", "u1")])
_AT_ONCE = 1 << 12


@dataclass(frozen=True, init=False)
class Hashing(Client):
    """Local hashing to a number of buckets."""

    name = "hashing"
    field: ClassVar[int] = FIELD
    buckets: int

    def __init__(self, domain: Domain | int | Iterable[Any], epsilon: Number, buckets: int) -> None:
        super().__init__(domain, epsilon)
        if not 2 <= buckets <= _MOST:
            raise BadInput(f"There are 2 to {_MOST} buckets, not {buckets}.")
        if len(self.domain) > self.field:
            raise BadInput(f"Values must be no more than {self.field:,} to be hashed.")
        object.__setattr__(self, "buckets", buckets)

    @property
    def parameters(self) -> dict[str, Any]:
        """How many buckets there are."""
        return {"buckets": self.buckets}

    @cached_property
    def own(self) -> Fraction:
        """The chance that the own bucket is told, rounded down."""
        odds = power(self.epsilon)
        return down(odds / (odds + self.buckets - 1))

    @cached_property
    def other(self) -> Fraction:
        """Another value shares the own bucket, or lies in the one that is told instead."""
        shared = meeting(self.field, self.buckets)
        return self.own * shared + (1 - self.own) / (self.buckets - 1) * (1 - shared)

    @cached_property
    def law(self) -> Alike:
        """Randomised response over buckets, for functions that tell any two answers apart.

        Given a function, an answer's row is that of its bucket, and all pairs of different buckets are alike in their
        quotients. So it takes no more functions than tell every pair of answers apart at least once: those that send an
        answer to a digit of its number.
        """
        rows = response(self.own, self.buckets)

        def whole() -> Public:
            digits, unit = [], 1
            while unit < len(self.domain):
                digits.append(Sent(rows, tuple(value // unit % self.buckets for value in range(len(self.domain)))))
                unit *= self.buckets
            return Public(tuple(digits))

        return Alike(rows.pair, len(self.domain), whole)

    @cached_property
    def report_type(self) -> pa.DataType:
        """a, b and the bucket."""
        return pa.binary(_REPORT.itemsize)

    @property
    def operations(self) -> int:
        """A function and its bucket; and every report is tried on every value."""
        return 6 + len(self.domain)

    def draw(self, codes: Codes, entropy: Entropy) -> pa.Array[Any]:
        """A function for each device, and its bucket or another."""
        a, b = (entropy.many_below(self.field, codes.size) for _ in range(2))
        bucket = bucket_of((a * codes + b) % self.field, self.field, self.buckets)
        told = np.empty(codes.size, dtype=_REPORT)
        told["a"], told["b"], told["bucket"] = a, b, respond(bucket, self.own, self.buckets, entropy)
        return as_reports(told)

    def count(self, reports: pa.Array[Any]) -> Counts:
        """A report supports the values that its function sends to the bucket it names."""
        told = rows_of(reports).view(_REPORT)[:, 0]
        if max(told["a"].max(), told["b"].max()) >= self.field or told["bucket"].max() >= self.buckets:
            raise DataError("A report names a bucket or a function that there is not.")
        counts = np.zeros(len(self.domain), dtype=np.int64)
        edges = stretches(self.field, self.buckets).astype(np.uint32)
        for start in range(0, told.size, _AT_ONCE):
            part = told[start : start + _AT_ONCE]
            low = edges[part["bucket"]]
            size = edges[part["bucket"] + np.int64(1)] - low
            _add_up(part["a"].copy(), part["b"].copy(), (low, size), np.uint32(self.field), counts)
        return counts


@dataclass(frozen=True, init=False)
class OLH(Hashing):
    """Optimised local hashing: as accurate as OUE, in nine bytes."""

    name = "olh"

    def __init__(self, domain: Domain | int | Iterable[Any], epsilon: Number) -> None:
        Client.__init__(self, domain, epsilon)
        super().__init__(self.domain, epsilon, min(_MOST, max(2, round(power(self.epsilon)) + 1)))


@dataclass(frozen=True, init=False)
class BLH(Hashing):
    """Binary local hashing."""

    name = "blh"

    def __init__(self, domain: Domain | int | Iterable[Any], epsilon: Number) -> None:
        super().__init__(domain, epsilon, 2)


def bucket_of(place: Codes, field: int, buckets: int) -> Codes:
    """The bucket in whose stretch of the field a place lies."""
    return place * buckets // field


def stretches(field: int, buckets: int) -> NDArray[np.int64]:
    """Where each bucket's stretch of the field begins, and the field's end."""
    return np.array([-(-place * field // buckets) for place in range(buckets + 1)], dtype=np.int64)


def meeting(field: int, buckets: int, values: int = 2) -> Fraction:
    """The chance that so many values, each sent to an even and independent place of the field, share a bucket."""
    return Fraction(sum(int(size) ** values for size in np.diff(stretches(field, buckets))), field**values)


@njit(cache=True)
def _add_up(a: Any, place: Any, stretch: Any, field: np.uint32, counts: Counts) -> None:
    """Walk through all values: each report's place in the field moves by its a, and counts if it is in its bucket."""
    low, size = stretch
    for value in range(counts.size):
        inside = np.uint32(0)
        for report in range(a.size):
            at = place[report]
            inside += np.uint32(np.uint32(at - low[report]) < size[report])
            at += a[report]
            if at >= field:
                at -= field
            place[report] = at
        counts[value] += inside
