"""Sums of products of powers of constants, such as eps/(4N) + 1: exact arithmetic on them."""

from __future__ import annotations

from fractions import Fraction
from typing import TypeAlias

from discreet.verbs.prove.syntax import Operation

Laurent: TypeAlias = dict[tuple[tuple[str, int], ...], Fraction]
"""``{(("N", -1), ("eps", 1)): 1/4}`` is eps/(4N)."""


def bent(expression: Operation, sum_: Laurent) -> bool:
    """Whether it is more than a multiple of a constant."""
    return expression.operator == "/" or any(sum(abs(power) for _, power in powers) > 1 for powers in sum_)


def added(first: Laurent, second: Laurent) -> Laurent:
    found = dict(first)
    for powers, factor in second.items():
        found[powers] = found.get(powers, Fraction(0)) + factor
    return {powers: factor for powers, factor in found.items() if factor}


def multiplied(first: Laurent, second: Laurent) -> Laurent:
    found: Laurent = {}
    for one, left in first.items():
        for two, right in second.items():
            powers = dict(one)
            for name, power in two:
                powers[name] = powers.get(name, 0) + power
            kept = tuple(sorted((name, power) for name, power in powers.items() if power))
            found = added(found, {kept: left * right})
    return found
