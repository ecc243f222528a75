"""Intervals: what they refuse, and that a value lies in the interval it is labelled with."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.core.hierarchy.labelled import labelled

from discreet.core.hierarchy.intervals import Intervals
from discreet.core.kind import Kind
from discreet.errors import HierarchyError

near_borders = st.integers(-3000, 3000).map(lambda number: number / 100)


@settings(max_examples=80, deadline=None, database=None)
@given(
    st.lists(near_borders | st.floats(-(10**9), 10**9), min_size=1),
    st.sampled_from(["0.01", "0.03", "0.1", "0.7", "1", "2.5", "5"]),
    st.sampled_from(["0", "0.1", "-0.3", "1"]),
)
def test_a_real_value_lies_in_its_interval(values: list[float], width: str, anchor: str) -> None:
    hierarchy = Intervals([Decimal(width)], Decimal(anchor))
    labels = labelled(hierarchy, Kind.REAL, pa.array(values, pa.float64()))[0]
    for value, label in zip(values, labels, strict=True):
        assert label is not None
        low, high = map(Decimal, label.strip("[)").split(", "))
        assert low <= Decimal(str(value)) < high, (value, label)


@settings(max_examples=40, deadline=None, database=None)
@given(st.lists(st.integers(-(10**15), 10**15), min_size=1), st.integers(2, 10**6), st.integers(-(10**6), 10**6))
def test_a_whole_number_lies_in_its_interval(values: list[int], width: int, anchor: int) -> None:
    labels = labelled(Intervals([width], anchor), Kind.INTEGER, pa.array(values, pa.int64()))[0]
    for value, label in zip(values, labels, strict=True):
        low = (value - anchor) // width * width + anchor
        high = low + width - 1
        assert label == (f"{low} to {high}" if low < 0 else f"{low}-{high}")


def test_the_age_case() -> None:
    ages = pa.array([28, 29, 21, 23, 50, 55, 47, 49, 31, 37, 36, 35], pa.int64())
    labels = labelled(Intervals([10], bottom=30, top=40), Kind.INTEGER, ages)[0]
    assert labels == [*["<30"] * 4, *[">=40"] * 4, *["30-39"] * 4]


def test_equal_however_the_numbers_are_written() -> None:
    assert Intervals([0.5, 1], anchor=0.0) == Intervals((Decimal("0.50"), Decimal(1)))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"widths": []}, "list of positive numbers"),
        ({"widths": 5}, "list of positive numbers"),
        ({"widths": "5"}, "list of positive numbers"),
        ({"widths": [5, "10"]}, "list of positive numbers"),
        ({"widths": [0]}, "list of positive numbers"),
        ({"widths": [True]}, "list of positive numbers"),
        ({"widths": [float("nan")]}, "list of positive numbers"),
        ({"widths": [10, 5]}, "must ascend"),
        ({"widths": [5, 12]}, "12 is not a multiple of 5"),
        ({"widths": [1e-3, 1e300]}, "at most 10\\^15 units"),
        ({"widths": [0.0000001]}, "at most 6 decimals, got 7"),
        ({"widths": [5], "anchor": "0"}, "anchor must be a number, got '0'"),
        ({"widths": [5, 20], "bottom": 10}, "bottom 10 is not a boundary of the widest"),
        ({"widths": [5], "top": 81}, "top 81 is not a boundary"),
        ({"widths": [5], "bottom": 80, "top": 20}, "bottom 80 is not below top 20"),
        ({"widths": [5], "other": "*"}, "other must not be '\\*'"),
        ({"widths": [5], "other": ""}, "other must not be empty"),
        ({"widths": [5], "other": 3}, "other must be text, got 3"),
    ],
)
def test_what_cannot_be_a_grid_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(HierarchyError, match=message):
        Intervals(**fields)


def test_all_problems_are_told_at_once() -> None:
    with pytest.raises(HierarchyError) as caught:
        Intervals([5, 12], anchor=None, other="")  # type: ignore[arg-type]
    assert all(part in str(caught.value) for part in ("multiple", "anchor", "other"))
