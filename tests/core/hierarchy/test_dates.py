"""Calendar levels: which can be declared, and for which columns."""

from __future__ import annotations

from typing import Any

import pytest

from discreet.core.hierarchy.dates import Dates
from discreet.core.kind import Kind
from discreet.errors import HierarchyError


@pytest.mark.parametrize(
    ("levels", "message"),
    [
        ([], "list of some of hour, day"),
        ("year", "list of some of hour, day"),
        (["week"], "list of some of hour, day"),
        ([1], "list of some of hour, day"),
        (["year", "month"], "from fine to coarse"),
        (["year", "year"], "from fine to coarse"),
    ],
)
def test_levels_that_are_none_are_refused(levels: Any, message: str) -> None:
    with pytest.raises(HierarchyError, match=message):
        Dates(levels)


def test_a_day_is_coarser_than_a_timestamp_only() -> None:
    assert Dates().kinds == {Kind.DATE, Kind.TIMESTAMP}
    assert Dates(["day", "year"]).kinds == Dates(["hour"]).kinds == {Kind.TIMESTAMP}
