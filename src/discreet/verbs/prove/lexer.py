"""Lexer: a program's text as tokens with their places; indentation becomes tokens too.

A block is what is indented deeper than the line before it, as in Python; ``;`` separates statements on one line. ``#``
begins a comment, and so does ``--`` with a blank (or the end of the line) on both sides: ``x--1`` is a difference.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from discreet.errors import BadProgram
from discreet.verbs.prove.syntax import At

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
                raise BadProgram(f"{line[place]!r} is no part of the language.", At(number, place + 1), raw)
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
        raise BadProgram("This line is indented like no line above it.", at, raw)
