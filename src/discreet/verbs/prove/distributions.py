"""The distributions of the language, each declared once.

Parsers, type checker, interpreter, prover, refuter, explanations and the table of docs/language.md read these
declarations. The kernel does not: ``kernel/distribution_rules.py`` has a rule of its own for each, with the argument
why it is right, so a wrong declaration may cost a verdict but never makes a false PROVED.

A distribution whose draws are shifted has its scale as first parameter and its centre, if it has one, as second.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from math import cos, exp, floor, log, log1p, pi, sqrt
from typing import Any, Protocol, TypeAlias

from discreet.verbs.prove.syntax import BOOL, INT, REAL, At, Expression, ListOf, Number, Scalar, Type, Value

Arguments: TypeAlias = Sequence[Any]
"""Exact values of the parameters: each a ``Value``, or in the refuter a multiple of a logarithm."""
Uniform01: TypeAlias = Callable[[], float]
"""Gives numbers strictly between 0 and 1."""


class Pairing(Enum):
    """How a proof pairs a draw of the first run with that of the second."""

    SHIFT = "the noise of the second run is that of the first plus a shift"
    ROTATE = "the value is shifted within its range, wrapping around at the end"
    FLIP = "the coin, or its other side"
    SAME = "the same value"


class Arithmetic(Protocol):
    """Arithmetic on chances; ``exp`` is of a multiple of the unit that rates are measured in."""

    def of(self, number: Fraction | int) -> Any: ...
    def exp(self, units: Fraction) -> Any: ...


@dataclass(frozen=True)
class Parameter:
    """A parameter; one with a default may be left out at the end."""

    name: str
    type: Type
    default: int | None = None


@dataclass(frozen=True)
class Tail:
    """A part of a density in proportion to e^(direction * x / scale), from ``low`` to ``high`` (None: infinity)."""

    low: Fraction | None
    high: Fraction | None
    direction: int


@dataclass(frozen=True)
class Distribution:
    """A distribution: its signature and meaning, how it is drawn, and its exact chances."""

    name: str
    parameters: tuple[Parameter, ...]
    result: Scalar
    meaning: str
    """What a draw gives, as a row of the table in docs/language.md."""
    sample: Callable[[Arguments, Uniform01], Value]
    """A draw in floating point, for the refuter's statistical test; it protects no one."""
    example: Callable[[Arguments, Fraction], Value] | None = None
    """A possible value for an illustration, made of some number near 0."""
    exists: Callable[[Arguments], bool] = lambda arguments: bool(arguments[0] > 0)
    """Whether there is such a distribution with these parameters; without one, a program ends in a fault."""
    pairing: Pairing = Pairing.SHIFT
    scale_text: Callable[[Sequence[str]], str] = lambda texts: texts[0]
    """The parameter that decides what a draw costs, in words."""
    cost: str = ""
    """The cost of a draw in words, where it does not follow from a charge."""
    normal: bool = False
    """Whether it is a normal distribution, whose chances need the error function."""
    tails: tuple[Tail, ...] = ()
    """The density around 0, for shifted noise in closed form."""
    peak: Callable[[Arithmetic, Fraction], Any] | None = None
    """The factor of ``tails``: the density at 0, for a scale of one over the given rate."""
    values: Callable[[Arguments], Sequence[Value]] = lambda _: ()
    """All values that may be drawn, where these are finitely many."""
    chance: Callable[[Arguments, Value], Fraction] | None = None
    """The chance of one of ``values``."""
    exponents: Callable[[Arguments], tuple[Any, ...]] | None = None
    """For each of ``values`` the exponent x, if probabilities are proportional to e^x."""

    @property
    def signature(self) -> str:
        """The distribution with the names of its parameters: ``Laplace(b, m)``."""
        return f"{self.name}({', '.join(parameter.name for parameter in self.parameters)})"

    @property
    def continuous(self) -> bool:
        """Whether draws are real numbers, which hit any one value with probability 0."""
        return self.result == REAL

    @property
    def same_value(self) -> bool:
        """Whether the prover looks for pairings in which both runs draw the same value."""
        return self.normal or self.pairing is Pairing.SAME

    def complete(self, arguments: tuple[Expression, ...], at: At) -> tuple[Expression, ...] | None:
        """All arguments, with defaults for those left out; None if there are too many or too few."""
        left = self.parameters[len(arguments) :]
        complete = (*arguments, *(Number(Fraction(one.default), at) for one in left if one.default is not None))
        return complete if len(complete) == len(self.parameters) else None


def geometric_sample(scale: float, uniform: float) -> int:
    """An integer k from 0 on with probability in proportion to exp(-k / scale), of a uniform number."""
    return floor(log1p(-uniform) * -scale)


