"""The exponential mechanism: a candidate is chosen with probability in proportion to e**(score / scale)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from discreet.noise.entropy import SYSTEM, Entropy
from discreet.noise.selection import Selection, exact_scores


@dataclass(frozen=True, init=False)
class Exponential(Selection):
    """Chooses candidate i with probability in proportion to e**(score[i] / scale).

    Why this is private: when no score changes by more than Δ, every weight changes by a factor of at most e**(Δ
    / scale), and so does their sum: Pure(2 Δ / scale). When all scores move the same way, so do the weights and
    the sum, and one factor cancels: Pure(Δ / scale) (McSherry, Talwar 2007). Weights are never computed, so
    none is rounded to zero: a candidate is proposed at random and kept with probability e**-((best - score) /
    scale), which is drawn exactly.

    How long it takes tells something about the scores: whoever sees the clock must be given answers on a schedule.
    """

    def choose(self, scores: Sequence[int | Fraction], entropy: Entropy = SYSTEM) -> int:
        """The index of the chosen candidate."""
        best = max(exact_scores(scores))
        while True:
            i = entropy.below(len(scores))
            if entropy.flip_exp((best - scores[i]) / self.scale):
                return i
