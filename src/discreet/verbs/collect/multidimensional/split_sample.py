"""All questions, each with a part of the budget (SPL), or one question with all of it (SMP).

* ``SplitBudget``. Why this is private: k independent reports, each of which loses at most ε / k, lose at most ε
  together.
* ``SampleQuestion``. Why this is private: see ``question_sampling``. A report says which question it is about; that is
  no secret.

Sampling is nearly always the better: with k questions, its groups are k times smaller, so that errors grow by √k, while
for a small loss those of a split grow by k.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.noise.entropy import Entropy
from discreet.verbs.collect.domain import Codes, Counts
from discreet.verbs.collect.frequency_oracle import FrequencyOracle
from discreet.verbs.collect.multidimensional.questions import QuestionShares, QuestionsProtocol, question_shares
from discreet.verbs.collect.question_sampling import QuestionSampling, SamplingProtocol, compact_oracle
from discreet.verbs.collect.report_arrays import Reports, chunks_of
from discreet.verbs.collect.report_distribution import IndependentReports, MappedAnswers, ReportDistribution


@dataclass(frozen=True, init=False)
class SplitBudget(QuestionsProtocol[dict[str, QuestionShares]]):
    """SPL: every question is answered, each with an equal part of epsilon."""

    name = "spl"

    @cached_property
    def oracles(self) -> tuple[FrequencyOracle, ...]:
        """An oracle for each question."""
        part = self.epsilon / len(self.questions)
        return tuple(compact_oracle(domain, part) for _, domain in self.questions.domains)

    @cached_property
    def report_distribution(self) -> IndependentReports:
        """Independent reports, one a question."""
        return IndependentReports(
            tuple(
                MappedAnswers(oracle.report_distribution, self.questions.answers_to(index))
                for index, oracle in enumerate(self.oracles)
            )
        )

    @cached_property
    def report_type(self) -> pa.DataType:
        """Arrow type of a report: one for each question."""
        return pa.struct(zip(self.questions.names, (oracle.report_type for oracle in self.oracles), strict=True))

    def draw(self, columns: list[Codes], entropy: Entropy) -> pa.Array[Any]:
        """Draw a report for each question."""
        reports = [oracle.draw(codes, entropy) for oracle, codes in zip(self.oracles, columns, strict=True)]
        return pa.StructArray.from_arrays(reports, names=list(self.questions.names))

    @property
    def counter_length(self) -> int:
        """Number of counts of all questions."""
        return sum(oracle.counter_length for oracle in self.oracles)

    def count(self, reports: Reports) -> Counts:
        """Counts of each question, one after the other."""
        columns = zip(self.oracles, split_reports(reports, self.report_type), strict=True)
        return np.concatenate([oracle.tally().add(column).counts for oracle, column in columns])

    def estimate_counts(self, counts: Counts, *, confidence: float = 0.95) -> dict[str, QuestionShares]:
        """Estimate the shares of each question from all reports."""
        parts = np.split(counts, np.cumsum([oracle.counter_length for oracle in self.oracles])[:-1])
        return {
            name: question_shares(oracle, part, confidence)
            for name, oracle, part in zip(self.questions.names, self.oracles, parts, strict=True)
        }


@dataclass(frozen=True, init=False)
class SampleQuestion(SamplingProtocol[dict[str, QuestionShares]], QuestionsProtocol[dict[str, QuestionShares]]):
    """SMP: one question, drawn by the device, is answered with all of epsilon; the report says which."""

    name = "smp"

    @cached_property
    def sampling(self) -> QuestionSampling:
        """An oracle for each question."""
        return QuestionSampling(tuple(compact_oracle(domain, self.epsilon) for _, domain in self.questions.domains))

    @cached_property
    def report_distribution(self) -> ReportDistribution:
        """A public choice of the question."""
        return self.sampling.report_distribution([self.questions.answers_to(q) for q in range(len(self.questions))])

    def draw(self, columns: list[Codes], entropy: Entropy) -> pa.Array[Any]:
        """Draw a question, and a report about it."""
        return self.sampling.draw(columns, entropy)

    def estimate_counts(self, counts: Counts, *, confidence: float = 0.95) -> dict[str, QuestionShares]:
        """Estimate the shares of each question from the reports about it."""
        parts = self.sampling.split_counts(counts)
        return {
            name: question_shares(oracle, part, confidence)
            for name, oracle, part in zip(self.questions.names, self.sampling.oracles, parts, strict=True)
        }


def split_reports(reports: Reports, report_type: pa.DataType) -> list[pa.Array[Any]]:
    """Split reports about all questions into those about each; other reports are an error."""
    chunks = chunks_of(reports, report_type)
    whole: Any = chunks[0] if len(chunks) == 1 else pa.concat_arrays(chunks or [pa.array([], report_type)])
    return list(whole.flatten())
