"""L-GRR and LOLOHA: memoized randomised response, over values or over hashed buckets.

**L-GRR (Arcolezi and others 2022).** Why this is private. The permanent answer is a report of GRR with a loss of
``permanent_epsilon``. Each report tells it with a probability s, and any other value with (1 - s) / (d - 1). Both steps
together are GRR again, with

    own = a s + (1 - a) (1 - s) / (d - 1)         a: the probability that the permanent answer is the own value

and s is such that own / other <= e**ε, rounded down. Of T reports about a value that stays, none tells more than all of
them saying that value: whatever the permanent answer z, reports have a probability that is larger by s (d - 1) / (1 -
s) for each that says z; so a sequence that says x every time has at once the largest share of its likelihood at z = x
and the least at another.

**LOLOHA (Arcolezi and others 2023).** A device draws a function once that sends all values to a few buckets, and from
then on answers by L-GRR over the buckets.

Why this is private. The function depends on no one's answer, and given it the reports are those of L-GRR on a bucket:
so all losses about a value that stays are those of L-GRR over buckets. A round is as accurate as OLH.

A change to a value of the same bucket changes nothing at all, and there are no more permanent answers than buckets. The
literature concludes that ``permanent_epsilon`` times the number of buckets is all that a life of changing values loses.
That is not so: of two people whose values change on the same day, one may stay in a bucket and the other not, and then
they are told apart the better the longer they are asked. So of several values nothing is promised but
``loss_of_changes``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.core.catalogue import declare
from discreet.core.exact import Number, exp_lower
from discreet.core.families import FREQUENCY_ORACLES
from discreet.core.loss import Pure
from discreet.errors import NoPromise
from discreet.noise.entropy import Entropy
from discreet.verbs.collect.domain import Domain
from discreet.verbs.collect.frequency.local_hashing import OLH, LocalHashing, bucket_of
from discreet.verbs.collect.frequency.randomized_response import GRR, randomized_response
from discreet.verbs.collect.longitudinal.memoization import MemoizedOracle, power_lower
from discreet.verbs.collect.report_arrays import reports_to_rows, rows_to_reports
from discreet.verbs.collect.report_distribution import round_down


@declare(FREQUENCY_ORACLES, "l-grr", rank=12, paper="Arcolezi and others 2022", init=False)
class LGRR(MemoizedOracle, GRR):
    """L-GRR, longitudinal GRR: for few values."""

    @cached_property
    def permanent(self) -> GRR:
        return GRR(self.domain, self.permanent_epsilon)

    @cached_property
    def p_instantaneous(self) -> Fraction:
        """s: probability that a report is the permanent answer, rounded down."""
        odds, a, b = exp_lower(self.epsilon), self.permanent.p_own, self.permanent.q_other
        return round_down((odds / (odds + len(self.domain) - 1) - b) / (a - b))

    @cached_property
    def p_own(self) -> Fraction:
        """p: probability that the report is the value: both steps keep it, or the second returns to it."""
        return self.permanent.p_own * self.p_instantaneous + (1 - self.permanent.p_own) * self._lie

    @property
    def instantaneous_ratio(self) -> Fraction:
        return self.p_instantaneous / self._lie

    @property
    def _lie(self) -> Fraction:
        return (1 - self.p_instantaneous) / (len(self.domain) - 1)

    def ratio(self, rounds: int) -> Fraction:
        """Largest probability ratio of several reports, reached when all name the value."""
        a, b, d = self.permanent.p_own, self.permanent.q_other, len(self.domain)
        fade = power_lower(1 / self.instantaneous_ratio, rounds)
        return (a + (d - 1) * b * fade) / (b + (a + (d - 2) * b) * fade)

    def instantaneous_report(self, permanent: pa.Array[Any], entropy: Entropy) -> pa.Array[Any]:
        """Draw the permanent answer, or another value."""
        answers = permanent.to_numpy().astype(np.int64)
        codes = randomized_response(answers, self.p_instantaneous, len(self.domain), entropy)
        return pa.array(codes.astype(self.report_type.to_pandas_dtype()))


@declare(FREQUENCY_ORACLES, "loloha", rank=14, paper="Arcolezi and others 2023", init=False)
class LOLOHA(MemoizedOracle, LocalHashing):
    """LOLOHA, longitudinal local hashing: for values that change."""

    def __init__(
        self,
        domain: Domain | int | Iterable[Any],
        epsilon: Number,
        permanent_epsilon: Number | None = None,
        buckets: int | None = None,
    ) -> None:
        """``buckets`` defaults to OLH's number; 2 give the smallest loss over time."""
        LocalHashing.__init__(self, domain, epsilon, OLH(domain, epsilon).buckets if buckets is None else buckets)
        self._promise(permanent_epsilon)

    @property
    def parameters(self) -> dict[str, Any]:
        return {"forever": str(self.permanent_epsilon), "buckets": self.buckets}

    @cached_property
    def inner(self) -> LGRR:
        """L-GRR over buckets."""
        return LGRR(self.buckets, self.epsilon, self.permanent_epsilon)

    @property
    def p_own(self) -> Fraction:
        return self.inner.p_own

    @cached_property
    def permanent(self) -> LocalHashing:
        """The permanent step: a hash function and a bucket."""
        return LocalHashing(self.domain, self.permanent_epsilon, self.buckets)

    @property
    def instantaneous_ratio(self) -> Fraction:
        return self.inner.instantaneous_ratio

    def ratio(self, rounds: int) -> Fraction:
        return self.inner.ratio(rounds)

    def loss_of_values(self, values: int) -> Pure:
        """Loss about one value; several have no guarantee, since they decide whether the bucket changed."""
        if values > 1:
            raise NoPromise(
                "Over time it becomes visible whether two values share a bucket, so there is no bound for "
                "several values.",
                hint="loss_of_changes holds for a number of rounds.",
            )
        return super().loss_of_values(values)

    def permanent_answer(self, code: int, stream: Callable[..., Entropy]) -> pa.Array[Any]:
        """One hash function for all values, and a permanent answer for each bucket."""
        function = stream("function")
        a, b = (int(function.many_below(self.field, 1)[0]) for _ in range(2))
        bucket = bucket_of(np.array([(a * code + b) % self.field]), self.field, self.buckets)
        answer = randomized_response(bucket, self.permanent.p_own, self.buckets, stream("bucket", bucket[0]))
        row = np.empty((1, self.report_type.byte_width), dtype=np.uint8)
        row[0, :-1], row[0, -1] = np.array([a, b], dtype="<u4").view(np.uint8), answer[0]
        return rows_to_reports(row)

    def instantaneous_report(self, permanent: pa.Array[Any], entropy: Entropy) -> pa.Array[Any]:
        """Draw the hash function, and the permanent bucket or another."""
        rows = reports_to_rows(permanent).copy()
        rows[:, -1] = randomized_response(rows[:, -1].astype(int), self.inner.p_instantaneous, self.buckets, entropy)
        return rows_to_reports(rows)