def _sample_index(arguments: Arguments, uniform: Uniform01) -> int:
    """An index by the weights e^exponent."""
    exponents = [float(score) * float(arguments[1]) for score in arguments[0]]
    weights = [exp(one - max(exponents)) for one in exponents]
    left = uniform() * sum(weights)
    for place, weight in enumerate(weights):
        left -= weight
        if left < 0:
            return place
    return len(weights) - 1


def _sides(arguments: Arguments) -> Sequence[bool]:
    return tuple(side for side, possible in ((True, arguments[0] != 0), (False, arguments[0] != 1)) if possible)


def _range(arguments: Arguments) -> range:
    return range(int(arguments[0]), int(arguments[1]) + 1)


_ZERO = Fraction(0)
_ALL = (
    Distribution(
        "Laplace",
        (Parameter("b", REAL), Parameter("m", REAL, 0)),
        REAL,
        "a real with density exp(−\\|x − m\\| / b) / 2b",
        sample=lambda of, uniform: Fraction(of[1]) + Fraction(float(of[0]) * (log(uniform()) - log(uniform()))),
        example=lambda of, noise: Fraction(of[1] + noise * of[0]),
        tails=(Tail(None, _ZERO, 1), Tail(_ZERO, None, -1)),
        peak=lambda arithmetic, rate: arithmetic.of(rate / 2),
    ),
    Distribution(
        "DLaplace",
        (Parameter("b", REAL), Parameter("m", INT, 0)),
        INT,
        "an integer with probability in proportion to exp(−\\|x − m\\| / b)",
        sample=lambda of, uniform: (
            int(of[1]) + geometric_sample(float(of[0]), uniform()) - geometric_sample(float(of[0]), uniform())
        ),
        example=lambda of, noise: int(of[1]) + round(noise * of[0]),
        tails=(Tail(None, Fraction(-1), 1), Tail(_ZERO, None, -1)),
        peak=lambda arithmetic, rate: (
            (arithmetic.of(1) - arithmetic.exp(-rate)) / (arithmetic.of(1) + arithmetic.exp(-rate))
        ),
    ),
    Distribution(
        "Exp",
        (Parameter("b", REAL),),
        REAL,
        "a real from 0 on with density exp(−x / b) / b",
        sample=lambda of, uniform: Fraction(-log(uniform()) * float(of[0])),
        example=lambda of, noise: Fraction(abs(noise) * of[0]),
        tails=(Tail(_ZERO, None, -1),),
        peak=lambda arithmetic, rate: arithmetic.of(rate),
    ),
    Distribution(
        "Gaussian",
        (Parameter("s", REAL), Parameter("m", REAL, 0)),
        REAL,
        "a normal real with deviation s and mean m",
        sample=lambda of, uniform: (
            Fraction(of[1]) + Fraction(float(of[0]) * sqrt(-2 * log(uniform())) * cos(2 * pi * uniform()))
        ),
        example=lambda of, noise: Fraction(of[1] + noise * of[0]),
        normal=True,
    ),
    Distribution(
        "Bernoulli",
        (Parameter("p", REAL),),
        BOOL,
        "`true` with probability p",
        sample=lambda of, uniform: uniform() < float(of[0]),
        example=lambda _, noise: noise > 0,
        exists=lambda of: bool(0 <= of[0] <= 1),
        pairing=Pairing.FLIP,
        scale_text=lambda _: "",
        values=_sides,
        chance=lambda of, side: Fraction(of[0]) if side is True else 1 - Fraction(of[0]),
    ),
    Distribution(
        "Uniform",
        (Parameter("a", INT), Parameter("b", INT)),
        INT,
        "an integer from a to b, all equally likely",
        sample=lambda of, uniform: int(of[0]) + floor(uniform() * len(_range(of))),
        example=lambda of, noise: _range(of)[abs(noise.numerator) % len(_range(of))],
        exists=lambda of: bool(of[0] <= of[1]),
        pairing=Pairing.ROTATE,
        scale_text=lambda _: "",
        cost="0",
        values=_range,
        chance=lambda of, _: Fraction(1, len(_range(of))),
    ),
    Distribution(
        "ExpMech",
        (Parameter("u", ListOf(REAL)), Parameter("w", REAL)),
        INT,
        "an index i of the list u with probability in proportion to exp(w · u[i])",
        sample=_sample_index,
        exists=lambda of: bool(of[0]),
        pairing=Pairing.SAME,
        scale_text=lambda texts: f"weight {texts[1]}",
        cost="by the scores' change",
        values=lambda of: range(len(of[0])),
        exponents=lambda of: tuple(score * of[1] for score in of[0]),
    ),
)
DISTRIBUTIONS = {one.name: one for one in _ALL}
"""The distributions by name, in the order of docs/language.md."""


def has_distribution(name: str, arguments: Sequence[Any]) -> bool:
    """Whether a distribution exists with these parameters."""
    return name in DISTRIBUTIONS and DISTRIBUTIONS[name].exists(arguments)
