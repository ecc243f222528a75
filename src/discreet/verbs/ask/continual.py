"""Counting a stream: after every step the noisy count of all events so far, for one price fixed at the start.

Two counters. The tree needs little memory, and is private without a delta. The square root has the least noise known
for a count that is told at every step, and accounts by concentrated loss.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from threading import Lock
from typing import Any

import numpy as np

from discreet.core.exact import Number, positive, whole
from discreet.core.loss import Concentrated, Pure
from discreet.errors import BadInput, NoPromise
from discreet.noise.deviation import Noise, sum_error
from discreet.noise.entropy import SYSTEM, Entropy
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.laplace import DiscreteLaplace

MOST_STEPS = 2**20
_FINE = 2**20
_LARGEST = 2**62
_Numbers = np.ndarray[Any, Any]


class Stream(ABC):
    """A stream that is being counted. Threads may share it; a forked process may not.

    Contribution bound: with ``most``, events come with the unit they are about, and are cut where they come in, so
    that the absolute sizes of a unit's events add up to no more than ``most`` in the whole stream, whatever is added.
    What is cut of a unit depends on its own events alone. Without ``most`` every event is someone else's, and of
    size 1: no step is negative, since an event that takes another back would be of the same unit.
    """

    def __init__(self, steps: int, most: int | None) -> None:
        self._steps = steps
        self._most = None if most is None else whole(most, "most")
        self._sizes: dict[str | int, int] = {}  # of a unit, the absolute sizes so far
        self._step = 0
        self._lock = Lock()
        self._process = os.getpid()

    @property
    def step(self) -> int:
        """How many steps were taken."""
        return self._step

    def add(self, events: int | Mapping[Any, int]) -> float:
        """Take a step, and tell the noisy count of all events so far.

        ``events`` is how many there were in this step. Of a stream with a contribution bound it is how many of each
        unit, such as ``{"p17": 1, "p4": -1}``: what goes beyond the unit's bound is not counted.
        """
        checked = self._checked(events)
        with self._lock:
            if self._process != os.getpid():
                raise NoPromise("A stream was copied to another process, which could release its counts twice.")
            if self._step == self._steps:
                raise NoPromise(
                    f"This stream was declared to have {self._steps:,} steps, and all are used.",
                    hint="Start another, at its price.",
                )
            self._step += 1
            return self._next(checked if isinstance(checked, int) else self._cut(checked))

    def _checked(self, events: int | Mapping[Any, int]) -> int | dict[str | int, int]:
        if self._most is None:
            if isinstance(events, Mapping) or _size(events) < 0:
                raise BadInput(
                    "A step of this stream must be a whole number of events, each of a different person.",
                    hint="If a unit may have several, declare how many (most=…) and give the unit of each event.",
                )
            return _size(events)
        if not isinstance(events, Mapping) or not all(isinstance(unit, str | int | np.integer) for unit in events):
            raise BadInput(
                "A step of this stream must map each unit (a text or whole number) to its "
                'number of events, such as {"p17": 1}.'
            )
        return {unit: _size(size) for unit, size in events.items()}

    def _cut(self, events: Mapping[str | int, int]) -> int:
        """What the events of all units come to, each unit's within what is left of its bound."""
        assert self._most is not None  # noqa: S101  # else there are no units
        total = 0
        for unit, size in events.items():
            left = self._most - self._sizes.get(unit, 0)
            counted = max(-left, min(size, left))
            self._sizes[unit] = self._most - left + abs(counted)
            total += counted
        return total

    @abstractmethod
    def _next(self, x: int) -> float:
        """The noisy count after one more step."""


