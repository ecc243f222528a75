"""What can be asked and what cannot: hostile questions give a plan or an error of ours, and never touch data."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
import sqlglot
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlglot import exp
from tests.ask.neighbours import questions
from tests.ask.visits import CARD, ROWS, Silent, loaded

from discreet.core.card import Card, Column
from discreet.core.kind import Kind
from discreet.core.table import Table
from discreet.engines.duckdb import DuckDB
from discreet.errors import BadInput, BadQuery, DiscreetError, NotDeclared
from discreet.verbs.ask.answer import answer
from discreet.verbs.ask.plan import Plan, plan
from discreet.verbs.ask.price import price
from discreet.verbs.ask.source import rows_of


class Untouched:
    """An engine that must not be asked anything: a plan is made without the data."""

    dialect = "duckdb"
    title = "nothing"


UNTOUCHED = Untouched()


def table(card: Card, engine: Untouched = UNTOUCHED) -> Table:
    return Table(card, engine, exp.select("*").from_("nowhere"))  # type: ignore[arg-type]


AGE = Column("age", Kind.INTEGER, bounds=(0, 120))
TOWNS = Card("towns", (Column("town", Kind.TEXT), Column("size", Kind.INTEGER, bounds=(0, 9))), public=True)
LETTERS = Card("letters", (AGE, Column("note", Kind.TEXT)))
OTHERS = Card("others", (Column("person", Kind.TEXT), AGE), unit="person", rows_per_unit=2)
VISITS = {card.name: table(card) for card in (CARD, TOWNS, LETTERS, OTHERS)}


def planned(text: str, tables: dict[str, Table] | None = None) -> Plan:
    return plan(text, tables or VISITS)


REFUSED = {
    "SELECT * FROM visits": "asks for rows",
    "FROM visits": "asks for rows",
    "TABLE visits": "asks for rows",
    "SELECT age FROM visits": "must ask for aggregates",
    "SELECT city, COUNT(*) FROM visits": "must be in GROUP BY",
    "SELECT 1 FROM visits": "must ask for aggregates",
    "SELECT COUNT(*)": "needs a table",
    "": "one SELECT",
    "DROP TABLE visits": "one SELECT",
    "INSERT INTO visits VALUES (1)": "one SELECT",
    "COPY visits TO 'file.csv'": "one SELECT",
    "ATTACH 'file.db'": "one SELECT",
    "PRAGMA database_list": "one SELECT",
    "SELECT COUNT(*) FROM visits; DROP TABLE visits": "one SELECT",
    "VALUES (1)": "one SELECT",
    "SELECT COUNT(*) FROM (VALUES (1)) AS v": "FROM takes",
    "SELECT COUNT(*) FROM elsewhere": "no table 'elsewhere'",
    "SELECT COUNT(*) FROM information_schema.tables": "FROM takes",
    "SELECT COUNT(*) FROM pg_class": "no table",
    "SELECT COUNT(*) FROM sqlite_master": "no table",
    "SELECT COUNT(*) FROM duckdb_tables()": "FROM takes",
    "SELECT COUNT(*) FROM read_csv('/etc/passwd')": "FROM takes",
    "SELECT COUNT(*) FROM '/etc/passwd'": "no table",
    "SELECT COUNT(*) FROM visits, visits": "needs ON",
    "SELECT COUNT(*) FROM visits CROSS JOIN visits AS b": "CROSS JOIN is not supported",
    "SELECT COUNT(*) FROM visits, LATERAL (SELECT 1)": "FROM takes",
    "SELECT COUNT(*) FROM visits AS a JOIN visits AS b ON TRUE": "joined on equalities",
    "SELECT COUNT(*) FROM visits AS a JOIN visits AS b ON a.age = b.age": "joined on their unit",
    "SELECT COUNT(*) FROM visits AS a JOIN visits AS b ON a.person <= b.person": "joined on equalities",
    "SELECT COUNT(*) FROM visits AS a JOIN visits AS b ON a.person = b.person OR a.age = b.age": "about one of",
    "SELECT COUNT(*) FROM visits AS a JOIN visits AS b ON a.person = a.person": "joined on equalities",
    "SELECT COUNT(*) FROM visits AS a JOIN visits AS b ON a.person = 3": "joined on equalities",
    "SELECT COUNT(*) FROM visits AS a JOIN visits AS b ON COALESCE(a.person, 1) = b.person": "on their unit",
    "SELECT COUNT(*) FROM visits AS a JOIN visits AS b ON person = b.person": "could be a.person and b.person",
    "SELECT COUNT(*) FROM visits AS a JOIN visits AS b ON a.person = b.person AND a.income = b.income": "not on real",
    "SELECT COUNT(*) FROM visits AS a JOIN visits AS b ON a.person = b.person AND a.age = b.note": "integer and text",
    "SELECT COUNT(*) FROM visits JOIN visits USING (person)": "Two tables have the name 'visits'",
    "SELECT COUNT(*) FROM visits AS a NATURAL JOIN visits AS b": "NATURAL JOIN is not supported",
    "SELECT COUNT(*) FROM visits AS a ASOF JOIN visits AS b ON a.person >= b.person": "ASOF JOIN is not supported",
    "SELECT COUNT(*) FROM visits AS a JOIN visits AS b USING (nobody)": "no column 'nobody'",
    "SELECT SUM(age) FROM visits AS a JOIN visits AS b USING (person)": "'age' could be a.age and b.age",
    "SELECT COUNT(*) FROM (SELECT * FROM visits AS a JOIN visits AS b USING (person))": "Two columns are called",
    "SELECT COUNT(*) FROM visits WHERE other.age > 1": "no table 'other'",
    "SELECT SUM(visits.age) FROM visits AS v": "no table 'visits'",
    "SELECT other.city, COUNT(*) FROM visits GROUP BY city": "no table 'other'",
    "SELECT COUNT(*) FROM (SELECT other.* FROM visits)": "no table 'other'",
    "SELECT COUNT(*) FROM visits AS a JOIN (SELECT age FROM visits) AS b ON a.person = b.person": "no column 'person'",
    "SELECT COUNT(*) FROM visits AS a JOIN (SELECT age AS person FROM visits) AS b USING (person)": "on their unit",
    "SELECT COUNT(*) FROM towns": "are public",
    "SELECT town, COUNT(*) FROM towns GROUP BY town": "are public",
    "SELECT COUNT(*) FROM towns LEFT JOIN visits ON town = city": "on the left",
    "SELECT COUNT(*) FROM visits JOIN towns ON city = note": "joined on equalities",
    "SELECT COUNT(*) FROM visits JOIN towns ON TRUE": "joined on equalities",
    "SELECT SUM(n) FROM (SELECT town, COUNT(*) AS n FROM towns GROUP BY town)": "group by the unit",
    "SELECT COUNT(*) FROM visits AS v JOIN letters AS l ON v.age = l.age": "joined on their unit",
    "SELECT COUNT(*) FROM letters AS a JOIN letters AS b ON a.age = b.age": "joined on their unit",
    "SELECT COUNT(*) FROM visits AS v JOIN others AS o ON v.person = o.person": "of one type",
    "SELECT COUNT(*) FROM (SELECT age FROM visits UNION ALL SELECT age FROM letters)": "units have the same name",
    "SELECT COUNT(*) FROM (SELECT age FROM visits UNION ALL SELECT age FROM others)": "units have the same name",
    "SELECT COUNT(*) FROM (SELECT city FROM visits UNION ALL SELECT town FROM towns)": "units have the same name",
    "SELECT COUNT(*) FROM (SELECT age FROM visits UNION ALL SELECT income FROM visits)": "integer here and real there",
    "SELECT COUNT(*) FROM (SELECT age FROM visits UNION ALL SELECT age, city FROM visits)": "different numbers",
    "SELECT COUNT(*) FROM (SELECT age FROM visits UNION SELECT age FROM visits)": "plain UNION ALL",
    "SELECT COUNT(*) FROM (SELECT age FROM visits EXCEPT ALL SELECT age FROM visits)": "plain SELECT",
    "SELECT COUNT(*) FROM (SELECT age FROM visits UNION ALL BY NAME SELECT age FROM visits)": "plain UNION ALL",
    "SELECT COUNT(*) FROM (SELECT age FROM visits UNION ALL SELECT age FROM visits LIMIT 1)": "plain UNION ALL",
    "WITH a AS (SELECT age FROM visits), b AS (SELECT * FROM a UNION ALL SELECT * FROM a), "
    "c AS (SELECT * FROM b UNION ALL SELECT * FROM b), d AS (SELECT * FROM c UNION ALL SELECT * FROM c), "
    "e AS (SELECT * FROM d UNION ALL SELECT * FROM d), f AS (SELECT * FROM e UNION ALL SELECT * FROM e) "
    "SELECT COUNT(*) FROM f": "more than 16 tables",
    "WITH a0 AS (SELECT * FROM visits)"
    + "".join(f", a{i} AS (SELECT * FROM a{i - 1} WHERE age > 1)" for i in range(1, 99))
    + " SELECT COUNT(*) FROM a98": "nested too deeply",
    "SELECT SUM(n) FROM (SELECT age, COUNT(*) AS n FROM visits GROUP BY person)": "must be in GROUP BY",
    "SELECT SUM(n) FROM (SELECT age + 1 AS n FROM visits GROUP BY person)": "must be in GROUP BY",
    "SELECT SUM(n) FROM (SELECT MEDIAN(age) AS n FROM visits GROUP BY person)": "per unit|include the unit",
    "SELECT SUM(n) FROM (SELECT SUM(DISTINCT age) AS n FROM visits GROUP BY person)": "per unit|include the unit",
    "SELECT SUM(n) FROM (SELECT SUM(COUNT(*)) AS n FROM visits GROUP BY person)": "cannot be used on rows",
    "SELECT SUM(n) FROM (SELECT SUM(note) AS n FROM visits GROUP BY person)": "text cannot be added",
    "SELECT COUNT(n) FROM (SELECT MAX(member) AS n FROM visits GROUP BY person)": "booleans have no order",
    "SELECT SUM(n) FROM (SELECT COUNT(*) FROM visits GROUP BY person)": "no column 'n'",
    "SELECT SUM(n) FROM (SELECT *, COUNT(*) AS n FROM visits GROUP BY person)": "cannot be used on rows",
    "SELECT SUM(n) FROM (SELECT v.*, COUNT(*) AS n FROM visits AS v GROUP BY person)": "must be in GROUP BY",
    "SELECT SUM(n) FROM (SELECT age / COUNT(age) AS n FROM visits GROUP BY person, age)": "could be zero",
    "SELECT SUM(n) FROM (SELECT COUNT(*) AS n FROM visits GROUP BY person HAVING age > 1)": "must be in GROUP BY",
    "SELECT SUM(n) FROM (SELECT COUNT(*) AS n FROM visits GROUP BY person HAVING COUNT(*))": "condition",
    "SELECT SUM(n) FROM (SELECT COUNT(*) FILTER (WHERE age) AS n FROM visits GROUP BY person)": "condition",
    "SELECT SUM(n) FROM (SELECT COUNT(*) OVER () AS n FROM visits GROUP BY person)": "has no windows",
    "SELECT SUM(n) FROM (SELECT COUNT(*) AS n FROM visits GROUP BY ROLLUP (person))": "outer SELECT|declared groups",
    "SELECT SUM(n) FROM (SELECT COUNT(*) AS n FROM visits GROUP BY person ORDER BY n)": "this one has ORDER",
    "SELECT COUNT(*) FROM (SELECT DISTINCT ON (person) person, age FROM visits)": "DISTINCT ON",
    "SELECT COUNT(*) FROM (SELECT DISTINCT age FROM letters)": "no unit",
    "SELECT 5 AS x, COUNT(*) FROM visits GROUP BY x": "one group only",
    "SELECT 'a' AS x, COUNT(*) FROM visits GROUP BY 1": "one group only",
    "SELECT CAST(COUNT(*) AS DATE) FROM visits": "cannot be computed",
    "SELECT CAST(COUNT(*) AS HUGEINT) FROM visits": "cannot be computed",
    "SELECT city + 1, COUNT(*) FROM visits GROUP BY city": "cannot be computed",
    "SELECT born + 1 AS x, COUNT(*) FROM visits GROUP BY born": "has a type that answers do not have",
    "SELECT COUNT(*) FROM visits TABLESAMPLE (10 PERCENT)": "FROM takes a table as it is",
    "SELECT COUNT(*) FROM (SELECT age FROM visits) TABLESAMPLE (10 PERCENT)": "FROM takes a table as it is",
    "SELECT COUNT(*) FROM visits USING SAMPLE 10": "is not supported",
    "SELECT COUNT(*) FROM (SELECT age FROM visits) PIVOT (SUM(age) FOR age IN (1, 2))": "FROM takes a table as it is",
    "SELECT SUM(age) FROM visits AS v(income, age)": "FROM takes a table as it is",
    "WITH v(income, age) AS (SELECT age, income FROM visits) SELECT SUM(age) FROM v": "FROM takes a table as it is",
    "SELECT SUM(age) FROM (SELECT * EXCLUDE (age) FROM visits)": "Name the columns",
    "SELECT SUM(age) FROM (SELECT * REPLACE (1 AS age) FROM visits)": "Name the columns",
    'SELECT SUM("X") FROM (SELECT income AS "x", age AS "X" FROM visits)': "Two columns are called",
    "SELECT COUNT(*) FROM (SELECT age FROM visits LIMIT 1)": "row by row",
    "SELECT COUNT(*) FROM (SELECT DISTINCT age FROM visits)": "per unit|include the unit",
    "SELECT COUNT(*) FROM (SELECT age FROM visits ORDER BY age)": "row by row",
    "SELECT SUM(n) FROM (SELECT ROW_NUMBER() OVER () AS n FROM visits)": "within one person",
    "SELECT COUNT(*) FROM (SELECT 1 FROM visits UNION SELECT 2)": "plain UNION ALL",
    "SELECT COUNT(*) FROM (WITH a AS (SELECT 1) SELECT age FROM visits)": "at the beginning",
    "WITH RECURSIVE a AS (SELECT age FROM a) SELECT SUM(age) FROM a": "no table 'a'",
    "SELECT COUNT(*) FROM visits LIMIT (SELECT 1)": "are supported in FROM and WITH",
    "SELECT COUNT(*) FROM visits LIMIT 99999999999999999999": "LIMIT must be a number",
    "SELECT COUNT(*) FROM visits WINDOW w AS (PARTITION BY city)": "WINDOW is not supported",
    "SELECT COUNT(*) OVER () FROM visits": "must ask for aggregates",
    "SELECT COUNT(*) INTO elsewhere FROM visits": "INTO is not supported",
    "SELECT COUNT(*) FROM visits FOR UPDATE": "FOR UPDATE is not supported",
    "SELECT COUNT(*) FROM visits GROUP BY 7": "no such column",
    "SELECT COUNT(*) FROM visits GROUP BY COUNT(*)": "cannot be used on rows",
    "SELECT COUNT(*) FROM visits ORDER BY age": "must be in GROUP BY",
    "SELECT COUNT(*) FROM visits ORDER BY 2": "no such column",
    "SELECT COUNT(*) FROM visits ORDER BY RANDOM()": "cannot be computed",
    "SELECT COUNT(*) FROM visits HAVING age > 3": "must be in GROUP BY",
    "SELECT COUNT(*) FROM visits HAVING EXISTS (SELECT 1)": "are supported in FROM and WITH",
    "SELECT COUNT(*) + (SELECT 1) FROM visits": "must be one figure",
    "SELECT COUNT(*), GETENV('HOME') FROM visits": "cannot be computed",
    "SELECT COUNT(*), CURRENT_TIMESTAMP FROM visits": "cannot be computed",
    "SELECT SUM(COUNT(*)) FROM visits": "cannot be used on rows",
    "SELECT COUNT(*) FROM visits WHERE COUNT(*) > 1": "cannot be used on rows",
    "SELECT COUNT(*) FROM visits WHERE age = (SELECT MAX(age) FROM visits)": "ask for it first and write",
    "SELECT COUNT(*) FROM visits WHERE EXISTS (SELECT 1 FROM visits AS v WHERE v.age = age)": "joined on their unit",
    "SELECT COUNT(*) FROM visits WHERE age IN (SELECT age FROM visits)": "must include their unit",
    "SELECT COUNT(*) FROM visits WHERE age IN ()": "list of values",
    "SELECT COUNT(*) FROM visits WHERE (age, 1) IN ((1, 1))": "cannot be used on rows",
    "SELECT COUNT(*) FROM visits WHERE nextval('s') > 0": "cannot be used on rows",
    "SELECT COUNT(*) FROM visits WHERE pg_sleep(10) IS NULL": "cannot be used on rows",
    "SELECT COUNT(*) FROM visits WHERE RANDOM() < 0.5": "cannot be used on rows",
    "SELECT COUNT(*) FROM visits WHERE GETENV('HOME') = ''": "cannot be used on rows",
    "SELECT COUNT(*) FROM visits WHERE ? = 1": "cannot be used on rows",
    "SELECT COUNT(*) FROM visits WHERE note": "condition",
    "SELECT COUNT(*) FROM visits WHERE age": "condition",
    "SELECT COUNT(*) FILTER (WHERE note) FROM visits": "condition",
    "SELECT SUM(age) FILTER (WHERE age) FROM visits": "condition",
    "SELECT COUNT(*) FROM visits WHERE note = 1": "compares text with integer",
    "SELECT COUNT(*) FROM visits WHERE note LIKE 'a\\%'": "backslash",
    "SELECT COUNT(*) FROM visits WHERE note LIKE city": "LIKE takes",
    "SELECT COUNT(*) FROM visits WHERE note SIMILAR TO 'a'": "cannot be used on rows",
    "SELECT COUNT(*) FROM visits WHERE age BETWEEN SYMMETRIC 9 AND 1": "cannot be used on rows",
    "SELECT COUNT(*) FROM visits WHERE TRIM(BOTH 'x' FROM note) = ''": "cannot be used on rows",
    "SELECT COUNT(*) FROM visits WHERE SUBSTRING(note, 1.5, 2) = ''": "SUBSTRING takes",
    "SELECT COUNT(*) FROM visits WHERE age IS TRUE": "IS NULL",
    "SELECT COUNT(*) FROM visits WHERE born > DATE '2001-02-30'": "is not a date\\.",
    "SELECT COUNT(*) FROM visits WHERE seen > TIMESTAMP '2001-01-01 00:00:00+02:00'": "time zone",
    "SELECT COUNT(*) FROM visits WHERE nobody = 1": "no column 'nobody'",
    "SELECT COUNT(*) FROM visits WHERE a.b.age = 1": "cannot be used on rows",
    "SELECT SUM(CAST(note AS INTEGER)) FROM visits": "could fail",
    "SELECT SUM(TRY_CAST(note AS INTEGER)) FROM visits": "cannot be used on rows",
    "SELECT AVG('NaN'::DOUBLE) FROM visits": "could fail",
    "SELECT SUM(1 / age) FROM visits": "could be zero",
    "SELECT SUM(age / 0) FROM visits": "could be zero",
    "SELECT SUM(1 / (age - 120.0)) FROM visits": "could be zero",
    "SELECT SUM(age % 0) FROM visits": "constant whole divisor",
    "SELECT SUM(age % grade) FROM visits": "constant whole divisor",
    "SELECT SUM(age * 1e400) FROM visits": "too large",
    "SELECT SUM(age * 1e999999999) FROM visits": "too large",
    "SELECT SUM(age * 1e-999999999) FROM visits": "too small",
    "SELECT SUM(income * 1e-40 * 1e-40) FROM visits": "too small",
    "SELECT SUM(age * 9007199254740993) FROM visits": "too large",
    "SELECT SUM(age * 1e15 * 1e15) FROM visits": "too large",
    "SELECT SUM(note) FROM visits": "text cannot be added",
    "SELECT SUM(DISTINCT age) FROM visits": "DISTINCT is not supported",
    "SELECT AVG(NULL) FROM visits": "NULL is only supported",
    "SELECT COUNT() FROM visits": "is not supported",
    "SELECT COUNT(age, income) FROM visits": "is not supported",
    "SELECT COUNT(DISTINCT person, age) FROM visits": "of one expression",
    "SELECT LIST(age) FROM visits": "is not supported",
    "SELECT STRING_AGG(note, ',') FROM visits": "is not supported",
    "SELECT QUANTILE_CONT(age, 1e-99999999) FROM visits": "between 0 and 1",
    "SELECT QUANTILE_CONT(age, 2) FROM visits": "between 0 and 1",
    "SELECT QUANTILE_CONT(age, 0.123456789) FROM visits": "at most three decimals. For example 0.123",
    "SELECT QUANTILE_CONT(age, 0.0001) FROM visits": "at most three decimals. For example 0.001",
    "SELECT QUANTILE_CONT(0, 0.5) FROM visits": "about a constant",
    "SELECT MIN(0) FROM visits": "about a constant",
    "SELECT MAX(2 + 2) FILTER (WHERE age > 3) FROM visits": "about a constant",
    "SELECT MEDIAN(COALESCE(NULL, 1.5)) FROM visits": "about a constant",
    "SELECT VARIANCE(3) FROM visits": "about a constant",
    "SELECT CORR(age, 1) FROM visits": "about a constant",
    "SELECT COUNT(*) FROM visits WHERE SUM(age) OVER (PARTITION BY person) > 3": "cannot be used on rows",
    "SELECT COUNT(*) FROM visits WHERE age NOT IN (SELECT age FROM visits)": "must include their unit",
    "SELECT SUM(age) FILTER (WHERE age IN (SELECT age FROM visits)) FROM visits": "must include their unit",
    "SELECT COUNT(*) FROM visits GROUP BY age = (SELECT 1)": "are supported in FROM and WITH",
    "SELEC * FROM visits": "line 1, column 9, near 'FROM'. A question must start with SELECT or WITH, not 'SELEC'",
    "SELECT COUNT(*)\nFROM visits\nWHERE age >": "line 3, column 11, near '>'",
    "SELECT COUNT(* FROM visits": "column 16, near 'FROM'",
    "SELECT FROM WHERE": "column 13, near 'WHERE'",
    "SELECT COUNT(*) FROM visits WHERE city = 'Oslo": "may not be closed",
    "SELECT COUNT(*) AS n, SUM(age) AS N FROM visits": "have the name",
    "SELECT COUNT(*) AS n, SUM(age) AS n_error FROM visits": "have the name",
    "SELECT COUNT(*) FROM visits WHERE 'unfinished": "cannot be parsed",
    "SELECT COUNT(*) FROM visits WHERE /* unfinished": "cannot be parsed",
    "SELECT COUNT(*) FROM visits WHERE " + "(" * 300 + "member" + ")" * 300: "cannot be parsed",
    "SELECT COUNT(*) FROM visits WHERE " + " AND ".join(["member"] * 500): "nested too deeply",
    "SELECT SUM(" + "+".join(["age"] * 900) + ") FROM visits": "nested too deeply",
    "SELECT SUM(" + "GREATEST(" * 30 + "age" + ", 1)" * 30 + ") FROM visits": "too long|can be read",
    "SELECT COUNT(*) FROM visits WHERE age IN (" + ",".join(map(str, range(4500))) + ")": "longer than",
    "SELECT COUNT(*) FROM visits WHERE age IN (" + ",".join("1" * 9000) + ")": "too long",
}


@pytest.mark.parametrize("text", REFUSED, ids=lambda text: text[:80])
def test_what_cannot_be_asked_is_refused_with_a_reason(text: str) -> None:
    with pytest.raises(BadQuery, match=REFUSED[text]) as caught:
        planned(text)
    assert "c0" not in str(caught.value), "names of our own say nothing to whoever asks"


@pytest.mark.parametrize(
    "text", [one for one in REFUSED if "SELEC * " in one or "WHERE age >" in one or "FROM WHERE" in one]
)
def test_what_cannot_be_read_is_said_without_names_of_classes(text: str) -> None:
    with pytest.raises(BadQuery) as refusal:
        planned(text)
    assert not {"sqlglot", "class", "Token", "keyword"} & set(str(refusal.value).replace("<", " ").split())
    assert "sqlglot" not in str(refusal.value)


@pytest.mark.parametrize("text", ["SELECT SUM(person) FROM visits", "SELECT AVG(LENGTH(note)) FROM visits"])
def test_bounds_are_declared_or_there_is_no_sum(text: str) -> None:
    with pytest.raises(NotDeclared, match="bounds") as caught:
        planned(text)
    assert "LEAST(GREATEST(" in caught.value.hint


def test_a_row_bound_is_declared_or_there_is_no_answer() -> None:
    with pytest.raises(NotDeclared, match="how many rows"):
        planned("SELECT COUNT(*) FROM visits", {"visits": table(replace(CARD, rows_per_unit=None))})


def test_comments_and_strings_hide_nothing() -> None:
    for text in (
        "SELECT COUNT(*) -- */ FROM secrets; DROP TABLE visits /*\n AS n FROM visits",
        "SELECT COUNT(*) /* -- */ AS n FROM visits -- ; SELECT 1",
        "SELECT COUNT(*) AS n FROM visits WHERE note = '''; DROP TABLE visits; --'",
        "SELECT COUNT(*) + 1 /* '; SELECT 1 */ AS n FROM visits WHERE note = '/*' OR note = '*/'",
    ):
        made = planned(text)
        for query in (made.query, made.after):
            (again,) = sqlglot.parse(query.sql("duckdb"), dialect="duckdb")
            assert isinstance(again, exp.Select)
            assert {one.name for one in again.find_all(exp.Table)} <= {"nowhere", "discreet_noisy"}


def test_names_cannot_reach_the_engine() -> None:
    """Whatever a question calls things, the engine is asked with names of our own, but for the source's columns."""
    made = planned('SELECT x AS "k0; --", COUNT(*) AS "m0" FROM (SELECT city AS x, age AS "c1" FROM visits) GROUP BY x')
    named = {alias.alias for alias in made.query.find_all(exp.Alias)}
    assert all(name == "discreet_unit" or (name[0] in "ckm" and name[1:].isdigit()) for name in named)


