"""Draft a card by looking at the data: kinds, suggested roles with the reason, suggested hierarchies.

A draft is for the holder to read and correct. Bounds and categories are left open, because a guarantee must
not lean on what the data happens to hold; asked to fill them all the same, it marks them ``from_data``.

Roles are guessed to the safe side, from the words of a column's name (``core/vocabulary.py``) and from its values. A
column is "other" only if something says that it can neither identify nor harm anyone; what is unclear is "undecided".

Distinct values are counted exactly where a role depends on it, and otherwise approximately, as "about".
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlglot import exp

from discreet.core import sql
from discreet.core.card import Card, Column, Role
from discreet.core.cardfile import dump_cards
from discreet.core.engine import Engine
from discreet.core.hierarchy.dates import Dates
from discreet.core.hierarchy.hierarchy import Hierarchy
from discreet.core.hierarchy.intervals import Intervals
from discreet.core.hierarchy.mask import Mask
from discreet.core.identifiers import LONG, long_texts, looks_like_identifiers, rows_of_values
from discreet.core.kind import MOMENTS, NUMBERS, ORDERED, Kind, Scalar
from discreet.core.sql import kind_of
from discreet.core.text import CODES, number, words
from discreet.core.text_format import FileLayout, TextFormat
from discreet.core.vocabulary import FREE_TEXT, PERSON, SHARED, hints

_MANY = 50  # more values than this are not categories a person would list
_CODES = 10
"""Fewer whole numbers than this may be codes."""
_EXACTLY = 1_000
"""Fewer distinct values than this, by the approximate count, are counted exactly."""
_NEARLY_UNIQUE = 0.5
"""Share of approximately distinct values from which on it is counted whether all are: that count may be 30 % off."""
_FEW = 100
_CROWD = 50
"""Values of an identifier's name that are fewer than the first, each of more rows than the second, are not names."""
SAMPLE = 2_000
"""Rows whose texts are looked at."""
_HIGH = (99, 999, 9_999, 99_999, 999_999)
_LOW = (-1, -9, -99, -999, -9_999)
"""Numbers that often stand for a missing value."""
_LOOKS: Mapping[str, tuple[Role, str]] = {
    "e-mail addresses": (Role.IDENTIFIER, r"[^@\s]+@[^@\s]+\.[A-Za-z]{2,}"),
    "account numbers (IBAN)": (Role.IDENTIFIER, r"[A-Z]{2}[0-9]{2}( ?[0-9A-Z]{4}){2,7} ?[0-9A-Z]{1,4}"),
    "telephone numbers": (Role.IDENTIFIER, r"(\+|00?)[1-9][0-9]{0,3}[ /()-]+[0-9][0-9 /()-]{4,}|\+[0-9]{8,}"),
    "network addresses": (Role.IDENTIFIER, r"([0-9]{1,3}\.){3}[0-9]{1,3}|https?://.*"),
    "numbers of persons": (
        Role.IDENTIFIER,
        r"[0-9]{3}-[0-9]{2}-[0-9]{4}|756\.[0-9]{4}\.[0-9]{4}\.[0-9]{2}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}",
    ),
    "dates": (Role.QUASI, r"[0-9]{1,4}([./-])[0-9]{1,2}\1[0-9]{1,4}([ T,].*)?"),
    "postal codes": (Role.QUASI, r"[0-9]{5}|[0-9]{5}-[0-9]{4}|[A-Z]{1,2}[0-9][0-9A-Z]? [0-9][A-Z]{2}"),
}
_NAMES = re.compile(r"[^\W\d_a-z][\w'.-]+(,? [^\W\d_a-z][\w'.-]*)+")
_MOSTLY = 0.7


@dataclass(frozen=True)
class Draft:
    """A drafted card and, for each column, why it says what it says."""

    card: Card
    rows: int
    findings: Mapping[str, tuple[str, ...]]
    """What was found in each column, why it has its role, and what is asked."""
    whose: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """What is asked about whose row it is, by column."""
    left_out: tuple[str, ...] = ()
    """Columns of kinds no card can describe: lists, records, blobs."""
    about: tuple[str, ...] = ()
    """Sentences about the table as a whole: how it is linked with others."""

    @property
    def reasons(self) -> Mapping[str, tuple[str, ...]]:
        """For each column all that there is to say, in a line each."""
        return {name: (*found, *self.whose.get(name, ())) for name, found in self.findings.items()}

    def __str__(self) -> str:
        return self.to_toml()

    def to_toml(self) -> str:
        """The card as TOML, with the reasons as comments and the open questions where their answers belong."""
        return dump_drafts([self])


