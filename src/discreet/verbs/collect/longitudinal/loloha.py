"""A hash function that a device keeps: LOLOHA (Arcolezi, Pinzón, Palamidessi, Gambs 2023).

A device draws a function once that sends all values to a few buckets, and from then on answers by L-GRR over the
buckets.

Why this is private. The function hangs on nobody's answer, and given it the reports are those of L-GRR on a bucket: so
all losses about a value that stays are those of L-GRR over buckets. A round is as accurate as OLH.

A change to a value of the same bucket changes nothing at all, and there are no more permanent answers than buckets. The
literature concludes that ``forever`` times the number of buckets is all that a life of changing values loses. That is
not so: of two people whose values change on the same day, one may stay in a bucket and the other not, and then they are
told apart the better the longer they are asked. So of several values nothing is promised but ``loss_of_changes``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.core.exact import Number
from discreet.core.loss import Pure
from discreet.errors import NoPromise
from discreet.noise.entropy import Entropy
from discreet.verbs.collect.bit_reports import as_reports, rows_of
from discreet.verbs.collect.domain import Domain
from discreet.verbs.collect.frequency.local_hashing import OLH, Hashing, bucket_of
from discreet.verbs.collect.longitudinal.l_grr import LGRR
from discreet.verbs.collect.longitudinal.memoization import Memoised
from discreet.verbs.collect.randomized_response import respond


@dataclass(frozen=True, init=False)
class LOLOHA(Memoised, Hashing):
    """Longitudinal local hashing: for values that change."""

    name = "loloha"

    def __init__(
        self,
        domain: Domain | int | Iterable[Any],
        epsilon: Number,
        forever: Number | None = None,
        buckets: int | None = None,
    ) -> None:
        """``buckets`` are as many as OLH has unless they are given; 2 lose least over a life."""
        Hashing.__init__(self, domain, epsilon, OLH(domain, epsilon).buckets if buckets is None else buckets)
        self._promise(forever)

    @property
    def parameters(self) -> dict[str, Any]:
        """The loss of all reports together, and how many buckets there are."""
        return {"forever": str(self.forever), "buckets": self.buckets}

    @cached_property
    def inner(self) -> LGRR:
        """The protocol over buckets."""
        return LGRR(self.buckets, self.epsilon, self.forever)

    @property
    def own(self) -> Fraction:
        """The own bucket is told."""
        return self.inner.own

    @cached_property
    def permanent(self) -> Hashing:
        """A function, and a bucket that is kept."""
        return Hashing(self.domain, self.forever, self.buckets)

    @property
    def step_ratio(self) -> Fraction:
        """That over buckets."""
        return self.inner.step_ratio

    def ratio(self, rounds: int) -> Fraction:
        """That over buckets."""
        return self.inner.ratio(rounds)

    def loss_of_values(self, values: int) -> Pure:
        """That of one value; of more there is no promise, since which they were says whether the bucket changed."""
        if values > 1:
            raise NoPromise(
                "Whether two values share a bucket shows in the end, so there is no bound for several of them.",
                hint="loss_of_changes holds for a number of rounds.",
            )
        return super().loss_of_values(values)

    def remembered(self, code: int, stream: Callable[..., Entropy]) -> pa.Array[Any]:
        """One function for all values, and a permanent answer for each bucket."""
        function = stream("function")
        a, b = (int(function.many_below(self.field, 1)[0]) for _ in range(2))
        bucket = bucket_of(np.array([(a * code + b) % self.field]), self.field, self.buckets)
        kept = respond(bucket, self.permanent.own, self.buckets, stream("bucket", bucket[0]))
        row = np.empty((1, self.report_type.byte_width), dtype=np.uint8)
        row[0, :-1], row[0, -1] = np.array([a, b], dtype="<u4").view(np.uint8), kept[0]
        return as_reports(row)

    def again(self, kept: pa.Array[Any], entropy: Entropy) -> pa.Array[Any]:
        """The function, and the bucket that is kept or another."""
        told = rows_of(kept).copy()
        told[:, -1] = respond(told[:, -1].astype(np.int64), self.inner.steady, self.buckets, entropy)
        return as_reports(told)
