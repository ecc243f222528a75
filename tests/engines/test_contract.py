"""One contract, three real engines: the same tree gives the same rows in the same Arrow types."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlglot import exp, parse_one
from tests.engines.values import (
    EVERYTHING,
    LITERALS,
    ZONED,
    assert_same,
)

from discreet.core import sql
from discreet.core.engine import Engine
from discreet.core.kind import Kind
from discreet.core.sql import arrow_type, recast_table
from discreet.errors import DataError, EngineError, NotFound

SALES = pa.table(
    {
        "id": [1, 2, 3, 4, 5, 6],
        "shop": ["a", "a", None, "b", None, "b"],
        "sold": [10, 20, 30, None, 50, 60],
        "price": [Decimal("1.10"), Decimal("2.20"), None, Decimal("0.05"), Decimal("3.00"), Decimal("9.99")],
    }
)
ODD_NAMES = [
    "select",
    "a b",
    'qu"ote',
    "back`tick",
    "dot.ted",
    "ünï",
    "semi;colon",
    "100%",
    "x,y",
    "(p)",
    "{b}=",
    "'",
]

Names = Callable[[], str]


@pytest.fixture(scope="session")
def sales(engine: Engine) -> str:
    """A small table that is there on every engine."""
    engine.load("contract_sales", SALES)
    return "contract_sales"


def query(text: str) -> exp.Query:
    """A query written in DuckDB's words."""
    tree = parse_one(text, dialect="duckdb")
    assert isinstance(tree, exp.Query)
    return tree


def everything(name: str, order: str = "id") -> exp.Select:
    """All of a table."""
    return exp.select("*").from_(sql.table(name)).order_by(sql.column(order))


def rows(engine: Engine, text: str) -> list[tuple[object, ...]]:
    """The rows of a query written in DuckDB's words."""
    found = engine.fetch(query(text))
    return [*zip(*(column.to_pylist() for column in found.columns), strict=True)]


def test_what_is_loaded_comes_back_in_the_types_of_its_kinds(any_engine: Engine, fresh: Names) -> None:
    name = fresh()
    any_engine.load(name, EVERYTHING)
    assert_same(any_engine.fetch(everything(name)), recast_table(EVERYTHING))
    assert any_engine.schema(everything(name)) == recast_table(EVERYTHING).schema


def test_a_stream_gives_the_rows_that_a_fetch_gives(any_engine: Engine, fresh: Names) -> None:
    name = fresh()
    any_engine.load(name, EVERYTHING)
    reader = any_engine.stream(everything(name))
    assert reader.schema == recast_table(EVERYTHING).schema
    assert_same(reader.read_all().sort_by("id"), recast_table(EVERYTHING))


@pytest.mark.parametrize(("kind", "values"), LITERALS.values(), ids=LITERALS)
def test_a_literal_is_the_value_it_was_made_of(any_engine: Engine, kind: Kind, values: list[object]) -> None:
    shown = [sql.named(sql.literal(value), f"c{place}") for place, value in enumerate(values)]
    type_ = arrow_type(kind, scale=2, zoned=values is ZONED)
    expected = pa.table({f"c{place}": pa.array([value], type_) for place, value in enumerate(values)})
    assert_same(any_engine.fetch(exp.select(*shown)), expected)


def test_every_width_of_number_leaves_in_one_type(engine: Engine) -> None:
    found = engine.fetch(
        query(
            "SELECT CAST(7 AS SMALLINT) AS a, CAST(7 AS INTEGER) AS b, CAST(7 AS BIGINT) AS c,"
            " CAST(0.5 AS REAL) AS d, CAST(0.1 AS DOUBLE) AS e, CAST(7 AS DECIMAL(5, 2)) AS f, COUNT(*) AS g"
        )
    )
    types = [*[pa.int64()] * 3, *[pa.float64()] * 2, pa.decimal128(38, 2), pa.int64()]
    expected = [[7], [7], [7], [0.5], [0.1], [Decimal("7.00")], [1]]
    assert_same(found, pa.table([pa.array(v, t) for v, t in zip(expected, types, strict=True)], names=[*"abcdefg"]))


