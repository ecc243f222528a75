"""A program with its parts numbered and typed: draws, loops, visible branches, and what is shown.

A branch is *visible* if what is inside it could be noticed by the order of draws or by the outputs: a draw, a call,
an output, a loop, or a change of a list. Both runs must go the same way there. Other branches each run takes as it
likes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from discreet.verbs.prove.inside import parts, statements
from discreet.verbs.prove.syntax import (
    Assign,
    Call,
    Emit,
    Expression,
    If,
    Item,
    Joined,
    Listing,
    ListOf,
    Name,
    Number,
    Operation,
    Program,
    Range,
    Return,
    Sample,
    Scalar,
    Size,
    Statement,
    Truth,
    Type,
    While,
)

Kind: TypeAlias = Literal["int", "real", "bool", "list"]


class Unsupported(Exception):
    """The rules cannot reason about this program. The text says about what."""


@dataclass(frozen=True)
class Step:
    """A statement with its number among its own sort (from 1), and its blocks."""

    statement: Statement
    number: int = 0
    then: tuple[Step, ...] = ()
    other: tuple[Step, ...] = ()


@dataclass(frozen=True)
class Layout:
    """A program, numbered. ``levels[n]`` are the branches and outputs seen in one round of loop n (0: of no loop)."""

    program: Program
    steps: tuple[Step, ...]
    kinds: Mapping[str, Kind]
    assigned: frozenset[str]
    sites: tuple[tuple[Step, tuple[int, ...]], ...]
    loops: tuple[Step, ...]
    branches: tuple[tuple[Step, tuple[int, ...]], ...]
    outputs: tuple[tuple[Step, tuple[int, ...]], ...]

    def constant(self, expression: Expression) -> bool:
        """Whether an expression has one public value for the whole run."""
        for name in names(expression):
            given = next((given for given in self.program.inputs if given.name == name), None)
            if name != "eps" and (given is None or name in self.assigned or isinstance(given.type, ListOf)):
                return False
            if given is not None and given.private:
                return False
        return not any(isinstance(part, Item | Listing | Joined) for part in parts(expression))

    def levels(self) -> tuple[tuple[Step, tuple[int, ...]], ...]:
        """Each loop, with the loops around it and itself."""
        return tuple((loop, _path(self.steps, loop.number) or ()) for loop in self.loops)

    def shown(self, step: Step) -> Kind:
        """What sort of value an emit or return shows."""
        statement = step.statement
        assert isinstance(statement, Emit | Return)  # noqa: S101
        return kind_of(statement.value, self.kinds)


def names(expression: Expression) -> set[str]:
    """The variables an expression reads; a list of which only the size is read is not among them."""
    found = {part.name for part in parts(expression) if isinstance(part, Name)}
    return found | {part.of.name for part in parts(expression) if isinstance(part, Item)}


def assigned(body: Iterable[Statement]) -> set[str]:
    """The variables that statements change."""
    return {found.name for found in statements(body) if isinstance(found, Assign | Sample | Call)}


def lay_out(program: Program, others: Mapping[str, Program]) -> Layout:
    """The program numbered and typed, or ``Unsupported``."""
    kinds = _kinds(program, others)
    if any("'" in name for name in kinds):
        raise Unsupported("a name with a stroke (')")
    if any(isinstance(part, Return) for part in program.body[:-1]):
        raise Unsupported("a return before the end")
    numbering = _Numbering(kinds)
    steps = numbering.block(program.body, (), top=True)
    return Layout(
        program,
        steps,
        kinds,
        frozenset(assigned(program.body)),
        tuple(numbering.sites),
        tuple(numbering.loops),
        tuple(numbering.branches),
        tuple(numbering.outputs),
    )


def _path(steps: tuple[Step, ...], loop: int) -> tuple[int, ...] | None:
    for step in steps:
        inside = isinstance(step.statement, While)
        if inside and step.number == loop:
            return (loop,)
        for block in (step.then, step.other):
            found = _path(block, loop)
            if found is not None:
                return (step.number, *found) if inside else found
    return None


class _Numbering:
    def __init__(self, kinds: Mapping[str, Kind]) -> None:
        self._kinds = kinds
        self.sites: list[tuple[Step, tuple[int, ...]]] = []
        self.loops: list[Step] = []
        self.branches: list[tuple[Step, tuple[int, ...]]] = []
        self.outputs: list[tuple[Step, tuple[int, ...]]] = []

    def block(
        self, statements: tuple[Statement, ...], level: tuple[int, ...], *, top: bool = False
    ) -> tuple[Step, ...]:
        return tuple(self.step(statement, level, top) for statement in statements)

    def step(self, statement: Statement, level: tuple[int, ...], top: bool) -> Step:
        match statement:
            case Sample() | Call():
                self.sites.append((Step(statement, len(self.sites) + 1), level))
                return self.sites[-1][0]
            case Emit() | Return():
                if isinstance(statement, Return) and not top:
                    raise Unsupported("a return before the end")
                self.outputs.append((Step(statement, len(self.outputs) + 1), level))
                return self.outputs[-1][0]
            case While(_, body):
                place = len(self.loops)
                self.loops.append(Step(statement))
                made = Step(statement, place + 1, self.block(body, (*level, place + 1)))
                self.loops[place] = made
                return made
            case If(_, then, other) if self._visible((*then, *other)):
                place = len(self.branches)
                self.branches.append((Step(statement), level))
                made = Step(statement, place + 1, self.block(then, level), self.block(other, level))
                self.branches[place] = (made, level)
                return made
            case If(_, then, other):
                return Step(statement, 0, self.block(then, level), self.block(other, level))
            case _:
                return Step(statement)

    def _visible(self, statements: Iterable[Statement]) -> bool:
        return any(
            self._visible((*statement.then, *statement.other))
            if isinstance(statement, If)
            else not isinstance(statement, Assign) or self._kinds[statement.name] == "list"
            for statement in statements
        )


# -- types ------------------------------------------------------------------------------------------------------------


def kind_of(expression: Expression, kinds: Mapping[str, Kind]) -> Kind:
    """What sort of value an expression has."""
    found = _kind(expression, kinds)
    if found is None:
        raise Unsupported(f"a value that is never set: {', '.join(sorted(names(expression)))}")
    return found


def _kind(expression: Expression, kinds: Mapping[str, Kind]) -> Kind | None:
    match expression:
        case Number(value):
            return "int" if value.denominator == 1 else "real"
        case Truth():
            return "bool"
        case Name("eps"):
            return "real"
        case Name(name):
            return kinds.get(name)
        case Item(of):
            return kinds.get(f"{of.name}[]")
        case Size():
            return "int"
        case Listing() | Joined():
            return "list"
        case Operation("<" | "<=" | ">" | ">=" | "==" | "!=" | "and" | "or" | "not"):
            return "bool"
        case Operation("/"):
            return "real"
        case Operation("if", (_, then, other)):
            return _joined(_kind(then, kinds), _kind(other, kinds))
        case Operation(_, arguments):
            found: Kind | None = None
            for argument in arguments:
                found = _joined(found, _kind(argument, kinds))
            return found


def _joined(first: Kind | None, second: Kind | None) -> Kind | None:
    if first is None or second is None or first == second:
        return first or second
    if {first, second} == {"int", "real"}:
        return "real"
    raise Unsupported(f"a value that is {first} here and {second} there")


def _kinds(program: Program, others: Mapping[str, Program]) -> dict[str, Kind]:
    kinds: dict[str, Kind] = {}
    for given in program.inputs:
        kinds[given.name] = _declared(given.type)
        if isinstance(given.type, ListOf):
            kinds[f"{given.name}[]"] = _declared(given.type.item)
    before: dict[str, Kind] = {}
    while before != kinds:
        before = dict(kinds)
        _spread(program.body, kinds, others)
    return kinds


def _declared(type_: Type) -> Kind:
    match type_:
        case Scalar(name):
            return name
        case Range():
            return "int"
        case ListOf():
            return "list"


def _spread(statements: Iterable[Statement], kinds: dict[str, Kind], others: Mapping[str, Program]) -> None:
    for statement in statements:
        found: Kind | None = None
        match statement:
            case Assign(name, value):
                found = _kind(value, kinds)
            case Sample(name, distribution):
                found = {"Bernoulli": "bool", "Uniform": "int", "ExpMech": "int", "DLaplace": "int"}.get(  # type: ignore[assignment]
                    distribution, "real"
                )
            case Call(name, called):
                if called not in others:
                    raise Unsupported(f"a call of {called}, which is not given")
                result = others[called].result
                found = _declared(result) if result is not None else None
                if found is None:
                    raise Unsupported(f"a call of {called}, whose result has no type")
            case If(_, then, other):
                _spread((*then, *other), kinds, others)
                continue
            case While(_, body):
                _spread(body, kinds, others)
                continue
            case _:
                continue
        joined = _joined(kinds.get(name), found)
        if joined is not None:
            kinds[name] = joined
