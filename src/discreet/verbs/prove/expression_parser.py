"""Recursive-descent parser of expressions, after the grammar in docs/language.md."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TypeVar

from discreet.errors import BadProgram
from discreet.verbs.prove import syntax
from discreet.verbs.prove.distributions import DISTRIBUTIONS
from discreet.verbs.prove.lexer import Token, tokenize
from discreet.verbs.prove.traverse import children

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


def is_keyword(word: str) -> bool:
    """Whether a word cannot be the name of a variable."""
    return word in _KEYWORDS or word in DISTRIBUTIONS


class ExpressionParser:
    """Parses expressions, with one token of lookahead."""

    def __init__(self, text: str) -> None:
        self._lines = text.splitlines()
        self._tokens = tokenize(text)
        self.next = next(self._tokens)
        self._depth = 0

    # -- words --------------------------------------------------------------------------------------------------------

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
        if is_keyword(token.text):
            raise self.error(f"{token.text!r} is a word of the language and cannot be {what}.", token.at)
        return token

    def deeper(self, read: Callable[[], _T]) -> _T:
        """Call ``read`` one level deeper; too deep a nesting is refused before the stack overflows."""
        if self._depth >= _MAX_NESTING:
            raise self.error(
                f"This is nested more than {_MAX_NESTING} deep.", hint="Give parts of it names of their own."
            )
        self._depth += 1
        result = read()
        self._depth -= 1
        return result

    # -- expressions --------------------------------------------------------------------------------------------------

    def expression(self) -> syntax.Expression:
        start = self.next.at
        expression = self.deeper(self.choice)
        if _height(expression) > _MAX_HEIGHT:
            raise self.error("This is too much for one value.", start, "Give parts of it names of their own.")
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
            raise self.error(f"Here a value is expected, not {self.shown()}.")
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