STRANGE = (
    "discreet_unit",
    "discreet_noisy",
    "k0",
    "m0",
    "f0",
    "c1",
    "c0",
    "units",
    "r",
    "t",
    "größe",
    'a "b',
    "naïve\u0301",
)


@pytest.mark.parametrize("name", STRANGE)
def test_columns_may_have_any_name(duckdb: DuckDB, name: str) -> None:
    card = Card(
        "odd",
        (
            Column("c", Kind.TEXT, categories=("x", "y")),
            Column(name, Kind.INTEGER, bounds=(0, 9)),
            Column("u", Kind.INTEGER),
        ),
        unit="u",
        rows_per_unit=2,
    )
    odd = loaded(duckdb, card, [("x", 3, 1), ("x", 4, 1), ("y", 5, 2)], f"odd {name}")
    quoted = exp.to_identifier(name, quoted=True).sql("duckdb")
    text = f"SELECT c AS {quoted}, SUM({quoted}) AS s, COUNT(DISTINCT u) AS n FROM odd GROUP BY c ORDER BY 1"
    made = plan(text, {"odd": odd})
    found = answer(made, price(made, 10**6), Silent())
    assert found.select([name, "s", "n"]).to_pylist() == [{name: "x", "s": 7, "n": 1}, {name: "y", "s": 5, "n": 1}]
    text = f"SELECT SUM({quoted}) AS s FROM (SELECT u, {quoted} FROM odd) WHERE {quoted} > 3"
    made = plan(text, {"odd": odd})
    assert answer(made, price(made, 10**6), Silent())["s"].to_pylist() == [9]


