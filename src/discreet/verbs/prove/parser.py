"""Recursive-descent parser of programs; each method is a rule of the grammar in docs/language.md."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from discreet.errors import BadProgram
from discreet.verbs.prove import syntax
from discreet.verbs.prove.distributions import DISTRIBUTIONS
from discreet.verbs.prove.expression_parser import SCALARS, ExpressionParser
from discreet.verbs.prove.lexer import Token


def parse_programs(text: str) -> tuple[syntax.Program, ...]:
    """Parse the programs of a text, each with its ``adjacent`` and ``claim``; later ones may call earlier ones."""
    reader = ProgramParser(text)
    programs: list[syntax.Program] = []
    while reader.next.kind != "end":
        programs.append(reader.program(programs))
    if not programs:
        raise BadProgram("There is no program here.", syntax.At(1, 1), "", hint="See docs/language.md for an example.")
    return tuple(programs)


def parse_expression(text: str) -> syntax.Expression:
    """Parse one expression."""
    reader = ProgramParser(text)
    expression = reader.expression()
    reader.take("line")
    return expression


def parse_adjacent(text: str) -> syntax.Adjacent:
    """Parse what stands behind ``adjacent``, such as ``all by 1``."""
    reader = ProgramParser(text)
    adjacent = reader.adjacent()
    reader.take("line")
    return adjacent


class ProgramParser(ExpressionParser):
    """Parses programs, inputs, types and statements."""

    # -- programs -----------------------------------------------------------------------------------------------------

    def program(self, earlier: Sequence[syntax.Program]) -> syntax.Program:
        hint = "A program begins with what neighbours are and what is claimed: adjacent all by 1, then claim eps."
        self.expect("adjacent", hint)
        adjacent = self.adjacent()
        if self.next.kind == "line":
            self.step()
        self.expect("claim", hint)
        epsilon = self.expression()
        delta: syntax.Expression = self.expression() if self.accept(",") else syntax.Number(Fraction(0))
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
        return syntax.Program(name.text, inputs, result, adjacent, epsilon, delta, tuple(assumes), body)

    def adjacent(self) -> syntax.Adjacent:
        kind = self.take("name")
        if kind.text not in syntax.ADJACENCIES:
            raise self.error(f"Neighbours are one of {', '.join(syntax.ADJACENCIES)}, not {kind.text!r}.", kind.at)
        return syntax.Adjacent(kind.text, self.expression()) if self.accept("by") else syntax.Adjacent(kind.text)

    def input(self) -> syntax.Input:
        name = self.fresh_name("an input")
        self.expect(":")
        private = bool(self.accept("private"))
        if not private:
            self.accept("public")
        return syntax.Input(name.text, self.type(), private, name.at)

    def type(self) -> syntax.Type:
        if self.accept("list"):
            self.expect("of")
            if self.next.kind != "number":
                return syntax.ListOf(self.simple_type())
            number = self.whole()
            return (
                syntax.ListOf(self.range_to(number)) if self.accept("..") else syntax.ListOf(self.simple_type(), number)
            )
        return self.simple_type()

    def simple_type(self) -> syntax.Scalar | syntax.Range:
        if scalar := self.accept(*SCALARS):
            return SCALARS[scalar.text]
        if self.accept("{"):
            return self.braced_range()
        low = self.whole()
        self.expect("..")
        return self.range_to(low)

    def braced_range(self) -> syntax.Range:
        numbers = self.separated("}", self.whole)
        if not numbers or list(numbers) != list(range(numbers[0], numbers[0] + len(numbers))):
            raise self.error("A set of values lists integers in order, without a gap, such as {0,1}.")
        return syntax.Range(numbers[0], numbers[-1])

    def range_to(self, low: int) -> syntax.Range:
        high = self.whole()
        if high < low:
            raise self.error(f"There is no integer from {low} to {high}.")
        return syntax.Range(low, high)

    def whole(self) -> int:
        sign = -1 if self.accept("-") else 1
        token = self.take("number")
        if "." in token.text:
            raise self.error("Here an integer is expected.", token.at)
        return sign * int(token.text)

    # -- statements ---------------------------------------------------------------------------------------------------

    def statements(self, callable_: tuple[str, ...]) -> tuple[syntax.Statement, ...]:
        """Statements up to the end of the current block."""
        statements: list[syntax.Statement] = []
        while self.next.kind not in ("out", "end"):
            statements += self.line(callable_)
        if self.next.kind == "out":
            self.step()
        return tuple(statements)

    def line(self, callable_: tuple[str, ...], behind: str = "") -> list[syntax.Statement]:
        """The statements of a line, or those ``behind`` the condition of an if or while on the same line."""
        statements: list[syntax.Statement] = []
        while True:
            if self.accept("skip"):
                pass
            elif self.sees("while", "if"):
                if behind:
                    hint = "Begin a line with it, indented: then it is clear what an else belongs to."
                    raise self.error(f"A line has {self.next.text!r} behind its {behind!r}.", hint=hint)
                statements.append(self.compound(callable_))
                return statements
            else:
                statements.append(self.simple(callable_))
            if not self.accept(";"):
                break
            if self.next.kind == "line":
                break
        self.take("line")
        return statements

    def compound(self, callable_: tuple[str, ...]) -> syntax.Statement:
        return self.deeper(lambda: self.conditional(callable_))

    def conditional(self, callable_: tuple[str, ...]) -> syntax.Statement:
        word = self.step()
        condition = self.expression()
        named = self.accept("do" if word.text == "while" else "then")
        body = self.block(callable_, word.text, colon=not named)
        if word.text == "while":
            return syntax.While(condition, body, word.at)
        other: tuple[syntax.Statement, ...] = ()
        if self.accept("else"):
            other = (self.compound(callable_),) if self.sees("if") else self.block(callable_, "else", colon=True)
        return syntax.If(condition, body, other, word.at)

    def block(self, callable_: tuple[str, ...], behind: str, *, colon: bool) -> tuple[syntax.Statement, ...]:
        """An indented block, or what is left of the line; before that there may be a colon."""
        parted = self.accept(":") if colon else None
        if self.next.kind == "line":
            if parted:
                raise self.error("A colon stands before a statement on the same line.", parted.at, "Leave it out.")
            self.step()
            self.take("in")
            return self.statements(callable_)
        return tuple(self.line(callable_, behind))

    def simple(self, callable_: tuple[str, ...]) -> syntax.Statement:
        if word := self.accept("emit"):
            return syntax.Emit(self.expression(), word.at)
        if word := self.accept("return"):
            return syntax.Return(self.expression(), word.at)
        name = self.fresh_name("a variable")
        self.expect(":=", hint="A statement is x := e, x := $ D(…), if, while, emit or return.")
        if self.accept("$"):
            return self.sample(name)
        if self.next.kind == "name" and self.next.text in callable_:
            program = self.step().text
            self.expect("(")
            return syntax.Call(name.text, program, self.separated(")", self.expression), name.at)
        return syntax.Assign(name.text, self.expression(), name.at)

    def sample(self, name: Token) -> syntax.Sample:
        drawn = self.take("name")
        if drawn.text not in DISTRIBUTIONS:
            raise self.error(f"{drawn.text} is none of the distributions {', '.join(DISTRIBUTIONS)}.", drawn.at)
        declared = DISTRIBUTIONS[drawn.text]
        self.expect("(")
        arguments = self.separated(")", self.expression)
        complete = declared.complete(arguments, drawn.at)
        if complete is None:
            what = f"{drawn.text} has {len(declared.parameters)} arguments, not {len(arguments)}."
            raise self.error(what, drawn.at, f"{declared.signature} gives {declared.meaning}.")
        return syntax.Sample(name.text, drawn.text, complete, name.at)
