"""Private selection of the best candidate, nearly: exponential mechanism and permute-and-flip."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

from discreet.core.exact import Number, ln_upper, positive, probability, round_up, whole
from discreet.core.loss import Pure
from discreet.errors import BadInput
from discreet.noise.entropy import SYSTEM, Entropy


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


@dataclass(frozen=True, init=False)
class Exponential(Selection):
    """Chooses candidate i with probability in proportion to e**(score[i] / scale).

    Why this is private: when no score changes by more than Δ, every weight changes by a factor of at most e**(Δ
    / scale), and so does their sum: Pure(2 Δ / scale). When all scores move the same way, so do the weights and
    the sum, and one factor cancels: Pure(Δ / scale) (McSherry, Talwar 2007). Weights are never computed, so
    none is rounded to zero: a candidate is proposed at random and kept with probability e**-((best - score) /
    scale), which is drawn exactly.

    How long it takes tells something about the scores: anyone who sees the clock must be given answers on a schedule.
    """

    def choose(self, scores: Sequence[int | Fraction], entropy: Entropy = SYSTEM) -> int:
        best = max(exact_scores(scores))
        while True:
            i = entropy.below(len(scores))
            if entropy.flip_exp((best - scores[i]) / self.scale):
                return i


@dataclass(frozen=True, init=False)
class PermuteAndFlip(Selection):
    """Takes candidates in random order; chooses the first whose coin, e**-((best - score) / scale), is heads.

    Why this is private: McKenna and Sheldon (2020, Theorem 1) prove Pure(2 Δ / scale) when no score changes by
    more than Δ. The choice depends on differences of scores alone; when all scores rise by between 0 and Δ,
    subtract Δ / 2 from each: none has changed by more than Δ / 2, which gives Pure(Δ / scale). Coins are exact
    for every rational score.

    How long it takes tells something about the scores: anyone who sees the clock must be given answers on a schedule.
    """

    def choose(self, scores: Sequence[int | Fraction], entropy: Entropy = SYSTEM) -> int:
        """The index of the chosen candidate. The best one's coin always falls on heads, so one is found."""
        best = max(exact_scores(scores))
        waiting = list(range(len(scores)))
        while True:
            place = entropy.below(len(waiting))
            waiting[place], waiting[-1] = waiting[-1], waiting[place]
            i = waiting.pop()
            if entropy.flip_exp((best - scores[i]) / self.scale):
                return i
