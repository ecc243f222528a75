"""Permute-and-flip: never more error than the exponential mechanism at the same loss, and often half of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from discreet.noise.entropy import SYSTEM, Entropy
from discreet.noise.selection import Selection, exact_scores


@dataclass(frozen=True, init=False)
class PermuteAndFlip(Selection):
    """Takes candidates in random order; chooses the first whose coin, e**-((best - score) / scale), is heads.

    Why this is private: McKenna and Sheldon (2020, Theorem 1) prove Pure(2 Δ / scale) when no score changes by
    more than Δ. The choice depends on differences of scores alone; when all scores rise by between 0 and Δ,
    subtract Δ / 2 from each: none has changed by more than Δ / 2, which gives Pure(Δ / scale). Coins are exact
    for every rational score.

    How long it takes tells something about the scores: whoever sees the clock must be given answers on a schedule.
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
