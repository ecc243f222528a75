"""What kind of value every variable has, and what is refused before anything is proved or run.

A variable has one type throughout: ``int`` where it only ever gets integers, ``real`` where it may get others,
``bool``, or a list of one of these. A program is refused that

- uses a name before every way there has given it a value, or a name nobody declared;
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
from discreet.verbs.prove.inside import blocks, expressions, names_in, parts, statements
from discreet.verbs.prove.running import value_of
from discreet.verbs.prove.syntax import (
    BOOL,
    INT,
    REAL,
    Assign,
    At,
    Call,
    Emit,
    Expression,
    If,
    Input,
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

PARAMETERS = {"eps": REAL}
"""What every program may use without declaring it: ``eps`` is above 0."""

_DRAWS = {
    "Laplace": ((REAL, REAL), REAL),
    "DLaplace": ((REAL, INT), INT),
    "Exp": ((REAL,), REAL),
    "Gaussian": ((REAL, REAL), REAL),
    "Bernoulli": ((REAL,), BOOL),
    "Uniform": ((INT, INT), INT),
    "ExpMech": ((ListOf(REAL), REAL), INT),
}
"""What each distribution is given, and what it gives."""


@dataclass(frozen=True)
class _Empty:
    """The type of ``[]``, which is any list."""

    def __str__(self) -> str:
        return "an empty list"


_EMPTY = _Empty()
_Found = Type | _Empty


def types(program: Program, others: Mapping[str, Program] | None = None, text: str = "") -> dict[str, Type]:
    """The type of every input and variable; ``BadProgram`` if anything is refused.

    ``others`` may be called; ``text`` is what the program was read from, for the error to show the line.
    """
    return _Kinds(program, others or {}, text).check()


def fits(given: Type | _Empty, wanted: Type) -> bool:
    """Whether a value of one type may stand where another is wanted."""
    one, other = _plain(given), _plain(wanted)
    if isinstance(one, _Empty):
        return isinstance(other, ListOf)
    if isinstance(one, ListOf) and isinstance(other, ListOf):
        return fits(one.item, other.item)
    return one == other or (one == INT and other == REAL)


class _Kinds:
    def __init__(self, program: Program, others: Mapping[str, Program], text: str) -> None:
        self._program, self._others = program, others
        self._lines = text.splitlines()
        self._types: dict[str, _Found] = {**PARAMETERS, **{one.name: _plain(one.type) for one in program.inputs}}
        self._fixed = frozenset(self._types)
        self._changed = False

    def check(self) -> dict[str, Type]:
        self._head()
        self._assigned(self._program.body, set(self._fixed))
        self._ends(self._program.body, last=True)
        self._changed = True
        while self._changed:  # types only widen, and each at most twice
            self._changed = False
            self._block(self._program.body)
        self._result()
        unknown = [name for name, found in self._types.items() if isinstance(found, _Empty)]
        found = {name: kind for name, kind in self._types.items() if not isinstance(kind, _Empty)}
        declared = {one.name: one.type for one in self._program.inputs}
        return {**found, **dict.fromkeys(unknown, ListOf(REAL)), **declared}

    # -- what is declared ---------------------------------------------------------------------------------------------

    def _head(self) -> None:
        program = self._program
        if not program.private:
            raise self._error("No input is private.", self._start(), "Write private before the type of one.")
        if "eps" in {one.name for one in program.inputs}:
            raise self._error("eps is a parameter already and cannot be an input.", self._start())
        for what, expression, wanted in (
            ("What neighbours differ by", program.adjacent.by, REAL),
            ("The claim", program.epsilon, REAL),
            ("The claimed delta", program.delta, REAL),
            *(("An assumption", assumed, BOOL) for assumed in program.assumes),
        ):
            self._public(what, expression)
            self._want(expression, wanted, what)
            self._worth(what, expression)
        if program.adjacent.kind != "any":
            for one in program.private:
                if (one.type.item if isinstance(one.type, ListOf) else one.type) == BOOL:
                    hint = "Use adjacent any, or a private {0,1}."
                    raise self._error(f"{one.name} is a truth: neighbours do not differ by a number.", one.at, hint)

    def _worth(self, what: str, expression: Expression) -> None:
        """What mentions no names has a value."""
        if not any(names_in(expression)):
            try:
                value_of(expression, {})
            except BadInput as reason:
                raise self._error(f"{what} has no value: {reason.message}", expression.at) from None

    def _public(self, what: str, expression: Expression) -> None:
        private = {one.name for one in self._program.private}
        for part in parts(expression):
            if isinstance(part, Name) and part.name not in self._types:
                raise self._error(f"{what} mentions {part.name}, which is no input.", part.at)
            if isinstance(part, Name) and part.name in private:
                hint = "It may use public inputs, eps and the size of a list."
                raise self._error(f"{what} depends on {part.name}, which is private.", part.at, hint)
            if isinstance(part, Item) and part.of.name in private:
                raise self._error(f"{what} depends on an item of {part.of.name}, which is private.", part.at)

    def _result(self) -> None:
        program, wanted = self._program, self._program.result
        self._emits()
        if wanted is None:
            return
        last = program.body[-1] if program.body else None
        if isinstance(last, Return):
            self._want(last.value, wanted, f"What {program.name} returns")
            return
        item = wanted.item if isinstance(wanted, ListOf) else wanted
        for found in statements(program.body):
            if isinstance(found, Emit):
                self._want(found.value, item, f"What {program.name} emits")

    def _emits(self) -> None:
        """All that is emitted is of one type, whether or not it was declared."""
        common: _Found | None = None
        for found in statements(self._program.body):
            if isinstance(found, Emit):
                given = self._type(found.value)
                together = given if common is None else _either(common, given)
                if together is None:
                    hint = "What a program emits is of one type."
                    raise self._error(f"This emits {_a(given)}, elsewhere it is {_a(common)}.", found.at, hint)
                common = together

    # -- names have values, and programs one end ----------------------------------------------------------------------

    def _assigned(self, body: Sequence[Statement], known: set[str]) -> set[str]:
        """The names that have a value after ``body``, on every way through it."""
        for found in body:
            for expression in expressions(found):
                for used in names_in(expression):
                    if used.name not in known:
                        raise self._error(f"{used.name} has no value here.", used.at, self._why(used.name))
            match found:
                case Assign(name) | Sample(name) | Call(name):
                    if name in self._fixed:
                        hint = "Use another name."
                        raise self._error(f"{name} is given and cannot be changed.", found.at, hint)
                    known = known | {name}
                case If(_, then, other):
                    known = self._assigned(then, known) & self._assigned(other, known)
                case While(_, inner):
                    self._assigned(inner, known)
                case Emit() | Return():
                    pass
        return known

    def _why(self, name: str) -> str:
        if any(isinstance(one, Assign | Sample | Call) and one.name == name for one in statements(self._program.body)):
            return "It gets one later, or only on some ways: give it a value before."
        return "A name is an input, a variable with a value, or eps."

    def _ends(self, body: Sequence[Statement], *, last: bool) -> None:
        for place, found in enumerate(body):
            if isinstance(found, Return) and not (last and place == len(body) - 1):
                hint = "Keep the result in a variable, and return it at the end."
                raise self._error("A return is the last line of a program.", found.at, hint)
            for inner in blocks(found):
                self._ends(inner, last=False)

    # -- types --------------------------------------------------------------------------------------------------------

    def _block(self, body: Sequence[Statement]) -> None:
        for found in body:
            match found:
                case Assign(name, value):
                    self._gets(name, self._type(value), found.at)
                case Sample(name, distribution, arguments):
                    wanted, drawn = _DRAWS[distribution]
                    for argument, kind in zip(arguments, wanted, strict=True):
                        self._want(argument, kind, f"This argument of {distribution}")
                    self._gets(name, drawn, found.at)
                case Call(name):
                    self._gets(name, self._called(found), found.at)
                case If(condition) | While(condition):
                    self._want(condition, BOOL, "A condition")
                case Emit(value) | Return(value):
                    self._type(value)
            for inner in blocks(found):
                self._block(inner)

    def _called(self, call: Call) -> _Found:
        other = self._others[call.program]
        if len(call.arguments) != len(other.inputs):
            raise self._error(f"{other.name} has {len(other.inputs)} inputs, not {len(call.arguments)}.", call.at)
        for argument, given in zip(call.arguments, other.inputs, strict=True):
            self._want(argument, given.type, f"{given.name} of {other.name}")
        emits = any(isinstance(found, Emit) for found in statements(other.body))
        returns = bool(other.body) and isinstance(other.body[-1], Return)
        if emits == returns or other.result is None or (emits and not isinstance(other.result, ListOf)):
            hint = "Let it return one value, or only emit, and say of what type: f(x : private real) : list of real."
            raise self._error(f"{other.name} cannot be called: its value is not one thing.", call.at, hint)
        return _plain(other.result)

    def _gets(self, name: str, given: _Found, at: At) -> None:
        before = self._types.get(name)
        after = given if before is None else _either(before, given)
        if after is None:
            hint = "Use one name for each."
            raise self._error(f"{name} is {_a(before)} elsewhere and gets {_a(given)} here.", at, hint)
        if after != before:
            self._types[name], self._changed = after, True

    def _want(self, expression: Expression, wanted: Type, what: str) -> None:
        given = self._type(expression)
        if not fits(given, wanted):
            raise self._error(f"{what} is to be {_a(wanted)}, not {_a(given)}.", expression.at)

    def _type(self, expression: Expression) -> _Found:
        match expression:
            case Number(value):
                return INT if value.denominator == 1 else REAL
            case Truth():
                return BOOL
            case Name(name):
                return self._types.get(name, INT)  # it gets its type later in this pass: the narrowest until then
            case Item(of, index):
                self._want(index, INT, "An index")
                found = self._list(of)
                return found.item if isinstance(found, ListOf) else INT
            case Size(of):
                self._list(of)
                return INT
            case Listing(items):
                return self._common(items, expression.at) if items else _EMPTY
            case Joined(first, second):
                return self._joined(first, second, expression.at)
            case Operation():
                return self._operation(expression)

    def _list(self, of: Name) -> ListOf | _Empty:
        found = self._types.get(of.name, _EMPTY)
        if not isinstance(found, ListOf | _Empty):
            raise self._error(f"{of.name} is {_a(found)}, not a list.", of.at)
        return found

    def _common(self, items: Sequence[Expression], at: At) -> ListOf:
        found: _Found | None = None
        for item in items:
            kind = self._type(item)
            if isinstance(kind, ListOf | _Empty):
                raise self._error("A list holds values, not lists.", item.at)
            found = kind if found is None else _either(found, kind)
            if found is None:
                raise self._error("A list holds values of one type.", item.at)
        if not isinstance(found, Scalar):
            raise self._error("A list holds values.", at)
        return ListOf(found)

    def _joined(self, first: Expression, second: Expression, at: At) -> _Found:
        left, right = self._type(first), self._type(second)
        found = _either(left, right)
        if not isinstance(left, ListOf | _Empty) or not isinstance(right, ListOf | _Empty) or found is None:
            raise self._error(f"Lists of one type are joined by ++, not {_a(left)} and {_a(right)}.", at)
        return found

    def _operation(self, found: Operation) -> _Found:
        operator, arguments = found.operator, found.arguments
        if operator in ("and", "or", "not"):
            for argument in arguments:
                self._want(argument, BOOL, f"What {operator} joins" if operator != "not" else "What is denied")
            return BOOL
        if operator == "if":
            self._want(arguments[0], BOOL, "A condition")
            arguments = arguments[1:]
        kinds = [self._type(argument) for argument in arguments]
        together = _either(kinds[0], kinds[-1])
        if operator == "if" and together is not None:
            return together
        if operator in ("==", "!=") and isinstance(together, Scalar):
            return BOOL
        if operator == "xor" and together in (BOOL, INT):
            return together or INT
        if operator in ("<", "<=", ">", ">=") and together in (INT, REAL):
            return BOOL
        if operator in ("+", "-", "*", "neg", "min", "max", "abs") and together in (INT, REAL):
            return together or REAL
        if operator == "/" and together in (INT, REAL):
            return REAL
        given = " and ".join(_a(kind) for kind in kinds)
        called = {"neg": "-"}.get(operator, operator)
        raise self._error(f"{called} cannot be used on {given}.", found.at)

    # -- errors -------------------------------------------------------------------------------------------------------

    def _error(self, what: str, at: At, hint: str = "") -> BadProgram:
        line = self._lines[at.line - 1] if 0 < at.line <= len(self._lines) else ""
        return BadProgram(what, at, line, hint=hint)

    def _start(self) -> At:
        first: Iterable[Input | Statement] = (*self._program.inputs, *self._program.body)
        return next((one.at for one in first), At(1, 1))


def _plain(kind: _Found) -> _Found:
    """Integers from a range are integers, and a list's length is no part of its type."""
    if isinstance(kind, Range):
        return INT
    if isinstance(kind, ListOf):
        return ListOf(INT if isinstance(kind.item, Range) else kind.item)
    return kind


def _either(one: _Found, other: _Found) -> _Found | None:
    """The narrowest type that both fit."""
    one, other = _plain(one), _plain(other)
    if isinstance(one, _Empty):
        return other if isinstance(other, ListOf | _Empty) else None
    if isinstance(other, _Empty):
        return one if isinstance(one, ListOf) else None
    if fits(one, other):
        return other
    return one if fits(other, one) else None


def _a(kind: _Found | None) -> str:
    match kind:
        case Scalar("int"):
            return "an integer"
        case Scalar("bool"):
            return "a truth"
        case Scalar():
            return "a number"
        case ListOf(item):
            return f"a list of {item}"
    return str(kind)
