"""The bounded twin: what the card says holds, and nobody's rows hang on anybody else's."""

import datetime as dt
import math
from dataclasses import replace
from decimal import Decimal

import psycopg
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot import exp

from discreet.core import sql
from discreet.core.card import Card, Column, Role
from discreet.core.kind import Kind
from discreet.core.table import Table
from discreet.engines.bounded_table import Cut, bounded, bounded_card, write_parquet
from discreet.engines.duckdb import DuckDB
from discreet.engines.read import read
from discreet.errors import NotDeclared

CARD = Card(
    "t",
    (
        Column("who", Kind.INTEGER, Role.IDENTIFIER),
        Column("name", Kind.TEXT, Role.IDENTIFIER),
        Column("city", Kind.TEXT, categories=("Rome", "Milan")),
        Column("age", Kind.INTEGER, bounds=(0, 120)),
        Column("x", Kind.REAL, bounds=(-1.0, 1.0)),
        Column("free", Kind.REAL),
        Column("day", Kind.DATE, bounds=(dt.date(2000, 1, 1), dt.date(2020, 1, 1))),
    ),
    unit="who",
    rows_per_unit=2,
)
TYPES = pa.schema(
    [
        ("who", pa.int64()),
        ("name", pa.string()),
        ("city", pa.string()),
        ("age", pa.int64()),
        ("x", pa.float64()),
        ("free", pa.float64()),
        ("day", pa.date32()),
    ]
)
GOOD = ("a", "Rome", 30, 0.5, 1.0, dt.date(2010, 1, 1))
ROWS = [
    (1, *GOOD),
    (2, "b", "Paris", -5, math.nan, math.nan, dt.date(1990, 1, 1)),
    (2, "b", None, 500, math.inf, 2.0, dt.date(2050, 1, 1)),
    (3, "c", "Milan", None, -math.inf, None, None),
    (None, *GOOD),
    *[(4, "d", "Rome", age, 0.0, 1.0, None) for age in range(10)],
    *[(5, "e", "Rome", 5, 0.0, 1.0, None) for _ in range(5)],
]


CITIES = ("Rome", "Milan", "Paris", None)
NUMBERS = (None, math.nan, 0.5, math.inf)
DECIMALS = "(1, 'NaN'::numeric), (2, 'infinity'), (3, '-infinity'), (4, 1.5)"


def table_of(rows):
    return pa.Table.from_pylist([dict(zip(TYPES.names, row, strict=True)) for row in rows], TYPES)


def cut(rows, card=CARD, engine=None):
    """The twin's rows."""
    engine = engine or DuckDB()
    return bounded(read(table_of(rows), card, engine=engine)).fetch().to_pylist()


def by_unit(rows):
    found = {}
    for row in rows:
        found.setdefault(row["who"], []).append(tuple(row.values())[1:])
    return {who: sorted(kept, key=repr) for who, kept in found.items()}


def test_the_twin_keeps_to_the_card_on_every_engine(engine, fresh):
    name = fresh()
    engine.load(name, table_of(ROWS))
    columns = [sql.column(column) for column in TYPES.names]
    rows = bounded(Table(CARD, engine, exp.select(*columns).from_(sql.table(name)))).fetch()
    assert rows.column_names == ["who", "city", "age", "x", "free", "day"], "identifiers are gone, but the unit"
    kept = by_unit(rows.to_pylist())
    assert kept[1] == [("Rome", 30, 0.5, 1.0, dt.date(2010, 1, 1))]
    assert kept[2] == [
        (None, 0, None, None, dt.date(2000, 1, 1)),
        (None, 120, 1.0, 2.0, dt.date(2020, 1, 1)),
    ]
    assert kept[3] == [("Milan", None, -1.0, None, None)]
    assert {who: len(mine) for who, mine in kept.items()} == {1: 1, 2: 2, 3: 1, 4: 2, 5: 2}


