"""Trees back to text: expressions as they would be written, and a digest that says which program is meant."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from fractions import Fraction

from discreet.verbs.prove.syntax import (
    At,
    Expression,
    Item,
    Joined,
    Listing,
    Name,
    Number,
    Operation,
    Program,
    Size,
    Truth,
)

_STRENGTH = {
    **{"if": 0, "or": 1, "and": 2, "not": 3, "<": 4, "<=": 4, ">": 4, ">=": 4, "==": 4, "!=": 4},
    **{"++": 5, "+": 6, "-": 6, "*": 7, "/": 7, "neg": 8},
}
_ATOM = 9


def written(expression: Expression) -> str:
    """The text of an expression; reading it gives an expression of the same meaning."""
    return _written(expression)[0]


def digest(program: Program) -> str:
    """A fingerprint of what a program says: the same for two texts that differ in layout and comments only."""
    return hashlib.sha256(json.dumps(_plain(program), sort_keys=True).encode()).hexdigest()


def _written(expression: Expression) -> tuple[str, int]:
    """The text, and how strongly its parts hold together."""
    match expression:
        case Number(value):
            return _number(value)
        case Truth(value):
            return ("true" if value else "false"), _ATOM
        case Name(name):
            return name, _ATOM
        case Item(of, index):
            return f"{of.name}[{written(index)}]", _ATOM
        case Size(of):
            return f"size({of.name})", _ATOM
        case Listing(items):
            return f"[{', '.join(written(item) for item in items)}]", _ATOM
        case Joined(first, second):
            return f"{_held(first, 5)} ++ {_held(second, 6)}", 5
        case Operation(operator, arguments):
            return _operation(operator, arguments)


def _number(value: Fraction) -> tuple[str, int]:
    if value < 0:
        return f"-{_number(-value)[0]}", _STRENGTH["neg"] if value.denominator == 1 else _STRENGTH["/"]
    return (str(value.numerator), _ATOM) if value.denominator == 1 else (str(value), _STRENGTH["/"])


def _operation(operator: str, arguments: tuple[Expression, ...]) -> tuple[str, int]:
    if operator in ("min", "max", "abs", "xor"):
        return f"{operator}({', '.join(written(argument) for argument in arguments)})", _ATOM
    strength = _STRENGTH[operator]
    if operator == "if":
        condition, then, other = arguments
        return f"{_held(then, 1)} if {_held(condition, 1)} else {_held(other, 0)}", strength
    if operator == "neg":
        return f"-{_held(arguments[0], strength + 1)}", strength  # never two strokes side by side
    if operator == "not":
        return f"not {_held(arguments[0], strength)}", strength
    left, right = arguments
    compares = strength == _STRENGTH["<"]
    return f"{_held(left, strength + compares)} {operator} {_held(right, strength + 1)}", strength


def _held(expression: Expression, strength: int) -> str:
    text, own = _written(expression)
    return text if own >= strength else f"({text})"


def _plain(value: object) -> object:
    """A tree as JSON, without the places where it stands."""
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if dataclasses.is_dataclass(value):
        found = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        kept = {name: _plain(item) for name, item in found.items() if not isinstance(item, At)}
        return {"": type(value).__name__, **kept}
    return value