def test_tables_may_be_known_by_another_name_than_their_cards(duckdb: DuckDB) -> None:
    made = planned("SELECT COUNT(DISTINCT person) AS n FROM v", {"v": table(CARD)})
    assert [measure.most for measure in made.measures.values()] == [1]
    with pytest.raises(BadQuery, match="no table 'visits'"):
        planned("SELECT COUNT(*) FROM visits", {"v": table(CARD)})


@pytest.mark.parametrize(
    ("text", "most"),
    [
        ("COUNT(*)", 3),
        ("COUNT(age)", 3),
        ("COUNT(DISTINCT person)", 1),
        ("SUM(age)", 3 * 120),
        ("SUM(change)", 3 * 51),
        ("SUM(age - change)", 3 * 171),
        ("SUM(-age)", 3 * 120),
        ("SUM(CASE WHEN age > 3 THEN 7 END)", 3 * 7),
        ("SUM(age % 7)", 3 * 6),
        ("SUM(0)", 3),
    ],
)
def test_what_one_unit_can_change(text: str, most: int) -> None:
    (measure,) = planned(f"SELECT {text} FROM visits").measures.values()
    assert (measure.most, measure.step) == (most, 1)


@pytest.mark.parametrize(
    ("source", "most"),
    [
        ("visits AS a JOIN visits AS b USING (person)", 9),
        ("visits AS a LEFT JOIN visits AS b ON b.person = a.person AND a.age = b.age", 9),
        ("(SELECT age FROM visits UNION ALL SELECT change FROM visits)", 6),
        ("(SELECT age FROM letters UNION ALL SELECT age FROM letters)", 2),
        ("(SELECT person FROM visits GROUP BY person)", 1),
        ("(SELECT DISTINCT person FROM visits)", 1),
        ("(SELECT DISTINCT person, age FROM visits)", 3),
        ("(SELECT COUNT(*) AS n FROM visits GROUP BY city, person)", 3),
        ("visits JOIN (SELECT person, MAX(age) AS n FROM visits GROUP BY person) AS p USING (person)", 3),
        ("(SELECT DISTINCT a.person FROM visits AS a JOIN visits AS b USING (person))", 1),
    ],
)
def test_how_many_rows_one_unit_can_have(source: str, most: int) -> None:
    made = planned(f"SELECT COUNT(*) FROM {source}")
    assert [measure.most for measure in made.measures.values()] == [most] == [made.rows.most]


