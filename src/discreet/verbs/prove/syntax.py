"""Syntax trees of programs, and their traversal.

A program takes private and public inputs, draws random values, and shows the world what it emits and returns. Every
node knows where it stands in the text, for errors; two nodes are equal if they say the same, wherever they stand.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal, TypeAlias

Value: TypeAlias = bool | int | Fraction | tuple["Value", ...]
"""A value of a program: a truth, an exact number, or a list."""

# -- types ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Scalar:
    """The type of one value: ``real``, ``int`` or ``bool``."""

    name: Literal["real", "int", "bool"]

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Range:
    """The type of the integers ``low`` … ``high``: ``{0,1}`` is ``Range(0, 1)``."""

    low: int
    high: int

    def __str__(self) -> str:
        return f"{self.low}..{self.high}"


@dataclass(frozen=True)
class ListOf:
    """A list, of any length or of ``length`` items."""

    item: Scalar | Range
    length: int | None = None

    def __str__(self) -> str:
        return f"list of {self.item}" if self.length is None else f"list of {self.length} {self.item}"


Type: TypeAlias = Scalar | Range | ListOf
REAL, INT, BOOL = Scalar("real"), Scalar("int"), Scalar("bool")


@dataclass(frozen=True)
class At:
    """A place in a text, from 1."""

    line: int
    column: int


_NOWHERE = At(0, 0)

# -- expressions ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Number:
    """An exact number."""

    value: Fraction
    at: At = field(default=_NOWHERE, compare=False)


@dataclass(frozen=True)
class Truth:
    """``true`` or ``false``."""

    value: bool
    at: At = field(default=_NOWHERE, compare=False)


@dataclass(frozen=True)
class Name:
    """A variable, an input, or a parameter such as ``eps``."""

    name: str
    at: At = field(default=_NOWHERE, compare=False)


@dataclass(frozen=True)
class Operation:
    """An operator on its arguments: ``if`` has a condition and two values; ``neg``, ``not`` and ``abs`` have one."""

    operator: str
    arguments: tuple[Expression, ...]
    at: At = field(default=_NOWHERE, compare=False)


@dataclass(frozen=True)
class Item:
    """An item of a list, counted from 0."""

    of: Name
    index: Expression
    at: At = field(default=_NOWHERE, compare=False)


@dataclass(frozen=True)
class Size:
    """The length of a list."""

    of: Name
    at: At = field(default=_NOWHERE, compare=False)


@dataclass(frozen=True)
class Listing:
    """A list literal: ``[]``, ``[x, y]``."""

    items: tuple[Expression, ...]
    at: At = field(default=_NOWHERE, compare=False)


@dataclass(frozen=True)
class Joined:
    """Concatenation of two lists: ``r ++ [t]``."""

    first: Expression
    second: Expression
    at: At = field(default=_NOWHERE, compare=False)


Expression: TypeAlias = Number | Truth | Name | Operation | Item | Size | Listing | Joined

# -- statements -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Assign:
    """``x := e``."""

    name: str
    value: Expression
    at: At = field(default=_NOWHERE, compare=False)


@dataclass(frozen=True)
class Sample:
    """``x := $ Laplace(b, m)``."""

    name: str
    distribution: str
    arguments: tuple[Expression, ...]
    at: At = field(default=_NOWHERE, compare=False)


@dataclass(frozen=True)
class Call:
    """``x := other(a, b)``: another program of the same file, used by its proved bound.

    ``x`` is what it returns or, if it returns nothing, the list of what it emits. Nothing of that is seen by itself.
    """

    name: str
    program: str
    arguments: tuple[Expression, ...]
    at: At = field(default=_NOWHERE, compare=False)


@dataclass(frozen=True)
class If:
    """A branch: one block or another."""

    condition: Expression
    then: tuple[Statement, ...]
    other: tuple[Statement, ...]
    at: At = field(default=_NOWHERE, compare=False)


@dataclass(frozen=True)
class While:
    """A loop while a condition holds."""

    condition: Expression
    body: tuple[Statement, ...]
    at: At = field(default=_NOWHERE, compare=False)


@dataclass(frozen=True)
class Emit:
    """Show a value to the world."""

    value: Expression
    at: At = field(default=_NOWHERE, compare=False)


@dataclass(frozen=True)
class Return:
    """Show the result and end. Only as the last statement of a program."""

    value: Expression
    at: At = field(default=_NOWHERE, compare=False)


Statement: TypeAlias = Assign | Sample | Call | If | While | Emit | Return

# -- programs ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Input:
    """An input of a program, private or public."""

    name: str
    type: Type
    private: bool
    at: At = field(default=_NOWHERE, compare=False)


ADJACENCIES = ("one", "all", "inc", "dec", "l1", "any")


@dataclass(frozen=True)
class Adjacent:
    """The neighbour relation. Public inputs and the lengths of lists are the same; the private differ:

    ``one``: one item of one list (or one value), by at most ``by``; ``all``: every item, by at most ``by``; ``inc``:
    every item of the second is larger, by at most ``by``; ``dec``: smaller; ``l1``: by at most ``by`` in all; ``any``:
    they may be anything.
    """

    kind: str
    by: Expression = Number(Fraction(1))


@dataclass(frozen=True)
class Program:
    """A program and what is claimed of it: (epsilon, delta)-differential privacy, for every value of its parameters.

    ``eps`` is a parameter above 0 that no one has to declare. ``assumes`` are conditions on public inputs.
    """

    name: str
    inputs: tuple[Input, ...]
    result: Type | None
    adjacent: Adjacent
    epsilon: Expression
    delta: Expression
    assumes: tuple[Expression, ...]
    body: tuple[Statement, ...]

    @property
    def private(self) -> tuple[Input, ...]:
        """The inputs that are to be protected."""
        return tuple(given for given in self.inputs if given.private)


# -- traversal --------------------------------------------------------------------------------------------------------


def statements(body: Iterable[Statement]) -> Iterator[Statement]:
    """Every statement of ``body``, and those inside them."""
    for statement in body:
        yield statement
        for inner in blocks(statement):
            yield from statements(inner)


def blocks(statement: Statement) -> tuple[tuple[Statement, ...], ...]:
    """The blocks of statements that a statement has."""
    match statement:
        case If(_, then, other):
            return then, other
        case While(_, body):
            return (body,)
    return ()


def expressions(statement: Statement) -> tuple[Expression, ...]:
    """The expressions of a statement itself, not of those inside it."""
    match statement:
        case Assign(_, value) | Emit(value) | Return(value):
            return (value,)
        case Sample(_, _, arguments) | Call(_, _, arguments):
            return arguments
        case If(condition) | While(condition):
            return (condition,)


def children(expression: Expression) -> tuple[Expression, ...]:
    """The direct subexpressions of an expression."""
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


def subexpressions(expression: Expression) -> Iterator[Expression]:
    """An expression and all its subexpressions. The list of an ``Item`` or ``Size`` is no part of its own."""
    yield expression
    for one in children(expression):
        yield from subexpressions(one)


def names_in(expression: Expression) -> Iterator[Name]:
    """Every name in an expression, those of lists included."""
    for one in subexpressions(expression):
        if isinstance(one, Name):
            yield one
        if isinstance(one, Item | Size):
            yield one.of


def drawn_distributions(program: Program, others: Mapping[str, Program]) -> set[str]:
    """Names of the distributions that a program, or one that it calls, draws from."""
    names: set[str] = set()
    for one in statements(program.body):
        if isinstance(one, Sample):
            names.add(one.distribution)
        if isinstance(one, Call) and one.program in others:
            names |= drawn_distributions(others[one.program], others)
    return names


def mentions_eps(program: Program, others: Mapping[str, Program], *, claim: bool = True) -> bool:
    """Whether ``eps`` matters to a program, to its claim unless that is excluded, or to the programs it calls."""
    parts = [program.adjacent.by, *program.assumes, *((program.epsilon, program.delta) if claim else ())]
    for statement in statements(program.body):
        parts += expressions(statement)
        called = others.get(statement.program) if isinstance(statement, Call) else None
        if called is not None and mentions_eps(called, others, claim=claim):
            return True
    return any(name.name == "eps" for expression in parts for name in names_in(expression))
