"""One of several questions, drawn by the device: which one it was is told, and the answer to it is randomised.

Why this is private. Which question is drawn hangs on no answer, and only one answer goes into the report, by a protocol
that loses at most ε. Sampling makes the groups smaller, but each has all of ε; splitting ε over k questions instead
would make every answer far noisier (Nguyên and others 2016; Wang and others 2019).

Reports of all questions are numbered one after the other, so that a report is one whole number: GRR's and Hadamard
response's are numbers already, and of the two each question gets the more accurate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.noise.entropy import Entropy
from discreet.verbs.collect.domain import Codes, Counts, Domain
from discreet.verbs.collect.frequency.grr import GRR
from discreet.verbs.collect.frequency.hadamard import Hadamard
from discreet.verbs.collect.frequency_oracle import Client
from discreet.verbs.collect.integer_reports import Reports, counted, reported, type_of
from discreet.verbs.collect.report_distribution import Law, Public, Sent


def short(domain: Domain | int, epsilon: Fraction) -> Client:
    """The more accurate of the two protocols whose reports are a number."""
    grr, hadamard = GRR(domain, epsilon), Hadamard(domain, epsilon)
    share = 1 / len(grr.domain)
    return grr if grr.variance(1, share) <= hadamard.variance(1, share) else hadamard


def support_table(client: Client) -> NDArray[np.bool_]:
    """A row for each report of a short protocol: which values it supports."""
    values = np.arange(len(client.domain))
    if isinstance(client, GRR):
        return np.eye(values.size, dtype=np.bool_)
    even = np.bitwise_count(np.arange(client.kept // 2)[:, None] & values) % 2 == 0
    return np.stack([~even, even], axis=1).reshape(client.kept, -1)


@dataclass(frozen=True)
class OneOf:
    """Questions with a short protocol each, of which a device answers one."""

    clients: tuple[Client, ...]

    @property
    def outcomes(self) -> int:
        """How many reports there are."""
        return self._starts[-1]

    @property
    def report_type(self) -> pa.DataType:
        """A number."""
        return type_of(self.outcomes)

    def law(self, sent: Sequence[tuple[int, ...]]) -> Law:
        """How likely each report is for each answer, by the answer to each question that it is sent to."""
        return Public(tuple(Sent(client.law, to) for client, to in zip(self.clients, sent, strict=True)))

    def draw(self, columns: Sequence[Codes], entropy: Entropy) -> pa.Array[Any]:
        """A report for each person, of the answers to all questions."""
        which = entropy.many_below(len(self.clients), len(columns[0]))
        told = np.empty(which.size, dtype=np.int64)
        for place, (client, codes) in enumerate(zip(self.clients, columns, strict=True)):
            asked = np.flatnonzero(which == place)
            told[asked] = self._starts[place] + client.draw(codes[asked], entropy).to_numpy().astype(np.int64)
        return reported(told, self.outcomes)

    def count(self, reports: Reports) -> Counts:
        """How often each report was told. Counts add up."""
        return counted(reports, self.outcomes)

    def apart(self, counts: Counts) -> list[Counts]:
        """The counts of each question."""
        return np.split(counts, self._starts[1:-1])

    @cached_property
    def _starts(self) -> tuple[int, ...]:
        return tuple(accumulate((client.kept for client in self.clients), initial=0))
