"""Two values that share a label share all labels above it, whatever is declared."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.core.hierarchy.labelled import labelled

from discreet.core.families import HIERARCHIES
from discreet.core.hierarchy.coding import Coding
from discreet.core.hierarchy.dates import LEVELS, Dates
from discreet.core.hierarchy.hierarchy import Hierarchy
from discreet.core.hierarchy.intervals import Intervals
from discreet.core.hierarchy.mask import Mask
from discreet.core.hierarchy.ordered import Ordered
from discreet.core.hierarchy.ranges import Range, Ranges
from discreet.core.hierarchy.taxonomy import Taxonomy
from discreet.core.kind import Kind

Case = tuple[Hierarchy, Kind, Any]

others = st.sampled_from([None, "other"])
names = st.text(st.characters(exclude_characters="\0*", exclude_categories=["Cs"]), min_size=1, max_size=4)
integers = st.integers(-(10**16), 10**16) | st.integers(-50, 50)
moments = st.datetimes()


@st.composite
def growing(draw: st.DrawFn, first: int = 1) -> list[int]:
    sizes = [draw(st.integers(first, 9))]
    for factor in draw(st.lists(st.integers(2, 5), max_size=3)):
        sizes.append(sizes[-1] * factor)
    return sizes


@st.composite
def intervals(draw: st.DrawFn) -> Case:
    scale = draw(st.integers(0, 3))
    widths = [Decimal(width).scaleb(-scale) for width in draw(growing())]
    anchor = Decimal(draw(st.integers(-100, 100))).scaleb(-scale)
    edges = sorted(draw(st.sets(st.integers(-5, 5), min_size=2, max_size=2)))
    bottom, top = (anchor + edge * widths[-1] if draw(st.booleans()) else None for edge in edges)
    hierarchy = Intervals(widths, anchor, bottom, top, draw(others))
    if draw(st.booleans()):
        return hierarchy, Kind.INTEGER, pa.array(draw(st.lists(integers, min_size=1)), pa.int64())
    borders = st.integers(-2000, 2000).map(lambda number: number / 10**scale)
    values = st.floats(allow_nan=True, allow_infinity=True) | borders
    return hierarchy, Kind.REAL, pa.array(draw(st.lists(values, min_size=1)), pa.float64())


@st.composite
def ranges(draw: st.DrawFn) -> Case:
    cuts = sorted(draw(st.sets(st.integers(-40, 40), min_size=2, max_size=8)))
    levels = []
    while len(cuts) > 1:
        levels.append([Range(), *(Range(a, b) for a, b in pairwise(cuts)), Range()])
        levels[-1][0], levels[-1][-1] = Range(end=cuts[0]), Range(start=cuts[-1])
        cuts = sorted(draw(st.sets(st.sampled_from(cuts), max_size=len(cuts) - 1)))
    return Ranges(levels, draw(others)), Kind.INTEGER, pa.array(draw(st.lists(integers, min_size=1)), pa.int64())


@st.composite
def coding(draw: st.DrawFn) -> Case:
    bottom, top = sorted(draw(st.sets(st.integers(-50, 50), min_size=2, max_size=2)))
    return Coding(bottom, top), Kind.INTEGER, pa.array(draw(st.lists(integers, min_size=1)), pa.int64())


@st.composite
def mask(draw: st.DrawFn) -> Case:
    length = draw(st.integers(1, 6))
    steps = draw(st.none() | st.sets(st.integers(1, max(1, length - 1))).map(sorted)) if length > 1 else None
    side = draw(st.sampled_from(["left", "right"]))
    values = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=7) | st.text("ab", max_size=7)
    hierarchy = Mask(length, steps, side, other=draw(others))
    return hierarchy, Kind.TEXT, pa.array(draw(st.lists(values, min_size=1)), pa.string())


@st.composite
def taxonomy(draw: st.DrawFn) -> Case:
    count = draw(st.integers(1, 60))
    sizes = draw(growing(first=2))
    paths = [
        (f"leaf {leaf}", *(f"level {level} group {leaf // size}" for level, size in enumerate(sizes)))
        for leaf in range(count)
    ]
    short = draw(st.sets(st.integers(0, count - 1)))
    paths = [(path[0], *path[2:]) if leaf in short and leaf % 3 == 0 else path for leaf, path in enumerate(paths)]
    values = st.sampled_from([path[0] for path in paths]) | names
    return Taxonomy(paths, draw(others)), Kind.TEXT, pa.array(draw(st.lists(values, min_size=1)), pa.string())


@st.composite
def ordered(draw: st.DrawFn) -> Case:
    order = [f"v{number}" for number in range(draw(st.integers(1, 40)))]
    values = st.sampled_from(order) | names
    hierarchy = Ordered(order, draw(growing()), draw(others))
    return hierarchy, Kind.TEXT, pa.array(draw(st.lists(values, min_size=1)), pa.string())


@st.composite
def dates(draw: st.DrawFn) -> Case:
    levels = draw(st.sets(st.sampled_from(LEVELS), min_size=1))
    day = draw(moments)
    near = st.timedeltas(dt.timedelta(), dt.timedelta(days=800)).map(
        lambda later: day + later if dt.datetime.max - later > day else day
    )
    values = draw(st.lists(moments | near, min_size=1))
    return Dates(sorted(levels, key=LEVELS.index)), Kind.TIMESTAMP, pa.array(values, pa.timestamp("us"))


CASES = {
    "intervals": intervals,
    "ranges": ranges,
    "coding": coding,
    "mask": mask,
    "taxonomy": taxonomy,
    "ordered": ordered,
    "dates": dates,
}


@pytest.mark.parametrize("name", CASES)
def test_a_shared_label_is_shared_upwards(name: str) -> None:
    @settings(max_examples=25, deadline=None, database=None)
    @given(CASES[name]())
    def holds(case: Case) -> None:
        hierarchy, kind, values = case
        levels = [values.to_pylist(), *labelled(hierarchy, kind, values)]
        for fine, coarse in pairwise(levels):
            above: dict[Any, Any] = {}
            for label, parent in zip(fine, coarse, strict=True):
                assert above.setdefault(label, parent) == parent

    holds()


def test_every_type_is_tried() -> None:
    assert set(CASES) == set(HIERARCHIES.names())
