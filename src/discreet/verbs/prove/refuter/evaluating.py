"""Expressions over exact numbers and forms: as in running.py, with what depends on draws kept symbolic."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import TypeAlias

from discreet.verbs.prove.refuter.forms import Form
from discreet.verbs.prove.refuter.logarithms import Exact, Logarithm
from discreet.verbs.prove.refuter.outside import Outside
from discreet.verbs.prove.syntax import Expression, Item, Joined, Listing, Name, Number, Operation, Size, Truth

Symbolic: TypeAlias = "bool | int | Fraction | Logarithm | Form | tuple[Symbolic, ...]"

_COMPARED = ("<", "<=", ">", ">=")


class Fault(Exception):
    """The program cannot go on, and that is seen."""


class Evaluator:
    """Values of expressions; ``compare`` decides how a form stands to 0."""

    def __init__(self, compare: Callable[[str, Form], bool]) -> None:
        self._compare = compare

    def value(self, expression: Expression, names: Mapping[str, Symbolic]) -> Symbolic:
        """What an expression is worth."""
        match expression:
            case Number(value):
                return value.numerator if value.denominator == 1 else value
            case Truth(truth):
                return truth
            case Name(name):
                if name not in names:
                    raise Outside(f"{name} has no value.")
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
        if isinstance(left, Form) or isinstance(right, Form):
            return _settled(_form(left).plus(_form(right)))
        return _number(left) + _number(right)

    def product(self, left: Symbolic, right: Symbolic) -> Symbolic:
        """Left times right; one of them must be known."""
        if isinstance(left, Form) and isinstance(right, Form):
            raise Outside("A product of draws.")
        if isinstance(left, Form) or isinstance(right, Form):
            known, drawn = (right, left) if isinstance(left, Form) else (left, right)
            return _settled(_form(drawn).times(_rational(known)))
        return _number(left) * _number(right)

    def _item(self, items: Symbolic, place: Symbolic) -> Symbolic:
        found = _items(items)
        index = _rational(place)
        if not 0 <= index < len(found):
            raise Fault
        return found[int(index)]

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
                return _exclusive(left, right)
            case _, [left, right]:
                return self._holds(operator, left, right)
        raise Outside(f"{operator} is no operator.")

    def _quotient(self, left: Symbolic, right: Symbolic) -> Symbolic:
        if isinstance(right, Form):
            raise Outside("A division by a draw.")
        if _number(right) == 0:
            raise Fault
        if isinstance(left, Form):
            return left.times(1 / Fraction(_rational(right)))
        above, below = _number(left), _number(right)
        if isinstance(above, Logarithm):
            return above / below
        return Fraction(above) / below

    def _holds(self, operator: str, left: Symbolic, right: Symbolic) -> bool:
        if isinstance(left, Form) or isinstance(right, Form):
            if isinstance(left, bool | tuple) or isinstance(right, bool | tuple):
                return operator == "!="
            difference = self.sum(left, self.product(right, -1))
            if isinstance(difference, Form):
                return self._compare(operator, difference)
            left, right = difference, 0
        if isinstance(left, tuple) and isinstance(right, tuple):
            raise Outside("Lists are not compared.")
        if operator in ("==", "!="):
            return (left == right) is (operator == "==")
        first, second = _number(left), _number(right)
        if operator not in _COMPARED:
            raise Outside(f"{operator} is no operator.")
        if operator in ("<", ">="):
            return (first < second) is (operator == "<")
        return (first > second) is (operator == ">")


def _settled(form: Form) -> Symbolic:
    return form if form.terms else form.constant


def _form(value: Symbolic) -> Form:
    return value if isinstance(value, Form) else Form((), Fraction(_rational(value)))


def _number(value: Symbolic) -> Exact:
    if isinstance(value, bool | tuple | Form):
        raise Outside("This is not a number.")
    return value


def _rational(value: Symbolic) -> int | Fraction:
    number = _number(value)
    if isinstance(number, Logarithm):
        raise Outside("A logarithm among draws.")
    return number


def _items(value: Symbolic) -> tuple[Symbolic, ...]:
    if not isinstance(value, tuple):
        raise Outside("This is not a list.")
    return value


def _exclusive(left: Symbolic, right: Symbolic) -> Symbolic:
    if isinstance(left, bool) and isinstance(right, bool):
        return left is not right
    if isinstance(left, Form) or isinstance(right, Form):
        raise Outside("The exclusive or of a draw.")
    first, second = Fraction(_rational(left)), Fraction(_rational(right))
    if first.denominator != 1 or second.denominator != 1 or min(first, second) < 0:
        raise Fault
    return int(first) ^ int(second)
