"""Texts into typed columns, as the card says that they are written: one expression for every engine.

Patterns decide what a text is, before anything is cast, so that no engine's own lenient reading does: a value must look
exactly like one of its kind, and be one (31.02.2024 is no date). Nothing is rounded, cut or guessed. A number has at
most 1,000 characters, a decimal at most 20 digits before the point and 18 after it; dates and times are ISO 8601
without a zone, unless the card declares formats.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from sqlglot import exp

from discreet.core import sql
from discreet.core.engine import Engine
from discreet.core.kind import MOMENTS, MOST_DECIMALS, NOT_FINITE, NUMBERS, Kind
from discreet.core.table import Violation
from discreet.core.text import number
from discreet.core.text_format import DIRECTIVES, TextFormat, declared, parts_of
from discreet.errors import DataError

ROW = "discreet_row"
"""The column of a text relation that numbers its rows: from 1, or as the sheet does; NULL where no one knows."""
_EXAMPLES = 3
SPACES = " \t\N{NO-BREAK SPACE}"
"""Characters that ``trim`` takes off."""
TRUE, FALSE = ("true", "t", "yes", "1"), ("false", "f", "no", "0")
"""Words for true and false, if a card declares none."""
_LONGEST_NUMBER = 1_000
_WHOLE_DIGITS = 38 - MOST_DECIMALS
_SMALLEST, _LARGEST = "2.4703282292062328e-324", "1.7976931348623158e308"
"""Reals below the first are 0, and above the second infinite."""
_YEAR = "(?:000[1-9]|00[1-9][0-9]|0[1-9][0-9]{2}|[1-9][0-9]{3})"
_LEAP = "(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:0[48]|[2468][048]|[13579][26])00)"
_MONTHLY = "(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)"
DAY = f"(?:{_YEAR}-(?:{_MONTHLY}|02-(?:0[1-9]|1[0-9]|2[0-8]))|{_LEAP}-02-29)"
"""Pattern of the ISO dates that there are."""
TIME = "(?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:[.][0-9]{1,6})?)?"
"""Pattern of the ISO times that there are."""
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


class Written(NamedTuple):
    """What a column of texts holds, and how it is written."""

    kind: Kind
    text: TextFormat = TextFormat()


class Typed(NamedTuple):
    """A query that shows typed columns, and the values that it takes for missing because they do not fit."""

    query: exp.Select
    misfits: tuple[Violation, ...]


def typed(
    engine: Engine,
    text: exp.Query,
    columns: Mapping[str, Written],
    what: str,
    *,
    where: Callable[[Iterable[int]], Mapping[int, str]] | None = None,
    rest: Iterable[str] = (),
) -> Typed:
    """Give text columns their kinds; an error that lists all that do not fit, unless the card takes them for missing.

    ``text`` has a column ``ROW`` if there is ``where``, which says in words where rows are. Columns of ``rest`` are
    shown as they are.
    """
    dialect = engine.dialect
    row = [sql.column(ROW)] if where else []
    clean = [sql.named(prepared(sql.column(name), one.text, dialect), name) for name, one in columns.items()]
    cleaned = exp.select(*clean, *map(sql.column, rest), *row).from_(text.subquery("text"))
    normal = {name: canonical(sql.column(name), one, dialect) for name, one in columns.items() if _can_fail(one)}
    broken = {name: misfit(sql.column(name), columns[name], dialect) for name in normal}
    counts = sql.aggregates(engine, cleaned, [sql.count_if(one) for one in broken.values()])
    misfits = tuple(
        Violation(name, count, f"{number(count, 'value is', 'values are')} {_not_of(columns[name])}", examples)
        for name, count in zip(broken, counts, strict=True)
        if count
        for examples in [_examples(engine, cleaned, broken[name], name, where)]
    )
    wrong = [one for one in misfits if columns[one.column].text.misfit != "missing"]
    if wrong:
        raise DataError(
            f"{what} does not fit its card:{''.join(f'{chr(10)}  {one}' for one in wrong)}",
            hint="\nCorrect the values, or change the card: missing lists the codes of missing values, and "
            'misfit = "missing" treats all invalid values as missing.',
        )
    decimal = [name for name in normal if columns[name].kind is Kind.DECIMAL]
    digits = sql.aggregates(engine, cleaned, [_decimals(normal[name]) for name in decimal])
    scales = dict(zip(decimal, digits, strict=True))
    made = [
        sql.named(_cast(name, normal[name], columns[name], scales.get(name) or 0), name)
        if name in normal
        else sql.column(name)
        for name in columns
    ]
    return Typed(exp.select(*made, *map(sql.column, rest)).from_(cleaned.subquery("clean")), misfits)


def prepared(value: exp.Expr, written: TextFormat, dialect: str) -> exp.Expr:
    """A text without the spaces around it, and NULL where it stands for a missing value, as far as that is declared."""
    if not declared(written):
        return value
    value = sql.plain_text(value, dialect)
    if written.trim:
        value = exp.Trim(this=value, expression=sql.literal(SPACES), position="BOTH")
    marks = [sql.literal(mark) for mark in ("", *(written.missing or ()))]
    return exp.case().when(exp.In(this=value.copy(), expressions=marks), exp.null()).else_(value)


def misfit(value: exp.Expr, written: Written, dialect: str) -> exp.Expr:
    """Whether a prepared text is there, and none of what the column holds."""
    return exp.and_(value.copy().is_(exp.null()).not_(), canonical(value, written, dialect).is_(exp.null()))


def canonical(value: exp.Expr, written: Written, dialect: str) -> exp.Expr:
    """A prepared text as all engines read it (an ISO date, a number with a point, true or false, a label); NULL if it
    is none of what the column holds."""
    if written.kind in NUMBERS:
        return _number(value, written, dialect)
    if written.kind in MOMENTS:
        return exp.Coalesce(this=exp.null(), expressions=list(_moments(value, written, dialect)))
    if written.kind is Kind.BOOLEAN:
        words = {"true": written.text.true or TRUE, "false": written.text.false or FALSE}
        found = exp.case()
        for meaning, spelled in words.items():
            found = found.when(looks(value, "|".join(map(_any_case, spelled)), dialect), sql.literal(meaning))
        return found
    if written.text.labels is None:
        return value.copy()
    labels = [exp.If(this=sql.literal(code), true=sql.literal(label)) for code, label in written.text.labels.items()]
    return exp.Case(this=value.copy(), ifs=labels)


def looks(value: exp.Expr, pattern: str, dialect: str) -> exp.Expr:
    """Whether all of a text matches a pattern. Java's ``$`` would let a line feed follow."""
    end = "\\z" if dialect == "spark" else "$"
    return exp.RegexpLike(this=value.copy(), expression=sql.literal(f"^(?:{pattern}){end}"))