@pytest.mark.parametrize(
    ("text", "within"),
    [
        ("COUNT(*)", (1, 3)),
        ("COUNT(age)", (0, 3)),
        ("COUNT(*) FILTER (WHERE member)", (0, 3)),
        ("COUNT(DISTINCT city)", (0, 3)),
        ("SUM(age)", (0, 360)),
        ("SUM(change)", (-153, 150)),
        ("SUM(age + 5)", (5, 375)),
        ("SUM(-age - 5)", (-375, -5)),
        ("SUM(income)", (0, 3000)),
        ("AVG(change)", (-51, 50)),
        ("MIN(change)", (-51, 50)),
        ("MAX(paid)", (-100, 100)),
        ("MAX(age) - MIN(age)", (-120, 120)),
    ],
)
def test_where_an_aggregate_of_one_units_rows_lies(text: str, within: tuple[int, int]) -> None:
    select = sqlglot.parse_one(f"SELECT * FROM (SELECT {text} AS x FROM visits GROUP BY person)", dialect="duckdb")
    assert isinstance(select, exp.Select)
    assert rows_of(select, VISITS).columns["x"].within == within


def test_two_tables_of_whole_people_are_two_peoples() -> None:
    """A row of a table without units is in that table only."""
    tables = {"a": table(replace(LETTERS, name="a")), "b": table(replace(LETTERS, name="b"))}
    made = planned("SELECT COUNT(*) FROM (SELECT age FROM a UNION ALL SELECT age FROM b)", tables)
    assert made.rows.most == 1
    assert made.rows.sources == {"a", "b"}


