"""Symbolic values: linear forms in the draws, conditions on them, and expressions evaluated over them.

The semantics are those of interpreter.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from typing import TypeAlias

from discreet.verbs.prove.distributions import DISTRIBUTIONS, Distribution
from discreet.verbs.prove.refuter.arithmetic import Exact, Intractable, Logarithm
from discreet.verbs.prove.syntax import Expression, Item, Joined, Listing, Name, Number, Operation, Size, Truth

Line: TypeAlias = tuple[Fraction, Fraction]
"""``(slope, constant)`` of a linear function."""
Symbolic: TypeAlias = "bool | int | Fraction | Logarithm | LinearForm | tuple[Symbolic, ...]"
_COMPARISONS = ("<", "<=", ">", ">=")


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
            raise Intractable("Integer noise compared with a fraction of an integer.")
        if factor > 0:
            constant = Fraction(floor(constant) + 1 if condition.strict else ceil(constant))
        else:
            constant = Fraction(ceil(constant) - 1 if condition.strict else floor(constant))
    line = (slope, constant)
    return (line, None) if factor > 0 else (None, line)


class ProgramFault(Exception):
    """A fault, which ends the run and is observed."""


class Evaluator:
    """Values of expressions; ``compare`` decides how a form stands to 0."""

    def __init__(self, compare: Callable[[str, LinearForm], bool]) -> None:
        self._compare = compare

    def value(self, expression: Expression, names: Mapping[str, Symbolic]) -> Symbolic:
        """The value of an expression."""
        match expression:
            case Number(value):
                return value.numerator if value.denominator == 1 else value
            case Truth(truth):
                return truth
            case Name(name):
                if name not in names:
                    raise Intractable(f"{name} has no value.")
                return names[name]
            case Item(of, index):
                return self._item(names[of.name], self.value(index, names))
            case Size(of):
                return len(_items(names[of.name]))
            case Listing(items):
                return tuple(self.value(item, names) for item in items)
            case Joined(first, second):
                return (*_items(self.value(first, names)), *_items(self.value(second, names)))
            case Operation("and" | "or" | "if", arguments):
                return self._lazy(expression.operator, arguments, names)
            case Operation(operator, arguments):
                return self._operation(operator, [self.value(one, names) for one in arguments])

    def sum(self, left: Symbolic, right: Symbolic) -> Symbolic:
        """Left plus right."""
        if isinstance(left, LinearForm) or isinstance(right, LinearForm):
            return _constant_or_form(_form(left).plus(_form(right)))
        return _number(left) + _number(right)

    def product(self, left: Symbolic, right: Symbolic) -> Symbolic:
        """Left times right; one of them must be known."""
        if isinstance(left, LinearForm) and isinstance(right, LinearForm):
            raise Intractable("A product of draws.")
        if isinstance(left, LinearForm) or isinstance(right, LinearForm):
            known, drawn = (right, left) if isinstance(left, LinearForm) else (left, right)
            return _constant_or_form(_form(drawn).times(_rational(known)))
        return _number(left) * _number(right)

    def _item(self, items: Symbolic, place: Symbolic) -> Symbolic:
        listed = _items(items)
        index = _rational(place)
        if not 0 <= index < len(listed):
            raise ProgramFault
        return listed[int(index)]

    def _lazy(self, operator: str, arguments: tuple[Expression, ...], names: Mapping[str, Symbolic]) -> Symbolic:
        first = bool(self.value(arguments[0], names))
        if operator == "if":
            return self.value(arguments[1] if first else arguments[2], names)
        if first is (operator == "or"):
            return first
        return bool(self.value(arguments[1], names))

    def _operation(self, operator: str, values: list[Symbolic]) -> Symbolic:
        match operator, values:
            case "not", [value]:
                return not value
            case "neg", [value]:
                return self.product(value, -1)
            case "abs", [value]:
                return value if self._holds(">=", value, 0) else self.product(value, -1)
            case "+", [left, right]:
                return self.sum(left, right)
            case "-", [left, right]:
                return self.sum(left, self.product(right, -1))
            case "*", [left, right]:
                return self.product(left, right)
            case "/", [left, right]:
                return self._quotient(left, right)
            case "min", [left, right]:
                return left if self._holds("<=", left, right) else right
            case "max", [left, right]:
                return left if self._holds(">=", left, right) else right
            case "xor", [left, right]:
                return _xor(left, right)
            case _, [left, right]:
                return self._holds(operator, left, right)
        raise Intractable(f"{operator} is not an operator.")

    def _quotient(self, left: Symbolic, right: Symbolic) -> Symbolic:
        if isinstance(right, LinearForm):
            raise Intractable("A division by a draw.")
        if _number(right) == 0:
            raise ProgramFault
        if isinstance(left, LinearForm):
            return left.times(1 / Fraction(_rational(right)))
        above, below = _number(left), _number(right)
        if isinstance(above, Logarithm):
            return above / below
        return Fraction(above) / below

    def _holds(self, operator: str, left: Symbolic, right: Symbolic) -> bool:
        if isinstance(left, LinearForm) or isinstance(right, LinearForm):
            if isinstance(left, bool | tuple) or isinstance(right, bool | tuple):
                return operator == "!="
            difference = self.sum(left, self.product(right, -1))
            if isinstance(difference, LinearForm):
                return self._compare(operator, difference)
            left, right = difference, 0
        if isinstance(left, tuple) and isinstance(right, tuple):
            raise Intractable("Lists are not compared.")
        if operator in ("==", "!="):
            return (left == right) is (operator == "==")
        first, second = _number(left), _number(right)
        if operator not in _COMPARISONS:
            raise Intractable(f"{operator} is not an operator.")
        if operator in ("<", ">="):
            return (first < second) is (operator == "<")
        return (first > second) is (operator == ">")


def _constant_or_form(form: LinearForm) -> Symbolic:
    return form if form.terms else form.constant


def _form(value: Symbolic) -> LinearForm:
    return value if isinstance(value, LinearForm) else LinearForm((), Fraction(_rational(value)))


def _number(value: Symbolic) -> Exact:
    if isinstance(value, bool | tuple | LinearForm):
        raise Intractable("This is not a number.")
    return value


def _rational(value: Symbolic) -> int | Fraction:
    number = _number(value)
    if isinstance(number, Logarithm):
        raise Intractable("A logarithm among draws.")
    return number


def _items(value: Symbolic) -> tuple[Symbolic, ...]:
    if not isinstance(value, tuple):
        raise Intractable("This is not a list.")
    return value


def _xor(left: Symbolic, right: Symbolic) -> Symbolic:
    if isinstance(left, bool) and isinstance(right, bool):
        return left is not right
    if isinstance(left, LinearForm) or isinstance(right, LinearForm):
        raise Intractable("A draw as an operand of xor.")
    first, second = Fraction(_rational(left)), Fraction(_rational(right))
    if first.denominator != 1 or second.denominator != 1 or min(first, second) < 0:
        raise ProgramFault
    return int(first) ^ int(second)
