"""Recursive-descent parser of programs; each method is a rule of the grammar in docs/language.md.

A block is what is indented deeper than the line before it, as in Python; ``;`` separates statements on one line. ``#``
begins a comment, and so does ``--`` with a blank (or the end of the line) on both sides: ``x--1`` is a difference.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

from discreet.errors import BadProgram
from discreet.verbs.prove import syntax
from discreet.verbs.prove.distributions import DISTRIBUTIONS
from discreet.verbs.prove.syntax import At, children

_WORD = re.compile(
    r"""(?P<number>\d+(?:\.\d+)?)
      | (?P<name>[A-Za-z_][A-Za-z0-9_']*)
      | (?P<symbol>:=|\+\+|<=|>=|==|!=|\.\.|[-+*/<>=(),;:\[\]{}$])""",
    re.VERBOSE,
)
MAX_NUMBER_DIGITS = 1000
"""Most digits of a number."""
_BLANK = re.compile(r"[ \t]*")
_COMMENT = re.compile(r"#|(?<!\S)--(?!\S)")
_T = TypeVar("_T")
SCALARS = {"real": syntax.REAL, "int": syntax.INT, "bool": syntax.BOOL}
_FUNCTIONS = {"min": 2, "max": 2, "abs": 1, "xor": 2}
_MAX_NESTING = 32
"""Most levels of nested brackets or blocks."""
_MAX_HEIGHT = 100
"""Most levels of operations in one expression."""
_COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
_WORDS = (
    "adjacent by claim assume private public list of while do if else then emit return true false and or not size skip"
)
_KEYWORDS = {*_WORDS.split(), *SCALARS, *_FUNCTIONS}
"""Words of the language, besides the names of distributions."""


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
    return _parse_line(text, ProgramParser.expression)


def parse_adjacent(text: str) -> syntax.Adjacent:
    """Parse what stands behind ``adjacent``, such as ``all by 1``."""
    return _parse_line(text, ProgramParser.adjacent)


def _parse_line(text: str, rule: Callable[[ProgramParser], _T]) -> _T:
    reader = ProgramParser(text)
    parsed = rule(reader)
    reader.take("line")
    return parsed


def is_keyword(word: str) -> bool:
    """Whether a word cannot be the name of a variable."""
    return word in _KEYWORDS or word in DISTRIBUTIONS


class ProgramParser:
    """Parses programs, with one token of lookahead."""

    def __init__(self, text: str) -> None:
        self._lines = text.splitlines()
        self._tokens = tokenize(text)
        self.next = next(self._tokens)
        self._depth = 0
        self._callable: tuple[str, ...] = ()

    # -- tokens -------------------------------------------------------------------------------------------------------

    def error(self, what: str, at: syntax.At | None = None, hint: str = "") -> BadProgram:
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
            raise self.error(f"Expected {text!r} here, got {self.shown()}.", hint=hint)
        return self.step()

    def take(self, kind: str) -> Token:
        if self.next.kind != kind:
            called = {"line": "the end of the line", "in": "an indented block", "name": "a name", "number": "a number"}
            raise self.error(f"Expected {called.get(kind, kind)} here, got {self.shown()}.")
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
        if is_keyword(token.text):
            raise self.error(f"{token.text!r} is a reserved word and cannot be {what}.", token.at)
        return token

    def deeper(self, read: Callable[[], _T]) -> _T:
        """Call ``read`` one level deeper; too deep a nesting is refused before the stack overflows."""
        if self._depth >= _MAX_NESTING:
            raise self.error(f"This is nested more than {_MAX_NESTING} deep.", hint="Assign parts of it to variables.")
        self._depth += 1
        result = read()
        self._depth -= 1
        return result

    # -- programs -----------------------------------------------------------------------------------------------------

    def program(self, earlier: Sequence[syntax.Program]) -> syntax.Program:
        hint = "A program begins with its neighbours and its claim, such as: adjacent all by 1, then claim eps."
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
            raise self.error(f"A program {name.text} exists already.", name.at)
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
        self._callable = tuple(program.name for program in earlier)
        return syntax.Program(name.text, inputs, result, adjacent, epsilon, delta, tuple(assumes), self.statements())

    def adjacent(self) -> syntax.Adjacent:
        kind = self.take("name")
        if kind.text not in syntax.ADJACENCIES:
            raise self.error(f"adjacent must be one of {', '.join(syntax.ADJACENCIES)}, not {kind.text!r}.", kind.at)
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
            raise self.error("Expected an integer here.", token.at)
        return sign * int(token.text)

    # -- statements ---------------------------------------------------------------------------------------------------

    def statements(self) -> tuple[syntax.Statement, ...]:
        """Statements up to the end of the current block."""
        statements: list[syntax.Statement] = []
        while self.next.kind not in ("out", "end"):
            statements += self.line()
        if self.next.kind == "out":
            self.step()
        return tuple(statements)

    def line(self, behind: str = "") -> list[syntax.Statement]:
        """The statements of a line, or those ``behind`` the condition of an if or while on the same line."""
        statements: list[syntax.Statement] = []
        while True:
            if self.accept("skip"):
                pass
            elif self.sees("while", "if"):
                if behind:
                    hint = "Start an indented line with it: then it is clear which if an else belongs to."
                    raise self.error(f"{self.next.text!r} cannot follow {behind!r} on the same line.", hint=hint)
                statements.append(self.deeper(self.conditional))
                return statements
            else:
                statements.append(self.simple())
            if not self.accept(";") or self.next.kind == "line":
                break
        self.take("line")
        return statements

    def conditional(self) -> syntax.Statement:
        word = self.step()
        condition = self.expression()
        named = self.accept("do" if word.text == "while" else "then")
        body = self.block(word.text, colon=not named)
        if word.text == "while":
            return syntax.While(condition, body, word.at)
        other: tuple[syntax.Statement, ...] = ()
        if self.accept("else"):
            other = (self.deeper(self.conditional),) if self.sees("if") else self.block("else", colon=True)
        return syntax.If(condition, body, other, word.at)

    def block(self, behind: str, *, colon: bool) -> tuple[syntax.Statement, ...]:
        """An indented block, or what is left of the line; before that there may be a colon."""
        parted = self.accept(":") if colon else None
        if self.next.kind == "line":
            if parted:
                raise self.error("A colon can only stand before a statement on the same line.", parted.at, "Remove it.")
            self.step()
            self.take("in")
            return self.statements()
        return tuple(self.line(behind))

    def simple(self) -> syntax.Statement:
        if word := self.accept("emit"):
            return syntax.Emit(self.expression(), word.at)
        if word := self.accept("return"):
            return syntax.Return(self.expression(), word.at)
        name = self.fresh_name("a variable")
        self.expect(":=", hint="A statement is x := e, x := $ D(…), if, while, emit or return.")
        if self.accept("$"):
            return self.sample(name)
        if self.next.kind == "name" and self.next.text in self._callable:
            program = self.step().text
            self.expect("(")
            return syntax.Call(name.text, program, self.separated(")", self.expression), name.at)
        return syntax.Assign(name.text, self.expression(), name.at)

    def sample(self, name: Token) -> syntax.Sample:
        drawn = self.take("name")
        if drawn.text not in DISTRIBUTIONS:
            raise self.error(f"There is no distribution {drawn.text}; there are {', '.join(DISTRIBUTIONS)}.", drawn.at)
        declared = DISTRIBUTIONS[drawn.text]
        self.expect("(")
        arguments = self.separated(")", self.expression)
        complete = declared.complete(arguments, drawn.at)
        if complete is None:
            what = f"{drawn.text} takes {len(declared.parameters)} arguments, not {len(arguments)}."
            raise self.error(what, drawn.at, f"{declared.signature} gives {declared.meaning}.")
        return syntax.Sample(name.text, drawn.text, complete, name.at)

    # -- expressions --------------------------------------------------------------------------------------------------

    def expression(self) -> syntax.Expression:
        start = self.next.at
        expression = self.deeper(self.choice)
        if _height(expression) > _MAX_HEIGHT:
            raise self.error("This expression is too long.", start, "Assign parts of it to variables.")
        return expression

    def choice(self) -> syntax.Expression:
        expression, cases = self.either(), []
        while word := self.accept("if"):
            cases.append((self.either(), expression, word.at))
            self.expect("else")
            expression = self.either()
        for condition, then, at in reversed(cases):
            expression = syntax.Operation("if", (condition, then, expression), at)
        return expression

    def either(self) -> syntax.Expression:
        return self.chain(self.both, "or")

    def both(self) -> syntax.Expression:
        return self.chain(self.denied, "and")

    def denied(self) -> syntax.Expression:
        if word := self.accept("not"):
            return syntax.Operation("not", (self.deeper(self.denied),), word.at)
        return self.compared()

    def compared(self) -> syntax.Expression:
        left = self.joined()
        if word := self.accept(*_COMPARISONS, "="):
            operator = "==" if word.text == "=" else word.text
            return syntax.Operation(operator, (left, self.joined()), word.at)
        return left

    def joined(self) -> syntax.Expression:
        left = self.sum()
        while word := self.accept("++"):
            left = syntax.Joined(left, self.sum(), word.at)
        return left

    def sum(self) -> syntax.Expression:
        return self.chain(self.product, "+", "-")

    def product(self) -> syntax.Expression:
        return self.chain(self.signed, "*", "/", "xor")

    def signed(self) -> syntax.Expression:
        if word := self.accept("-"):
            return syntax.Operation("neg", (self.deeper(self.signed),), word.at)
        return self.atom()

    def atom(self) -> syntax.Expression:
        token = self.next
        if token.kind == "number":
            self.step()
            return syntax.Number(Fraction(token.text), token.at)
        if self.accept("true", "false"):
            return syntax.Truth(token.text == "true", token.at)
        if self.accept("("):
            inner = self.expression()
            self.expect(")")
            return inner
        if self.accept("["):
            return syntax.Listing(self.separated("]", self.expression), token.at)
        if self.accept("size"):
            return self.size(token.at)
        if self.accept(*_FUNCTIONS):
            self.expect("(")
            arguments = self.separated(")", self.expression)
            if len(arguments) != _FUNCTIONS[token.text]:
                raise self.error(f"{token.text} has {_FUNCTIONS[token.text]} arguments.", token.at)
            return syntax.Operation(token.text, arguments, token.at)
        if token.kind != "name" or is_keyword(token.text):
            raise self.error(f"Expected a value here, got {self.shown()}.")
        self.step()
        name = syntax.Name(token.text, token.at)
        if self.accept("["):
            index = self.expression()
            self.expect("]")
            return syntax.Item(name, index, token.at)
        return name

    def size(self, at: syntax.At) -> syntax.Size:
        self.expect("(")
        name = self.fresh_name("a list")
        self.expect(")")
        return syntax.Size(syntax.Name(name.text, name.at), at)

    def chain(self, part: Callable[[], syntax.Expression], *operators: str) -> syntax.Expression:
        left = part()
        while word := self.accept(*operators):
            left = syntax.Operation(word.text, (left, part()), word.at)
        return left

    def separated(self, end: str, part: Callable[[], _T]) -> tuple[_T, ...]:
        items: list[_T] = []
        while not self.accept(end):
            if items:
                self.expect(",")
            items.append(part())
        return tuple(items)


def _height(expression: syntax.Expression) -> int:
    """Height of an expression's tree, computed without recursion."""
    layer: tuple[syntax.Expression, ...] = (expression,)
    height = 0
    while layer:
        height += 1
        layer = tuple(part for one in layer for part in children(one))
    return height


# -- tokens ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Token:
    """A token: a ``number``, ``name`` or ``symbol``, or one of the layout: ``line``, ``in``, ``out``, ``end``."""

    kind: str
    text: str
    at: At


def tokenize(text: str) -> Iterator[Token]:
    """The tokens of a text; blocks begin with ``in`` and end with ``out``."""
    depths = [0]
    last = At(1, 1)
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw[: found.start()] if (found := _COMMENT.search(raw)) else raw
        if not line.strip():
            continue
        if "\t" in line[: len(line) - len(line.lstrip())]:
            raise BadProgram("A line is indented by a tab.", At(number, 1), raw, hint="Indent by spaces.")
        depth = len(line) - len(line.lstrip(" "))
        yield from _layout(depths, depth, number, raw)
        place = depth
        while place < len(line.rstrip()):
            found = _WORD.match(line, place)
            if found is None:
                raise BadProgram(f"{line[place]!r} is not part of the language.", At(number, place + 1), raw)
            if found["number"] and len(found[0]) > MAX_NUMBER_DIGITS:
                raise BadProgram("This number has too many digits.", At(number, place + 1), raw[:MAX_NUMBER_DIGITS])
            yield Token(str(found.lastgroup), found[0], At(number, place + 1))
            blank = _BLANK.match(line, found.end())
            place = blank.end() if blank else found.end()
        last = At(number, len(line.rstrip()) + 1)
        yield Token("line", "", last)
    yield from (Token("out", "", last) for _ in depths[1:])
    yield Token("end", "", last)


def _layout(depths: list[int], depth: int, number: int, raw: str) -> Iterator[Token]:
    at = At(number, depth + 1)
    if depth > depths[-1]:
        depths.append(depth)
        yield Token("in", "", at)
    while depth < depths[-1]:
        depths.pop()
        yield Token("out", "", at)
    if depth != depths[-1]:
        raise BadProgram("The indentation of this line matches no line above it.", at, raw)
