"""Howell form: exact linear algebra modulo 2**bits.

Modulo 2**bits not every number has an inverse: who knows 2·x knows all bits of x but the highest. So the rows are
brought into Howell's form (1986), in which a pivot is a power of 2, and what is left of its row when the pivot is
multiplied away is a row too. It has two properties that are used here: it is the same for all rows that say the same,
and the rows without the first columns give every consequence without these columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from discreet.verbs.combine.symbolic.symbols import Value, Variable

Row: TypeAlias = dict[Variable, int]


@dataclass(frozen=True)
class HowellForm:
    """Span of some rows over ``columns``, modulo 2**bits; equal spans compare equal."""

    columns: tuple[Value, ...]
    bits: int
    rows: tuple[tuple[int, ...], ...]
    """Canonical rows, which span the others."""

    @classmethod
    def spanning(cls, rows: Iterable[Mapping[Variable, int]], columns: tuple[Value, ...], bits: int) -> HowellForm:
        """Span of the rows over these columns alone: all other columns are eliminated."""
        left = [row for each in rows if (row := _reduce(each, bits))]
        kept_columns: set[Variable] = set(columns)
        for column in dict.fromkeys(column for row in left for column in row if column not in kept_columns):
            _, left = _eliminate(left, column, bits)
        pivots: list[tuple[Variable, Row]] = []
        for column in columns:
            pivot, left = _eliminate(left, column, bits)
            if pivot:
                for _, above in pivots:
                    _subtract(above, above.get(column, 0) // pivot[column], pivot, bits)
                pivots.append((column, pivot))
        return cls(columns, bits, tuple(tuple(row.get(key, 0) for key in columns) for _, row in pivots))

    def named(self, row: tuple[int, ...]) -> Row:
        """Entries of a row by column."""
        return {column: entry for column, entry in zip(self.columns, row, strict=True) if entry}

    def __contains__(self, row: Mapping[Variable, int]) -> bool:
        """Whether the row is in the span."""
        rest = [_reduce(row, self.bits).get(column, 0) for column in self.columns]
        for pivot in self.rows:
            place = next(index for index, entry in enumerate(pivot) if entry)
            times = rest[place] // pivot[place]
            rest = [(mine - times * theirs) % (1 << self.bits) for mine, theirs in zip(rest, pivot, strict=True)]
        return not any(rest) and not set(row) - set(self.columns)


def _eliminate(rows: list[Row], column: Variable, bits: int) -> tuple[Row | None, list[Row]]:
    """Pivot row of a column, and rows without the column that span all else without it."""
    with_it = [row for row in rows if column in row]
    if not with_it:
        return None, rows
    pivot = min(with_it, key=lambda row: (_power_of_two(row[column]), len(row)))
    power = _power_of_two(pivot[column])
    inverse = pow(pivot[column] >> power, -1, 1 << bits)
    scaled = _reduce({key: entry * inverse for key, entry in pivot.items()}, bits)
    for row in with_it:
        if row is not pivot:
            _subtract(row, row[column] >> power, scaled, bits)
    rest = [row for row in rows if row and row is not pivot]
    if power and (more := _reduce({key: entry << (bits - power) for key, entry in scaled.items()}, bits)):
        rest.append(more)
    return scaled, rest


def _subtract(row: Row, times: int, other: Row, bits: int) -> None:
    if not times:
        return
    for key, entry in other.items():
        if changed := (row.get(key, 0) - times * entry) % (1 << bits):
            row[key] = changed
        else:
            row.pop(key, None)


def _reduce(row: Mapping[Variable, int], bits: int) -> Row:
    return {key: entry for key, whole in row.items() if (entry := whole % (1 << bits))}


def _power_of_two(number: int) -> int:
    """Exponent of 2 in a number."""
    return (number & -number).bit_length() - 1