def dump_drafts(drafts: Sequence[Draft]) -> str:
    """The cards of drafts as TOML, with the reasons as comments and the open questions where their answers belong."""
    rows = " and ".join(f"{number(one.rows, 'row')}" for one in drafts)
    head = [
        f"Drafted from {rows}. Check every line: these are guesses, and guarantees rest on them.",
        "Roles: identifier (never released), quasi (outsiders may know it), sensitive (must not be learned), other,",
        "undecided (only differentially private releases until you decide).",
    ]
    for one in drafts:
        if one.card.file.sheet:
            head.append(f"{one.card.name} is drafted from the sheet {one.card.file.sheet!r} of its workbook.")
        if one.left_out:
            head.append(f"Left out, because their type is not supported: {', '.join(one.left_out)}.")
    if not all(one.card.private for one in drafts):
        head.append("NOT PRIVATE: bounds or categories below were taken from the data (from_data).")
    comments: dict[tuple[str, ...], Sequence[str]] = {("discreet",): head}
    for one in drafts:
        path = ("tables", one.card.name)
        comments |= {path: one.about} if one.about else {}
        comments |= {(*path, "columns", name): why for name, why in one.reasons.items()}
    return dump_cards([one.card for one in drafts], comments)


@dataclass(frozen=True)
class Reading:
    """How the texts of a column are to be read as values."""

    kind: Kind
    text: TextFormat = field(default_factory=TextFormat)
    said: tuple[str, ...] = ()
    """What was found, in a line each."""
    figures: Mapping[str, Any] | None = None
    """What was counted of the values, if they are no texts: ``filled``, ``distinct`` and those of ``figures_of``."""


@dataclass(frozen=True)
class _Seen:
    """What was counted in one column."""

    name: str
    kind: Kind
    filled: int
    distinct: int
    exact: bool
    """Whether that is the exact number of distinct values."""
    shortest: int | None = None
    longest: int | None = None
    codes: int = 0
    low: Scalar | None = None
    high: Scalar | None = None
    above: Scalar | None = None
    """The smallest and (below) the largest value that is none of those that often stand for a missing one."""
    below: Scalar | None = None
    broken: int = 0
    """Numbers that are not whole."""

    @property
    def names_nobody(self) -> bool:
        """Whether its values are too few for identifiers: a street that is gravel or paved."""
        few = self.distinct < _FEW and self.filled > _CROWD * self.distinct
        return few or self.kind is Kind.BOOLEAN

    @property
    def counted(self) -> str:
        if self.exact:
            return number(self.distinct, "distinct value")
        unit = 10 ** max(len(str(self.distinct)) - 2, 0)
        return f"about {round(self.distinct / unit) * unit:,} distinct values"


def draft_card(
    engine: Engine,
    relation: exp.Query,
    name: str,
    *,
    left_out: tuple[str, ...] = (),
    bounds_from_data: bool = False,
    readings: Mapping[str, Reading] | None = None,
    listed: Mapping[str, tuple[Scalar, ...]] | None = None,
    file: FileLayout | None = None,
) -> Draft:
    """Look at a relation and draft its card.

    ``readings`` say how columns that are text in the source are read as what the relation holds; ``listed`` are the
    categories that the source itself lists, as data frames do.
    """
    readings, listed = readings or {}, listed or {}
    rows, seen = _look(engine, relation, readings)
    texts = _texts(engine, relation, [one.name for one in seen if one.kind is Kind.TEXT])
    roles = {one.name: _role(one, rows, texts.get(one.name, ())) for one in seen}
    for one in seen:
        unclear = roles[one.name][0] is Role.UNDECIDED and _may_identify(one)
        if unclear and looks_like_identifiers(engine, relation, one.name, one.kind):
            roles[one.name] = Role.IDENTIFIER, "its values look like identifiers"
    unit, whose = _unit(engine, relation, seen, roles)
    free = [one.name for one in seen if one.kind is Kind.TEXT and roles[one.name][0] is not Role.IDENTIFIER]
    long = long_texts(engine, relation, free)
    columns, findings = [], {}
    for one in seen:
        role, why = roles[one.name]
        reading = readings.get(one.name, Reading(one.kind))
        hierarchy, how = _hierarchy(one, role)
        bounds, categories, left = _limits(engine, relation, one, role, bounds_from_data)
        if one.name in listed and role is not Role.IDENTIFIER and one.kind not in ORDERED:
            categories = listed[one.name]
            left = ("The data frame lists these categories; delete from_data if they were not taken from its rows.",)
        read_off = tuple(n for n, v in (("bounds", bounds), ("categories", categories)) if v is not None)
        columns.append(Column(one.name, one.kind, role, bounds, categories, hierarchy, read_off, text=reading.text))
        counts = one.counted + (f", {rows - one.filled:,} missing" if one.filled < rows else "")
        asked = (*left, *_full(one, role, rows), *_sentinels(one, reading.figures is not None))
        extra = (*reading.said, *how, *asked)
        if one.name in long:
            extra = (*extra, "Long text with many values: withheld from releases unless you declare: may_leave = true")
        findings[one.name] = (f"{counts}. {role.value}: {why}.", *extra)
    card = Card(name, tuple(columns), unit, file=file or FileLayout())
    return Draft(card, rows, findings, whose, left_out)


