"""Classes of tables on an engine: the same as counted in plain Python, NULLs and all."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlglot import exp

from discreet.core import sql
from discreet.core.card import Card, Column, Role
from discreet.core.hierarchy.intervals import Intervals
from discreet.core.hierarchy.ordered import Ordered
from discreet.core.kind import Kind
from discreet.core.table import Table
from discreet.engines.read import read
from discreet.errors import BadInput, DataError, NotFound
from discreet.models import classes as module
from discreet.models.check import check
from discreet.models.classes import Sizes, classes_of, domain_of, places_in, told_apart
from discreet.models.closeness import TCloseness
from discreet.models.diversity import LDiversity
from discreet.models.k_anonymity import KAnonymity, KMap
from discreet.models.model import check_all
from discreet.models.presence import DeltaPresence

CARD = Card(
    "people",
    (
        Column("age", Kind.INTEGER, Role.QUASI, hierarchy=Intervals([10])),
        Column("city", Kind.TEXT, Role.QUASI),
        Column("n", Kind.BOOLEAN, Role.QUASI),
        Column("illness", Kind.TEXT, Role.SENSITIVE),
        Column("paid", Kind.REAL, Role.SENSITIVE),
    ),
)
SCHEMA = pa.schema(
    {"age": pa.int64(), "city": pa.string(), "n": pa.bool_(), "illness": pa.string(), "paid": pa.float64()}
)
ROWS = st.lists(
    st.tuples(
        st.sampled_from([None, 1, 2]),
        st.sampled_from([None, "", "a", "b"]),
        st.sampled_from([None, True, False]),
        st.sampled_from([None, "x", "y"]),
        st.sampled_from([None, 0.5, -1.0]),
    ),
    max_size=12,
)


def arrow(rows):
    columns = zip(*rows, strict=True) if rows else ([] for _ in SCHEMA)
    arrays = [pa.array(list(column), kind) for column, kind in zip(columns, SCHEMA.types, strict=True)]
    return pa.Table.from_arrays(arrays, schema=SCHEMA)


def table(rows, engine=None):
    return read(arrow(rows), CARD, engine=engine)


def counted(classes, name):
    spread = classes.spread(name)
    keys = [tuple(row.values()) for row in classes.labels.to_pylist()]
    values = spread.domain.to_pylist()
    return {
        (keys[place], values[code]): count
        for place, code, count in zip(spread.classes, spread.codes, spread.counts, strict=True)
    }


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=ROWS, ordered=st.booleans())
def test_classes_and_spreads_are_what_plain_python_counts(duckdb, rows, ordered):
    found = classes_of(table(rows, duckdb), sensitive=["illness", "paid", "age"], ordered=ordered)
    keys = [tuple(row.values()) for row in found.labels.to_pylist()]
    assert dict(zip(keys, found.sizes.tolist(), strict=True)) == Counter(row[:3] for row in rows)
    for name, place in (("illness", 3), ("paid", 4), ("age", 0)):
        assert counted(found, name) == Counter((row[:3], row[place]) for row in rows)
        spread = found.spread(name)
        assert np.lexsort((spread.codes, spread.classes)).tolist() == list(range(len(spread.codes)))
        assert spread.domain.to_pylist() == sorted({row[place] for row in rows}, key=lambda v: (v is None, v))
    alone = classes_of(table(rows, duckdb), ordered=ordered)
    assert sorted(alone.sizes) == sorted(found.sizes)
    if ordered:
        assert keys == sorted(keys, key=lambda key: [(value is None, value) for value in key])
        assert [tuple(row.values()) for row in alone.labels.to_pylist()] == keys


def test_more_combinations_than_numbers(monkeypatch):
    monkeypatch.setattr(module, "_MOST", 10)
    rows = [(1, "a", True, "x", 0.5), (2, "b", False, "y", 0.5), (1, "a", True, "y", 0.5), (2, None, True, "x", None)]
    found = classes_of(table(rows), sensitive=["illness"])
    assert found.sizes.tolist() == [2, 1, 1]
    assert found.labels.column("city").to_pylist() == ["a", "b", None]


def test_the_order_of_values_is_the_declared_one():
    values = pa.array(["new", "low", None, "high", "mid", "low"])
    listed = Column("x", Kind.TEXT, categories=("low", "mid", "high"))
    assert domain_of(listed, values).to_pylist() == ["low", "mid", "high", "new", None]
    by_hierarchy = Column("x", Kind.TEXT, hierarchy=Ordered(["low", "mid", "high"], [2]))
    assert domain_of(by_hierarchy, values).to_pylist() == ["low", "mid", "high", "new", None]
    assert domain_of(Column("x", Kind.TEXT), values).to_pylist() == ["high", "low", "mid", "new", None]


@pytest.mark.parametrize("said", [None, 1, 2])
def test_a_person_with_several_rows_is_refused(said):
    """Whatever the card says: rows are counted."""
    columns = (Column("who", Kind.INTEGER), Column("age", Kind.INTEGER, Role.QUASI))
    card = Card("visits", columns, unit="who", rows_per_unit=said)
    visits = read(pa.table({"who": [1, 1, 2], "age": [3, 3, 4]}), card)
    with pytest.raises(BadInput, match="3 rows of 2 whos"):
        classes_of(visits)
    once = read(pa.table({"who": [1, 2], "age": [3, 4]}), card)
    assert classes_of(once).sizes.tolist() == [1, 1]
    with pytest.raises(BadInput, match="visits has 3 rows of 2 whos"):
        KMap(1, visits).check(once)
    with pytest.raises(NotFound, match="no quasi-identifier"):
        classes_of(read(pa.table({"who": [1]}), Card("x", (Column("who", Kind.INTEGER),))))


PEOPLE = [(age, city, True, None, None) for age in (21, 24, 33) for city in ("a", "b") for _ in range(3)]
SAMPLE = [(21, "a", True, "x", 0.5), (24, "a", True, "y", 0.5), (33, "b", True, "x", 0.5)]


def test_a_population_is_counted_in_the_same_classes():
    found = classes_of(table(SAMPLE), population=table(PEOPLE))
    assert found.people().tolist() == [3, 3, 3]
    assert found.outside == 9
    left = found.keeping(np.array([True, False, True]))
    assert (left.people().tolist(), left.outside) == ([3, 3], 12)


def test_a_population_is_made_coarser_with_the_table():
    levels = {"age": 1}
    coarse = table(SAMPLE).generalize(levels)
    found = classes_of(coarse, population=table(PEOPLE), levels=levels)
    assert found.people().tolist() == [6, 3]
    assert check_all(coarse, [KMap(3, table(PEOPLE))], levels=levels)[0].figure == 3
    with pytest.raises(BadInput, match="age is text in people and integer in the population"):
        classes_of(coarse, population=table(PEOPLE))


def test_who_is_in_the_table_is_in_the_population():
    with pytest.raises(DataError, match=r"fewer people than people in 1 of 3 classes, such as age = 33, city = b"):
        classes_of(table(SAMPLE), population=table(PEOPLE[:-3]))


def test_a_population_that_was_forgotten_is_asked_for():
    found = classes_of(table(SAMPLE))
    with pytest.raises(BadInput, match="without the population"):
        KMap(2, table(PEOPLE)).verdict(found)
    with pytest.raises(BadInput, match="without 'illness'"):
        found.spread("illness")


def test_people_in_no_class_are_surely_absent():
    low = DeltaPresence("0.1", 1, table(PEOPLE))
    assert low.check(table(SAMPLE)).exposed == 3
    assert "9 certainly absent" in low.check(table(SAMPLE)).meaning
    assert DeltaPresence(0, "1/3", table(PEOPLE)).check(table(SAMPLE)).holds
    assert not DeltaPresence(0, "0.33", table(PEOPLE)).check(table(SAMPLE)).holds


def test_the_verdict_is_the_same_on_every_engine(engine):
    rows = [
        (21, "a", True, "x", 0.5),
        (21, "a", True, "y", None),
        (24, None, None, "x", 0.5),
        (24, None, None, "x", 1.5),
    ]
    engine.load("models_people", arrow(rows))
    columns = [sql.column(column.name) for column in CARD.columns]
    there = Table(CARD, engine, exp.select(*columns).from_(sql.table("models_people")))
    k, diverse, close, mapped = check(
        there, KAnonymity(2), LDiversity(2, "illness"), TCloseness("0.3", "paid"), KMap(3, there)
    )
    assert (k.holds, k.figure, k.worst) == (True, 2, {"age": 21, "city": "a", "n": True})
    assert (diverse.holds, diverse.figure, diverse.worst) == (False, 1, {"age": 24, "city": None, "n": None})
    assert close.figure == pytest.approx(0.125)  # NULL ranks after 1.5: of (0.5, NULL) a quarter is moved by one of two
    assert (mapped.holds, mapped.exposed) == (False, 4)


def test_the_declared_order_counts_whatever_the_alphabet_says():
    values = pa.array(["a", "b", "c", None, "d"])
    for order in (("c", "b", "a"), ("b", "a", "c"), ("b", "c", "a")):
        listed = Column("x", Kind.TEXT, categories=order)
        assert domain_of(listed, values).to_pylist() == [*order, "d", None]


@pytest.mark.parametrize(
    "numbers", [[], [0], [5, 5, 5], [3, 0, 3, 1, 0], [2**61, 0, 2**61, 7], [2**60, 2**60 + 1, 2**60]]
)
def test_numbers_are_grouped_in_order_and_equal_ones_as_they_come(numbers):
    """Also where numbers are so large that their places do not fit beside them."""
    order, starts = module._grouped(np.array(numbers, dtype=np.int64))
    assert order.tolist() == sorted(range(len(numbers)), key=lambda place: numbers[place])
    assert starts.tolist() == [sorted(numbers).index(number) for number in sorted(set(numbers))]


def test_keys_are_found_among_labels():
    labels = pa.table({"a": [1, 2, None], "b": ["x", "y", "z"]})
    keys = pa.table({"a": [None, 2, 1, 9, 2], "b": ["z", "y", "x", "z", "x"]})
    assert module.places_in(keys, labels).tolist() == [2, 1, 0, -1, -1]
    assert module.places_in(keys.slice(0, 0), labels).tolist() == []
    assert (module.places_in(keys, labels.slice(0, 0)) < 0).all()
    encoded = labels.set_column(1, "b", labels.column("b").dictionary_encode())
    assert module.places_in(keys, encoded).tolist() == [2, 1, 0, -1, -1]


@pytest.mark.parametrize("most", [1, 3, 10, 2**62])
@pytest.mark.parametrize("ordered", [False, True])
def test_rows_get_a_number_each_however_many_combinations_there_are(monkeypatch, most, ordered):
    monkeypatch.setattr(module, "_MOST", most)
    rows = [(b, a, c) for a in ("y", "x", None) for b in (2, 1) for c in (True, False)] * 2
    keys = pa.table({name: pa.array(values) for name, values in zip("abc", zip(*rows, strict=True), strict=True)})
    numbers = module._numbers(keys, ordered)
    assert len(set(numbers.tolist())) == len(set(rows))
    assert len({(number, row) for number, row in zip(numbers.tolist(), rows, strict=True)}) == len(set(rows))
    if ordered:
        by_number = [row for _, row in sorted(zip(numbers.tolist(), rows, strict=True), key=lambda pair: pair[0])]
        assert by_number == sorted(rows, key=lambda row: [(value is None, value) for value in row])


def test_suppressed_classes_leave_the_others_as_they_were():
    found = classes_of(table(SAMPLE * 2 + PEOPLE[:2]), sensitive=["illness"], population=table(PEOPLE * 3))
    kept = np.array([found.sizes[place] != 4 for place in range(len(found.sizes))])
    left = found.keeping(kept)
    assert left.sizes.tolist() == found.sizes[kept].tolist()
    assert left.rows == found.rows - 4 * int((~kept).sum())
    there = {tuple(row.values()) for row in left.labels.to_pylist()}
    assert counted(left, "illness") == {key: n for key, n in counted(found, "illness").items() if key[0] in there}
    assert left.outside == found.outside + int(found.people()[~kept].sum())


def test_sizes_of_classes_are_counted():
    sizes = Sizes({2: 3, 5: 4})
    assert (sizes.rows, sizes.count, sizes.smallest, sizes.unique) == (26, 7, 2, 0)
    assert (sizes.highest_risk, sizes.average_risk) == (1 / 2, 7 / 26)
    assert (Sizes({1: 3, 3: 1}).unique, Sizes({1: 3, 3: 1}).smallest) == (1 / 2, 1)
    nobody = Sizes({})
    assert (nobody.rows, nobody.smallest, nobody.unique, nobody.highest_risk, nobody.average_risk) == (0, 0, 0, 0, 0)


@pytest.mark.parametrize("ordered", [True, False])
def test_rows_of_many_columns_are_told_apart_by_any_of_them(ordered):
    """Twenty-four columns of eight values have more combinations than fit 64 bits."""
    same = [[value] * 24 for value in range(8)]
    other = [[*[0] * place, value, *[0] * (23 - place)] for place in (0, 1, 12, 23) for value in (2, 4)]
    rows = np.array([*same, *other, *other[:3]])
    keys = pa.table({f"c{place}": rows[:, place] for place in range(24)})
    first, place = told_apart(keys, ordered)
    distinct = [tuple(row) for row in rows[first].tolist()]
    assert len(set(distinct)) == len(first) == 16 and (not ordered or distinct == sorted(distinct))
    assert (rows[first][place] == rows).all()
    assert places_in(keys.slice(8, 3), keys.take([11, 9, 8])).tolist() == [2, 1, -1]
