"""Plans by the shape of a question: one that differs from an earlier one in literals alone is not planned again.

    SELECT sex, COUNT(*) FROM visits WHERE age > 60 AND ward = 'north' GROUP BY sex
    SELECT sex, COUNT(*) FROM visits WHERE age > [ ] AND ward = '[ ]' GROUP BY sex

A shape is the text around the literals of comparisons in WHERE, character by character, and whether each of these is a
text or a whole number. When a shape is met for the second time, it is planned with literals that are unlike any other,
and what the plan, its query, its fingerprint and its normal spelling have in their places is filled with the literals
of each further question.

Why no question gets another's answer. Two questions of a shape have the same tokens but for the literals, so they have
the same syntax tree but for those. A literal is only taken for a place to be filled if it stands directly beside a
column, in a comparison, BETWEEN or IN, below nothing but AND, OR and NOT in the WHERE of a question of one SELECT over
one table: there the planner (``scalar/conditions.py``) looks at a literal's kind, and otherwise puts it where it was.
It looks at values elsewhere: in conditions on a row's place within its unit, which bound what a unit adds, so rows with
such places have no shape; and for dates, which are read again here, and must be written as dates are. All other
literals (of SELECT, GROUP BY, HAVING, LIMIT, of functions) are part of the shape. The fingerprint is worked out of the
filled tree by the rules that all fingerprints come from (``fingerprint.py``), and the query is the one that enforces
contributions, with other literals in the same places. Above that, a shape is only used if, filled with the literals of
the question it was learnt from, it gives exactly what planning that question gave; all else is planned as ever.
"""

from __future__ import annotations

import datetime as dt
import re
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from sqlglot import Dialect, exp
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from discreet.core import sql
from discreet.core.engine import Written
from discreet.core.table import Table
from discreet.errors import BadQuery
from discreet.verbs.ask.fingerprint import Refillable
from discreet.verbs.ask.plan import Part, Plan
from discreet.verbs.ask.question import Planned, planned
from discreet.verbs.ask.spelling import today
from discreet.verbs.ask.syntax import LONGEST, parse_question, require_whole_characters

_COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE)
_SIGNS = {TokenType.EQ, TokenType.NEQ, TokenType.LT, TokenType.LTE, TokenType.GT, TokenType.GTE}
_ENDS = {TokenType.GROUP_BY, TokenType.HAVING, TokenType.ORDER_BY, TokenType.LIMIT, TokenType.QUALIFY}
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_MOST_DIGITS = 15
"""Number of digits up to which whole numbers are exact as doubles."""
_MOST_LITERALS = 50
_MOST_SHAPES = 256
_MOST_CHARACTERS = 1_000_000
"""Total length of the texts of all stored shapes, each of which takes a few hundred times its text."""

_Key: TypeAlias = tuple[object, ...]


@dataclass(frozen=True)
class _Cut:
    """A question, cut at the literals that may differ."""

    pieces: tuple[str, ...]
    literals: tuple[str, ...]
    """Their values, between the pieces."""
    texts: tuple[bool, ...]
    """Whether each is a text, and not a whole number."""


@dataclass(frozen=True)
class _Blanks:
    """A text with places that are filled."""

    pieces: tuple[str, ...]
    places: tuple[int, ...]
    """The number of the literal behind each piece but the last."""

    @classmethod
    def of(cls, text: str, marks: Sequence[str]) -> _Blanks:
        """A text in which literals stand as they are written in SQL."""
        numbers = {mark: number for number, mark in enumerate(marks)}
        parts = re.split("|".join(f"({re.escape(mark)})" for mark in marks), text)
        found = [one for one in parts if one is not None]
        return cls(tuple(found[::2]), tuple(numbers[one] for one in found[1::2]))

    def fill(self, written: Sequence[str]) -> str:
        """The text with these in their places."""
        inner = zip(self.places, self.pieces[1:], strict=True)
        return self.pieces[0] + "".join(f"{written[place]}{piece}" for place, piece in inner)


@dataclass(frozen=True)
class Shape:
    """What questions of one shape have in common."""

    plan: Plan
    """With marks for literals."""
    marks: Mapping[str, int]
    """The number of the literal that each stands for."""
    texts: tuple[bool, ...]
    days: frozenset[int]
    """The literals that are compared with dates."""
    spelling: _Blanks
    query: _Blanks | None
    """What the engine is asked, if it takes text."""
    tolerant: bool
    prints: Refillable

    def fill(self, literals: Sequence[str]) -> Planned | None:
        """The plan of a question; ``None`` if it has to be planned."""
        if not all(_is_day(literals[place]) for place in self.days):
            return None
        said = [_literal(one, text=text) for one, text in zip(literals, self.texts, strict=True)]
        written = [one.sql("duckdb") for one in said]
        as_asked = [one if text else given for one, text, given in zip(written, self.texts, literals, strict=True)]
        (part,) = self.plan.parts
        owned = replace(part.rows.owned, query=_filled(part.rows.owned.query, self.marks, said))
        query = None if self.query is None else Written(self.query.fill(written), self.tolerant)
        filled = replace(part, rows=replace(part.rows, owned=owned), written=query)
        text = self.spelling.fill(as_asked)
        return Planned(text, replace(self.plan, parts=(filled,)), self.prints.fingerprint(said))


