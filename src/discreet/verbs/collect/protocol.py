"""What every way to report has in common: a name, a claim, a law that the claim is checked by, and a kind of report."""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from typing import ClassVar

import pyarrow as pa

from discreet.core.loss import Pure
from discreet.verbs.collect.report_distribution import Law


class Reporting(ABC):
    """A way to report, which a device and a collector agree on."""

    name: ClassVar[str]
    epsilon: Fraction
    """What is claimed about all that a person answers; the audit checks it."""

    @property
    def loss(self) -> Pure:
        """What one report loses at most about all that a person answers."""
        return Pure(self.epsilon)

    @property
    @abstractmethod
    def law(self) -> Law:
        """How likely each report is for each answer; of very many answers, for some among whom are the worst."""

    @property
    @abstractmethod
    def report_type(self) -> pa.DataType:
        """The Arrow type of a report."""
