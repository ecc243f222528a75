"""What every hierarchy promises, on every example."""

from __future__ import annotations

import duckdb
import pyarrow as pa
import pytest
from tests.core.hierarchy.examples import EXAMPLES, Example
from tests.core.hierarchy.labelled import labelled

from discreet.core import sql
from discreet.core.cardfile import from_fields, to_fields
from discreet.core.families import HIERARCHIES
from discreet.core.hierarchy import Coding, Dates, Intervals, Mask
from discreet.core.hierarchy.hierarchy import TOP, Hierarchy, apply, codes, unknown
from discreet.core.kind import Kind
from discreet.errors import HierarchyError

every_example = pytest.mark.parametrize("example", EXAMPLES, ids=[example.id for example in EXAMPLES])


@every_example
def test_values_have_the_labels_expected(example: Example) -> None:
    found = labelled(example.hierarchy, example.kind, example.array)
    assert found == [*example.labels, [TOP] * len(example.values)]


@every_example
def test_level_0_is_the_value_itself(example: Example) -> None:
    value = sql.column("value")
    assert apply(example.hierarchy, value, 0, example.kind) == value


@every_example
def test_levels_that_do_not_exist_are_refused(example: Example) -> None:
    for level in (-1, example.hierarchy.height + 1):
        with pytest.raises(HierarchyError, match=f"no level {level}"):
            apply(example.hierarchy, sql.column("value"), level, example.kind)


@every_example
def test_columns_of_another_kind_are_refused(example: Example) -> None:
    for kind in set(Kind) - example.hierarchy.kinds:
        with pytest.raises(HierarchyError, match=f"this one is {kind.value}"):
            apply(example.hierarchy, sql.column("value"), 1, kind)
        with pytest.raises(HierarchyError, match=f"this one is {kind.value}"):
            unknown(example.hierarchy, sql.column("value"), kind)


@every_example
def test_a_card_says_all_of_it(example: Example) -> None:
    fields = to_fields(example.hierarchy)
    again = from_fields(fields, folder=None)
    assert again == example.hierarchy
    assert hash(again) == hash(example.hierarchy)
    assert to_fields(again) == fields
    assert again != from_fields({**fields, "other": "something else"}, folder=None)


@every_example
def test_it_is_a_hierarchy_of_a_registered_type(example: Example) -> None:
    assert isinstance(example.hierarchy, Hierarchy)
    assert HIERARCHIES.entry(example.hierarchy.type).kind is type(example.hierarchy)


@every_example
def test_unknown_are_the_values_without_a_label(example: Example) -> None:
    condition = unknown(example.hierarchy, sql.column("value"), example.kind)
    expected = [
        value is not None and label is None
        for value, label in zip(example.values, (example.labels or [example.values])[0], strict=True)
    ]
    if condition is None:
        assert not any(expected)
        return
    connection = duckdb.connect()
    connection.register("given", pa.table({"value": example.array}))
    found = connection.sql(f"SELECT {condition.sql('duckdb')} AS missing FROM given").to_arrow_table()
    assert [bool(missing) for missing in found.column(0).to_pylist()] == expected


@every_example
def test_codes_say_the_same_as_labels(example: Example) -> None:
    known = [
        number
        for number, value in enumerate(example.values)
        if value is None or not example.labels or example.labels[0][number] is not None
    ]
    values = example.array.take(pa.array(known, pa.int64()))
    found = codes(example.hierarchy, example.kind, values)
    assert found.codes.shape == (example.hierarchy.height + 1, len(known))
    expected = [[level[number] for number in known] for level in example.labels]
    for level, labels in enumerate([*expected, [TOP] * len(known)], start=1):
        assert found.labels[level].take(pa.array(found.codes[level])).to_pylist() == labels
    assert found.labels[0].take(pa.array(found.codes[0])).equals(values) or example.kind is Kind.REAL


def test_every_type_has_an_example() -> None:
    assert {example.hierarchy.type for example in EXAMPLES} == set(HIERARCHIES.names())


@pytest.mark.parametrize(
    "make",
    [
        lambda: Mask(5, other="1305*"),
        lambda: Intervals((5,), other="20-24"),
        lambda: Coding(top=4, other="3"),
        lambda: Dates(other="2001"),
    ],
)
def test_unknown_values_never_share_a_label_with_known_ones(make):
    with pytest.raises(HierarchyError, match="other must not look like"):
        make()
