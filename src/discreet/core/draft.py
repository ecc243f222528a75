"""Draft a card by looking at the data: kinds, suggested roles with the reason, suggested hierarchies.

A draft is for the holder to read and correct. Bounds and categories are left open, because a guarantee must
not lean on what the data happens to hold; asked to fill them all the same, it marks them ``from_data``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
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
from discreet.core.identifiers import long_texts, looks_like_identifiers
from discreet.core.kind import MOMENTS, NUMBERS, ORDERED, Kind, Scalar
from discreet.core.sql import kind_of
from discreet.core.text import CODES, number, words

_MANY = 50  # more values than this are not categories a person would list
_HINTS = {  # English, and what German, French and Spanish stewards call their columns
    Role.IDENTIFIER: """
        id identifier uuid guid ssn nhs nin passport name surname forename firstname lastname fullname email mail phone
        telephone mobile fax address street iban account licence license username login ip mrn vorname nachname
        familienname strasse anschrift adresse telefon nummer nr nom prenom rue nombre apellido apellidos calle dni
        """,
    Role.QUASI: """
        age birth birthdate birthday dob born zip zipcode postcode postal plz sex gender race ethnicity nationality
        citizenship country state county city town region district municipality marital education school occupation
        profession job employer workclass household children religion language height lives studies smoker alter
        geburt geburtsdatum geburtstag geschlecht ort wohnort stadt land kreis staat nationalitat beruf familienstand
        kinder bildung groesse grosse naissance sexe ville pays metier edad nacimiento sexo genero ciudad pais municipio
        provincia profesion estudios aufnahme entlassung admission discharge
        """,
    Role.SENSITIVE: """
        disease diagnosis diagnoses condition illness symptom treatment drug medication therapy outcome salary income
        wage wages pay debt credit balance cost charge turnover revenue conviction party vote orientation hiv test
        result sick score icd diagnose krankheit befund medikament gehalt einkommen lohn kosten maladie diagnostic
        salaire revenu enfermedad diagnostico salario sueldo renta ingresos
        """,
}
_SHARED = """
    name surname forename firstname lastname fullname vorname nachname familienname nom prenom nombre apellido
    apellidos address street anschrift adresse strasse rue calle ip
    """
"""Words for what names people and is shared by several, by chance or as a household."""
_NUMBER = r"^[+-]?[0-9]+([.][0-9]+)?$"
_CODE = r"^[0-9]+$"
_OTHER_DATE = r"^[0-9]{1,2}[./-][0-9]{1,2}[./-]([0-9]{2}|[0-9]{4})$"
_COMMA = r"^[+-]?[0-9]+,[0-9]+$"
_PATTERNS = (_NUMBER, _CODE, _OTHER_DATE, _COMMA)


@dataclass(frozen=True)
class Draft:
    """A drafted card and, for each column, why it says what it says."""

    card: Card
    rows: int
    reasons: Mapping[str, tuple[str, ...]]
    left_out: tuple[str, ...] = ()
    """Columns of kinds no card can describe: lists, records, blobs."""

    def __str__(self) -> str:
        return self.to_toml()

    def to_toml(self) -> str:
        """The card as TOML, with the reasons as comments and the open questions where their answers belong."""
        head = [
            f"Drafted from {number(self.rows, 'row')}. Read every line: it is a guess, and guarantees will rest on it.",
            "Roles: identifier (never leaves), quasi (outsiders may know it), sensitive (intruders want it), other.",
        ]
        if self.left_out:
            head.append(f"Left out, because no card can describe what they hold: {', '.join(self.left_out)}.")
        if not self.card.private:
            head.append("NOT PRIVATE: bounds or categories below were read off the data (from_data).")
        path = ("tables", self.card.name)
        comments: dict[tuple[str, ...], Sequence[str]] = {("discreet",): head}
        comments |= {(*path, "columns", name): why for name, why in self.reasons.items()}
        return dump_cards([self.card], comments)


@dataclass(frozen=True)
class _Seen:
    """What was counted in one column."""

    name: str
    kind: Kind
    filled: int
    distinct: int
    shortest: int | None
    longest: int | None
    numbers: int
    digits: int
    other_dates: int
    commas: int
    low: Scalar | None
    high: Scalar | None


def draft_card(
    engine: Engine, relation: exp.Query, name: str, *, left_out: tuple[str, ...] = (), bounds_from_data: bool = False
) -> Draft:
    """Look at a relation and draft its card."""
    rows, seen = _look(engine, relation, bounds_from_data)
    roles = {column.name: _role(column, rows) for column in seen}
    for column in seen:
        if roles[column.name][0] is Role.OTHER and looks_like_identifiers(engine, relation, column.name, column.kind):
            roles[column.name] = Role.IDENTIFIER, "its values look like identifiers"
    unit, unit_reason = _unit(seen, roles)
    texts = [c.name for c in seen if c.kind is Kind.TEXT and roles[c.name][0] is not Role.IDENTIFIER]
    long = long_texts(engine, relation, texts)
    columns, reasons = [], {}
    for column in seen:
        role, why = roles[column.name]
        hierarchy, how = _hierarchy(column, role)
        bounds, categories, left = _limits(engine, relation, column, role, bounds_from_data)
        read_off = tuple(n for n, v in (("bounds", bounds), ("categories", categories)) if v is not None)
        columns.append(Column(column.name, column.kind, role, bounds, categories, hierarchy, read_off))
        counts = number(column.distinct, "distinct value")
        counts += f", {rows - column.filled:,} missing" if column.filled < rows else ""
        asked = (*left, *_full(column, role, rows))
        extra = (*how, *asked, *_oddities(column), *unit_reason.get(column.name, ()))
        if column.name in long:
            extra = (*extra, "Long text with many values: it leaves no release, unless you declare: may_leave = true")
        reasons[column.name] = (f"{counts}. {role.value}: {why}.", *extra)
    return Draft(Card(name, tuple(columns), unit), rows, reasons, left_out)


def _look(engine: Engine, relation: exp.Query, extremes: bool) -> tuple[int, list[_Seen]]:
    """One pass over the data, one aggregate query."""
    figures: list[exp.Expr] = [sql.count_rows()]
    wanted = {field.name: kind for field in engine.schema(relation) if (kind := kind_of(field.type))}
    for name, kind in wanted.items():
        value = sql.column(name)
        figures += [exp.Count(this=value), exp.Count(this=exp.Distinct(expressions=[value]))]
        if kind is Kind.TEXT:
            figures += [exp.Min(this=exp.Length(this=value)), exp.Max(this=exp.Length(this=value))]
            figures += [sql.count_if(exp.RegexpLike(this=value, expression=sql.literal(p))) for p in _PATTERNS]
        elif extremes and kind in ORDERED:
            figures += [exp.Min(this=value), exp.Max(this=value)]
    answers = iter(sql.aggregates(engine, relation, figures))
    rows = next(answers)
    return rows, [_seen(name, kind, answers, extremes) for name, kind in wanted.items()]


def _seen(name: str, kind: Kind, answers: Iterator[Any], extremes: bool) -> _Seen:
    filled, distinct = next(answers), next(answers)
    shortest = longest = low = high = None
    numbers = digits = other_dates = commas = 0
    if kind is Kind.TEXT:
        shortest, longest, numbers, digits, other_dates, commas = (next(answers) for _ in range(6))
    elif extremes and kind in ORDERED:
        low, high = next(answers), next(answers)
    return _Seen(name, kind, filled, distinct, shortest, longest, numbers, digits, other_dates, commas, low, high)


def _role(column: _Seen, rows: int) -> tuple[Role, str]:
    said = words(column.name)
    for role, hints in _HINTS.items():
        if hit := sorted(said & set(hints.split())):
            return role, f"its name says {hit[0]!r}"
    if column.kind in (Kind.INTEGER, Kind.TEXT) and rows > 1 and column.distinct == rows:
        return Role.IDENTIFIER, "every row has a value of its own"
    if column.kind in MOMENTS or column.filled == column.other_dates > 0:
        return Role.QUASI, "outsiders often know dates"
    return Role.OTHER, "nothing in its name says otherwise; make it quasi if an outsider could know it"


def _unit(seen: list[_Seen], roles: Mapping[str, tuple[Role, str]]) -> tuple[str | None, dict[str, tuple[str, ...]]]:
    """A column of identifiers that repeat is probably whose row it is, whatever it is called; and why, by column.

    Those that say it (an id) come first. What people share by chance, such as a name, is left for the person to say.
    """
    repeating = [c for c in seen if roles[c.name][0] is Role.IDENTIFIER and 1 < c.distinct < c.filled]
    keys = [c for c in repeating if not words(c.name) & set(_SHARED.split())]
    keys.sort(key=lambda column: not words(column.name) & {"id", "identifier"})
    unit = keys[0].name if keys else None
    people = "if every row is about somebody else all the same, declare: rows_are_people = true"
    why: dict[str, tuple[str, ...]] = {c.name: (f"It repeats: {people}.",) for c in repeating if unit is None}
    if unit is not None:
        said = f"{unit} repeats, so it is taken for whose row it is (unit)"
        why[unit] = (f"{said}; declare rows_per_unit, how many rows a person may have; or, {people}.",)
    return unit, why


def _hierarchy(column: _Seen, role: Role) -> tuple[Hierarchy | None, tuple[str, ...]]:
    if role is not Role.QUASI:
        return None, ()
    if column.kind is Kind.DATE:
        return Dates(), ()
    if column.kind is Kind.TIMESTAMP:
        return Dates(("day", "month", "quarter", "year", "decade")), ()
    if column.kind is Kind.TEXT and (column.longest == column.shortest == 1 or column.other_dates):
        return None, ()
    if column.kind is Kind.TEXT and column.filled and column.digits == column.filled:
        if column.longest is not None and column.longest == column.shortest:
            return Mask(column.longest), ("All values are codes of one length: masked from the right; check.",)
    elif column.kind is Kind.INTEGER and words(column.name) & CODES:
        return None, ("A code kept as a number; convert the column to text to mask it digit by digit.",)
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
        return None, None, ("Declare: categories = [ … every value there can be … ]",)
    if from_data and column.low is not None and column.high is not None:
        bounds = (column.low, column.high)
        if not Column(column.name, column.kind, bounds=bounds).problems():
            return bounds, None, ()
    return None, None, ("Declare: bounds = [ lowest, highest value that is to count ]",)


def _full(column: _Seen, role: Role, rows: int) -> tuple[str, ...]:
    """A question, since only the person knows whether a value can be missing."""
    if role is Role.IDENTIFIER or column.kind not in NUMBERS or not 0 < rows == column.filled:
        return ()
    return ("No value is missing; if a row without one would not count, declare: required = true",)


def _oddities(column: _Seen) -> tuple[str, ...]:
    if column.filled == column.other_dates > 0:
        return ("These look like dates; write them as 2001-12-31 to read them as dates.",)
    if column.filled == column.commas > 0:
        return ("These look like numbers with a decimal comma; write a point to read them as numbers.",)
    if column.kind is Kind.TEXT and column.filled / 2 < column.numbers < column.filled:
        odd = number(column.filled - column.numbers, "is not", "are not")
        are = number(column.numbers, "value is a number", "values are numbers")
        return (f"Mixed: {are} and {odd}; mend those to read it as numbers.",)
    return ()