def _look(engine: Engine, relation: exp.Query, readings: Mapping[str, Reading]) -> tuple[int, list[_Seen]]:
    """One pass over the data, one aggregate query; and an exact count of distinct values where it matters."""
    every = {field_.name: kind for field_ in engine.schema(relation) if (kind := kind_of(field_.type))}
    known = {name: one.figures for name, one in readings.items() if one.figures is not None}
    wanted = {name: kind for name, kind in every.items() if name not in known}
    figures: list[exp.Expr] = [sql.count_rows()]
    for name, kind in wanted.items():
        value = sql.column(name)
        figures += [exp.Count(this=value), sql.about_distinct(value, engine.dialect), *figures_of(value, kind)]
    answers = iter(sql.aggregates(engine, relation, figures))
    rows = next(answers)
    first = {name: (next(answers), next(answers), answers_of(kind, answers)) for name, kind in wanted.items()}
    exactly = [
        name
        for name, (filled, about, _) in first.items()
        if about <= _EXACTLY or (about > _NEARLY_UNIQUE * filled and wanted[name] in (Kind.INTEGER, Kind.TEXT))
    ]
    counts = [exp.Count(this=exp.Distinct(expressions=[sql.column(name)])) for name in exactly]
    exact = dict(zip(exactly, sql.aggregates(engine, relation, counts), strict=True))
    seen = {
        name: _Seen(name, wanted[name], filled, exact.get(name, about), name in exact, **more)
        for name, (filled, about, more) in first.items()
    }
    seen |= {name: _Seen(name, every[name], exact=True, **found) for name, found in known.items()}
    return rows, [seen[name] for name in every]


_CODE = r"^[0-9]+$"


def figures_of(value: exp.Expr, kind: Kind) -> Iterator[exp.Expr]:
    """Aggregates of a column's values, as far as its kind has them."""
    if kind is Kind.TEXT:
        yield exp.Min(this=exp.Length(this=value.copy()))
        yield exp.Max(this=exp.Length(this=value.copy()))
        yield sql.count_if(exp.RegexpLike(this=value.copy(), expression=sql.literal(_CODE)))
    elif kind in ORDERED:
        yield exp.Min(this=value.copy())
        yield exp.Max(this=value.copy())
    if kind in NUMBERS:
        usual = value.copy().isin(*_HIGH, *_LOW).not_()
        yield exp.Min(this=exp.case().when(usual, value.copy()))
        yield exp.Max(this=exp.case().when(usual.copy(), value.copy()))
        broken: exp.Expr = value.copy().neq(sql.floor(value))
        broken = exp.and_(sql.finite(value), broken) if kind is Kind.REAL else broken
        yield exp.Literal.number(0) if kind is Kind.INTEGER else sql.count_if(broken)


def answers_of(kind: Kind, answers: Iterator[Any]) -> dict[str, Any]:
    """What ``figures_of`` was answered, by name."""
    names = ["shortest", "longest", "codes"] if kind is Kind.TEXT else ["low", "high"] if kind in ORDERED else []
    return {name: next(answers) for name in [*names, *(["above", "below", "broken"] if kind in NUMBERS else [])]}


