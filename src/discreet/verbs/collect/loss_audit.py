"""Is a device's promise true? The loss that its reports really have, from their exact chances.

The largest quotient of two answers' chances of one report is a rational number, and is compared with e**ε as such: e**ε
lies between two rationals that are a part in 2**150 from each other. Nothing is sampled and nothing is rounded, so that
"holds" is a proof for the chances that the device flips by, and "does not hold" names the two answers that refute it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from discreet.core.exact import rounded
from discreet.verbs.collect.probability import power
from discreet.verbs.collect.report_distribution import Law, Ratio, worst


class Promising(Protocol):
    """Anything that claims an epsilon and says how likely its reports are."""

    @property
    def epsilon(self) -> Fraction:
        """The claim."""

    @property
    def law(self) -> Law:
        """How likely each report is for each answer."""


@dataclass(frozen=True)
class Audited:
    """What an audit found."""

    claim: Fraction
    ratio: Ratio
    """The largest quotient of a report's chances under two answers; ``None``: infinite."""
    pair: tuple[int, int]
    """Two answers that have it, by their place."""

    @property
    def holds(self) -> bool:
        """Whether the claim is true."""
        return self.ratio is not None and self.ratio <= power(self.claim)

    @property
    def epsilon(self) -> float:
        """The loss that was found, as a figure to read."""
        return math.inf if self.ratio is None else math.log(self.ratio)

    def __str__(self) -> str:
        claim = rounded(self.claim)
        if self.holds:
            return f"Holds: the loss is {self.epsilon:.6g}, and {claim} is claimed."
        if self.ratio is None:
            return f"Does not hold: some reports are made of answer {self.pair[0]} and never of answer {self.pair[1]}."
        return (
            f"Does not hold: {claim} is claimed, and a report is e^{self.epsilon:.6g} times as likely for answer "
            f"{self.pair[0]} as for answer {self.pair[1]}."
        )


def audit(mechanism: Promising) -> Audited:
    """The loss that a device's reports have, exactly, beside what is claimed. All pairs of answers count; of those that
    the law says are alike, one is tried."""
    ratio, pair = worst(mechanism.law)
    return Audited(mechanism.epsilon, ratio, pair)
