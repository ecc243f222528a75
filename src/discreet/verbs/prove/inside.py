"""Looking into programs: the parts of statements and of expressions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

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
    Operation,
    Return,
    Sample,
    Size,
    Statement,
    While,
)


def statements(body: Iterable[Statement]) -> Iterator[Statement]:
    """Every statement of ``body``, and those inside them."""
    for found in body:
        yield found
        for inner in blocks(found):
            yield from statements(inner)


def blocks(found: Statement) -> tuple[tuple[Statement, ...], ...]:
    """The blocks of statements that a statement has."""
    match found:
        case If(_, then, other):
            return then, other
        case While(_, body):
            return (body,)
    return ()


def expressions(found: Statement) -> tuple[Expression, ...]:
    """The expressions of a statement itself, not of those inside it."""
    match found:
        case Assign(_, value) | Emit(value) | Return(value):
            return (value,)
        case Sample(_, _, arguments) | Call(_, _, arguments):
            return arguments
        case If(condition) | While(condition):
            return (condition,)


def inside(expression: Expression) -> tuple[Expression, ...]:
    """The expressions that one is made of."""
    match expression:
        case Operation(_, arguments):
            return arguments
        case Item(_, index):
            return (index,)
        case Listing(items):
            return items
        case Joined(first, second):
            return first, second
    return ()


def parts(expression: Expression) -> Iterator[Expression]:
    """An expression and everything it is made of. The list of an ``Item`` or ``Size`` is no part of its own."""
    yield expression
    for one in inside(expression):
        yield from parts(one)


def names_in(expression: Expression) -> Iterator[Name]:
    """Every name in an expression, those of lists included."""
    for one in parts(expression):
        if isinstance(one, Name):
            yield one
        if isinstance(one, Item | Size):
            yield one.of
