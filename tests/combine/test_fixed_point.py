"""Numbers as units: as written, bounds that hold, sums that are exact."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import BadInput, DataError, NotDeclared
from discreet.verbs.combine.fixed_point import FixedPoint, exact_dot, exact_sum
from discreet.verbs.combine.terms import Terms

CENTS = FixedPoint.between("-1000000", "1000000", 2)


def test_numbers_are_counted_in_units_as_they_are_written():
    written = [0.15, "0.12", Decimal("-0.12"), Fraction(1, 4), 7, 2.67, np.float32(0.1)]
    expected = [15, 12, -12, 25, 700, 267, 10]
    assert CENTS.encode(written, "x").tolist() == expected
    assert CENTS.encode(np.array([0.15, 2.67, 0.29]), "x").tolist() == [15, 267, 29]
    assert CENTS.encode(np.array([0.15, 2.67], dtype=np.float32), "x").tolist() == [15, 267]


@pytest.mark.parametrize("value", [0.125, "0.125", Decimal("0.125"), Fraction(1, 3), 0.1 + 0.2 + 0.001])
def test_what_has_more_decimals_than_declared_is_an_error_and_never_rounded(value):
    for values in ([value], [1, value], *([np.array([value])] if isinstance(value, float) else [])):
        with pytest.raises(DataError, match="more than the 2"):
            CENTS.encode(values, "x")
    with pytest.raises(DataError, match="--decimals 2 "):
        FixedPoint(0, 10).encode([1.25], "x")


@given(st.lists(st.integers(-(10**8), 10**8).map(lambda k: k / 100), min_size=1))
def test_arrays_of_floats_are_what_each_float_is(values):
    one_by_one = [Fraction(Decimal(repr(value))) * 100 for value in values]
    assert CENTS.encode(np.array(values), "x").tolist() == one_by_one


@pytest.mark.parametrize("value", [1000000.01, "1000000.006", -(10**7), 10**30, float("nan"), None, "", "ten", 1e300])
def test_what_is_outside_or_missing_is_an_error(value):
    for values in ([value], [1, value]):
        with pytest.raises(DataError):
            CENTS.encode(values, "x")
    if isinstance(value, float):
        with pytest.raises(DataError):
            CENTS.encode(np.array([1.0, value]), "x")


def test_an_error_says_which_bounds_and_which_row():
    with pytest.raises(DataError, match=r"1 of 2 numbers outside the declared bounds 0 to 10, the first in row 2"):
        FixedPoint(0, 10).encode(np.array([3, 11]), "x")


def test_bounds_are_declared_on_the_grid_and_in_their_order():
    assert FixedPoint.between("-0.5", "2.25", 2) == FixedPoint(-50, 225, 2)
    assert FixedPoint.between(Fraction(-1, 2), Fraction(3), 1).magnitude == 30
    for low, high, decimals in (("0.5", "1", 0), ("2", "1", 0), ("0", "1e30", 0), ("0", "1", 19)):
        with pytest.raises(BadInput):
            FixedPoint.between(low, high, decimals)
    with pytest.raises(NotDeclared):
        FixedPoint.from_terms(Terms(("north", "south")))


def test_units_are_read_as_numbers_again():
    assert str(CENTS.decode(-1234)) == "-12.34"
    assert CENTS.fraction(5) == Fraction(1, 20)
    assert FixedPoint(0, 9).decode(7) == 7


@given(st.lists(st.integers(-(2**62) + 1, 2**62 - 1), max_size=20))
def test_sums_and_products_are_exact_however_large(numbers):
    units = np.array(numbers, dtype=np.int64)
    assert exact_sum(units) == sum(numbers)
    assert exact_dot(units, units) == sum(number * number for number in numbers)
