"""Frequency oracles: how a device reports which of some values it has, and how a collector counts the reports.

Every oracle here is *pure* (Wang, Blocki, Li, Jha 2017): a report supports some of the values. It supports the
respondent's own with probability p and any other with a probability q below it, whichever they are. So of n reports, of
which a share f come from people with a value, n (f p + (1 - f) q) support it on average, and

    estimate = (supporting - n q) / (p - q)         unbiased, whatever the answers are
    variance = n (f p (1 - p) + (1 - f) q (1 - q)) / (p - q)²

A collector keeps a row of counts of a fixed length, from which the numbers of supporting reports are computed when they
are asked for. Counts add up over batches, processes and machines.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

import numpy as np
import pyarrow as pa

from discreet.core.catalogue import parameter, parameterized
from discreet.core.document import fields
from discreet.core.exact import Number
from discreet.errors import BadInput, DataError
from discreet.noise.entropy import Entropy
from discreet.noise.expand import BULK
from discreet.verbs.collect.domain import Codes, Counts, Domain, Floats, Values, set_fields
from discreet.verbs.collect.estimate import FrequencyEstimate
from discreet.verbs.collect.protocol import LocalProtocol
from discreet.verbs.collect.report_arrays import Reports, chunks_of, in_batches
from discreet.verbs.collect.report_distribution import require_epsilon


@parameterized(init=False)
class FrequencyOracle(LocalProtocol[FrequencyEstimate]):
    """A local protocol for which of some values a person has."""

    domain: Domain
    epsilon: Fraction = parameter("Privacy loss of a report.", above=0, python=True)

    def __init__(self, domain: Domain | int | Iterable[Any], epsilon: Number) -> None:
        set_fields(
            self, domain=domain if isinstance(domain, Domain) else Domain(domain), epsilon=require_epsilon(epsilon)
        )

    @property
    @abstractmethod
    def p_own(self) -> Fraction:
        """p: probability that a report supports the respondent's own value."""

    @property
    @abstractmethod
    def q_other(self) -> Fraction:
        """q: probability that a report supports any other value."""

    @property
    @abstractmethod
    def operations(self) -> int:
        """Approximate number of steps a report takes on the device and where it is counted, to compare oracles by."""

    @property
    def batch_size(self) -> int:
        """Number of devices simulated at once: few enough that memory is bounded and stays in the processor's cache."""
        return 1 << 16

    @abstractmethod
    def draw(self, codes: Codes, entropy: Entropy) -> pa.Array[Any]:
        """Draw a report for each answer, all at once."""

    @property
    def counter_length(self) -> int:
        """Number of counts that a collector keeps."""
        return len(self.domain)

    @abstractmethod
    def count(self, reports: pa.Array[Any]) -> Counts:
        """Count reports; a report that no device can have made is an error."""

    def support_counts(self, counts: Counts) -> Counts:
        """Number of reports that support each value, from the counts that were kept."""
        return counts

    @property
    def arguments(self) -> Mapping[str, Any]:
        """Arguments of the constructor beside the domain, as plain data."""
        return {"epsilon": str(self.epsilon), **self.parameters}

    def randomize(self, values: Values, /, *, entropy: Entropy = BULK) -> pa.Array[Any]:
        codes = self.domain.codes(values)
        return in_batches(codes.size, lambda part: self.draw(codes[part], entropy), self.batch_size)

    def supports(self, reports: pa.Array[Any]) -> Counts:
        """Number of reports that support each value."""
        return self.support_counts(self.count(reports))

    def tally(self) -> ReportTally:
        """An empty tally, to which reports can be added as they come."""
        return ReportTally(self)

    def estimate(self, reports: Reports, *, confidence: float = 0.95) -> FrequencyEstimate:
        """Estimate how many people have each value, with error bars."""
        return self.tally().add(reports).estimate(confidence=confidence)

    @cached_property
    def probabilities(self) -> tuple[Floats, Floats]:
        """p and q of every value, as floating-point numbers for estimates."""
        d = len(self.domain)
        return np.full(d, float(self.p_own)), np.full(d, float(self.q_other))

    def variances(self, n: int, shares: Floats) -> Floats:
        """Variance of each estimated count among ``n`` people, by the share of people that has each value."""
        p, q = self.probabilities
        return n * (shares * p * (1 - p) + (1 - shares) * q * (1 - q)) / (p - q) ** 2

    def variance(self, n: int, share: float = 0.0) -> float:
        """Variance for one value, the first, that a share of people has, if the others are evenly spread."""
        d = len(self.domain)
        shares = np.full(d, (1 - share) / (d - 1))
        shares[0] = share
        return float(self.variances(n, shares)[0])


@dataclass
class ReportTally:
    """Counts of reports of one oracle: a fixed size, however many there are. Tallies can be merged in any order."""

    oracle: FrequencyOracle
    reports: int = 0
    counts: Counts = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    def __post_init__(self) -> None:
        if self.counts.size == 0:
            self.counts = np.zeros(self.oracle.counter_length, dtype=np.int64)

    @property
    def supports(self) -> Counts:
        """Number of reports that support each value."""
        return self.oracle.support_counts(self.counts)

    def add(self, reports: Reports) -> Self:
        """Count further reports: all of them or, if one cannot be counted, none."""
        chunks = chunks_of(reports, self.oracle.report_type, self.oracle.name)
        counts = self.counts.copy()
        for chunk in chunks:
            if len(chunk):
                counts += self.oracle.count(chunk)
        self.counts = counts
        self.reports += len(reports)
        return self

    def merge(self, other: ReportTally) -> Self:
        """Add another collector's tally of the same protocol."""
        if other.oracle != self.oracle:
            raise BadInput("Reports of two protocols cannot be counted together.")
        self.counts = self.counts + other.counts
        self.reports += other.reports
        return self

    def estimate(self, *, confidence: float = 0.95) -> FrequencyEstimate:
        """Estimate how many people have each value, with error bars."""
        return FrequencyEstimate.of(self, confidence)

    def to_dict(self) -> dict[str, Any]:
        """This tally as plain data, to send to another machine."""
        return {"reports": self.reports, "counts": self.counts.tolist()}

    @classmethod
    def from_dict(cls, oracle: FrequencyOracle, data: object) -> ReportTally:
        """Read a tally of the same protocol from plain data, strictly."""
        document = fields(data, "a tally", reports=int, counts=list)
        whole = all(type(count) is int and 0 <= count <= document["reports"] < 2**63 for count in document["counts"])
        if not whole or len(document["counts"]) != oracle.counter_length:
            raise DataError("This is no count of reports of that protocol.", hint="Merge tallies of one survey only.")
        return cls(oracle, document["reports"], np.array(document["counts"], dtype=np.int64))
