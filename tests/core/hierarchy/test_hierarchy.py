"""Codes for search: ordered, nested, and never for values nobody knows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pytest
from sqlglot import exp

from discreet.core.hierarchy.hierarchy import codes
from discreet.core.hierarchy.intervals import Intervals
from discreet.core.hierarchy.mask import Mask
from discreet.core.hierarchy.taxonomy import Taxonomy
from discreet.core.kind import Kind
from discreet.errors import HierarchyError


def test_codes_are_numbered_in_the_order_of_the_values() -> None:
    found = codes(Intervals([5, 10]), Kind.INTEGER, pa.array([1, 3, 6, 12, 14, None, 25], pa.int64()))
    assert found.codes.dtype == np.int32
    assert found.codes.tolist() == [
        [0, 1, 2, 3, 4, 5, 6],
        [0, 0, 1, 2, 2, 3, 4],
        [0, 0, 0, 1, 1, 2, 3],
        [0, 0, 0, 0, 0, 0, 0],
    ]
    assert [level.to_pylist() for level in found.labels[1:]] == [
        ["0-4", "5-9", "10-14", None, "25-29"],
        ["0-9", "10-19", None, "20-29"],
        ["*"],
    ]
    assert found.labels[0].to_pylist() == [1, 3, 6, 12, 14, None, 25]


def test_unknown_values_are_counted_and_shown() -> None:
    values = pa.array(["13053", "1", "22", "333", "4444", None])
    with pytest.raises(HierarchyError, match="4 values unknown to the hierarchy, such as '1', '22', '333'"):
        codes(Mask(5), Kind.TEXT, values)
    with pytest.raises(HierarchyError, match="1 value unknown to the hierarchy, such as 'x'"):
        codes(Taxonomy.from_tree(["a"]), Kind.TEXT, pa.array(["x"]))


def test_no_values_have_no_codes() -> None:
    found = codes(Mask(2), Kind.TEXT, pa.array([], pa.string()))
    assert found.codes.shape == (3, 0)


@dataclass(frozen=True)
class Torn:
    """Says to share a label below and not above."""

    other: str | None = None
    type: ClassVar[str] = "torn"
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.TEXT})
    height: ClassVar[int] = 3

    def label(self, value: exp.Expr, level: int, kind: Kind) -> exp.Expr:
        return exp.Literal.string("same") if level == 1 else value.copy()

    def knows(self, value: exp.Expr, kind: Kind) -> None:
        return None

    def fields(self) -> dict[str, Any]:
        return {}


def test_a_hierarchy_that_does_not_nest_is_refused() -> None:
    with pytest.raises(HierarchyError, match="'a' and 'b' share a label on level 1 but not on level 2"):
        codes(Torn(), Kind.TEXT, pa.array(["a", "b"]))
