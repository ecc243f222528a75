"""Figures and codes as they are written in a file, exactly."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.core.sql import scale_of
from discreet.errors import DataError

_Numbers = np.ndarray[Any, Any]

_WRITTEN = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,2})?\s*", re.ASCII)
_MOST = 2**62


def codes_of(rows: pa.Table, name: str) -> list[str]:
    """The codes in a column; each row has one."""
    codes = rows.column(name).to_pylist()
    for line, code in enumerate(codes, 1):
        if code is None:
            raise DataError(
                f"Row {line:,} has no code in {name}.", hint="Every row is a cell, with a code on each side."
            )
    return [code if isinstance(code, str) else str(code) for code in codes]


def figures_of(rows: pa.Table, name: str, *, blank: bool = False) -> list[Decimal]:
    """The figures in a column, as they are written: 0.1 is one tenth. With ``blank`` there may be none: then 0."""
    found = []
    for line, figure in enumerate(rows.column(name).to_pylist(), 1):
        text = "0" if figure is None and blank else str(figure)
        if not _WRITTEN.fullmatch(text):
            shown = "nothing" if figure is None else repr(text)
            raise DataError(
                f"Row {line:,} has {shown} in {name}, where a number is expected.",
                hint="Write numbers like 1234.5, without separators.",
            )
        found.append(Decimal(text.strip()))
    return found


def whole_units(figures: Mapping[str, Sequence[Decimal]]) -> tuple[int, dict[str, _Numbers]]:
    """How many decimals are needed to write all figures, and the figures in whole units of the last of them."""
    decimals = max((_decimals(figure) for column in figures.values() for figure in column), default=0)
    units: dict[str, _Numbers] = {}
    for name, column in figures.items():
        whole = [int(Fraction(figure) * 10**decimals) for figure in column]
        if sum(map(abs, whole)) >= _MOST:
            raise DataError(
                f"{name} with {decimals} decimals has more digits than 64 bits hold.",
                hint="Round it to fewer decimals.",
            )
        units[name] = np.array(whole, np.int64)
    return decimals, units


def _decimals(figure: Decimal) -> int:
    """How many a figure needs, zeros at its end left out."""
    digits, scale = figure.as_tuple().digits, scale_of(figure)
    if not figure:
        return 0
    while scale and not digits[-1]:
        digits, scale = digits[:-1], scale - 1
    return scale
