"""Traversal of programs: the parts of statements and of expressions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from discreet.verbs.prove import syntax


def statements(body: Iterable[syntax.Statement]) -> Iterator[syntax.Statement]:
    """Every statement of ``body``, and those inside them."""
    for statement in body:
        yield statement
        for inner in blocks(statement):
            yield from statements(inner)


def blocks(statement: syntax.Statement) -> tuple[tuple[syntax.Statement, ...], ...]:
    """The blocks of statements that a statement has."""
    match statement:
        case syntax.If(_, then, other):
            return then, other
        case syntax.While(_, body):
            return (body,)
    return ()


def expressions(statement: syntax.Statement) -> tuple[syntax.Expression, ...]:
    """The expressions of a statement itself, not of those inside it."""
    match statement:
        case syntax.Assign(_, value) | syntax.Emit(value) | syntax.Return(value):
            return (value,)
        case syntax.Sample(_, _, arguments) | syntax.Call(_, _, arguments):
            return arguments
        case syntax.If(condition) | syntax.While(condition):
            return (condition,)


def children(expression: syntax.Expression) -> tuple[syntax.Expression, ...]:
    """The direct subexpressions of an expression."""
    match expression:
        case syntax.Operation(_, arguments):
            return arguments
        case syntax.Item(_, index):
            return (index,)
        case syntax.Listing(items):
            return items
        case syntax.Joined(first, second):
            return first, second
    return ()


def subexpressions(expression: syntax.Expression) -> Iterator[syntax.Expression]:
    """An expression and all its subexpressions. The list of an ``Item`` or ``Size`` is no part of its own."""
    yield expression
    for one in children(expression):
        yield from subexpressions(one)


def names_in(expression: syntax.Expression) -> Iterator[syntax.Name]:
    """Every name in an expression, those of lists included."""
    for one in subexpressions(expression):
        if isinstance(one, syntax.Name):
            yield one
        if isinstance(one, syntax.Item | syntax.Size):
            yield one.of


def drawn_distributions(program: syntax.Program, others: Mapping[str, syntax.Program]) -> set[str]:
    """Names of the distributions that a program, or one that it calls, draws from."""
    names: set[str] = set()
    for one in statements(program.body):
        if isinstance(one, syntax.Sample):
            names.add(one.distribution)
        if isinstance(one, syntax.Call) and one.program in others:
            names |= drawn_distributions(others[one.program], others)
    return names


def mentions_eps(program: syntax.Program, others: Mapping[str, syntax.Program], *, claim: bool = True) -> bool:
    """Whether ``eps`` matters to a program, to its claim unless that is excluded, or to the programs it calls."""
    parts = [program.adjacent.by, *program.assumes, *((program.epsilon, program.delta) if claim else ())]
    for statement in statements(program.body):
        parts += expressions(statement)
        called = others.get(statement.program) if isinstance(statement, syntax.Call) else None
        if called is not None and mentions_eps(called, others, claim=claim):
            return True
    return any(name.name == "eps" for expression in parts for name in names_in(expression))
