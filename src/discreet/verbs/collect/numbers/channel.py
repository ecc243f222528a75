"""Channels: tables of probabilities in whole 2**-64ths, from which a report is drawn by one look-up.

A uniform word of 64 bits is compared with the running sums of the answer's row, so that each report has exactly its
probability. Theory's probabilities are irrational: they are cut to whole parts, and what that leaves over goes to the
likeliest report. Whether the promise still holds is not argued but checked, on every column of the table that is drawn
from; where it does not, the table is made again for a slightly smaller loss, until it does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from discreet.core.compiled import njit
from discreet.core.directed_rounding import exp_lower
from discreet.errors import BadInput
from discreet.noise.entropy import Entropy, Words
from discreet.verbs.collect.domain import Codes
from discreet.verbs.collect.report_distribution import DENOMINATOR, Matrix

Weights = Sequence[Sequence[int]]


@dataclass(frozen=True)
class Channel:
    """A row for each answer with the probability of each report in whole 2**-64ths."""

    parts: tuple[tuple[int, ...], ...]

    @cached_property
    def report_distribution(self) -> Matrix:
        """Probability of each report given each answer."""
        return Matrix(tuple(tuple(Fraction(part, DENOMINATOR) for part in row) for row in self.parts))

    @property
    def reports(self) -> int:
        """Number of possible reports."""
        return len(self.parts[0])

    def keeps_to(self, epsilon: Fraction) -> bool:
        """Whether no report is more than e**epsilon times as likely for one answer as for another, exactly."""
        odds = exp_lower(epsilon)
        columns = [(max(column), min(column)) for column in zip(*self.parts, strict=True)]
        return all(most * odds.denominator <= least * odds.numerator for most, least in columns)

    @cached_property
    def _sums(self) -> Words:
        """Cumulative sums of each row without the last, which is one."""
        edges = np.zeros((len(self.parts), self.reports - 1), dtype=np.uint64)
        for row, parts in enumerate(self.parts):
            total = 0
            for index, part in enumerate(parts[:-1]):
                total += part
                edges[row, index] = total
        return edges

    def draw(self, codes: Codes, entropy: Entropy) -> Codes:
        """Draw a report for each answer."""
        drawn = np.empty(codes.size, dtype=np.int64)
        _look_up(self._sums, codes, entropy.words(codes.size), drawn)
        return drawn


def to_units(weights: Sequence[int]) -> tuple[int, ...]:
    """Convert weights to probabilities in whole 2**-64ths; the rest goes to the likeliest."""
    total = sum(weights)
    parts = [weight * DENOMINATOR // total for weight in weights]
    parts[max(range(len(parts)), key=parts.__getitem__)] += DENOMINATOR - sum(parts)
    return tuple(parts)


def rounded_channel(weights: Callable[[Fraction], Weights], epsilon: Fraction) -> tuple[Channel, Fraction]:
    """A channel that keeps to ``epsilon``, and the slightly smaller loss that its weights were computed for."""
    for digits in (60, 50, 40, 30, 20):
        less = epsilon * (1 - Fraction(1, 1 << digits))
        channel = Channel(tuple(map(to_units, weights(less))))
        if channel.keeps_to(epsilon):
            return channel, less
    raise BadInput("These chances are too small to be flipped by.", hint="Use fewer steps or a smaller epsilon.")


@njit(cache=True)
def _look_up(sums: Any, codes: Any, words: Any, drawn: Any) -> None:
    """Number of cumulative sums of each row that are at most the word."""
    for at in range(codes.size):
        row, word = sums[codes[at]], words[at]
        low, high = 0, row.size
        while low < high:
            middle = (low + high) // 2
            if row[middle] <= word:
                low = middle + 1
            else:
                high = middle
        drawn[at] = low
