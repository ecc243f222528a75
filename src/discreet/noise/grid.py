"""Laplace and Gaussian noise for figures that are not whole numbers: everything lies on a declared grid.

Floating-point noise betrays what it was added to: the sums that can come out of 0 + noise and of 1 + noise are
not the same numbers (Mironov 2012). Here a figure is put on the grid first, and the noise is a whole
number of grid steps, so that every multiple of the grid can come out of every figure.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import ceil, floor
from typing import TypeAlias

from discreet.core.exact import Number
from discreet.core.loss import Concentrated, Pure
from discreet.errors import BadInput
from discreet.noise.additive import Additive
from discreet.noise.entropy import SYSTEM, Entropy
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.laplace import DiscreteLaplace
from discreet.noise.parameters import positive

Figure: TypeAlias = int | Fraction | Decimal | float


class OnGrid(ABC):
    """One figure, on a grid, with noise of whole grid steps."""

    grid: Fraction
    """Answers are whole multiples of this. It is declared, never read off the data."""

    @property
    @abstractmethod
    def noise(self) -> Additive:
        """The noise, in grid steps."""

    def add(self, figure: Figure, entropy: Entropy = SYSTEM) -> Fraction:
        """The figure with noise: a multiple of the grid."""
        return self.noise.add(nearest_step(figure, self.grid), entropy) * self.grid

    def error(self, beta: Number) -> Fraction:
        """A bound on |answer - figure|, rounding included, that holds with probability 1 - beta."""
        return (self.noise.error(beta) + Fraction(1, 2)) * self.grid

    @property
    def variance(self) -> float:
        """The variance of the noise; the rounding is not in it."""
        return self.noise.variance * float(self.grid) ** 2


@dataclass(frozen=True, init=False)
class GridLaplace(OnGrid):
    """Discrete Laplace noise of ``scale``, in the figure's own unit.

    Why this is private: two figures at most Δ apart are at most ⌈Δ / grid⌉ steps apart once they are on the
    grid, because ⌊a⌋ and ⌊b⌋ differ by at most ⌈|a - b|⌉. The rest is the discrete Laplace mechanism on whole
    numbers: Pure(⌈Δ / grid⌉ · grid / scale).
    """

    scale: Fraction
    grid: Fraction

    def __init__(self, scale: Number, grid: Number) -> None:
        object.__setattr__(self, "scale", positive(scale, "scale"))
        object.__setattr__(self, "grid", positive(grid, "grid"))

    @classmethod
    def for_loss(cls, loss: Pure, sensitivity: Number, grid: Number) -> GridLaplace:
        """The least noise that loses ``loss`` and no more."""
        step = positive(grid, "grid")
        return cls(DiscreteLaplace.for_loss(loss, steps_apart(sensitivity, step)).scale * step, step)

    def loss(self, sensitivity: Number) -> Pure:
        """What is lost when one unit changes the figure by at most ``sensitivity``."""
        return self.noise.loss(steps_apart(sensitivity, self.grid))

    @property
    def noise(self) -> DiscreteLaplace:
        """The noise, in grid steps."""
        return DiscreteLaplace(self.scale / self.grid)


@dataclass(frozen=True, init=False)
class GridGaussian(OnGrid):
    """Discrete Gaussian noise of variance ``sigma_squared``, in the figure's own unit.

    Why this is private: as for ``GridLaplace`` the figures are at most ⌈Δ / grid⌉ steps apart on the grid, and
    the rest is the discrete Gaussian mechanism on whole numbers: Concentrated((⌈Δ / grid⌉ · grid)² / 2σ²).
    """

    sigma_squared: Fraction
    grid: Fraction

    def __init__(self, sigma_squared: Number, grid: Number) -> None:
        object.__setattr__(self, "sigma_squared", positive(sigma_squared, "sigma squared"))
        object.__setattr__(self, "grid", positive(grid, "grid"))

    @classmethod
    def for_loss(cls, loss: Concentrated, sensitivity: Number, grid: Number) -> GridGaussian:
        """The least noise that loses ``loss`` and no more."""
        step = positive(grid, "grid")
        return cls(DiscreteGaussian.for_loss(loss, steps_apart(sensitivity, step)).sigma_squared * step**2, step)

    def loss(self, sensitivity: Number) -> Concentrated:
        """What is lost when one unit changes the figure by at most ``sensitivity``."""
        return self.noise.loss(steps_apart(sensitivity, self.grid))

    @property
    def noise(self) -> DiscreteGaussian:
        """The noise, in grid steps."""
        return DiscreteGaussian(self.sigma_squared / self.grid**2)


def nearest_step(figure: Figure, grid: Fraction, origin: Fraction = Fraction(0)) -> int:
    """How many steps of the grid ``figure`` is above ``origin``, to the nearest; halves go up."""
    try:
        value = Fraction(figure)
    except (ValueError, OverflowError):
        raise BadInput(
            "A figure that is not finite has no place on a grid.", hint="Settle NULL, NaN and infinity first."
        ) from None
    return floor((value - origin) / grid + Fraction(1, 2))


def steps_apart(sensitivity: Number, grid: Fraction) -> int:
    """How many steps apart two figures may be that were ``sensitivity`` apart before they were put on the grid."""
    return ceil(positive(sensitivity, "sensitivity") / grid)
