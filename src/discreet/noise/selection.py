"""What all selections have in common: choosing the best of several candidates, nearly, by whole or rational scores."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

from discreet.core.directed_rounding import ln_upper, round_up
from discreet.core.exact import Number
from discreet.core.loss import Pure
from discreet.errors import BadInput
from discreet.noise.entropy import SYSTEM, Entropy
from discreet.noise.parameters import positive, probability, whole


@dataclass(frozen=True, init=False)
class Selection(ABC):
    """Chooses a candidate; one that scores s below the best has at most e**-(s / scale) times the best one's chance."""

    scale: Fraction

    def __init__(self, scale: Number) -> None:
        object.__setattr__(self, "scale", positive(scale, "scale"))

    @classmethod
    def for_loss(cls, loss: Pure, sensitivity: Number = 1, *, monotone: bool = False) -> Self:
        """The sharpest choice that loses ``loss`` and no more."""
        return cls(_spread(sensitivity, monotone) / positive(loss.epsilon, "epsilon"))

    def loss(self, sensitivity: Number = 1, *, monotone: bool = False) -> Pure:
        """What is lost when one unit changes every score by at most ``sensitivity``.

        Monotone: a unit moves all scores the same way, as counts do. Why that halves the loss: a selection looks at
        differences of scores only, and these change by Δ at most, where scores that move against each other
        change them by 2 Δ.
        """
        return Pure(_spread(sensitivity, monotone) / self.scale)

    @abstractmethod
    def choose(self, scores: Sequence[int | Fraction], entropy: Entropy = SYSTEM) -> int:
        """The index of the chosen candidate."""

    def error(self, beta: Number, candidates: int) -> Fraction:
        """How far below the best the chosen score may be, with probability 1 - beta: scale · ln(candidates / beta).

        Why: each candidate more than this below the best is chosen with a probability of at most beta / candidates.
        """
        share = whole(candidates, "The number of candidates") / probability(beta, "beta")
        return self.scale * round_up(ln_upper(share))


def exact_scores(scores: Sequence[int | Fraction]) -> Sequence[int | Fraction]:
    """``scores``, if there are any and floating point has not been at them."""
    if not len(scores):
        raise BadInput("There is no candidate to choose from.", hint="Declare the candidates.")
    if not all(isinstance(score, int | Fraction) for score in scores):
        raise BadInput("Scores must be whole numbers or fractions.", hint="Put them on a declared grid first.")
    return scores


def _spread(sensitivity: Number, monotone: bool) -> Fraction:
    return (1 if monotone else 2) * positive(sensitivity, "sensitivity")