def test_units_of_two_tables_are_what_either_card_says() -> None:
    """The bounds of one card must not be believed of the other's units."""
    person = Column("person", Kind.INTEGER, bounds=(0, 9))
    cards = [
        Card(name, (replace(person, bounds=ends), AGE), unit="person", rows_per_unit=1)
        for name, ends in (("a", (0, 9)), ("b", (-5, 10**6)))
    ]
    tables = {card.name: table(card) for card in cards}
    text = "SELECT SUM(person) FROM (SELECT person FROM a UNION ALL SELECT person FROM b)"
    assert [measure.most for measure in planned(text, tables).measures.values()] == [2 * 10**6]


def test_tables_in_different_places_are_not_joined() -> None:
    text = "SELECT COUNT(*) FROM visits AS a JOIN v AS b USING (person)"
    with pytest.raises(BadQuery, match="different databases"):
        planned(text, {"visits": VISITS["visits"], "v": table(CARD, Untouched())})


def test_few_groups_of_a_unit_make_a_lower_threshold() -> None:
    few = replace(CARD, rows_per_unit=100, groups_per_unit=2)
    text = "SELECT note, COUNT(*) AS n, COUNT(DISTINCT person) AS p FROM visits GROUP BY note"
    many, cut = (planned(text, {"visits": table(card)}) for card in (replace(few, groups_per_unit=None), few))
    assert (many.rows.owned.groups, cut.rows.owned.groups, cut.rows.most) == (100, 2, 100)
    assert cut.measures["units"].most == 2
    assert (price(cut, 1, "1e-6").threshold or 0) * 20 < (price(many, 1, "1e-6").threshold or 0)
    declared = planned("SELECT city, COUNT(DISTINCT person) AS p FROM visits GROUP BY city", {"visits": table(few)})
    assert declared.rows.owned.groups == 100, "every group is there, so none is cut"


