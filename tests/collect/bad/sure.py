"""A known mistake: RAPPOR whose permanent step never turns a 1 over, so that the own bit is always 1."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from discreet.verbs.collect.frequency.unary_encoding import UnaryEncoding


@dataclass(frozen=True, init=False)
class Sure(UnaryEncoding):
    """P(1 | 1) is 1 where 3/4 is claimed: a row without a bit says that the value is not that one."""

    name = "sure"
    p_own = Fraction(1)
    q_other = Fraction(1, 4)
