"""Row-wise expressions: what plain SQL says on every engine, within the bounds that are said, failing on no row."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction
from random import Random
from typing import Any

import pyarrow as pa
import pytest
import sqlglot
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from sqlglot import exp
from tests.ask.visits import columns

from discreet.core import sql
from discreet.core.card import Card, Column
from discreet.core.engine import Engine
from discreet.core.exact import exp_lower, exp_upper, sqrt_lower, sqrt_upper
from discreet.core.kind import Kind
from discreet.engines.duckdb import DuckDB
from discreet.errors import BadQuery, DiscreetError, NotDeclared
from discreet.verbs.ask.scalar import numbers, scalar
from discreet.verbs.ask.value import Columns, Known, Value

BOUNDS = {"d": (dt.date(1999, 1, 31), dt.date(2004, 3, 1))}
CARD = Card(
    "t",
    (
        Column("i", Kind.INTEGER, bounds=(-7, 9)),
        Column("n", Kind.INTEGER, bounds=(0, 4)),
        Column("x", Kind.REAL, bounds=(-2.5, 3.5)),
        Column("y", Kind.REAL, bounds=(0.0, 1000.0)),
        Column("p", Kind.DECIMAL, bounds=(Decimal("-9.99"), Decimal("9.99"))),
        Column("w", Kind.REAL),
        Column("b", Kind.BOOLEAN),
        Column("d", Kind.DATE, bounds=BOUNDS["d"]),
        Column("e", Kind.DATE),
        Column("t", Kind.TIMESTAMP),
        Column("s", Kind.TEXT),
        Column("c", Kind.TEXT, categories=("ab", "é", "10%")),
    ),
)
VALUES: Mapping[str, list[Any]] = {
    "i": [-7, 9, 0, 1, None],
    "n": [0, 4, 1, None],
    "x": [-2.5, 3.5, 0.0, 0.5, -0.5, 1.5, 2.4999, 5e-324, -1e-300, None],
    "y": [0.0, 1000.0, 1.0, 5e-324, 1e-200, 2.5, None],
    "p": [Decimal("-9.99"), Decimal("9.99"), Decimal("0.50"), Decimal("-0.50"), None],
    "w": [math.inf, -math.inf, 1e308, -1e308, 5e-324, 0.0, 50.0, None],
    "b": [True, False, None],
    "d": [*BOUNDS["d"], dt.date(2000, 2, 29), dt.date(2001, 12, 31), dt.date(2003, 10, 31), None],
    "e": [dt.date.min, dt.date.max, dt.date(2000, 2, 29), dt.date(2001, 2, 28), dt.date(1970, 1, 1), None],
    "t": [
        dt.datetime(2000, 2, 29, 23, 59, 59, 999999),
        dt.datetime(1677, 10, 1),
        dt.datetime(2024, 1, 1, 0, 0),
        dt.datetime(2262, 4, 11, 12, 30),
        None,
    ],
    "s": ["", "ab", "AB!c", "10%", "1_0", "back\\slash", "naïve", "Ünï", "a\nb", "%", "!", None],
    "c": ["ab", "é", "10%", None],
}
_pick = Random(1)  # noqa: S311
ROWS = [tuple(_pick.choice(values) for values in VALUES.values()) for _ in range(300)]


def _known(column: Column) -> Value:
    ends = None
    if column.bounds is not None:
        ends = [Fraction(end.toordinal() if isinstance(end, dt.date) else end) for end in column.bounds]  # type: ignore[arg-type]
    within = (ends[0], ends[1]) if ends else None
    domain = (False, True) if column.kind is Kind.BOOLEAN else column.categories
    return Value(sql.column(column.name), column.kind, within, domain, column.name, longest=column.characters)


KNOWN = Columns(Known(column.name, _known(column), "t") for column in CARD.columns)


def read(text: str) -> Value:
    return scalar(sqlglot.parse_one(text, dialect="duckdb"), KNOWN)


@pytest.fixture(scope="session")
def loaded(engine: Engine) -> Engine:
    data = columns(CARD, ROWS)
    engine.load("scalar_rows", data.append_column("row", [list(range(len(ROWS)))]))
    return engine


@pytest.fixture(scope="session")
def plain() -> DuckDB:
    found = DuckDB()
    found.load("t", columns(CARD, ROWS).append_column("row", [list(range(len(ROWS)))]))
    return found


Computed = Callable[[str], list[Any]]


@pytest.fixture(scope="session")
def computed(loaded: Engine) -> Computed:
    """What an expression is on each row of an engine; many are asked at once, since some engines take long to begin."""
    found: dict[str, list[Any]] = {}
    texts = [*LIKE_PLAIN, *EDGES, *SETTLED]
    for chunk in (texts[start : start + 40] for start in range(0, len(texts), 40)):
        shown = [sql.named(read(text).sql.copy(), f"v{place}") for place, text in enumerate(chunk)]
        query = exp.select(sql.column("row"), *shown).from_(sql.table("scalar_rows"))
        rows = sorted(loaded.fetch(query).to_pylist(), key=lambda row: int(row["row"]))
        found |= {text: [row[f"v{place}"] for row in rows] for place, text in enumerate(chunk)}
    return found.__getitem__


def require_within(text: str, values: list[Any]) -> None:
    """Every value is within the bounds and the domain that are said."""
    value = read(text)
    for one in values:
        if one is not None:
            number = one.toordinal() if isinstance(one, dt.date) else one
            assert value.within is None or value.within[0] <= Fraction(number) <= value.within[1], (text, one)
            assert value.domain is None or one in value.domain, (text, one)


def same(one: Any, other: Any) -> bool:
    if one is None or other is None or isinstance(one, str | bool | dt.date):
        return bool(one == other)
    return math.isclose(one, other, rel_tol=1e-12, abs_tol=1e-14)


LIKE_PLAIN = [
    # numbers
    "i // 2",
    "i // -3",
    "(i + 7) // 5 * 5",
    "i ** 2",
    "POWER(x, 3)",
    "POWER(i + 8, 4)",
    "SIGN(i) + SIGN(x) * 10",
    "SIGN(p)",
    "SQRT(y)",
    "SQRT(ABS(p))",
    "SQRT(i + 7)",
    "LN(y + 1)",
    "LN(GREATEST(COALESCE(y, 1), 2.5))",
    "EXP(x)",
    "EXP(-i)",
    "EXP(p / 2)",
    "ROUND(x)",
    "ROUND(p)",
    "ROUND(-x * 3)",
    "CAST(y * 1.1 AS INTEGER)",
    "CAST(p AS BIGINT)",
    "CAST(i AS DOUBLE) / 4",
    "CAST(CAST(i AS DOUBLE) AS INTEGER)",
    "LEAST(GREATEST(COALESCE(w, 7), -3), 100)",
    "GREATEST(LEAST(LENGTH(COALESCE(s, c, '')), 5), 2)",
    "FLOOR(LEAST(GREATEST(COALESCE(w, 7.5), 0), 10.5))",
    # choices
    "NULLIF(i, 0)",
    "NULLIF(s, 'ab')",
    "NULLIF(d, '2000-02-29')",
    "i / NULLIF(n, 0)",
    "IF(b, i, n)",
    "IF(b, i, NULL)",
    "COALESCE(NULL, i, NULL, n, 3)",
    "COALESCE(s, NULL, c, 'none')",
    "COALESCE(d, e)",
    "CASE WHEN b THEN NULL WHEN i > 0 THEN x END",
    "CASE d WHEN '2000-02-29' THEN 1 WHEN DATE '2001-12-31' THEN 2 ELSE 3 END",
    "CAST(b AS INTEGER) + CAST(i > 0 AS INTEGER)",
    # conditions
    "i IN (1, 9, NULL)",
    "i NOT IN (1, NULL)",
    "s IN (NULL)",
    "d IN ('2000-02-29', DATE '2001-12-31')",
    "d > '2000-02-29'",
    "t <= '2024-01-01'",
    "t BETWEEN '2000-01-01' AND '2024-01-01 00:00'",
    "b IS TRUE",
    "b IS NOT TRUE",
    "(i > 0) IS FALSE",
    "(i > 0) IS NOT FALSE",
    "b IS UNKNOWN",
    "i IS DISTINCT FROM n",
    "x IS NOT DISTINCT FROM i",
    "s IS DISTINCT FROM c",
    "s IS NOT DISTINCT FROM NULL",
    "NULL IS DISTINCT FROM i",
    "s LIKE '10!%' ESCAPE '!'",
    "s LIKE '%!!%' ESCAPE '!'",
    "s LIKE 'back\\\\%' ESCAPE '\\'",
    "s NOT LIKE '1\\_0' ESCAPE '\\'",
    "s LIKE '%x_0' ESCAPE 'x'",
    "s LIKE '%!%' AND s LIKE '%'",
    "s ILIKE 'aB%'",
    "s ILIKE '%Ï%' AND s NOT ILIKE '_Ï%'",
    "s ILIKE 'a!_B' ESCAPE '!'",
    # texts
    "CONCAT(s, c, '!')",
    "CONCAT(c)",
    "s || c || '-'",
    "LENGTH(s)",
    "LENGTH(c)",
    "LENGTH(CONCAT(s, c))",
    "SUBSTRING(s, 2)",
    "SUBSTRING(s FROM 2 FOR 2)",
    "LEFT(s, 3)",
    "POSITION('b' IN s)",
    "STRPOS(s, 'ïv')",
    "STARTS_WITH(s, '10%')",
    "STARTS_WITH(LOWER(s), 'ab')",
    # dates
    "CAST(d + INTERVAL 1 MONTH AS DATE)",
    "CAST(d - INTERVAL '13 months' AS DATE)",
    "CAST(d + INTERVAL 1 YEAR AS DATE)",
    "CAST(d - INTERVAL (2) QUARTER AS DATE)",
    "CAST(d + INTERVAL '-3' WEEK AS DATE)",
    "CAST(DATE_ADD(d, INTERVAL 40 DAY) AS DATE)",
    "d + 29",
    "d - 31",
    "t + INTERVAL 1 MONTH",
    "t - INTERVAL 400 DAY",
    "d - DATE '2000-02-28'",
    "e - d",
    "DATE_DIFF('day', d, e)",
    "DATEDIFF('day', t, TIMESTAMP '2000-03-01 00:00:00')",
    "DATE_DIFF('month', d, e)",
    "DATE_DIFF('quarter', d, DATE '2005-01-01')",
    "DATE_DIFF('year', t, d)",
    "EXTRACT(YEAR FROM AGE(DATE '2004-02-28', d))",
    "EXTRACT(YEAR FROM AGE(e, d))",
    "EXTRACT(YEAR FROM AGE(CAST(d + INTERVAL 1 YEAR AS DATE), d))",
    "CAST(DATE_TRUNC('month', d) AS DATE)",
    "CAST(DATE_TRUNC('quarter', d) AS DATE)",
    "CAST(DATE_TRUNC('year', e) AS DATE)",
    "CAST(DATE_TRUNC('day', t) AS DATE)",
    "CAST(DATE_TRUNC('quarter', t) AS DATE)",
    "EXTRACT(DOW FROM d)",
    "EXTRACT(ISODOW FROM d) * 2",
    "EXTRACT(DOW FROM t)",
    "EXTRACT(YEAR FROM d)",
    "YEAR(e) + MONTH(e) * 100 + QUARTER(t)",
    "CAST(t AS DATE)",
    "CAST(d AS TIMESTAMP) < t",
    "DATE(t) = d",
    "CAST(d AS VARCHAR)",
    # weeks, texts of dates, pieces and patterns
    "CAST(DATE_TRUNC('week', d) AS DATE)",
    "CAST(DATE_TRUNC('week', e) AS DATE)",
    "CAST(DATE_TRUNC('week', t) AS DATE)",
    "EXTRACT(week FROM d)",
    "EXTRACT(week FROM e)",
    "EXTRACT(doy FROM t)",
    "STRFTIME(d, '%Y-%m')",
    "STRFTIME(t, '%d.%m.%Y %H:%M')",
    "SPLIT_PART(s, 'a', 1)",
    "SPLIT_PART(s, '\\', 2)",
    "SPLIT_PART(c, '0', 2)",
    "SPLIT_PART(s, 'ï', 7)",
    "REGEXP_MATCHES(s, '^[A-Z]+')",
    "REGEXP_MATCHES(s, 'b$')",
    "REGEXP_MATCHES(s, '^$')",
    "REGEXP_MATCHES(s, '^(ab|AB).?c*$')",
    "REGEXP_MATCHES(s, '[0-9]{1,2}[%_]')",
    "REGEXP_MATCHES(s, '\\\\')",
    "REGEXP_MATCHES(s, '[^a-zA-Z]')",
    "REGEXP_MATCHES(s, '\\d|\\s')",
    "REGEXP_MATCHES(s, 'A|N', 'i')",
    "REGEXP_MATCHES(s, 'ï.e')",
    "s ~ '[!%]'",
    "REGEXP_MATCHES(s, 'a\\wï?v')",
]


@pytest.mark.parametrize("text", LIKE_PLAIN)
def test_an_expression_is_what_plain_sql_says(computed: Computed, plain: DuckDB, text: str) -> None:
    said = [one for _, one in sorted(plain.run(f"SELECT row, {text} FROM t"))]
    found = computed(text)
    require_within(text, found)
    wrong = [(row, one, other) for row, one, other in zip(ROWS, found, said, strict=True) if not same(one, other)]
    assert not wrong, wrong[:3]


EDGES = {
    "e + INTERVAL 1 DAY": (dt.date(1, 1, 2), None),
    "e - INTERVAL 1 DAY": (None, dt.date(9999, 12, 30)),
    "e + INTERVAL 1 MONTH": (dt.date(1, 2, 1), None),
    "e - INTERVAL 1 MONTH": (None, dt.date(9999, 11, 30)),
    "e + INTERVAL 9998 YEAR": (dt.date(9999, 1, 1), None),
    "e - 3652058": (None, dt.date(1, 1, 1)),
    "DATE_TRUNC('month', e)": (dt.date(1, 1, 1), dt.date(9999, 12, 1)),
    "EXTRACT(ISODOW FROM e)": (1, 5),
    "DATE_DIFF('day', DATE '0001-01-01', e)": (0, 3652058),
    "EXTRACT(YEAR FROM AGE(e, DATE '9999-12-31'))": (-9998, 0),
}


@pytest.mark.parametrize("text", EDGES)
def test_the_calendar_ends_in_null(computed: Computed, text: str) -> None:
    found = computed(text)
    require_within(text, found)
    for row, one in zip(ROWS, found, strict=True):
        if row[8] in (dt.date.min, dt.date.max):
            assert one == EDGES[text][row[8] == dt.date.max]


BEYOND = [
    *("CAST(e AS TIMESTAMP)", "YEAR(e)", "MONTH(e)", "EXTRACT(HOUR FROM t)", "t + INTERVAL 1 MONTH"),
    *("DATE_TRUNC('day', t)", "DATE_DIFF('year', e, t)", "DATE_DIFF('month', t, DATE '2000-01-01')"),
]


@pytest.mark.parametrize("engine", ["duckdb", "postgres"], indirect=True)
def test_dates_that_python_does_not_know_are_null(engine: Engine, fresh: Any) -> None:
    beyond = "'infinity'", "'-infinity'", "'11000-01-01'", "'0044-03-15 BC'"
    if engine.dialect == "duckdb":
        beyond = (*beyond[:3], "'0044-03-15 (BC)'")
    name = fresh()
    rows = " UNION ALL ".join(f"SELECT CAST({one} AS DATE) AS e, CAST({one} AS TIMESTAMP) AS t" for one in beyond)
    engine.store(name, sqlglot.parse_one(rows, dialect=engine.dialect))  # type: ignore[arg-type]
    for text in (*EDGES, *BEYOND):
        made = read(text).sql.copy()
        found = engine.fetch(exp.select(sql.named(made, "v")).from_(sql.table(name)))
        assert found["v"].null_count == len(beyond), text


WITHIN = {
    "i ** 2": (0, 81),
    "i ** 3": (-343, 729),
    "POWER(n + 1, 2)": (1, 25),
    "SIGN(n)": (0, 1),
    "SIGN(-1 - n)": (-1, -1),
    "NULLIF(n, 0)": (1, 4),
    "NULLIF(n, 4)": (0, 3),
    "NULLIF(n, 2)": (0, 4),
    "NULLIF(i, n)": (-7, 9),
    "LENGTH(c)": (1, 3),
    "LEAST(LENGTH(s), 9)": (0, 9),
    "LEAST(GREATEST(w, -1), 1)": (-1, 1),
    "GREATEST(LEAST(i, 3), 1)": (1, 3),
    "CAST(b AS INT)": (0, 1),
    "CAST(x AS INT)": (-3, 4),
    "DATE_DIFF('day', d, DATE '2004-03-01')": (0, 1856),
    "DATE '1999-02-01' - d": (-1855, 1),
    "DATE_DIFF('month', d, DATE '2004-03-01')": (0, 62),
    "DATE_DIFF('year', d, DATE '2004-03-01')": (0, 5),
    "EXTRACT(YEAR FROM AGE(DATE '2004-03-01', d))": (0, 5),
    "EXTRACT(YEAR FROM AGE(d, DATE '1980-01-31'))": (19, 24),
    "EXTRACT(YEAR FROM d)": (1999, 2004),
    "EXTRACT(YEAR FROM e)": (1, 9999),
    "EXTRACT(YEAR FROM d + INTERVAL 11 MONTH)": (1999, 2005),
    "-i": (-9, 7),
    "ABS(i)": (0, 9),
    "ABS(n + 2)": (2, 6),
    "ABS(-n - 1)": (1, 5),
    "i + n": (-7, 13),
    "i - n": (-11, 9),
    "i * n": (-28, 36),
    "n / (n + 1)": (0, 4),
    "n / (-1 - n)": (-4, 0),
    "MOD(i, 3)": (-2, 2),
    "MOD(n, 3)": (0, 2),
    "MOD(-n, -3)": (-2, 0),
    "WIDTH_BUCKET(x, 0, 10, 5)": (0, 6),
    "FLOOR(x)": (-3, 4),
    "CEIL(x)": (-3, 4),
    "ROUND(p)": (-10, 10),
    "SIGN(x)": (-1, 1),
    "SIGN(y)": (0, 1),
    "SIGN(y + 1)": (-1, 1),
    "i ** 1": (-7, 9),
    "(n + 1) ** 8": (1, 390625),
    "CASE WHEN b THEN n ELSE -7 END": (-7, 4),
    "CASE WHEN b THEN n END": (0, 4),
    "IF(b, i, n)": (-7, 9),
    "COALESCE(n, 9)": (0, 9),
    "NULLIF(n, 9)": (0, 4),
    "LEAST(i, n)": (-7, 4),
    "GREATEST(i, n)": (0, 9),
    "LEAST(STRPOS(s, 'a'), 5)": (0, 5),
    "DATE_DIFF('quarter', d, DATE '2004-03-01')": (0, 20),
    "EXTRACT(QUARTER FROM d)": (1, 4),
    "EXTRACT(MONTH FROM d)": (1, 12),
    "EXTRACT(DAY FROM d)": (1, 31),
    "EXTRACT(DOW FROM d)": (0, 6),
    "EXTRACT(ISODOW FROM d)": (1, 7),
    "EXTRACT(HOUR FROM t)": (0, 23),
    "EXTRACT(MINUTE FROM t)": (0, 59),
}
DAYS = {
    "DATE_TRUNC('day', d)": ("1999-01-31", "2004-03-01"),
    "DATE_TRUNC('month', d)": ("1999-01-01", "2004-03-01"),
    "DATE_TRUNC('quarter', d)": ("1999-01-01", "2004-01-01"),
    "DATE_TRUNC('year', d)": ("1999-01-01", "2004-01-01"),
    "d + 1": ("1999-02-01", "2004-03-02"),
    "d - 1": ("1999-01-30", "2004-02-29"),
    "d + INTERVAL 1 MONTH": ("1999-02-28", "2004-04-01"),
    "d - INTERVAL 1 YEAR": ("1998-01-31", "2003-03-01"),
    "d + INTERVAL 2 WEEK": ("1999-02-14", "2004-03-15"),
    "d - INTERVAL '1' QUARTER": ("1998-10-31", "2003-12-01"),
    "CAST(d AS TIMESTAMP)": ("1999-01-31", "2004-03-01"),
}
DOMAINS: dict[str, tuple[Any, ...] | None] = {
    "MOD(i, 3)": (-2, -1, 0, 1, 2),
    "WIDTH_BUCKET(x, 0, 10, 2)": (0, 1, 2, 3),
    "SIGN(n)": (0, 1),
    "CAST(b AS INT)": (0, 1),
    "LENGTH(c)": (1, 2, 3),
    "EXTRACT(YEAR FROM d)": tuple(range(1999, 2005)),
    "EXTRACT(YEAR FROM e)": None,
    "EXTRACT(DOW FROM d)": tuple(range(7)),
    "DATE_TRUNC('year', d)": tuple(dt.date(year, 1, 1) for year in range(1999, 2005)),
    "DATE_TRUNC('quarter', d)": tuple(dt.date(1999 + n // 4, 3 * (n % 4) + 1, 1) for n in range(21)),
    "DATE_TRUNC('month', d)": tuple(dt.date(1999 + n // 12, n % 12 + 1, 1) for n in range(63)),
    "DATE_TRUNC('day', d)": None,
    "CASE WHEN b THEN c ELSE 'no' END": ("ab", "é", "10%", "no"),
    "COALESCE(c, 'ab', 'x')": ("ab", "é", "10%", "x"),
    "COALESCE(c, s)": None,
    "COALESCE(1, 1.5)": None,
    "NULLIF(c, 'ab')": ("ab", "é", "10%"),
    "x > 1": (False, True),
}


@pytest.mark.parametrize("text", WITHIN)
def test_bounds_follow_from_bounds(text: str) -> None:
    assert read(text).within == WITHIN[text]


@pytest.mark.parametrize("text", DAYS)
def test_bounds_of_dates_are_days(text: str) -> None:
    assert read(text).within == tuple(dt.date.fromisoformat(end).toordinal() for end in DAYS[text])


@pytest.mark.parametrize("text", DOMAINS)
def test_all_values_there_can_be_are_known(text: str) -> None:
    assert read(text).domain == DOMAINS[text]


@pytest.mark.parametrize(("days", "few"), [(999, True), (1000, False)])
def test_days_are_categories_if_they_are_few(days: int, few: bool) -> None:
    first = dt.date(2000, 1, 1).toordinal()
    known = Value(sql.column("z"), Kind.DATE, (Fraction(first), Fraction(first + days - 1)))
    found = scalar(sqlglot.parse_one("DATE_TRUNC('day', z)", dialect="duckdb"), Columns([Known("z", known)]))
    assert (found.domain is not None) == few
    assert not few or (found.domain is not None and len(found.domain) == days)


def test_bounds_of_curves_are_outside_and_near() -> None:
    for text, low, high in (
        ("SQRT(y)", 0.0, math.sqrt(1000)),
        ("LN(y + 1)", 0.0, math.log(1001)),
        ("EXP(x)", math.exp(-2.5), math.exp(3.5)),
        ("EXP(-i)", math.exp(-9), math.exp(7)),
        ("LN(GREATEST(y, 0.001))", math.log(0.001), math.log(1000)),
    ):
        within = read(text).within
        assert within is not None
        assert within[0] <= Fraction(low) and Fraction(high) <= within[1]
        assert math.isclose(within[0], low, rel_tol=1e-11) and math.isclose(within[1], high, rel_tol=1e-11)
        assert all(Fraction(float(end)) == end for end in within), "a double, so that nothing is cut off inside"


def test_declared_bounds_of_dates_are_categories_of_their_units() -> None:
    months = read("DATE_TRUNC('month', d)").domain
    assert months is not None
    assert len(months) == 63 and months[0] == dt.date(1999, 1, 1) and months[-1] == dt.date(2004, 3, 1)
    assert (
        read("DATE_TRUNC('quarter', d)").domain
        == tuple(dt.date(year, month, 1) for year in range(1999, 2005) for month in (1, 4, 7, 10))[:21]
    )
    assert read("YEAR(d)").domain == tuple(range(1999, 2005))
    assert read("DATE_TRUNC('year', d)").domain == tuple(dt.date(year, 1, 1) for year in range(1999, 2005))
    assert read("DATE_TRUNC('day', d)").domain is None, "too many"
    assert read("DATE_TRUNC('month', e)").domain is None


REFUSED = {
    "POWER(x, 0.5)": "the exponent must be",
    "POWER(x, n)": "the exponent must be",
    "POWER(x, 9)": "the exponent must be",
    "POWER(x, -1)": "the exponent must be",
    "POWER(y, 7)": "too large",
    "SQRT(x)": "not always between",
    "LN(y)": "not always between",
    "LN(0)": "not always between",
    "EXP(y)": "not always between",
    "EXP(-y)": "not always between",
    "LOG(y)": "cannot be used on rows",
    "i / n": "could be zero",
    "i / NULLIF(x, 0)": "could be zero",
    "i / NULLIF(i, 0)": "could be zero",
    "i // n": "needs a whole number",
    "i // 0": "needs a whole number",
    "x // 2": "needs a whole number",
    "i // 2.5": "needs a whole number",
    "ROUND(x, 1)": "whole numbers only",
    "CAST(s AS INTEGER)": "could fail",
    "CAST(s AS DATE)": "could fail",
    "CAST(c AS DATE)": "could fail",
    "CAST(c AS DOUBLE)": "could fail",
    "CAST(5 AS DATE)": "could fail",
    "CAST(x AS VARCHAR)": "could fail",
    "CAST(i AS BOOLEAN)": "could fail",
    "CAST(i AS DECIMAL(4, 2))": "could fail",
    "TRY_CAST(s AS INTEGER)": "cannot be used on rows",
    "CASE WHEN b THEN NULL END": "has no value",
    "COALESCE(NULL, NULL)": "has no value",
    "COALESCE(i, s)": "different kinds",
    "CASE i WHEN NULL THEN 1 END": "NULL is only supported",
    "i = NULL": "NULL is only supported",
    "NULLIF(NULL, i)": "NULL is only supported",
    "NULLIF(i, s)": "compares integer with text",
    "i IS DISTINCT FROM s": "compares integer with text",
    "i IS TRUE": "IS TRUE and IS FALSE to conditions",
    "d > 'tomorrow'": "is not a date",
    "d > '2000-01-01 10:00'": "is not a date",
    "t > '2000-01-01 10:00+02:00'": "time zone",
    "d > s": "compares date with text",
    "d > 5": "compares date with integer",
    "s LIKE 'a\\%'": "backslash",
    "s LIKE 'a!b' ESCAPE '!'": "after '!' comes",
    "s LIKE 'a!' ESCAPE '!'": "after '!' comes",
    "s LIKE 'a' ESCAPE '!!'": "one character",
    "s LIKE 'a' ESCAPE ''": "one character",
    "s LIKE 'a' ESCAPE '%'": "one character",
    "s LIKE c": "text in quotes",
    "i LIKE '1'": "not text",
    "CONCAT(s, i)": "not text",
    "LENGTH(i)": "not text",
    "SUBSTRING(s, 0)": "SUBSTRING takes",
    "SUBSTRING(s, i)": "SUBSTRING takes",
    "SUBSTRING(s, 1, -1)": "SUBSTRING takes",
    "LEFT(s, -2)": "SUBSTRING takes",
    "STRPOS(s, c)": "must be in quotes",
    "STRPOS(s, '')": "not empty",
    "STARTS_WITH(s, s)": "must be in quotes",
    "CONCAT_WS('-', s, c)": "cannot be used on rows",
    "REGEXP_MATCHES(s, c)": "a text in quotes",
    "REGEXP_MATCHES(s, '')": "one line of up to",
    "REGEXP_MATCHES(s, '(a+)+')": "repeats a group without end",
    "REGEXP_MATCHES(s, '(ab)*')": "repeats a group without end",
    "REGEXP_MATCHES(s, 'a**')": "repeats a repetition",
    "REGEXP_MATCHES(s, 'a++')": "repeats a repetition",
    "REGEXP_MATCHES(s, '^*')": "repeats an anchor",
    "REGEXP_MATCHES(s, '(a)\\1')": "not a letter",
    "REGEXP_MATCHES(s, 'a(?=b)')": "group with options",
    "REGEXP_MATCHES(s, '(?i:a)')": "group with options",
    "REGEXP_MATCHES(s, '[[:alpha:]]')": "named class",
    "REGEXP_MATCHES(s, '\\ba')": "not a letter",
    "REGEXP_MATCHES(s, 'a{2,1}')": "braces",
    "REGEXP_MATCHES(s, 'a{999}')": "braces",
    "REGEXP_MATCHES(s, '(a|b){0,40}')": "too many ways",
    "REGEXP_MATCHES(s, '((a?){9}){9}')": "too many ways",
    "REGEXP_MATCHES(s, '(a{50}){50}')": "repeats too much",
    "REGEXP_MATCHES(s, '((a{10}){10}){11}')": "repeats too much",
    "REGEXP_MATCHES(s, '(a{50,}){21}')": "too many",
    "REGEXP_MATCHES(s, '(a')": "too many",
    "REGEXP_MATCHES(s, 'a)')": "too many",
    "REGEXP_MATCHES(s, '[b-a]')": "range",
    "REGEXP_MATCHES(s, '[A-z]', 'i')": "range",
    "REGEXP_MATCHES(s, '[a')": "ends too early",
    "REGEXP_MATCHES(s, '*a')": "nothing before it",
    "REGEXP_MATCHES(s, 'a', 'g')": "flag",
    "REGEXP_REPLACE(s, 'a', 'b')": "cannot be used on rows",
    "SPLIT_PART(s, '', 1)": "not empty",
    "SPLIT_PART(s, 'a', 0)": "of at least 1",
    "STRFTIME(d, '%H')": "no hours",
    "STRFTIME(d, '%B %Y')": "the format of a date",
    "STRFTIME(d, 'year')": "the format of a date",
    "d + INTERVAL 1 HOUR": "whole number of days",
    "d + INTERVAL '1.5' MONTH": "whole number of days",
    "d + INTERVAL '1 year 2 months'": "whole number of days",
    "d + INTERVAL (i) DAY": "whole number of days",
    "d + INTERVAL '٣' DAY": "whole number of days",
    "d + INTERVAL 999999 YEAR": "never in the years",
    "d + INTERVAL 9000 YEAR": "never in the years",
    "d - 900000": "never in the years",
    "d + i": "a constant number of days",
    "d + e": "a constant number of days",
    "i + INTERVAL 1 DAY": "dates and timestamps, not to integer",
    "i + d": "date, not a number",
    "t - t": "timestamp, not a number",
    "DATE_ADD(d, 3)": "only an INTERVAL can be added",
    "INTERVAL 1 DAY + d": "is added to a date",
    "DATE_DIFF('hour', t, t)": "counted in day",
    "DATE_DIFF('week', d, e)": "counted in day",
    "DATE_DIFF('day', d, s)": "dates and timestamps, not to text",
    "DATE_TRUNC('hour', d)": "truncated to day, week",
    "DATE_TRUNC('month', s)": "dates and timestamps, not to text",
    "AGE(d, e)": "cannot be used on rows",
    "EXTRACT(YEAR FROM AGE(d))": "a day and a date of birth",
    "EXTRACT(MONTH FROM AGE(d, e))": "cannot be used on rows",
    "EXTRACT(HOUR FROM d)": "can be extracted",
    "EXTRACT(EPOCH FROM t)": "can be extracted",
    "CURRENT_DATE - d": "cannot be used on rows",
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_could_fail_or_differ_is_refused_by_name(text: str) -> None:
    with pytest.raises(BadQuery, match=REFUSED[text]):
        read(text)


@pytest.mark.parametrize("text", ["LENGTH(s) + 1", "w * 2", "SQRT(w)", "LEAST(w, 5) + 1", "CAST(w AS INTEGER)"])
def test_bounds_are_known_or_set_in_the_question(text: str) -> None:
    with pytest.raises(NotDeclared, match="bounds") as caught:
        read(text)
    assert "LEAST(GREATEST(" in caught.value.hint


def test_a_chain_that_grows_with_every_link_is_cut_off() -> None:
    for link in (
        "ROUND({} + 0.1)",
        "GREATEST({}, 1)",
        "CASE {} WHEN 1 THEN 1 WHEN 2 THEN 3 END",
        "POWER(LEAST({}, 1), 8)",
    ):
        text = "x"
        for _ in range(12):
            text = link.format(text)
        with pytest.raises(DiscreetError):
            read(text)


SETTLED = ["CAST(y AS INTEGER)", "LEAST(i, n)", "IIF(b, i, n)"]


def test_what_engines_do_differently_is_settled(computed: Computed) -> None:
    """Halves go away from zero; LEAST of NULL is NULL; IIF is IF; a date's unit is a date."""
    for row, whole, least in zip(ROWS, computed("CAST(y AS INTEGER)"), computed("LEAST(i, n)"), strict=True):
        assert whole == (None if row[3] is None else math.floor(row[3] + 0.5))
        assert least == (None if None in row[:2] else min(row[:2]))
    assert computed("IIF(b, i, n)") == computed("IF(b, i, n)")
    assert read("DATE_TRUNC('month', t)").kind is read("d + INTERVAL 1 DAY").kind is Kind.DATE


