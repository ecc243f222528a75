"""Unparser: the text of expressions and programs, and a digest that identifies a program."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterable, Iterator
from fractions import Fraction

from discreet.verbs.prove import syntax

_STRENGTH = {
    **{"if": 0, "or": 1, "and": 2, "not": 3, "<": 4, "<=": 4, ">": 4, ">=": 4, "==": 4, "!=": 4},
    **{"++": 5, "+": 6, "-": 6, "*": 7, "/": 7, "neg": 8},
}
_ATOM = 9


def expression_text(expression: syntax.Expression) -> str:
    """The text of an expression; reading it gives an expression of the same meaning."""
    return _text_and_strength(expression)[0]


def digest(program: syntax.Program) -> str:
    """A digest of a program's meaning: equal for texts that differ only in layout and comments."""
    return hashlib.sha256(json.dumps(_as_json(program), sort_keys=True).encode()).hexdigest()


def _text_and_strength(expression: syntax.Expression) -> tuple[str, int]:
    """The text, and the precedence of its outermost operator."""
    match expression:
        case syntax.Number(value):
            return _number(value)
        case syntax.Truth(value):
            return ("true" if value else "false"), _ATOM
        case syntax.Name(name):
            return name, _ATOM
        case syntax.Item(of, index):
            return f"{of.name}[{expression_text(index)}]", _ATOM
        case syntax.Size(of):
            return f"size({of.name})", _ATOM
        case syntax.Listing(items):
            return f"[{', '.join(expression_text(item) for item in items)}]", _ATOM
        case syntax.Joined(first, second):
            return f"{_bracketed(first, 5)} ++ {_bracketed(second, 6)}", 5
        case syntax.Operation(operator, arguments):
            return _operation(operator, arguments)


def _number(value: Fraction) -> tuple[str, int]:
    if value < 0:
        return f"-{_number(-value)[0]}", _STRENGTH["neg"] if value.denominator == 1 else _STRENGTH["/"]
    return (str(value.numerator), _ATOM) if value.denominator == 1 else (str(value), _STRENGTH["/"])


def _operation(operator: str, arguments: tuple[syntax.Expression, ...]) -> tuple[str, int]:
    if operator in ("min", "max", "abs", "xor"):
        return f"{operator}({', '.join(expression_text(argument) for argument in arguments)})", _ATOM
    strength = _STRENGTH[operator]
    if operator == "if":
        condition, then, other = arguments
        return f"{_bracketed(then, 1)} if {_bracketed(condition, 1)} else {_bracketed(other, 0)}", strength
    if operator == "neg":
        return f"-{_bracketed(arguments[0], strength + 1)}", strength  # never two strokes side by side
    if operator == "not":
        return f"not {_bracketed(arguments[0], strength)}", strength
    left, right = arguments
    compares = strength == _STRENGTH["<"]
    return f"{_bracketed(left, strength + compares)} {operator} {_bracketed(right, strength + 1)}", strength


def _bracketed(expression: syntax.Expression, strength: int) -> str:
    text, own = _text_and_strength(expression)
    return text if own >= strength else f"({text})"


def _as_json(value: object) -> object:
    """A tree as JSON data, without its places in the text."""
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, tuple):
        return [_as_json(item) for item in value]
    if dataclasses.is_dataclass(value):
        values = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        kept = {name: _as_json(item) for name, item in values.items() if not isinstance(item, syntax.At)}
        return {"": type(value).__name__, **kept}
    return value


def program_text(program: syntax.Program) -> str:
    """A program as text; reading it gives a program of the same meaning."""
    return "".join(f"{line}\n" for line in (*head_lines(program), *(line for line, _ in body_lines(program.body))))


def head_lines(program: syntax.Program) -> tuple[str, ...]:
    """The lines above the body: neighbours, claim, inputs and assumptions."""
    inputs = ", ".join(f"{one.name} : {'private ' * one.private}{one.type}" for one in program.inputs)
    by = "" if program.adjacent.kind == "any" else f" by {expression_text(program.adjacent.by)}"
    return (
        f"adjacent {program.adjacent.kind}{by}",
        f"claim {claim_text(program)}",
        f"{program.name}({inputs})" + (f" : {program.result}" if program.result else ""),
        *(f"  assume {expression_text(one)}" for one in program.assumes),
    )


def claim_text(program: syntax.Program) -> str:
    """The claim: epsilon, and delta unless it is 0."""
    delta = "" if program.delta == syntax.Number(Fraction(0)) else f", {expression_text(program.delta)}"
    return expression_text(program.epsilon) + delta


def body_lines(body: Iterable[syntax.Statement], indent: str = "  ") -> Iterator[tuple[str, syntax.Statement | None]]:
    """The lines of statements, each with the statement that begins there (none at ``else`` and ``skip``)."""
    empty = True
    for statement in body:
        empty = False
        yield indent + statement_text(statement), statement
        if isinstance(statement, syntax.While):
            yield from body_lines(statement.body, indent + "  ")
        if isinstance(statement, syntax.If):
            yield from body_lines(statement.then, indent + "  ")
            if statement.other:
                yield f"{indent}else", None
                yield from body_lines(statement.other, indent + "  ")
    if empty:
        yield f"{indent}skip", None


def statement_text(statement: syntax.Statement) -> str:
    """The first line of a statement."""
    match statement:
        case syntax.Assign(name, value):
            return f"{name} := {expression_text(value)}"
        case syntax.Sample(name, distribution, arguments):
            return f"{name} := $ {distribution}({_arguments_text(arguments)})"
        case syntax.Call(name, program, arguments):
            return f"{name} := {program}({_arguments_text(arguments)})"
        case syntax.If(condition):
            return f"if {expression_text(condition)}"
        case syntax.While(condition):
            return f"while {expression_text(condition)}"
        case syntax.Emit(value):
            return f"emit {expression_text(value)}"
        case syntax.Return(value):
            return f"return {expression_text(value)}"


def _arguments_text(items: Iterable[syntax.Expression]) -> str:
    return ", ".join(expression_text(item) for item in items)
