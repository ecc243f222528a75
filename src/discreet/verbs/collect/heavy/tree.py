"""All strings that are surely there: a tree of beginnings, pruned by significance (after Bassily, Nissim, Stemmer and
Thakurta 2017).

On every level those beginnings are kept that would be so large by chance, if nobody had them, with less than the stated
risk: it is shared out evenly over all levels and, on each, over all beginnings that are tried. If nobody has one, each
report supports it by a coin of known chance, and Chernoff's bound holds for however few of them; the normal law would
not, so far out. So with the stated confidence nothing is found that nobody has. Its privacy and the meaning of its
error bars are those of ``prefixes``.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.exact import Number
from discreet.errors import BadInput
from discreet.verbs.collect.divergence import unlikely
from discreet.verbs.collect.heavy.prefixes import Level, Prefixes
from discreet.verbs.collect.score_intervals import z_of


@dataclass(frozen=True, init=False)
class Tree(Prefixes):
    """A pruned tree: finds what is significant, be it nothing."""

    name = "tree"
    most: int
    """So many beginnings are kept at most on a level, so that the work is bounded."""

    def __init__(self, length: int, epsilon: Number, most: int = 256, step: int = 8) -> None:
        super().__init__(length, epsilon, step)
        if most < 1:
            raise BadInput(f"One beginning or more is kept, not {most}.")
        object.__setattr__(self, "most", most)

    @property
    def parameters(self) -> dict[str, Any]:
        """With how many beginnings are kept at most."""
        return {**super().parameters, "most": self.most}

    def keep(self, level: Level) -> NDArray[np.int64]:
        """Those above the threshold, the largest first."""
        figures = level.counts.reshape(-1)
        order = np.argsort(-figures, kind="stable")[: self.most]
        least = level.people * self._threshold(level.group, figures.size, level.confidence)
        return order[figures[order] >= least]

    def reach(self, people: int, *, confidence: float = 0.95) -> float:
        """How many of so many people must have a string, for it to be found with the stated confidence.

        It has to pass the threshold on every level, which is highest where as many beginnings are tried as ever are.
        Groups are taken to be of equal size.
        """
        group = people / self.levels
        sampled = z_of(2 * (1 - confidence) / self.levels)
        highest = people * self._threshold(group, self.most << self.step, confidence)
        count = highest
        for _ in range(50):  # the spread of a figure grows with it
            share = np.array([min(count / people, 1.0)])
            own = float(self.reports.variance(1, share)[0]) / group + float(share[0] * (1 - share[0])) / group
            count = highest + sampled * sqrt(own) * people
        return count

    def _threshold(self, group: float, tried: int, confidence: float) -> float:
        """The share of people from which on a beginning is kept."""
        p, q = float(self.reports.own), float(self.reports.other)
        return (unlikely(q, group, log(self.levels * tried / (1 - confidence))) - q) / (p - q)