def test_the_largest_of_groups_may_be_asked_for_without_their_figures() -> None:
    made = planned("SELECT city FROM visits GROUP BY city ORDER BY COUNT(*) DESC LIMIT 2")
    assert [measure.most for measure in made.measures.values()] == [3]


def test_a_centred_sum_takes_half_the_bounds_and_half_steps_where_it_must() -> None:
    made = planned("SELECT AVG(age), AVG(change), AVG(income) FROM visits")
    found = [(measure.most * measure.step / 3, measure.step) for measure in made.measures.values()]
    assert (Fraction(60), 1) in found
    assert (Fraction(101, 2), Fraction(1, 2)) in found
    (income,) = [(far, step) for far, step in found if step < Fraction(1, 2)]
    assert 500 < income[0] <= 500 + 2 * income[1]


def test_people_in_groups_may_count_in_every_one_of_them() -> None:
    made = planned("SELECT city, COUNT(DISTINCT person) FROM visits GROUP BY city")
    assert [measure.most for measure in made.measures.values()] == [3]


def test_large_numbers_are_summed_in_steps_that_cannot_overflow() -> None:
    card = Card("big", (Column("x", Kind.INTEGER, bounds=(-(2**62), 2**62)),))
    for text in ("SELECT SUM(x) FROM big", "SELECT AVG(x) FROM big", "SELECT VARIANCE(x) FROM big"):
        for measure in planned(text, {"big": table(card)}).measures.values():
            assert measure.most <= 2**31


