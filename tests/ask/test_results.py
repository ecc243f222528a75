"""What a question makes of noisy figures: windows, SELECTs around answers, unions and joins of answers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import cycle, islice

import numpy as np
import pyarrow as pa
import pytest
import sqlglot
from scipy.stats import binom
from tests.ask.visits import PEOPLE_CARD, loaded
from tests.noise.bits import Repeatable

from discreet.core.card import Card, Column
from discreet.core.kind import Kind
from discreet.core.loss import Pure
from discreet.core.sql import arrow_type
from discreet.core.table import Table
from discreet.engines.duckdb import DuckDB
from discreet.errors import BadQuery
from discreet.verbs.ask.answer import answer, exact_answer
from discreet.verbs.ask.plan import Plan, plan
from discreet.verbs.ask.postprocess import ERROR, work_out
from discreet.verbs.ask.price import expected_errors, price
from discreet.verbs.ask.question import fingerprint, normal

CARD = Card(
    "t",
    (
        Column("person", Kind.INTEGER),
        Column("city", Kind.TEXT, categories=("Oslo", "Rome", "Bonn")),
        Column("grade", Kind.INTEGER, categories=(1, 2)),
        Column("age", Kind.INTEGER, bounds=(0, 120), required=True),
        Column("note", Kind.TEXT),
    ),
    unit="person",
    rows_per_unit=2,
)
ROWS = [(i // 2, ("Oslo", "Rome", "Bonn")[i * i % 7 % 3], 1 + i % 5 // 3, 7 * i % 90, "ab"[i % 2]) for i in range(60)]


@pytest.fixture(scope="module")
def engine() -> Iterator[DuckDB]:
    made = DuckDB()
    yield made
    made.close()


@pytest.fixture(scope="module")
def tables(engine: DuckDB) -> dict[str, Table]:
    people = [(i, ("Oslo", "it's", "Ümeå")[i % 3], 1.5 + i / 100) for i in range(30)]
    return {"t": loaded(engine, CARD, ROWS, "t"), "people": loaded(engine, PEOPLE_CARD, people, "people")}


CITIES = "SELECT city, COUNT(*) AS n FROM t GROUP BY city"
CELLS = "SELECT city, grade, COUNT(*) AS n, SUM(age) AS s FROM t GROUP BY city, grade"
EXACT = (
    "SELECT city, COUNT(*) AS n, 100.0 * COUNT(*) / SUM(COUNT(*)) OVER () AS share FROM t GROUP BY city",
    "SELECT city, SUM(COUNT(*)) OVER (ORDER BY city) AS so_far, LAG(COUNT(*), 1, 0) OVER (ORDER BY city) AS before, "
    "LEAD(SUM(age)) OVER (ORDER BY city DESC) AS next FROM t GROUP BY city",
    "SELECT city, RANK() OVER (ORDER BY COUNT(*) DESC), DENSE_RANK() OVER (ORDER BY COUNT(*)), NTILE(2) OVER (ORDER BY "
    "city), PERCENT_RANK() OVER (ORDER BY city), CUME_DIST() OVER (ORDER BY city) FROM t GROUP BY city",
    "SELECT city, grade, AVG(COUNT(*)) OVER (PARTITION BY grade ORDER BY city ROWS BETWEEN 1 PRECEDING AND CURRENT "
    "ROW) AS moving, FIRST_VALUE(COUNT(*)) OVER (PARTITION BY city ORDER BY grade) AS first FROM t GROUP BY 1, 2",
    "SELECT city, COUNT(*) AS n FROM t GROUP BY city QUALIFY ROW_NUMBER() OVER (ORDER BY COUNT(*) DESC, city) <= 2",
    "SELECT city, COUNT(*) - AVG(COUNT(*)) OVER () AS apart FROM t GROUP BY city HAVING COUNT(*) > 12 ORDER BY apart",
    f"SELECT AVG(n), MAX(n) - MIN(n), COUNT(*), SUM(n), STDDEV(n), MEDIAN(n) FROM ({CITIES})",
    f"SELECT grade, SUM(s) / SUM(n) AS mean, COUNT(*) FILTER (WHERE n > 9) AS k FROM ({CELLS}) GROUP BY grade",
    f"SELECT upper.city AS where_, n * 2 AS twice FROM ({CITIES}) AS upper WHERE n > 12 OR city = 'Bonn' ORDER BY n",
    f"WITH c AS ({CITIES}) SELECT c.city, n, total, n / total AS share FROM c CROSS JOIN (SELECT SUM(n) AS total FROM "
    "c) ORDER BY share DESC LIMIT 2",
    f"WITH c AS ({CITIES}), old AS (SELECT city, COUNT(*) AS m FROM t WHERE age > 44 GROUP BY city) SELECT city, m / n "
    "AS share FROM c JOIN old USING (city)",
    f"SELECT a.city, grade, a.n AS one, b.n AS all_ FROM ({CELLS}) a LEFT JOIN ({CITIES}) b ON a.city = b.city AND "
    "b.n > 0",
    f"SELECT * FROM ({CITIES} HAVING COUNT(*) > 20) a FULL JOIN (SELECT city, COUNT(*) AS m FROM t WHERE age > 44 "
    "GROUP BY city HAVING COUNT(*) < 11) b USING (city)",
    f"SELECT 'all' AS city, COUNT(*) AS n FROM t UNION ALL {CITIES} ORDER BY n DESC, city LIMIT 3",
    "SELECT grade FROM t GROUP BY grade UNION SELECT grade FROM t WHERE age > 3 GROUP BY grade",
    f"SELECT CASE WHEN n > 20 THEN 'many' ELSE 'few' END AS how, COUNT(*) AS k FROM ({CITIES}) GROUP BY 1",
    f"SELECT DISTINCT n > 20 AS many FROM ({CITIES})",
    f"SELECT city, n, place FROM (SELECT *, RANK() OVER (ORDER BY n DESC) AS place FROM ({CITIES})) WHERE place < 3",
    f"SELECT SUM(k) FROM (SELECT n > 15 AS x, COUNT(*) AS k FROM ({CITIES}) GROUP BY x) WHERE x",
    "SELECT DISTINCT city, grade FROM t",
    "SELECT person IN (SELECT person FROM people WHERE person < 9) AS few, COUNT(*) AS n, COUNT(*) FILTER (WHERE "
    "person IN (SELECT person FROM people)) AS m FROM t GROUP BY few",
    "SELECT city, grade, COUNT(*) AS n, AVG(age) AS a, SUM(age) AS s, STDDEV(age) AS d FROM t GROUP BY ROLLUP (city, "
    "grade) ORDER BY city, grade",
    "SELECT grade, GROUPING(city) AS g, city, COUNT(*) AS n FROM t GROUP BY CUBE (grade, city) HAVING COUNT(*) > 7",
    "SELECT city, COUNT(*) AS n, COUNT(*) / MAX(COUNT(*)) OVER () AS share FROM t GROUP BY GROUPING SETS ((1), ())",
    "SELECT few, grade, COUNT(*) AS n FROM (SELECT NULLIF(city, 'Oslo') AS few, grade FROM t) GROUP BY few IS NULL, "
    "few, ROLLUP (grade) HAVING few IS NOT NULL AND COUNT(*) > 0",
    "SELECT grade, SUM(n) AS n FROM (SELECT city, grade, COUNT(*) AS n FROM t GROUP BY ROLLUP (city, grade)) WHERE "
    "city IS NOT NULL GROUP BY grade",
    "SELECT PI() AS pi, 'here' AS place, POWER(COUNT(*), 2) AS square, COUNT(*) % 7 AS rest FROM t",
    "SELECT COUNT(*) AS n FROM (SELECT person, COUNT(*) AS k FROM t GROUP BY person) WHERE k > 1",
    "SELECT a.n + b.n AS both FROM (SELECT COUNT(*) AS n FROM t) a, (SELECT COUNT(*) AS n FROM people) b",
    "SELECT city, 100 * COUNT(*) / (SELECT COUNT(*) FROM t) AS share, COUNT(*) - (SELECT AVG(age) FROM t) AS less FROM "
    "t GROUP BY city HAVING COUNT(*) > (SELECT COUNT(*) FROM t) / 9 ORDER BY ABS(COUNT(*) - (SELECT COUNT(*) FROM t))",
    f"WITH c AS ({CITIES}) SELECT city, n / (SELECT SUM(n) FROM c) AS share FROM c WHERE n > 3 ORDER BY 1 LIMIT 2 "
    "OFFSET 1",
    "SELECT city, SUM(COUNT(*)) OVER () - (SELECT COUNT(*) FROM people) AS x FROM t GROUP BY city QUALIFY COUNT(*) > "
    "(SELECT COUNT(*) FROM people) / 2",
    "SELECT (SELECT COUNT(*) FROM t) AS a, (SELECT COUNT(*) FROM people) AS b",
    "SELECT city, COUNT(*) - (SELECT COUNT(*) FROM people HAVING COUNT(*) > 99) AS none FROM t GROUP BY city",
    "SELECT city, COUNT(*) AS n FROM t SEMI JOIN people USING (person) GROUP BY city",
    "SELECT grade, COUNT(*) AS n FROM t ANTI JOIN (SELECT person FROM people WHERE person > 5) p ON p.person = "
    "t.person GROUP BY grade",
    "SELECT city, REGR_COUNT(age, grade) AS n, REGR_AVGX(age, grade) AS x, REGR_AVGY(age, NULLIF(grade, 2)) AS y FROM "
    "t GROUP BY city",
)


def rows_of(found: pa.Table) -> list[tuple[object, ...]]:
    """What was answered, without error bars, in an order of its own; numbers as doubles."""
    columns = [
        one.to_pylist() for name, one in zip(found.column_names, found.columns, strict=True) if not name.endswith(ERROR)
    ]
    return sorted((tuple(map(_plain, row)) for row in zip(*columns, strict=True)), key=repr)


def _plain(value: object) -> object:
    return value if value is None or isinstance(value, bool | str) else round(float(value), 9)  # type: ignore[arg-type]


@pytest.mark.parametrize("text", EXACT)
def test_it_is_the_same_question_when_it_is_written_out_again(tables: dict[str, Table], text: str) -> None:
    """A curator plans what ``normal`` makes of a question."""
    assert fingerprint(plan(normal(text), tables), tables) == fingerprint(plan(text, tables), tables)


@pytest.mark.parametrize("text", EXACT)
def test_without_noise_it_is_what_sql_says(engine: DuckDB, tables: dict[str, Table], text: str) -> None:
    plain = engine.fetch(sqlglot.parse_one(text, dialect="duckdb"))  # type: ignore[arg-type]
    assert rows_of(exact_answer(plan(text, tables), {})) == rows_of(plain)


MANY = " UNION ALL ".join(f"SELECT COUNT(*) FROM t WHERE age > {i}" for i in range(17))
REFUSED = {
    f"SELECT a.city FROM ({CELLS}) a JOIN ({CELLS}) b ON a.city = b.city": "on all the columns",
    f"SELECT a.city FROM ({CELLS}) a, ({CELLS}) b": "on all the columns",
    f"SELECT a.city FROM ({CITIES}) a JOIN ({CITIES}) b ON a.n = b.n": "grouped by, of one type",
    f"SELECT a.city FROM ({CITIES}) a JOIN (SELECT grade, COUNT(*) AS n FROM t GROUP BY grade) b ON a.city = b.grade": (
        "grouped by, of one type"
    ),
    f"SELECT t.age FROM t JOIN ({CITIES}) c ON t.city = c.city": "has rows, and cannot be joined",
    f"SELECT age FROM ({CITIES})": "There is no column age in the answer",
    f"SELECT city, SUM(n) FROM ({CITIES})": "city must be in GROUP BY",
    f"SELECT city, (SELECT 1) FROM ({CITIES})": "must be one figure",
    f"SELECT COUNT(*) - (SELECT n FROM ({CITIES})) FROM t": "must be one figure",
    "SELECT COUNT(*) - (SELECT COUNT(*), SUM(age) FROM t) FROM t": "must be one figure",
    "SELECT SUM(age - (SELECT AVG(age) FROM t)) FROM t": "beside other figures",
    "SELECT COUNT(*) FILTER (WHERE age > (SELECT AVG(age) FROM t)) FROM t": "beside other figures",
    "SELECT SUM(a) FROM (SELECT age - (SELECT AVG(age) FROM t) AS a FROM t)": "must ask for aggregates",
    'SELECT "discreet_single"."0" FROM t': "must ask for aggregates",
    "SELECT COUNT(*) FROM t RIGHT JOIN people USING (person) SEMI JOIN t AS u USING (person)": "SEMI JOIN",
    f"SELECT SUM(city) FROM ({CITIES})": "cannot be computed from the answer's figures",
    f"SELECT RANDOM() FROM ({CITIES})": "cannot be computed",
    f"SELECT city || city FROM ({CITIES})": "cannot be computed",
    f"SELECT NTILE(0) OVER () FROM ({CITIES})": "is not supported",
    f"SELECT SUM(n) OVER (ORDER BY city ROWS -1 PRECEDING) FROM ({CITIES})": "cannot be parsed|frame",
    f"SELECT SUM(n) OVER (ORDER BY city ROWS n PRECEDING) FROM ({CITIES})": "frame",
    f"SELECT SUM(RANK() OVER ()) OVER () FROM ({CITIES})": "cannot use another",
    f"SELECT city FROM ({CITIES}) WHERE RANK() OVER () = 1": "WHERE cannot use a window",
    f"SELECT LAG(n, n) OVER () FROM ({CITIES})": "is not supported",
    f"SELECT LAG(n) IGNORE NULLS OVER () FROM ({CITIES})": "is not supported",
    f"SELECT STRING_AGG(city, ',') FROM ({CITIES})": "not supported",
    f"SELECT n, n FROM ({CITIES})": "Two columns",
    f"{CITIES} UNION SELECT COUNT(*) FROM t": "different numbers of columns",
    f"{CITIES} EXCEPT {CITIES}": "one SELECT",
    f"SELECT a.n FROM ({CITIES}) a TABLESAMPLE 3": "as it is",
    "SELECT COUNT(*) OVER () FROM t": "must ask for aggregates",
    MANY: "more than 16 GROUP BYs",
    "SELECT city, MEDIAN(age) FROM t GROUP BY ROLLUP (city)": "UNION ALL",
    "SELECT city, COUNT(DISTINCT person) FROM t GROUP BY ROLLUP (city)": "UNION ALL",
    "SELECT note, COUNT(*) FROM t GROUP BY ROLLUP (note)": "need declared groups",
    "SELECT COUNT(*) FROM t GROUP BY GROUPING SETS ((city), (grade))": "must have all the columns",
    "SELECT GROUPING(city), COUNT(*) FROM t GROUP BY city": "GROUPING takes one of the columns",
    "SELECT COUNT(*) FROM t GROUP BY CUBE (city, grade), CUBE (city, grade), CUBE (city, grade), CUBE (city, grade)": (
        "more than 64 groupings"
    ),
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_cannot_be_made_of_answers_is_refused_beforehand(tables: dict[str, Table], text: str) -> None:
    with pytest.raises(BadQuery, match=REFUSED[text]):
        plan(text, tables)


def test_names_of_with_that_double_are_refused_before_they_fill_the_memory(tables: dict[str, Table]) -> None:
    doubled = [f"a{i} AS (SELECT x.city, x.n FROM a{i - 1} x JOIN a{i - 1} y USING (city))" for i in range(1, 25)]
    with pytest.raises(BadQuery, match=r"too large|nested too deeply"):
        plan(f"WITH a0 AS ({CITIES}), {', '.join(doubled)} SELECT * FROM a24", tables)


# -- what it costs


def test_the_same_groups_of_the_same_rows_are_measured_once(tables: dict[str, Table]) -> None:
    twice = plan(f"WITH c AS ({CITIES}) SELECT a.n - b.n AS none FROM c a JOIN c b USING (city)", tables)
    assert len(twice.parts) == 1 and len(twice.measures) == 1
    texts = plan(
        f"SELECT a.n, b.n AS m FROM ({CITIES}) a JOIN (SELECT x.city, COUNT(*) AS n FROM t x GROUP BY 1) b "
        "USING (city)",
        tables,
    )
    assert len(texts.parts) == 1 and len(texts.measures) == 1
    shown = answer(twice, price(twice, Fraction(1, 100)))
    assert set(shown.column("none").to_pylist()) == {0}


def test_every_part_is_paid_for_in_one_charge(tables: dict[str, Table]) -> None:
    made = plan(
        "SELECT COUNT(*) AS n FROM t UNION ALL SELECT COUNT(*) FROM people UNION ALL SELECT SUM(age) FROM t "
        "WHERE age > 3",
        tables,
    )
    paid = price(made, 1)
    assert paid.loss == Pure(1)
    assert len(made.parts) == 3 and made.sources == {"t", "people"}
    lost = sum((noise.loss(made.measures[name].most).epsilon for name, noise in paid.noise.items()), Fraction(0))
    assert lost == 1


def test_undeclared_groups_of_several_parts_share_delta(tables: dict[str, Table]) -> None:
    one = plan("SELECT note, COUNT(*) AS n FROM t GROUP BY note", tables)
    two = plan(
        "SELECT note, COUNT(*) AS n FROM t GROUP BY note UNION ALL SELECT note, COUNT(*) FROM t WHERE age > 3 "
        "GROUP BY note",
        tables,
    )
    alone, shared = price(one, 1, "1e-6"), price(two, 2, "2e-6")
    assert [shared.thresholds[part.units or ""] for part in two.parts] == [alone.threshold] * 2


def test_declared_values_alone_are_free(tables: dict[str, Table]) -> None:
    made = plan("SELECT DISTINCT city FROM t", tables)
    assert price(made, 1).loss == Pure(0)
    assert not made.measures


def test_questions_differ_by_what_is_made_of_figures_and_not_by_names(tables: dict[str, Table]) -> None:
    texts = [
        f"SELECT city AS a, n AS b FROM ({CITIES}) AS x WHERE n > 3",
        f"SELECT y.city, y.n FROM ({CITIES}) AS y WHERE y.n > 3",
        "WITH z AS (SELECT city AS place, COUNT(*) AS many FROM t GROUP BY city) SELECT place, many FROM z "
        "WHERE many > 3",
        f"SELECT city AS a, n AS b FROM ({CITIES}) AS x WHERE n > 4",
        f"SELECT city AS a, n AS b FROM ({CITIES} LIMIT 2) AS x WHERE n > 3",
    ]
    same = [fingerprint(plan(text, tables), tables) for text in texts]
    assert len(set(same[:3])) == 1
    assert len(set(same[2:])) == 3


# -- several quantiles

LISTS = (
    "QUANTILE_CONT(age, [0.25, 0.5, 0.975])",
    "PERCENTILE_CONT(ARRAY[0.25, 0.5, 0.975]) WITHIN GROUP (ORDER BY age)",
    "QUANTILE_CONT(age, [0.25, 0.5, 0.975]) FILTER (WHERE age >= 0)",
    "PERCENTILE_CONT(ARRAY[0.75, 0.5, 0.025]) WITHIN GROUP (ORDER BY age DESC)",
    "PERCENTILE_APPROX(age, ARRAY(0.25, 0.5, 0.975), 100)",
)


@pytest.mark.parametrize("several", LISTS)
def test_several_quantiles_are_columns_of_their_own(tables: dict[str, Table], several: str) -> None:
    made = plan(normal(f"SELECT city, {several} AS q, COUNT(*) AS n FROM t GROUP BY city ORDER BY 3"), tables)
    assert [one.alias for one in made.after.expressions][:5] == ["city", "q_25", "q_50", "q_97.5", "n"]
    assert [one.share for one in made.quantiles.values()] == [Fraction(1, 4), Fraction(1, 2), Fraction(39, 40)]  # type: ignore[union-attr]
    found = answer(made, price(made, 4))
    assert found.num_rows == 3
    assert found.column("n").to_pylist() == sorted(found.column("n").to_pylist())  # places count what is written


# -- totals

AGES = "SELECT age, COUNT(*) AS n, SUM(age) AS s FROM t GROUP BY"


def test_totals_are_measured_once_and_agree_with_their_groups(tables: dict[str, Table]) -> None:
    made, finest = (plan(f"{AGES} {groups}", tables) for groups in ("age WITH ROLLUP", "age"))
    assert made.measures == finest.measures
    paid = price(made, Fraction(1, 10))
    assert paid.noise == price(finest, Fraction(1, 10)).noise
    rows = {row["age"]: row for row in answer(made, paid).to_pylist()}
    assert len(rows) == 121 + 1
    for figure in ("n", "s"):
        assert rows[None][figure] == sum(rows[age][figure] for age in range(121))


def test_rows_without_a_key_are_in_the_totals_over_it(tables: dict[str, Table]) -> None:
    text = (
        "SELECT few, COUNT(*) AS n FROM (SELECT CASE WHEN city <> 'Oslo' THEN city END AS few FROM t) GROUP BY "
        "ROLLUP (few)"
    )
    found = {row["few"]: row["n"] for row in exact_answer(plan(text, tables), {}).to_pylist()}
    assert found[None] == len(ROWS)
    assert sum(found.values()) < 2 * len(ROWS)


@pytest.mark.parametrize("runs", [100, pytest.param(1000, marks=pytest.mark.slow)])
def test_error_bars_of_totals_cover_as_often_as_they_say(tables: dict[str, Table], runs: int) -> None:
    """95 % or more for a sum of noises. False positives: 1e-9."""
    made = plan("SELECT city, grade, COUNT(*) AS n FROM t GROUP BY CUBE (city, grade)", tables)
    paid, entropy = price(made, Fraction(1, 10)), Repeatable(6)
    true = exact_answer(made, {}).column("n").to_pylist()
    hits, far = np.zeros(len(true)), np.zeros(len(true))
    for _ in range(runs):
        told = answer(made, paid, entropy).to_pydict()
        hits += np.abs(np.array(told["n"]) - true) <= told["n_error"]
        far = np.array(told["n_error"])
    assert hits.min() >= binom.ppf(1e-9 / len(true), runs, 0.95)
    separate = price(plan("SELECT COUNT(*) AS n FROM t", tables), Fraction(1, 40)).errors()["m0"]
    assert sorted(far)[-2] < separate  # four groupings, asked one by one


# -- nothing fails once it is charged

WILD = (0.0, -1.0, 1e308, -1e308, float("inf"), -float("inf"), float("nan"), 5e-324, 1e15)
WHOLE = (0, 1, -1, 2**62, -(2**62), 7, 2**53 + 1)
FRAGILE = (
    f"SELECT city, SUM(n) OVER (ORDER BY s) / AVG(s) OVER () AS x, LN(n) AS l FROM ({CELLS})",
    f"SELECT grade, SUM(n * n), STDDEV(s), VARIANCE(s * s), MEDIAN(s), AVG(LN(s)) FROM ({CELLS}) GROUP BY grade",
    f"SELECT a.city, a.n * b.n * a.n AS x, SQRT(a.s - b.s) AS r FROM ({CELLS}) a JOIN (SELECT city, COUNT(*) AS n, "
    "SUM(age) AS s FROM t GROUP BY city) b ON a.city = b.city AND a.s / b.n > 0",
    f"SELECT CAST(n AS TINYINT) AS x FROM ({CELLS}) UNION ALL SELECT CAST(s AS BIGINT) FROM ({CELLS})",
    f"SELECT SUM(n + {2**127 - 9}) AS s, AVG(n + {2**126}) AS a FROM ({CELLS})",
    f"SELECT SUM(n + {2**127 - 9}) OVER () AS s FROM ({CELLS})",
    f"SELECT city FROM ({CELLS}) WHERE n / s OR CAST(s AS INT) > 1 ORDER BY LN(s) LIMIT 3",
    "SELECT city, SUM(age) / COUNT(*) AS q, RANK() OVER (ORDER BY SQRT(SUM(age))) AS r FROM t GROUP BY city QUALIFY "
    "LAG(COUNT(*)) OVER (ORDER BY LN(COUNT(*))) > 1 OR TRUE",
)


@pytest.mark.parametrize("text", FRAGILE)
def test_any_figures_give_a_value_or_null(tables: dict[str, Table], text: str) -> None:
    made = plan(text, tables)
    for turn in range(len(WILD) * len(WHOLE)):
        found = work_out(made.after, _any(made, turn))
        for column in found.columns:
            if pa.types.is_floating(column.type):
                assert np.isfinite(column.drop_null().to_numpy()).all()


def _any(made: Plan, turn: int) -> dict[str, pa.Table]:
    noisy = {}
    for part in made.parts:
        columns = {}
        for name, value in part.keys.items():
            values = list(islice(cycle(value.domain or ()), 6))
            columns[name] = pa.array(values, arrow_type(value.kind))
        for place, name in enumerate(part.figures):
            values = WHOLE if place % 2 == 0 else WILD
            columns[name] = pa.array([values[(turn + at * (place + 1)) % len(values)] for at in range(6)])
            columns[f"{name}{ERROR}"] = pa.array([1.0] * 6)
        noisy[part.name] = pa.table(columns)
    return noisy


# -- error bars

BARRED = {
    "COUNT(*)": (1, 0),
    "COUNT(*) * 3": (3, 0),
    "5 - COUNT(*) / 4": (Fraction(1, 4), 0),
    "-(2.5 * COUNT(*) + 7) / 5": (Fraction(1, 2), 0),
    "ROUND(COUNT(*) / 10, 1)": (Fraction(1, 10), Fraction(1, 10)),
    "FLOOR(COUNT(*) * 2)": (2, 1),
    "ABS(LEAST(COUNT(*), 1000))": (1, 0),
    "CAST(COUNT(*) * 0.5 AS BIGINT)": (Fraction(1, 2), 1),
    "COALESCE(COUNT(*), 0)": (1, 0),
    "NULLIF(COUNT(*), 0)": (1, 0),
}
BARELESS = (
    "COUNT(*) / COUNT(*)", "COUNT(*) / AVG(age)", "VARIANCE(age) / SUM(age)", "COUNT(*) * COUNT(*)",
    "LN(COUNT(*))", "SUM(COUNT(*)) OVER ()", "MEDIAN(age) * 2",
    "CASE WHEN COUNT(*) > 3 THEN 1 END", "1 / COUNT(*)", "LEAST(COUNT(*), SUM(age))",
)  # fmt: skip


@pytest.mark.parametrize("text", BARRED)
def test_an_error_bar_is_carried_along(tables: dict[str, Table], text: str) -> None:
    factor, more = BARRED[text]
    plain, made = (plan(f"SELECT {one} AS x FROM t", tables) for one in ("COUNT(*)", text))
    paid = price(made, Fraction(1, 10))
    (bar,) = expected_errors(plain, paid, None).values()
    assert bar is not None
    told = answer(made, paid).to_pydict()[f"x{ERROR}"][0]
    assert told == pytest.approx(bar * factor + more)
    assert expected_errors(made, paid, None)["x"] == pytest.approx(told)
    around = plan(f"SELECT x FROM (SELECT {text} AS x FROM t) UNION ALL SELECT {text} FROM t", tables)
    assert answer(around, paid).to_pydict()[f"x{ERROR}"] == pytest.approx([told] * 2)


def test_the_error_of_a_quotient_is_that_of_both(tables: dict[str, Table]) -> None:
    parts = "COUNT(*) * 2 AS n, SUM(age) + 5 AS s"
    made = plan(f"SELECT {parts}, ROUND((SUM(age) + 5) / (COUNT(*) * 2), 9) * 3 AS q FROM t", tables)
    told = answer(made, price(made, 4), Repeatable(3)).to_pylist()[0]
    quotient, far = told["s"] / told["n"], (told["q_error"] - 3e-9) / 3
    assert told["q"] == pytest.approx(3 * quotient)
    assert far * told["n"] == pytest.approx(math.hypot(told["s_error"], (quotient + far) * told["n_error"]))
    little = price(made, Fraction(1, 1000))
    assert answer(made, little, Repeatable(3)).to_pylist()[0]["q_error"] is None, "the divisor may be 0"


@pytest.mark.parametrize("text", BARELESS)
def test_where_no_bar_is_known_none_is_shown(tables: dict[str, Table], text: str) -> None:
    assert plan(f"SELECT {text} AS x FROM t", tables).bars == {}


SLOW = [pytest.param(text, 1000, marks=pytest.mark.slow) for text in ("ROUND(COUNT(*) * 1.7 - 3, 1)", "-COUNT(*) / 7")]


@pytest.mark.parametrize(("text", "runs"), [("COUNT(*) * 2", 100), *SLOW])
def test_carried_bars_cover_as_often_as_they_say(tables: dict[str, Table], text: str, runs: int) -> None:
    """95.2 % for one measure. False positives: 1e-9; whether bars are too long is seen by ``test_coverage.py``."""
    made = plan(f"SELECT {text} AS x FROM t", tables)
    paid, true = price(made, Fraction(1, 50)), exact_answer(made, {}).to_pydict()["x"][0]
    entropy = Repeatable(5)
    hits = 0
    for _ in range(runs):
        told = answer(made, paid, entropy).to_pydict()
        hits += abs(told["x"][0] - true) <= told[f"x{ERROR}"][0]
    assert binom.ppf(1e-9, runs, 0.95) <= hits <= binom.ppf(1 - 1e-9, runs, 0.965)
