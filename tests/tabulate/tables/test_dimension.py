"""Sides of a table."""

import pytest

from discreet.errors import BadInput
from discreet.verbs.tabulate.tables.crosstable import Dimension


def test_paths_become_a_tree_without_totals_of_one():
    side = Dimension.from_paths("r", [("a1", "A"), ("a2", "A"), ("b", "B"), ("c1", "C1", "C"), ("c2", "C1", "C")])
    assert side.codes == ("Total", "A", "a1", "a2", "b", "C1", "c1", "c2")
    assert side.parents == (-1, 0, 1, 1, 0, 0, 5, 5)
    assert side.nested


def test_what_is_all_under_one_label_has_one_total():
    assert Dimension.from_paths("r", [("a", "X"), ("b", "X")]).codes == ("Total", "a", "b")
    assert Dimension.from_paths("r", [("a", "X")]).codes == ("a",)


def test_parents_come_in_any_order():
    side = Dimension.from_parents("r", {"a1": "A", "A": "all", "b": "all", "all": None, "a2": "A"})
    assert side.codes == ("all", "A", "a1", "a2", "b")


@pytest.mark.parametrize(
    "parents", [{"a": None, "b": None}, {"a": "nowhere", "t": None}, {"a": "b", "b": "a", "t": None}]
)
def test_what_is_no_tree_is_refused(parents):
    with pytest.raises(BadInput):
        Dimension.from_parents("r", parents)


def test_parts_leaves_and_depths():
    side = Dimension.from_paths("r", [("a1", "A"), ("a2", "A"), ("b",)])
    assert side.parts == ((1, 4), (2, 3), (), (), ())
    assert side.leaves.tolist() == [2, 3, 4]
    assert side.depths == (0, 1, 2, 2, 1)
    assert not Dimension.flat("r", ["a", "b"]).nested


@pytest.mark.parametrize(
    ("codes", "parents"),
    [
        ((), ()),
        (("t", "a", "a"), (-1, 0, 0)),
        (("t", "a"), (-1,)),
        (("a", "t"), (1, -1)),
        (("t", "a", "b"), (-1, 2, 0)),
    ],
)
def test_what_is_no_dimension_is_refused(codes, parents):
    with pytest.raises(BadInput):
        Dimension("r", codes, parents)


def test_what_stands_for_a_total_that_is_left_out():
    side = Dimension.from_paths("r", [("a1", "A", "AA"), ("a2", "A", "AA"), ("b", "B", "BB"), ("c", "c", "C")])
    assert side.codes == ("Total", "A", "a1", "a2", "b", "c")
    assert side.aliases == {"AA": "A", "B": "b", "BB": "b", "C": "c"}
    assert Dimension.from_paths("r", [("a", "X"), ("b", "X")]).aliases == {"X": "Total"}
    assert Dimension.from_paths("r", [("a", "X", "Y")]).aliases == {"X": "a", "Y": "a"}
    with pytest.raises(BadInput, match="left out"):
        Dimension("r", ("t", "a", "b"), (-1, 0, 0), {"a": "b"})
