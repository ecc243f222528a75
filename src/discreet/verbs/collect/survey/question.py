"""Questions of a survey, their possible answers, and the protocols that a browser can run for them.

The survey's page does the same as ``draw`` of the protocol, by the same exact probabilities; a test in a real browser
compares it with the protocol's distribution. What is not in this list cannot be asked by a survey.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from discreet.core.exact import equation
from discreet.errors import BadInput
from discreet.verbs.collect.domain import Domain
from discreet.verbs.collect.frequency.randomized_response import GRR, Coins
from discreet.verbs.collect.frequency.unary_encoding import OUE, SUE, UnaryEncoding
from discreet.verbs.collect.frequency_oracle import FrequencyOracle
from discreet.verbs.collect.numbers.grid import NumberGrid
from discreet.verbs.collect.numbers.mean import MeanProtocol
from discreet.verbs.collect.numbers.mechanisms import Duchi, Piecewise, Window
from discreet.verbs.collect.protocol_choice import choose

Kind: TypeAlias = Literal["yes/no", "choice", "number"]
Wants: TypeAlias = Literal["distribution", "mean"]
MAX_VALUES = 1000
"""Largest number of values of a question, which a page lists and a browser draws bits for."""
MAX_STEPS = 256
"""Largest number of steps of a mean, whose audit takes a moment."""
Mechanism: TypeAlias = FrequencyOracle | MeanProtocol
_FREQUENCY: Mapping[str, type[FrequencyOracle]] = {"grr": GRR, "sue": SUE, "oue": OUE}
_MEAN: Mapping[str, type[MeanProtocol]] = {"duchi": Duchi, "piecewise": Piecewise}


@dataclass(frozen=True)
class Question:
    """A question, its possible answers and, if it was chosen by hand, its protocol."""

    name: str
    text: str
    kind: Kind
    values: tuple[str, ...] = ()
    """Possible values of a choice."""
    grid: NumberGrid | None = None
    """Grid that numbers are rounded to."""
    wants: Wants = "distribution"
    """Figures wanted of numbers: the distribution, or the mean alone, which takes fewer people."""
    protocol: str | None = None

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise BadInput(f"A question's kind must be {', '.join(get_args(Kind))}, not {self.kind!r}.")
        if self.wants not in get_args(Wants):
            raise BadInput(f"wants must be {' or '.join(get_args(Wants))}, not {self.wants!r}.")
        if (self.kind == "number") != (self.grid is not None) or (self.kind == "choice") != bool(self.values):
            raise BadInput("A choice needs values, a number needs bounds and steps, yes/no neither.")
        if self.wants == "mean" and self.grid is None:
            raise BadInput("Only numbers have a mean.")
        if self.wants == "mean" and self.grid is not None and self.grid.steps > MAX_STEPS:
            raise BadInput(
                f"A mean takes {MAX_STEPS} steps at most, got {self.grid.steps}.",
                hint="Numbers are rounded at random, so the mean is unbiased with fewer steps, too.",
            )
        if self.wants == "distribution" and not 2 <= len(self.domain) <= MAX_VALUES:
            raise BadInput(
                f"A question has 2 to {MAX_VALUES} answers, not {len(self.domain)}.",
                hint="Merge values, use fewer steps, or ask only for the mean.",
            )

    @cached_property
    def domain(self) -> Domain:
        """Possible answers: values, or the points of the grid."""
        if self.grid is None:
            return Domain(self.values or ("no", "yes"))
        points = [self.grid.low + index * self.grid.step for index in range(self.grid.steps + 1)]
        whole = all(point.denominator == 1 for point in points)
        return Domain([int(point) if whole else float(point) for point in points])

    @property
    def whole(self) -> bool:
        """Whether answers are whole numbers with steps of one, so that nothing is rounded."""
        return self.grid is not None and self.grid.step == 1 and self.grid.low.denominator == 1

    @property
    def points(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Answers as floating-point numbers."""
        return np.array(self.domain.values, dtype=np.float64)

    def to_dict(self) -> dict[str, Any]:
        """The question as plain data."""
        about: dict[str, Any] = {"name": self.name, "text": self.text, "kind": self.kind}
        if self.grid is not None:
            return about | {"grid": self.grid.parameters, "wants": self.wants}
        return about | {"values": list(self.domain.values)}


def assign_protocol(question: Question, epsilon: Fraction, people: int) -> tuple[Mechanism, str]:
    """Choose the protocol for a question with ``epsilon``, and give the reason."""
    if question.protocol is not None:
        made = _named(question, question.protocol, epsilon)
        return made, f"{made.name}: chosen in the survey's file."
    if question.wants == "mean":
        return _best_for_mean(question, epsilon, people)
    choice = choose(question.domain, epsilon, people, among=_FREQUENCY)
    return choice.oracle, choice.reason


