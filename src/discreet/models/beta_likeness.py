"""β-likeness and δ-disclosure: bounds on how much likelier a value is in a class than in the table."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

import numpy as np

from discreet.core.catalogue import check_parameters, declare, parameter
from discreet.core.exact import Number
from discreet.core.families import MODELS
from discreet.models.classes import Classes, Flags, Spread
from discreet.models.exact_compare import Floats, Whole, at_most, dot, ln, plain, quotient, sign, unsure, wide
from discreet.models.model import Model


@declare(
    MODELS,
    "β-likeness",
    example="beta=1",
    spelled="[basic ][{enhanced} ]beta={beta}[ on {on}]",
    paper="Cao and Karras 2012",
    init=False,
)
class BetaLikeness(Model):
    """No value is likelier in a class than in the whole table by more than β times (Cao and Karras 2012).

    With p the share of a value in the table and q that in a class, basic: (q - p) / p <= β; enhanced: <= min(β, -ln p),
    which also bounds what is gained on frequent values. The figure is the largest gain. Enhanced, one that is at most β
    may still be too large for a value that is frequent.

    Why this is private: it bounds how much belief in any value grows, in proportion, so that rare values are protected
    where t-closeness lets them through. It allows values to become less likely.

    Monotone: a value's share in merged classes lies between its shares in them, and p stays.
    """

    beta: Fraction = parameter("Maximum relative gain of a value's share in a class.", above=0)
    on: str = parameter("Sensitive column; default: the only one on the card.", column="sensitive")
    enhanced: bool = parameter("Whether -ln of a value's share also bounds its gain.", default=False)

    meaning = "largest gain of a value"

    def __init__(self, beta: Number, on: str, enhanced: bool = False) -> None:
        check_parameters(self, beta=beta, on=on, enhanced=bool(enhanced))

    @property
    def claim_text(self) -> str:
        return f"{'enhanced' if self.enhanced else 'basic'} {plain(self.beta)}-like on {self.on}"

    def figures(self, classes: Classes) -> Floats:
        spread = classes.spread(self.on)
        gains = np.maximum(quotient(*_shares(classes, spread)) - 1, 0)
        return spread.by_class(np.maximum, gains)

    def explained(self, classes: Classes) -> str:
        return f"{self.meaning} (also bounded by -ln of its share)" if self.enhanced else self.meaning

    def breaking(self, classes: Classes) -> Flags:
        spread = classes.spread(self.on)
        part, whole = _shares(classes, spread)
        over = ~at_most(part, whole, 1 + self.beta)
        if self.enhanced:
            gains, logs = quotient(part, whole) - 1, _logs(spread)
            gained = gains > logs
            for line in np.flatnonzero(unsure(gains, logs)):
                gained[line] = _above_log(
                    Fraction(int(part[line]), int(whole[line])),
                    Fraction(int(spread.whole[spread.codes[line]]), classes.rows),
                )
            over |= gained
        return spread.by_class(np.logical_or, over)


@declare(
    MODELS,
    "δ-disclosure",
    example="delta=1",
    spelled="delta={delta}[ on {on}]",
    paper="Brickell and Shmatikov 2008",
    init=False,
)
class DeltaDisclosure(Model):
    """In every class each value is likelier or less likely than in the table by a factor below 2^δ.

    |log2(q / p)| < δ for every value of the table, as Brickell and Shmatikov (2008) have it: strictly, and in bits. A
    value that a class does not have makes the logarithm infinite and breaks it; some tools overlook that.

    Why this is private: who finds a person's class learns less than δ bits of any value, for it or against it. The
    strictest of the models here.

    Monotone: a value's share in merged classes lies between its shares in them, and p stays.
    """

    delta: Fraction = parameter("Maximum change of a value's share, bits.", above=0)
    on: str = parameter("Sensitive column; default: the only one on the card.", column="sensitive")

    meaning = "largest change of a value, in bits"

    def __init__(self, delta: Number, on: str) -> None:
        check_parameters(self, delta=delta, on=on)

    @property
    def claim_text(self) -> str:
        return f"{plain(self.delta)}-disclosure private on {self.on}"

    def figures(self, classes: Classes) -> Floats:
        spread = classes.spread(self.on)
        bits = spread.by_class(np.maximum, np.abs(np.log2(quotient(*_shares(classes, spread)))))
        return np.where(self._lacking(classes, spread), np.inf, bits)

    def breaking(self, classes: Classes) -> Flags:
        spread = classes.spread(self.on)
        part, whole = _shares(classes, spread)
        bits = np.abs(np.log2(quotient(part, whole)))
        over = np.asarray(bits >= float(self.delta), dtype=np.bool_)
        for line in np.flatnonzero(unsure(bits, float(self.delta))):
            over[line] = _reached(Fraction(int(part[line]), int(whole[line])), self.delta)
        return spread.by_class(np.logical_or, over) | self._lacking(classes, spread)

    def _lacking(self, classes: Classes, spread: Spread) -> Flags:
        """Which classes do not have every value that the table has."""
        has = np.bincount(spread.classes, minlength=len(classes.sizes))
        return np.asarray(has < np.count_nonzero(spread.whole), dtype=np.bool_)


def _shares(classes: Classes, spread: Spread) -> tuple[Whole, Whole]:
    """Of each line a value's share in its class over its share in the whole table, as two whole numbers."""
    rows = classes.rows
    counts, sizes, whole = wide(spread.counts, classes.sizes, spread.whole, most=rows * rows)
    return counts * rows, sizes[spread.classes] * whole[spread.codes]


def _logs(spread: Spread) -> Floats:
    """Of each line -ln of its value's share in the whole table."""
    return np.asarray(-np.log(spread.whole[spread.codes] / spread.whole.sum()), dtype=np.float64)


@lru_cache(maxsize=65_536)
def _reached(ratio: Fraction, bits: Fraction) -> bool:
    """Whether |log2(ratio)| >= bits."""
    return sign(dot([(1 if ratio >= 1 else -1, ln(ratio)), (-bits, ln(2))]), ln(2)) >= 0


@lru_cache(maxsize=65_536)
def _above_log(ratio: Fraction, share: Fraction) -> bool:
    """Whether ratio - 1 > -ln(share)."""
    return sign(dot([(ratio - 1, Decimal(1)), (1, ln(share))]), Decimal(1)) > 0
