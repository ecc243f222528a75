"""Without noise, an answer is what plain SQL says, on every engine, up to the rounding of a row to a step."""

from __future__ import annotations

import math
from typing import Any

import pytest
from tests.ask.visits import CARD, ROWS, Silent, columns, loaded

from discreet.ask.answer import answer, price
from discreet.ask.plan import plan
from discreet.core.engine import Engine
from discreet.core.table import Table
from discreet.engines.duckdb import DuckDB

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
    'SELECT COUNT(*) AS "FROM", SUM("age") AS "a ""b" FROM "visits" AS v WHERE v.age > 3 -- no more',
    "SELECT COUNT(*) AS n FROM visits HAVING COUNT(*) < 3",
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
    "SELECT g, SUM(x) AS s FROM (SELECT grade AS g, income AS x FROM visits WHERE member) GROUP BY g",
]
SELECTED = [
    "SELECT note, COUNT(*) AS n FROM visits GROUP BY note",
    "SELECT paid > 0 AS plus, LOWER(TRIM(note)) AS note, SUM(age) AS s FROM visits GROUP BY 1, 2",
    "SELECT YEAR(seen) AS y, LENGTH(note) AS l, AVG(income) AS m FROM visits GROUP BY y, l",
]


@pytest.fixture(scope="session")
def visits(engine: Engine) -> Table:
    return loaded(engine, CARD, ROWS, "ask_visits")


@pytest.fixture(scope="session")
def plain() -> DuckDB:
    engine = DuckDB()
    engine.load("visits", columns(CARD, ROWS))
    return engine


def exact(text: str, table: Table, *, epsilon: int = 10**6) -> tuple[list[dict[str, Any]], float]:
    """The answer without noise, and how far a sum may be off because rows are rounded to steps."""
    made = plan(text, {"visits": table})
    found = answer(made, price(made, epsilon, "1e-3"), table, Silent())
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
def test_figures_are_those_of_plain_sql(visits: Table, plain: DuckDB, text: str) -> None:
    found, off = exact(text, visits)
    said = expected(text, plain)
    assert len(found) == len(said)
    for one, other in zip(found, said, strict=True):
        assert list(one) == list(other)
        assert all(same(one[name], other[name] or 0, off) for name in one), (one, other)


@pytest.mark.parametrize("text", GROUPS)
def test_every_declared_group_is_there_with_its_figures(visits: Table, plain: DuckDB, text: str) -> None:
    made = plan(text, {"visits": visits})
    found, off = exact(text, visits)
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
def test_of_undeclared_groups_those_with_several_people_are_there(visits: Table, plain: DuckDB, text: str) -> None:
    made = plan(text, {"visits": visits})
    paid = price(made, 10**6, "1e-3")
    found, off = exact(text, visits)
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
    (found,) = answer(made, price(made, 1), visits, Silent()).column("q").to_pylist()
    column = text.split("(")[1].rstrip(")").split(",")[0]
    wide = 0 if column != "income" else 1000 / 1024
    ((below, up_to, rows),) = plain.run(
        f"SELECT COUNT(*) FILTER (WHERE {column} < {found - wide}), COUNT(*) FILTER (WHERE {column} <= {found + wide}),"
        f" COUNT({column}) FROM visits"
    )
    assert below <= share * rows + 0.5 and up_to >= share * rows - 0.5


def test_order_and_limit_come_after_the_noise(visits: Table) -> None:
    text = "SELECT city AS f0, COUNT(*) AS k0 FROM visits GROUP BY city HAVING k0 > 0 ORDER BY k0 DESC, f0 LIMIT 2"
    found, _ = exact(text, visits)
    counts = [row["k0"] for row in found]
    assert len(found) == 2 and counts == sorted(counts, reverse=True)
    backwards, _ = exact("SELECT city AS f0, COUNT(*) AS k0 FROM visits GROUP BY city ORDER BY 1 DESC", visits)
    cities = [row["f0"] for row in backwards]
    assert cities == sorted(cities, reverse=True)


def test_there_are_sixty_questions() -> None:
    assert len(FIGURES + GROUPS + SELECTED) >= 60