def test_an_empty_table_has_its_types(engine: Engine, fresh: Names) -> None:
    name, copy = fresh(), fresh()
    empty = EVERYTHING.slice(0, 0)
    engine.load(name, empty)
    engine.store(copy, everything(name))
    assert_same(engine.fetch(everything(copy)), recast_table(empty))
    assert_same(engine.stream(everything(copy)).read_all(), recast_table(empty))


def test_a_column_may_have_any_name(any_engine: Engine, fresh: Names) -> None:
    name, copy = fresh(), fresh()
    data = pa.table({column: [place, None] for place, column in enumerate(ODD_NAMES)})
    any_engine.load(name, data)
    shown = [sql.column(column) for column in ODD_NAMES]
    chosen = exp.select(*shown).from_(sql.table(name)).where(shown[0].is_(exp.null()).not_())
    any_engine.store(copy, chosen)
    assert_same(any_engine.fetch(exp.select("*").from_(sql.table(copy))), data.slice(0, 1))
    assert_same(any_engine.stream(chosen).read_all(), data.slice(0, 1))


def test_a_table_may_have_a_thousand_columns(engine: Engine, fresh: Names) -> None:
    name, copy = fresh(), fresh()
    data = pa.table({f"c{place}": [place, -place, None] for place in range(1000)})
    engine.load(name, data)
    engine.store(copy, exp.select("*").from_(sql.table(name)))
    everything_ = exp.select("*").from_(sql.table(copy))
    assert_same(engine.fetch(everything_).sort_by("c1"), data.sort_by("c1"))
    assert engine.stream(everything_).read_all().num_columns == 1000


def test_null_is_a_group_of_its_own(engine: Engine, sales: str) -> None:
    found = rows(engine, f"SELECT shop, COUNT(*), COUNT(sold), CAST(SUM(sold) AS BIGINT) FROM {sales} GROUP BY 1")
    assert sorted(found, key=str) == [("a", 2, 2, 30), ("b", 2, 1, 60), (None, 2, 2, 80)]


def test_windows_number_and_add_up(engine: Engine, sales: str) -> None:
    found = rows(
        engine,
        "SELECT id, ROW_NUMBER() OVER (PARTITION BY shop ORDER BY id DESC) AS place,"
        f" CAST(SUM(sold) OVER (PARTITION BY shop ORDER BY id) AS BIGINT) AS so_far FROM {sales} ORDER BY id",
    )
    assert found == [(1, 2, 10), (2, 1, 30), (3, 2, 30), (4, 2, None), (5, 1, 80), (6, 1, 60)]


def test_joins_cases_and_sums_of_decimals(engine: Engine, sales: str) -> None:
    found = rows(
        engine,
        "SELECT a.id, b.id, CASE WHEN a.sold > 15 THEN 'many' WHEN a.sold IS NULL THEN 'none' ELSE 'few' END"
        f" FROM {sales} AS a LEFT JOIN {sales} AS b ON a.shop = b.shop AND a.id < b.id ORDER BY 1",
    )
    assert [row[:2] for row in found] == [(1, 2), (2, None), (3, None), (4, 6), (5, None), (6, None)]
    assert [row[2] for row in found] == ["few", "many", "many", "none", "many", "many"]
    total = rows(
        engine,
        f"SELECT CAST(SUM(price) AS DECIMAL(38, 2)) AS total, AVG(CAST(sold AS DOUBLE)) AS mean FROM {sales}",
    )
    assert total == [(Decimal("16.34"), 34.0)]


def test_decimals_are_compared_by_all_their_digits(engine: Engine, fresh: Names) -> None:
    name = fresh()
    amounts = [Decimal("-0.01"), Decimal("0.00"), Decimal("0.01"), Decimal("12345678901234567890.12")]
    engine.load(name, pa.table({"paid": pa.array(amounts, pa.decimal128(38, 2))}))
    bounds = [Decimal("-0.005"), Decimal("0"), Decimal("0.005"), Decimal("12345678901234567890.119")]
    counts = [
        sql.named(sql.count_if(sql.column("paid") < sql.literal(bound)), f"c{place}")
        for place, bound in enumerate(bounds)
    ]
    found = engine.fetch(exp.select(*counts).from_(sql.table(name)))
    assert found.to_pydict() == {"c0": [1], "c1": [1], "c2": [2], "c3": [3]}


