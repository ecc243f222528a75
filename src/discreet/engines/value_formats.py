"""How texts of columns are written: kinds, formats of dates, decimal marks, words for true and false, and marks for
missing values, also where some values break the pattern.

Some rows propose how a column is written, and all rows decide: the expressions that read a card's columns
(``engines/text_values.py``) count on the engine what fits, over the distinct values. What does not fit may lead to
another proposal, once. A column is typed if nine in ten of its values fit; the others are listed and asked about. Where
two readings fit equally, the column stays text and the holder is asked.
"""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import product

from sqlglot import exp

from discreet.core import sql
from discreet.core.draft import SAMPLE, Reading, answers_of, figures_of
from discreet.core.engine import Engine
from discreet.core.kind import MOMENTS, Kind
from discreet.core.text import CODES, number, words
from discreet.core.text_format import TextFormat, parts_of
from discreet.core.vocabulary import hints
from discreet.engines.text_values import (
    FALSE,
    SPACES,
    TRUE,
    Written,
    canonical,
    date_patterns,
    looks,
    misfit,
    prepared,
)

_MOSTLY = 0.9
_FEWEST = 20
"""Texts of a column to propose by, unless there are fewer."""
_RARE = 200
"""A format is proposed if no fewer than one in that many values have it."""
_SYMBOLS = (
    *("?", "??", "-", "--", "\N{EN DASH}", "\N{EM DASH}", ".", "..", "...", "/", "na", "n/a", "n.a.", "n. a.", "#n/a"),
    *("#na", "#nv", "#null!", "null", "(null)", "<na>", "\\n", "nan", "nil", "k.a.", "k. a.", "k.a", "o.a."),
    *("keine angabe", "non renseigné", "n.d.", "s/d"),
)
"""Marks that stand for a missing value in whatever column, in lower case."""
_WORDS = (
    *("none", "unknown", "unbekannt", "inconnu", "inconnue", "desconocido", "desconocida", "missing", "fehlt"),
    *("fehlend", "not known", "nicht bekannt", "ohne angabe", "not available", "no data", "unspecified", "sin datos"),
)
"""Words that do so in a column of numbers, dates or truths, and may do so in one of texts."""
_MARKS = (*_SYMBOLS, *_WORDS)
_LONGEST_MARK = max(map(len, _MARKS))
_TRUTHS = (
    (TRUE, FALSE),
    (("yes", "y", "true"), ("no", "n", "false")),
    (("ja", "j", "wahr"), ("nein", "n", "falsch")),
    (("oui", "vrai"), ("non", "faux")),
    (("sí", "si", "verdadero"), ("no", "falso")),
)
_STYLES: tuple[tuple[str | None, str | None], ...] = (
    *((None, None), (",", None), (None, ","), (",", "."), (None, " "), (",", " "), (None, "'"), (",", "'")),
    (",", "\N{NO-BREAK SPACE}"),
)
"""Decimal and thousands marks, the likeliest first."""
_DATES = (
    *("%Y-%m-%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d", "%Y.%m.%d", "%d.%m.%y"),
    *("%d/%m/%y", "%m/%d/%y", "%d-%m-%y", "%d %b %Y", "%d-%b-%Y", "%b %d, %Y", "%d%b%Y", "%Y%m%d"),
)
_TIMES = (
    *("", " %H:%M", " %H:%M:%S", " %H:%M:%S.%f", "T%H:%M", "T%H:%M:%S", "T%H:%M:%S.%f"),
    *(", %H:%M", " %I:%M %p", " %I:%M:%S %p"),
)
_ISO = frozenset(f"%Y-%m-%d{time}" for time in _TIMES[:7])
"""Formats that are read without being declared."""
_SWAPPED = {"%d/%m": "%m/%d", "%m/%d": "%d/%m", "%d-%m": "%m-%d", "%m-%d": "%d-%m"}
_PARTS = {"%Y": "year", "%y": "year of two digits", "%m": "month", "%d": "day", "%b": "month's name", "%H": "hour"}
_PARTS |= {"%I": "hour", "%M": "minute", "%S": "second", "%f": "fraction", "%p": "AM or PM"}
_BIRTH = frozenset(
    {"birth", "birthday", "birthdate", "born", "dob", "geburt", "geburtsdatum", "naissance", "nacimiento"}
)


