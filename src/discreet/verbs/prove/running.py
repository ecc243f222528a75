"""A program, run on exact numbers; whoever runs it says what is drawn.

Arithmetic is that of the rational numbers: a real value is a ``Fraction``, and nothing is rounded. ``and``, ``or`` and
``… if … else …`` look at what they need and no more. A division by zero, an index outside a list, and a distribution
with parameters that make no sense are faults: the program ends, and that it ended so is seen.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from discreet.errors import BadInput
from discreet.verbs.prove.syntax import (
    Assign,
    Call,
    Emit,
    Expression,
    If,
    Item,
    Joined,
    Listing,
    Name,
    Number,
    Operation,
    Program,
    Return,
    Sample,
    Size,
    Statement,
    Truth,
    While,
)

Value: TypeAlias = bool | int | Fraction | tuple["Value", ...]
Draw: TypeAlias = Callable[[Sample, tuple[Value, ...]], Value]
"""Gives a value for a sampling statement, whose arguments have these values."""

STEPS = 100_000
"""After so many statements a run is taken not to end."""


@dataclass(frozen=True, eq=False)
class Outputs:
    """What the world sees of a run. ``true`` is seen to be another thing than 1, which Python takes for the same."""

    emitted: tuple[Value, ...] = ()
    returned: Value | None = None
    fault: bool = False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Outputs) and self._seen() == other._seen()

    def __hash__(self) -> int:
        return hash(self._seen())

    def _seen(self) -> tuple[object, ...]:
        returned = () if self.returned is None else (_told(self.returned),)
        return _told(self.emitted), returned, self.fault


def _told(value: Value) -> object:
    """A value that equals those that look the same and no others."""
    if isinstance(value, tuple):
        return tuple(_told(item) for item in value)
    return ("truth", value) if isinstance(value, bool) else value


class _Fault(Exception):
    """The program cannot go on."""


def run(
    program: Program,
    inputs: Mapping[str, Value],
    parameters: Mapping[str, Value],
    draw: Draw,
    others: Mapping[str, Program] | None = None,
    *,
    steps: int = STEPS,
) -> Outputs:
    """What ``program`` shows, given ``inputs`` by name, ``parameters`` such as ``eps``, and what ``draw`` draws."""
    if missing := [given.name for given in program.inputs if given.name not in inputs]:
        raise BadInput(f"{program.name} needs {', '.join(missing)}.")
    return _Run(draw, others or {}, parameters, steps).program(program, inputs)


def value_of(expression: Expression, names: Mapping[str, Value]) -> Value:
    """What an expression is worth, given what its names are; a fault is a ``BadInput``."""
    try:
        return _value(expression, names)
    except _Fault as fault:
        raise BadInput(str(fault)) from None


def holds(program: Program, inputs: Mapping[str, Value], parameters: Mapping[str, Value]) -> bool:
    """Whether the conditions that ``program`` assumes of its public inputs are met."""
    return all(value_of(assumed, {**parameters, **inputs}) is True for assumed in program.assumes)


class _Run:
    def __init__(self, draw: Draw, others: Mapping[str, Program], parameters: Mapping[str, Value], steps: int) -> None:
        self._draw, self._others, self._parameters, self._left = draw, others, parameters, steps

    def program(self, program: Program, inputs: Mapping[str, Value]) -> Outputs:
        emitted: list[Value] = []
        try:
            returned = self._block(program.body, {**self._parameters, **inputs}, emitted)
        except _Fault:
            return Outputs(tuple(emitted), None, fault=True)
        return Outputs(tuple(emitted), returned)

    def _block(self, body: tuple[Statement, ...], names: dict[str, Value], emitted: list[Value]) -> Value | None:
        for statement in body:
            returned = self._statement(statement, names, emitted)
            if returned is not None:
                return returned
        return None

    def _statement(self, statement: Statement, names: dict[str, Value], emitted: list[Value]) -> Value | None:
        self._step()
        match statement:
            case Assign(name, value):
                names[name] = _value(value, names)
            case Sample(name, distribution, arguments):
                values = tuple(_value(argument, names) for argument in arguments)
                if not sensible(distribution, values):
                    raise _Fault(f"{distribution} has no such parameters.")
                names[name] = self._draw(statement, values)
            case Call(name, called, arguments):
                names[name] = self._call(called, tuple(_value(argument, names) for argument in arguments))
            case If(condition, then, other):
                return self._block(then if _value(condition, names) else other, names, emitted)
            case While(condition, body):
                while _value(condition, names):
                    self._step()
                    self._block(body, names, emitted)
            case Emit(value):
                emitted.append(_value(value, names))
            case Return(value):
                return _value(value, names)
        return None

    def _call(self, called: str, arguments: tuple[Value, ...]) -> Value:
        program = self._others[called]
        given = {one.name: value for one, value in zip(program.inputs, arguments, strict=True)}
        if not holds(program, given, self._parameters):
            raise _Fault(f"What {called} assumes does not hold.")
        found = self.program(program, given)
        if found.fault:
            raise _Fault(f"{called} ended in a fault.")
        return found.emitted if found.returned is None else found.returned

    def _step(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise BadInput("The run does not end.", hint="Does every loop get nearer to its end?")


def sensible(distribution: str, arguments: tuple[Value, ...]) -> bool:
    """Whether a distribution exists with these arguments."""
    match distribution, arguments:
        case (("Laplace" | "DLaplace" | "Exp" | "Gaussian"), (scale, *_)):
            return _number(scale) > 0
        case "Bernoulli", (chance,):
            return 0 <= _number(chance) <= 1
        case "Uniform", (low, high):
            return _number(low) <= _number(high)
        case "ExpMech", (scores, _):
            return bool(scores)
    return False


_ORDERED = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


def _value(expression: Expression, names: Mapping[str, Value]) -> Value:
    match expression:
        case Number(value):
            return value.numerator if value.denominator == 1 else value
        case Truth(value):
            return value
        case Name(name):
            return names[name]
        case Item(of, index):
            place, items = _value(index, names), _items(names[of.name])
            if not 0 <= _number(place) < len(items):
                raise _Fault(f"{of.name} has no item {place}.")
            return items[int(_number(place))]
        case Size(of):
            return len(_items(names[of.name]))
        case Listing(items):
            return tuple(_value(item, names) for item in items)
        case Joined(first, second):
            return (*_items(_value(first, names)), *_items(_value(second, names)))
        case Operation("and" | "or" | "if"):
            return _lazy(expression, names)
        case Operation(operator_, arguments):
            return _operation(operator_, [_value(argument, names) for argument in arguments])


def _lazy(expression: Operation, names: Mapping[str, Value]) -> Value:
    first, second, *third = expression.arguments
    true = bool(_value(first, names))
    if expression.operator == "and":
        return true and bool(_value(second, names))
    if expression.operator == "or":
        return true or bool(_value(second, names))
    return _value(second if true else third[0], names)


def _operation(operator_: str, values: list[Value]) -> Value:
    if operator_ in ("==", "!="):
        return (values[0] == values[1]) is (operator_ == "==")
    if operator_ == "not":
        return not values[0]
    if operator_ == "xor":
        return _exclusive(*values)
    left, right = _number(values[0]), _number(values[-1])
    if operator_ in _ORDERED:
        return bool(_ORDERED[operator_](left, right))
    match operator_:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case "/":
            if right == 0:
                raise _Fault("A division by zero.")
            return Fraction(left) / right
        case "min":
            return left if left <= right else right
        case "max":
            return left if left >= right else right
        case "abs":
            return left if left >= 0 else -left
        case "neg":
            return -left
    raise BadInput(f"{operator_} is no operator.")


def _exclusive(left: Value, right: Value) -> Value:
    if isinstance(left, bool) and isinstance(right, bool):
        return left is not right
    if isinstance(left, int) and isinstance(right, int) and min(left, right) >= 0:
        return left ^ right
    raise _Fault("The exclusive or is of two truths or of two integers that are not below 0.")


def _number(value: Value) -> int | Fraction:
    if isinstance(value, bool) or not isinstance(value, int | Fraction):
        raise BadInput(f"{value!r} is not a number.")
    return value


def _items(value: Value) -> tuple[Value, ...]:
    if not isinstance(value, tuple):
        raise BadInput(f"{value!r} is not a list.")
    return value
