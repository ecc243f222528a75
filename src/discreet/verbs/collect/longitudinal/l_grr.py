"""Randomised response of randomised response: L-GRR (Arcolezi, Couchot, Al Bouna, Xiao 2022).

Why this is private. The permanent answer is a report of GRR with a loss of ``forever``. Each report tells it with a
chance s, and any other value with (1 - s) / (d - 1). Both steps together are GRR again, with

    own = a s + (1 - a) (1 - s) / (d - 1)         a: the chance that the permanent answer is the own value

and s is such that own / other <= e**ε, rounded down. Of T reports about a value that stays, none tells more than all of
them saying that value: whatever the permanent answer z, reports have a chance that is larger by s (d - 1) / (1 - s) for
each that says z; so a sequence that says x every time has at once the largest share of its likelihood at z = x and the
least at another.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.noise.entropy import Entropy
from discreet.verbs.collect.frequency.grr import GRR
from discreet.verbs.collect.longitudinal.memoization import Memoised, power_below
from discreet.verbs.collect.probability import down, power
from discreet.verbs.collect.randomized_response import respond


@dataclass(frozen=True, init=False)
class LGRR(Memoised, GRR):
    """Longitudinal GRR: for few values."""

    name = "l-grr"

    @cached_property
    def permanent(self) -> GRR:
        """The step that is taken once for each value."""
        return GRR(self.domain, self.forever)

    @cached_property
    def steady(self) -> Fraction:
        """s: the chance that a report tells the permanent answer, rounded down."""
        odds, a, b = power(self.epsilon), self.permanent.own, self.permanent.other
        return down((odds / (odds + len(self.domain) - 1) - b) / (a - b))

    @cached_property
    def own(self) -> Fraction:
        """Both steps tell the value, or the second comes back to it."""
        return self.permanent.own * self.steady + (1 - self.permanent.own) * self._lie

    @property
    def step_ratio(self) -> Fraction:
        """Of two permanent answers, a report is likelier for the one that it tells."""
        return self.steady / self._lie

    @property
    def _lie(self) -> Fraction:
        return (1 - self.steady) / (len(self.domain) - 1)

    def ratio(self, rounds: int) -> Fraction:
        """That of reports that all say the value."""
        a, b, d = self.permanent.own, self.permanent.other, len(self.domain)
        fade = power_below(1 / self.step_ratio, rounds)
        return (a + (d - 1) * b * fade) / (b + (a + (d - 2) * b) * fade)

    def again(self, kept: pa.Array[Any], entropy: Entropy) -> pa.Array[Any]:
        """The permanent answer, or another value."""
        told = respond(kept.to_numpy().astype(np.int64), self.steady, len(self.domain), entropy)
        return pa.array(told.astype(self.report_type.to_pandas_dtype()))