@pytest.mark.parametrize("bounds", [(0.0, 5e-324), (-1e308, 1.7e308), (0.0, 1e-320)])
def test_bounds_at_the_end_of_what_doubles_can_be_are_refused(bounds: tuple[float, float]) -> None:
    tables = {"t": table(Card("t", (Column("x", Kind.REAL, bounds=bounds),)))}
    for text in ("SUM(x)", "AVG(x)", "VARIANCE(x)", "SUM(x * x)", "SUM(1 / (x + 1))"):
        try:
            planned(f"SELECT {text} FROM t", tables)
        except DiscreetError:
            continue


def test_noise_too_large_for_an_array_is_refused_before_the_data_is_seen() -> None:
    made = planned("SELECT note, SUM(income) FROM visits GROUP BY note")
    with pytest.raises(BadInput, match="does not fit"):
        price(made, "1e-12", "1e-6")


def test_undeclared_groups_need_a_delta() -> None:
    made = planned("SELECT note, COUNT(*) FROM visits GROUP BY note")
    with pytest.raises(BadInput, match=r"note.*delta"):
        price(made, 1)
    with pytest.raises(BadInput, match="epsilon must be above 0"):
        price(made, 0, "1e-6")


def test_too_many_declared_groups_are_refused() -> None:
    keys = ", ".join(f"EXTRACT({part} FROM seen)" for part in ("MONTH", "DAY", "HOUR", "MINUTE"))
    with pytest.raises(BadQuery, match="groups"):
        planned(f"SELECT COUNT(*) FROM visits GROUP BY {keys}")