def expected_error(mechanism: Mechanism, people: int) -> float:
    """Expected error of the mean, as a share of the range, or of the share of people with a value."""
    if isinstance(mechanism, FrequencyOracle):
        return math.sqrt(mechanism.variance(people, 1 / len(mechanism.domain))) / people
    grid = mechanism.grid
    return math.sqrt(float(mechanism.variances.mean()) / people) / float(grid.high - grid.low)


def answer_spread(question: Question) -> float:
    """Standard deviation of one person's answer if answers are evenly spread."""
    share = 1 / len(question.domain)
    return math.sqrt(share * (1 - share)) if question.wants == "distribution" else math.sqrt(1 / 12)


def browser_parameters(mechanism: Mechanism) -> dict[str, Any]:
    """Parameters of a protocol for the page: its algorithm and its exact probabilities."""
    match mechanism:
        case Coins():
            return {"way": "coins", "truth": str(mechanism.truth), "second": str(mechanism.heads)}
        case GRR():
            return {"way": "grr", "values": len(mechanism.domain), "own": str(mechanism.p_own)}
        case UnaryEncoding():
            probabilities = {"own": str(mechanism.p_own), "other": str(mechanism.q_other)}
            return {"way": "unary", "values": len(mechanism.domain), **probabilities}
        case Duchi():
            return {"way": "duchi", "steps": mechanism.grid.steps, "slope": str(mechanism.slope)}
        case Window():
            shape = {"steps": mechanism.grid.steps, "width": mechanism.width}
            return {"way": "window", **shape, "inside": str(mechanism.inside)}
    raise BadInput(f"The survey page does not support {mechanism.name}.")


def explain_protocol(mechanism: Mechanism) -> str:
    """Explain to the respondent what happens to an answer."""
    match mechanism:
        case Coins():
            return (
                f"A first coin ({_percent(mechanism.truth)} heads) decides whether your true answer is sent; "
                f"if not, a second coin ({_percent(mechanism.heads)} heads) answers for you."
            )
        case GRR():
            return (
                f"With probability {_percent(mechanism.p_own)} your true answer is sent, otherwise one of "
                "the others, "
                "drawn at random."
            )
        case UnaryEncoding():
            return (
                f"For every possible answer a coin is flipped: yours is named with probability "
                f"{_percent(mechanism.p_own)}, each of the others with {_percent(mechanism.q_other)}."
            )
        case Duchi():
            return (
                "One of two signs is sent, “high” or “low”: “high” with a probability between "
                f"{_percent(mechanism.upper(0))} and {_percent(mechanism.upper(mechanism.grid.steps))}, by "
                "your number."
            )
        case Window():
            return (
                f"With probability {_percent(mechanism.inside)} a number near yours is sent, otherwise any other at "
                "random."
            )
    raise BadInput(f"The survey page does not support {mechanism.name}.")


def _named(question: Question, name: str, epsilon: Fraction) -> Mechanism:
    """Make the protocol with a name, if it fits this question and the loss."""
    if question.grid is not None and question.wants == "mean":
        if name not in _MEAN:
            raise _unknown(question, name, _MEAN)
        return _MEAN[name](question.grid, epsilon)
    if name == "coins" and len(question.domain) == 2:
        oracle: FrequencyOracle = Coins(question.domain)
    elif name in _FREQUENCY:
        oracle = _FREQUENCY[name](question.domain, epsilon)
    else:
        raise _unknown(question, name, [*_FREQUENCY, *(["coins"] if len(question.domain) == 2 else [])])
    if oracle.epsilon > epsilon:
        raise BadInput(
            f"Two fair coins have {equation('ε', oracle.epsilon)}, but {question.name} may have at most "
            f"{equation('ε', epsilon)}.",
            hint="Raise the survey's epsilon, ask fewer questions, or leave the protocol out.",
        )
    return oracle


def _best_for_mean(question: Question, epsilon: Fraction, people: int) -> tuple[Mechanism, str]:
    assert question.grid is not None  # noqa: S101
    all_of_them = [kind(question.grid, epsilon) for kind in _MEAN.values()]
    best, other = sorted(all_of_them, key=lambda one: float(np.mean(one.variances)))
    off, beside = (math.sqrt(float(one.variances.mean()) / people) for one in (best, other))
    return best, (
        f"{best.name}: with {equation('ε', epsilon)} and {people:,} people the standard error of the mean is "
        f"about {off:,.3g} if numbers are evenly spread; with {other.name} it would be {beside:,.3g}."
    )


def _unknown(question: Question, name: str, known: Iterable[str]) -> BadInput:
    return BadInput(
        f"{question.name} cannot be asked by the protocol {name!r}.",
        hint=f"Supported here: {', '.join(known)}. If left out, the most accurate is used.",
    )


def _percent(probability: Fraction) -> str:
    return f"{float(probability):.3g}" if probability < Fraction(1, 1000) else f"{100 * float(probability):.3g} %"
