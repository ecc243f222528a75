"""Text into typed columns: strictly, with nothing rounded or guessed, and alike on every engine that opens files.

A value must look exactly like one of its kind. Booleans are true/false, t/f, yes/no or 1/0; dates and times are
ISO 8601 without a zone; a decimal has at most 18 digits after the point.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sqlglot import exp

from discreet.core import sql
from discreet.core.engine import Engine
from discreet.core.kind import Kind
from discreet.core.text import CODES, number, words
from discreet.errors import DataError

_MOST_DECIMALS = 18
_DAY = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_TIME = "[0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,6})?)?"
_EXPONENT = "([eE][+-]?[0-9]+)?"
_ACCEPTED = {
    Kind.INTEGER: "[+-]?[0-9]+",
    Kind.REAL: f"[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+){_EXPONENT}|(?i:nan|[+-]?inf(inity)?)",
    Kind.DECIMAL: f"[+-]?([0-9]+([.][0-9]{{0,{_MOST_DECIMALS}}})?|[.][0-9]{{1,{_MOST_DECIMALS}}})",
    Kind.BOOLEAN: "(?i:true|false|t|f|yes|no|1|0)",
    Kind.DATE: _DAY,
    Kind.TIMESTAMP: f"{_DAY}([ T]{_TIME})?",
}
_GUESSED = {  # in order of preference; narrower than what is accepted, so that a code such as 00123 stays text
    Kind.BOOLEAN: "(?i:true|false)",
    Kind.INTEGER: "[+-]?(0|[1-9][0-9]*)",
    Kind.REAL: f"[+-]?((0|[1-9][0-9]*)([.][0-9]*)?|[.][0-9]+){_EXPONENT}|(?i:nan|[+-]?inf(inity)?)",
    Kind.DATE: _DAY,
    Kind.TIMESTAMP: f"{_DAY}[ T]{_TIME}",
}
_TRUE = ("true", "t", "yes", "1")
_LARGEST = "1.7976931348623157e308"
ROW = "discreet_row"
"""The column of a text relation that numbers its rows, where the engine can."""


def typed(engine: Engine, text: exp.Query, kinds: Mapping[str, Kind], what: str, *, numbered: bool) -> exp.Select:
    """The query that gives ``text``'s columns their kinds; an error that lists all that do not fit."""
    figures = [figure for name, kind in kinds.items() for figure in _figures(name, kind, numbered)]
    answers = iter(_asked(engine, text, figures))
    shown: list[exp.Expr] = []
    wrong = []
    for name, kind in kinds.items():
        if kind is Kind.TEXT:
            shown.append(sql.column(name))
            continue
        count, first, row, scale = (next(answers) for _ in range(4))
        if count:
            values = number(count, "value is", "values are")
            place = f" (row {row})" if row else ""
            wrong.append(f"\n  {name}: {values} not {kind.value}, such as {first!r}{place}")
        shown.append(sql.named(_converted(name, kind, scale or 0), name))
    if wrong:
        raise DataError(
            f"{what} does not hold what its card says:{''.join(wrong)}",
            hint="\nMend the values, or change the kind on the card.",
        )
    return exp.select(*shown).from_(text.subquery("text"))


def guessed(engine: Engine, text: exp.Query, names: Iterable[str]) -> dict[str, Kind]:
    """The narrowest kind that every value of a column is; text where there is none, and for zip codes and the like."""
    names = list(names)
    figures = [sql.count_if(_looks(sql.column(name), _GUESSED[kind])) for name in names for kind in _GUESSED]
    filled = [exp.Count(this=sql.column(name)) for name in names]
    fits = [sql.count_if(_misfit(sql.column(name), kind)) for name in names for kind in _GUESSED]
    answers = _asked(engine, text, [*figures, *filled, *fits])
    kinds, width = {}, len(_GUESSED)
    for place, name in enumerate(names):
        here = slice(place * width, (place + 1) * width)
        count = answers[len(figures) + place]
        misfits = answers[len(figures) + len(names) :][here]
        holds = [k for k, n, bad in zip(_GUESSED, answers[here], misfits, strict=True) if n == count and not bad]
        kinds[name] = holds[0] if count and holds and not words(name) & CODES else Kind.TEXT
    return kinds


def _figures(name: str, kind: Kind, numbered: bool) -> Iterable[exp.Expr]:
    """How many values do not fit, one of them, its row, and the most digits after a point."""
    if kind is Kind.TEXT:
        return
    value = sql.column(name)
    misfit = _misfit(value, kind)
    row = sql.column(ROW) if numbered else exp.null()
    first = exp.case().when(misfit.copy(), value.copy())
    yield sql.count_if(misfit)
    yield exp.ArgMin(this=first, expression=exp.case().when(misfit.copy(), row)) if numbered else exp.Min(this=first)
    yield exp.Min(this=exp.case().when(misfit.copy(), row))
    if kind is Kind.DECIMAL:
        point = exp.StrPosition(this=value.copy(), substr=sql.literal("."))
        yield exp.Max(this=exp.case().when(point > 0, exp.Length(this=value.copy()) - point.copy()))
    else:
        yield exp.null()


def _misfit(value: exp.Column, kind: Kind) -> exp.Expr:
    """Whether a value (not NULL) is none of its kind: by its looks, or because there is no such date or number."""
    fits = _looks(value, _ACCEPTED[kind])
    if kind is not Kind.BOOLEAN:
        cast = exp.TryCast(this=value.copy(), to=sql.sql_type(kind, scale=_MOST_DECIMALS))
        fits = exp.and_(fits, cast.is_(exp.null()).not_())
        if kind is Kind.REAL:
            beyond = exp.Abs(this=cast.copy()) > exp.cast(sql.literal(_LARGEST), exp.DType.DOUBLE)
            fits = exp.and_(fits, exp.or_(beyond.not_(), _looks(value, "(?i:nan|[+-]?inf(inity)?)")))
    return exp.and_(value.copy().is_(exp.null()).not_(), exp.not_(fits))


def _converted(name: str, kind: Kind, scale: int) -> exp.Expr:
    value = sql.column(name)
    if kind is Kind.BOOLEAN:
        known = exp.Lower(this=value.copy()).isin(*_TRUE)
        return exp.case().when(value.is_(exp.null()).not_(), known)
    return exp.cast(value, sql.sql_type(kind, scale=scale))


def _looks(value: exp.Column, pattern: str) -> exp.Expr:
    return exp.RegexpLike(this=value.copy(), expression=sql.literal(f"^({pattern})$"))


def _asked(engine: Engine, text: exp.Query, figures: list[exp.Expr]) -> list[Any]:
    if not figures:
        return []
    named = [sql.named(figure, f"c{place}") for place, figure in enumerate(figures)]
    return list(engine.fetch(exp.select(*named).from_(text.subquery("text"))).to_pylist()[0].values())
