"""Answers where values are odd: sums in any order, groups of many rows, keys that Python cannot hold."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from fractions import Fraction
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlglot import exp
from tests.ask.visits import CARD, ROWS, Silent, loaded

from discreet.core.card import Card, Column
from discreet.core.engine import Engine
from discreet.core.kind import Kind
from discreet.core.table import Table
from discreet.engines.duckdb import DuckDB
from discreet.errors import Refused
from discreet.verbs.ask import answer as module
from discreet.verbs.ask.answer import answer
from discreet.verbs.ask.plan import plan
from discreet.verbs.ask.price import price


def of(engine: Engine, query: str, *columns: Column) -> dict[str, Table]:
    """The rows of a query as a table in which every row is somebody's."""
    rows = exp.maybe_parse(query, into=exp.Select, dialect="duckdb")
    return {"t": Table(Card("t", columns), engine, rows)}


_BOUNDS = [(0.0, 1.0), (-7.25, 1e6), (1e9, 1000000000.0000001), (0.1, 0.3), (-1e15, 1e15), (1e-300, 1.0)]


@pytest.mark.parametrize("figure", ["SUM(x)", "AVG(x)"])
@settings(max_examples=12, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(bounds=st.sampled_from(_BOUNDS), shares=st.lists(st.floats(0, 1), min_size=1, max_size=60), seed=st.integers())
def test_a_sum_of_doubles_is_the_sum_of_their_steps_in_any_order(
    duckdb: DuckDB, figure: str, bounds: tuple[float, float], shares: list[float], seed: int
) -> None:
    low, high = bounds
    values = [min(max(low + share * (high - low), low), high) for share in shares]
    tables = of(duckdb, "SELECT x FROM doubles", Column("x", Kind.REAL, bounds=bounds))
    made = plan(f"SELECT {figure} AS a FROM t", tables)
    (name,) = [name for name, measure in made.measures.items() if measure.large is not None]
    measure = made.measures[name]
    (one,) = made.figures.values()
    found = set()
    for _ in range(3):
        Random(seed).shuffle(values)  # noqa: S311
        duckdb.run("DROP TABLE IF EXISTS doubles")
        duckdb.load("doubles", pa.table({"x": values}))
        found |= {duckdb.fetch(query).column(name)[0].as_py() for query in (made.query, made.parts[0].query_of_large)}
        seed += 1
    (total,) = found
    exact = sum(Fraction(x) - one.centre for x in values) / measure.step  # type: ignore[attr-defined]
    assert abs(total - exact) < len(values), "each is off by less than a step"
    assert abs(total) <= len(values) * measure.most


def test_groups_of_very_many_rows_are_measured_by_whole_numbers(duckdb: DuckDB) -> None:
    query = "SELECT CAST(range % 3 AS DOUBLE) / 3 AS x, range % 100 = 0 AS few FROM range(10_000_000)"
    tables = of(duckdb, query, Column("x", Kind.REAL, bounds=(0.0, 0.99)), Column("few", Kind.BOOLEAN))
    made = plan("SELECT few, SUM(x) AS s FROM t GROUP BY few", tables)
    ((name, measure),) = made.measures.items()
    assert measure.most > 2**53 / 10_000_000, "ten million doubles could add up to more than doubles can count"
    quick = {row["k0"]: row[name] for row in duckdb.fetch(made.query).to_pylist()}
    assert quick[False] is None and quick[True] is not None
    found = dict(
        zip(*answer(made, price(made, 10**6), Silent()).select(["few", "s"]).to_pydict().values(), strict=True)
    )
    assert found[False] + found[True] == pytest.approx(10_000_000 / 3, abs=1)


def test_days_that_python_does_not_know_are_keys_like_others(duckdb: DuckDB) -> None:
    query = """SELECT CASE WHEN range % 2 = 0 THEN DATE '290000-12-31' ELSE DATE '2001-01-01' END AS d,
        CASE WHEN range % 2 = 0 THEN TIMESTAMP '290000-12-31 00:00:00' END AS m, range % 10 AS i FROM range(200)"""
    tables = of(
        duckdb,
        query,
        Column("d", Kind.DATE),
        Column("m", Kind.TIMESTAMP),
        Column("i", Kind.INTEGER, bounds=(0, 9)),
    )
    made = plan("SELECT d, m, COUNT(*) AS n, MEDIAN(i) AS q FROM t GROUP BY d, m", tables)
    found = answer(made, price(made, 10**6, "1e-6"), Silent())
    assert found["n"].to_pylist() == [100, 100]
    days = found["d"].cast(pa.int32()).to_pylist()
    assert days[0] == (dt.date(2001, 1, 1) - dt.date(1970, 1, 1)).days and days[1] > 288_000 * 365
    assert all(0 <= one <= 9 for one in found["q"].to_pylist())


def test_declared_days_and_moments_find_their_rows(duckdb: DuckDB) -> None:
    days = (dt.date(2001, 1, 1), dt.date(2002, 1, 1))
    moments = (dt.datetime(2001, 1, 1, 12, tzinfo=dt.UTC), dt.datetime(2003, 1, 1, tzinfo=dt.UTC))
    query = "SELECT DATE '2001-01-01' AS d, TIMESTAMPTZ '2001-01-01 14:00:00+02' AS m FROM range(7)"
    declared = Column("d", Kind.DATE, categories=days), Column("m", Kind.TIMESTAMP, categories=moments)
    made = plan("SELECT d, m, COUNT(*) AS n FROM t GROUP BY d, m", of(duckdb, query, *declared))
    found = answer(made, price(made, 10**6), Silent()).select(["d", "m", "n"]).to_pylist()
    assert [row["n"] for row in found] == [7, 0, 0, 0]
    assert (found[0]["d"], found[0]["m"]) == (days[0], moments[0])


def test_categories_that_are_finer_than_the_column_are_groups_without_rows(duckdb: DuckDB) -> None:
    column = Column("d", Kind.DECIMAL, categories=(Decimal("1.5"), Decimal("0.125"), 2))
    tables = of(duckdb, "SELECT CAST(1.5 AS DECIMAL(4, 1)) AS d FROM range(5)", column)
    made = plan("SELECT d, COUNT(*) AS n FROM t GROUP BY d", tables)
    found = answer(made, price(made, 10**6), Silent()).to_pydict()
    assert found["d"] == [Decimal("1.5"), Decimal("0.125"), Decimal(2)]
    assert found["n"] == [5, 0, 0]


def test_what_is_only_named_comes_as_it_would_from_an_engine(duckdb: DuckDB) -> None:
    """Most questions make nothing of their figures; those that do go through DuckDB, and give the same table."""
    visits = {"visits": loaded(duckdb, CARD, ROWS, "answer_visits")}
    text = "SELECT city AS c, born AS b, AVG(paid) AS m, COUNT(*) AS n FROM visits GROUP BY city, born"
    one, other = (
        answer(made, price(made, 10**6, "1e-3"), Silent())
        for made in (plan(text, visits), plan(f"{text} LIMIT 1000", visits))
    )
    assert one.schema == other.schema
    assert sorted(map(repr, one.to_pylist())) == sorted(map(repr, other.to_pylist()))


class Careless(DuckDB):
    """An engine that takes for text whatever it read, as Spark does: somebody's note is none."""

    def fetch(self, query: exp.Query, *args: Any, each: Any = None, **how: Any) -> pa.Table:
        found = super().fetch(query, *args, **how)
        for place, field in enumerate(found.schema):
            if pa.types.is_string(field.type):
                read = [
                    None if one is None else one.encode().replace(b"?", b"\xff") for one in found[place].to_pylist()
                ]
                found = found.set_column(place, field.name, pa.array(read, pa.binary()).view(pa.string()))
        return found if each is None else each(found)


@pytest.mark.parametrize("figure", ["COUNT(*)", "MEDIAN(x)"])
def test_a_key_that_is_no_text_fails_nothing(figure: str) -> None:
    engine = Careless()
    query = "SELECT i AS x, CASE WHEN i = 7 THEN '?' ELSE 'many' END AS k FROM range(2000) AS r(i)"
    tables = of(engine, query, Column("x", Kind.INTEGER, bounds=(0, 2000)), Column("k", Kind.TEXT))
    made = plan(f"SELECT k, {figure} AS n FROM t GROUP BY k", tables)
    assert answer(made, price(made, 1, "1e-6")).column("k").to_pylist() == ["many"]
    engine.close()


def test_groups_that_are_shown_have_so_many_values_at_most(duckdb: DuckDB, monkeypatch: pytest.MonkeyPatch) -> None:
    """Decided on what is shown alone, which is private already."""
    tables = of(duckdb, "SELECT i % 2 AS k FROM range(2000) AS r(i)", Column("k", Kind.INTEGER))
    made = plan("SELECT k, COUNT(*) AS n FROM t GROUP BY k", tables)
    monkeypatch.setattr("discreet.verbs.ask.answer.MOST_VALUES", 6)
    assert answer(made, price(made, 1, "1e-6")).num_rows == 2
    monkeypatch.setattr("discreet.verbs.ask.answer.MOST_VALUES", 5)
    with pytest.raises(Refused, match="Too many groups"):
        answer(made, price(made, 1, "1e-6"))


@pytest.mark.parametrize("drawn", [0, -1])
def test_groups_are_large_from_a_number_of_rows_that_is_drawn_between_half_the_limit_and_the_limit(
    duckdb: DuckDB, monkeypatch: pytest.MonkeyPatch, drawn: int
) -> None:
    class Drawn:
        @staticmethod
        def below(count: int) -> int:
            return range(count)[drawn]

    asked: list[exp.Expr] = []
    fetch = module.fetch
    monkeypatch.setattr(module, "SYSTEM", Drawn)
    monkeypatch.setattr(module, "fetch", lambda engine, query, **_: asked.append(query) or fetch(engine, query))
    made = plan("SELECT SUM(x) AS a FROM t", of(duckdb, "SELECT 0.5 AS x", Column("x", Kind.REAL, bounds=(0, 1))))
    module.measured(made.parts[0])
    assert asked == [made.parts[0].query_of_small(lambda rows: rows // 2 * (2 if drawn else 1))]