def test_rows_without_a_required_value_are_dropped_before_others_are_chosen(engine, fresh):
    name = fresh()
    engine.load(name, table_of([(1, *GOOD), *[(2, "b", city, 1, x, x, None) for city in CITIES for x in NUMBERS]]))
    needed = ("city", "x")
    card = replace(CARD, columns=tuple(replace(c, required=c.name in needed) for c in CARD.columns))
    columns = [sql.column(column) for column in TYPES.names]
    twin = bounded(Table(card, engine, exp.select(*columns).from_(sql.table(name))))
    assert twin.card["x"].required
    kept = by_unit(twin.fetch().to_pylist())
    assert len(kept[1]) == 1 and len(kept[2]) == 2
    assert {(city, x) for city, _, x, *_ in kept[2]} <= {("Rome", 0.5), ("Rome", 1.0), ("Milan", 0.5), ("Milan", 1.0)}


def test_a_zero_has_no_sign(engine, fresh):
    """Equal values form one group, which would show the sign of whoever's row came first."""
    name = fresh()
    engine.load(name, table_of([(1, "a", "Rome", 1, -0.0, -0.0, None), (2, "b", "Rome", 1, 0.0, 0.0, None)]))
    columns = [sql.column(column) for column in TYPES.names]
    listed = replace(CARD["free"], categories=(0.0, 1.0))
    for free in (CARD["free"], listed, replace(listed, required=True)):
        card = replace(CARD, columns=(*(c for c in CARD.columns if c.name != "free"), free))
        rows = bounded(Table(card, engine, exp.select(*columns).from_(sql.table(name)))).fetch().to_pylist()
        assert [math.copysign(1, row[name]) for row in rows for name in ("x", "free")] == [1, 1, 1, 1]


def test_narrow_numbers_become_wide():
    """A sum of two numbers of eight bits can fail on somebody's row."""
    narrow = pa.table({"who": pa.array([1, 1], pa.int8()), "age": pa.array([120, 7], pa.uint8()), "x": [0.5, 0.1]})
    narrow = narrow.set_column(2, "x", pa.array([0.5, 0.1], pa.float32()))
    card = Card("t", tuple(c for c in CARD.columns if c.name in narrow.column_names), "who", 2)
    engine = DuckDB()
    twin = bounded(read(narrow, card, engine=engine)).relation.sql("duckdb")
    assert [row[1] for row in engine.run(f"DESCRIBE {twin}")] == ["BIGINT", "BIGINT", "DOUBLE"]


def test_decimals_of_postgres_that_are_no_number_or_infinite(postgres, postgres_address, fresh):
    name = fresh()
    with psycopg.connect(postgres_address) as connection:
        connection.execute(f"CREATE TABLE {name} AS SELECT * FROM (VALUES {DECIMALS}) AS v(who, d)")
    card = Card("t", (CARD.columns[0], Column("d", Kind.DECIMAL, bounds=(0, Decimal("9.999")))), "who", 1)
    rows = bounded(Table(card, postgres, exp.select("who", "d").from_(sql.table(name)))).fetch().to_pylist()
    assert sorted((row["who"], row["d"]) for row in rows if row["d"] is not None) == [
        (2, Decimal("9.999")),
        (3, Decimal(0)),
        (4, Decimal("1.5")),
    ]
    assert [row["who"] for row in rows if row["d"] is None] == [1]


def test_the_cut_is_by_chance_and_not_by_value():
    """Of ten ages the smallest would bias every figure: over many units every age is kept about as often."""
    rows = [(who, "d", "Rome", age, 0.0, 1.0, None) for who in range(2000) for age in range(10)]
    ages = [row["age"] for row in cut(rows)]
    assert len(ages) == 4000
    assert all(300 < ages.count(age) < 500 for age in range(10)), "400 each, give or take five deviations"


unit_rows = st.lists(
    st.tuples(
        st.sampled_from(["Rome", "Milan", "Paris", None]),
        st.one_of(st.none(), st.integers(-3, 125)),
        st.one_of(st.none(), st.floats(width=32)),
    ),
    min_size=1,
    max_size=5,
)


@settings(max_examples=12, deadline=None)
@given(st.lists(unit_rows, min_size=1, max_size=5), st.randoms(use_true_random=False))
def test_adding_a_unit_changes_no_other_and_the_order_of_rows_does_not_matter(units, order):
    rows = [(who, "n", city, age, x, x, None) for who, mine in enumerate(units) for city, age, x in mine]
    whole = by_unit(cut(rows))
    without = by_unit(cut([row for row in rows if row[0] != 0])) if len(units) > 1 else {}
    assert {who: kept for who, kept in whole.items() if who != 0} == without
    order.shuffle(rows)
    assert by_unit(cut(rows)) == whole
    assert all(len(kept) <= 2 for kept in whole.values())


