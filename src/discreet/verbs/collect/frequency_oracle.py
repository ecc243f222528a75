"""The two sides of a frequency protocol: what a device does with an answer, and what a collector does with reports.

Every protocol here is *pure* (Wang, Blocki, Li, Jha 2017): a report supports some of the values. It supports the
respondent's own with a chance p and any other with a chance q below it, whichever they are. So of n reports, of which a
share f come from people with a value, n (f p + (1 - f) q) support it on average, and

    estimate = (supporting - n q) / (p - q)         unbiased, whatever the answers are
    variance = n (f p (1 - p) + (1 - f) q (1 - q)) / (p - q)²

What a collector keeps is a row of counts of a fixed length, of which the numbers of supporting reports are made when
they are asked for. Counts add up, over batches, processes and machines.

What a collector keeps of reports: how many there were, and a row of counts of a fixed length. It never grows.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.core.document import fields
from discreet.core.exact import Number
from discreet.errors import BadInput, DataError
from discreet.noise.entropy import Entropy
from discreet.noise.expand import BULK
from discreet.verbs.collect.domain import Codes, Counts, Domain, Values
from discreet.verbs.collect.probability import epsilon_of
from discreet.verbs.collect.protocol import Reporting

if TYPE_CHECKING:
    from discreet.verbs.collect.estimate import Estimate
if TYPE_CHECKING:
    from discreet.verbs.collect.estimate import Estimate


@dataclass(frozen=True, init=False)
class Client(Reporting):
    """A way to report which of some values one has. It is all a device and a collector need to agree on."""

    domain: Domain
    epsilon: Fraction

    def __init__(self, domain: Domain | int | Iterable[Any], epsilon: Number) -> None:
        object.__setattr__(self, "domain", domain if isinstance(domain, Domain) else Domain(domain))
        object.__setattr__(self, "epsilon", epsilon_of(epsilon))

    @property
    @abstractmethod
    def own(self) -> Fraction:
        """p: the chance that a report supports the respondent's own value."""

    @property
    @abstractmethod
    def other(self) -> Fraction:
        """q: the chance that it supports another."""

    def own_of(self, value: int) -> Fraction:
        """p of one value, by its place, where it is not the same for all."""
        return self.own

    def other_of(self, value: int) -> Fraction:
        """q of one value, by its place, where it is not the same for all."""
        return self.other

    @property
    @abstractmethod
    def operations(self) -> int:
        """About how many steps a report takes, on the device and where it is counted: to compare protocols by."""

    @property
    def at_once(self) -> int:
        """How many devices are played at once: so few that what they take is bounded and stays near the processor."""
        return 1 << 16

    @abstractmethod
    def draw(self, codes: Codes, entropy: Entropy) -> pa.Array[Any]:
        """A report for each answer; as many as are asked for are drawn at once."""

    @property
    def kept(self) -> int:
        """How many counts a collector keeps."""
        return len(self.domain)

    @abstractmethod
    def count(self, reports: pa.Array[Any]) -> Counts:
        """What is kept of reports. Reports that no device can have made are an error."""

    def supported(self, counts: Counts) -> Counts:
        """How many reports support each value, of what is kept of them."""
        return counts

    @property
    def parameters(self) -> Mapping[str, Any]:
        """What the protocol is, beside its name, domain and epsilon, as plain data."""
        return {}

    @property
    def arguments(self) -> Mapping[str, Any]:
        """What it is made with beside its domain, as plain data."""
        return {"epsilon": str(self.epsilon), **self.parameters}

    def randomize(self, values: Values, *, entropy: Entropy = BULK) -> pa.Array[Any]:
        """A report for each answer. Nothing of the answer is in it but what the promise allows."""
        codes, step = self.domain.codes(values), self.at_once
        parts = [self.draw(codes[start : start + step], entropy) for start in range(0, max(codes.size, 1), step)]
        return parts[0] if len(parts) == 1 else pa.concat_arrays(parts)

    def supports(self, reports: pa.Array[Any]) -> Counts:
        """How many of the reports support each value."""
        return self.supported(self.count(reports))

    def tally(self) -> Tally:
        """An empty count of reports, to which they can be added as they come."""

        return Tally(self)

    def estimate(self, reports: pa.Array[Any] | pa.ChunkedArray[Any], *, confidence: float = 0.95) -> Estimate:
        """How many people have each value, with error bars."""
        return self.tally().add(reports).estimate(confidence=confidence)

    @cached_property
    def chances(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """p and q of every value, as an estimate uses them."""
        d = len(self.domain)
        return np.full(d, float(self.own)), np.full(d, float(self.other))

    def variances(self, n: int, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """The variance of every estimated number of people, of ``n``, by the share of them that has each value."""
        p, q = self.chances
        return n * (shares * p * (1 - p) + (1 - shares) * q * (1 - q)) / (p - q) ** 2

    def variance(self, n: int, share: float = 0.0) -> float:
        """The same for one value, the first, that a share of people has, if the others are evenly spread."""
        d = len(self.domain)
        shares = np.full(d, (1 - share) / (d - 1))
        shares[0] = share
        return float(self.variances(n, shares)[0])


@dataclass
class Tally:
    """A count of reports. Counts of the same protocol can be merged, in any order."""

    client: Client
    reports: int = 0
    counts: Counts = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    def __post_init__(self) -> None:
        if self.counts.size == 0:
            self.counts = np.zeros(self.client.kept, dtype=np.int64)

    @property
    def supports(self) -> Counts:
        """How many of the reports support each value."""
        return self.client.supported(self.counts)

    def add(self, reports: pa.Array[Any] | pa.ChunkedArray[Any]) -> Self:
        """Count further reports: all of them or, if one cannot be, none."""
        chunks = reports.chunks if isinstance(reports, pa.ChunkedArray) else [reports]
        for chunk in chunks:
            if chunk.type != self.client.report_type:
                raise DataError(
                    f"A report of {self.client.name} is {self.client.report_type}, not {chunk.type}.",
                    hint="Read them with the survey that they were made by.",
                )
            if chunk.null_count:
                raise DataError("A report is missing.", hint="Leave out people who did not answer.")
        counts = self.counts.copy()
        for chunk in chunks:
            if len(chunk):
                counts += self.client.count(chunk)
        self.counts = counts
        self.reports += len(reports)
        return self

    def merge(self, other: Tally) -> Self:
        """Take in what somebody else counted."""
        if other.client != self.client:
            raise BadInput("Reports of two protocols cannot be counted together.")
        self.counts = self.counts + other.counts
        self.reports += other.reports
        return self

    def estimate(self, *, confidence: float = 0.95) -> Estimate:
        """How many people have each value, with error bars."""
        from discreet.verbs.collect.estimate import Estimate

        return Estimate.of(self, confidence)

    def to_dict(self) -> dict[str, Any]:
        """This as plain data: what one machine sends to another."""
        return {"reports": self.reports, "counts": self.counts.tolist()}

    @classmethod
    def from_dict(cls, client: Client, data: object) -> Tally:
        """What ``to_dict`` gave, of the same protocol."""
        said = fields(data, "a tally", reports=int, counts=list)
        whole = all(type(count) is int and 0 <= count <= said["reports"] < 2**63 for count in said["counts"])
        if not whole or len(said["counts"]) != client.kept:
            raise DataError("This is no count of reports of that protocol.", hint="Merge tallies of one survey only.")
        return cls(client, said["reports"], np.array(said["counts"], dtype=np.int64))
