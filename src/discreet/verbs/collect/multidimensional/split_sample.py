"""All questions, each with a part of the budget (SPL), and one question with all of it (SMP).

* ``Split``. Why this is private: k independent reports, each of which loses at most ε / k, lose at most ε together.
* ``Sampled``. Why this is private: see ``one_of``. A report says which question it is about; that is no secret.

Sampling is nearly always the better: with k questions, its groups are k times smaller, so that errors grow by √k, while
for a small loss those of a split grow by k.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.core.exact import Number
from discreet.errors import DataError
from discreet.noise.entropy import Entropy
from discreet.noise.expand import BULK
from discreet.verbs.collect.domain import Codes, Counts, Domain, Values
from discreet.verbs.collect.frequency_oracle import Client
from discreet.verbs.collect.integer_reports import Reports, in_parts
from discreet.verbs.collect.multidimensional.questions import Questions, Shares
from discreet.verbs.collect.multidimensional.report_distributions import Separate
from discreet.verbs.collect.probability import epsilon_of
from discreet.verbs.collect.protocol import Reporting
from discreet.verbs.collect.question_sampling import OneOf, short
from discreet.verbs.collect.report_distribution import Law


@dataclass(frozen=True, init=False)
class Several(Reporting):
    """A way to report answers to several questions."""

    questions: Questions
    epsilon: Fraction

    def __init__(self, questions: Questions | Mapping[str, Domain | int | Iterable[Any]], epsilon: Number) -> None:
        asked = questions if isinstance(questions, Questions) else Questions(questions)
        object.__setattr__(self, "questions", asked)
        object.__setattr__(self, "epsilon", epsilon_of(epsilon))

    @property
    def parameters(self) -> dict[str, Any]:
        """What it is made with beside epsilon, as plain data."""
        return {"questions": self.questions.parameters}

    @abstractmethod
    def draw(self, columns: list[Codes], entropy: Entropy) -> pa.Array[Any]:
        """A report for each person, of the places of the answers to each question."""

    @property
    @abstractmethod
    def kept(self) -> int:
        """How many counts a collector keeps."""

    @abstractmethod
    def count(self, reports: Reports) -> Counts:
        """What is kept of reports. Counts add up."""

    @abstractmethod
    def estimate_counts(self, counts: Counts, *, confidence: float = 0.95) -> dict[str, Shares]:
        """For each question, the share of people with each value, of what is kept."""

    def randomize(self, table: pa.Table | Mapping[str, Values], *, entropy: Entropy = BULK) -> pa.Array[Any]:
        """A report for each row; a column has a question's name."""
        columns = self.questions.codes(table)
        return in_parts(len(columns[0]), lambda part: self.draw([codes[part] for codes in columns], entropy))

    def estimate(self, reports: Reports, *, confidence: float = 0.95) -> dict[str, Shares]:
        """For each question, the share of people with each value."""
        return self.estimate_counts(self.count(reports), confidence=confidence)


@dataclass(frozen=True, init=False)
class Split(Several):
    """Every question is answered, each with an equal part of the budget."""

    name = "spl"

    @cached_property
    def clients(self) -> tuple[Client, ...]:
        """A protocol for each question."""
        part = self.epsilon / len(self.questions)
        return tuple(short(domain, part) for _, domain in self.questions.domains)

    @cached_property
    def law(self) -> Separate:
        """Independent reports."""
        return Separate(tuple(client.law for client in self.clients), self.questions.answers)

    @cached_property
    def report_type(self) -> pa.DataType:
        """A report for each question."""
        return pa.struct(zip(self.questions.names, (client.report_type for client in self.clients), strict=True))

    def draw(self, columns: list[Codes], entropy: Entropy) -> pa.Array[Any]:
        """A report for each question."""
        told = [client.draw(codes, entropy) for client, codes in zip(self.clients, columns, strict=True)]
        return pa.StructArray.from_arrays(told, names=list(self.questions.names))

    @property
    def kept(self) -> int:
        """What each question keeps, one after the other."""
        return sum(client.kept for client in self.clients)

    def count(self, reports: Reports) -> Counts:
        """What each question keeps, one after the other."""
        return np.concatenate(
            [
                client.tally().add(told).counts
                for client, told in zip(self.clients, apart(reports, self.report_type), strict=True)
            ]
        )

    def estimate_counts(self, counts: Counts, *, confidence: float = 0.95) -> dict[str, Shares]:
        """Every report tells of every question."""
        kept = np.split(counts, np.cumsum([client.kept for client in self.clients])[:-1])
        return {
            name: shares_of(client, told, confidence)
            for name, client, told in zip(self.questions.names, self.clients, kept, strict=True)
        }


@dataclass(frozen=True, init=False)
class Sampled(Several):
    """One question is answered, drawn by the device; the report says which."""

    name = "smp"

    @cached_property
    def one_of(self) -> OneOf:
        """A protocol for each question."""
        return OneOf(tuple(short(domain, self.epsilon) for _, domain in self.questions.domains))

    @cached_property
    def law(self) -> Law:
        """The question is public."""
        return self.one_of.law([self.questions.to(place) for place in range(len(self.questions))])

    @property
    def report_type(self) -> pa.DataType:
        """A number."""
        return self.one_of.report_type

    def draw(self, columns: list[Codes], entropy: Entropy) -> pa.Array[Any]:
        """A question, and a report about it."""
        return self.one_of.draw(columns, entropy)

    @property
    def kept(self) -> int:
        """How often each report was told."""
        return self.one_of.outcomes

    def count(self, reports: Reports) -> Counts:
        """How often each report was told."""
        return self.one_of.count(reports)

    def estimate_counts(self, counts: Counts, *, confidence: float = 0.95) -> dict[str, Shares]:
        """A report tells of one question."""
        kept = self.one_of.apart(counts)
        return {
            name: shares_of(client, told, confidence)
            for name, client, told in zip(self.questions.names, self.one_of.clients, kept, strict=True)
        }


def shares_of(client: Client, kept: Counts, confidence: float) -> Shares:
    """Shares of what a short protocol keeps: every report is counted once."""
    n = int(kept.sum())
    level = np.full(len(client.domain), float(client.other))
    supported = client.supported(kept) / max(n, 1)
    return Shares(client.domain, n, supported, level, float(client.own - client.other), confidence)


def apart(reports: Reports, report_type: pa.DataType) -> list[pa.Array[Any]]:
    """The reports about each question, if these are reports about all."""
    whole: Any = reports.combine_chunks() if isinstance(reports, pa.ChunkedArray) else reports
    if whole.type != report_type:
        raise DataError(f"A report is {report_type}, not {whole.type}.", hint="Read them with their own survey.")
    if whole.null_count:
        raise DataError("A report is missing.", hint="Leave out people who did not answer.")
    return list(whole.flatten())
