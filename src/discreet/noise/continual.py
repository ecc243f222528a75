"""Counters of a stream: after every step the noisy total of all values so far, for one price fixed at the start.

Two counters, each of one number. ``BufferedCounter`` has Gaussian noise, accounts by concentrated loss, and remembers a
logarithmic number of figures. ``TreeCounter`` is for budgets kept as a pure ε. Both are functions from a state and a
value to the next state, so that anyone who keeps the state decides when it is durable.

What is told of a stream may be told of several at once: what a unit changes is added up over all counters.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist
from typing import Any, TypeAlias

import numpy as np

from discreet.core.exact import Number, positive, probability, round_up, sqrt_upper, whole
from discreet.core.loss import Concentrated, Pure
from discreet.errors import BadInput, NoPromise
from discreet.noise.deviation import sum_error
from discreet.noise.entropy import SYSTEM, Entropy
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.laplace import DiscreteLaplace

MOST_STEPS = 2**20
State: TypeAlias = tuple[int, ...]
"""Steps taken, the noisy total in units of the counter, and what the counter remembers besides: not to be shown."""
_PLACES = 48
_SCALE = 1 << _PLACES
_WIDE = 2**40
"""The square of a deviation of very many steps."""
_SPACING = 3
"""Binary logarithm of the ratio of the times after which neighbouring buffers have forgotten half."""
_BEYOND = 5
"""How far, as a binary logarithm, the slowest buffer's time lies beyond the last step."""
_LN8_BY_PI = Fraction(66_190_715_209, 10**11)
_POWER_BITS = 192
_Numbers = np.ndarray[Any, Any]


@dataclass(frozen=True)
class BufferedCounter:
    """A factorisation of prefix sums by a few fading buffers, close to the best Toeplitz matrix.

    The matrix that makes prefix sums is B C, where C has 1, c₁, c₂, … below its diagonal. With cₖ = C(2k, k) / 4ᵏ, the
    series of 1 / √(1 - x), B = C, and no Toeplitz factorisation has a smaller largest error (Bennett 1977;
    Fichtenberger, Henzinger, Upadhyay 2023; Dvijotham, McMahan, Pillutla, Steinke, Thakurta 2024). These cₖ are the
    moments ∫ λᵏ / (π √(λ (1 - λ))) dλ. Here the integral is replaced by the trapezoidal rule in ln(λ / (1 - λ)), so
    that cₖ = Σ wⱼ λⱼᵏ⁻¹ with about log₈ n + 3 terms: C x is then computed by as many buffers, each of which fades by
    λⱼ from step to step and takes up the new value ("buffered linear Toeplitz" noise, of the same authors). Undoing C
    on noisy figures takes as many buffers again. The largest error is within 0.3 % of that at all numbers
    of steps (``tests/noise/test_continual.py``).

    Why this is private: all is done on whole numbers, in units of 2**-48. At step t the figure

        qₜ = xₜ + ⌊Σ Wⱼ aⱼ / 2**48⌋,      then      aⱼ ← ⌊Λⱼ aⱼ / 2**48⌋ + xₜ

    of the true values gets discrete Gaussian noise, yₜ = qₜ + zₜ; whatever is told is computed from y₁, …, yₜ alone.
    W and Λ are whole numbers, so c is the series of rational wⱼ = Wⱼ / 2**48 and λⱼ = Λⱼ / 2**48, not of what they
    were meant to be. Let a unit change the values of all steps (and of all counters that run side by side) by ``most``
    in absolute sum. Without the rounding down its changes would move q by most · ‖c‖ at most in Euclidean distance:
    each change of 1 moves it by a piece of the series c, and distances of several add up to no more. The rounding moves
    the difference of two floors by less than 1: that of a buffer by less than 1 / (1 - λⱼ) in the course of time, and
    so that of q by less than e = 1 + Σ wⱼ / (1 - λⱼ) at each of n steps; and only in counters whose values the unit
    changes, at most ``most`` of them. In all q moves by at most Δ = most · ‖c‖ + √(n · most) · e units. Δ² is worked
    out in rational numbers, rounded up, and the loss is Concentrated(Δ² / 2σ²). The bound holds along every path, so
    later values may depend on what was told (Denisov, McMahan, Rush, Smith, Thakurta 2022).
    """

    steps: int
    noise: DiscreteGaussian
    """In units of 2**-48."""
    unit = Fraction(1, _SCALE)
    """What one unit of the total is worth."""

    def __post_init__(self) -> None:
        _require_steps(self.steps)

    @classmethod
    def for_loss(cls, loss: Concentrated, steps: int, most: int = 1) -> BufferedCounter:
        """The counter that loses ``loss`` when a unit changes the values of all steps by ``most`` in absolute sum."""
        _require_steps(steps)
        return cls(steps, DiscreteGaussian(_squared_change(steps, most) / (2 * positive(loss.rho, "rho"))))

    def loss(self, most: int = 1) -> Concentrated:
        """What the whole stream loses when a unit changes the values of all steps by ``most`` in absolute sum."""
        return Concentrated(_squared_change(self.steps, most) / (2 * self.noise.sigma_squared))

    @property
    def buffers(self) -> int:
        """How many buffers of true values, and as many of noisy ones, the state has."""
        return len(_fading(self.steps))

    def start(self) -> State:
        """The state before the first step."""
        return (0, 0, *[0] * (2 * self.buffers))

    def advance(self, state: State, value: int, entropy: Entropy = SYSTEM) -> State:
        """The state after one more step, with fresh noise."""
        fading = _fading(self.steps)
        step, total, *both = _checked(state, self.steps)
        true, noisy = both[: len(fading)], both[len(fading) :]
        value *= _SCALE
        measured = self.noise.add(value + _weighted(fading, true), entropy)
        undone = measured - _weighted(fading, noisy)
        return (step + 1, total + undone, *_faded(fading, true, value), *_faded(fading, noisy, undone))

    def variance(self, step: int, window: int | None = None) -> float:
        """The variance of the total after a step, or of the sum over the last ``window`` steps."""
        return self.noise.variance * float((self._shares(step, window) ** 2).sum())

    def error(self, beta: Number, step: int, window: int | None = None) -> float:
        """How far the total after a step, or over the last ``window`` steps, is off at most, with probability
        1 - beta.

        A sum of wide discrete Gaussians is Gaussian but for rounding to steps: a twenty-fifth of beta is room for that,
        and for rows that were rounded.
        """
        if self.noise.sigma_squared < _WIDE:
            return sum_error(self.noise, self._shares(step, window), beta)
        return -NormalDist().inv_cdf(0.48 * float(probability(beta, "beta"))) * math.sqrt(self.variance(step, window))

    def _shares(self, step: int, window: int | None) -> _Numbers:
        """The weights of all noises so far, the latest first."""
        b = _totals(self.steps)[: _within(step, self.steps)]
        if window is not None and whole(window, "window") < step:
            b = np.concatenate((b[:window], b[window:] - b[:-window]))
        return b / _SCALE


