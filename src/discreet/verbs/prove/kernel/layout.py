"""Numbering and kinds of a program's parts: draws, loops, visible branches and outputs.

A branch is *visible* if what is inside it could be noticed by the order of draws or by the outputs: a draw, a call,
an output, a loop, or a change of a list. Both runs must go the same way there. Other branches each run takes as it
likes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from discreet.verbs.prove import syntax
from discreet.verbs.prove.kernel.distribution_rules import rule_of
from discreet.verbs.prove.kernel.solver import Kind, Unsupported
from discreet.verbs.prove.syntax import statements, subexpressions


@dataclass(frozen=True)
class NumberedStep:
    """A statement with its number among statements of its kind (from 1), and its blocks."""

    statement: syntax.Statement
    number: int = 0
    then: tuple[NumberedStep, ...] = ()
    other: tuple[NumberedStep, ...] = ()


@dataclass(frozen=True)
class ProgramLayout:
    """A program with its numbered draws, loops, branches and outputs, each with the loops around it."""

    program: syntax.Program
    steps: tuple[NumberedStep, ...]
    kinds: Mapping[str, Kind]
    assigned: frozenset[str]
    sites: tuple[tuple[NumberedStep, tuple[int, ...]], ...]
    loops: tuple[NumberedStep, ...]
    branches: tuple[tuple[NumberedStep, tuple[int, ...]], ...]
    outputs: tuple[tuple[NumberedStep, tuple[int, ...]], ...]

    def constant(self, expression: syntax.Expression) -> bool:
        """Whether an expression has one public value for the whole run."""
        for name in read_variables(expression):
            given = next((given for given in self.program.inputs if given.name == name), None)
            if name != "eps" and (given is None or name in self.assigned or isinstance(given.type, syntax.ListOf)):
                return False
            if given is not None and given.private:
                return False
        return not any(
            isinstance(part, syntax.Item | syntax.Listing | syntax.Joined) for part in subexpressions(expression)
        )

    def levels(self) -> tuple[tuple[NumberedStep, tuple[int, ...]], ...]:
        """Each loop, with the loops around it and itself."""
        return tuple((loop, _enclosing_loops(self.steps, loop.number) or ()) for loop in self.loops)

    def shown(self, step: NumberedStep) -> Kind:
        """The kind of the value that an emit or return shows."""
        statement = step.statement
        assert isinstance(statement, syntax.Emit | syntax.Return)  # noqa: S101
        return kind_of(statement.value, self.kinds)


def read_variables(expression: syntax.Expression) -> set[str]:
    """The variables an expression reads; a list of which only the size is read is not among them."""
    variables = {part.name for part in subexpressions(expression) if isinstance(part, syntax.Name)}
    return variables | {part.of.name for part in subexpressions(expression) if isinstance(part, syntax.Item)}


def assigned_variables(body: Iterable[syntax.Statement]) -> set[str]:
    """The variables that statements change."""
    return {
        statement.name
        for statement in statements(body)
        if isinstance(statement, syntax.Assign | syntax.Sample | syntax.Call)
    }


def number_program(program: syntax.Program, others: Mapping[str, syntax.Program]) -> ProgramLayout:
    """Number the parts of a program and find their kinds; ``Unsupported`` if that fails."""
    kinds = _kinds(program, others)
    if any("'" in name for name in kinds):
        raise Unsupported("a name with a prime (')")
    if any(isinstance(part, syntax.Return) for part in program.body[:-1]):
        raise Unsupported("a return before the end")
    numbering = _Numbering(kinds)
    steps = numbering.block(program.body, (), top=True)
    return ProgramLayout(
        program,
        steps,
        kinds,
        frozenset(assigned_variables(program.body)),
        tuple(numbering.sites),
        tuple(numbering.loops),
        tuple(numbering.branches),
        tuple(numbering.outputs),
    )


def _enclosing_loops(steps: tuple[NumberedStep, ...], loop: int) -> tuple[int, ...] | None:
    for step in steps:
        inside = isinstance(step.statement, syntax.While)
        if inside and step.number == loop:
            return (loop,)
        for block in (step.then, step.other):
            path = _enclosing_loops(block, loop)
            if path is not None:
                return (step.number, *path) if inside else path
    return None


class _Numbering:
    def __init__(self, kinds: Mapping[str, Kind]) -> None:
        self._kinds = kinds
        self.sites: list[tuple[NumberedStep, tuple[int, ...]]] = []
        self.loops: list[NumberedStep] = []
        self.branches: list[tuple[NumberedStep, tuple[int, ...]]] = []
        self.outputs: list[tuple[NumberedStep, tuple[int, ...]]] = []

    def block(
        self, statements: tuple[syntax.Statement, ...], level: tuple[int, ...], *, top: bool = False
    ) -> tuple[NumberedStep, ...]:
        return tuple(self.step(statement, level, top) for statement in statements)

    def step(self, statement: syntax.Statement, level: tuple[int, ...], top: bool) -> NumberedStep:
        match statement:
            case syntax.Sample() | syntax.Call():
                self.sites.append((NumberedStep(statement, len(self.sites) + 1), level))
                return self.sites[-1][0]
            case syntax.Emit() | syntax.Return():
                if isinstance(statement, syntax.Return) and not top:
                    raise Unsupported("a return before the end")
                self.outputs.append((NumberedStep(statement, len(self.outputs) + 1), level))
                return self.outputs[-1][0]
            case syntax.While(_, body):
                place = len(self.loops)
                self.loops.append(NumberedStep(statement))
                numbered = NumberedStep(statement, place + 1, self.block(body, (*level, place + 1)))
                self.loops[place] = numbered
                return numbered
            case syntax.If(_, then, other) if self._visible((*then, *other)):
                place = len(self.branches)
                self.branches.append((NumberedStep(statement), level))
                numbered = NumberedStep(statement, place + 1, self.block(then, level), self.block(other, level))
                self.branches[place] = (numbered, level)
                return numbered
            case syntax.If(_, then, other):
                return NumberedStep(statement, 0, self.block(then, level), self.block(other, level))
            case _:
                return NumberedStep(statement)

    def _visible(self, statements: Iterable[syntax.Statement]) -> bool:
        return any(
            self._visible((*statement.then, *statement.other))
            if isinstance(statement, syntax.If)
            else not isinstance(statement, syntax.Assign) or self._kinds[statement.name] == "list"
            for statement in statements
        )


# -- types ------------------------------------------------------------------------------------------------------------


def kind_of(expression: syntax.Expression, kinds: Mapping[str, Kind]) -> Kind:
    """The kind of an expression's value."""
    kind = _kind(expression, kinds)
    if kind is None:
        raise Unsupported(f"a value that is never set: {', '.join(sorted(read_variables(expression)))}")
    return kind


