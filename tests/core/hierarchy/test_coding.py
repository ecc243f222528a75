"""Top and bottom coding: what it refuses and which columns it is for."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from discreet.core.hierarchy.coding import Coding
from discreet.core.kind import Kind
from discreet.errors import HierarchyError


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({}, "bottom, top or both"),
        ({"bottom": 2.5}, "bottom must be a whole number or a date, got 2.5"),
        ({"top": True}, "top must be a whole number or a date, got True"),
        ({"top": dt.datetime(2001, 1, 1)}, "top must be a whole number or a date"),
        ({"bottom": 5, "top": dt.date(2001, 1, 1)}, "both be whole numbers or both dates"),
        ({"bottom": 80, "top": 18}, "bottom 80 is not below top 18"),
    ],
)
def test_ends_that_make_no_sense_are_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(HierarchyError, match=message):
        Coding(**fields)


def test_ends_decide_the_kinds() -> None:
    assert Coding(bottom=1).kinds == {Kind.INTEGER}
    assert Coding(top=dt.date(2001, 1, 1)).kinds == {Kind.DATE}