@dataclass(frozen=True)
class TreeCounter:
    """The binary tree: the noisy count of a prefix is a sum of noisy counts of stretches of 1, 2, 4, 8, … steps.

    Why this is private: after step t the stretch of the last 2**l steps is counted, 2**l being the largest power of
    two that divides t, and gets noise once. A value is in at most one such stretch of each length, so in at most
    L of them, L being the number of binary digits of ``steps``. A unit that changes the values of all steps by ``most``
    in absolute sum changes the counts of one length by most in all, hence all these counts by L · most in all:
    Pure(L · most / scale) with discrete Laplace noise (Dwork, Naor, Pitassi, Rothblum 2010; Chan, Shi, Song 2011).
    Whatever is told is made of them. The bounds hold along every path, so later values may depend on earlier answers
    (Jain, Raskhodnikova, Sivakumar, Smith 2023).
    """

    steps: int
    noise: DiscreteLaplace
    unit = Fraction(1)
    """What one unit of the total is worth."""

    def __post_init__(self) -> None:
        _require_steps(self.steps)

    @classmethod
    def for_loss(cls, loss: Pure, steps: int, most: int = 1) -> TreeCounter:
        """The counter that loses ``loss`` when a unit changes the values of all steps by ``most`` in absolute sum."""
        _require_steps(steps)
        return cls(steps, DiscreteLaplace.for_loss(loss, steps.bit_length() * whole(most, "most")))

    def loss(self, most: int = 1) -> Pure:
        """What the whole stream loses when a unit changes the values of all steps by ``most`` in absolute sum."""
        return self.noise.loss(self.steps.bit_length() * whole(most, "most"))

    def start(self) -> State:
        """The state before the first step."""
        return (0, 0)

    def advance(self, state: State, value: int, entropy: Entropy = SYSTEM) -> State:
        """The state after one more step: besides the total the true and the noisy count of each stretch, the longest
        first."""
        step, _, *counts = _checked(state, self.steps)
        for _ in range(_trailing_ones(step)):
            value += counts[-2]
            del counts[-2:]
        counts += [value, self.noise.add(value, entropy)]
        return (step + 1, sum(counts[1::2]), *counts)

    def variance(self, step: int, window: int | None = None) -> float:
        """The variance of the total after a step, or of the sum over the last ``window`` steps."""
        return self._noises(step, window) * self.noise.variance

    def error(self, beta: Number, step: int, window: int | None = None) -> float:
        """How far the total after a step, or over the last ``window`` steps, is off at most, with probability
        1 - beta."""
        return sum_error(self.noise, np.ones(self._noises(step, window)), beta)

    def _noises(self, step: int, window: int | None) -> int:
        """How many noises there are in a figure; those of stretches before a window cancel out."""
        stretches = _stretches(_within(step, self.steps))
        if window is not None and whole(window, "window") < step:
            stretches ^= _stretches(step - window)
        return len(stretches)


