"""One word after the other, and what is made of them in a line: the values of the grammar in docs/language.md."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TypeVar

from discreet.errors import BadProgram
from discreet.verbs.prove.inside import inside
from discreet.verbs.prove.syntax import (
    BOOL,
    DISTRIBUTIONS,
    INT,
    REAL,
    At,
    Expression,
    Item,
    Joined,
    Listing,
    Name,
    Number,
    Operation,
    Size,
    Truth,
)
from discreet.verbs.prove.tokens import Token, tokens

_T = TypeVar("_T")
SCALARS = {"real": REAL, "int": INT, "bool": BOOL}
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
    *("return", "true", "false", "and", "or", "not", "size", "skip", *SCALARS, *_FUNCTIONS, *DISTRIBUTIONS),
}
"""Words that no variable may have as its name."""


class Reader:
    """Reads values from a text, from its beginning, one word ahead."""

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
