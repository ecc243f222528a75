"""Ordered groupings: what they refuse."""

from __future__ import annotations

from typing import Any

import pytest

from discreet.core.hierarchy.ordered import Ordered
from discreet.errors import HierarchyError


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"order": [], "sizes": [2]}, "order must be a list"),
        ({"order": "abc", "sizes": [2]}, "order must be a list"),
        ({"order": ["a", 1.5], "sizes": [2]}, "order must be a list"),
        ({"order": ["a", "b", "a"], "sizes": [2]}, "'a' is listed twice"),
        ({"order": ["a", "*"], "sizes": [2]}, "must not be '\\*'"),
        ({"order": ["a", "b", "a..b"], "sizes": [2]}, "'a..b' stands for different things"),
        ({"order": ["a", "b..c", "a..b", "c"], "sizes": [2]}, "two runs are called 'a..b..c'"),
        ({"order": ["a", "b"], "sizes": [2, 3]}, "3 is not a multiple of 2"),
        ({"order": ["a", "b"], "sizes": 2}, "sizes must be a list"),
        ({"order": ["a", "b"], "sizes": [2], "other": "a"}, "other 'a' is a label already"),
    ],
)
def test_orders_that_make_no_sense_are_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(HierarchyError, match=message):
        Ordered(**fields)


def test_whole_numbers_may_be_listed_as_such() -> None:
    assert Ordered([1, 2, 3], [2]) == Ordered(["1", "2", "3"], [2])
