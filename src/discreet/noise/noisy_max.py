"""Report-noisy-max: for whole scores, and for very many candidates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import BadInput
from discreet.noise.additive import FEW
from discreet.noise.entropy import SYSTEM, Entropy
from discreet.noise.geometric import geometric, geometrics
from discreet.noise.selection import Selection, exact_scores


@dataclass(frozen=True, init=False)
class NoisyMax(Selection):
    """Adds geometric noise of ``scale`` to every whole score; the largest sum wins, the first of several.

    Why this is private: fix the noise of all candidates but i. Then i wins exactly if its own noise reaches
    some whole number τ, whatever the rule for ties, as long as it is fixed. If no score changes by more than Δ,
    τ rises by at most 2 Δ (by Δ if all move the same way), and P(noise >= τ + 2 Δ) >= e**-(2 Δ / scale) P(noise
    >= τ): Pure(2 Δ / scale) (Dwork, Roth 2014, Claim 3.9; with one-sided noise Ding and others 2021, who show
    that in the continuum it is permute-and-flip). It holds on the integers only: scores that are not whole
    would need noise as fine as themselves. The winning sum is not told.
    """

    def choose(self, scores: Sequence[int | Fraction], entropy: Entropy = SYSTEM) -> int:
        """The index of the winner."""
        if not all(isinstance(score, int) for score in exact_scores(scores)):
            raise BadInput("Noisy max needs whole scores.", hint="Count in smaller units, or use permute-and-flip.")
        count = len(scores)
        noise = (
            [geometric(self.scale, entropy) for _ in range(count)]
            if count <= FEW
            else geometrics(self.scale, count, entropy).tolist()
        )
        return max(range(count), key=lambda i: scores[i] + noise[i])
