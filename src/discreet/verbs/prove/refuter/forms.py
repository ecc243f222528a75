"""What a value is in terms of the noise that was drawn: a rational number plus rational multiples of draws."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from discreet.verbs.prove.refuter.logarithms import Exact


@dataclass(frozen=True)
class Noise:
    """A draw around 0 of a continuous distribution, or of the discrete Laplace distribution."""

    distribution: str
    scale: Exact

    @property
    def whole(self) -> bool:
        """Whether it is an integer."""
        return self.distribution == "DLaplace"


@dataclass(frozen=True)
class Form:
    """``constant`` plus the sum of ``factor * draw`` over ``terms``, which are sorted and have no factor 0."""

    terms: tuple[tuple[int, Fraction], ...]
    constant: Fraction = Fraction(0)

    @property
    def draws(self) -> tuple[int, ...]:
        """Which draws it depends on."""
        return tuple(draw for draw, _ in self.terms)

    def factor(self, draw: int) -> Fraction:
        """How often a draw is in it."""
        return next((factor for found, factor in self.terms if found == draw), Fraction(0))

    def plus(self, other: Form) -> Form:
        """The sum."""
        total = dict(self.terms)
        for draw, factor in other.terms:
            total[draw] = total.get(draw, Fraction(0)) + factor
        return form(total, self.constant + other.constant)

    def times(self, factor: Fraction | int) -> Form:
        """A multiple."""
        if factor == 0:
            return Form(())
        return Form(tuple((draw, found * factor) for draw, found in self.terms), self.constant * factor)

    def minus(self, other: Form) -> Form:
        """The difference."""
        return self.plus(other.times(-1))

    def with_draw(self, draw: int, value: Form) -> Form:
        """The same with a draw replaced by what it equals."""
        factor = self.factor(draw)
        if factor == 0:
            return self
        rest = Form(tuple((found, times) for found, times in self.terms if found != draw), self.constant)
        return rest.plus(value.times(factor))


def form(terms: Mapping[int, Fraction], constant: Fraction | int = 0) -> Form:
    """A form in order, without what cancels."""
    return Form(tuple(sorted((draw, factor) for draw, factor in terms.items() if factor)), Fraction(constant))


@dataclass(frozen=True)
class Condition:
    """A form is at least 0, or (``strict``) above 0."""

    form: Form
    strict: bool = False