class Shapes:
    """The shapes of the last questions. Threads may share it."""

    def __init__(self) -> None:
        self._kept: OrderedDict[_Key, Shape | None] = OrderedDict()
        """``None``: questions of this shape are planned each time."""
        self._met: OrderedDict[_Key, None] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()

    def find(self, text: str, named: Sequence[str]) -> Planned | None:
        """The plan of a question about tables of these identities, if its shape is known."""
        cut = _cut(text)
        if cut is None:
            return None
        with self._lock:
            key = _key(cut, named)
            shape = self._kept.get(key)
            if shape is not None:
                self._kept.move_to_end(key)
        return None if shape is None else shape.fill(cut.literals)

    def learn(self, text: str, found: Planned, tables: Mapping[str, Table], named: Sequence[str]) -> None:
        """Note how a question was planned, from the second of its shape on: most are asked once."""
        cut = _cut(text)
        if cut is None:
            return
        key = _key(cut, named)
        with self._lock:
            if key in self._kept:
                return
            again = key in self._met
            self._met[key] = None
            while len(self._met) > _MOST_SHAPES:
                self._met.popitem(last=False)
        if again:
            self._keep(key, _learnt(cut, found, tables))

    def _keep(self, key: _Key, shape: Shape | None) -> None:
        with self._lock:
            self._met.pop(key, None)
            if key not in self._kept:
                self._size += _size(key)
            self._kept[key] = shape
            while self._size > _MOST_CHARACTERS or len(self._kept) > _MOST_SHAPES:
                self._size -= _size(self._kept.popitem(last=False)[0])


def _key(cut: _Cut, named: Sequence[str]) -> _Key:
    """A shape means something else where tables do, and on another day."""
    return cut.pieces, cut.texts, tuple(named), today()


def _size(key: _Key) -> int:
    return len(str(key[0]))


def _is_day(text: str) -> bool:
    """Whether a text is a day in the one way that days are written."""
    if _DAY.fullmatch(text) is None or not text.isascii():
        return False
    try:
        return dt.date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def _literal(value: str, *, text: bool) -> exp.Literal:
    made = sql.literal(value if text else int(value))
    assert isinstance(made, exp.Literal)  # noqa: S101  # texts and whole numbers are
    return made


def _filled(tree: exp.Query, marks: Mapping[str, int], said: Sequence[exp.Literal]) -> exp.Query:
    copied = tree.copy()
    for node in list(copied.find_all(exp.Literal)):
        if (place := marks.get(node.name)) is not None:
            node.set("this", said[place].this)
    return copied


# -- cutting a question


def _cut(text: str) -> _Cut | None:
    """A question of one SELECT and one WHERE, cut at the literals of its comparisons; ``None`` for others."""
    require_whole_characters(text)
    if len(text) > LONGEST:
        return None
    try:
        tokens = Dialect.get_or_raise("duckdb").tokenize(text)
    except SqlglotError:
        return None
    kinds = [one.token_type for one in tokens]
    if kinds.count(TokenType.SELECT) != 1 or kinds.count(TokenType.WHERE) != 1 or TokenType.WITH in kinds:
        return None
    pieces, literals, texts, last = [], [], [], 0
    for place in _places(kinds, kinds.index(TokenType.WHERE) + 1):
        one = tokens[place]
        if not _is_plain(one, text):
            return None
        pieces.append(text[last : one.start])
        literals.append(one.text)
        texts.append(one.token_type is TokenType.STRING)
        last = one.end + 1
    if not literals or len(literals) > _MOST_LITERALS:
        return None
    return _Cut((*pieces, text[last:]), tuple(literals), tuple(texts))


def _is_plain(one: Token, text: str) -> bool:
    """Whether a token is written in the one way a text is, or is a whole number that is not too large."""
    raw = text[one.start : one.end + 1]
    if one.token_type is TokenType.STRING:
        return raw == "'" + one.text.replace("'", "''") + "'"
    return raw == one.text and raw.isascii() and raw.isdecimal() and len(raw) <= _MOST_DIGITS


def _places(kinds: Sequence[TokenType], start: int) -> list[int]:
    """Where the literals of comparisons are; whether they are that is for the syntax tree to say."""
    found, inside, between = [], False, False
    for place in range(start, len(kinds)):
        kind, before = kinds[place], kinds[place - 1]
        after = kinds[place + 1] if place + 1 < len(kinds) else None
        if kind in _ENDS:
            break
        if kind is TokenType.L_PAREN and before is TokenType.IN:
            inside = True
        elif kind is TokenType.R_PAREN:
            inside = False
        elif kind is TokenType.BETWEEN:
            between = True
        elif kind in (TokenType.STRING, TokenType.NUMBER):
            behind = kinds[place - 2] if before is TokenType.DATE else before
            ends = between and behind in (TokenType.BETWEEN, TokenType.AND)
            between = between and not (ends and behind is TokenType.AND)
            if inside or ends or behind in _SIGNS or after in _SIGNS:
                found.append(place)
    return found


