"""What a collector keeps of reports: how many there were, and a row of counts of a fixed length. It never grows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pyarrow as pa

from discreet.core.document import fields
from discreet.errors import BadInput, DataError
from discreet.verbs.collect.client import Client
from discreet.verbs.collect.domain import Counts

if TYPE_CHECKING:
    from discreet.verbs.collect.estimate import Estimate


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