def detect(engine: Engine, text: exp.Query, names: Sequence[str]) -> dict[str, Reading]:
    """How each of these columns of texts is to be read, and why."""
    figures: list[exp.Expr] = []
    for name in names:
        value = sql.column(name)
        short = exp.Length(this=value.copy()) <= _LONGEST_MARK
        marked = exp.and_(short, exp.Lower(this=value.copy()).isin(*_MARKS))
        around = exp.RegexpLike(this=value.copy(), expression=sql.literal(f"^[{SPACES}]|[{SPACES}]$"))
        figures += [exp.Count(this=value), sql.count_if(around), sql.count_if(marked)]
    if not names:
        return {}
    counts = iter(sql.aggregates(engine, text, figures))
    sample = engine.fetch(exp.select(*map(sql.column, names)).from_(text.subquery("t")).limit(SAMPLE)).to_pydict()
    found = {}
    for name in names:
        filled, spaces, marked = (next(counts) for _ in range(3))
        stripped = (one.strip(SPACES) for one in sample[name] if one is not None)
        plain = [one for one in stripped if one and one.lower() not in _MARKS]
        found[name] = _Texts(engine, text, name, filled, bool(spaces), bool(marked or spaces)).reading(plain)
    return found


def as_read(name: str, reading: Reading, dialect: str) -> exp.Expr:
    """The values of a column of texts, as they are to be read; NULL where one does not fit."""
    value = prepared(sql.column(name), reading.text, dialect)
    if reading.kind is not Kind.TEXT:
        value = exp.cast(canonical(value, Written(reading.kind, reading.text), dialect), sql.sql_type(reading.kind))
    return sql.named(value, name)