def _texts(engine: Engine, relation: exp.Query, names: Sequence[str]) -> dict[str, list[str]]:
    """Some values of each of these columns."""
    if not names:
        return {}
    found = engine.fetch(exp.select(*map(sql.column, names)).from_(relation.subquery("t")).limit(SAMPLE))
    return {name: [text for text in found.column(name).to_pylist() if text] for name in names}


# -- roles


def _role(column: _Seen, rows: int, texts: Sequence[str]) -> tuple[Role, str]:
    doubted, long = "", (column.longest or 0) > LONG  # short values of sex_text are those of sex
    for role, theme, word in sorted(hints(column.name), key=lambda hint: (hint[1] == FREE_TEXT) is not long):
        if theme == FREE_TEXT and long:
            return Role.IDENTIFIER, f"its name says {word!r}, {theme}, which may name people: it is withheld"
        if theme == FREE_TEXT and column.kind is Kind.TEXT and column.distinct > _CODES:
            return Role.UNDECIDED, f"its name says {word!r}, {theme}: do its short texts name people?"
        if role is Role.IDENTIFIER and column.names_nobody:
            doubted = doubted or word
        elif role is not Role.OTHER or column.distinct <= _MANY:
            return role, f"its name says {word!r}, {theme}"
    if doubted:
        few = number(column.distinct, "value")
        return Role.QUASI, f"its name says {doubted!r}, though {few} in {number(column.filled, 'row')} are not names"
    if column.kind in (Kind.INTEGER, Kind.TEXT) and rows > 1 and column.distinct == rows:
        return Role.IDENTIFIER, "every row has a different value"
    if found := _look_of(column, texts):
        return found
    if column.kind in MOMENTS:
        return Role.QUASI, "outsiders often know dates"
    if 1 < rows == column.filled and column.distinct == 1:
        return Role.OTHER, "it is the same in every row"
    return Role.UNDECIDED, "neither its name nor its values show its role; decide"


def _look_of(column: _Seen, texts: Sequence[str]) -> tuple[Role, str] | None:
    for what, (role, pattern) in _LOOKS.items():
        if texts and sum(re.fullmatch(pattern, text) is not None for text in texts) >= _MOSTLY * len(texts):
            return role, f"its values look like {what}"
    named = sum(_NAMES.fullmatch(text) is not None for text in texts)
    if texts and named >= _MOSTLY * len(texts) and column.distinct > max(column.filled / 2, _MANY):
        return Role.IDENTIFIER, "its values look like names of people"
    return None


def _may_identify(column: _Seen) -> bool:
    """Whether it is worth grouping by: not a few values that have all the rows, nor numbers with fractions."""
    most = 2 * max(_CROWD, min(column.distinct, 250))
    return not column.broken and column.distinct >= 10 and column.filled <= column.distinct * most


def _unit(
    engine: Engine, relation: exp.Query, seen: list[_Seen], roles: Mapping[str, tuple[Role, str]]
) -> tuple[str | None, dict[str, tuple[str, ...]]]:
    """A column of identifiers that repeat is probably whose row it is, whatever it is called; and why, by column.

    Those that say it (a patient, an id) come first. What people share by chance, such as a name, is left for the person
    to say.
    """
    repeating = [c for c in seen if roles[c.name][0] is Role.IDENTIFIER and 1 < c.distinct < c.filled]
    keys = [c for c in repeating if not any(theme in SHARED for _, theme, _ in hints(c.name))]
    keys.sort(key=lambda column: (not says_person(column.name), not words(column.name) & {"id", "identifier"}))
    unit = keys[0].name if keys else None
    if unit is not None:
        return unit, {unit: unit_question(engine, relation, unit)}
    return None, {c.name: (f"It repeats: {_PEOPLE}.",) for c in repeating}


_PEOPLE = "if each row is a different person anyway, declare: rows_are_people = true"


def unit_question(engine: Engine, relation: exp.Query, unit: str) -> tuple[str, ...]:
    """What is asked about a column that is taken for whose row it is."""
    said = f"{unit} repeats, so it is taken as the unit, the person of each row: {rows_each(engine, relation, unit)}"
    return (f"{said}. Declare rows_per_unit, the most rows per person; or, {_PEOPLE}.",)


def says_person(name: str) -> bool:
    """Whether a name of a column or table speaks of people: patient_id, customers."""
    return bool({one.removesuffix("s") for one in words(name)} & PERSON)


