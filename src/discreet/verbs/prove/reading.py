"""From a program's text to its tree. docs/language.md has the grammar; every function here is one of its rules."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from discreet.errors import BadProgram
from discreet.verbs.prove.reader import KEYWORDS, SCALARS, Reader
from discreet.verbs.prove.syntax import (
    ADJACENCIES,
    DISTRIBUTIONS,
    Adjacent,
    Assign,
    At,
    Call,
    Emit,
    Expression,
    If,
    Input,
    ListOf,
    Number,
    Program,
    Range,
    Return,
    Sample,
    Scalar,
    Statement,
    Type,
    While,
)
from discreet.verbs.prove.tokens import Token

__all__ = ["KEYWORDS", "read_adjacent", "read_expression", "read_programs"]


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


class _Reader(Reader):
    """Reads programs, and what they are made of."""

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
        if found := self.accept(*SCALARS):
            return SCALARS[found.text]
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
