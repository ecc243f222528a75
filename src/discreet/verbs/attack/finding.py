"""What an attack found: a figure with its interval, beside what guessing would give."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from discreet.core.optional import extra
from discreet.core.release import Release
from discreet.core.table import Table
from discreet.errors import BadInput

Array = npt.NDArray[Any]

SHOWN_VICTIMS = 5
"""So many victims a finding names for the steward."""
_LITTLE = 0.1
"""Whoever gains so much of what guessing leaves open did not find nothing, even if chance may explain it."""


class Outcome(Enum):
    """An attack that finds nothing is good news; one that cannot tell, or could not run, is no news. Worst first."""

    BROKE = "learned something"
    UNSURE = "too few people to tell"
    NOTHING = "found nothing"
    FAILED = "could not run"


@dataclass(frozen=True)
class Finding:
    """What one attacker got out of one release."""

    attack: str
    knows: str
    """What the attacker knows, as a sentence."""
    outcome: Outcome
    figure: float
    """The share of victims, or what ``meaning`` says; NaN if the attack could not run."""
    interval: tuple[float, float]
    """What ``interval_is`` says; for shares Clopper–Pearson."""
    baseline: float
    """What guessing would give."""
    meaning: str
    """What the figure means and which direction is worse, for a steward."""
    victims: tuple[int, ...] = field(default=(), repr=False)
    """A few row numbers of the original, for the steward only."""
    details: Mapping[str, Any] = field(default_factory=dict)
    interval_is: str = "95 %"
    """What the interval stands for, as the words before "from … to …"."""

    def __post_init__(self) -> None:
        low, high = self.interval
        if self.outcome is not Outcome.FAILED and not low <= self.figure <= high:
            raise BadInput(f"The figure {self.figure} of a finding is not in its interval, {low} to {high}.")

    def without_victims(self) -> Finding:
        """The same finding, fit to be passed on."""
        return replace(self, victims=())

    def to_dict(self, *, victims: bool = False) -> dict[str, Any]:
        """This as plain data, for JSON; the victims only if they are asked for."""
        told = {
            "attack": self.attack,
            "knows": self.knows,
            "outcome": self.outcome.value,
            "figure": _number(self.figure),
            "interval": [_number(end) for end in self.interval],
            "interval_is": self.interval_is,
            "baseline": _number(self.baseline),
            "meaning": self.meaning,
            "details": dict(self.details),
        }
        return told | {"victims": list(self.victims)} if victims else told

    def __str__(self) -> str:
        if self.outcome is Outcome.FAILED:
            return f"{self.attack}: could not run. {self.meaning}"
        low, high = self.interval
        return (
            f"{self.attack}: {self.outcome.value}. {self.figure:.2%} ({self.interval_is}: {low:.2%} to {high:.2%}; "
            f"guessing: {self.baseline:.2%}). {self.meaning}"
        )


class Attack(Protocol):
    """An intruder who holds a release, its recipe, and a table of what is known about people."""

    def run(self, release: Release[Any], known: Table, links: Array | None = None) -> Finding:
        """Attack ``release``; ``links`` (for each released row the number of the original's) tell who was right."""
        ...


def share(
    attack: str,
    knows: str,
    credits: Array,
    baseline: float,
    meaning: str,
    *,
    details: Mapping[str, Any] | None = None,
    people: Array | None = None,
) -> Finding:
    """A finding about a share of people: ``credits`` says of each with what probability the attacker is right.

    The probabilities of independent people sum to less spread than coins of the same mean, so that the interval
    of Clopper and Pearson for as many coins covers at least as often as it says. ``people`` are the row numbers of
    those who were attacked (default: everybody, in order).
    """
    right, count = float(credits.sum()), len(credits)
    interval = clopper_pearson(right, count)
    sure = np.flatnonzero(credits > 1 - 1e-9)[:SHOWN_VICTIMS]
    return Finding(
        attack,
        knows,
        outcome(right / count, interval, baseline),
        right / count,
        interval,
        baseline,
        meaning,
        tuple(map(int, sure if people is None else people[sure])),
        details or {},
    )


def outcome(figure: float, interval: tuple[float, float], baseline: float) -> Outcome:
    """Guessing counts as beaten only when the whole interval lies above it.

    If the figure does, by more than a little, and the interval does not, there are too few people to tell.
    """
    if interval[0] > baseline:
        return Outcome.BROKE
    return Outcome.UNSURE if figure - baseline > _LITTLE * (1 - baseline) else Outcome.NOTHING


def rank(outcome: Outcome) -> int:
    """The place of an outcome among all, the worst first."""
    return list(Outcome).index(outcome)


def worst(findings: Iterable[Finding]) -> Finding:
    """Of several that could run the one to worry about: by their outcome, then by what is beyond guessing."""
    return min(findings, key=lambda one: (rank(one.outcome), one.baseline - one.figure))


def failed(attack: str, knows: str, why: str) -> Finding:
    """An attack that could not run, and why."""
    return Finding(attack, knows, Outcome.FAILED, math.nan, (0.0, 1.0), math.nan, why)


def clopper_pearson(successes: float, trials: int, confidence: float = 0.95) -> tuple[float, float]:
    """The exact interval for a share (Clopper and Pearson 1934); ``successes`` may be a sum of probabilities."""
    if trials < 1 or not 0 <= successes <= trials:
        raise BadInput(f"A share is of at least one, and at most all: got {successes} of {trials}.")
    with extra("attack"):
        from scipy.special import betaincinv
    tail, failures = (1 - confidence) / 2, trials - successes
    share = successes / trials
    low = float(betaincinv(successes, failures + 1, tail)) if successes > 0 else 0.0
    high = float(betaincinv(successes + 1, failures, 1 - tail)) if failures > 0 else 1.0
    return min(low, share), max(high, share)


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value