def test_a_half_that_is_added_does_not_carry_a_double_beyond_its_bounds(
    duckdb: DuckDB, fresh: Callable[[], str]
) -> None:
    """2**52 + 1 and a half is no double; it becomes 2**52 + 2."""
    name, far = fresh(), 2.0**52 + 1
    duckdb.load(name, pa.table({"z": [far, -far]}))
    known = Columns([Known("z", Value(sql.column("z"), Kind.REAL, (Fraction(-far), Fraction(far)), name="z"))])
    for text in ("ROUND(z)", "CAST(z AS BIGINT)", "FLOOR(z)", "CEIL(z)"):
        made = scalar(sqlglot.parse_one(text, dialect="duckdb"), known).sql
        found = duckdb.fetch(exp.select(sql.named(made, "v")).from_(sql.table(name)))
        assert found["v"].to_pylist() == [2**52 + 1, -(2**52) - 1]


_LEAVES = [
    *(
        "i",
        "n",
        "x",
        "y",
        "p",
        "2",
        "-0.5",
        "1e-9",
        "LENGTH(c)",
        "YEAR(d)",
        "CAST(b AS INT)",
        "LEAST(GREATEST(w, 0), 9)",
    ),
    *("DATE_DIFF('day', d, DATE '2001-01-01')", "EXTRACT(YEAR FROM AGE(e, d))", "EXTRACT(DOW FROM t)"),
]
_LINKS = [
    *("({} + {})", "({} - {})", "({} * {})", "({} / GREATEST({}, 0.5))", "({} / NULLIF({}, 0))"),
    *("LEAST({}, {})", "COALESCE({}, {})", "NULLIF({}, {})", "IF(b, {}, {})", "CASE WHEN {} > {} THEN 1 ELSE NULL END"),
    *("SQRT(ABS({} - {}))", "LN(GREATEST({}, {}, 0.1))", "EXP(LEAST({} - {}, 3))", "SIGN({} - {})", "ROUND({} * {})"),
    *("POWER({}, 2) * {}", "CAST({} AS INTEGER) - {}"),
]
_numbers = st.recursive(
    st.sampled_from(_LEAVES),
    lambda inner: st.tuples(st.sampled_from(_LINKS), inner, inner).map(lambda one: one[0].format(*one[1:])),
    max_leaves=4,
)
_CALM = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]


