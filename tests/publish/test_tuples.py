"""What a search sees of a table is what is in it."""

import numpy as np
import pyarrow as pa
import pytest

from discreet.core.card import Card, Column, Role
from discreet.core.hierarchy.intervals import Intervals
from discreet.core.hierarchy.ordered import Ordered
from discreet.core.hierarchy.taxonomy import Taxonomy
from discreet.core.kind import Kind
from discreet.engines.read import read
from discreet.errors import BadInput, HierarchyError
from discreet.verbs.publish.recoding import allowed_suppressions
from discreet.verbs.publish.tuples import tuples_of

COLOURS = Taxonomy([("red", "warm"), ("orange", "warm"), ("blue", "cold"), ("green", "cold")])


def table_of(engine, data, *columns, **card):
    return read(pa.table(data), Card("things", columns, **card), engine=engine)


@pytest.fixture
def things(duckdb):
    data = {
        "colour": ["red", "blue", None, "red", "blue", "blue"],
        "age": [7, 3, 7, 7, 3, 4],
        "illness": ["flu", "flu", "cold", None, "cold", "flu"],
    }
    return table_of(
        duckdb,
        data,
        Column("colour", Kind.TEXT, Role.QUASI, hierarchy=COLOURS),
        Column("age", Kind.INTEGER, Role.QUASI, bounds=(0, 9), hierarchy=Intervals([5])),
        Column("illness", Kind.TEXT, Role.SENSITIVE),
    )


def test_tuples_are_sorted_and_counted_with_missing_values_last(things):
    tuples = tuples_of(things)
    assert tuples.names == ("colour", "age")
    assert [values.to_pylist() for values in tuples.values] == [["blue", "red", None], [3, 4, 7]]
    assert tuples.codes.tolist() == [[0, 0, 1, 2], [0, 1, 2, 2]]
    assert tuples.counts.tolist() == [2, 1, 2, 1]
    assert (tuples.rows, tuples.heights, tuples.population) == (6, (2, 2), None)


def test_levels_are_those_of_the_hierarchies(things):
    tuples = tuples_of(things)
    labels = [
        [one.labels[level].take(pa.array(codes)).to_pylist() for level, codes in enumerate(one.codes)]
        for one in tuples.levels
    ]
    assert labels == [
        [["blue", "red", None], ["cold", "warm", None], ["*", "*", "*"]],
        [[3, 4, 7], ["0-4", "0-4", "5-9"], ["*", "*", "*"]],
    ]
    assert tuples.labels(np.array([0, 3]), (1, 1)).to_pylist() == [
        {"colour": "cold", "age": "0-4"},
        {"colour": None, "age": "5-9"},
    ]


def test_shares_count_the_values_that_are_declared(things):
    colour, age = tuples_of(things).shares
    # four declared colours and the missing one; ages 0 to 9
    assert colour.tolist() == [[0, 0, 0], [1 / 4, 1 / 4, 0], [1, 1, 1]]
    assert age == pytest.approx(np.array([[0, 0, 0], [4 / 9, 4 / 9, 4 / 9], [1, 1, 1]]))


@pytest.mark.parametrize(
    ("column", "values", "first"),
    [
        (Column("x", Kind.TEXT, Role.QUASI, categories=("a", "b", "c")), ["a", "a"], [[0], [1]]),
        (Column("x", Kind.TEXT, Role.QUASI), ["a", "a"], [[0], [0]]),
        (Column("x", Kind.TEXT, Role.QUASI, hierarchy=Ordered(list("abcd"), [2])), ["a"], [[0], [1 / 3], [1]]),
        (Column("x", Kind.INTEGER, Role.QUASI, hierarchy=Ordered([1, 2, 3], [2])), [3], [[0], [0], [1]]),
        (Column("x", Kind.INTEGER, Role.QUASI, hierarchy=Intervals([5])), [1, 4, 6], [[0] * 3, [0.5, 0.5, 0], [1] * 3]),
        (
            Column("x", Kind.INTEGER, Role.QUASI, bounds=(0, 10**6), hierarchy=Intervals([5])),
            [1, 6],
            [[0] * 2, [0] * 2, [1] * 2],
        ),
        (
            Column("x", Kind.BOOLEAN, Role.QUASI, hierarchy=Taxonomy([("true",), ("false",)])),
            [True],
            [[0], [1]],
        ),
    ],
)
def test_the_domain_is_what_is_declared_else_what_occurs(column, values, first, duckdb):
    tuples = tuples_of(table_of(duckdb, {"x": values}, column))
    assert tuples.shares[0] == pytest.approx(np.array(first, dtype=float))


