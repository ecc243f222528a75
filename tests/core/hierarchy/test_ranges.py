"""Ranges: overlaps, gaps and torn ranges are named; what is fine is put in order."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pyarrow as pa
import pytest
from tests.core.hierarchy.labelled import labelled

from discreet.core.hierarchy.ranges import Range, Ranges
from discreet.core.kind import Kind
from discreet.errors import HierarchyError


@pytest.mark.parametrize(
    ("levels", "message"),
    [
        ([[Range(0, 18), Range(16, 65)]], r"level 1: \[0, 18\) and \[16, 65\) overlap"),
        ([[Range(end=18), Range(end=65)]], "level 1: <18 and <65 overlap"),
        ([[Range(0), Range(16, 65)]], r"level 1: >=0 and \[16, 65\) overlap"),
        ([[Range(0, 18), Range(20, 65)]], r"level 1: there is a gap between \[0, 18\) and \[20, 65\)"),
        (
            [[Range(0, 18), Range(18, 65)], [Range(0, 20), Range(20, 65)]],
            r"\[18, 65\) lies in no single range of level 2",
        ),
        ([[Range(end=18), Range(18)], [Range(0, 18), Range(18)]], "<18 lies in no single range of level 2"),
        ([[Range(18, 18)]], r"\[18, 18\) is empty"),
        ([[Range()]], "needs from, to or both"),
        ([[Range(1, dt.date(2001, 1, 1))]], "one kind, got Decimal and date"),
        ([[Range("1", 2)]], "from must be a number, a date or a timestamp, got '1'"),
        ([[Range(1, 2, "")]], "label must not be empty"),
        ([[{"from": 1, "till": 2}]], "has from, to and label, not till"),
        ([["1-2"]], "must be a table"),
        ([Range(1, 2)], "list of lists"),
        ([[]], "list of lists"),
        ([], "list of lists"),
        ([[Range(0, 18, "a"), Range(18, 65, "a")]], "two groups are called 'a'"),
        ([[Range(0, 18), Range(18, 65, "0-17")]], "two groups are called '0-17'"),
    ],
)
def test_what_does_not_fit_together_is_refused(levels: Any, message: str) -> None:
    with pytest.raises(HierarchyError, match=message):
        Ranges(levels)


def test_other_covers_gaps_on_all_levels_but_no_label_may_be_called_so() -> None:
    levels = [[Range(0, 18), Range(20, 65)], [Range(0, 65, "any")]]
    hierarchy = Ranges(levels, other="gap")
    found = labelled(hierarchy, Kind.INTEGER, pa.array([17, 18, 20, 65], pa.int64()))
    assert found[:2] == [["0-17", "gap", "20-64", "gap"], ["any", "gap", "any", "gap"]]
    with pytest.raises(HierarchyError, match="two groups are called 'any'"):
        Ranges(levels, other="any")


def test_the_order_in_which_ranges_are_declared_does_not_matter() -> None:
    assert Ranges([[Range(18), Range(end=18)]]) == Ranges([[{"to": 18}, {"from": 18}]])


def test_ends_with_a_zone_are_meant_in_utc() -> None:
    east = dt.timezone(dt.timedelta(hours=2))
    assert Ranges([[Range(dt.datetime(2001, 1, 1, 2, tzinfo=east))]]) == Ranges([[Range(dt.datetime(2001, 1, 1))]])


def test_ends_decide_the_kinds() -> None:
    assert Ranges([[Range(1)]]).kinds == {Kind.INTEGER, Kind.REAL, Kind.DECIMAL}
    assert Ranges([[Range(dt.date(2001, 1, 1))]]).kinds == {Kind.DATE, Kind.TIMESTAMP}
    assert Ranges([[Range(dt.datetime(2001, 1, 1))]]).kinds == {Kind.TIMESTAMP}


def test_labels_of_whole_numbers_are_inclusive_and_tell_negative_ends_apart() -> None:
    hierarchy = Ranges([[Range(-10, -5), Range(-5, 1), Range(1, 2), Range(2, 5)]])
    found = labelled(hierarchy, Kind.INTEGER, pa.array([-10, 0, 1, 4], pa.int64()))
    assert found[0] == ["-10 to -6", "-5 to 0", "1", "2-4"]
