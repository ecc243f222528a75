"""Validation of the parameters of mechanisms."""

from __future__ import annotations

from fractions import Fraction
from numbers import Integral

from discreet.core.exact import Number, exact
from discreet.errors import BadInput


def positive(number: Number, what: str) -> Fraction:
    """``number`` as an exact rational above zero."""
    value = exact(number, what)
    if value == 0:
        raise BadInput(f"{what} must be above 0.", hint=f"{what} = 0 would stand for no noise, or for no data.")
    return value


def width(number: Number, what: str, most: int) -> Fraction:
    """``number`` as an exact rational above zero and not above ``most``."""
    value = positive(number, what)
    if value > most:
        raise BadInput(
            f"{what} must not be above 2**{most.bit_length() - 1}.",
            hint="So much noise tells nothing: spend more, or count in larger units.",
        )
    return value


def probability(number: Number, what: str) -> Fraction:
    """``number`` as an exact rational strictly between 0 and 1."""
    value = positive(number, what)
    if value >= 1:
        raise BadInput(f"{what} must be below 1, got {number}.", hint="Write it like 0.05.")
    return value


def whole(number: object, what: str, least: int = 1) -> int:
    """``number`` as an integer not below ``least``."""
    if isinstance(number, bool) or not isinstance(number, int) or number < least:
        raise BadInput(f"{what} must be a whole number from {least} up, got {number!r}.")
    return number


def signed(number: Number, what: str) -> Fraction:
    """``number`` as an exact rational of either sign."""
    if isinstance(number, Integral | Fraction):
        return -exact(-number, what) if number < 0 else exact(number, what)
    text = str(number).strip()  # what is no number cannot be compared with 0
    return -exact(text[1:], what) if text.startswith("-") else exact(number, what)