def _can_fail(written: Written) -> bool:
    return written.kind is not Kind.TEXT or written.text.labels is not None


def _not_of(written: Written) -> str:
    return "none of the codes" if written.kind is Kind.TEXT else f"not {written.kind.value}"


def _examples(
    engine: Engine,
    text: exp.Select,
    broken: exp.Expr,
    name: str,
    where: Callable[[Iterable[int]], Mapping[int, str]] | None,
) -> tuple[str, ...]:
    """A few values that do not fit, the first with their places."""
    row = [sql.column(ROW)] if where else []
    query = exp.select(sql.column(name), *row).from_(text.subquery("t")).where(broken)
    query = query.order_by(*row, sql.column(name)) if where else query.distinct().order_by(sql.column(name))
    found = engine.fetch(query.limit(_EXAMPLES)).to_pylist()
    places = where([one[ROW] for one in found if one[ROW] is not None]) if where else {}
    return tuple(f"{one[name]!r} ({places[one[ROW]]})" if one.get(ROW) in places else repr(one[name]) for one in found)


def _cast(name: str, normal: exp.Expr, written: Written, scale: int) -> exp.Expr:
    """The value of a text that fits. One that does not, since the rows have changed, fails here too, unless it is to be
    missing."""
    value = sql.column(name)
    strict = written.text.misfit != "missing"
    if written.kind is Kind.TEXT:
        if not strict:
            return normal.copy()
        failing = exp.cast(exp.cast(sql.joined("no code: ", value), exp.DType.BIGINT), exp.DType.TEXT)
        return exp.Coalesce(this=normal.copy(), expressions=[failing])
    text = exp.Coalesce(this=normal.copy(), expressions=[sql.joined("misfit: ", value)]) if strict else normal.copy()
    return exp.cast(text, sql.sql_type(written.kind, scale=scale))


