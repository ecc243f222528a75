"""Linear forms: a rational number plus rational multiples of draws, and conditions on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from typing import TypeAlias

from discreet.verbs.prove.distributions import DISTRIBUTIONS, Distribution
from discreet.verbs.prove.refuter.errors import Intractable
from discreet.verbs.prove.refuter.logarithms import Exact

Line: TypeAlias = tuple[Fraction, Fraction]
"""``(slope, constant)`` of a linear function."""


@dataclass(frozen=True)
class NoiseDraw:
    """A draw of shifted noise around 0."""

    distribution: str
    scale: Exact

    @property
    def whole(self) -> bool:
        """Whether draws are integers."""
        return not self.declared.continuous

    @property
    def declared(self) -> Distribution:
        """The distribution's declaration."""
        return DISTRIBUTIONS[self.distribution]


@dataclass(frozen=True)
class LinearForm:
    """``constant`` plus the sum of ``factor * draw`` over ``terms``, which are sorted and have no factor 0."""

    terms: tuple[tuple[int, Fraction], ...]
    constant: Fraction = Fraction(0)

    @property
    def draws(self) -> tuple[int, ...]:
        """The draws with a factor in the form."""
        return tuple(draw for draw, _ in self.terms)

    def factor(self, draw: int) -> Fraction:
        """The factor of a draw."""
        return next((factor for found, factor in self.terms if found == draw), Fraction(0))

    def plus(self, other: LinearForm) -> LinearForm:
        """The sum."""
        total = dict(self.terms)
        for draw, factor in other.terms:
            total[draw] = total.get(draw, Fraction(0)) + factor
        return linear_form(total, self.constant + other.constant)

    def times(self, factor: Fraction | int) -> LinearForm:
        """A multiple."""
        if factor == 0:
            return LinearForm(())
        return LinearForm(tuple((draw, found * factor) for draw, found in self.terms), self.constant * factor)

    def minus(self, other: LinearForm) -> LinearForm:
        """The difference."""
        return self.plus(other.times(-1))

    def with_draw(self, draw: int, value: LinearForm) -> LinearForm:
        """The same with a draw replaced by what it equals."""
        factor = self.factor(draw)
        if factor == 0:
            return self
        rest = LinearForm(tuple((found, times) for found, times in self.terms if found != draw), self.constant)
        return rest.plus(value.times(factor))

    def with_draws(self, values: Mapping[int, LinearForm]) -> LinearForm:
        """The same with draws replaced by what they equal."""
        form = self
        for draw in self.draws:
            form = form.with_draw(draw, values[draw]) if draw in values else form
        return form


def linear_form(terms: Mapping[int, Fraction], constant: Fraction | int = 0) -> LinearForm:
    """A linear form of factors by draw, sorted, without zeros."""
    return LinearForm(tuple(sorted((draw, factor) for draw, factor in terms.items() if factor)), Fraction(constant))


@dataclass(frozen=True)
class Condition:
    """A form is at least 0, or (``strict``) above 0."""

    form: LinearForm
    strict: bool = False


def bound_of_draw(condition: Condition, draw: int, whole: bool) -> tuple[Line | None, Line | None]:
    """A condition as a lower or an upper bound of one draw, a line in the other (or a constant).

    For integers a strict bound is the next integer, and so is one between two integers.
    """
    factor = condition.form.factor(draw)
    rest = [(other, times) for other, times in condition.form.terms if other != draw]
    slope = -rest[0][1] / factor if rest else Fraction(0)
    constant = -condition.form.constant / factor
    if whole:
        if slope.denominator != 1:
            raise Intractable("Integer noise compared with a part of an integer.")
        if factor > 0:
            constant = Fraction(floor(constant) + 1 if condition.strict else ceil(constant))
        else:
            constant = Fraction(ceil(constant) - 1 if condition.strict else floor(constant))
    line = (slope, constant)
    return (line, None) if factor > 0 else (None, line)