@dataclass(frozen=True)
class TreeCounter:
    """The binary tree: the noisy count of a prefix is a sum of noisy counts of stretches of 1, 2, 4, 8, … steps.

    Why this is private: after step t the stretch of the last 2**l steps is counted, 2**l being the largest power of
    two that divides t, and gets noise once. An event is in at most one such stretch of each length, so in at most
    L of them, L being the number of binary digits of ``steps``. A unit whose events have absolute sizes that add up to
    ``most`` at most, as ``Stream`` enforces, changes the counts of one length by most in all, hence all these counts by
    L · most in all, and by √L · most in Euclidean distance: Pure(L · most / scale) with discrete Laplace noise,
    Concentrated(L · most² / 2σ²) with discrete Gaussian (Dwork, Naor, Pitassi, Rothblum 2010; Chan, Shi, Song 2011).
    Whatever is told is made of them. The bounds hold along every path, so later events may depend on earlier answers
    (Jain, Raskhodnikova, Sivakumar, Smith 2023).
    """

    steps: int
    noise: Noise

    def __post_init__(self) -> None:
        whole(self.steps, "The number of steps")

    @classmethod
    def for_loss(cls, loss: Pure | Concentrated, steps: int, most: int = 1) -> TreeCounter:
        """The counter that loses ``loss`` when a unit has ``most`` events in the whole stream at most."""
        levels, events = whole(steps, "The number of steps").bit_length(), whole(most, "most")
        if isinstance(loss, Pure):
            return cls(steps, DiscreteLaplace.for_loss(loss, levels * events))
        return cls(steps, DiscreteGaussian(levels * events**2 / (2 * positive(loss.rho, "rho"))))

    @property
    def levels(self) -> int:
        """How many counts an event may be in."""
        return self.steps.bit_length()

    def loss(self, most: int = 1) -> Pure | Concentrated:
        """What the whole stream loses when the absolute sizes of a unit's events add up to ``most`` at most."""
        events = whole(most, "most")
        if isinstance(self.noise, DiscreteLaplace):
            return self.noise.loss(self.levels * events)
        return Concentrated(self.levels * self.noise.loss(events).rho)

    def variance(self, step: int) -> float:
        """The variance of the count after a step: one noise for every binary 1 in its number."""
        return _within(step, self.steps).bit_count() * self.noise.variance

    def error(self, beta: Number, step: int) -> float:
        """A bound on how far the count after a step is off that holds with probability 1 - beta."""
        return sum_error(self.noise, np.ones(_within(step, self.steps).bit_count()), beta)

    def start(self, entropy: Entropy = SYSTEM, *, most: int | None = None) -> Stream:
        """An empty stream, in which a unit has ``most`` events at most; ``None``: every event is someone else's."""
        return _TreeStream(self, entropy, most)


@dataclass(frozen=True)
class SquareRootCounter:
    """The square root: prefixes are made of noisy weighted sums of the past, in which older events weigh less.

    The matrix that makes prefixes of steps is the square of one with 1, 1/2, 3/8, 5/16, … below its diagonal, the
    series of 1 / √(1 - x). Noise goes in between (Bennett 1977; Fichtenberger, Henzinger, Upadhyay 2023; Henzinger,
    Upadhyay, Upadhyay 2023, who show that next to nothing better exists).

    Why this is private: the series, times 2**20 and rounded, gives whole weights g₀, g₁, …; what is computed of the
    stream are the whole numbers yₜ = Σ gₖ xₜ₋ₖ, each with discrete Gaussian noise, and everything told is made of
    those. An event of size 1 changes them by at most √(g₀² + g₁² + …) in Euclidean distance, a unit's events, whose
    absolute sizes add up to ``most`` at most (``Stream`` enforces it), by at most ``most`` times that:
    Concentrated(most² Σ g² / 2σ²), for the rounded weights, so that no rounding is left out. The bound holds along
    every path, so later events may depend on earlier answers (Denisov, McMahan, Rush, Smith, Thakurta 2022). Steps are
    cut where sums would not fit 64 bits, which brings no two of them further apart.

    A step takes time and memory in proportion to the steps before it.
    """

    steps: int
    noise: DiscreteGaussian
    """In units of 2**-20 events."""

    def __post_init__(self) -> None:
        if whole(self.steps, "The number of steps") > MOST_STEPS:
            raise BadInput(
                f"{self.steps:,} steps are more than {MOST_STEPS:,}.", hint="Use the tree, or take longer steps."
            )

    @classmethod
    def for_loss(cls, loss: Concentrated, steps: int, most: int = 1) -> SquareRootCounter:
        """The counter that loses ``loss`` when a unit has ``most`` events in the whole stream at most."""
        counter = cls(steps, DiscreteGaussian(1))
        return cls(steps, DiscreteGaussian(counter.loss(most).rho / positive(loss.rho, "rho")))

    def loss(self, most: int = 1) -> Concentrated:
        """What the whole stream loses when the absolute sizes of a unit's events add up to ``most`` at most."""
        weights = _weights(self.steps)
        return Concentrated(int(weights @ weights) * self.noise.loss(whole(most, "most")).rho)

    def variance(self, step: int) -> float:
        """The variance of the count after a step, to one part in a thousand: the weights go in once more."""
        return self.noise.variance * float((self._shares(step) ** 2).sum())

    def error(self, beta: Number, step: int) -> float:
        """A bound on how far the count after a step is off that holds with probability 1 - beta."""
        return sum_error(self.noise, self._shares(step), beta)

    def start(self, entropy: Entropy = SYSTEM, *, most: int | None = None) -> Stream:
        """An empty stream, in which a unit has ``most`` events at most; ``None``: every event is someone else's."""
        return _SquareRootStream(self, entropy, most)

    def _shares(self, step: int) -> _Numbers:
        return _weights(self.steps)[: _within(step, self.steps)] / _FINE**2


