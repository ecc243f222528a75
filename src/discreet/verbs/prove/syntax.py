"""Programs as trees.

A program takes private and public inputs, draws random values, and shows the world what it emits and returns. Every
node knows where it stands in the text, for errors; two nodes are equal if they say the same, wherever they stand.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal, TypeAlias

# -- types ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Scalar:
    """One value: ``real``, ``int`` or ``bool``."""

    name: Literal["real", "int", "bool"]

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Range:
    """One of the integers ``low`` … ``high``: ``{0,1}`` is ``Range(0, 1)``. Programs over these alone are finite."""

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
    """A number, exactly."""

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


OPERATORS = (
    "+",
    "-",
    "*",
    "/",
    "<",
    "<=",
    ">",
    ">=",
    "==",
    "!=",
    "and",
    "or",
    "not",
    "neg",
    "xor",
    "min",
    "max",
    "abs",
    "if",
)
"""What ``Operation`` may be: ``if`` has a condition and two values, ``neg``, ``not`` and ``abs`` one."""


@dataclass(frozen=True)
class Operation:
    """An operator on its arguments."""

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
    """How long a list is."""

    of: Name
    at: At = field(default=_NOWHERE, compare=False)


@dataclass(frozen=True)
class Listing:
    """A list written out: ``[]``, ``[x, y]``."""

    items: tuple[Expression, ...]
    at: At = field(default=_NOWHERE, compare=False)


@dataclass(frozen=True)
class Joined:
    """One list after another: ``r ++ [t]``."""

    first: Expression
    second: Expression
    at: At = field(default=_NOWHERE, compare=False)


Expression: TypeAlias = Number | Truth | Name | Operation | Item | Size | Listing | Joined

# -- statements -------------------------------------------------------------------------------------------------------

DISTRIBUTIONS = {
    "Laplace": 2,  # scale, centre: density exp(-|x - centre| / scale) / (2 scale)
    "DLaplace": 2,  # the same on integers
    "Exp": 1,  # scale: density exp(-x / scale) / scale for x >= 0
    "Gaussian": 2,  # standard deviation, centre
    "Bernoulli": 1,  # the probability of true
    "Uniform": 2,  # an integer from the first to the second
    "ExpMech": 2,  # a list of scores and their weight w: index i with probability in proportion to exp(w * score)
}
"""The distributions, and how many arguments each has."""


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
    """Two ways to go on."""

    condition: Expression
    then: tuple[Statement, ...]
    other: tuple[Statement, ...]
    at: At = field(default=_NOWHERE, compare=False)


@dataclass(frozen=True)
class While:
    """As long as a condition holds."""

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
    """What a program is given."""

    name: str
    type: Type
    private: bool
    at: At = field(default=_NOWHERE, compare=False)


ADJACENCIES = ("one", "all", "inc", "dec", "l1", "any")


@dataclass(frozen=True)
class Adjacent:
    """Which inputs are neighbours. Public ones and the lengths of lists are the same; the private differ:

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