few_values = st.lists(
    st.tuples(st.integers(0, 3), st.sampled_from(["a", "b", None]), st.sampled_from([0.5, 1.5, None])), max_size=40
)


@settings(max_examples=20, deadline=None)
@given(few_values, st.integers(1, 4), st.sampled_from([1, 2, 7, 2**60]))
def test_the_fast_way_keeps_the_rows_that_come_first(rows, most, kinds):
    """Also where rows are the same, and where many hashes collide: here there are only so many kinds of them."""
    engine = DuckDB()
    engine.load("t", pa.table([pa.array(list(one)) for one in zip(*rows, strict=True)] or [[], [], []], list("uvw")))
    cut = Cut(exp.select("u", "v", "w").from_("t"), ["u", "v", "w"], "u", most)
    hashed = exp.Mod(this=exp.Anonymous(this="hash", expressions=cut._columns), expression=sql.literal(kinds))
    signed = exp.cast(exp.paren(hashed), exp.DType.BIGINT)
    fast, ordered = (
        sorted(map(repr, engine.fetch(query).to_pylist()))
        for query in (cut._found(signed, engine), cut._ordered(cut.rows, signed))
    )
    assert fast == ordered


def test_so_many_rows_that_their_hashes_would_not_fit_are_put_in_order():
    rows = [(1, "d", "Rome", age, 0.0, 1.0, None) for age in range(60)] * 2
    assert len(cut(rows, replace(CARD, rows_per_unit=50))) == 50


def test_texts_are_cut_to_what_the_card_says_and_units_never(engine, fresh):
    card = Card(
        "t",
        (
            Column("who", Kind.TEXT, max_length=3),
            Column("short", Kind.TEXT, max_length=2, required=True),
            Column("usual", Kind.TEXT),
            Column("city", Kind.TEXT, categories=("Rome", "Milan")),
        ),
        unit="who",
        rows_per_unit=1,
    )
    rows = [("abc", "äöü", "x" * 1001, "Milan"), ("abcd", "z", "y", "Rome"), ("ab", "", None, None)]
    data = pa.table(list(zip(*rows, strict=True)), names=["who", "short", "usual", "city"])
    name = fresh()
    engine.load(name, data)
    columns = [sql.column(column.name) for column in card.columns]
    twin = bounded(Table(card, engine, exp.select(*columns).from_(sql.table(name))))
    found = sorted(twin.fetch().to_pylist(), key=lambda row: row["who"])
    assert found == [
        {"who": "ab", "short": "", "usual": None, "city": None},
        {"who": "abc", "short": "äö", "usual": "x" * 1000, "city": "Milan"},
    ]


def test_units_that_cannot_be_are_dropped_and_never_made_one():
    within = Column("who", Kind.INTEGER, Role.IDENTIFIER, bounds=(1, 3))
    card = Card("t", (within, *CARD.columns[1:]), "who", 2)
    assert set(by_unit(cut(ROWS, card))) == {1, 2, 3}
    listed = Column("who", Kind.INTEGER, Role.IDENTIFIER, categories=(4, 5))
    assert set(by_unit(cut(ROWS, Card("t", (listed, *CARD.columns[1:]), "who", 2)))) == {4, 5}


def test_without_a_unit_every_row_stays():
    card = Card("t", CARD.columns[2:])
    assert len(cut(ROWS, card)) == len(ROWS)


def test_what_must_be_declared_is_asked_for():
    with pytest.raises(NotDeclared, match="how many rows one who may have"):
        bounded_card(Card("t", CARD.columns, "who"))
    guessed = Column("age", Kind.INTEGER, bounds=(0, 99), from_data=("bounds",))
    with pytest.raises(NotDeclared, match="bounds of age"):
        bounded_card(Card("t", (guessed,)))
    with pytest.raises(NotDeclared, match="nothing to ask about"):
        bounded_card(Card("t", CARD.columns[:2], "who", 1))


def test_a_twin_on_disk_is_the_same(tmp_path):
    twin = bounded(read(table_of(ROWS), CARD))
    write_parquet(twin, tmp_path / "it's.parquet")
    again = read(tmp_path / "it's.parquet", twin.card).fetch()
    assert by_unit(again.to_pylist()) == by_unit(twin.fetch().to_pylist())
