"""Protocols that a browser can run: their choice, their parameters for the page, and their explanation.

The page does the same as ``draw`` of the protocol, by the same exact probabilities; a test in a real browser compares
it with the protocol's distribution. What is not in this list cannot be asked by a survey.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from discreet.core.exact import equation
from discreet.errors import BadInput
from discreet.verbs.collect.frequency.coins import Coins
from discreet.verbs.collect.frequency.grr import GRR
from discreet.verbs.collect.frequency.unary_encoding import OUE, SUE, UnaryEncoding
from discreet.verbs.collect.frequency_oracle import FrequencyOracle
from discreet.verbs.collect.numbers.duchi import Duchi
from discreet.verbs.collect.numbers.mean import MeanProtocol
from discreet.verbs.collect.numbers.window import Piecewise, Window
from discreet.verbs.collect.protocol_choice import choose
from discreet.verbs.collect.survey.question import Question

Mechanism: TypeAlias = FrequencyOracle | MeanProtocol

_FREQUENCY: Mapping[str, type[FrequencyOracle]] = {"grr": GRR, "sue": SUE, "oue": OUE}
_MEAN: Mapping[str, type[MeanProtocol]] = {"duchi": Duchi, "piecewise": Piecewise}


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
    raise BadInput(f"A page cannot do {mechanism.name}.")


def explain_protocol(mechanism: Mechanism) -> str:
    """Explain to the respondent what happens to an answer."""
    match mechanism:
        case Coins():
            return (
                f"A first coin ({_percent(mechanism.truth)} heads) says whether your true answer is sent; if not, "
                f"a second coin ({_percent(mechanism.heads)} heads) answers for you."
            )
        case GRR():
            return (
                f"With a chance of {_percent(mechanism.p_own)} your true answer is sent, otherwise one of the others, "
                "drawn at random."
            )
        case UnaryEncoding():
            return (
                f"For every possible answer a coin is flipped: yours is named with a chance of "
                f"{_percent(mechanism.p_own)}, each of the others with {_percent(mechanism.q_other)}."
            )
        case Duchi():
            return (
                "One of two signs is sent, “high” or “low”: “high” with a chance between "
                f"{_percent(mechanism.upper(0))} and {_percent(mechanism.upper(mechanism.grid.steps))}, by your number."
            )
        case Window():
            return (
                f"With a chance of {_percent(mechanism.inside)} a number near yours is sent, otherwise any other at "
                "random."
            )
    raise BadInput(f"A page cannot do {mechanism.name}.")


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
            f"Two fair coins lose {equation('ε', oracle.epsilon)}, and {question.name} may lose "
            f"{equation('ε', epsilon)}.",
            hint="Raise epsilon of the survey, ask fewer questions, or leave the protocol out.",
        )
    return oracle


def _best_for_mean(question: Question, epsilon: Fraction, people: int) -> tuple[Mechanism, str]:
    assert question.grid is not None  # noqa: S101
    all_of_them = [kind(question.grid, epsilon) for kind in _MEAN.values()]
    best, other = sorted(all_of_them, key=lambda one: float(np.mean(one.variances)))
    off, beside = (math.sqrt(float(one.variances.mean()) / people) for one in (best, other))
    return best, (
        f"{best.name}: with {equation('ε', epsilon)} and {people:,} people the mean is off by about {off:,.3g} if "
        f"numbers are evenly spread; {other.name} would be off by {beside:,.3g}."
    )


def _unknown(question: Question, name: str, known: Iterable[str]) -> BadInput:
    return BadInput(
        f"{question.name} cannot be asked by the protocol {name!r}.",
        hint=f"The page can do {', '.join(known)} here. Leave it out, and the most accurate is taken.",
    )


def _percent(probability: Fraction) -> str:
    return f"{float(probability):.3g}" if probability < Fraction(1, 1000) else f"{100 * float(probability):.3g} %"
