"""Without noise, an answer is what plain SQL says, on every engine, up to the rounding of a row to a step."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from tests.ask.visits import CARD, PEOPLE, ROWS, TABLES, Silent, columns, loaded

from discreet.core.engine import Engine
from discreet.core.table import Table
from discreet.engines.duckdb import DuckDB
from discreet.verbs.ask.answer import answer
from discreet.verbs.ask.plan import plan
from discreet.verbs.ask.price import price

FIGURES = [
    "SELECT COUNT(*) AS n FROM visits",
    "SELECT COUNT(age) AS n, COUNT(note) AS notes, COUNT(paid) AS p FROM visits",
    "SELECT COUNT(DISTINCT person) AS people FROM visits",
    "SELECT COUNT(DISTINCT person) AS people FROM visits WHERE age > 100",
    "SELECT SUM(age) AS s FROM visits",
    "SELECT SUM(change) AS s, AVG(change) AS m FROM visits",
    "SELECT SUM(income) AS s FROM visits",
    "SELECT SUM(paid) AS s, AVG(paid) AS m FROM visits",
    "SELECT AVG(age) AS m, AVG(income) AS i FROM visits",
    "SELECT VAR_SAMP(age) AS v, VAR_POP(age) AS p FROM visits",
    "SELECT STDDEV(income) AS s, STDDEV_POP(income) AS p FROM visits",
    "SELECT VARIANCE(change) AS v, STDDEV_SAMP(paid) AS s FROM visits",
    "SELECT COVAR_POP(age, change) AS c, COVAR_SAMP(income, paid) AS d FROM visits",
    "SELECT CORR(age, income) AS c FROM visits",
    "SELECT REGR_SLOPE(income, age) AS a, REGR_INTERCEPT(income, age) AS b, REGR_R2(income, age) AS r FROM visits",
    "SELECT COUNT(*) AS n FROM visits WHERE age >= 18 AND age < 65",
    "SELECT COUNT(*) AS n FROM visits WHERE NOT (age > 60) OR member",
    "SELECT COUNT(*) AS n FROM visits WHERE (age > 60) = (change > 0)",
    "SELECT COUNT(*) AS n FROM visits WHERE (age > 60) IS NULL",
    "SELECT COUNT(*) AS n FROM visits WHERE age IS NULL OR paid IS NOT NULL",
    "SELECT COUNT(*) AS n FROM visits WHERE age BETWEEN 20 AND 40 AND change NOT BETWEEN -10 AND 10",
    "SELECT COUNT(*) AS n FROM visits WHERE city IN ('Oslo', 'it''s') AND grade NOT IN (2)",
    "SELECT COUNT(*) AS n FROM visits WHERE age IN (7, 14.0, 21.5, 105)",
    "SELECT COUNT(*) AS n FROM visits WHERE note LIKE '%l%' AND note NOT LIKE 'f_u '",
    "SELECT COUNT(*) AS n FROM visits WHERE LOWER(note) = 'flu' OR UPPER(note) = 'NAÏVE'",
    "SELECT COUNT(*) AS n FROM visits WHERE TRIM(note) = 'flu' AND LENGTH(note) = 4",
    "SELECT COUNT(*) AS n FROM visits WHERE SUBSTRING(note, 2, 2) = 'ol'",
    "SELECT COUNT(*) AS n FROM visits WHERE note || '!' = '!' OR note || city = 'a_bOslo'",
    "SELECT COUNT(*) AS n FROM visits WHERE CAST(age AS VARCHAR) = '14'",
    "SELECT COUNT(*) AS n FROM visits WHERE born < DATE '1970-01-01' AND seen >= TIMESTAMP '2024-03-01 00:00:00'",
    "SELECT COUNT(*) AS n FROM visits WHERE EXTRACT(MONTH FROM born) = 2 OR EXTRACT(DAY FROM seen) > 28",
    "SELECT COUNT(*) AS n FROM visits WHERE YEAR(seen) = 2024 AND QUARTER(born) <> 1",
    "SELECT SUM(EXTRACT(YEAR FROM born)) AS s, SUM(EXTRACT(HOUR FROM seen)) AS h FROM visits",
    "SELECT SUM(age + change) AS s, SUM(age - change) AS d FROM visits",
    "SELECT SUM(-change) AS s, SUM(age * change) AS p FROM visits",
    "SELECT SUM(income * 0.25 + age) AS s FROM visits",
    "SELECT SUM(income / (age + 1)) AS s FROM visits",
    "SELECT AVG(paid / GREATEST(age, 10)) AS m FROM visits",
    "SELECT SUM(ABS(change)) AS s, SUM(ABS(paid)) AS p FROM visits",
    "SELECT SUM(FLOOR(income)) AS f, SUM(CEIL(paid)) AS c FROM visits",
    "SELECT SUM(change % 7) AS s FROM visits",
    "SELECT SUM(CASE WHEN age > 60 THEN 1 WHEN change > 0 THEN 2 ELSE 0 END) AS s FROM visits",
    "SELECT SUM(CASE city WHEN 'Oslo' THEN income WHEN 'it''s' THEN change END) AS s FROM visits",
    "SELECT AVG(COALESCE(age, 50)) AS m, SUM(COALESCE(paid, income, 0.5)) AS s FROM visits",
    "SELECT COUNT(*) FILTER (WHERE member) AS n, SUM(age) FILTER (WHERE change < 0) AS s FROM visits",
    "SELECT AVG(income) FILTER (WHERE city = 'Oslo') AS m, COUNT(age) FILTER (WHERE member) AS c FROM visits",
    "SELECT SUM(age) / COUNT(*) AS ratio, COUNT(*) * 2 + 1 AS odd FROM visits",
    "SELECT ROUND(AVG(age), 1) AS m, CASE WHEN COUNT(*) > 10 THEN 'many' ELSE 'few' END AS said FROM visits",
    "SELECT SUM(x) AS s FROM (SELECT age * 2 AS x, city FROM visits WHERE member) AS r WHERE city = 'Oslo'",
    "SELECT SUM(y) AS s FROM (SELECT x + 1 AS y FROM (SELECT change AS x FROM visits WHERE age > 20))",
    "WITH old AS (SELECT * FROM visits WHERE age > 60) SELECT COUNT(*) AS n, SUM(income) AS s FROM old",
    "WITH a AS (SELECT age, member FROM visits), b AS (SELECT age + 1 AS e FROM a) SELECT SUM(e) AS s FROM b",
    "WITH a AS (SELECT change AS age, age AS change FROM visits) SELECT SUM(age) AS s FROM (SELECT * FROM a)",
    "SELECT COUNT(*) AS n FROM visits WHERE age > 1000",
    "SELECT SUM(age ** 2) AS s, SUM(POWER(change, 3)) AS p, SUM(SIGN(paid)) AS g FROM visits",
    "SELECT SUM(SQRT(income)) AS r, SUM(LN(income + 1)) AS l, SUM(EXP(paid / 50)) AS e FROM visits",
    "SELECT SUM(income / NULLIF(age, 0)) AS s, COUNT(NULLIF(grade, 2)) AS n FROM visits",
    "SELECT SUM(CAST(member AS INTEGER)) AS m, AVG(CAST(age > 60 AS INTEGER)) AS a FROM visits",
    "SELECT SUM(CAST(income AS INTEGER)) AS s, SUM(IF(member, age, NULL)) AS i FROM visits",
    "SELECT SUM(COALESCE(NULL, age, change, NULL)) AS s, SUM(LENGTH(city)) AS l FROM visits",
    "SELECT AVG(LEAST(LENGTH(COALESCE(note, '')), 4)) AS m FROM visits",
    "SELECT COUNT(*) AS n FROM visits WHERE CONCAT(note, city) = 'Oslo' OR LEFT(note, 2) = 'co'",
    "SELECT COUNT(*) AS n FROM visits WHERE STARTS_WITH(note, 'c') OR STRPOS(note, 'v') = 4 OR SUBSTR(note, 2) = 'lu'",
    "SELECT COUNT(*) AS n FROM visits WHERE note LIKE 'a!_b' ESCAPE '!' OR note LIKE '%\\%' ESCAPE '!'",
    "SELECT COUNT(*) AS n FROM visits WHERE note ILIKE 'F%' AND note NOT ILIKE '%\\_%' ESCAPE '\\'",
    "SELECT COUNT(*) AS n FROM visits WHERE age IN (7, 14, NULL) OR (member IS NOT TRUE AND change NOT IN (1, NULL))",
    "SELECT COUNT(*) AS n FROM visits WHERE age IS DISTINCT FROM change AND note IS NOT DISTINCT FROM NULL",
    "SELECT COUNT(*) AS n FROM visits WHERE born > '1960-01-01' AND seen BETWEEN '2024-03-01' AND '2024-03-05 12:00'",
    "SELECT COUNT(*) AS n FROM visits WHERE born + INTERVAL 18 YEAR > DATE '1980-02-29' AND born - 31 < '1990-01-31'",
    "SELECT COUNT(*) AS n FROM visits WHERE seen + INTERVAL 1 MONTH < '2024-04-01' AND seen::DATE > '2024-02-29'",
    "SELECT SUM(DATE_DIFF('day', born, DATE '2024-01-01')) AS d, SUM(DATE '2024-01-01' - born) AS e FROM visits",
    "SELECT SUM(DATE_DIFF('month', born, seen)) AS m, SUM(DATE_DIFF('year', seen, born)) AS y FROM visits",
    "SELECT AVG(EXTRACT(YEAR FROM AGE(DATE '2024-02-28', born))) AS age, SUM(EXTRACT(DOW FROM seen)) AS w FROM visits",
    "SELECT COUNT(*) AS n FROM visits WHERE DATE_TRUNC('quarter', born) < '1960-07-01' OR EXTRACT(DOW FROM born) = 0",
    'SELECT COUNT(*) AS "FROM", SUM("age") AS "a ""b" FROM "visits" AS v WHERE v.age > 3 -- no more',
    "SELECT COUNT(*) AS n FROM visits HAVING COUNT(*) < 3",
    "SELECT COUNT(*) AS n FROM VISITS WHERE AGE > 3 AND Visits.City = 'Oslo'",
    "SELECT COUNT(*) AS n, SUM(size) AS s FROM visits JOIN towns ON city = town",
    "SELECT COUNT(*) AS n, COUNT(t.land) AS l, SUM(t.size + v.age) AS s FROM visits AS v LEFT JOIN towns AS t "
    "ON v.city = t.town",
    "SELECT SUM(far) AS s FROM towns JOIN visits ON UPPER(town) = UPPER(city) WHERE member",
    "SELECT COUNT(*) AS n, AVG(height) AS m FROM visits JOIN people USING (person)",
    "SELECT COUNT(*) AS n, COUNT(p.person) AS c, SUM(p.height) AS s FROM visits AS v LEFT JOIN people AS p "
    "ON p.person = v.person AND p.home = v.city",
    "SELECT COUNT(*) AS n, SUM(a.age - b.age) AS s, COUNT(DISTINCT a.person) AS p FROM visits AS a JOIN visits AS b "
    "ON a.person = b.person WHERE a.age > b.age",
    "SELECT COUNT(*) AS n, SUM(size * age) AS s FROM visits JOIN people USING (person) JOIN towns ON home = town",
    "SELECT COUNT(*) AS n, SUM(x) AS s, SUM(y) AS y FROM (SELECT age AS x, paid AS y FROM visits UNION ALL "
    "SELECT change, paid FROM visits WHERE member)",
    "SELECT COUNT(DISTINCT person) AS n, SUM(h) AS s FROM (SELECT person, income AS h FROM visits UNION ALL "
    "(SELECT person, height FROM people))",
    "SELECT AVG(n) AS m, SUM(s) AS s, SUM(i) AS i FROM (SELECT person, COUNT(*) AS n, SUM(age) AS s, SUM(income) AS i "
    "FROM visits GROUP BY person)",
    "SELECT AVG(a) AS m, SUM(p) AS p FROM (SELECT AVG(income) AS a, AVG(paid) AS p FROM visits GROUP BY person "
    "HAVING COUNT(*) > 2 AND MIN(age) < 50)",
    "SELECT SUM(old - young) AS s, COUNT(*) AS n FROM (SELECT MAX(age) AS old, MIN(age) AS young, MAX(born) AS b, "
    "MIN(paid) AS p FROM visits GROUP BY person) WHERE b > DATE '1960-01-01' AND p < 0",
    "SELECT COUNT(*) AS n FROM (SELECT DISTINCT person, city FROM visits)",
    "SELECT SUM(c) AS s FROM (SELECT COUNT(DISTINCT city) AS c, COUNT(*) FILTER (WHERE member) AS m FROM visits "
    "GROUP BY person) WHERE m > 0",
    "SELECT SUM(n) AS s FROM (SELECT city, COUNT(*) AS n FROM visits GROUP BY person, city HAVING COUNT(*) > 1 "
    "OR city = 'Oslo')",
    "WITH p AS (SELECT person, MAX(age) AS old FROM visits GROUP BY person) SELECT SUM(old - age) AS s FROM visits "
    "JOIN p USING (person)",
    "SELECT SUM(s / n) AS s FROM (SELECT SUM(age) / 2 AS s, COUNT(*) AS n FROM visits GROUP BY person)",
    # distinct values
    "SELECT COUNT(DISTINCT city) AS n, COUNT(DISTINCT grade) AS g, COUNT(DISTINCT member) AS m FROM visits",
    "SELECT COUNT(DISTINCT age) AS n, COUNT(DISTINCT note) AS t, COUNT(DISTINCT born) AS b FROM visits",
    "SELECT COUNT(DISTINCT income) AS n, COUNT(DISTINCT paid) AS p, COUNT(DISTINCT seen) AS s FROM visits",
    "SELECT COUNT(DISTINCT age % 5) AS n, APPROX_COUNT_DISTINCT(city) AS c FROM visits",
    "SELECT COUNT(DISTINCT note) FILTER (WHERE member) AS n, COUNT(DISTINCT person) FILTER (WHERE age > 60) AS p "
    "FROM visits",
    "SELECT COUNT(DISTINCT land) AS n, COUNT(DISTINCT size) AS s FROM visits JOIN towns ON city = town",
    # IN (SELECT …) and EXISTS
    "SELECT COUNT(*) AS n FROM people WHERE person IN (SELECT person FROM visits WHERE age > 60)",
    "SELECT COUNT(*) AS n FROM people WHERE person NOT IN (SELECT person FROM visits)",
    "SELECT SUM(age) AS s FROM visits WHERE person IN (SELECT person FROM visits GROUP BY 1 HAVING MAX(age) > 110)",
    "SELECT COUNT(*) AS n FROM people p WHERE EXISTS (SELECT 1 FROM visits v WHERE v.person = p.person AND member)",
    "SELECT COUNT(*) AS n FROM people WHERE NOT EXISTS (SELECT * FROM visits WHERE visits.person = people.person AND "
    "visits.city = home AND age < 100)",
    "SELECT COUNT(*) AS n FROM visits AS v WHERE age > 70 OR EXISTS (SELECT 1 FROM people AS p WHERE p.person = "
    "v.person AND height < 1.8)",
    "SELECT COUNT(*) AS n FROM visits WHERE city IN (SELECT town FROM towns WHERE size > 4)",
    "SELECT COUNT(*) AS n FROM visits WHERE city NOT IN (SELECT town FROM towns WHERE size > 4)",
    "SELECT COUNT(*) AS n FROM visits WHERE city NOT IN (SELECT town FROM towns)",
    "SELECT COUNT(*) AS n FROM visits WHERE city NOT IN (SELECT town FROM towns WHERE size > 100)",
    "SELECT COUNT(*) AS n FROM visits AS v WHERE NOT EXISTS (SELECT 1 FROM towns WHERE town = v.city)",
    "SELECT SUM(CASE WHEN person IN (SELECT person FROM people) THEN age ELSE 0 END) AS s FROM visits"
    " WHERE EXISTS (SELECT 1 FROM towns)",
    "SELECT COUNT(*) AS n FROM people AS p WHERE EXISTS (SELECT 1 FROM visits AS v WHERE v.person = p.person AND "
    "v.person IN (SELECT person FROM visits WHERE age < 20))",
    "SELECT COUNT(*) AS n, SUM(f) AS f FROM (SELECT person, CASE WHEN EXISTS (SELECT 1 FROM people AS p WHERE p.person "
    "= v.person) THEN 1 ELSE 0 END AS f FROM visits AS v)",
    # windows within one person
    "SELECT SUM(gap) AS s, COUNT(gap) AS n FROM (SELECT DATE_DIFF('day', LAG(seen) OVER (PARTITION BY person ORDER BY "
    "seen), seen) AS gap FROM visits)",
    "SELECT SUM(age) AS s, COUNT(*) AS n FROM (SELECT age, ROW_NUMBER() OVER (PARTITION BY person ORDER BY seen DESC) "
    "AS place FROM visits) WHERE place = 1",
    "SELECT SUM(age) AS s, COUNT(*) AS n FROM (SELECT * FROM visits QUALIFY ROW_NUMBER() OVER (PARTITION BY person "
    "ORDER BY seen) <= 2)",
    "SELECT SUM(r) AS r, SUM(d) AS d FROM (SELECT RANK() OVER (PARTITION BY person ORDER BY member) AS r, DENSE_RANK() "
    "OVER (PARTITION BY person ORDER BY member NULLS FIRST) AS d FROM visits)",
    "SELECT SUM(income - m) AS s, SUM(n) AS n, SUM(c) AS c FROM (SELECT income, AVG(income) OVER (PARTITION BY person) "
    "AS m, COUNT(*) OVER (PARTITION BY person) AS n, COUNT(age) OVER (PARTITION BY person, member) AS c FROM visits)",
    "SELECT SUM(so_far) AS s, SUM(top) AS t FROM (SELECT SUM(age) OVER (PARTITION BY person ORDER BY seen) AS so_far, "
    "MAX(change) OVER (PARTITION BY person ORDER BY seen) AS top FROM visits)",
    "SELECT SUM(l - f) AS s FROM (SELECT LEAD(age, 2) OVER (PARTITION BY person ORDER BY seen) AS l, FIRST_VALUE(age) "
    "OVER (PARTITION BY person ORDER BY seen) AS f FROM visits)",
    "SELECT COUNT(*) AS n FROM (SELECT LAG(note) OVER (PARTITION BY person ORDER BY seen) AS before, note FROM visits) "
    "WHERE before = note OR before IS NULL",
    # joins
    "SELECT COUNT(*) AS n, SUM(age) AS s FROM visits AS v JOIN people AS p ON p.person = v.person AND age > 40 AND "
    "height < 2.1",
    "SELECT COUNT(*) AS n, COUNT(height) AS h FROM visits AS v LEFT JOIN people AS p ON p.person = v.person AND "
    "v.age > 40 AND p.height < 2.1",
    "SELECT COUNT(*) AS n, COUNT(b.age) AS c FROM visits AS a LEFT JOIN visits AS b ON a.person = b.person AND "
    "a.seen < b.seen AND b.age BETWEEN a.age AND 200",
    "SELECT COUNT(*) AS n, SUM(a.age) AS s FROM visits AS a JOIN visits AS b ON a.person = b.person AND b.age <> a.age",
    "SELECT COUNT(*) AS n, COUNT(p.person) AS p, COUNT(v.person) AS v, SUM(age) AS s, SUM(height) AS h FROM visits v "
    "FULL JOIN people AS p ON v.person = p.person AND v.city = p.home",
    "SELECT COUNT(*) AS n, COUNT(DISTINCT person) AS p, SUM(age) AS s FROM visits FULL JOIN people USING (person)",
    "SELECT COUNT(*) AS n, COUNT(v.person) AS c, SUM(height) AS h FROM visits AS v RIGHT JOIN people AS p ON "
    "v.person = p.person AND age > 60",
    "SELECT COUNT(*) AS n, SUM(age) AS s FROM towns RIGHT JOIN visits ON town = city AND size > 3",
    "SELECT COUNT(*) AS n FROM visits v FULL JOIN people p ON v.person = p.person AND v.age > 30 AND p.height > 2",
    "WITH o AS (SELECT * FROM visits WHERE age > 60) SELECT COUNT(*) AS n, SUM(a.age - b.age) AS s FROM o AS a JOIN o "
    "AS b ON a.person = b.person",
    # dates and texts
    "SELECT COUNT(*) AS n FROM visits WHERE DATE_TRUNC('week', seen) = '2024-03-04' OR EXTRACT(WEEK FROM born) > 50",
    "SELECT SUM(EXTRACT(DOY FROM born)) AS d, SUM(age // 10) AS a, SUM(change // -7) AS c FROM visits",
    "SELECT COUNT(*) AS n FROM visits WHERE STRFTIME(born, '%Y-%m') < '1960-07' OR STRFTIME(seen, '%H:%M') > '20:00'",
    "SELECT COUNT(*) AS n FROM visits WHERE SPLIT_PART(note, 'l', 2) = 'u' OR SPLIT_PART(note, '_', 3) = 'b'",
    "SELECT COUNT(*) AS n FROM visits WHERE REGEXP_MATCHES(note, '^[Ff]lu ?$') OR note ~ 'a.?b|ï'",
    "SELECT COUNT(*) AS n FROM visits WHERE REGEXP_MATCHES(note, '^FLU', 'i') AND NOT note ~ 'u$'",
    "SELECT SUM(DATE_PART('year', AGE(DATE '2024-02-28', born))) AS a FROM visits",
]
GROUPS = [
    "SELECT city, COUNT(*) AS n FROM visits GROUP BY city",
    "SELECT city, AVG(income) AS m, SUM(age) AS s FROM visits GROUP BY city",
    "SELECT member, COUNT(*) AS n, COUNT(DISTINCT person) AS people FROM visits GROUP BY member",
    "SELECT grade AS g, city AS c, SUM(change) AS s FROM visits GROUP BY g, c",
    "SELECT age > 60 AS old, COUNT(*) AS n FROM visits GROUP BY 1",
    "SELECT CASE WHEN age < 40 THEN 'young' ELSE city END AS who, COUNT(*) AS n FROM visits GROUP BY who",
    "SELECT EXTRACT(MONTH FROM born) AS month, COUNT(*) AS n, AVG(paid) AS m FROM visits GROUP BY month",
    "SELECT change % 3 AS rest, COUNT(*) AS n FROM visits GROUP BY rest",
    "SELECT COALESCE(city, 'none') AS c, COUNT(*) AS n FROM visits WHERE grade <> 2 GROUP BY COALESCE(city, 'none')",
    "SELECT EXTRACT(ISODOW FROM seen) AS w, COUNT(*) AS n FROM visits GROUP BY w",
    "SELECT SIGN(change) AS g, LENGTH(city) AS l, COUNT(*) AS n FROM visits GROUP BY g, l",
    "SELECT g, SUM(x) AS s FROM (SELECT grade AS g, income AS x FROM visits WHERE member) GROUP BY g",
    "SELECT v.City AS c, SUM(v.age) AS s FROM visits AS v GROUP BY CITY",
    "SELECT land, COUNT(*) AS n, SUM(age) AS s FROM visits JOIN towns ON city = town GROUP BY land",
    "SELECT t.land AS l, home, COUNT(*) AS n FROM people LEFT JOIN towns AS t ON home = town GROUP BY t.land, home",
    "SELECT times, COUNT(*) AS n FROM (SELECT COUNT(*) AS times FROM visits WHERE age > 40 GROUP BY person) "
    "GROUP BY times",
    "SELECT city, COUNT(DISTINCT note) AS n FROM visits GROUP BY city",
    "SELECT member, COUNT(DISTINCT grade) AS n, COUNT(DISTINCT person) FILTER (WHERE age > 50) AS people FROM visits "
    "GROUP BY member",
    "SELECT place, COUNT(*) AS n FROM (SELECT ROW_NUMBER() OVER (PARTITION BY person ORDER BY seen) AS place FROM "
    "visits) GROUP BY place",
    "SELECT CAST(DATE_TRUNC('week', born) AS DATE) > DATE '1960-01-01' AS w, COUNT(*) AS n FROM visits GROUP BY w",
    "SELECT STRFTIME(born, '%Y') AS y, COUNT(*) AS n FROM visits GROUP BY y",
    "SELECT SPLIT_PART(city, 'l', 1) AS c, COUNT(*) AS n FROM visits GROUP BY c",
    "SELECT city, member, COUNT(*) AS n FROM visits GROUP BY ALL",
    "SELECT what, COUNT(*) AS n FROM (SELECT 'visit' AS what FROM visits UNION ALL SELECT 'person' FROM people) "
    "GROUP BY what",
]
SELECTED = [
    "SELECT note, COUNT(*) AS n FROM visits GROUP BY note",
    "SELECT paid > 0 AS plus, LOWER(TRIM(note)) AS note, SUM(age) AS s FROM visits GROUP BY 1, 2",
    "SELECT CAST(DATE_TRUNC('month', seen) AS DATE) AS m, COUNT(*) AS n FROM visits GROUP BY m",
    "SELECT CONCAT(city, LEFT(note, 1)) AS c, SUM(age) AS s FROM visits GROUP BY c",
    "SELECT YEAR(seen) AS y, LENGTH(note) AS l, AVG(income) AS m FROM visits GROUP BY y, l",
    "SELECT since AS d, COUNT(*) AS n FROM visits JOIN towns ON city = town GROUP BY d",
    "SELECT best, COUNT(*) AS n FROM (SELECT person, MAX(note) AS best FROM visits GROUP BY person) GROUP BY best",
]


@pytest.fixture(scope="session")
def tables(engine: Engine) -> dict[str, Table]:
    return {name: loaded(engine, card, rows, f"ask_{name}") for name, (card, rows) in TABLES.items()}


@pytest.fixture(scope="session")
def visits(tables: dict[str, Table]) -> Table:
    return tables["visits"]


@pytest.fixture(scope="session")
def plain() -> DuckDB:
    engine = DuckDB()
    for name, (card, rows) in TABLES.items():
        engine.load(name, columns(card, rows))
    return engine


def exact(text: str, tables: dict[str, Table], *, epsilon: int = 10**6) -> tuple[list[dict[str, Any]], float]:
    """The answer without noise, and how far a sum may be off because rows are rounded to steps."""
    made = plan(text, tables)
    found = answer(made, price(made, epsilon, "1e-3"), Silent())
    off = len(ROWS) * max(float(measure.step) for measure in made.measures.values())
    kept = [name for name in found.column_names if not name.endswith("_error")]
    return found.select(kept).to_pylist(), off


def expected(text: str, plain: DuckDB) -> list[dict[str, Any]]:
    names = [one[0] for one in plain.run(f"DESCRIBE {text}")]
    return [dict(zip(names, row, strict=True)) for row in plain.run(text)]


def same(found: Any, said: Any, off: float) -> bool:
    if isinstance(said, str | bool) or said is None:
        return bool(found == said)
    if isinstance(found, int):
        return bool(found == said)
    return math.isclose(found, said, rel_tol=1e-9, abs_tol=off)


@pytest.mark.parametrize("text", FIGURES)
def test_figures_are_those_of_plain_sql(tables: dict[str, Table], plain: DuckDB, text: str) -> None:
    found, off = exact(text, tables)
    said = expected(text, plain)
    assert len(found) == len(said)
    for one, other in zip(found, said, strict=True):
        assert list(one) == list(other)
        assert all(same(one[name], other[name] or 0, off) for name in one), (one, other)


@pytest.mark.parametrize("text", GROUPS)
def test_every_declared_group_is_there_with_its_figures(tables: dict[str, Table], plain: DuckDB, text: str) -> None:
    made = plan(text, tables)
    found, off = exact(text, tables)
    keys = list(found[0])[: len(made.keys)]
    by_key = {tuple(row[key] for key in keys): row for row in found}
    domains = [value.domain or () for value in made.keys.values()]
    assert len(by_key) == len(found) == math.prod(map(len, domains))
    said = {tuple(row[key] for key in keys): row for row in expected(text, plain)}
    for group, row in by_key.items():
        for name in set(row) - set(keys):
            if group in said and said[group][name] is not None:
                assert same(row[name], said[group][name], off), (group, name)
            elif name in ("n", "s", "people"):
                assert row[name] == 0, "nobody is in it"
    assert {group for group in said if None not in group} <= set(by_key)


@pytest.mark.parametrize("text", SELECTED)
def test_of_undeclared_groups_those_with_several_people_are_there(
    tables: dict[str, Table], plain: DuckDB, text: str
) -> None:
    made = plan(text, tables)
    paid = price(made, 10**6, "1e-3")
    found, off = exact(text, tables)
    keys = list(found[0])[: len(made.keys)]
    counted = text.replace(" FROM", ", COUNT(DISTINCT person) AS people_ FROM", 1)
    said = [row for row in expected(counted, plain) if row.pop("people_") > (paid.threshold or 0)]
    order = repr
    found, said = (sorted(rows, key=lambda row: order([row[key] for key in keys])) for rows in (found, said))
    assert [[row[key] for key in keys] for row in found] == [[row[key] for key in keys] for row in said]
    for one, other in zip(found, said, strict=True):
        assert all(same(one[name], other[name] or 0, off) for name in one if name not in keys)


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.5, "MEDIAN(age)"),
        (0.25, "QUANTILE_CONT(change, 0.25)"),
        (0.9, "QUANTILE_CONT(income, 0.9)"),
        (0.01, "MIN(change)"),
        (0.99, "MAX(age)"),
    ],
)
def test_a_quantile_has_its_share_of_rows_below(visits: Table, plain: DuckDB, share: float, text: str) -> None:
    made = plan(f"SELECT {text} AS q FROM visits", {"visits": visits})
    (found,) = answer(made, price(made, 1), Silent()).column("q").to_pylist()
    column = text.split("(")[1].rstrip(")").split(",")[0]
    wide = 0 if column != "income" else 1000 / 1024
    ((below, up_to, rows),) = plain.run(
        f"SELECT COUNT(*) FILTER (WHERE {column} < {found - wide}), COUNT(*) FILTER (WHERE {column} <= {found + wide}),"
        f" COUNT({column}) FROM visits"
    )
    assert below <= share * rows + 0.5 and up_to >= share * rows - 0.5


def test_order_and_limit_come_after_the_noise(tables: dict[str, Table]) -> None:
    text = "SELECT city AS f0, COUNT(*) AS k0 FROM visits GROUP BY city HAVING k0 > 0 ORDER BY k0 DESC, f0 LIMIT 2"
    found, _ = exact(text, tables)
    counts = [row["k0"] for row in found]
    assert len(found) == 2 and counts == sorted(counts, reverse=True)
    backwards, _ = exact("SELECT city AS f0, COUNT(*) AS k0 FROM visits GROUP BY city ORDER BY 1 DESC", tables)
    cities = [row["f0"] for row in backwards]
    assert cities == sorted(cities, reverse=True)


def test_the_largest_groups_can_be_ordered_by_what_is_not_shown(tables: dict[str, Table], plain: DuckDB) -> None:
    text = "SELECT city, COUNT(*) AS n FROM visits WHERE city <> 'Nowhere' GROUP BY city ORDER BY SUM(age) DESC LIMIT 2"
    assert exact(text, tables)[0] == expected(text, plain)


def test_what_grows_too_large_after_the_noise_is_null(tables: dict[str, Table]) -> None:
    text = "SELECT COUNT(*) * 999999999999999999 AS n, CAST(SUM(age) * 1e30 AS INTEGER) AS s, COUNT(*) AS c FROM visits"
    assert exact(text, tables)[0] == [{"n": None, "s": None, "c": len(ROWS)}]


@pytest.mark.parametrize("groups", [1, 2])
def test_of_undeclared_groups_so_many_of_a_unit_count(visits: Table, groups: int) -> None:
    few = replace(visits, card=replace(CARD, groups_per_unit=groups))
    made = plan("SELECT born, COUNT(*) AS n FROM visits GROUP BY born", {"visits": few})
    days = [{row[8] for row in ROWS if row[0] == person} for person in range(PEOPLE)]
    assert max(map(len, days)) == 3, "there is something to cut"
    found = visits.engine.fetch(made.query).to_pylist()
    assert sum(row["units"] for row in found) == sum(min(groups, len(one)) for one in days)
    again = plan("SELECT born, note, COUNT(*) AS n FROM visits GROUP BY note, born", {"visits": few})
    assert sum(row["units"] for row in visits.engine.fetch(again.query).to_pylist()) <= groups * PEOPLE


def test_there_are_sixty_questions() -> None:
    assert len(FIGURES + GROUPS + SELECTED) >= 60
