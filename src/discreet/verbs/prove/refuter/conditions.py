"""Conditions as bounds of one draw by another."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor

from discreet.verbs.prove.refuter.forms import Condition
from discreet.verbs.prove.refuter.outside import Outside
from discreet.verbs.prove.refuter.pieces import Line


def bound(condition: Condition, draw: int, whole: bool) -> tuple[Line | None, Line | None]:
    """A condition as a lower or an upper bound of one draw, a line in the other (or a constant).

    For integers a strict bound is the next integer, and so is one between two integers.
    """
    factor = condition.form.factor(draw)
    rest = [(other, times) for other, times in condition.form.terms if other != draw]
    slope = -rest[0][1] / factor if rest else Fraction(0)
    constant = -condition.form.constant / factor
    if whole:
        if slope.denominator != 1:
            raise Outside("Integer noise compared with a part of an integer.")
        if factor > 0:
            constant = Fraction(floor(constant) + 1 if condition.strict else ceil(constant))
        else:
            constant = Fraction(ceil(constant) - 1 if condition.strict else floor(constant))
    line = (slope, constant)
    return (line, None) if factor > 0 else (None, line)