def audit(text: str, engine: Engine) -> bool:
    """Whether it can be asked; then no row fails, whole numbers are within bounds, and doubles but for rounding."""
    try:
        value = read(text)
    except DiscreetError:
        return False
    query = exp.select(sql.named(value.sql.copy(), "v")).from_(sql.table("scalar_rows"))
    found = [Fraction(one) for one in engine.fetch(query)["v"].to_pylist() if one is not None]
    assert value.within is not None, text
    low, high = value.within
    slack = 0 if value.kind is Kind.INTEGER else max(abs(low), abs(high)) / 10**9
    assert all(low - slack <= one <= high + slack for one in found), text
    return True


@pytest.mark.parametrize("engine", ["duckdb", "postgres"], indirect=True)
@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=_CALM, phases=[Phase.generate])
@given(text=_numbers)
def test_no_row_makes_an_expression_fail_or_leave_its_bounds(loaded: Engine, text: str) -> None:
    audit(text, loaded)


def test_bounds_of_curves_are_the_next_numbers_of_forty_bits_outside() -> None:
    assert numbers._outwards(Fraction(3), 1) - 3 == 3 - numbers._outwards(Fraction(3), -1) == Fraction(1, 2**39)
    for text, low, high in (
        ("SQRT(y)", sqrt_lower(Fraction(0)), sqrt_upper(Fraction(1000))),
        ("EXP(x)", exp_lower(Fraction("-2.5")), exp_upper(Fraction("3.5"))),
    ):
        assert read(text).within == (numbers._outwards(low, -1), numbers._outwards(high, 1))
