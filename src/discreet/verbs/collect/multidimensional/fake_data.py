"""RS+FD and RS+RFD: one sampled question is answered, the others get fake data, and no one sees which.

Arcolezi, Couchot, Al Bouna, Xiao (2021) make up values evenly; Arcolezi, Gambs, Couchot, Palamidessi (2023) make them
up by what is known to be likely, which the estimate then has to make up for less. An even choice is one of them, so
this is one protocol with a *prior* for each question.

Why this is private, and what exactly. The truth is reported by GRR with odds e**ε'. A report's probability is a product
that depends on no answer times a sum over questions (``HiddenQuestion``), so a quotient of two people's
probabilities is one of two sums whose terms differ by at most e**ε':

* **person**: whatever of a person's answers differ, the quotient is at most e**ε', and it is reached when all differ.
  Nothing is gained by hiding the question; so ε' = ε.
* **answer**: if one answer differs and the others do not, their terms are in both sums and cover it. Then ε' may be
  larger: for k questions of equally many values, made up evenly, e**ε' = 1 + k (e**ε - 1). That is the amplification by
  which multi-freq-ldpy gives ε as its guarantee, though about a person ε' is lost. Here it must be asked for, ``loss``
  says ε', and ``loss_of_answer`` ε.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa

from discreet.core.exact import Number, exact, exp_lower
from discreet.core.loss import Pure
from discreet.errors import BadInput
from discreet.noise.entropy import Entropy
from discreet.verbs.collect.domain import Codes, Counts, Domain, set_fields
from discreet.verbs.collect.frequency.randomized_response import GRR
from discreet.verbs.collect.multidimensional.questions import (
    Questions,
    QuestionShares,
    QuestionsProtocol,
    split_reports,
)
from discreet.verbs.collect.numbers.mechanisms import Channel, to_units
from discreet.verbs.collect.report_arrays import Reports, count_integer_reports, integer_type, to_integer_reports
from discreet.verbs.collect.report_distribution import DENOMINATOR, require_epsilon

Protects = Literal["person", "answer"]
_STEPS = 1 << 20
"""Number of steps per unit of epsilon in the search for the amplified loss."""
_MAX_EPSILON = 20


@dataclass(frozen=True)
class HiddenQuestion:
    """Distribution of a report in which one question, drawn evenly, is answered and the others are made up.

    A report y of answers x has probability Π_j f_j(y_j) times the mean over j of P_j(y_j | x_j) / f_j(y_j), where f_j
    is what is made up. So the quotient of two answers is that of two sums over questions, of which each can be chosen
    by itself.
    """

    truths: tuple[tuple[Fraction, Fraction], ...]
    """Probabilities of the own value and of any other, for each question."""
    made_up: tuple[tuple[Fraction, ...], ...]
    """Probabilities of made-up values, for each question; none is 0."""
    all_answers: tuple[tuple[int, ...], ...]

    @property
    def answers(self) -> int:
        return len(self.all_answers)

    def ratio(self, one: int, other: int) -> Fraction:
        """Largest quotient of a report's probabilities under two answers.

        It is found by Dinkelbach's rule: given a quotient that is reached, each question takes the value that goes
        beyond it most; that reaches more, unless it was the largest already. Quotients grow and values are few.
        """
        choices = [
            [self._terms(question, value, a, b) for value in range(len(self.made_up[question]))]
            for question, (a, b) in enumerate(zip(self.all_answers[one], self.all_answers[other], strict=True))
        ]
        return largest_quotient(choices)

    def _terms(self, question: int, value: int, a: int, b: int) -> tuple[Fraction, Fraction]:
        own, lie = self.truths[question]
        made_up = self.made_up[question][value]
        return (own if value == a else lie) / made_up, (own if value == b else lie) / made_up


@dataclass(frozen=True, init=False)
class FakeData(QuestionsProtocol[dict[str, QuestionShares]]):
    """RS+RFD; without priors, RS+FD. ``epsilon`` is the loss about the whole person."""

    name = "rs+rfd"
    priors: tuple[tuple[int, ...], ...]
    """Probabilities of made-up values in whole 2**-64ths, for each question."""
    protects: Protects
    of_answer: Fraction
    """Loss about one answer, if the others are known."""

    def __init__(
        self,
        questions: Questions | Mapping[str, Domain | int | Iterable[Any]],
        epsilon: Number,
        priors: Mapping[str, Sequence[Number]] | None = None,
        protects: Protects = "person",
    ) -> None:
        """Make a protocol whose ``epsilon`` holds for the person, or for each answer."""
        super().__init__(questions, epsilon)
        if protects not in get_args(Protects):
            raise BadInput(f"What is protected is the {' or the '.join(get_args(Protects))}, not {protects!r}.")
        likely = priors or {}
        set_fields(
            self, priors=tuple(_prior(domain, likely.get(n)) for n, domain in self.questions.domains), protects=protects
        )
        if unknown := set(likely) - set(self.questions.names):
            raise BadInput(f"There is no question {min(unknown)!r} for fake answers.")
        claim = self.epsilon
        if protects == "answer":
            object.__setattr__(self, "epsilon", require_epsilon(self._amplified(claim)))
        object.__setattr__(self, "of_answer", claim)

    @property
    def loss_of_answer(self) -> Pure:
        """Largest loss of a report about one answer of a person whose other answers are known."""
        return Pure(self.of_answer)

    @property
    def parameters(self) -> dict[str, Any]:
        priors = [[str(Fraction(part, DENOMINATOR)) for part in prior] for prior in self.priors]
        return {
            **super().parameters,
            "priors": dict(zip(self.questions.names, priors, strict=True)),
            "protects": self.protects,
            "of_answer": str(self.of_answer),
        }

    @cached_property
    def oracles(self) -> tuple[GRR, ...]:
        """An oracle for each question."""
        return tuple(GRR(domain, self.epsilon) for _, domain in self.questions.domains)

    @cached_property
    def report_distribution(self) -> HiddenQuestion:
        """Distribution in which the sampled question is hidden."""
        truths = tuple((oracle.p_own, oracle.q_other) for oracle in self.oracles)
        return HiddenQuestion(truths, self._made_up, self.questions.answers)

    def answer_ratio(self, epsilon: Fraction) -> Fraction:
        """Worst quotient when one answer differs and the sampled question has ``epsilon``.

        It is worst where the reported value is made up least, and the other questions' terms, which do not differ, are
        least: at a value that is not theirs and is made up most.
        """
        truths = [GRR(domain, epsilon) for _, domain in self.questions.domains]
        covers = [truth.q_other / max(prior) for truth, prior in zip(truths, self._made_up, strict=True)]
        worst = Fraction(1)
        for truth, prior, cover in zip(truths, self._made_up, covers, strict=True):
            rest, least = sum(covers, Fraction(0)) - cover, min(prior)
            worst = max(worst, (rest + truth.p_own / least) / (rest + truth.q_other / least))
        return worst

    @cached_property
    def report_type(self) -> pa.DataType:
        """Arrow type of a report: a value for each question."""
        return pa.struct([(name, integer_type(len(domain))) for name, domain in self.questions.domains])

    def draw(self, columns: list[Codes], entropy: Entropy) -> pa.Array[Any]:
        """Draw made-up values for all questions but one."""
        which = entropy.many_below(len(self.questions), len(columns[0]))
        report_codes = []
        for index, (oracle, prior, codes) in enumerate(zip(self.oracles, self.priors, columns, strict=True)):
            values = Channel((prior,)).draw(np.zeros(codes.size, dtype=np.int64), entropy)
            truly = np.flatnonzero(which == index)
            values[truly] = oracle.draw(codes[truly], entropy).to_numpy()
            report_codes.append(to_integer_reports(values, len(oracle.domain)))
        return pa.StructArray.from_arrays(report_codes, names=list(self.questions.names))

    @property
    def counter_length(self) -> int:
        return sum(self.questions.sizes)

    def count(self, reports: Reports) -> Counts:
        columns = zip(split_reports(reports, self.report_type), self.questions.sizes, strict=True)
        return np.concatenate([count_integer_reports(column, size) for column, size in columns])

    def estimate_counts(self, counts: Counts, *, confidence: float = 0.95) -> dict[str, QuestionShares]:
        """Estimate shares: one of k reports answers a question by GRR, the others are made up."""
        k, result = len(self.questions), {}
        parts = np.split(counts, np.cumsum(self.questions.sizes)[:-1])
        for name, oracle, prior, part in zip(self.questions.names, self.oracles, self._made_up, parts, strict=True):
            n = int(part.sum())
            level = np.array([float((oracle.q_other + (k - 1) * probability) / k) for probability in prior])
            rise = float((oracle.p_own - oracle.q_other) / k)
            result[name] = QuestionShares(oracle.domain, n, part / max(n, 1), level, rise, confidence)
        return result

    @cached_property
    def _made_up(self) -> tuple[tuple[Fraction, ...], ...]:
        return tuple(tuple(Fraction(part, DENOMINATOR) for part in prior) for prior in self.priors)

    def _amplified(self, epsilon: Fraction) -> Fraction:
        """Largest loss about the person, in 2**-20ths, that keeps to ``epsilon`` about one answer."""
        low, high = int(epsilon * _STEPS), _MAX_EPSILON * _STEPS
        allowed = exp_lower(epsilon)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.answer_ratio(Fraction(middle, _STEPS)) <= allowed else (low, middle)
        return Fraction(low, _STEPS)


def _prior(domain: Domain, weights: Sequence[Number] | None) -> tuple[int, ...]:
    """Convert weights of values to probabilities in whole 2**-64ths."""
    exact_weights = [exact(weight, "a weight") for weight in ([1] * len(domain) if weights is None else weights)]
    if len(exact_weights) != len(domain) or min(exact_weights) == 0:
        raise BadInput(
            "A prior has a weight above 0 for every value.", hint="Otherwise a value would be known to be true."
        )
    common = prod({weight.denominator for weight in exact_weights})
    parts = to_units([int(weight * common) for weight in exact_weights])
    if min(parts) == 0:
        raise BadInput("A weight of a prior is too small to draw from.")
    return parts


def largest_quotient(choices: Sequence[Sequence[tuple[Fraction, Fraction]]]) -> Fraction:
    """Largest quotient of two sums, to which every list gives one of its pairs; the lower terms are above 0."""
    best = Fraction(0)
    while True:
        taken = [max(pairs, key=lambda pair: pair[0] - best * pair[1]) for pairs in choices]
        result = sum((pair[0] for pair in taken), Fraction(0)) / sum((pair[1] for pair in taken), Fraction(0))
        if result <= best:
            return best
        best = result
