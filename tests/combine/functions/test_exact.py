"""Exact linear algebra, and rows in any order."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from discreet.errors import Aborted
from discreet.verbs.combine.functions.regression import _derivatives, inverse, matrix_times

SQUARE = st.integers(1, 5).flatmap(
    lambda size: st.lists(st.lists(st.integers(-50, 50), min_size=size, max_size=size), min_size=size, max_size=size)
)


@given(SQUARE)
def test_an_inverse_times_its_matrix_is_one(matrix):
    try:
        found = inverse(matrix)
    except Aborted:
        assume(False)
    for place, column in enumerate(zip(*matrix, strict=True)):
        assert matrix_times(found, column) == [Fraction(int(place == row)) for row in range(len(matrix))]


@pytest.mark.parametrize("matrix", [[[0]], [[1, 2], [2, 4]], [[1, 2, 3], [4, 5, 6], [7, 8, 9]]])
def test_a_matrix_without_an_inverse_is_told(matrix):
    with pytest.raises(Aborted, match="coefficients are not identifiable"):
        inverse(matrix)


def test_what_a_party_adds_does_not_depend_on_the_order_of_its_rows():
    draw = np.random.default_rng(0)
    x, y = [np.ones(5_000), draw.uniform(-1, 1, 5_000)], draw.integers(0, 2, 5_000).astype(float)
    other = draw.permutation(5_000)
    at = [Fraction(1, 3), Fraction(-2, 7)]
    assert _derivatives(x, y, at) == _derivatives([column[other] for column in x], y[other], at)
