"""Several questions that one person answers: all with a part of the budget (SPL), or one with all of it (SMP).

A share is computed from how many reports support a value, by a straight line. That is a number of heads out of n coins,
whose probability is known to lie in a score interval (Wilson 1927; exact where few reports decide); the line sends its
ends to a share's. It holds for all people of whom those who reported are a fair sample, as those are whom a device's
coin chose.

* ``SplitBudget``. Why this is private: k independent reports, each of which loses at most ε / k, lose at most ε
  together.
* ``SampleQuestion``. Why this is private: see ``question_sampling``. A report says which question it is about; that is
  no secret.

Sampling is nearly always the better: with k questions, its groups are k times smaller, so that errors grow by √k, while
for a small loss those of a split grow by k.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.core.exact import Number
from discreet.errors import BadInput, DataError
from discreet.noise.entropy import Entropy
from discreet.noise.expand import BULK
from discreet.verbs.collect.confidence_intervals import share_error_bound
from discreet.verbs.collect.domain import Codes, Counts, Domain, Floats, Values, set_fields
from discreet.verbs.collect.frequency_oracle import FrequencyOracle
from discreet.verbs.collect.protocol import CountingProtocol, E_co
from discreet.verbs.collect.question_sampling import QuestionSampling, SamplingProtocol, compact_oracle
from discreet.verbs.collect.report_arrays import Reports, chunks_of, in_batches, require_reports
from discreet.verbs.collect.report_distribution import (
    IndependentReports,
    MappedAnswers,
    ReportDistribution,
    require_epsilon,
)


@dataclass(frozen=True, init=False)
class Questions:
    """Names of questions, and the domain of each."""

    domains: tuple[tuple[str, Domain], ...]

    def __init__(self, domains: Mapping[str, Domain | int | Iterable[Any]]) -> None:
        pairs = ((name, Domain.of(values)) for name, values in domains.items())
        object.__setattr__(self, "domains", tuple(pairs))
        if not self.domains:
            raise BadInput("There are no questions.")

    def __len__(self) -> int:
        return len(self.domains)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the questions, in order."""
        return tuple(name for name, _ in self.domains)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of values of each question."""
        return tuple(len(domain) for _, domain in self.domains)

    @property
    def parameters(self) -> dict[str, Any]:
        """The questions as plain data."""
        return {name: list(domain.values) for name, domain in self.domains}

    @cached_property
    def answers(self) -> tuple[tuple[int, ...], ...]:
        """Every combination of answers, as indices of values: the answers of report distributions."""
        return tuple(product(*map(range, self.sizes)))

    def answers_to(self, question: int) -> tuple[int, ...]:
        """The answer to one question in every combination of answers."""
        return tuple(answer[question] for answer in self.answers)

    def codes(self, table: pa.Table | Mapping[str, Values]) -> list[Codes]:
        """Indices of the answers to each question; a column of the table has the question's name."""
        known = set(table.column_names if isinstance(table, pa.Table) else table)
        if missing := [name for name in self.names if name not in known]:
            raise DataError(f"There are no answers to {missing[0]!r}.", hint=f"Questions are {', '.join(self.names)}.")
        columns = [domain.codes(table[name]) for name, domain in self.domains]
        if len({len(column) for column in columns}) > 1:
            raise DataError("Questions have different numbers of answers.", hint="Each row is one person.")
        return columns


@dataclass(frozen=True, init=False)
class QuestionsProtocol(CountingProtocol[E_co]):
    """A local protocol for the answers to several questions."""

    questions: Questions
    epsilon: Fraction

    def __init__(self, questions: Questions | Mapping[str, Domain | int | Iterable[Any]], epsilon: Number) -> None:
        set_fields(
            self,
            questions=questions if isinstance(questions, Questions) else Questions(questions),
            epsilon=require_epsilon(epsilon),
        )

    @property
    def parameters(self) -> dict[str, Any]:
        return {"questions": self.questions.parameters}

    @abstractmethod
    def draw(self, columns: list[Codes], entropy: Entropy) -> pa.Array[Any]:
        """Draw a report for each person, given the indices of the answers to each question."""

    def randomize(self, table: pa.Table | Mapping[str, Values], /, *, entropy: Entropy = BULK) -> pa.Array[Any]:
        """Randomise each row into a report; a column has a question's name."""
        columns = self.questions.codes(table)
        return in_batches(len(columns[0]), lambda part: self.draw([codes[part] for codes in columns], entropy))