class _TreeStream(Stream):
    def __init__(self, counter: TreeCounter, entropy: Entropy, most: int | None) -> None:
        super().__init__(counter.steps, most)
        self._noise = counter.noise
        self._entropy = entropy
        self._stretches: list[tuple[int, int, int]] = []  # level, true count, noisy count; one of a level at most

    def _next(self, x: int) -> int:
        level, total = 0, x
        while self._stretches and self._stretches[-1][0] == level:
            total += self._stretches.pop()[1]
            level += 1
        self._stretches.append((level, total, self._noise.add(total, self._entropy)))
        return sum(noisy for _, _, noisy in self._stretches)


class _SquareRootStream(Stream):
    def __init__(self, counter: SquareRootCounter, entropy: Entropy, most: int | None) -> None:
        super().__init__(counter.steps, most)
        self._noise = counter.noise
        self._entropy = entropy
        weights = _weights(counter.steps)
        self._latest_last = weights[::-1].copy()
        self._older = self._latest_last[:-1] / _FINE
        self._largest = _LARGEST // int(weights.sum())
        self._true = np.zeros(counter.steps, dtype=np.int64)
        self._told = np.zeros(counter.steps)
        self._count = 0.0

    def _next(self, x: int) -> float:
        """Each step's events are what its noisy sum has beyond the past's: the weights undone, on noisy sums alone."""
        t = self._step
        self._true[t - 1] = max(-self._largest, min(x, self._largest))
        noisy = self._noise.add(int(self._latest_last[-t:] @ self._true[:t]), self._entropy)
        past = float(self._older[len(self._older) - t + 1 :] @ self._told[: t - 1])
        self._told[t - 1] = float(Fraction(noisy, _FINE)) - past
        self._count += self._told[t - 1]
        return float(self._count)


@lru_cache(maxsize=8)
def _weights(steps: int) -> _Numbers:
    """2**20 times the coefficients of 1 / √(1 - x), rounded to whole numbers."""
    k = np.arange(1, steps)
    series = np.concatenate(([1.0], np.cumprod(1 - 1 / (2 * k))))
    weights: _Numbers = np.rint(series * _FINE).astype(np.int64)
    weights.flags.writeable = False
    return weights


def _size(events: object) -> int:
    if isinstance(events, bool) or not isinstance(events, int | np.integer):
        raise BadInput("A step of a stream must be a whole number of events.")
    return int(events)


def _within(step: int, steps: int) -> int:
    if whole(step, "step") > steps:
        raise BadInput(f"The stream has {steps:,} steps; there is no step {step:,}.")
    return step
