"""Exact reading of figures and codes from a file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from math import ceil
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


def figures_of(rows: pa.Table, name: str) -> list[Decimal]:
    """The figures in a column, as they are written: 0.1 is one tenth."""
    return [_figure(figure, line, name) for line, figure in enumerate(rows.column(name).to_pylist(), 1)]


def figures_or_blanks(rows: pa.Table, name: str) -> list[Decimal | None]:
    """The same, where nothing may stand."""
    found = enumerate(rows.column(name).to_pylist(), 1)
    return [None if figure is None else _figure(figure, line, name) for line, figure in found]


def decimals_of(figures: Sequence[Decimal]) -> int:
    """How many decimals are needed to write all of these, zeros at their end left out."""
    return max(map(_decimals, figures), default=0)


def units_of(figures: Sequence[Decimal], decimals: int, name: str) -> _Numbers:
    """The figures in whole units of 10 to the power of minus ``decimals``; what is between two is rounded up."""
    whole = [ceil(Fraction(figure) * 10**decimals) for figure in figures]
    if sum(map(abs, whole)) >= _MOST:
        raise DataError(
            f"{name} with {decimals} decimals has more digits than 64 bits hold.",
            hint="Round it to fewer decimals.",
        )
    return np.array(whole, np.int64)


def _figure(figure: Any, line: int, name: str) -> Decimal:
    text = str(figure)
    if not _WRITTEN.fullmatch(text):
        shown = "nothing" if figure is None else repr(text)
        raise DataError(
            f"Row {line:,} has {shown} in {name}, where a number is expected.",
            hint="Write numbers like 1234.5, without separators.",
        )
    return Decimal(text.strip())


def _decimals(figure: Decimal) -> int:
    """How many a figure needs, zeros at its end left out."""
    digits, scale = figure.as_tuple().digits, scale_of(figure)
    if not figure:
        return 0
    while scale and not digits[-1]:
        digits, scale = digits[:-1], scale - 1
    return scale
