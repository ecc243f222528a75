"""Parameters of mechanisms, exactly on their bounds."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

import pytest

from discreet.core.exact import positive, probability, signed, whole, width
from discreet.errors import BadInput


@pytest.mark.parametrize(
    ("make", "value"),
    [
        (lambda: positive("1e-300", "x"), Fraction(1, 10**300)),
        (lambda: positive(2, "x"), 2),
        (lambda: width(8, "x", 8), 8),
        (lambda: width("15/2", "x", 8), Fraction(15, 2)),
        (lambda: probability("0.999", "x"), Fraction(999, 1000)),
        (lambda: whole(1, "x"), 1),
        (lambda: whole(0, "x", 0), 0),
        (lambda: whole(5, "x", 5), 5),
        (lambda: signed("-1/2", "x"), Fraction(-1, 2)),
        (lambda: signed(" -3 ", "x"), -3),
        (lambda: signed("3", "x"), 3),
        (lambda: signed(-0.5, "x"), Fraction(-1, 2)),
        (lambda: signed(-(10**30), "x"), -(10**30)),
        (lambda: signed(-1e-7, "x"), Fraction(-1, 10**7)),
        (lambda: signed(Decimal("-0.1"), "x"), Fraction(-1, 10)),
        (lambda: signed(Fraction(-2, 7), "x"), Fraction(-2, 7)),
        (lambda: signed(0, "x"), 0),
        (lambda: signed(Fraction(2, 7), "x"), Fraction(2, 7)),
    ],
)
def test_what_is_within_is_exact(make: Callable[[], object], value: object) -> None:
    assert make() == value


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: positive(0, "x"), "x must be above 0"),
        (lambda: positive(-1, "x"), "x"),
        (lambda: width(0, "x", 8), "x must be above 0"),
        (lambda: width("8.0001", "x", 8), r"not be above 2\*\*3\."),
        (lambda: probability(1, "x"), "x must be below 1"),
        (lambda: probability(0, "x"), "x must be above 0"),
        (lambda: whole(0, "x"), "from 1 up"),
        (lambda: whole(4, "x", 5), "from 5 up"),
        (lambda: whole(True, "x"), "whole number"),
        (lambda: whole(2.0, "x"), "whole number"),
        (lambda: signed("--1", "x"), "x"),
        (lambda: signed("x", "x"), "x"),
        (lambda: signed(True, "x"), "x must be a number"),
        (lambda: signed(None, "x"), "x must be a number"),
        (lambda: signed([1], "x"), "x must be a number"),
        (lambda: signed(float("-inf"), "x"), "x must be a number"),
        (lambda: signed(Decimal("nan"), "x"), "x must be a number"),
        (lambda: signed(-(10**6000), "x"), "thousand digits"),
    ],
)
def test_what_is_beyond_is_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        make()
