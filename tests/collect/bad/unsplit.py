"""A known mistake: unary encoding in which every bit gets the whole epsilon, instead of half of it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from discreet.core.exact import exp_lower
from discreet.verbs.collect.frequency.unary_encoding import UnaryEncoding
from discreet.verbs.collect.report_distribution import round_down


@dataclass(frozen=True, init=False)
class Unsplit(UnaryEncoding):
    """Two answers differ in two bits, each of which loses epsilon."""

    name = "unsplit"

    @property
    def p_own(self) -> Fraction:
        """e**ε / (e**ε + 1), where it should be e**(ε/2) / (e**(ε/2) + 1)."""
        odds = exp_lower(self.epsilon)
        return round_down(odds / (odds + 1))

    @property
    def q_other(self) -> Fraction:
        """1 - p."""
        return 1 - self.p_own
