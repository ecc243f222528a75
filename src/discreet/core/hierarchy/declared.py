"""Checks of what somebody declares, so that all that is wrong with a hierarchy is said at once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import TypeAlias

from discreet.core.hierarchy.protocol import TOP
from discreet.errors import HierarchyError

Number: TypeAlias = int | float | Decimal

SHOWN = 8


def refuse(hierarchy: str, problems: Iterable[str]) -> None:
    """Raise one error with all problems, if there are any."""
    distinct = list(dict.fromkeys(problems))
    if not distinct:
        return
    rest = [f"and {len(distinct) - SHOWN} more"] if len(distinct) > SHOWN else []
    raise HierarchyError(f"{hierarchy}: {'; '.join(distinct[:SHOWN] + rest)}.")


def as_decimal(value: object) -> Decimal | None:
    """The number as written (0.1 is a tenth); ``None`` if it is no finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return None
    number = Decimal(str(value))
    return number if number.is_finite() else None


def plain(number: Decimal) -> int | float:
    """The number as a card writes it."""
    return int(number) if number == number.to_integral_value() else float(number)


def decimals_of(number: Decimal) -> int:
    """How many digits it needs after the point."""
    exponent = number.normalize().as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


def listed(value: object) -> Sequence[object] | None:
    """The value as a tuple, if it is a list of things and not a text."""
    return tuple(value) if isinstance(value, list | tuple) else None


def wrong_label(label: object, what: str) -> list[str]:
    """What keeps ``label`` from being a label."""
    if not isinstance(label, str):
        return [f"{what} must be text, got {label!r}"]
    if not label or "\0" in label:
        return [f"{what} must not be empty nor hold NUL characters, got {label!r}"]
    if label == TOP:
        return [f"{what} must not be {TOP!r}, which stands for everybody at the top"]
    return []


def wrong_other(other: object, labels: str = "(?!)") -> list[str]:
    """What keeps ``other`` from being the label of unknown values; ``labels`` is the pattern of the known ones'."""
    if other is None:
        return []
    problems = wrong_label(other, "other")
    if isinstance(other, str) and re.match(labels, other):
        problems.append(f"other must not look like a label, got {other!r}")
    return problems


def whole_numbers(value: object, what: str) -> tuple[tuple[int, ...], list[str]]:
    """A list of positive, ascending whole numbers, and what is wrong with it."""
    items = listed(value)
    if items is None or not all(isinstance(item, int) and not isinstance(item, bool) for item in items):
        return (), [f"{what} must be a list of whole numbers, got {value!r}"]
    numbers = tuple(item for item in items if isinstance(item, int))
    if any(number < 1 for number in numbers) or any(a >= b for a, b in pairwise(numbers)):
        return (), [f"{what} must be positive and ascending, got {list(numbers)}"]
    return numbers, []


def wrong_multiples(numbers: Sequence[int | Decimal], what: str) -> list[str]:
    """Each number must be a multiple of the one before, or groups would straddle the coarser ones."""
    return [
        f"{what}: {b} is not a multiple of {a}, so groups of {a} would straddle groups of {b}"
        for a, b in pairwise(numbers)
        if Fraction(b) % Fraction(a) != 0
    ]