def test_text_is_compared_and_measured_by_its_characters(engine: Engine, fresh: Names) -> None:
    name = fresh()
    engine.load(name, pa.table({"t": ["a", "A", "é", "e\u0301", "😀", "", " ", "a "]}))
    found = rows(engine, f"SELECT t, LENGTH(t) AS n, SUBSTRING(t, 1, 1) AS s FROM {name} GROUP BY 1")
    assert {row[0]: row[1:] for row in found} == {
        **{"a": (1, "a"), "A": (1, "A"), "é": (1, "é"), "e\u0301": (2, "e"), "😀": (1, "😀")},
        **{"": (0, ""), " ": (1, " "), "a ": (2, "a")},
    }


def test_zoned_time_is_utc_whatever_the_machine_thinks(engine: Engine, fresh: Names) -> None:
    name = fresh()
    late = dt.datetime(2024, 1, 31, 23, 30, tzinfo=dt.UTC)
    engine.load(name, pa.table({"t": pa.array([late], pa.timestamp("us", "UTC"))}))
    found = rows(engine, f"SELECT CAST(t AS DATE) AS day, CAST(EXTRACT(HOUR FROM t) AS BIGINT) AS hour FROM {name}")
    assert found == [(dt.date(2024, 1, 31), 23)]


def test_the_schema_of_a_query_is_known_without_running_it(engine: Engine, sales: str) -> None:
    failing = query(f"SELECT id, CAST(shop AS BIGINT) AS n FROM {sales}")
    assert engine.schema(failing) == pa.schema([("id", pa.int64()), ("n", pa.int64())])
    with pytest.raises(EngineError):
        engine.fetch(failing)
    with pytest.raises(EngineError):
        engine.stream(failing).read_all()


def test_a_query_that_fails_stores_nothing(any_engine: Engine, fresh: Names) -> None:
    source, name = fresh(), fresh()
    any_engine.load(source, SALES)
    with pytest.raises(EngineError):
        any_engine.store(name, query(f"SELECT CAST(shop AS BIGINT) AS n FROM {source}"))
    any_engine.store(name, query(f"SELECT id FROM {source} WHERE id < 3"))
    assert sorted(any_engine.fetch(query(f"SELECT id FROM {name}")).column(0).to_pylist()) == [1, 2]


def test_a_table_that_is_there_is_never_replaced(any_engine: Engine, fresh: Names) -> None:
    name = fresh()
    any_engine.load(name, SALES)
    with pytest.raises(EngineError):
        any_engine.store(name, query("SELECT 1 AS id"))
    with pytest.raises(EngineError):
        any_engine.load(name, pa.table({"id": [1]}))
    assert_same(any_engine.fetch(everything(name)), recast_table(SALES))


def test_a_whole_number_too_large_is_an_error_and_leaves_nothing(engine: Engine, fresh: Names) -> None:
    name = fresh()
    with pytest.raises(DataError):
        engine.load(name, pa.table({"n": pa.array([2**64 - 1], pa.uint64())}))
        engine.fetch(exp.select("*").from_(sql.table(name)))


@pytest.mark.parametrize("text", ["SELECT * FROM nobody_knows_it", "SELECT nothing FROM contract_sales"])
@pytest.mark.usefixtures("sales")
def test_what_is_not_there_is_not_found(engine: Engine, text: str) -> None:
    with pytest.raises(NotFound):
        engine.fetch(query(text))


def test_threads_may_ask_at_once(engine: Engine, sales: str) -> None:
    def ask(place: int) -> list[tuple[object, ...]]:
        return rows(engine, f"SELECT id + {place} AS n FROM {sales} WHERE id = 1")

    with ThreadPoolExecutor(4) as pool:
        assert [*pool.map(ask, range(8))] == [[(1 + place,)] for place in range(8)]


