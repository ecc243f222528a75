"""L-GRR: memoized randomised response, randomised again in each report (Arcolezi and others 2022).

Why this is private. The permanent answer is a report of GRR with a loss of ``permanent_epsilon``. Each report tells it
with a probability s, and any other value with (1 - s) / (d - 1). Both steps together are GRR again, with

    own = a s + (1 - a) (1 - s) / (d - 1)         a: the probability that the permanent answer is the own value

and s is such that own / other <= e**ε, rounded down. Of T reports about a value that stays, none tells more than all of
them saying that value: whatever the permanent answer z, reports have a probability that is larger by s (d - 1) / (1 -
s) for each that says z; so a sequence that says x every time has at once the largest share of its likelihood at z = x
and the least at another.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.core.catalogue import declare
from discreet.core.directed_rounding import exp_lower
from discreet.core.families import FREQUENCY_ORACLES
from discreet.noise.entropy import Entropy
from discreet.verbs.collect.frequency.grr import GRR
from discreet.verbs.collect.longitudinal.memoization import MemoizedOracle, power_lower
from discreet.verbs.collect.probability import round_down
from discreet.verbs.collect.randomized_response import randomized_response


@declare(FREQUENCY_ORACLES, "l-grr", rank=12, paper="Arcolezi and others 2022", init=False)
class LGRR(MemoizedOracle, GRR):
    """L-GRR, longitudinal GRR: for few values."""

    @cached_property
    def permanent(self) -> GRR:
        """The permanent step, taken once for each value."""
        return GRR(self.domain, self.permanent_epsilon)

    @cached_property
    def p_instantaneous(self) -> Fraction:
        """s: probability that a report is the permanent answer, rounded down."""
        odds, a, b = exp_lower(self.epsilon), self.permanent.p_own, self.permanent.q_other
        return round_down((odds / (odds + len(self.domain) - 1) - b) / (a - b))

    @cached_property
    def p_own(self) -> Fraction:
        """p: both steps keep the value, or the second comes back to it."""
        return self.permanent.p_own * self.p_instantaneous + (1 - self.permanent.p_own) * self._lie

    @property
    def instantaneous_ratio(self) -> Fraction:
        """Largest quotient of a report's probabilities under two permanent answers."""
        return self.p_instantaneous / self._lie

    @property
    def _lie(self) -> Fraction:
        return (1 - self.p_instantaneous) / (len(self.domain) - 1)

    def ratio(self, rounds: int) -> Fraction:
        """Largest quotient of several reports: that of reports that all name the value."""
        a, b, d = self.permanent.p_own, self.permanent.q_other, len(self.domain)
        fade = power_lower(1 / self.instantaneous_ratio, rounds)
        return (a + (d - 1) * b * fade) / (b + (a + (d - 2) * b) * fade)

    def instantaneous_report(self, kept: pa.Array[Any], entropy: Entropy) -> pa.Array[Any]:
        """Draw the permanent answer, or another value."""
        codes = randomized_response(kept.to_numpy().astype(np.int64), self.p_instantaneous, len(self.domain), entropy)
        return pa.array(codes.astype(self.report_type.to_pandas_dtype()))