Counter: TypeAlias = BufferedCounter | TreeCounter


def counter_for(loss: Pure | Concentrated, steps: int, most: int) -> Counter:
    """The counter with the least error known that loses ``loss``."""
    if isinstance(loss, Pure):
        return TreeCounter.for_loss(loss, steps, most)
    return BufferedCounter.for_loss(loss, steps, most)


# -- buffers

_Fading: TypeAlias = tuple[tuple[int, int], ...]
"""Of each buffer the share it keeps from step to step (Λ) and its weight (W), in units."""


@lru_cache(maxsize=32)
def _fading(steps: int) -> _Fading:
    """The buffers of a number of steps: λ = 2**m / (1 + 2**m) for every third m, weighted by the trapezoidal rule.

    With u = ln(λ / (1 - λ)), the integral of λᵏ⁻¹ · λ √(λ (1 - λ)) / π over u; neighbouring u are ln 8 apart. Streams
    that have begun go on by these numbers, whatever discreet began them: they are part of the format of streams.
    """
    made = []
    for m in range((steps - 1).bit_length() + _BEYOND, -3, -_SPACING):
        share = Fraction(2**m) / (1 + Fraction(2**m))
        root = Fraction(math.isqrt(int(share * (1 - share) * 4**_PLACES)), _SCALE)
        made.append((int(share * _SCALE), int(_LN8_BY_PI * share * root * _SCALE)))
    return tuple(made)


def _weighted(fading: _Fading, held: Sequence[int]) -> int:
    return sum(weight * one for (_, weight), one in zip(fading, held, strict=True)) >> _PLACES


def _faded(fading: _Fading, held: Sequence[int], value: int) -> list[int]:
    return [(share * one >> _PLACES) + value for (share, _), one in zip(fading, held, strict=True)]


@lru_cache(maxsize=32)
def _squared_change(steps: int, most: int) -> Fraction:
    """Δ², in units squared and rounded up: see ``BufferedCounter``."""
    each = whole(most, "most")
    exact = [(Fraction(share, _SCALE), Fraction(weight, _SCALE)) for share, weight in _fading(steps)]
    norm = Fraction(1)  # of c, squared: Σₖ (Σⱼ wⱼ λⱼᵏ⁻¹)², as geometric series
    for share, weight in exact:
        for other, by in exact:
            ratio = share * other
            norm += weight * by * (1 - _power_lower(ratio, steps - 1)) / (1 - ratio)
    strayed = 1 + sum(weight / (1 - share) for share, weight in exact)
    change = each * sqrt_upper(round_up(norm, 256)) * _SCALE + sqrt_upper(Fraction(steps * each)) * strayed
    return round_up(change**2, 128)


def _power_lower(base: Fraction, exponent: int) -> Fraction:
    """``base ** exponent`` for a base between 0 and 1, rounded down."""
    power, square = 1 << _POWER_BITS, int(base * (1 << _POWER_BITS))
    while exponent:
        if exponent & 1:
            power = power * square >> _POWER_BITS
        square = square * square >> _POWER_BITS
        exponent >>= 1
    return Fraction(power, 1 << _POWER_BITS)


@lru_cache(maxsize=8)
def _totals(steps: int) -> _Numbers:
    """How much of each noise, the latest first, is in the total: the first column of B."""
    share, weight = (np.array(column, dtype=np.float64) / _SCALE for column in zip(*_fading(steps), strict=True))
    held, undone = np.zeros_like(share), np.empty(steps)
    for k in range(steps):
        undone[k] = (k == 0) - weight @ held
        held = share * held + undone[k]
    totals: _Numbers = np.cumsum(undone)
    totals.flags.writeable = False
    return totals


# -- steps


def _require_steps(steps: int) -> None:
    if whole(steps, "The number of steps") > MOST_STEPS:
        raise BadInput(f"{steps:,} steps are more than {MOST_STEPS:,}.", hint="Take longer steps.")


def _checked(state: State, steps: int) -> State:
    if state[0] >= steps:
        raise NoPromise(
            f"This stream was declared to have {steps:,} steps, and all are used.", hint="Start another, at its price."
        )
    return state


def _within(step: int, steps: int) -> int:
    if whole(step, "step") > steps:
        raise BadInput(f"The stream has {steps:,} steps; there is no step {step:,}.")
    return step


def _trailing_ones(number: int) -> int:
    return (~number & (number + 1)).bit_length() - 1


def _stretches(step: int) -> set[tuple[int, int]]:
    """First and last step of the stretches that the tree's total is made of."""
    found, last = set(), step
    while last:
        length = last & -last
        found.add((last - length, last))
        last -= length
    return found
