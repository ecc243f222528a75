"""Interface of local protocols, and the audit of their claimed loss.

**Loss audit.** The largest quotient of two answers' probabilities of one report is a rational number, and is compared
with e**ε as such: e**ε lies between two rationals that are a part in 2**150 from each other. Nothing is sampled and
nothing is rounded, so that "holds" is a proof for the probabilities that the device draws by, and "does not hold" names
the two answers that refute it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

import pyarrow as pa

from discreet.core.exact import exp_lower, rounded
from discreet.core.loss import Pure
from discreet.verbs.collect.domain import Counts, plain_fields
from discreet.verbs.collect.report_arrays import Reports, count_integer_reports, integer_type
from discreet.verbs.collect.report_distribution import Ratio, ReportDistribution, worst_ratio

if TYPE_CHECKING:
    from discreet.verbs.collect.locations.planar_laplace import PlanarLaplace

E_co = TypeVar("E_co", covariant=True)


class LocalProtocol(ABC, Generic[E_co]):
    """What a device and a collector agree on: how answers are randomised, and how reports are estimated from."""

    name: ClassVar[str]
    epsilon: Fraction
    """Claimed loss about all that a person answers; ``audit`` checks it."""

    @property
    def loss(self) -> Pure:
        """Largest privacy loss of one report about all that a person answers."""
        return Pure(self.epsilon)

    @property
    @abstractmethod
    def report_distribution(self) -> ReportDistribution:
        """Probability of each report given each answer; of very many answers, of some that include the worst pair."""

    @property
    @abstractmethod
    def report_type(self) -> pa.DataType:
        """Arrow type of a report."""

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Parameters beside the name, the domain and epsilon, as plain data."""
        return plain_fields(self, "domain", "epsilon")

    @abstractmethod
    def randomize(self, values: Any) -> pa.Array[Any]:
        """Randomise answers into reports, one a person."""

    @abstractmethod
    def estimate(self, reports: Reports, *, confidence: float = 0.95) -> E_co:
        """Estimate from reports, with error bars."""


class CountingProtocol(LocalProtocol[E_co]):
    """A protocol whose reports are reduced to a fixed number of counts, which add up over batches and machines."""

    @property
    @abstractmethod
    def counter_length(self) -> int:
        """Number of counts that a collector keeps."""

    @abstractmethod
    def count(self, reports: Reports) -> Counts:
        """Count reports; a report that no device can have made is an error."""

    @abstractmethod
    def estimate_counts(self, counts: Counts, *, confidence: float = 0.95) -> E_co:
        """Estimate from counts, with error bars."""

    def estimate(self, reports: Reports, *, confidence: float = 0.95) -> E_co:
        return self.estimate_counts(self.count(reports), confidence=confidence)


class IntegerProtocol(CountingProtocol[E_co]):
    """A protocol whose report is one of a number of outcomes, each of which is counted."""

    @property
    @abstractmethod
    def outcomes(self) -> int:
        """Number of possible reports."""

    @property
    def report_type(self) -> pa.DataType:
        return integer_type(self.outcomes)

    @property
    def counter_length(self) -> int:
        return self.outcomes

    def count(self, reports: Reports) -> Counts:
        return count_integer_reports(reports, self.outcomes)


@dataclass(frozen=True)
class LossAudit:
    """Result of a loss audit: the claimed epsilon, and the exact worst ratio."""

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
            return f"Does not hold: some reports are possible for answer {self.pair[0]}, never for {self.pair[1]}."
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