@dataclass(frozen=True, eq=False)
class QuestionShares:
    """Estimated share of people with each value: unbiased, so it may be below 0 or above 1."""

    domain: Domain
    n: int
    """Number of reports about the question."""
    supported: Floats
    """Share of these that support each value."""
    level: Floats
    """Share that would if no one had it."""
    rise: float
    """Increase of that share if everyone had it."""
    confidence: float

    def __post_init__(self) -> None:
        require_reports(self.n, self.confidence)

    @property
    def shares(self) -> Floats:
        """Estimated share of people with each value."""
        return (self.supported - self.level) / self.rise

    @property
    def deviations(self) -> Floats:
        """Standard deviation of each share."""
        return np.sqrt(self.supported * (1 - self.supported) / self.n) / self.rise

    @property
    def error_bars(self) -> Floats:
        """Largest error of each share, each by itself with the stated confidence."""
        return self._error_bars(1 - self.confidence)

    @property
    def error_bars_together(self) -> Floats:
        """Largest error of each share, all at once with the stated confidence."""
        return self._error_bars((1 - self.confidence) / len(self.domain))

    def table(self) -> pa.Table:
        """Values, shares and both kinds of error bars."""
        figures: dict[str, Any] = {"value": list(self.domain.values), "share": self.shares}
        return pa.table(figures | {"share_error": self.error_bars, "share_error_together": self.error_bars_together})

    def __str__(self) -> str:
        lines = [
            f"{value!s:<12} {share:>8.2%} ± {bar:.2%}"
            for value, share, bar in zip(self.domain.values, self.shares, self.error_bars, strict=True)
        ]
        return "\n".join([f"{self.n:,} reports (each ± holds with {self.confidence:.4g})", *lines])

    def _error_bars(self, error: float) -> Floats:
        return share_error_bound(error, self.supported, self.n) / self.rise


def question_shares(oracle: FrequencyOracle, counts: Counts, confidence: float) -> QuestionShares:
    """Shares from the counts of a compact oracle, in which every report is counted once."""
    n = int(counts.sum())
    level = np.full(len(oracle.domain), float(oracle.q_other))
    supported = oracle.support_counts(counts) / max(n, 1)
    return QuestionShares(oracle.domain, n, supported, level, float(oracle.p_own - oracle.q_other), confidence)


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
        reports = [oracle.draw(codes, entropy) for oracle, codes in zip(self.oracles, columns, strict=True)]
        return pa.StructArray.from_arrays(reports, names=list(self.questions.names))

    @property
    def counter_length(self) -> int:
        return sum(oracle.counter_length for oracle in self.oracles)

    def count(self, reports: Reports) -> Counts:
        columns = zip(self.oracles, split_reports(reports, self.report_type), strict=True)
        return np.concatenate([oracle.tally().add(column).counts for oracle, column in columns])

    def estimate_counts(self, counts: Counts, *, confidence: float = 0.95) -> dict[str, QuestionShares]:
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
        return QuestionSampling(tuple(compact_oracle(domain, self.epsilon) for _, domain in self.questions.domains))

    @cached_property
    def report_distribution(self) -> ReportDistribution:
        """A public choice of the question."""
        return self.sampling.report_distribution([self.questions.answers_to(q) for q in range(len(self.questions))])

    def draw(self, columns: list[Codes], entropy: Entropy) -> pa.Array[Any]:
        """Draw a question, and a report about it."""
        return self.sampling.draw(columns, entropy)

    def estimate_counts(self, counts: Counts, *, confidence: float = 0.95) -> dict[str, QuestionShares]:
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
