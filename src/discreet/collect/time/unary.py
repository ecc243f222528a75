"""A row of coins that is kept, and every bit turned over now and then: L-OSUE (Arcolezi and others 2022).

It is RAPPOR with the permanent row made by OUE, which is more accurate than SUE.

Why this is private. The permanent row is a report of OUE with a loss of ``forever``: the own bit is 1 with one half,
any other with b. Each report tells a bit of it truly with a chance s. So in a report the own bit is 1 with one half
again, and any other with q = b s + (1 - b) (1 - s); two answers differ in two bits, and a report's chances by (1 - q) /
q at most, which is e**ε when q = 1 / (e**ε + 1); s is rounded down, and q is the larger for it. Of T reports about a
value that stays, those tell most that have its bit 1 every time and the other value's 0 every time: bits are
independent.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from discreet.collect.chance import down, power
from discreet.collect.frequency.rappor import RAPPOR
from discreet.collect.frequency.unary import OUE
from discreet.collect.time.memoised import Memoised, power_below


@dataclass(frozen=True, init=False)
class LOSUE(RAPPOR, Memoised):
    """Longitudinal optimised-symmetric unary encoding: the most accurate over time, at a bit for every value."""

    name = "l-osue"
    own = Fraction(1, 2)

    @cached_property
    def permanent(self) -> OUE:
        """The step that is taken once for each value."""
        return OUE(self.domain, self.forever)

    @cached_property
    def steady(self) -> Fraction:
        """s: the chance that a report tells a bit of the permanent row truly, rounded down."""
        b = self.permanent.other
        return down((1 - b - 1 / (power(self.epsilon) + 1)) / (1 - 2 * b))

    @cached_property
    def other(self) -> Fraction:
        """A bit of another value is 1 and told truly, or 0 and turned over."""
        b, s = self.permanent.other, self.steady
        return b * s + (1 - b) * (1 - s)

    @property
    def step_ratio(self) -> Fraction:
        """Two permanent rows may differ in every bit."""
        return (self.steady / (1 - self.steady)) ** len(self.domain)

    def ratio(self, rounds: int) -> Fraction:
        """That of reports that all have the value's bit, and none the other's."""
        a, b = self.permanent.own, self.permanent.other
        fade = power_below((1 - self.steady) / self.steady, rounds)
        one = (a + (1 - a) * fade) / (b + (1 - b) * fade)
        return one * (1 - b + b * fade) / (1 - a + a * fade)
