"""One side of a private table: codes that were declared, never read off the rows."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from discreet.core.arrow import arrow_type
from discreet.core.card import Card, Scalar
from discreet.core.hierarchy.codes import codes
from discreet.core.hierarchy.taxonomy import Taxonomy
from discreet.core.kind import Kind
from discreet.core.sql import scale_of
from discreet.errors import NotDeclared
from discreet.verbs.tabulate.tables.dimension import TOTAL, Dimension

_WIDEST = 1000


@dataclass(frozen=True)
class DeclaredSide:
    """A column's declared values, in the order of its dimension's leaves, and the totals above them."""

    dimension: Dimension
    values: tuple[Scalar, ...]
    type: pa.DataType
    """Of what is printed: text if there are totals within totals, else the column's own."""

    @classmethod
    def of(cls, card: Card, name: str, *, levels: bool) -> DeclaredSide:
        """The side of a column; with ``levels``, its hierarchy's labels are totals within the total of all."""
        column, values = card[name], declared_values(card, name)
        own = _type(card, name)
        paths = [[_spelled(value)] for value in values]
        if levels and column.hierarchy is not None:
            found = codes(column.hierarchy, column.kind, pa.array(values, own))
            for labels, places in list(zip(found.labels, found.codes, strict=True))[1:-1]:
                for path, place in zip(paths, places, strict=True):
                    path.append(str(labels[int(place)].as_py()))
        taken = {label for path in paths for label in path}
        total = next(label for label in (TOTAL, f"{TOTAL} of {name}", "*") if label not in taken)
        side = Dimension.from_paths(name, paths, total)
        known = {path[0]: value for path, value in zip(paths, values, strict=True)}
        leaves = tuple(known[side.codes[int(place)]] for place in side.leaves)
        return cls(side, leaves, pa.string() if side.nested else own)

    @property
    def printed(self) -> tuple[Scalar, ...]:
        """What stands for each code but the total of all: itself, as text where there are totals within it."""
        if self.dimension.nested:
            return self.dimension.codes[1:]
        return self.values if len(self.dimension) > 1 else ()

    def __len__(self) -> int:
        return len(self.values)

    @property
    def leaves_below(self) -> tuple[int, ...]:
        """For each code but the total of all, how many leaves it is the total of."""
        found = [0] * len(self.dimension)
        for leaf in self.dimension.leaves.tolist():
            place = leaf
            while place >= 0:
                found[place] += 1
                place = self.dimension.parents[place]
        return tuple(found[1:])


def declared_values(card: Card, name: str) -> tuple[Scalar, ...]:
    """The declared values of a column: categories, a taxonomy's leaves, both truths, whole numbers between bounds."""
    column = card[name]
    if column.categories is not None:
        return column.categories
    if isinstance(column.hierarchy, Taxonomy) and column.kind is Kind.TEXT:
        return column.hierarchy.leaves
    if column.kind is Kind.BOOLEAN:
        return False, True
    if column.kind is Kind.INTEGER and column.bounds is not None:
        low, high = (int(end) for end in column.bounds)  # type: ignore[arg-type]  # the card saw to it
        if high - low < _WIDEST:
            return tuple(range(low, high + 1))
    raise NotDeclared(
        f"A table by {name!r} needs its values, and the card declares none.",
        hint=f"Declare categories, a taxonomy, or bounds of a whole number with {_WIDEST:,} values at most.",
    )


def _spelled(value: Scalar) -> str:
    """A value as a code, the same as in tables that are counted without noise."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _type(card: Card, name: str) -> pa.DataType:
    column = card[name]
    if column.kind is Kind.DECIMAL:
        return arrow_type(column.kind, scale=max(scale_of(value) for value in column.categories or ()))  # type: ignore[arg-type]
    zoned = any(getattr(value, "tzinfo", None) is not None for value in column.categories or ())
    return arrow_type(column.kind, zoned=zoned)