# -- learning a shape


def _learnt(cut: _Cut, example: Planned, tables: Mapping[str, Table]) -> Shape | None:
    """The shape of a question, if filling it with the question's own literals gives the question's own plan."""
    if not (marks := _marks(cut)):
        return None
    quoted = [_literal(mark, text=text).sql("duckdb") for mark, text in zip(marks, cut.texts, strict=True)]
    text = "".join(f"{piece}{one}" for piece, one in zip(cut.pieces, [*quoted, ""], strict=True))
    numbers = {mark: number for number, mark in enumerate(marks)}
    try:
        if not _opaque(parse_question(text), numbers):
            return None
        marked = planned(text, tables)
    except BadQuery:
        return None
    if len(marked.plan.parts) != 1:
        return None
    (part,) = marked.plan.parts
    if part.rows.reads != 1 or part.rows.owned.places or not _only_in_rows(marked.plan, numbers):
        return None
    query = part.query if part.rows.engine.takes_text and not _is_drawn(part) else None
    shape = Shape(
        marked.plan,
        numbers,
        cut.texts,
        frozenset(
            numbers[one.name]
            for one in part.rows.owned.query.find_all(exp.Literal)
            if one.name in numbers and isinstance(one.parent, exp.Cast) and one.is_string
        ),
        _Blanks.of(marked.text, quoted),
        None if query is None else _Blanks.of(query.sql(part.rows.engine.dialect), quoted),
        bool(query is not None and sql.attempts(query)),
        Refillable(marked.plan, tables, numbers),
    )
    return shape if _gives(shape, cut.literals, example) else None


def _gives(shape: Shape, literals: Sequence[str], example: Planned) -> bool:
    found = shape.fill(literals)
    if found is None or (found.text, found.fingerprint) != (example.text, example.fingerprint):
        return False
    (mine,), (theirs,) = found.plan.parts, example.plan.parts
    dialect = theirs.rows.engine.dialect
    text = theirs.query.sql(dialect)
    if mine.written is not None and mine.written != Written(text, bool(sql.attempts(theirs.query))):
        return False
    return mine.query.sql(dialect) == text and found.plan == example.plan


def _marks(cut: _Cut) -> list[str]:
    """Literals unlike any other in the question: days where there were days, since others would not be read."""
    marks: list[str] = []
    first = dt.date(7001, 1, 1).toordinal()
    number = 731_946_205_173_001
    for place, (literal, text) in enumerate(zip(cut.literals, cut.texts, strict=True)):
        day = dt.date.fromordinal(first + place).isoformat()
        marks.append((day if _is_day(literal) else f"discreet literal {place:03}") if text else str(number + place))
    return marks if not any(mark in piece for mark in marks for piece in (*cut.pieces, *cut.literals)) else []


def _opaque(question: exp.Query, marks: Mapping[str, int]) -> bool:
    """Whether each mark stands once, beside a column, in a condition of the question's own WHERE."""
    found = [one for one in question.find_all(exp.Literal) if one.name in marks]
    return sorted(marks[one.name] for one in found) == list(range(len(marks))) and all(
        _is_compared(one, question) for one in found
    )


def _is_compared(literal: exp.Literal, question: exp.Query) -> bool:
    node: exp.Expr = literal
    if isinstance(node.parent, exp.Cast) and literal.is_string and node.parent.to.is_type("date"):
        node = node.parent
    above = node.parent
    if isinstance(above, _COMPARISONS):
        beside = above.expression if above.this is node else above.this
    elif isinstance(above, exp.Between | exp.In) and above.this is not node:
        beside = above.this
    else:
        return False
    while isinstance(above.parent, exp.And | exp.Or | exp.Not | exp.Paren):
        above = above.parent
    if not (isinstance(beside, exp.Column) or (isinstance(beside, exp.Literal) and beside.is_string)):
        return False
    return isinstance(above.parent, exp.Where) and above.parent is question.args.get("where")


def _only_in_rows(plan: Plan, marks: Mapping[str, int]) -> bool:
    """Whether the marks are nowhere in a plan but in the query of its rows."""
    (part,) = plan.parts
    trees: list[exp.Expr | None] = [plan.after, *(value.sql for value in part.keys.values())]
    trees += [tree for one in part.measures.values() for tree in (one.sql, one.large)]
    trees += part.rows.owned.cut_by
    literals = (one for tree in trees if tree is not None for one in tree.find_all(exp.Literal))
    return not part.quantiles and not any(one.name in marks for one in literals)


def _is_drawn(part: Part) -> bool:
    """Whether the query is made for each answer anew."""
    return any(one.large is not None for one in part.measures.values())
