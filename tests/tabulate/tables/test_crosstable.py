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