def rows_each(engine: Engine, relation: exp.Query, unit: str) -> str:
    """How many rows units have, in words."""
    _, spread = rows_of_values(engine, relation, unit, Kind.TEXT)
    spread.sort()
    units = sum(count for _, count in spread)
    if not units:
        return "it has no values"
    usual = so_far = 0
    for rows, count in spread:
        usual, so_far = rows, so_far + count
        if so_far >= 0.95 * units:
            break
    if so_far == units:
        return f"each of {units:,} has at most {number(usual, 'row')}"
    share = math.floor(1_000 * so_far / units) / 10
    most, ends = spread[-1]
    return f"{share:g} % of {units:,} have at most {number(usual, 'row')}, {number(ends, 'has', 'have')} {most:,}"


# -- what is suggested and asked


def _hierarchy(column: _Seen, role: Role) -> tuple[Hierarchy | None, tuple[str, ...]]:
    if role is not Role.QUASI:
        return None, ()
    if column.kind is Kind.DATE:
        return Dates(), ()
    if column.kind is Kind.TIMESTAMP:
        return Dates(("day", "month", "quarter", "year", "decade")), ()
    if column.kind is Kind.TEXT and column.longest == column.shortest == 1:
        return None, ()
    if column.kind is Kind.TEXT and column.filled and column.codes == column.filled:
        if column.longest is not None and column.longest == column.shortest:
            return Mask(column.longest), ("All values are codes of the same length: masked from the right; check.",)
    elif column.kind is Kind.INTEGER and words(column.name) & CODES:
        return None, ("A code stored as a number; convert the column to text to mask it digit by digit.",)
    elif column.kind is Kind.INTEGER and column.distinct < _CODES:
        return None, ('If its numbers are codes, declare: kind = "text", labels = { 1 = "…", 2 = "…" }',)
    elif column.kind is Kind.INTEGER:
        return Intervals((5, 10, 20)), ("Suggested widths; choose the ones that make sense.",)
    if column.kind is Kind.TEXT and column.distinct > 2:
        return None, ('If its values form groups, declare a hierarchy of type "taxonomy".',)
    return None, ()


def _limits(
    engine: Engine, relation: exp.Query, column: _Seen, role: Role, from_data: bool
) -> tuple[tuple[Scalar, Scalar] | None, tuple[Scalar, ...] | None, tuple[str, ...]]:
    """Bounds, categories and what is left for the person to declare."""
    if role is Role.IDENTIFIER:
        return None, None, ()
    if column.kind not in ORDERED:
        if not column.distinct or column.distinct > _MANY:
            return None, None, ()
        if from_data:
            value = sql.column(column.name)
            values = exp.select(value).distinct().from_(relation.subquery("t")).where(value.is_(exp.null()).not_())
            found: list[Any] = engine.fetch(values).column(0).to_pylist()
            return None, tuple(sorted(found)), ()
        return None, None, ("Declare: categories = [ … all possible values … ]",)
    if from_data and column.low is not None and column.high is not None:
        bounds = (column.low, column.high)
        if not Column(column.name, column.kind, bounds=bounds).problems():
            return bounds, None, ()
    return None, None, ("Declare: bounds = [ lower, upper ]",)


def _full(column: _Seen, role: Role, rows: int) -> tuple[str, ...]:
    """A question, since only the person knows whether a value can be missing."""
    if role is Role.IDENTIFIER or column.kind not in NUMBERS or not 0 < rows == column.filled:
        return ()
    return ("No value is missing; if rows without one are not to be counted, declare: required = true",)


def _sentinels(column: _Seen, from_text: bool) -> tuple[str, ...]:
    """A question about numbers far from all others that often stand for a missing value."""
    if column.kind not in NUMBERS or column.above is None or column.below is None:
        return ()
    odd = [column.high] if column.high in _HIGH and float(column.below) < float(column.high) / 3 else []  # type: ignore[arg-type]
    odd += [column.low] if column.low in _LOW and float(column.above) >= 0 else []  # type: ignore[arg-type]
    marks = ", ".join(f'"{int(one)}"' for one in odd)  # type: ignore[arg-type]
    what = f"declare: missing = [{marks}]" if from_text else "make it missing in the source"
    return (f"{marks} is far from all other values; if it stands for a missing one, {what}",) if odd else ()