# -- numbers


def _number(value: exp.Expr, written: Written, dialect: str) -> exp.Expr:
    kind, mark, group = written.kind, f"[{written.text.decimal or '.'}]", written.text.thousands
    whole = f"(?:[0-9]{{1,3}}(?:[{group}][0-9]{{3}})+|[0-9]+)" if group else "[0-9]+"
    pattern = f"[+-]?{whole}"
    if kind is not Kind.INTEGER:
        pattern = f"[+-]?(?:{whole}(?:{mark}[0-9]*)?|{mark}[0-9]+)"
    if kind is Kind.REAL:
        pattern += "(?:[eE][+-]?[0-9]{1,4})?"
    plain: exp.Expr = value.copy()
    for said, meant in ((group, ""), (written.text.decimal, ".")):
        if said and said != meant:
            plain = exp.Replace(this=plain, expression=sql.literal(said), replacement=sql.literal(meant))
    like = exp.and_(exp.Length(this=value.copy()) <= _LONGEST_NUMBER, looks(value, pattern, dialect))
    found = exp.case().when(like, {Kind.INTEGER: _whole, Kind.REAL: _real, Kind.DECIMAL: _exact}[kind](plain, dialect))
    return found.when(looks(value, NOT_FINITE, dialect), value.copy()) if kind is Kind.REAL else found


def _whole(plain: exp.Expr, _: str) -> exp.Expr:
    """A whole number of 64 bits."""
    digits = exp.Length(this=exp.Trim(this=plain.copy(), expression=sql.literal("+-0"), position="LEADING"))
    exact = exp.cast(plain.copy(), "DECIMAL(38, 0)")
    low, high = (exp.cast(sql.literal(str(one)), "DECIMAL(38, 0)") for one in (-(2**63), 2**63 - 1))
    inside = exact.between(low, high)
    longest = exp.case().when(inside, plain.copy())
    return exp.case().when(digits < 19, plain.copy()).when(digits.copy().eq(19), longest)


def _exact(plain: exp.Expr, dialect: str) -> exp.Expr:
    """A decimal of at most 38 digits."""
    few = f"[+-]?(?:0*[0-9]{{1,{_WHOLE_DIGITS}}}(?:[.][0-9]{{0,{MOST_DECIMALS}}})?|[.][0-9]{{1,{MOST_DECIMALS}}})"
    return exp.case().when(looks(plain, few, dialect), plain.copy())


def _real(plain: exp.Expr, dialect: str) -> exp.Expr:
    """A real that is not infinite. PostgreSQL fails on those, and on those too small for any but 0; it has decimals of
    any size to compare."""
    if dialect != "postgres":
        beyond = exp.Abs(this=exp.cast(plain.copy(), exp.DType.DOUBLE)) <= exp.cast(sql.literal(_LARGEST), "DOUBLE")
        return exp.case().when(beyond, plain.copy())
    size = exp.Abs(this=exp.cast(plain.copy(), exp.DType.DECIMAL))
    limits = [exp.cast(sql.literal(one), exp.DType.DECIMAL) for one in (_SMALLEST, _LARGEST)]
    return exp.case().when(size <= limits[0], sql.literal("0")).when(size.copy() <= limits[1], plain.copy())


def _decimals(normal: exp.Expr) -> exp.Expr:
    """The most digits after the point."""
    point = exp.StrPosition(this=normal.copy(), substr=sql.literal("."))
    return exp.Max(this=exp.case().when(point > 0, exp.Length(this=normal.copy()) - point.copy()))


# -- dates and times