def test_the_title_names_engine_and_version(any_engine: Engine) -> None:
    engine, _, version = any_engine.title.partition(" ")
    assert engine in ("DuckDB", "PostgreSQL", "Spark")
    assert version[0].isdigit()


_TIMES = {"min_value": dt.datetime(1, 1, 1), "max_value": dt.datetime(9999, 12, 31, 23, 59, 59, 999999)}
_VALUES: dict[pa.DataType, st.SearchStrategy[object]] = {
    pa.int64(): st.integers(-(2**63), 2**63 - 1),
    pa.float64(): st.floats(),
    pa.decimal128(38, 3): st.decimals(-(10**34), 10**34, places=3),
    pa.bool_(): st.booleans(),
    pa.string(): st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")),
    pa.date32(): st.dates(),
    pa.timestamp("us"): st.datetimes(**_TIMES),
    pa.timestamp("us", "UTC"): st.datetimes(**_TIMES, timezones=st.just(dt.UTC)),
}


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    """A table of every kind, with any values and NULLs anywhere."""
    length = draw(st.integers(0, 12))
    columns = [
        pa.array(draw(st.lists(st.none() | values, min_size=length, max_size=length)), type_)
        for type_, values in _VALUES.items()
    ]
    names = [f"c{place}" for place in range(len(columns))]
    return pa.table([pa.array(range(length), pa.int64()), *columns], names=["id", *names])


_EXAMPLES = {"duckdb": 40, "postgres": 40, "spark": 4}


@pytest.mark.parametrize("name", _EXAMPLES)
def test_any_table_comes_back_as_it_went(name: str, request: pytest.FixtureRequest, fresh: Names) -> None:
    engine: Engine = request.getfixturevalue(name)

    @settings(
        max_examples=_EXAMPLES[name],
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=[HealthCheck.too_slow],
    )
    @given(tables())
    def come_back(data: pa.Table) -> None:
        table = fresh()
        engine.load(table, data)
        assert_same(engine.fetch(everything(table)), data)

    come_back()


def test_every_kind_is_in_the_random_tables() -> None:
    kinds: Iterator[pa.DataType] = (arrow_type(kind, scale=3) for kind in Kind)
    assert set(kinds) <= set(_VALUES)


def test_an_attempt_is_null_where_it_fails_and_nowhere_else(any_engine: Engine, fresh: Names) -> None:
    """However a part fails, inside a condition and a key too: no row decides whether there are rows at all."""
    name = fresh()
    any_engine.load(name, pa.table({"k": [1, 2, 3], "i": [2, 2**62, None], "s": ["7", "x", "8"]}))
    column = sql.column
    parts = {
        "product": column("i") * column("i"),
        "twice": exp.paren(column("i") * column("i")) + exp.paren(column("i") * column("i")),
        "number": exp.cast(column("s"), exp.DType.BIGINT),
        "quotient": exp.Div(this=sql.literal(6), expression=exp.paren(column("k") - sql.literal(2)), typed=True),
    }
    shown = [sql.named(sql.attempt(part), alias) for alias, part in parts.items()]
    rows = any_engine.fetch(exp.select(sql.named(column("k"), "k"), *shown).from_(sql.table(name)).order_by("k"))
    found = {row.pop("k"): row for row in rows.to_pylist()}
    wraps = (
        any_engine.dialect == "spark"
    )  # without ANSI, whole numbers wrap round; what a row adds is clamped all the same
    assert found[1]["product"] == 4
    assert found[1]["twice"] == 8
    assert found[2]["product"] is None or wraps
    assert found[3]["product"] is None
    assert [found[k]["number"] for k in (1, 2, 3)] == [7, None, 8]
    assert found[2]["quotient"] in (None, float("inf"))
    kept = exp.select(sql.named(sql.count_rows(), "n")).from_(sql.table(name))
    kept = kept.where(sql.attempt(exp.cast(column("s"), exp.DType.BIGINT) > 5))
    assert any_engine.fetch(kept).to_pylist() == [{"n": 2}]