def test_differencing_and_averaging_get_fresh_noise(duckdb: DuckDB) -> None:
    visits = loaded(duckdb, CARD, ROWS, "plan_visits")
    made = plan("SELECT COUNT(*) AS n FROM visits WHERE person <> 3", {"visits": visits})
    paid = price(made, "0.01")
    found = {answer(made, paid)["n"][0].as_py() for _ in range(20)}
    assert len(found) > 10


_WORDS = """
SELECT FROM visits WHERE GROUP BY HAVING ORDER LIMIT WITH AS ( ) , * . ; -- /* */ 'a' "age" age income
city note person born seen member COUNT SUM AVG MEDIAN VARIANCE QUANTILE_CONT DISTINCT FILTER OVER CASE
WHEN THEN ELSE END IF CAST DATE NULL TRUE NOT AND OR IN LIKE BETWEEN IS + - / % || = <> < :: 0 1 -1 0.5
1e9 1e-300 ² ٣ $1 ? @ [ ] { } GREATEST LEAST COALESCE ABS ROUND FLOOR LENGTH LOWER TRIM SUBSTRING EXTRACT
YEAR ALL ANY EXISTS UNION JOIN LATERAL VALUES UNNEST INTERVAL ARRAY STRUCT WIDTH_BUCKET DESC NULLS FIRST
USING SAMPLE QUALIFY WINDOW PIVOT
"""
WORDS = st.sampled_from(_WORDS.split())


def only_ours(text: str) -> None:
    try:
        made = planned(text)
    except DiscreetError:
        return
    assert isinstance(made, Plan)
    assert made.query.sql("duckdb") and made.after.sql("duckdb")
    assert all(measure.most >= 1 for measure in made.measures.values())


_CALM = settings(max_examples=150, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


@_CALM
@given(words=st.lists(WORDS, max_size=12))
def test_a_soup_of_words_gives_a_plan_or_an_error_of_ours(words: list[str]) -> None:
    only_ours(" ".join(words))
    only_ours(f"SELECT COUNT(*) FROM visits WHERE {' '.join(words)}")
    only_ours(f"SELECT {' '.join(words)}, SUM(age) AS s FROM visits GROUP BY 1")


@_CALM
@given(text=st.text(max_size=40))
def test_any_text_gives_a_plan_or_an_error_of_ours(text: str) -> None:
    only_ours(text)
    only_ours(f"SELECT COUNT(*) AS n FROM visits WHERE {text}")


FUNCTIONS = sorted(
    (one for one in vars(exp).values() if isinstance(one, type) and issubclass(one, exp.Expr) and one.arg_types),
    key=lambda one: one.__name__,
)


@_CALM
@given(data=st.data(), text=questions())
def test_any_tree_gives_a_plan_or_an_error_of_ours(data: st.DataObject, text: str) -> None:
    """A node of a good question is replaced by any other that sqlglot knows, with the same parts."""
    tree = sqlglot.parse_one(text.replace("FROM t", "FROM visits").replace("u, i AS x", "age AS x"), dialect="duckdb")
    nodes = [node for node in tree.walk() if node.parent is not None]
    node = data.draw(st.sampled_from(nodes))
    kind = data.draw(st.sampled_from(FUNCTIONS))
    try:
        node.replace(kind(**{key: value for key, value in node.args.items() if key in kind.arg_types}))
        said = tree.sql("duckdb")
    except Exception:  # noqa: BLE001  # a tree that no text could have given
        return
    only_ours(said)
