"""Type checker: the type of every variable, and the programs that are refused before proof or run.

A variable has one type throughout: ``int`` where it only ever gets integers, ``real`` where it may get others,
``bool``, or a list of one of these. A program is refused that

- uses a name before every way there has given it a value, or a name no one declared;
- gives a value to an input or to ``eps``, or changes what a variable is;
- mixes truths and numbers, or lists and what is not one;
- returns anywhere but at its end, or emits values of several types;
- claims, or calls neighbours, or assumes, what depends on private values (the length of a private list is public).

So whatever reasons about programs later may rely on all of this.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from discreet.errors import BadInput, BadProgram
from discreet.verbs.prove import syntax
from discreet.verbs.prove.distributions import DISTRIBUTIONS
from discreet.verbs.prove.interpreter import value_of
from discreet.verbs.prove.syntax import blocks, expressions, names_in, statements, subexpressions

PARAMETERS = {"eps": syntax.REAL}
"""What every program may use without declaring it: ``eps`` is above 0."""


@dataclass(frozen=True)
class _Empty:
    """The type of ``[]``, which is any list."""

    def __str__(self) -> str:
        return "an empty list"


_EMPTY = _Empty()
_Found = syntax.Type | _Empty


def check_types(
    program: syntax.Program, others: Mapping[str, syntax.Program] | None = None, text: str = ""
) -> dict[str, syntax.Type]:
    """The type of every input and variable; ``BadProgram`` if anything is refused.

    ``others`` may be called; ``text`` is what the program was read from, for the error to show the line.
    """
    return _TypeChecker(program, others or {}, text).check()


def fits(given: syntax.Type | _Empty, wanted: syntax.Type) -> bool:
    """Whether a value of one type may stand where another is wanted."""
    one, other = _widened(given), _widened(wanted)
    if isinstance(one, _Empty):
        return isinstance(other, syntax.ListOf)
    if isinstance(one, syntax.ListOf) and isinstance(other, syntax.ListOf):
        return fits(one.item, other.item)
    return one == other or (one == syntax.INT and other == syntax.REAL)


class _TypeChecker:
    def __init__(self, program: syntax.Program, others: Mapping[str, syntax.Program], text: str) -> None:
        self._program, self._others = program, others
        self._lines = text.splitlines()
        self._types: dict[str, _Found] = {**PARAMETERS, **{one.name: _widened(one.type) for one in program.inputs}}
        self._fixed = frozenset(self._types)
        self._changed = False

    def check(self) -> dict[str, syntax.Type]:
        self._head()
        self._assigned(self._program.body, set(self._fixed))
        self._ends(self._program.body, last=True)
        self._changed = True
        while self._changed:  # types only widen, and each at most twice
            self._changed = False
            self._block(self._program.body)
        self._result()
        unknown = [name for name, kind_ in self._types.items() if isinstance(kind_, _Empty)]
        kind_ = {name: kind for name, kind in self._types.items() if not isinstance(kind, _Empty)}
        declared = {one.name: one.type for one in self._program.inputs}
        return {**kind_, **dict.fromkeys(unknown, syntax.ListOf(syntax.REAL)), **declared}

    # -- what is declared ---------------------------------------------------------------------------------------------

    def _head(self) -> None:
        program = self._program
        if not program.private:
            raise self._error("No input is private.", self._start(), "Write private before the type of one.")
        if "eps" in {one.name for one in program.inputs}:
            raise self._error("eps is a parameter already and cannot be an input.", self._start())
        for what, expression, wanted in (
            ("What neighbours differ by", program.adjacent.by, syntax.REAL),
            ("The claim", program.epsilon, syntax.REAL),
            ("The claimed delta", program.delta, syntax.REAL),
            *(("An assumption", assumed, syntax.BOOL) for assumed in program.assumes),
        ):
            self._public(what, expression)
            self._want(expression, wanted, what)
            self._worth(what, expression)
        if program.adjacent.kind != "any":
            for one in program.private:
                if (one.type.item if isinstance(one.type, syntax.ListOf) else one.type) == syntax.BOOL:
                    hint = "Use adjacent any, or a private {0,1}."
                    raise self._error(
                        f"{one.name} is a truth value, so neighbours cannot differ in it by a number.", one.at, hint
                    )

    def _worth(self, what: str, expression: syntax.Expression) -> None:
        """Refuse an expression without names that has no value, such as 1/0."""
        if not any(names_in(expression)):
            try:
                value_of(expression, {})
            except BadInput as reason:
                raise self._error(f"{what} has no value: {reason.message}", expression.at) from None

    def _public(self, what: str, expression: syntax.Expression) -> None:
        private = {one.name for one in self._program.private}
        for part in subexpressions(expression):
            if isinstance(part, syntax.Name) and part.name not in self._types:
                raise self._error(f"{what} mentions {part.name}, which is not an input.", part.at)
            if isinstance(part, syntax.Name) and part.name in private:
                hint = "It may use public inputs, eps and the size of a list."
                raise self._error(f"{what} depends on {part.name}, which is private.", part.at, hint)
            if isinstance(part, syntax.Item) and part.of.name in private:
                raise self._error(f"{what} depends on an item of {part.of.name}, which is private.", part.at)

    def _result(self) -> None:
        program, wanted = self._program, self._program.result
        self._emits()
        if wanted is None:
            return
        last = program.body[-1] if program.body else None
        if isinstance(last, syntax.Return):
            self._want(last.value, wanted, f"What {program.name} returns")
            return
        item = wanted.item if isinstance(wanted, syntax.ListOf) else wanted
        for statement in statements(program.body):
            if isinstance(statement, syntax.Emit):
                self._want(statement.value, item, f"What {program.name} emits")

    def _emits(self) -> None:
        """Refuse a program that emits values of several types."""
        common: _Found | None = None
        for statement in statements(self._program.body):
            if isinstance(statement, syntax.Emit):
                given = self._type(statement.value)
                together = given if common is None else _common_type(common, given)
                if together is None:
                    hint = "A program emits values of one type."
                    raise self._error(
                        f"This emits {_type_text(given)}, but elsewhere {_type_text(common)} is emitted.",
                        statement.at,
                        hint,
                    )
                common = together

    # -- names have values, and programs one end ----------------------------------------------------------------------

    def _assigned(self, body: Sequence[syntax.Statement], known: set[str]) -> set[str]:
        """Names with a value after ``body``, whichever branches are taken."""
        for statement in body:
            for expression in expressions(statement):
                for used in names_in(expression):
                    if used.name not in known:
                        raise self._error(f"{used.name} has no value here.", used.at, self._why(used.name))
            match statement:
                case syntax.Assign(name) | syntax.Sample(name) | syntax.Call(name):
                    if name in self._fixed:
                        hint = "Use another name."
                        raise self._error(f"{name} is an input or eps, and cannot be changed.", statement.at, hint)
                    known = known | {name}
                case syntax.If(_, then, other):
                    known = self._assigned(then, known) & self._assigned(other, known)
                case syntax.While(_, inner):
                    self._assigned(inner, known)
                case syntax.Emit() | syntax.Return():
                    pass
        return known

    def _why(self, name: str) -> str:
        if any(
            isinstance(one, syntax.Assign | syntax.Sample | syntax.Call) and one.name == name
            for one in statements(self._program.body)
        ):
            return "It gets one later, or only in some branches: assign it before."
        return "A name is an input, a variable with a value, or eps."

    def _ends(self, body: Sequence[syntax.Statement], *, last: bool) -> None:
        for place, statement in enumerate(body):
            if isinstance(statement, syntax.Return) and not (last and place == len(body) - 1):
                hint = "Keep the result in a variable, and return it at the end."
                raise self._error("A return must be the last line of a program.", statement.at, hint)
            for inner in blocks(statement):
                self._ends(inner, last=False)

    # -- types --------------------------------------------------------------------------------------------------------

    def _block(self, body: Sequence[syntax.Statement]) -> None:
        for statement in body:
            match statement:
                case syntax.Assign(name, value):
                    self._gets(name, self._type(value), statement.at)
                case syntax.Sample(name, distribution, arguments):
                    declared = DISTRIBUTIONS[distribution]
                    for argument, parameter in zip(arguments, declared.parameters, strict=True):
                        self._want(argument, parameter.type, f"This argument of {distribution}")
                    self._gets(name, declared.result, statement.at)
                case syntax.Call(name):
                    self._gets(name, self._called(statement), statement.at)
                case syntax.If(condition) | syntax.While(condition):
                    self._want(condition, syntax.BOOL, "A condition")
                case syntax.Emit(value) | syntax.Return(value):
                    self._type(value)
            for inner in blocks(statement):
                self._block(inner)

    def _called(self, call: syntax.Call) -> _Found:
        other = self._others[call.program]
        if len(call.arguments) != len(other.inputs):
            raise self._error(f"{other.name} has {len(other.inputs)} inputs, not {len(call.arguments)}.", call.at)
        for argument, given in zip(call.arguments, other.inputs, strict=True):
            self._want(argument, given.type, f"{given.name} of {other.name}")
        emits = any(isinstance(statement, syntax.Emit) for statement in statements(other.body))
        returns = bool(other.body) and isinstance(other.body[-1], syntax.Return)
        if emits == returns or other.result is None or (emits and not isinstance(other.result, syntax.ListOf)):
            hint = "Return one value, or only emit, and declare the type: f(x : private real) : list of real."
            raise self._error(f"{other.name} cannot be called: it does not return a single value.", call.at, hint)
        return _widened(other.result)

    def _gets(self, name: str, given: _Found, at: syntax.At) -> None:
        before = self._types.get(name)
        after = given if before is None else _common_type(before, given)
        if after is None:
            hint = "Use one name for each."
            raise self._error(f"{name} is {_type_text(before)} elsewhere and gets {_type_text(given)} here.", at, hint)
        if after != before:
            self._types[name], self._changed = after, True

    def _want(self, expression: syntax.Expression, wanted: syntax.Type, what: str) -> None:
        given = self._type(expression)
        if not fits(given, wanted):
            raise self._error(f"{what} must be {_type_text(wanted)}, not {_type_text(given)}.", expression.at)

    def _type(self, expression: syntax.Expression) -> _Found:
        match expression:
            case syntax.Number(value):
                return syntax.INT if value.denominator == 1 else syntax.REAL
            case syntax.Truth():
                return syntax.BOOL
            case syntax.Name(name):
                return self._types.get(
                    name, syntax.INT
                )  # it gets its type later in this pass: the narrowest until then
            case syntax.Item(of, index):
                self._want(index, syntax.INT, "An index")
                listed = self._list(of)
                return listed.item if isinstance(listed, syntax.ListOf) else syntax.INT
            case syntax.Size(of):
                self._list(of)
                return syntax.INT
            case syntax.Listing(items):
                return self._common(items, expression.at) if items else _EMPTY
            case syntax.Joined(first, second):
                return self._joined(first, second, expression.at)
            case syntax.Operation():
                return self._operation(expression)

    def _list(self, of: syntax.Name) -> syntax.ListOf | _Empty:
        type_ = self._types.get(of.name, _EMPTY)
        if not isinstance(type_, syntax.ListOf | _Empty):
            raise self._error(f"{of.name} is {_type_text(type_)}, not a list.", of.at)
        return type_

    def _common(self, items: Sequence[syntax.Expression], at: syntax.At) -> syntax.ListOf:
        common: _Found | None = None
        for item in items:
            kind = self._type(item)
            if isinstance(kind, syntax.ListOf | _Empty):
                raise self._error("A list holds values, not lists.", item.at)
            common = kind if common is None else _common_type(common, kind)
            if common is None:
                raise self._error("A list holds values of one type.", item.at)
        if not isinstance(common, syntax.Scalar):
            raise self._error("A list holds values.", at)
        return syntax.ListOf(common)

    def _joined(self, first: syntax.Expression, second: syntax.Expression, at: syntax.At) -> _Found:
        left, right = self._type(first), self._type(second)
        common = _common_type(left, right)
        if (
            not isinstance(left, syntax.ListOf | _Empty)
            or not isinstance(right, syntax.ListOf | _Empty)
            or common is None
        ):
            raise self._error(
                f"Lists of one type are joined by ++, not {_type_text(left)} and {_type_text(right)}.", at
            )
        return common

    def _operation(self, operation: syntax.Operation) -> _Found:
        operator, arguments = operation.operator, operation.arguments
        if operator in ("and", "or", "not"):
            for argument in arguments:
                self._want(argument, syntax.BOOL, f"What {operator} joins" if operator != "not" else "What is denied")
            return syntax.BOOL
        if operator == "if":
            self._want(arguments[0], syntax.BOOL, "A condition")
            arguments = arguments[1:]
        kinds = [self._type(argument) for argument in arguments]
        together = _common_type(kinds[0], kinds[-1])
        if operator == "if" and together is not None:
            return together
        if operator in ("==", "!=") and isinstance(together, syntax.Scalar):
            return syntax.BOOL
        if operator == "xor" and together in (syntax.BOOL, syntax.INT):
            return together or syntax.INT
        if operator in ("<", "<=", ">", ">=") and together in (syntax.INT, syntax.REAL):
            return syntax.BOOL
        if operator in ("+", "-", "*", "neg", "min", "max", "abs") and together in (syntax.INT, syntax.REAL):
            return together or syntax.REAL
        if operator == "/" and together in (syntax.INT, syntax.REAL):
            return syntax.REAL
        given = " and ".join(_type_text(kind) for kind in kinds)
        called = {"neg": "-"}.get(operator, operator)
        raise self._error(f"{called} cannot be used on {given}.", operation.at)

    # -- errors -------------------------------------------------------------------------------------------------------

    def _error(self, what: str, at: syntax.At, hint: str = "") -> BadProgram:
        line = self._lines[at.line - 1] if 0 < at.line <= len(self._lines) else ""
        return BadProgram(what, at, line, hint=hint)

    def _start(self) -> syntax.At:
        first: Iterable[syntax.Input | syntax.Statement] = (*self._program.inputs, *self._program.body)
        return next((one.at for one in first), syntax.At(1, 1))


def _widened(kind: _Found) -> _Found:
    """Integers from a range are integers, and a list's length is no part of its type."""
    if isinstance(kind, syntax.Range):
        return syntax.INT
    if isinstance(kind, syntax.ListOf):
        return syntax.ListOf(syntax.INT if isinstance(kind.item, syntax.Range) else kind.item)
    return kind


def _common_type(one: _Found, other: _Found) -> _Found | None:
    """The narrowest type that both fit."""
    one, other = _widened(one), _widened(other)
    if isinstance(one, _Empty):
        return other if isinstance(other, syntax.ListOf | _Empty) else None
    if isinstance(other, _Empty):
        return one if isinstance(one, syntax.ListOf) else None
    if fits(one, other):
        return other
    return one if fits(other, one) else None


def _type_text(kind: _Found | None) -> str:
    match kind:
        case syntax.Scalar("int"):
            return "an integer"
        case syntax.Scalar("bool"):
            return "a truth value"
        case syntax.Scalar():
            return "a number"
        case syntax.ListOf(item):
            return f"a list of {item}"
    return str(kind)
