"""From a program's text to its tree. docs/language.md has the grammar; every function here is one of its rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TypeVar

from discreet.errors import BadProgram
from discreet.prove.inside import inside
from discreet.prove.syntax import (
    ADJACENCIES,
    BOOL,
    DISTRIBUTIONS,
    INT,
    REAL,
    Adjacent,
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
from discreet.prove.tokens import Token, tokens

_T = TypeVar("_T")
_SCALARS = {"real": REAL, "int": INT, "bool": BOOL}
_FUNCTIONS = {"min": 2, "max": 2, "abs": 1, "xor": 2}
_DEEPEST = 32
"""How deep values may stand in brackets, and statements in blocks."""
_HIGHEST = 100
"""How many operations may stand one upon the other in a value."""
_COMPARED = ("<", "<=", ">", ">=", "==", "!=")
KEYWORDS = {
    *(
        "adjacent",
        "by",
        "claim",
        "assume",
        "private",
        "public",
        "list",
        "of",
        "while",
        "do",
        "if",
        "else",
        "then",
        "emit",
    ),
    *("return", "true", "false", "and", "or", "not", "size", "skip", *_SCALARS, *_FUNCTIONS, *DISTRIBUTIONS),
}
"""Words that no variable may have as its name."""


def read_programs(text: str) -> tuple[Program, ...]:
    """The programs of a text, each after its own ``adjacent`` and ``claim``; a later one may call an earlier one."""
    reader = _Reader(text)
    found: list[Program] = []
    while reader.next.kind != "end":
        found.append(reader.program(found))
    if not found:
        raise BadProgram("There is no program here.", At(1, 1), "", hint="See docs/language.md for an example.")
    return tuple(found)


def read_expression(text: str) -> Expression:
    """One expression."""
    reader = _Reader(text)
    found = reader.expression()
    reader.take("line")
    return found


def read_adjacent(text: str) -> Adjacent:
    """Which inputs are neighbours, as it is written behind ``adjacent``: ``all by 1``."""
    reader = _Reader(text)
    found = reader.adjacent()
    reader.take("line")
    return found


class _Reader:
    """Reads a text from its beginning, one word ahead."""

    def __init__(self, text: str) -> None:
        self._lines = text.splitlines()
        self._tokens = tokens(text)
        self.next = next(self._tokens)
        self._depth = 0

    # -- words --------------------------------------------------------------------------------------------------------

    def error(self, what: str, at: At | None = None, hint: str = "") -> BadProgram:
        at = at or self.next.at
        line = self._lines[at.line - 1] if at.line <= len(self._lines) else ""
        return BadProgram(what, at, line, hint=hint)

    def step(self) -> Token:
        token, self.next = self.next, next(self._tokens, self.next)
        return token

    def sees(self, *texts: str) -> bool:
        return self.next.kind in ("name", "symbol") and self.next.text in texts

    def accept(self, *texts: str) -> Token | None:
        return self.step() if self.sees(*texts) else None

    def expect(self, text: str, hint: str = "") -> Token:
        if not self.sees(text):
            raise self.error(f"Here {text!r} is expected, not {self.shown()}.", hint=hint)
        return self.step()

    def take(self, kind: str) -> Token:
        if self.next.kind != kind:
            called = {"line": "the end of the line", "in": "an indented block", "name": "a name", "number": "a number"}
            raise self.error(f"Here {called.get(kind, kind)} is expected, not {self.shown()}.")
        return self.step()

    def shown(self) -> str:
        return {
            "line": "the end of the line",
            "in": "an indented line",
            "out": "the end of the block",
            "end": "the end",
        }.get(self.next.kind, repr(self.next.text))

    def fresh_name(self, what: str) -> Token:
        token = self.take("name")
        if token.text in KEYWORDS:
            raise self.error(f"{token.text!r} is a word of the language and cannot be {what}.", token.at)
        return token

    def deeper(self, read: Callable[[], _T]) -> _T:
        """What ``read`` reads, one level further down; what stands too deep is refused before it fills the stack."""
        if self._depth >= _DEEPEST:
            raise self.error(f"This is nested more than {_DEEPEST} deep.", hint="Give parts of it names of their own.")
        self._depth += 1
        found = read()
        self._depth -= 1
        return found

    # -- programs -----------------------------------------------------------------------------------------------------

    def program(self, earlier: Sequence[Program]) -> Program:
        hint = "A program begins with what neighbours are and what is claimed: adjacent all by 1, then claim eps."
        self.expect("adjacent", hint)
        adjacent = self.adjacent()
        if self.next.kind == "line":
            self.step()
        self.expect("claim", hint)
        epsilon = self.expression()
        delta: Expression = self.expression() if self.accept(",") else Number(Fraction(0))
        self.take("line")
        name = self.fresh_name("a program")
        if any(program.name == name.text for program in earlier):
            raise self.error(f"There is a program {name.text} already.", name.at)
        self.expect("(")
        inputs = self.separated(")", self.input)
        if len({given.name for given in inputs}) < len(inputs):
            raise self.error("Two inputs have the same name.", name.at)
        result = None
        if self.accept(":"):
            self.accept("public")
            result = self.type()
        self.take("line")
        self.take("in")
        assumes = []
        while self.accept("assume"):
            assumes.append(self.expression())
            self.take("line")
        body = self.statements(tuple(program.name for program in earlier))
        return Program(name.text, inputs, result, adjacent, epsilon, delta, tuple(assumes), body)

    def adjacent(self) -> Adjacent:
        kind = self.take("name")
        if kind.text not in ADJACENCIES:
            raise self.error(f"Neighbours are one of {', '.join(ADJACENCIES)}, not {kind.text!r}.", kind.at)
        return Adjacent(kind.text, self.expression()) if self.accept("by") else Adjacent(kind.text)

    def input(self) -> Input:
        name = self.fresh_name("an input")
        self.expect(":")
        private = bool(self.accept("private"))
        if not private:
            self.accept("public")
        return Input(name.text, self.type(), private, name.at)

    def type(self) -> Type:
        if self.accept("list"):
            self.expect("of")
            if self.next.kind != "number":
                return ListOf(self.simple_type())
            number = self.whole()
            return ListOf(self.range_to(number)) if self.accept("..") else ListOf(self.simple_type(), number)
        return self.simple_type()

    def simple_type(self) -> Scalar | Range:
        if found := self.accept(*_SCALARS):
            return _SCALARS[found.text]
        if self.accept("{"):
            return self.braced_range()
        low = self.whole()
        self.expect("..")
        return self.range_to(low)

    def braced_range(self) -> Range:
        numbers = self.separated("}", self.whole)
        if not numbers or list(numbers) != list(range(numbers[0], numbers[0] + len(numbers))):
            raise self.error("A set of values lists integers in order, without a gap, such as {0,1}.")
        return Range(numbers[0], numbers[-1])

    def range_to(self, low: int) -> Range:
        high = self.whole()
        if high < low:
            raise self.error(f"There is no integer from {low} to {high}.")
        return Range(low, high)

    def whole(self) -> int:
        sign = -1 if self.accept("-") else 1
        token = self.take("number")
        if "." in token.text:
            raise self.error("Here an integer is expected.", token.at)
        return sign * int(token.text)

    # -- statements ---------------------------------------------------------------------------------------------------

    def statements(self, callable_: tuple[str, ...]) -> tuple[Statement, ...]:
        """Statements up to the end of the block that was just begun."""
        found: list[Statement] = []
        while self.next.kind not in ("out", "end"):
            found += self.line(callable_)
        if self.next.kind == "out":
            self.step()
        return tuple(found)

    def line(self, callable_: tuple[str, ...], behind: str = "") -> list[Statement]:
        """The statements of a line, or those ``behind`` the condition of an if or while on the same line."""
        found: list[Statement] = []
        while True:
            if self.accept("skip"):
                pass
            elif self.sees("while", "if"):
                if behind:
                    hint = "Begin a line with it, indented: then it is clear what an else belongs to."
                    raise self.error(f"A line has {self.next.text!r} behind its {behind!r}.", hint=hint)
                found.append(self.compound(callable_))
                return found
            else:
                found.append(self.simple(callable_))
            if not self.accept(";"):
                break
            if self.next.kind == "line":
                break
        self.take("line")
        return found

    def compound(self, callable_: tuple[str, ...]) -> Statement:
        return self.deeper(lambda: self.conditional(callable_))

    def conditional(self, callable_: tuple[str, ...]) -> Statement:
        word = self.step()
        condition = self.expression()
        named = self.accept("do" if word.text == "while" else "then")
        body = self.block(callable_, word.text, colon=not named)
        if word.text == "while":
            return While(condition, body, word.at)
        other: tuple[Statement, ...] = ()
        if self.accept("else"):
            other = (self.compound(callable_),) if self.sees("if") else self.block(callable_, "else", colon=True)
        return If(condition, body, other, word.at)

    def block(self, callable_: tuple[str, ...], behind: str, *, colon: bool) -> tuple[Statement, ...]:
        """An indented block, or what is left of the line; before that there may be a colon."""
        parted = self.accept(":") if colon else None
        if self.next.kind == "line":
            if parted:
                raise self.error("A colon stands before a statement on the same line.", parted.at, "Leave it out.")
            self.step()
            self.take("in")
            return self.statements(callable_)
        return tuple(self.line(callable_, behind))

    def simple(self, callable_: tuple[str, ...]) -> Statement:
        if word := self.accept("emit"):
            return Emit(self.expression(), word.at)
        if word := self.accept("return"):
            return Return(self.expression(), word.at)
        name = self.fresh_name("a variable")
        self.expect(":=", hint="A statement is x := e, x := $ D(…), if, while, emit or return.")
        if self.accept("$"):
            return self.sample(name)
        if self.next.kind == "name" and self.next.text in callable_:
            program = self.step().text
            self.expect("(")
            return Call(name.text, program, self.separated(")", self.expression), name.at)
        return Assign(name.text, self.expression(), name.at)

    def sample(self, name: Token) -> Sample:
        drawn = self.take("name")
        if drawn.text not in DISTRIBUTIONS:
            raise self.error(f"{drawn.text} is none of the distributions {', '.join(DISTRIBUTIONS)}.", drawn.at)
        self.expect("(")
        arguments = self.separated(")", self.expression)
        if drawn.text == "Laplace" and len(arguments) == 1:
            arguments = (*arguments, Number(Fraction(0), drawn.at))
        if len(arguments) != DISTRIBUTIONS[drawn.text]:
            raise self.error(f"{drawn.text} has {DISTRIBUTIONS[drawn.text]} arguments, not {len(arguments)}.", drawn.at)
        return Sample(name.text, drawn.text, arguments, name.at)

    # -- expressions --------------------------------------------------------------------------------------------------

    def expression(self) -> Expression:
        start = self.next.at
        found = self.deeper(self.choice)
        if _height(found) > _HIGHEST:
            raise self.error("This is too much for one value.", start, "Give parts of it names of their own.")
        return found

    def choice(self) -> Expression:
        found, cases = self.either(), []
        while word := self.accept("if"):
            cases.append((self.either(), found, word.at))
            self.expect("else")
            found = self.either()
        for condition, then, at in reversed(cases):
            found = Operation("if", (condition, then, found), at)
        return found

    def either(self) -> Expression:
        return self.chain(self.both, "or")

    def both(self) -> Expression:
        return self.chain(self.denied, "and")

    def denied(self) -> Expression:
        if word := self.accept("not"):
            return Operation("not", (self.deeper(self.denied),), word.at)
        return self.compared()

    def compared(self) -> Expression:
        left = self.joined()
        if word := self.accept(*_COMPARED, "="):
            operator = "==" if word.text == "=" else word.text
            return Operation(operator, (left, self.joined()), word.at)
        return left

    def joined(self) -> Expression:
        left = self.sum()
        while word := self.accept("++"):
            left = Joined(left, self.sum(), word.at)
        return left

    def sum(self) -> Expression:
        return self.chain(self.product, "+", "-")

    def product(self) -> Expression:
        return self.chain(self.signed, "*", "/", "xor")

    def signed(self) -> Expression:
        if word := self.accept("-"):
            return Operation("neg", (self.deeper(self.signed),), word.at)
        return self.atom()

    def atom(self) -> Expression:
        token = self.next
        if token.kind == "number":
            self.step()
            return Number(Fraction(token.text), token.at)
        if self.accept("true", "false"):
            return Truth(token.text == "true", token.at)
        if self.accept("("):
            found = self.expression()
            self.expect(")")
            return found
        if self.accept("["):
            return Listing(self.separated("]", self.expression), token.at)
        if self.accept("size"):
            return self.size(token.at)
        if self.accept(*_FUNCTIONS):
            self.expect("(")
            arguments = self.separated(")", self.expression)
            if len(arguments) != _FUNCTIONS[token.text]:
                raise self.error(f"{token.text} has {_FUNCTIONS[token.text]} arguments.", token.at)
            return Operation(token.text, arguments, token.at)
        if token.kind != "name" or token.text in KEYWORDS:
            raise self.error(f"Here a value is expected, not {self.shown()}.")
        self.step()
        name = Name(token.text, token.at)
        if self.accept("["):
            index = self.expression()
            self.expect("]")
            return Item(name, index, token.at)
        return name

    def size(self, at: At) -> Size:
        self.expect("(")
        name = self.fresh_name("a list")
        self.expect(")")
        return Size(Name(name.text, name.at), at)

    def chain(self, part: Callable[[], Expression], *operators: str) -> Expression:
        left = part()
        while word := self.accept(*operators):
            left = Operation(word.text, (left, part()), word.at)
        return left

    def separated(self, end: str, part: Callable[[], _T]) -> tuple[_T, ...]:
        found: list[_T] = []
        while not self.accept(end):
            if found:
                self.expect(",")
            found.append(part())
        return tuple(found)


def _height(expression: Expression) -> int:
    """How many expressions stand one upon the other, counted without filling the stack."""
    layer: tuple[Expression, ...] = (expression,)
    height = 0
    while layer:
        height += 1
        layer = tuple(part for one in layer for part in inside(one))
    return height