def test_sensitive_values_are_spread_over_tuples_and_classes(things):
    tuples = tuples_of(things, ["illness"])
    spread = tuples.spreads["illness"]
    assert spread.domain.to_pylist() == ["cold", "flu", None]
    lines = list(zip(spread.classes, spread.codes, spread.counts, strict=True))
    assert lines == [(0, 0, 1), (0, 1, 1), (1, 1, 1), (2, 1, 1), (2, 2, 1), (3, 0, 1)]
    groups = tuples.groups((1, 2))
    assert groups.tolist() == [0, 0, 1, 2]
    classes = tuples.classes(groups)
    assert classes.sizes.tolist() == [3, 2, 1]
    merged = classes.spread("illness")
    assert list(zip(merged.classes, merged.codes, merged.counts, strict=True)) == [
        (0, 0, 1),
        (0, 1, 2),
        (1, 1, 1),
        (1, 2, 1),
        (2, 0, 1),
    ]


def test_many_classes_and_values_are_merged_without_a_dense_table(duckdb):
    rng = np.random.default_rng(1)
    data = {"x": rng.integers(0, 900, 1000), "s": rng.integers(0, 900, 1000)}
    table = table_of(duckdb, data, Column("x", Kind.INTEGER, Role.QUASI), Column("s", Kind.INTEGER, Role.SENSITIVE))
    tuples = tuples_of(table, ["s"])
    groups = np.arange(len(tuples.counts)) // 2
    found = tuples.classes(groups).spread("s")
    place = {int(value): int(groups[at]) for at, value in enumerate(tuples.values[0].to_pylist())}
    expected = {}
    for x, s in zip(data["x"].tolist(), data["s"].tolist(), strict=True):
        expected[place[x], s] = expected.get((place[x], s), 0) + 1
    values = found.domain.to_pylist()
    lines = zip(found.classes.tolist(), found.codes.tolist(), found.counts.tolist(), strict=True)
    assert {(at, values[code]): count for at, code, count in lines} == expected


def test_a_table_without_rows_has_no_tuples(things):
    from sqlglot import exp

    tuples = tuples_of(things.where(exp.false()), ["illness"])
    assert (tuples.rows, tuples.codes.shape, tuples.heights) == (0, (2, 0), (2, 2))
    assert tuples.groups((1, 1)).tolist() == []
    assert tuples.classes(tuples.groups((1, 1))).rows == 0


def test_others_of_the_population_come_last_without_rows(things, duckdb):
    people = table_of(
        duckdb,
        {"colour": ["red", "red", "red", "blue", "blue", "blue", "green", None], "age": [7, 7, 7, 3, 3, 4, 3, 7]},
        Column("colour", Kind.TEXT, Role.QUASI, hierarchy=COLOURS),
        Column("age", Kind.INTEGER, Role.QUASI, hierarchy=Intervals([5])),
    )
    tuples = tuples_of(things, population=people)
    assert tuples.counts.tolist() == [2, 1, 2, 1, 0]
    assert tuples.population.tolist() == [2, 1, 3, 1, 1]
    assert tuples.labels(np.array([4]), (0, 0)).to_pylist() == [{"colour": "green", "age": 3}]
    classes = tuples.classes(tuples.groups((1, 1)))
    assert (classes.sizes.tolist(), classes.population.tolist()) == ([3, 2, 1], [4, 3, 1])


def test_a_value_the_hierarchy_does_not_know_is_an_error(duckdb):
    table = table_of(duckdb, {"c": ["red", "mauve"]}, Column("c", Kind.TEXT, Role.QUASI, hierarchy=COLOURS))
    with pytest.raises(HierarchyError, match="1 value unknown to the hierarchy, such as 'mauve'"):
        tuples_of(table)


def test_somebody_with_several_rows_is_an_error(duckdb):
    columns = Column("who", Kind.TEXT, Role.IDENTIFIER), Column("c", Kind.TEXT, Role.QUASI)
    table = table_of(duckdb, {"who": ["a", "a"], "c": ["x", "y"]}, *columns, unit="who")
    with pytest.raises(BadInput, match="one person several times"):
        tuples_of(table)


@pytest.mark.parametrize(
    ("share", "rows", "most"), [(0, 10, 0), (0.1, 10, 1), (0.3, 10, 3), ("1/3", 10, 3), (0.29, 100, 29), (1, 7, 7)]
)
def test_a_share_of_rows_is_exact(share, rows, most):
    assert allowed_suppressions(share, rows) == most
