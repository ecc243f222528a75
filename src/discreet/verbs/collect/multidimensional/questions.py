"""Several questions that one person answers: their domains, a protocol for all of them, and shares with error bars.

A share is computed from how many reports support a value, by a straight line. That is a number of heads out of n coins,
whose probability is known to lie in a score interval (Wilson 1927; exact where few reports decide); the line sends its
ends to a share's. It holds for all people of whom those who reported are a fair sample, as those are whom a device's
coin chose.
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
from discreet.verbs.collect.domain import Codes, Counts, Domain, Floats, Values, set_fields
from discreet.verbs.collect.frequency_oracle import FrequencyOracle
from discreet.verbs.collect.probability import require_epsilon
from discreet.verbs.collect.protocol import CountingProtocol, E_co
from discreet.verbs.collect.report_arrays import in_batches, require_reports
from discreet.verbs.collect.score_intervals import share_error_bound


@dataclass(frozen=True, init=False)
class Questions:
    """Names of questions, and the domain of each."""

    domains: tuple[tuple[str, Domain], ...]

    def __init__(self, domains: Mapping[str, Domain | int | Iterable[Any]]) -> None:
        pairs = ((name, each if isinstance(each, Domain) else Domain(each)) for name, each in domains.items())
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
            raise DataError("Questions have different numbers of answers.", hint="A row is a person.")
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
        """Parameters beside the name and epsilon, as plain data."""
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
    """Share that would if nobody had it."""
    rise: float
    """Increase of that share if everybody had it."""
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
