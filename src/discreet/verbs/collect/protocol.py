"""Interface of local protocols: a name, a claimed epsilon, an exact report distribution and a type of report."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, ClassVar, Generic, TypeVar

import pyarrow as pa

from discreet.core.loss import Pure
from discreet.verbs.collect.domain import Counts
from discreet.verbs.collect.report_arrays import Reports, count_integer_reports, integer_type
from discreet.verbs.collect.report_distribution import ReportDistribution

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
        """Parameters beside the name and epsilon, as plain data."""
        return {}

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
        """Estimate from reports, with error bars."""
        return self.estimate_counts(self.count(reports), confidence=confidence)


class IntegerProtocol(CountingProtocol[E_co]):
    """A protocol whose report is one of a number of outcomes, each of which is counted."""

    @property
    @abstractmethod
    def outcomes(self) -> int:
        """Number of possible reports."""

    @property
    def report_type(self) -> pa.DataType:
        """Arrow type of a report: a whole number."""
        return integer_type(self.outcomes)

    @property
    def counter_length(self) -> int:
        """Number of counts that a collector keeps: one for each possible report."""
        return self.outcomes

    def count(self, reports: Reports) -> Counts:
        """Count how often each report occurs."""
        return count_integer_reports(reports, self.outcomes)
