"""Tables of figures with totals at every level."""

import numpy as np
import pytest

from discreet.errors import BadInput
from discreet.verbs.tabulate.tables.crosstable import CrossTable, Dimension, summed, written

SIDES = (Dimension.from_paths("r", [("a1", "A"), ("a2", "A"), ("b",)]), Dimension.flat("c", ["x", "y"]))


def test_totals_at_every_level():
    whole = summed(SIDES, np.array([[1, 2], [3, 4], [5, 6]]))
    assert SIDES[0].codes == ("Total", "A", "a1", "a2", "b")
    assert whole.tolist() == [[21, 9, 12], [10, 4, 6], [3, 1, 2], [7, 3, 4], [11, 5, 6]]


def test_cells_and_codes():
    table = CrossTable(SIDES, summed(SIDES, np.ones((3, 2), np.int64)))
    assert table.shape == (5, 3)
    assert table.size == 15
    assert all(table.cell(*table.codes(cell)) == cell for cell in range(15))
    assert table.codes(4) == ("A", "x")


@pytest.mark.parametrize("codes", [("A",), ("A", "z"), ("q", "x")])
def test_a_cell_that_is_not_there(codes):
    table = CrossTable(SIDES, np.zeros((5, 3), np.int64))
    with pytest.raises(BadInput):
        table.cell(*codes)


def test_what_is_no_table():
    with pytest.raises(BadInput):
        CrossTable(SIDES, np.zeros((5, 2), np.int64))
    with pytest.raises(BadInput):
        CrossTable(SIDES, np.zeros((5, 3)))
    with pytest.raises(BadInput):
        CrossTable((SIDES[0], SIDES[0]), np.zeros((5, 5), np.int64))


def test_figures_as_people_write_them():
    assert written(1234567, 2) == "12,345.67"
    assert written(-5, 0) == "-5"
    assert written(0.5, 0) == "0.5"
    assert written(np.inf, 0) == "∞"
    assert written(2**62, 0) == "4,611,686,018,427,387,904"


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
    with pytest.raises(BadInput, match="an omitted total must not be a code"):
        Dimension("r", ("t", "a", "b"), (-1, 0, 0), {"a": "b"})
