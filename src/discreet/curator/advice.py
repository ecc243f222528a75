"""What an epsilon means: how much an adversary can learn, and how to choose it by that.

All numbers here explain; none protects anyone, so they are floats.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from discreet.core.exact import Number, exact
from discreet.core.report import Axis, Picture, curves, stacked
from discreet.errors import BadInput

PRIORS = (0.001, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9)


@dataclass(frozen=True)
class Belief:
    """What an adversary believed, and what at least and at most after seeing everything that epsilon covers."""

    prior: float
    least: float
    most: float


def beliefs(epsilon: Number) -> list[Belief]:
    """How far any answer can move an adversary's belief in anything about one unit, who knows all about the others.

    Why this is right: epsilon-privacy bounds the likelihood ratio of what came out by e^ε either way, and Bayes' rule
    does the rest: a prior p becomes at most p e^ε / (1 - p + p e^ε), and at least that with -ε.
    """
    odds = float(exact(epsilon, "epsilon"))
    return [Belief(prior, _posterior(prior, -odds), _posterior(prior, odds)) for prior in PRIORS]


def lee_clifton(candidates: int, risk: Number, *, sensitivity: Number = 1, spread: Number = 1) -> float:
    """The largest epsilon at which no one is picked out of ``candidates`` with a probability above ``risk``.

    The adversary knows all ``candidates``, one of whom is not in the data, and holds each possible absentee equally
    likely; noise of scale ``sensitivity`` / ε is on a figure that differs by at most ``spread`` between two of these
    possible worlds (Lee and Clifton 2011, "How Much Is Enough? Choosing ε for Differential Privacy"):
    ε = (sensitivity / spread) ln((n - 1) ρ / (1 - ρ)).

    Why this is right: with the noise centred on the true world, the likelihood of another is less by a factor of
    e^(-ε spread / sensitivity) at most; so the posterior of the true one is at most 1 / (1 + (n - 1) e^(-ε spread /
    sensitivity)), which is ρ at that ε.
    """
    rho, reach, width = float(exact(risk, "risk")), exact(sensitivity, "sensitivity"), exact(spread, "spread")
    if candidates < 2 or not 1 / candidates < rho < 1:
        raise BadInput(
            f"A risk must be above a blind guess among {candidates} candidates and below 1, got {risk}.",
            hint="Guessing blindly is right with probability 1 / candidates; no epsilon can make it less.",
        )
    if not reach or not width:
        raise BadInput("The sensitivity and the spread of a figure must be above 0.")
    return float(reach / width) * math.log((candidates - 1) * rho / (1 - rho))


def count_error(epsilon: Number, confidence: float = 0.95) -> float:
    """How far a count of people is off at most, with that confidence: ln(1/(1 - confidence)) / ε."""
    value = float(exact(epsilon, "epsilon"))
    if value == 0:
        raise BadInput("An epsilon of 0 releases no information.")
    return math.log(1 / (1 - confidence)) / value


def drawn(epsilon: Number) -> Picture:
    """What an adversary can learn at ``epsilon``, and how far off a count is at it and at others."""
    return stacked(f"What epsilon = {epsilon} means", [drawn_beliefs(epsilon), drawn_errors(epsilon)])


def drawn_beliefs(epsilon: Number) -> Picture:
    """Where a belief can go, from wherever it was."""
    odds = float(exact(epsilon, "epsilon"))
    priors = [step / 100 for step in range(101)]
    marks = (0.0, 0.25, 0.5, 0.75, 1.0)
    return curves(
        f"What an adversary can believe at ε = {epsilon}",
        Axis("believed before", marks),
        Axis("believed after", marks),
        {
            "at most": [(prior, _posterior(prior, odds)) for prior in priors],
            "as before": [(0.0, 0.0), (1.0, 1.0)],
            "at least": [(prior, _posterior(prior, -odds)) for prior in priors],
        },
        dots={f"0.5 → {_posterior(0.5, odds):.3f}": (0.5, _posterior(0.5, odds))},
    )


def drawn_errors(epsilon: Number) -> Picture:
    """How far a count may be off, at every epsilon."""
    chosen, off = float(exact(epsilon, "epsilon")), count_error(epsilon)
    epsilons = _decades(min(chosen, 0.01), max(chosen, 10.0))
    errors = [count_error(one) for one in epsilons]
    return curves(
        "Error of a count of people",
        Axis("ε", epsilons, log=True),
        Axis("error at most, 95 times in 100", _decades(errors[-1], errors[0]), log=True),
        {"one row per person": list(zip(epsilons, errors, strict=True))},
        dots={f"ε = {epsilon}: {off:,.1f}": (chosen, off)},
    )


def _decades(low: float, high: float) -> list[float]:
    """Powers of ten around two numbers."""
    return [10.0**power for power in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)]


def _posterior(prior: float, epsilon: float) -> float:
    odds = math.exp(min(max(epsilon, -700.0), 700.0))
    return prior * odds / (1 - prior + prior * odds)