@dataclass(frozen=True)
class _Texts:
    """The texts of one column."""

    engine: Engine
    text: exp.Query
    name: str
    filled: int
    spaces: bool
    """Whether there are spaces around some."""
    marked: bool
    """Whether some may stand for a missing value."""

    def reading(self, plain: Sequence[str]) -> Reading:
        """How they are to be read; ``plain`` are some of them, without marks."""
        if not self.filled:
            return Reading(Kind.TEXT)
        if len(plain) < min(_FEWEST, self.filled):
            plain = [one for one, _ in self._most(self._marks.not_())]
        proposed = _proposed(self.name, plain)
        for last in (False, True):
            if proposed is None:
                return self._as_text(plain)
            total, fits, question = self._judged(proposed)
            misfits = self._most(exp.and_(self._marks.not_(), self._misfit(proposed))) if fits < total else []
            again = _proposed(self.name, [*plain, *(one for one, _ in misfits)]) if misfits and not last else proposed
            if again == proposed:
                break
            proposed = again
        if fits < _MOSTLY * total or proposed is None:
            return self._as_text(plain)
        if question:
            return replace(self._as_text(plain), said=(question,))
        return self._typed(proposed, fits, total, misfits)

    def _typed(self, written: Written, fits: int, total: int, misfits: Sequence[tuple[str, int]]) -> Reading:
        marks = self._most(self._marks) if self.marked else []
        said = [_described(written, fits, total)] if misfits or written.text != TextFormat() else []
        if misfits:
            said[0] += f"; {number(total - fits, 'does not', 'do not')}: {_shown(misfits)}"
            said.append('They are errors: correct them, list them in missing, or declare: misfit = "missing"')
        if marks:
            said.append(f"{_shown(marks)}: treated as missing")
        if any("%y" in one for one in written.text.formats):
            said.append("Years of two digits are read as 1970 to 2069: is that right?")
        kind, dialect = written.kind, self.engine.dialect
        value = exp.cast(canonical(sql.column("v"), written, dialect), sql.sql_type(kind))
        groups = self._groups.where(self._marks.not_())
        typed, rows = sql.column("v"), exp.select(sql.named(value, "v"), sql.column("n")).from_(groups.subquery("g"))
        there = exp.Sum(this=exp.case().when(typed.is_(exp.null()).not_(), sql.column("n")))
        figures = [there, exp.Count(this=exp.Distinct(expressions=[typed])), *figures_of(typed, kind)]
        filled, distinct, *more = sql.aggregates(self.engine, rows, figures)
        counted = {"filled": int(filled or 0), "distinct": distinct, **answers_of(kind, iter(more))}
        text = replace(written.text, missing=tuple(sorted(one for one, _ in marks)) or None, trim=self.spaces or None)
        return Reading(kind, text, tuple(said), counted)

    def _as_text(self, plain: Sequence[str]) -> Reading:
        """Reading as text, with marks that clearly are some."""
        said = []
        others = [(one, 1) for one in dict.fromkeys(plain) if not _is_number(one, None, None)]
        numbers = sum(_is_number(one, None, None) for one in plain)
        if len(plain) / 2 < numbers < len(plain):
            share = f"{100 * numbers // len(plain)} % of the texts"
            said.append(f"Mixed: {share} are numbers; others are not, such as {_shown(others)}. It stays text")
        marks = self._most(self._marks) if self.marked else []
        codes = sum(bool(re.fullmatch("[A-Z]{2}", one)) for one in plain) > len(plain) / 2
        doubtful = {*_WORDS, *(["na"] if codes else []), *(["-"] if "+" in plain else [])}
        clear = [one for one in marks if one[0].lower() not in doubtful]
        if clear:
            said.append(f"{_shown(clear)}: treated as missing")
        if unclear := [one for one in marks if one not in clear]:
            every = json.dumps(sorted(one for one, _ in marks), ensure_ascii=False)
            said.append(f"If {_shown(unclear)} means a missing value, declare: missing = {every}")
        missing = tuple(sorted(one for one, _ in clear)) or None
        return Reading(Kind.TEXT, TextFormat(missing=missing, trim=self.spaces or None), tuple(said))

    def _judged(self, written: Written) -> tuple[int, int, str]:
        """How many texts there are, how many fit, and what must be asked before they are read so; empty if nothing."""
        doubts = list(self._doubts(written))
        conditions = [exp.true(), exp.not_(self._misfit(written)), *(condition for condition, _, _ in doubts)]
        shares = [exp.case().when(exp.and_(self._marks.not_(), one), sql.column("n")) for one in conditions]
        answers = sql.aggregates(self.engine, self._groups, [exp.Sum(this=one) for one in shares])
        total, fits, *counts = (int(one or 0) for one in answers)
        asked = (say for (_, every, say), count in zip(doubts, counts, strict=True) if count >= (fits if every else 1))
        return total, fits, next(asked, "")

    def _doubts(self, written: Written) -> Iterator[tuple[exp.Expr, bool, str]]:
        """What speaks against a reading: a condition, whether all texts that fit must meet it, and the question."""
        value, text = sql.column("v"), written.text
        if written.kind is Kind.INTEGER:
            zeros = looks(value, "[+-]?0[0-9]+", self.engine.dialect)
            yield zeros, False, "Codes: leading zeros would be lost in numbers, so it stays text"
        if written.kind is Kind.REAL and text.decimal and not text.thousands:
            either = 'declare the kind and: decimal = "," or thousands = ","'
            said = f"1,234 may have a decimal comma or a thousands mark; {either}"
            yield looks(value, "[+-]?([1-9][0-9]{0,2},[0-9]{3}|[0-9]+)", self.engine.dialect), True, said
        swaps = {one: _swap(one) for one in text.formats if _swap(one) != one}
        if swaps:
            other = replace(text, format=tuple(swaps.get(one, one) for one in text.formats))
            both = " or ".join(f'"{one}"' for pair in swaps.items() for one in pair)
            said = f'All values fit both; declare: kind = "{written.kind.value}", format = {both}'
            yield exp.not_(self._misfit(Written(written.kind, other))), True, f"Day or month first? {said}"

    # -- counted on the engine, over the distinct values

    @property
    def _groups(self) -> exp.Select:
        value = prepared(sql.column(self.name), TextFormat(trim=self.spaces or None), self.engine.dialect)
        values = exp.select(sql.named(value, "v")).from_(self.text.subquery("t"))
        counted = exp.select(sql.column("v"), sql.named(sql.count_rows(), "n")).from_(values.subquery("t"))
        there = exp.and_(sql.column("v").is_(exp.null()).not_(), sql.column("v").neq(sql.literal("")))
        return exp.select("*").from_(counted.where(there).group_by(sql.column("v")).subquery("g"))

    @property
    def _marks(self) -> exp.Expr:
        return exp.Lower(this=sql.column("v")).isin(*_MARKS)

    def _misfit(self, written: Written) -> exp.Expr:
        return misfit(sql.column("v"), written, self.engine.dialect)

    def _most(self, condition: exp.Expr) -> list[tuple[str, int]]:
        """The most frequent values that meet a condition, and how many rows have each."""
        query = self._groups.where(condition).order_by(sql.column("n").desc(), sql.column("v")).limit(100)
        return [(one["v"], one["n"]) for one in self.engine.fetch(query).to_pylist()]


# -- proposals, from some values