def _kind(expression: syntax.Expression, kinds: Mapping[str, Kind]) -> Kind | None:
    match expression:
        case syntax.Number(value):
            return "int" if value.denominator == 1 else "real"
        case syntax.Truth():
            return "bool"
        case syntax.Name("eps"):
            return "real"
        case syntax.Name(name):
            return kinds.get(name)
        case syntax.Item(of):
            return kinds.get(f"{of.name}[]")
        case syntax.Size():
            return "int"
        case syntax.Listing() | syntax.Joined():
            return "list"
        case syntax.Operation("<" | "<=" | ">" | ">=" | "==" | "!=" | "and" | "or" | "not"):
            return "bool"
        case syntax.Operation("/"):
            return "real"
        case syntax.Operation("if", (_, then, other)):
            return _common_kind(_kind(then, kinds), _kind(other, kinds))
        case syntax.Operation(_, arguments):
            kind: Kind | None = None
            for argument in arguments:
                kind = _common_kind(kind, _kind(argument, kinds))
            return kind


def _common_kind(first: Kind | None, second: Kind | None) -> Kind | None:
    if first is None or second is None or first == second:
        return first or second
    if {first, second} == {"int", "real"}:
        return "real"
    raise Unsupported(f"a value that is {first} in one place and {second} in another")


def _kinds(program: syntax.Program, others: Mapping[str, syntax.Program]) -> dict[str, Kind]:
    kinds: dict[str, Kind] = {}
    for given in program.inputs:
        kinds[given.name] = _declared_kind(given.type)
        if isinstance(given.type, syntax.ListOf):
            kinds[f"{given.name}[]"] = _declared_kind(given.type.item)
    before: dict[str, Kind] = {}
    while before != kinds:
        before = dict(kinds)
        _propagate(program.body, kinds, others)
    return kinds


def _declared_kind(type_: syntax.Type) -> Kind:
    match type_:
        case syntax.Scalar(name):
            return name
        case syntax.Range():
            return "int"
        case syntax.ListOf():
            return "list"


def _propagate(
    statements: Iterable[syntax.Statement], kinds: dict[str, Kind], others: Mapping[str, syntax.Program]
) -> None:
    for statement in statements:
        kind: Kind | None = None
        match statement:
            case syntax.Assign(name, value):
                kind = _kind(value, kinds)
            case syntax.Sample(name, distribution):
                kind = rule_of(distribution).result
            case syntax.Call(name, called):
                if called not in others:
                    raise Unsupported(f"a call of {called}, which is unknown")
                result = others[called].result
                kind = _declared_kind(result) if result is not None else None
                if kind is None:
                    raise Unsupported(f"a call of {called}, whose result has no type")
            case syntax.If(_, then, other):
                _propagate((*then, *other), kinds, others)
                continue
            case syntax.While(_, body):
                _propagate(body, kinds, others)
                continue
            case _:
                continue
        joined = _common_kind(kinds.get(name), kind)
        if joined is not None:
            kinds[name] = joined
