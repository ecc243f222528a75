"""A survey: questions, the epsilon of each person, and its allocation to the questions.

Why this is private. *split*: every question has a protocol with an equal part of ε; coins are independent, so
probabilities of all reports together differ by the product of factors, and ε adds up. *sampled*: a device draws one
question, which depends on no answer, and answers it alone with all of ε; the draw is public and cancels in every
quotient.

What a collector keeps of a question's reports: a row of counts that never grows, whatever the protocol.
"""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Literal, Self, TypeAlias, get_args

import numpy as np

from discreet.core.exact import equation
from discreet.core.loss import Pure
from discreet.core.statement import Evidence, Statement
from discreet.errors import BadInput, NoPromise
from discreet.verbs.collect.domain import Counts
from discreet.verbs.collect.frequency_oracle import FrequencyOracle, ReportTally
from discreet.verbs.collect.protocol import LossAudit, audit
from discreet.verbs.collect.release import respondent_statement
from discreet.verbs.collect.report_arrays import Reports
from discreet.verbs.collect.report_distribution import require_epsilon
from discreet.verbs.collect.shuffling import amplify_by_shuffling
from discreet.verbs.collect.survey.question import Mechanism, Question, answer_spread, assign_protocol, expected_error

Share: TypeAlias = Literal["split", "sampled"]
MAX_PEOPLE = 10_000_000_000
"""Largest number of people expected: more than there are."""


@dataclass(frozen=True)
class QuestionProtocol:
    """A question with its protocol, and the reason for it."""

    question: Question
    mechanism: Mechanism
    reason: str

    @property
    def name(self) -> str:
        return self.question.name

    @cached_property
    def loss_audit(self) -> LossAudit:
        """Loss audit of the protocol."""
        return audit(self.mechanism)


@dataclass(frozen=True)
class Shuffler:
    """A shuffler: mixes all reports before the collector sees them, and is not the collector."""

    who: str
    delta: Fraction


@dataclass(frozen=True)
class Survey:
    """Questions, the number of people expected, and the epsilon of each."""

    title: str
    epsilon: Fraction
    """Largest loss of one person over all questions together."""
    share: Share
    people: int
    """Number of people expected; protocols are chosen for it."""
    questions: tuple[Question, ...]
    about: str = ""
    shuffler: Shuffler | None = None

    def __post_init__(self) -> None:
        require_epsilon(self.epsilon)
        if self.share not in get_args(Share):
            raise BadInput(f"share must be {' or '.join(get_args(Share))}, not {self.share!r}.")
        if not 1 <= self.people <= MAX_PEOPLE:
            raise BadInput(f"The number of people must be 1 to {MAX_PEOPLE:,}, got {self.people}.")
        if not self.questions or len({question.name for question in self.questions}) < len(self.questions):
            raise BadInput("A survey needs one or more questions, with different names.")

    @property
    def epsilon_per_question(self) -> Fraction:
        return self.epsilon / len(self.questions) if self.share == "split" else self.epsilon

    @property
    def people_per_question(self) -> int:
        """Number of people expected to answer one question."""
        return self.people if self.share == "split" else max(1, self.people // len(self.questions))

    @cached_property
    def protocols(self) -> tuple[QuestionProtocol, ...]:
        """Every question with its protocol; the claim of each is audited here."""
        result = tuple(
            QuestionProtocol(one, *assign_protocol(one, self.epsilon_per_question, self.people_per_question))
            for one in self.questions
        )
        for one in result:
            if not one.loss_audit.holds:
                raise NoPromise(f"{one.name} cannot be asked by {one.mechanism.name}: {one.loss_audit}")
        return result

    @property
    def loss(self) -> Pure:
        """Largest loss of one person towards those who see their reports."""
        epsilons = [one.mechanism.epsilon for one in self.protocols]
        return Pure(sum(epsilons, Fraction(0)) if self.share == "split" else max(epsilons))

    @cached_property
    def fingerprint(self) -> str:
        """Fingerprint of everything that determines the meaning of reports, so that no other survey accepts them."""
        about = {
            "share": self.share,
            "questions": [
                one.question.to_dict() | {"protocol": one.mechanism.name, "epsilon": str(one.mechanism.epsilon)}
                for one in self.protocols
            ],
        }
        return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()

    def statement(self, reports: int, *, codes: bool = False) -> Statement:
        """Statement to each respondent, given the number of reports."""
        assumes = [
            "Each device runs the randomiser of this survey, with random bits that no one else knows.",
            "Each person has one code." if codes else "Each person answers once: answering twice doubles the loss.",
        ]
        caveats = []
        if self.shuffler:
            caveats.append(f"A single report that is linked to a name has a loss of {self.loss}.")
            assumes.append(
                f"{self.shuffler.who} shuffles all reports, at least {reports:,}, before anyone sees them, "
                "does not collude with the collector, and all of them are from people who follow the protocol."
            )
        if self.shuffler is None:
            return respondent_statement(self.loss, assumes, caveats)
        shuffled = amplify_by_shuffling(self.loss.epsilon, max(reports, 1), self.shuffler.delta)
        return respondent_statement(shuffled, assumes, caveats, Evidence.CALCULATED)

    def errors(self) -> tuple[float, ...]:
        """Standard error of each question's figures, as a share of people or of the range of a mean."""
        few = self.people_per_question
        sampling = 0.0 if self.share == "split" else (1 - few / self.people) / few
        return tuple(
            math.hypot(expected_error(one.mechanism, few), answer_spread(one.question) * math.sqrt(sampling))
            for one in self.protocols
        )

    def error(self) -> float:
        """Largest standard error of the questions' figures, as a share."""
        return max(self.errors())


def better_share(survey: Survey) -> tuple[Share, str]:
    """Allocation of epsilon (split or sampled) with the smaller expected error, and the reason."""
    if len(survey.questions) == 1:
        return "split", "There is one question, which gets all of epsilon."
    shares: tuple[Share, ...] = get_args(Share)
    plain = replace(survey, questions=tuple(replace(one, protocol=None) for one in survey.questions))
    off = {share: replace(plain, share=share).error() for share in shares}
    best: Share = min(shares, key=lambda share: off[share])
    each = equation("ε", survey.epsilon / len(survey.questions))
    return best, (
        f"split: everyone answers every question with {each}. sampled: a device draws one question, and answers it "
        f"with all of {equation('ε', survey.epsilon)}. With {survey.people:,} people, the standard error of a "
        f"share is about {off['split']:.1%} if split and {off['sampled']:.1%} if sampled, in the worst question."
    )


@dataclass
class QuestionTally:
    """Counts of the reports on one question, of a fixed size for any protocol."""

    protocol: QuestionProtocol
    reports: int = 0
    tally: ReportTally | Counts = field(init=False)

    @property
    def mechanism(self) -> Mechanism:
        return self.protocol.mechanism

    def __post_init__(self) -> None:
        counts = np.zeros(self.mechanism.counter_length, dtype=np.int64)
        self.tally = self.mechanism.tally() if isinstance(self.mechanism, FrequencyOracle) else counts

    def add(self, reports: Reports) -> Self:
        """Count further reports; an error for reports that the protocol cannot produce."""
        if isinstance(self.tally, ReportTally):
            self.tally.add(reports)
        else:
            assert not isinstance(self.mechanism, FrequencyOracle)  # noqa: S101
            self.tally = self.tally + self.mechanism.count(reports)
        self.reports += len(reports)
        return self
