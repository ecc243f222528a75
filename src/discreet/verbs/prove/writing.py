"""From a program's tree to its text, in one layout whatever it was read from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction

from discreet.verbs.prove.syntax import (
    Assign,
    Call,
    Emit,
    Expression,
    If,
    Number,
    Program,
    Return,
    Sample,
    Statement,
    While,
)
from discreet.verbs.prove.texts import written


def program_text(program: Program) -> str:
    """A program as text; reading it gives a program of the same meaning."""
    return "".join(f"{line}\n" for line in (*head_lines(program), *(line for line, _ in body_lines(program.body))))


def head_lines(program: Program) -> tuple[str, ...]:
    """What is declared and claimed, as the lines above the body."""
    inputs = ", ".join(f"{one.name} : {'private ' * one.private}{one.type}" for one in program.inputs)
    by = "" if program.adjacent.kind == "any" else f" by {written(program.adjacent.by)}"
    return (
        f"adjacent {program.adjacent.kind}{by}",
        f"claim {claim_text(program)}",
        f"{program.name}({inputs})" + (f" : {program.result}" if program.result else ""),
        *(f"  assume {written(one)}" for one in program.assumes),
    )


def claim_text(program: Program) -> str:
    """What is claimed: epsilon, and delta unless it is 0."""
    delta = "" if program.delta == Number(Fraction(0)) else f", {written(program.delta)}"
    return written(program.epsilon) + delta


def body_lines(body: Iterable[Statement], indent: str = "  ") -> Iterator[tuple[str, Statement | None]]:
    """The lines of statements, each with the statement that begins there (none at ``else`` and ``skip``)."""
    empty = True
    for found in body:
        empty = False
        yield indent + statement_text(found), found
        if isinstance(found, While):
            yield from body_lines(found.body, indent + "  ")
        if isinstance(found, If):
            yield from body_lines(found.then, indent + "  ")
            if found.other:
                yield f"{indent}else", None
                yield from body_lines(found.other, indent + "  ")
    if empty:
        yield f"{indent}skip", None


def statement_text(found: Statement) -> str:
    """The first line of a statement."""
    match found:
        case Assign(name, value):
            return f"{name} := {written(value)}"
        case Sample(name, distribution, arguments):
            return f"{name} := $ {distribution}({_listed(arguments)})"
        case Call(name, program, arguments):
            return f"{name} := {program}({_listed(arguments)})"
        case If(condition):
            return f"if {written(condition)}"
        case While(condition):
            return f"while {written(condition)}"
        case Emit(value):
            return f"emit {written(value)}"
        case Return(value):
            return f"return {written(value)}"


def _listed(items: Iterable[Expression]) -> str:
    return ", ".join(written(item) for item in items)
