"""What a collector keeps of a question's reports: a row of counts that never grows, whatever the protocol."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import pyarrow as pa

from discreet.verbs.collect.client import Client
from discreet.verbs.collect.domain import Counts
from discreet.verbs.collect.survey.survey import Asked
from discreet.verbs.collect.tally import Tally


@dataclass
class Counted:
    """How many reports there were, and what is kept of them."""

    asked: Asked
    reports: int = 0
    kept: Tally | Counts = field(init=False)

    def __post_init__(self) -> None:
        mechanism = self.asked.mechanism
        self.kept = mechanism.tally() if isinstance(mechanism, Client) else np.zeros(mechanism.outcomes, dtype=np.int64)

    def add(self, reports: pa.Array[Any] | pa.ChunkedArray[Any]) -> Self:
        """Count further reports; those that no device can have made are an error."""
        if isinstance(self.kept, Tally):
            self.kept.add(reports)
        else:
            assert not isinstance(self.asked.mechanism, Client)  # noqa: S101
            self.kept = self.kept + self.asked.mechanism.count(reports)
        self.reports += len(reports)
        return self
