from itertools import combinations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import samples
from discreet.core.card import Card, Column, Role
from discreet.core.identifiers import describe
from discreet.core.kind import Kind
from discreet.engines.read import read


def test_the_inpatients_are_all_unique_and_age_gives_them_away():
    found = describe(samples.inpatient())
    assert found.rows == 12
    assert found.together.unique == 12
    assert [one.columns for one in found.alone] == [("age",), ("zip",), ("nationality",)]
    assert {one.columns for one in found.pairs} == {("age", "zip"), ("age", "nationality"), ("zip", "nationality")}
    text = str(found)
    assert text.startswith("12 of 12 rows (100.0%) are unique on all quasi-identifiers: zip, age, nationality\n")
    assert "age × zip: 12 values, 12 unique" in text


def test_seven_of_nine_are_unique_on_age():
    assert describe(samples.got()).together.unique == 7


def test_a_table_without_rows_or_quasi_identifiers_has_nothing_to_count():
    nobody = read(pa.table({"a": pa.array([], pa.int64())}), Card("t", (Column("a", Kind.INTEGER, Role.QUASI),)))
    assert describe(nobody).together is None
    assert str(describe(nobody)) == "no rows"
    assert describe(read(pa.table({"a": [1]}), Card("t", (Column("a", Kind.INTEGER),)))).together is None


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(*[st.sampled_from([None, 0, 1, 2])] * 3), min_size=1, max_size=25))
def test_the_figures_are_those_of_a_count_by_hand(rows):
    names = ("a", "b", "n")
    card = Card("t", tuple(Column(name, Kind.INTEGER, Role.QUASI) for name in names))
    data = pa.table({name: pa.array([row[i] for row in rows], pa.int64()) for i, name in enumerate(names)})
    found = describe(read(data, card))
    for one in (found.together, *found.alone, *found.pairs):
        keys = [tuple(row[names.index(name)] for name in one.columns) for row in rows]
        sizes = [keys.count(key) for key in keys]
        assert one.classes == len(set(keys))
        assert one.unique == sizes.count(1)
        assert one.crowd == pytest.approx(sum(sizes) / len(sizes))


def test_pairs_are_looked_for_among_the_twelve_most_identifying():
    names = [f"c{i}" for i in range(14)]
    card = Card("t", tuple(Column(name, Kind.INTEGER, Role.QUASI) for name in names))
    data = pa.table({name: [row % (i + 2) for row in range(30)] for i, name in enumerate(names)})
    found = describe(read(data, card))
    suspects = {name for one in found.alone[:12] for name in one.columns}
    assert {frozenset(one.columns) for one in found.pairs} == set(map(frozenset, combinations(suspects, 2)))
