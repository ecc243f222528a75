"""Advice before publishing: figures against plain Python, and what is made of them."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import combinations

import pyarrow as pa
import pytest

from discreet.core.card import Card, Column, Role
from discreet.core.hierarchy.intervals import Intervals
from discreet.core.kind import Kind
from discreet.engines.read import read
from discreet.errors import BadInput
from discreet.models.k_anonymity import KAnonymity
from discreet.verbs.publish.advice import Advice, Cost, advise

ROWS = [(n, 20 + n % 7, "fm"[n % 2], n % 5, "flu" if n % 3 else "cold") for n in range(60)]
CARD = Card(
    "people",
    (
        Column("id", Kind.INTEGER, Role.IDENTIFIER),
        Column("age", Kind.INTEGER, Role.QUASI, bounds=(20, 29), hierarchy=Intervals(widths=(5,))),
        Column("sex", Kind.TEXT, Role.QUASI, categories=("f", "m")),
        Column("floor", Kind.INTEGER),
        Column("disease", Kind.TEXT, Role.SENSITIVE),
    ),
    unit="id",
    rows_per_unit=1,
)


@pytest.fixture
def table():
    names = [column.name for column in CARD.columns]
    return read(pa.table(dict(zip(names, map(list, zip(*ROWS, strict=True)), strict=True))), CARD)


def test_of_an_empty_table_that_is_said(table):
    assert "no rows" in str(advise(read(table.fetch().slice(0, 0), CARD)))


def test_what_cannot_be_asked_is_an_error_and_no_cost():
    twice = [name for name, *_ in ROWS[:3]] * 2
    rows = {"id": twice, "age": [20] * 6, "sex": ["f"] * 6, "floor": [1] * 6, "disease": ["flu"] * 6}
    with pytest.raises(BadInput, match="6 rows of 3 ids"):
        advise(read(pa.table(rows), CARD))


def told(*places):
    """Distinction, separation and uniques, pair by pair."""
    values = [tuple(row[place] for place in places) for row in ROWS]
    pairs = list(combinations(values, 2))
    unique = sum(count == 1 for count in Counter(values).values())
    apart = sum(one != other for one, other in pairs)
    return len(set(values)) / len(values), apart / len(pairs), unique / len(values)


def test_columns_and_pairs_are_ranked_by_whom_they_tell_apart(table):
    found = advise(table)
    place = {column.name: at for at, column in enumerate(CARD.columns)}
    for one in (*found.alone, *found.pairs):
        expected = told(*(place[name] for name in one.columns))
        assert (one.distinction, one.separation, one.unique) == pytest.approx(expected)
    assert [one.columns for one in found.alone] == [("age",), ("floor",), ("sex",), ("disease",)]
    assert [one.separation for one in found.pairs] == sorted((one.separation for one in found.pairs), reverse=True)
    assert found.undeclared == ("floor",)  # tells more apart than sex, which is declared
    assert "Could an outsider know floor? Then declare it a quasi-identifier" in str(found)
    assert "that is 5-anonymous loses" in str(found)


def test_costs_grow_with_the_quasi_identifiers(table):
    found = advise(table, KAnonymity(5), suppress=0)
    assert [cost.columns for cost in found.costs] == [("age",), ("age", "sex")]
    assert found.costs[0].loss == 0  # seven ages of at least eight people
    assert found.costs[0].unique == 0
    assert 0 < found.costs[1].loss < 0.5
    assert not found.destroys


def test_a_table_that_cannot_be_saved_is_called_so(table):
    found = advise(table, [KAnonymity(40)], suppress=0)
    assert found.destroys
    assert "would destroy" in str(found)
    assert "discreet ask" in str(found)
    never = advise(table, [KAnonymity(61)])
    assert never.costs[-1].loss is None
    assert "No recoding makes the table 61-anonymous" in str(never)


def test_how_many_could_be_kept_is_said():
    costs = (Cost(("a",), 0.0, 0.2, 0.0), Cost(("a", "b"), 0.5, 0.9, 0.0))
    assert "Up to 1 of them can be kept: a." in str(Advice(10, (), (), costs))
    assert "No quasi-identifier is declared" in str(Advice(10, (), (), ()))


def test_a_column_that_tells_everybody_apart_is_in_no_pair(table):
    columns = tuple(replace(c, role=Role.OTHER) if c.name == "id" else c for c in CARD.columns)
    found = advise(replace(table, card=replace(CARD, columns=columns, unit=None, rows_per_unit=None)))
    assert found.alone[0].columns == ("id",)
    assert found.pairs
    assert all("id" not in one.columns for one in found.pairs)
