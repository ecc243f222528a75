"""The contract one floor up: what a `Table` answers is the same wherever its rows lie."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from sqlglot import exp
from tests.core.hierarchy.examples import EXAMPLES, Example
from tests.engines.values import assert_same

from discreet.core import sql
from discreet.core.card import Card, Column, Role
from discreet.core.engine import Engine
from discreet.core.hierarchy.hierarchy import apply
from discreet.core.hierarchy.intervals import Intervals
from discreet.core.hierarchy.mask import Mask
from discreet.core.identifiers import long_texts, looks_like_identifiers, repeating_identifiers
from discreet.core.kind import Kind
from discreet.core.sql import recast_table
from discreet.core.table import Table, Violation, violations
from discreet.engines.read import plain
from discreet.errors import HierarchyError

PEOPLE = pa.table(
    {
        "person": [1, 1, 2, 3, 4, 5, 5, 5, None],
        "zip": ["13053", "13053", "13068", "13068", "14853", "14850", None, "14850", "13053"],
        "age": [28, 29, 21, 23, 50, 55, 47, 49, None],
        "sex": ["f", "f", "m", "m", "m", None, "x", "f", "f"],
        "paid": [Decimal("1.50"), Decimal("-0.01"), None, Decimal("2"), *[Decimal("1e3")] * 5],
        "born": [dt.date(1999, 12, 31), *[dt.date(2000, 1, 1)] * 7, None],
        "note": ["it's", "a\\b", "", None, *["ünï"] * 5],
    },
    pa.schema(
        {
            **{"person": pa.int64(), "zip": pa.string(), "age": pa.int64(), "sex": pa.string()},
            **{"paid": pa.decimal128(38, 2), "born": pa.date32(), "note": pa.string()},
        }
    ),
)
CARD = Card(
    "people",
    (
        Column("person", Kind.INTEGER),
        Column("zip", Kind.TEXT, Role.QUASI, hierarchy=Mask(5)),
        Column("age", Kind.INTEGER, Role.QUASI, bounds=(20, 50), hierarchy=Intervals([10, 20])),
        Column("sex", Kind.TEXT, Role.QUASI, categories=("f", "m")),
        Column("paid", Kind.DECIMAL, Role.SENSITIVE, bounds=(Decimal(0), Decimal("999.99"))),
        Column("born", Kind.DATE, bounds=(dt.date(2000, 1, 1), dt.date(2010, 1, 1))),
        Column("note", Kind.TEXT, categories=("it's", "a\\b", "")),
    ),
    unit="person",
    rows_per_unit=2,
)


@pytest.fixture(scope="session")
def people(engine: Engine) -> Table:
    """The same people on every engine."""
    engine.load("contract_people", PEOPLE)
    columns = [sql.column(column.name) for column in CARD.columns]
    return Table(CARD, engine, exp.select(*columns).from_(sql.table("contract_people")))


def test_reals_that_are_equal_are_the_same_bits(engine: Engine) -> None:
    """One zero and one NaN: else a class of equal rows would be called as one of them is."""
    reals = np.array([0.0, -0.0, 1.5, np.nan, -np.nan])
    reals.view(np.uint64)[3] |= 1
    engine.load("contract_zeros", pa.table({"x": reals}))
    rows = plain(exp.select("*").from_(sql.table("contract_zeros")), {"x": (Kind.REAL, Kind.REAL)}, engine.dialect)
    found = np.asarray(engine.fetch(rows).column("x"), dtype=np.float64).view(np.uint64)
    assert len(set(found.tolist())) == 3


@pytest.fixture(scope="session")
def examples(engine: Engine) -> dict[str, pa.Table]:
    """All values of all hierarchy examples on every level, labelled in one question to the engine."""
    length = max(len(example.values) for example in EXAMPLES)
    columns = [
        pa.concat_arrays([example.array, pa.nulls(length - len(example.values), example.array.type)])
        for example in EXAMPLES
    ]
    names = [example.id for example in EXAMPLES]
    engine.load("contract_examples", pa.table([pa.array(range(length)), *columns], names=["#", *names]))
    shown = [
        sql.named(apply(example.hierarchy, sql.column(example.id), level, example.kind), f"{example.id}/{level}")
        for example in EXAMPLES
        for level in range(1, example.hierarchy.height + 1)
    ]
    query = exp.select(*shown).from_(sql.table("contract_examples")).order_by(sql.column("#"))
    found = engine.fetch(query)
    return {
        example.id: found.select([f"{example.id}/{level}" for level in range(1, example.hierarchy.height + 1)]).slice(
            0, len(example.values)
        )
        for example in EXAMPLES
    }


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.id)
def test_a_hierarchy_gives_the_same_labels_everywhere(examples: dict[str, pa.Table], example: Example) -> None:
    found = examples[example.id]
    assert set(found.schema.types) == {pa.string()}
    assert [column.to_pylist() for column in found.columns] == [*example.labels, ["*"] * len(example.values)]


def test_rows_come_as_they_are(people: Table) -> None:
    assert people.count() == PEOPLE.num_rows
    assert people.schema == PEOPLE.schema
    order = [("person", "ascending"), ("age", "ascending")]
    assert_same(people.fetch().sort_by(order), recast_table(PEOPLE).sort_by(order))
    assert people.stream().read_all().num_rows == PEOPLE.num_rows
    assert people.head(2).num_rows == 2


def test_columns_and_rows_are_chosen(people: Table) -> None:
    chosen = people.where(sql.column("age") >= 28).where(sql.column("sex").eq("f")).select("person", "zip", "age")
    assert sorted(chosen.fetch().drop_columns("person").to_pylist(), key=repr) == [
        {"zip": "13053", "age": 28},
        {"zip": "13053", "age": 29},
        {"zip": "14850", "age": 49},
    ]
    assert chosen.count() == 3


def test_a_histogram_counts_every_combination(people: Table) -> None:
    expected = Counter(zip(*(PEOPLE.column(name).to_pylist() for name in ("zip", "age", "sex")), strict=True))
    assert counted(people.histogram()) == expected
    assert counted(people.histogram("sex")) == {("f",): 4, ("m",): 3, ("x",): 1, (None,): 1}
    assert people.histogram("sex").schema == pa.schema([("sex", pa.string()), ("n", pa.int64())])


def test_a_histogram_counts_on_any_level(people: Table) -> None:
    assert counted(people.histogram(levels={"zip": 2, "age": 1, "sex": 1})) == {
        ("130**", "20-29", "*"): 4,
        ("130**", None, "*"): 1,
        ("148**", "50-59", "*"): 2,
        ("148**", "40-49", "*"): 1,
        (None, "40-49", "*"): 1,
    }
    assert counted(people.histogram("zip", "age", levels={"zip": 5, "age": 3})) == {("*", "*"): 9}


def test_generalized_rows_are_stored_and_asked_again(people: Table, fresh: Callable[[], str]) -> None:
    coarse = people.generalize({"zip": 3, "age": 2, "sex": 1}).store(fresh())
    assert counted(coarse.histogram()) == {
        ("13***", "20-39", "*"): 4,
        ("13***", None, "*"): 1,
        ("14***", "40-59", "*"): 3,
        (None, "40-59", "*"): 1,
    }
    assert coarse.card["zip"].kind is Kind.TEXT
    assert coarse.schema.field("age").type == pa.string()
    assert coarse.fetch().column("paid").type == pa.decimal128(38, 2)


def test_a_value_without_a_label_is_an_error(people: Table) -> None:
    card = Card("people", (Column("zip", Kind.TEXT, Role.QUASI, hierarchy=Mask(4)),))
    narrow = Table(card, people.engine, people.select("person", "zip").relation)
    with pytest.raises(HierarchyError, match="zip: 8 rows are unknown to the hierarchy"):
        narrow.generalize({"zip": 1})


def test_every_way_of_breaking_the_card_is_found(people: Table) -> None:
    assert violations(people) == (
        Violation("age", 1, "1 row is outside the declared bounds", ("55",)),
        Violation("sex", 1, "1 row is outside the declared categories", ("'x'",)),
        Violation("paid", 6, "6 rows are outside the declared bounds", ("Decimal('-0.01')", "Decimal('1000.00')")),
        Violation("born", 1, "1 row is outside the declared bounds", ("datetime.date(1999, 12, 31)",)),
        Violation("note", 5, "5 rows are outside the declared categories", ("'ünï'",)),
        Violation("person", 1, "1 row is without a unit", ("None",)),
        Violation("person", 1, "1 unit has more than the declared 2 rows"),
    )


def counted(histogram: pa.Table) -> dict[tuple[object, ...], int]:
    """A histogram as a dictionary from values to how many rows have them."""
    rows = [tuple(row.values()) for row in histogram.to_pylist()]
    assert len({row[:-1] for row in rows}) == len(rows)
    return {row[:-1]: row[-1] for row in rows}


def test_identifiers_and_long_texts_are_found_by_their_values(engine: Engine) -> None:
    keys = [100_000 + n // 5 for n in range(500)]
    rows = {
        "key": keys,
        "code": [f"P-{key:07}" for key in keys],
        "seen": [n % 90 for n in range(500)],
        "note": [f"spoke to the neighbour of number {key}" for key in keys],
    }
    engine.load("contract_keys", pa.table(rows))
    relation = exp.select(*map(sql.column, rows)).from_(sql.table("contract_keys"))
    kinds = {"key": Kind.INTEGER, "code": Kind.TEXT, "seen": Kind.INTEGER, "note": Kind.TEXT}
    found = [name for name, kind in kinds.items() if looks_like_identifiers(engine, relation, name, kind)]
    assert found == ["key", "code"]
    assert long_texts(engine, relation, ["code", "note"]) == ("note",)
    columns = tuple(Column(name, kind, Role.IDENTIFIER) for name, kind in kinds.items())
    assert repeating_identifiers(Table(Card("keys", columns, unit="seen"), engine, relation)) == ("key", "code", "note")


def test_people_with_several_rows_are_counted_and_published_alike(engine: Engine, fresh: Callable[[], str]) -> None:
    """Sets of rows, what an intruder can do who knows some of them, and a release, whose rows are chosen by no lot."""
    from tests import several_rows

    import discreet as dc

    rows = several_rows.table_of(several_rows.rows_of(8, people=14)).fetch()
    name = fresh()
    engine.load(name, rows)
    relation = exp.select(*map(sql.column, rows.column_names)).from_(sql.table(name))
    table, here = Table(several_rows.CARD, engine, relation), several_rows.table_of(rows.to_pylist())
    found, expected = dc.check(table), dc.check(here)
    assert found.known == expected.known == several_rows.fewest(several_rows.by_person(rows.to_pylist()))
    assert [one.figure for one in found] == [one.figure for one in expected]
    made = [dc.publish(one, dc.Generalize(suppress=0.5), "k=2", people="unlinked") for one in (table, here)]
    assert made[0].payload.equals(made[1].payload)
    assert made[0].recipe.parameters["known_rows"] == made[1].recipe.parameters["known_rows"]