def _moments(value: exp.Expr, written: Written, dialect: str) -> Iterable[exp.Expr]:
    """A text as an ISO date or time by each format in its order, NULL where it is none by that."""
    daily = written.kind is Kind.DATE
    if not written.text.formats:
        pattern = DAY if daily else f"{DAY}(?:[ T]{TIME})?"
        spaced = exp.Replace(this=value.copy(), expression=sql.literal("T"), replacement=sql.literal(" "))
        yield exp.case().when(looks(value, pattern, dialect), value.copy() if daily else spaced)
    for format_ in written.text.formats:
        parts = parts_of(format_)
        iso = _iso(value, parts, dialect)
        valid = looks(iso, f"{DAY} 00:00:00(?:[.]0+)?" if daily else f"{DAY} {TIME}", dialect)
        shown = exp.Substring(this=iso.copy(), start=sql.literal(1), length=sql.literal(10)) if daily else iso.copy()
        like = looks(value, "".join(date_patterns(parts)), dialect)
        yield exp.case().when(like, exp.case().when(valid, shown))


def date_patterns(parts: list[str]) -> list[str]:
    """The pattern of each part of a format; a number right before or after another one has all its digits."""
    found = []
    for place, part in enumerate(parts):
        beside = [parts[one] for one in (place - 1, place + 1) if 0 <= one < len(parts)]
        pattern = DIRECTIVES.get(part) or _literal(part)
        close = any(one in DIRECTIVES or one.isdigit() for one in beside)
        found.append(pattern.replace("{1,2}", "{2}") if close else pattern)
    return found


def _iso(value: exp.Expr, parts: list[str], dialect: str) -> exp.Expr:
    """The date and time that a text of this format stands for, as YYYY-MM-DD HH:MM:SS; it may be none."""
    patterns = date_patterns(parts)

    def part(name: str) -> exp.Expr:
        here = parts.index(name)
        text = "".join(f"({one})" if place == here else f"(?:{one})" for place, one in enumerate(patterns))
        if dialect == "postgres":
            return exp.Anonymous(this="SUBSTRING", expressions=[value.copy(), sql.literal(f"^{text}$")])
        return exp.Anonymous(
            this="REGEXP_EXTRACT", expressions=[value.copy(), sql.literal(f"^{text}$"), sql.literal(1)]
        )

    def two(name: str) -> exp.Expr | str:
        if name not in parts:
            return "00"
        return exp.Pad(this=part(name), expression=sql.literal(2), fill_pattern=sql.literal("0"), is_left=True)

    year: exp.Expr = part("%Y" if "%Y" in parts else "%y")
    if "%y" in parts:
        late = exp.GTE(this=year.copy(), expression=sql.literal("70"))
        year = sql.joined(exp.case().when(late, sql.literal("19")).else_(sql.literal("20")), year)
    month = two("%m")
    if "%b" in parts:
        month = exp.case()
        for place, name in enumerate(_MONTHS, 1):
            month = month.when(looks(part("%b"), _any_case(name), dialect), sql.literal(f"{place:02}"))
    hour = two("%H")
    if "%I" in parts:
        afternoon = looks(part("%p"), "[pP][mM]", dialect)
        hour = exp.Case(this=two("%I"), ifs=[])
        for clock in range(1, 13):
            either = exp.case().when(afternoon, sql.literal(f"{clock % 12 + 12:02}"))
            hour = hour.when(sql.literal(f"{clock:02}"), either.else_(sql.literal(f"{clock % 12:02}")))
    fraction: tuple[exp.Expr | str, ...] = (".", part("%f")) if "%f" in parts else ()
    return sql.joined(year, "-", month, "-", two("%d"), " ", hour, ":", two("%M"), ":", two("%S"), *fraction)


def _any_case(word: str) -> str:
    """The pattern of a word in upper or lower case, whatever the engine's locale makes of letters."""
    return "".join(
        f"[{letter}{letter.swapcase()}]" if letter.isalpha() and len(letter.swapcase()) == 1 else _literal(letter)
        for letter in word
    )


def _literal(character: str) -> str:
    return f"\\{character}" if character in "\\^]" else f"[{character}]"
