"""What a recoding says, done to rows on every engine: nothing lost, nothing added, NULL equal to NULL."""

from __future__ import annotations

import pyarrow as pa
import pytest
from sqlglot import exp
from tests.publish.hand import CARD, ROWS, people, recoding

from discreet.core import sql
from discreet.core.card import Card, Column, Role
from discreet.core.kind import Kind
from discreet.core.table import Table
from discreet.engines.duckdb import DuckDB
from discreet.engines.read import read
from discreet.errors import BadInput, EngineError
from discreet.verbs.publish.recoding import recode_rows

NAMES = ["age", "born", "sex", "gone", "disease"]


@pytest.fixture
def table(engine, fresh):
    """The rows on each engine."""
    return stored(engine, fresh())


def stored(engine, name):
    engine.load(name, people())
    columns = [sql.column(column.name) for column in CARD.columns]
    return Table(CARD, engine, exp.select(*columns).from_(sql.table(name)))


def sorted_rows(rows):
    """By content, NULL last, as a recoding orders the rows it writes."""
    return sorted(rows, key=lambda row: tuple((cell is None, cell) for cell in row))


def fetched(table):
    return [tuple(row.values()) for row in table.fetch().to_pylist()]


def test_levels_are_taken_and_classes_dropped(table):
    dropped = pa.table(
        {
            "age": pa.array(["20-29", None]),
            "born": pa.array(["2000s", None], pa.string()),
            "sex": pa.array([None, "m"], pa.string()),
        }
    )
    out = recode_rows(table, recoding(levels={"age": 1, "born": 2, "sex": 0}, dropped=dropped))
    assert out.columns == tuple(NAMES)
    assert out.card.unit is None
    assert [column.kind for column in out.card.columns] == [Kind.TEXT, Kind.TEXT, Kind.TEXT, Kind.REAL, Kind.TEXT]
    assert out.card["sex"].categories == ("f", "m")  # kept as it was
    assert out.card["age"].bounds is None
    assert fetched(out) == sorted_rows(
        [
            ("20-29", "2000s", "f", 1.5, "flu"),
            ("20-29", "2000s", "f", None, "cold"),
            ("30-39", "1990s", None, 2.5, None),
            ("30-39", "1990s", "m", -1.0, "it's"),
            ("80-89", "1940s", "m", 4.0, "cold"),
        ]
    )


def test_a_column_at_the_top_says_nothing_not_even_what_was_missing(table):
    out = recode_rows(table, recoding(levels={"age": 3, "born": 3, "sex": 1}))
    assert {row[:3] for row in fetched(out)} == {("*", "*", "*")}
    assert len(fetched(out)) == len(ROWS)
    assert out.card["sex"].categories is None


def test_a_mapping_gives_every_tuple_its_own_labels(table):
    tuples = people().group_by(["age", "born", "sex"]).aggregate([])
    mapping = (
        tuples.append_column("age_new", pa.array([f"a{age}" for age in tuples["age"].to_pylist()]))
        .append_column("born_new", pa.array([None] * tuples.num_rows, pa.string()))
        .append_column("sex_new", tuples["sex"])
        .append_column("kept", pa.array([age != 80 for age in tuples["age"].to_pylist()]))
    )
    out = recode_rows(table, recoding(mapping=mapping, suppressed=1))
    expected = [(f"a{age}", None, sex, gone, disease) for _, age, _, sex, gone, disease in ROWS if age != 80]
    assert fetched(out) == sorted_rows(expected)


def test_dummies_are_mixed_in(table):
    added = pa.table(
        {
            "age": ["80-89"],
            "born": ["1940s"],
            "sex": ["m"],
            "gone": pa.array([None], pa.float64()),
            "disease": ["cold"],
        }
    )
    out = recode_rows(table, recoding(levels={"age": 1, "born": 2, "sex": 0}, added=added))
    rows = fetched(out)
    assert len(rows) == len(ROWS) + 1
    assert rows == sorted_rows(rows)
    assert [row[3] for row in rows if row[0] == "80-89"] == [4.0, None]


def test_rows_of_postgres_are_brought_to_an_engine_that_can_recode(postgres, fresh):
    out = recode_rows(stored(postgres, fresh()), recoding(levels={"age": 1, "born": 1, "sex": 0}))
    assert isinstance(out.engine, DuckDB)
    with pytest.raises(EngineError, match="cannot be lent rows"):
        postgres.lend(people())


def test_a_unit_that_is_a_quasi_identifier_is_refused():
    card = Card("people", (Column("id", Kind.INTEGER, Role.QUASI), Column("x", Kind.TEXT)), unit="id", rows_per_unit=1)
    table = read(pa.table({"id": [1], "x": ["a"]}), card)
    with pytest.raises(BadInput, match="both the unit and a quasi-identifier"):
        recode_rows(table, recoding(levels={"id": 0}))


def test_nothing_but_identifiers_cannot_be_published():
    table = read(pa.table({"id": [1]}), Card("people", (Column("id", Kind.INTEGER, Role.IDENTIFIER),)))
    with pytest.raises(BadInput, match="nothing to publish"):
        recode_rows(table, recoding(levels={}))


def test_a_recoding_says_how():
    with pytest.raises(BadInput, match="needs levels, or a mapping"):
        recode_rows(read(people(), CARD), recoding())


@pytest.mark.parametrize("name", ["t", "m", "r", "kept", "k0", "v0", "age_new"])
def test_no_name_of_a_column_gets_in_the_way(name):
    card = Card("people", (Column("age", Kind.INTEGER, Role.QUASI), Column(name, Kind.TEXT)))
    table = read(pa.table({"age": [1, 2], name: ["a", "b"]}), card)
    dropped = pa.table({"age": [2]})
    assert fetched(recode_rows(table, recoding(levels={"age": 0}, dropped=dropped))) == [(1, "a")]
    mapping = pa.table({"age": [1, 2], "age_new": ["one", "two"], "kept": [True, False]})
    assert fetched(recode_rows(table, recoding(mapping=mapping))) == [("one", "a")]
