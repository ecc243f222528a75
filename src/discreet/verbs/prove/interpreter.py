"""Interpreter of programs on exact numbers; the caller supplies the draws.

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
from discreet.verbs.prove import syntax
from discreet.verbs.prove.distributions import has_distribution

Draw: TypeAlias = Callable[[syntax.Sample, tuple[syntax.Value, ...]], syntax.Value]
"""Gives a value for a sampling statement, whose arguments have these values."""
Exists: TypeAlias = Callable[[str, tuple[syntax.Value, ...]], bool]
"""Whether a distribution exists with these parameters."""

MAX_STATEMENTS = 100_000
"""Statements after which a run counts as endless."""


@dataclass(frozen=True, eq=False)
class Outputs:
    """The observable outputs of a run; ``true`` differs from 1, unlike in Python."""

    emitted: tuple[syntax.Value, ...] = ()
    returned: syntax.Value | None = None
    fault: bool = False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Outputs) and self._seen() == other._seen()

    def __hash__(self) -> int:
        return hash(self._seen())

    def _seen(self) -> tuple[object, ...]:
        returned = () if self.returned is None else (_distinct(self.returned),)
        return _distinct(self.emitted), returned, self.fault


def _distinct(value: syntax.Value) -> object:
    """A value in a form that is equal exactly for values that an observer cannot distinguish."""
    if isinstance(value, tuple):
        return tuple(_distinct(item) for item in value)
    return ("truth", value) if isinstance(value, bool) else value


class _Fault(Exception):
    """A fault, which ends the run."""


def run(
    program: syntax.Program,
    inputs: Mapping[str, syntax.Value],
    parameters: Mapping[str, syntax.Value],
    draw: Draw,
    others: Mapping[str, syntax.Program] | None = None,
    *,
    steps: int = MAX_STATEMENTS,
    exists: Exists = has_distribution,
) -> Outputs:
    """The outputs of ``program`` for ``inputs`` by name, ``parameters`` such as ``eps``, and the draws of ``draw``.

    ``exists`` says whether a distribution has such parameters; without one the run ends in a fault.
    """
    if missing := [given.name for given in program.inputs if given.name not in inputs]:
        raise BadInput(f"{program.name} needs {', '.join(missing)}.")
    return _Interpreter(draw, others or {}, parameters, steps, exists).program(program, inputs)


def value_of(expression: syntax.Expression, names: Mapping[str, syntax.Value]) -> syntax.Value:
    """The value of an expression, given the values of its names; a fault is a ``BadInput``."""
    try:
        return _value(expression, names)
    except _Fault as fault:
        raise BadInput(str(fault)) from None


def assumptions_hold(
    program: syntax.Program, inputs: Mapping[str, syntax.Value], parameters: Mapping[str, syntax.Value]
) -> bool:
    """Whether the conditions that ``program`` assumes of its public inputs are met."""
    return all(value_of(assumed, {**parameters, **inputs}) is True for assumed in program.assumes)


class _Interpreter:
    def __init__(
        self,
        draw: Draw,
        others: Mapping[str, syntax.Program],
        parameters: Mapping[str, syntax.Value],
        steps: int,
        exists: Exists,
    ) -> None:
        self._draw, self._others, self._parameters, self._left = draw, others, parameters, steps
        self._exists = exists

    def program(self, program: syntax.Program, inputs: Mapping[str, syntax.Value]) -> Outputs:
        emitted: list[syntax.Value] = []
        try:
            returned = self._block(program.body, {**self._parameters, **inputs}, emitted)
        except _Fault:
            return Outputs(tuple(emitted), None, fault=True)
        return Outputs(tuple(emitted), returned)

    def _block(
        self, body: tuple[syntax.Statement, ...], names: dict[str, syntax.Value], emitted: list[syntax.Value]
    ) -> syntax.Value | None:
        for statement in body:
            returned = self._statement(statement, names, emitted)
            if returned is not None:
                return returned
        return None

    def _statement(
        self, statement: syntax.Statement, names: dict[str, syntax.Value], emitted: list[syntax.Value]
    ) -> syntax.Value | None:
        self._step()
        match statement:
            case syntax.Assign(name, value):
                names[name] = _value(value, names)
            case syntax.Sample(name, distribution, arguments):
                values = tuple(_value(argument, names) for argument in arguments)
                if not self._exists(distribution, values):
                    raise _Fault(f"{distribution} has no such parameters.")
                names[name] = self._draw(statement, values)
            case syntax.Call(name, called, arguments):
                names[name] = self._call(called, tuple(_value(argument, names) for argument in arguments))
            case syntax.If(condition, then, other):
                return self._block(then if _value(condition, names) else other, names, emitted)
            case syntax.While(condition, body):
                while _value(condition, names):
                    self._step()
                    self._block(body, names, emitted)
            case syntax.Emit(value):
                emitted.append(_value(value, names))
            case syntax.Return(value):
                return _value(value, names)
        return None

    def _call(self, called: str, arguments: tuple[syntax.Value, ...]) -> syntax.Value:
        program = self._others[called]
        given = {one.name: value for one, value in zip(program.inputs, arguments, strict=True)}
        if not assumptions_hold(program, given, self._parameters):
            raise _Fault(f"An assumption of {called} does not hold.")
        outputs = self.program(program, given)
        if outputs.fault:
            raise _Fault(f"{called} ended in a fault.")
        return outputs.emitted if outputs.returned is None else outputs.returned

    def _step(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise BadInput("The run does not terminate.", hint="Check that every loop terminates.")


_ORDERED = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
_ARITHMETIC = {"+": operator.add, "-": operator.sub, "*": operator.mul}


def _value(expression: syntax.Expression, names: Mapping[str, syntax.Value]) -> syntax.Value:
    match expression:
        case syntax.Number(value):
            return value.numerator if value.denominator == 1 else value
        case syntax.Truth(value):
            return value
        case syntax.Name(name):
            return names[name]
        case syntax.Item(of, index):
            place, items = _value(index, names), _items(names[of.name])
            if not 0 <= _number(place) < len(items):
                raise _Fault(f"{of.name} has no item {place}.")
            return items[int(_number(place))]
        case syntax.Size(of):
            return len(_items(names[of.name]))
        case syntax.Listing(items):
            return tuple(_value(item, names) for item in items)
        case syntax.Joined(first, second):
            return (*_items(_value(first, names)), *_items(_value(second, names)))
        case syntax.Operation("and" | "or" | "if"):
            return _lazy(expression, names)
        case syntax.Operation(operator_, arguments):
            return _operation(operator_, [_value(argument, names) for argument in arguments])


def _lazy(expression: syntax.Operation, names: Mapping[str, syntax.Value]) -> syntax.Value:
    first, second, *third = expression.arguments
    true = bool(_value(first, names))
    if expression.operator == "and":
        return true and bool(_value(second, names))
    if expression.operator == "or":
        return true or bool(_value(second, names))
    return _value(second if true else third[0], names)


def _operation(operator_: str, values: list[syntax.Value]) -> syntax.Value:
    if operator_ in ("==", "!="):
        return (values[0] == values[1]) is (operator_ == "==")
    if operator_ == "not":
        return not values[0]
    if operator_ == "xor":
        return _xor(*values)
    left, right = _number(values[0]), _number(values[-1])
    if operator_ in _ORDERED:
        return bool(_ORDERED[operator_](left, right))
    if operator_ in _ARITHMETIC:
        result: int | Fraction = _ARITHMETIC[operator_](left, right)
        return result
    match operator_:
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
    raise BadInput(f"{operator_} is not an operator.")


def _xor(left: syntax.Value, right: syntax.Value) -> syntax.Value:
    if isinstance(left, bool) and isinstance(right, bool):
        return left is not right
    if isinstance(left, int) and isinstance(right, int) and min(left, right) >= 0:
        return left ^ right
    raise _Fault("xor takes two truth values, or two integers of at least 0.")


def _number(value: syntax.Value) -> int | Fraction:
    if isinstance(value, bool) or not isinstance(value, int | Fraction):
        raise BadInput(f"{value!r} is not a number.")
    return value


def _items(value: syntax.Value) -> tuple[syntax.Value, ...]:
    if not isinstance(value, tuple):
        raise BadInput(f"{value!r} is not a list.")
    return value
