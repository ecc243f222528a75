"""What may be looked up in public tables, and what that makes of joins with them."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pytest
from tests.ask.visits import Silent, loaded

from discreet.core.card import Card, Column, Role
from discreet.core.engine import Engine
from discreet.core.kind import Kind
from discreet.core.table import Table
from discreet.engines.duckdb import DuckDB
from discreet.verbs.ask.answer import answer
from discreet.verbs.ask.plan import plan
from discreet.verbs.ask.price import price
from discreet.verbs.ask.source import described

PLACES = Card(
    "places",
    (
        Column("code", Kind.INTEGER),
        Column("name", Kind.TEXT),
        Column("far", Kind.REAL),
        Column("price", Kind.DECIMAL),
        Column("open", Kind.BOOLEAN),
        Column("since", Kind.DATE),
        Column("seen", Kind.TIMESTAMP),
        Column("size", Kind.INTEGER, bounds=(0, 9)),
        Column("owner", Kind.TEXT, Role.IDENTIFIER),
        Column("empty", Kind.TEXT),
    ),
    public=True,
)
ROWS = [
    (1, "b", 0.5, Decimal("1.25"), True, dt.date(2001, 2, 3), None, 3, "x", None),
    (2, "a", float("inf"), Decimal("7.00"), None, dt.date(2001, 2, 3), None, 4, "y", None),
    (2, "a", float("nan"), Decimal("7.00"), None, dt.date(2000, 2, 3), None, 5, "z", None),
    (None, None, -3.0, None, None, None, None, None, None, None),
]
PEOPLE = Card("people", (Column("place", Kind.INTEGER), Column("age", Kind.INTEGER, bounds=(0, 9))))


@pytest.fixture
def places(duckdb: DuckDB, fresh) -> Table:
    return loaded(duckdb, PLACES, ROWS, fresh())


@pytest.mark.parametrize("engine", ["duckdb", "postgres"], indirect=True)
def test_what_is_not_declared_is_looked_up(engine: Engine, fresh) -> None:
    card = described(loaded(engine, PLACES, ROWS, fresh())).card
    assert {c.name: c.categories for c in card.columns if c.categories} == {
        "code": (1, 2),
        "name": ("a", "b"),
        "open": (True,),
        "since": (dt.date(2000, 2, 3), dt.date(2001, 2, 3)),
    }
    assert {c.name: c.bounds for c in card.columns if c.bounds} == {
        "far": (-3.0, 0.5),
        "price": (Decimal("1.25"), Decimal("7.00")),
        "size": (0, 9),
    }


def test_many_values_have_bounds_only(duckdb: DuckDB, fresh) -> None:
    card = Card("p", (Column("n", Kind.INTEGER), Column("t", Kind.TEXT), Column("c", Kind.REAL)), public=True)
    found = described(loaded(duckdb, card, [(n, str(n), 1.5) for n in range(1001)], fresh())).card
    assert (found["n"].bounds, found["n"].categories) == ((0, 1000), None)
    assert (found["t"].bounds, found["t"].categories) == (None, None)
    assert found["c"].categories == (1.5,)


@pytest.mark.parametrize(
    ("on", "most"),
    [("place = code", 2), ("place = code AND age = size", 1), ("place = code AND age = code", 2), ("place = size", 1)],
)
def test_a_row_counts_as_often_as_it_can_match(duckdb: DuckDB, places: Table, fresh, on: str, most: int) -> None:
    people = loaded(duckdb, PEOPLE, [(2, 2), (2, 4), (1, 1)], fresh())
    text = f"SELECT COUNT(*) AS n FROM people JOIN places ON {on}"
    made = plan(text, {"people": people, "places": places})
    assert [measure.most for measure in made.measures.values()] == [most]


def test_nothing_matches_an_empty_table(duckdb: DuckDB, fresh) -> None:
    tables = {
        "people": loaded(duckdb, PEOPLE, [(2, 2)], fresh()),
        "places": loaded(duckdb, PLACES, [], fresh()),
    }
    for side, found in (("", 0), ("LEFT ", 1)):
        made = plan(f"SELECT COUNT(*) AS n FROM people {side}JOIN places ON place = code", tables)
        assert made.rows.most == 1
        assert answer(made, price(made, 10**6), Silent())["n"].to_pylist() == [found]


def test_one_person_who_matches_twice_is_no_crowd(duckdb: DuckDB, places: Table, fresh) -> None:
    """Without a unit rows are counted, so that a group of one person's rows may count as many as it matches."""
    people = loaded(duckdb, PEOPLE, [(2, 2)] * 40 + [(1, 3)], fresh())
    text = "SELECT owner, COUNT(*) AS n FROM people JOIN places ON place = code GROUP BY owner"
    made = plan(text, {"people": people, "places": places})
    assert (made.measures["units"].each, made.rows.owned.groups, made.measures["units"].most) == (2, 2, 2)
    assert answer(made, price(made, 10**6, "1e-6"), Silent())["owner"].to_pylist() == ["y", "z"]
    assert (price(made, 1, "1e-6").threshold or 0) > 2
