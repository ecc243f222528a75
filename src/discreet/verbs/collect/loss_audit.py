"""Loss audit: the exact privacy loss of a local protocol, computed from its report distribution.

The largest quotient of two answers' probabilities of one report is a rational number, and is compared with e**ε as
such: e**ε lies between two rationals that are a part in 2**150 from each other. Nothing is sampled and nothing is
rounded, so that "holds" is a proof for the probabilities that the device draws by, and "does not hold" names the two
answers that refute it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet.core.directed_rounding import exp_lower
from discreet.core.exact import rounded
from discreet.verbs.collect.report_distribution import Ratio, worst_ratio

if TYPE_CHECKING:
    from discreet.verbs.collect.locations.planar_laplace import PlanarLaplace
    from discreet.verbs.collect.protocol import LocalProtocol


@dataclass(frozen=True)
class LossAudit:
    """The claimed epsilon beside the true worst ratio."""

    claim: Fraction
    ratio: Ratio
    """Largest quotient of a report's probabilities under two answers; ``None``: infinite."""
    pair: tuple[int, int]
    """Indices of two answers that have it."""

    @property
    def holds(self) -> bool:
        """Whether the claim is true."""
        return self.ratio is not None and self.ratio <= exp_lower(self.claim)

    @property
    def epsilon(self) -> float:
        """The true epsilon, as a floating-point number to read."""
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


def audit(mechanism: LocalProtocol[Any] | PlanarLaplace) -> LossAudit:
    """Compare the claimed epsilon of a protocol with its exact loss.

    All pairs of answers count; of those that the distribution declares symmetric, one is computed.
    """
    ratio, pair = worst_ratio(mechanism.report_distribution)
    return LossAudit(mechanism.epsilon, ratio, pair)
