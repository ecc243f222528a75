"""Numbers on a grid: cut, and rounded at random so that they are right on average."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from tests.noise.bits import FixedBits, Repeatable

from discreet.errors import BadInput, DataError
from discreet.verbs.collect.numbers.grid import NumberGrid


def test_a_number_goes_up_with_its_part_of_a_step_exactly() -> None:
    """The word just below three quarters of all goes up, the next does not."""
    grid, edge = NumberGrid(-1, 1, 4), 3 << 62
    for word, point in ((0, 2), (edge - 1, 2), (edge, 1), (2**64 - 1, 1)):
        assert grid.round_randomly([-0.125], FixedBits(word.to_bytes(8, "little"))).tolist() == [point]


def test_numbers_are_cut_to_the_grid() -> None:
    grid = NumberGrid("-1/3", 2, 7)
    for _ in range(3):
        assert grid.round_randomly([-5, float("-inf"), 2, 9, float("inf")], Repeatable(1)).tolist() == [0, 0, 7, 7, 7]
    assert grid.cells([-5, 2, 9, 0]).tolist() == [0, 6, 6, 1]
    assert grid.step == Fraction(1, 3)
    assert grid.value(7.0) == pytest.approx(2)
    assert grid.parameters == {"low": "-1/3", "high": "2", "steps": 7}


def test_any_kind_of_column_will_do() -> None:
    grid = NumberGrid(0, 10, 10)
    for given in ([1, 2], (1.0, 2.0), np.array([1, 2]), pa.array([1, 2]), pa.chunked_array([[1], [2]])):
        assert grid.round_randomly(given, Repeatable(1)).tolist() == [1, 2]


def test_what_is_no_number_is_refused() -> None:
    for wrong in ([1.0, None], [float("nan")], ["much"], pa.array(["much"])):
        with pytest.raises(DataError, match=r"missing|not a number") as caught:
            NumberGrid(0, 1).round_randomly(wrong, Repeatable(1))
        assert "much" not in str(caught.value)
    for wrong in ((1, 1), (2, "-3"), (0, 1, 0), (0, 1, 5000), (0, 1, 2.0), ("low", 1)):
        with pytest.raises(BadInput, match=r"grid|low"):
            NumberGrid(*wrong)
