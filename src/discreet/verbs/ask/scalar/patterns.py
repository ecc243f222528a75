"""Regular expressions with a bounded cost: whether a text has a match, the same on every engine.

DuckDB's engine (RE2) takes time in proportion to the text. PostgreSQL's and Java's, which Spark has, go back and try
other ways, and some short patterns make Java's take longer than anyone waits. So a pattern is read here, and written
anew from few parts: characters, classes, ``.``, groups, ``|``, ``^``, ``$``, ``?``, ``{m,n}``, and ``*`` and ``+`` of a
single character or class. For these all ways to match can be counted beforehand: a repetition of one character in a
text of L has at most L + 1, alternatives add up, and what follows each other multiplies. An engine that goes back
follows a tree of choices from each place of the text. Each of its leaves is a way. Between two choices it compares each
part of the pattern once at most, and each further character that a repetition takes is a choice itself. So

    places · ways · (parts of the pattern + 1)

bounds its comparisons, and is counted with those of all other searches (``syntax.py``). There are no references to
groups, which no automaton can follow, and no look to the side, which RE2 does not have.

Whether there is a match does not depend on which of several is taken, so greedy, lazy, leftmost and longest are one.
What engines read differently is written out: ``.`` is anything but a line feed; digits, letters and spaces are those of
ASCII; and the end of a text is marked by a character put behind it, since Java's ``$`` also stands before a last line
feed.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlglot import exp

from discreet.core import sql
from discreet.core.kind import Kind
from discreet.errors import BadQuery
from discreet.verbs.ask.value import SEARCH, Reader, Rule, Value, said

_END = "\uffff"
"""Stands behind a text whose end matters: no character, so that no text has it."""
_LONGEST = 200
_MOST_REPEATED = 50
_MOST_WAYS = 10**6
_MOST_PARTS = 1000
"""Parts of a pattern in which all repetitions are written out. Engines refuse patterns with many more: RE2 such that
repeat one character more often, and nested repetitions of small numbers are that soon."""
_SPECIAL = frozenset("\\.[]{}()*+?^$|&-~#/ \t")
_CLASSES = {"d": "0-9", "w": "A-Za-z0-9_", "s": " \t\n\f\r"}
_CONTROLS = {"n": "\n", "t": "\t", "r": "\r"}


def matches(reader: Reader, node: exp.RegexpLike | exp.RegexpILike) -> Value:
    """Whether a regular expression matches anywhere in a text."""
    given = node.expression
    if not (isinstance(given, exp.Literal) and given.is_string):
        raise BadQuery(f"{said(node)}: a regular expression is a text in quotes.")
    flag = node.args.get("flag")
    if flag is not None and (not isinstance(flag, exp.Literal) or flag.name not in ("i", "c", "")):
        raise BadQuery(f"{said(node)}: only the flag 'i' is supported.")
    any_case = isinstance(node, exp.RegexpILike) or (flag is not None and flag.name == "i")
    value = reader.text(node.this)
    text: exp.Expr = exp.paren(value.sql.copy())
    pattern = _Pattern(given.name, value.characters, any_case)
    if pattern.any_case:
        text = exp.Lower(this=text)
    if pattern.ends:
        text = exp.paren(exp.DPipe(this=text, expression=sql.literal(_END), safe=False))
    made = exp.RegexpLike(this=text, expression=sql.literal(pattern.text))
    made.meta[SEARCH] = pattern.work
    return Value(made, Kind.BOOLEAN, domain=(False, True))


@dataclass(frozen=True)
class _Part:
    """A part of a pattern as it is written here."""

    text: str
    ways: int
    single: bool = False
    """Whether it is one character."""
    start: bool = False
    """Whether it begins at the start of the text."""


@dataclass
class _Pattern:
    given: str
    characters: int
    """Of the text, at most."""
    any_case: bool
    at: int = 0
    parts: int = 0
    ends: bool = False
    text: str = field(init=False)
    work: int = field(init=False)

    def __post_init__(self) -> None:
        if len(self.given) > _LONGEST or not self.given.isprintable() or not self.given:
            raise self._refused(f"is not one line of up to {_LONGEST} characters")
        if self.given.startswith("(?i)"):
            self.any_case, self.at = True, 4
        self.ends = "$" in self.given
        whole = self._alternatives()
        if self.at < len(self.given):
            raise self._refused("has a ) too many")
        long = self.characters + 1
        self.text, self.work = whole.text, (1 if whole.start else long) * whole.ways * (self.parts + 1)

    def _alternatives(self) -> _Part:
        several = [self._sequence()]
        while self._take("|"):
            several.append(self._sequence())
        ways = self._few(sum(one.ways for one in several))
        return _Part("|".join(one.text for one in several), ways, start=all(one.start for one in several))

    def _sequence(self) -> _Part:
        made: list[_Part] = []
        while self.at < len(self.given) and self.given[self.at] not in "|)":
            before = self.parts
            part = self._atom()
            made.append(self._repeated(part, 1 if part.single else self.parts - before))
        ways = 1
        for one in made:
            ways = self._few(ways * one.ways)
        return _Part("".join(one.text for one in made), ways, start=bool(made) and made[0].start)

    def _atom(self) -> _Part:
        self.parts += 1
        one = self._next()
        if one == "(":
            if self._take("?") and not self._take(":"):
                raise self._refused("has a group with options; only (?: …) and a first (?i) are supported")
            inner = self._alternatives()
            if not self._take(")"):
                raise self._refused("has a ( too many")
            return _Part(f"(?:{inner.text})", inner.ways, start=inner.start)
        if one == "[":
            return _Part(self._class(), 1, single=True)
        if one == ".":
            return _Part(self._none_of("\n"), 1, single=True)
        if one == "^":
            return _Part("^", 1, start=True)
        if one == "$":
            return _Part(_END, 1)
        if one in "*+?{}]":
            raise self._refused(f"has a {one} with nothing before it")
        if one == "\\":
            return self._escaped()
        return _Part(_escape(self._cased(one)), 1, single=True)

    def _escaped(self) -> _Part:
        one = self._next()
        if one.lower() in _CLASSES:
            listed = _CLASSES[one.lower()]
            return _Part(f"[{listed}]" if one.islower() else self._none_of(listed), 1, single=True)
        return _Part(_escape(self._literal(one)), 1, single=True)

    def _literal(self, escaped: str) -> str:
        if escaped.isalnum() and escaped not in _CONTROLS:
            raise self._refused(
                f"has \\{escaped}; \\d, \\w and \\s are supported, and \\ before anything that is not a letter"
            )
        return _CONTROLS.get(escaped, escaped)

    def _class(self) -> str:
        negated, listed, first = self._take("^"), "", True
        while first or self.given[self.at : self.at + 1] != "]":
            first = False
            self.parts += 1
            one = self._next()
            if one == "[" and self.given[self.at : self.at + 1] in (":", "=", "."):
                raise self._refused("has a named class; use \\d, \\w or \\s")
            if one == "\\":
                one = self._next()
                if one in _CLASSES:
                    listed += _CLASSES[one]
                    continue
                one = self._literal(one)
            following = self.given[self.at : self.at + 2]
            if len(following) == 2 and following[0] == "-" and following[1] != "]":
                self.at += 1
                last = self._next()
                last = self._literal(self._next()) if last == "\\" else last
                listed += self._range(one, last)
            else:
                listed += _escape(self._cased(one))
        self.at += 1
        return self._none_of(listed) if negated else f"[{listed}]"

    def _range(self, first: str, last: str) -> str:
        low, high = self._cased(first), self._cased(last)
        same = all(one.isascii() and one.isalpha() == first.isalpha() for one in (first, last))
        if not first <= last or (self.any_case and not (same and first.isupper() == last.isupper() and low <= high)):
            raise self._refused(f"has the range {first}-{last}")
        return f"{_escape(low)}-{_escape(high)}"

    def _none_of(self, listed: str) -> str:
        return f"[^{listed}{_END if self.ends else ''}]"

    def _repeated(self, part: _Part, parts: int) -> _Part:
        one = self.given[self.at : self.at + 1]
        if not one or one not in "*+?{":
            return part
        self.at += 1
        low, high = {"*": (0, None), "+": (1, None), "?": (0, 1)}.get(one) or self._counts()
        self._take("?")  # lazy is as good
        if self.given[self.at : self.at + 1] in ("?", "*", "+", "{"):
            raise self._refused("repeats a repetition")
        if part.text in ("^", _END):
            raise self._refused("repeats an anchor")
        text = {(0, None): "*", (1, None): "+", (0, 1): "?"}.get((low, high)) or self._braces(low, high)
        if high is None:
            if not part.single:
                raise self._refused("repeats a group without end; * and + take one character or class, a group {m,n}")
            self._several(low)
            return _Part(part.text + text, self.characters + 2)
        ways = 0
        for times in range(low, high + 1):
            ways = self._few(ways + part.ways**times)
        self._several(high * parts)
        return _Part(part.text + text, ways)

    def _several(self, parts: int) -> None:
        """Count parts that a repetition adds."""
        self.parts += parts
        if self.parts > _MOST_PARTS:
            raise self._refused("repeats too much")

    def _counts(self) -> tuple[int, int | None]:
        end = self.given.find("}", self.at)
        low, comma, high = self.given[self.at : max(end, self.at)].partition(",")
        self.at = end + 1
        limits = [int(one) for one in (low, high) if one.isascii() and one.isdecimal() and len(one) < 4]
        wanted = 1 + bool(high)
        if end < 0 or not low or len(limits) != wanted or max(limits) > _MOST_REPEATED or limits != sorted(limits):
            raise self._refused(f"has braces that are not {{m}}, {{m,}} or {{m,n}} with numbers to {_MOST_REPEATED}")
        return limits[0], (limits[-1] if high or not comma else None)

    @staticmethod
    def _braces(low: int, high: int | None) -> str:
        return f"{{{low}}}" if low == high else f"{{{low},{'' if high is None else high}}}"

    def _few(self, ways: int) -> int:
        if ways > _MOST_WAYS:
            raise self._refused("can match in too many ways")
        return ways

    def _cased(self, one: str) -> str:
        lower = one.lower()
        return lower if self.any_case and len(lower) == 1 else one

    def _next(self) -> str:
        if self.at >= len(self.given):
            raise self._refused("ends too early")
        self.at += 1
        return self.given[self.at - 1]

    def _take(self, wanted: str) -> bool:
        found = self.given.startswith(wanted, self.at)
        self.at += len(wanted) if found else 0
        return found

    def _refused(self, why: str) -> BadQuery:
        return BadQuery(f"The regular expression {self.given[:60]!r} {why}.", hint="LIKE '%a%' finds plain texts.")


def _escape(one: str) -> str:
    return f"\\{one}" if one in _SPECIAL and not one.isspace() else one


RULES: dict[type[exp.Expr], Rule] = {exp.RegexpLike: matches, exp.RegexpILike: matches}
