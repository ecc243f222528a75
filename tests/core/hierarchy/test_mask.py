"""Masks: the zip codes of the inpatient case, and what is refused."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from tests.core.hierarchy.labelled import labelled

from discreet.core.hierarchy.mask import Mask
from discreet.core.kind import Kind
from discreet.errors import HierarchyError


def test_a_zip_code_loses_a_digit_a_level() -> None:
    found = labelled(Mask(5), Kind.TEXT, pa.array(["13053"]))
    assert [level[0] for level in found] == ["1305*", "130**", "13***", "1****", "*"]


def test_steps_may_be_left_out_when_they_are_the_usual_ones() -> None:
    assert Mask(4) == Mask(4, steps=[1, 2, 3])
    assert Mask(1).height == Mask(5, steps=[]).height == 1


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"length": 0}, "length must be a whole number of at least 1"),
        ({"length": "5"}, "length must be a whole number"),
        ({"length": 5, "steps": [2, 2]}, "steps must be positive and ascending"),
        ({"length": 5, "steps": [0]}, "steps must be positive"),
        ({"length": 5, "steps": [1.5]}, "steps must be a list of whole numbers"),
        ({"length": 5, "steps": [5]}, "steps must leave a character of 5"),
        ({"length": 5, "side": "middle"}, "side must be 'left' or 'right'"),
        ({"length": 5, "character": "xx"}, "character must be a single character"),
    ],
)
def test_masks_that_make_no_sense_are_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(HierarchyError, match=message):
        Mask(**fields)
