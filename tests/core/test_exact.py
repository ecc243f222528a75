"""Numbers privacy depends on: read as meant, rounded only upwards."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.core.exact import equation, exact, rounded
from discreet.errors import BadInput

positive = st.fractions(min_value=Fraction(1, 10**9), max_value=10**9)


@pytest.mark.parametrize("given_", [0.1, "0.1", "1/10", ".1", "1e-1", Decimal("0.1"), Fraction(1, 10)])
def test_a_tenth_is_a_tenth_however_it_is_written(given_: object) -> None:
    assert exact(given_, "epsilon") == Fraction(1, 10)


@pytest.mark.parametrize(
    "given_",
    [
        -1,
        "-1/2",
        float("nan"),
        float("inf"),
        Decimal("NaN"),
        "1/0",
        "x",
        "",
        "1e9999",
        "9" * 5000,
        True,
        None,
    ],
)
def test_what_is_no_finite_number_from_zero_up_is_refused(given_: object) -> None:
    with pytest.raises(BadInput, match="epsilon"):
        exact(given_, "epsilon")


def test_a_number_too_long_to_write_down_is_refused() -> None:
    for long in (10**6000, -(10**6000), Fraction(1, 10**6000)):
        with pytest.raises(BadInput, match="thousand digits"):
            exact(long, "epsilon")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("0.5", "ε = 0.5"),
        ("0", "ε = 0"),
        ("100", "ε = 100"),
        ("1e-6", "ε = 1e-6"),
        ("1/3", "ε = 1/3"),
        ("1000/3001", "ε ≤ 0.3333"),
    ],
)
def test_numbers_read_well(value: str, text: str) -> None:
    assert equation("ε", Fraction(value)) == text


@given(positive)
def test_a_shown_bound_is_not_below_the_number(value: Fraction) -> None:
    assert Fraction(rounded(value)) >= value