def _proposed(name: str, values: Sequence[str]) -> Written | None:
    """What most of the values are, and how they are written; ``None`` if they are texts."""
    if not values or words(name) & CODES:
        return None
    spelled = {one.casefold() for one in values}
    for place, (true, false) in enumerate(_TRUTHS):
        if spelled <= {*true, *false} and spelled & {*true} and spelled & {*false} and not spelled <= {"0", "1"}:
            if not place:
                return Written(Kind.BOOLEAN)
            used = [tuple(one for one in known if one in spelled) for known in (true, false)]
            return Written(Kind.BOOLEAN, TextFormat(true=used[0], false=used[1]))
    dates = _formats(name, values)
    if dates and sum(_is_date(one, dates) for one in values) >= _MOSTLY * len(values):
        timed = any("%H" in one or "%I" in one for one in dates)
        format_ = None if set(dates) <= _ISO else dates if len(dates) > 1 else dates[0]
        return Written(Kind.TIMESTAMP if timed else Kind.DATE, TextFormat(format=format_))
    fits = {style: sum(_is_number(one, *style) for one in values) for style in _STYLES}
    decimal, thousands = max(fits, key=lambda style: fits[style])
    if fits[decimal, thousands] < _MOSTLY * len(values):
        return None
    numbers = [one for one in values if _is_number(one, decimal, thousands)]
    whole = all(re.fullmatch(r"[+-]?[0-9]+", one.replace(thousands or "\0", "")) for one in numbers)
    grouped = any(thousands and thousands in one for one in numbers)
    text = TextFormat(decimal=None if whole else decimal, thousands=thousands if grouped else None)
    return Written(Kind.INTEGER if whole else Kind.REAL, text)


@cache
def _number_pattern(decimal: str | None, thousands: str | None) -> re.Pattern[str]:
    whole = rf"([0-9]{{1,3}}([{thousands}][0-9]{{3}})+|[0-9]{{1,18}})" if thousands else "[0-9]{1,18}"
    mark = f"[{decimal or '.'}]"
    return re.compile(rf"[+-]?({whole}({mark}[0-9]*)?|{mark}[0-9]+)([eE][+-]?[0-9]{{1,3}})?")


def _is_number(value: str, decimal: str | None, thousands: str | None) -> bool:
    return _number_pattern(decimal, thousands).fullmatch(value) is not None


def _formats(name: str, values: Sequence[str]) -> tuple[str, ...]:
    """The formats that most values are dates by, the most frequent first, each for what those before it leave."""
    known = [date + time for time, date in product(_TIMES, _DATES) if date != "%Y%m%d" or (not time and _timely(name))]
    left = [one for one in values if one[:1].isalnum() and any(character.isdigit() for character in one)]
    found: list[str] = []
    while left:
        counts = {one: sum(_is_date(value, (one,)) for value in left) for one in known}
        best = max(counts, key=lambda one: counts[one])
        if counts[best] < max(1, len(values) / _RARE):
            break
        found.append(best)
        known = [one for one in known if one not in (best, _swap(best))]
        left = [value for value in left if not _is_date(value, (best,))]
    return tuple(found)


def _timely(name: str) -> bool:
    """Whether a name speaks of a time: eight digits may be anything else."""
    return any(theme == "a time" or word in _BIRTH for _, theme, word in hints(name))


@cache
def _date_pattern(format_: str) -> re.Pattern[str]:
    return re.compile("".join(date_patterns(parts_of(format_))))


def _is_date(value: str, formats: Sequence[str]) -> bool:
    """Whether a text is a date by one of some formats."""
    for one in formats:
        if _date_pattern(one).fullmatch(value):
            try:
                dt.datetime.strptime(value, one)
            except ValueError:
                continue
            return True
    return False


def _swap(format_: str) -> str:
    """The format with day and month the other way round, where only values can tell."""
    if format_.startswith("%Y"):
        return format_
    return next((format_.replace(one, other) for one, other in _SWAPPED.items() if one in format_), format_)


# -- in words


def _described(written: Written, fits: int, total: int) -> str:
    share = "All" if fits == total else f"{1000 * fits // total / 10:g} %"
    said, text = f"{share} read as", written.text
    if written.kind in MOMENTS:
        shown = " or ".join("".join(_PARTS.get(part, part) for part in parts_of(one)) for one in text.formats)
        return f"{said} {'dates' if written.kind is Kind.DATE else 'dates and times'} {shown or 'year-month-day'}"
    if written.kind is Kind.BOOLEAN:
        return f"{said} true ({', '.join(text.true or ('true',))}) or false ({', '.join(text.false or ('false',))})"
    marks = ["a decimal comma"] if text.decimal else []
    marks += [f"the thousands mark {text.thousands!r}"] if text.thousands else []
    kind = "whole numbers" if written.kind is Kind.INTEGER else "numbers"
    return f"{said} {kind}{' with ' if marks else ''}{' and '.join(marks)}"


def _shown(values: Sequence[tuple[str, int]]) -> str:
    """Some values with the numbers of their rows."""
    parts = [f"`{one[:40]}`" + (f" ({rows:,})" if rows > 1 else "") for one, rows in values[:5]]
    return ", ".join(parts) + (" …" if len(values) > 5 else "")
