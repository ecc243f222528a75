"""Question sampling: the device draws one of several questions, reports which, and randomises the answer to it.

Why this is private. Which question is drawn depends on no answer, and only one answer goes into the report, by a
protocol that loses at most ε. Sampling makes the groups smaller, but each has all of ε; splitting ε over k questions
instead would make every answer far noisier (Nguyên and others 2016; Wang and others 2019).

Reports of all questions are numbered one after the other, so that a report is one whole number: GRR's and Hadamard
response's are numbers already, and of the two each question gets the more accurate.
"""

from __future__ import annotations

from abc import abstractmethod
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
from discreet.verbs.collect.frequency.hadamard import Hadamard
from discreet.verbs.collect.frequency.randomized_response import GRR
from discreet.verbs.collect.frequency_oracle import FrequencyOracle
from discreet.verbs.collect.protocol import E_co, IntegerProtocol
from discreet.verbs.collect.report_arrays import to_integer_reports
from discreet.verbs.collect.report_distribution import MappedAnswers, PublicChoice, ReportDistribution


def compact_oracle(domain: Domain | int, epsilon: Fraction) -> FrequencyOracle:
    """The more accurate of the two oracles whose reports are a number."""
    grr, hadamard = GRR(domain, epsilon), Hadamard(domain, epsilon)
    share = 1 / len(grr.domain)
    return grr if grr.variance(1, share) <= hadamard.variance(1, share) else hadamard


def support_table(oracle: FrequencyOracle) -> NDArray[np.bool_]:
    """A row for each report of a compact oracle: which values it supports."""
    values = np.arange(len(oracle.domain))
    if isinstance(oracle, GRR):
        return np.eye(values.size, dtype=np.bool_)
    even = np.bitwise_count(np.arange(oracle.counter_length // 2)[:, None] & values) % 2 == 0
    return np.stack([~even, even], axis=1).reshape(oracle.counter_length, -1)


@dataclass(frozen=True)
class QuestionSampling:
    """Questions with a compact oracle each, of which a device answers one."""

    oracles: tuple[FrequencyOracle, ...]

    @property
    def outcomes(self) -> int:
        return self._starts[-1]

    def report_distribution(self, maps: Sequence[tuple[int, ...]]) -> ReportDistribution:
        """Probability of each report given each answer, by the answer to each question that it is mapped to."""
        return PublicChoice(
            tuple(MappedAnswers(oracle.report_distribution, to) for oracle, to in zip(self.oracles, maps, strict=True))
        )

    def draw(self, columns: Sequence[Codes], entropy: Entropy) -> pa.Array[Any]:
        """Draw a report for each person, given the answers to all questions."""
        drawn = entropy.many_below(len(self.oracles), len(columns[0]))
        report_codes = np.empty(drawn.size, dtype=np.int64)
        for index, (oracle, codes) in enumerate(zip(self.oracles, columns, strict=True)):
            people = np.flatnonzero(drawn == index)
            reports = oracle.draw(codes[people], entropy).to_numpy().astype(np.int64)
            report_codes[people] = self._starts[index] + reports
        return to_integer_reports(report_codes, self.outcomes)

    def split_counts(self, counts: Counts) -> list[Counts]:
        """Split the counts by question."""
        return np.split(counts, self._starts[1:-1])

    @cached_property
    def _starts(self) -> tuple[int, ...]:
        return tuple(accumulate((oracle.counter_length for oracle in self.oracles), initial=0))


class SamplingProtocol(IntegerProtocol[E_co]):
    """A protocol whose devices answer one of several questions."""

    @property
    @abstractmethod
    def sampling(self) -> QuestionSampling:
        """The questions to draw from."""

    @property
    def outcomes(self) -> int:
        return self.sampling.outcomes
