"""Syntax trees of programs.

A program takes private and public inputs, draws random values, and shows the world what it emits and returns. Every
node knows where it stands in the text, for errors; two nodes are equal if they say the same, wherever they stand.
"""

from __future__ import annotations

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

    ``eps`` is a parameter above 0 that nobody has to declare. ``assumes`` are conditions on public inputs.
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
