"""A table as a matrix of features to learn from: figures in declared bounds, and the unit of each row.

Grids and categories come from the card and never from the rows, or the model would tell of the rows through them.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from hashlib import sha256
from typing import Any, TypeAlias, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from discreet.core import sql
from discreet.core.card import Card, Column
from discreet.core.document import fields
from discreet.core.hierarchy.taxonomy import Taxonomy
from discreet.core.kind import LISTABLE, NUMBERS, Kind, Scalar
from discreet.core.table import Table
from discreet.errors import BadInput, NotDeclared, NotFound
from discreet.verbs.publish.mask.masker import require_names
from discreet.verbs.publish.mask.values import Cells, numbers
from discreet.verbs.publish.recoding import published_columns

Figures: TypeAlias = NDArray[np.float64]
Rows: TypeAlias = NDArray[np.int64]
_EPOCH = dt.date(1970, 1, 1)
_DIGITS = 12


@dataclass(frozen=True)
class CategoryFeature:
    """A column with declared values: its figure is the place of a value among them."""

    name: str
    values: tuple[Scalar, ...]

    def figures(self, cells: Cells) -> Figures:
        """Positions of the declared values; other values are missing."""
        places = {value: float(place) for place, value in enumerate(self.values)}
        values, at = _encode(cells)
        found = np.array([*(places.get(value, np.nan) for value in values.to_pylist()), np.nan])
        return np.asarray(found[at], np.float64)


@dataclass(frozen=True)
class NumberFeature:
    """A column with declared bounds: its figure is the number, or the days since 1970, moved into the bounds."""

    name: str
    kind: Kind
    low: float
    high: float

    def figures(self, cells: Cells) -> Figures:
        """Numbers, moved into the bounds; what is not finite is missing."""
        held = numbers(cells)
        found = np.full(len(held.there), np.nan)
        found[held.there] = np.clip(held.values, self.low, self.high)
        return found

    def scaled(self, figures: Any) -> Any:
        """Figures from 0, at the lower bound, to 1."""
        return (figures - self.low) / (self.high - self.low)

    def unscaled(self, share: float) -> float:
        """The figure of a share of the way from bound to bound, as short as it can be written."""
        return _drop_digits(self.low + share * (self.high - self.low))

    def edges(self, grid: int) -> Figures:
        """The borders between ``grid`` intervals of equal width; between whole numbers they are whole."""
        found = self.low + (self.high - self.low) * np.arange(1, grid) / grid
        if self.kind in LISTABLE:
            whole = np.unique(np.ceil(found))
            return np.asarray(whole[(whole > self.low) & (whole <= self.high)], np.float64)
        return np.array([_drop_digits(one) for one in found])

    def shown(self, figure: float) -> int | float | dt.date:
        """A figure as a value of the column."""
        if self.kind is Kind.DATE:
            return _EPOCH + dt.timedelta(days=round(figure))
        return int(figure) if self.kind is Kind.INTEGER and figure == int(figure) else float(figure)


Feature: TypeAlias = CategoryFeature | NumberFeature


@dataclass(frozen=True)
class Frame:
    """Rows of figures. Two tables with the same rows, in whatever order, are the same frame."""

    features: tuple[Feature, ...]
    figures: Figures
    """Rows × features; NaN where a value is missing."""
    person: Rows
    """Number of the person of each row."""
    people: int
    apart: bool = False
    """Whether each column is learnt from for itself, and not whole rows."""

    @classmethod
    def of(
        cls, table: Table, features: Sequence[Feature], required: Sequence[str] = (), *, apart: bool = False
    ) -> Frame:
        """The rows of ``table`` that have a value at all, and one in each of the ``required`` columns."""
        unit = table.card.unit
        names = dict.fromkeys([*(one.name for one in features), *([] if unit is None else [unit])])
        rows = table.engine.fetch(table.query(*map(sql.column, names)))
        figures = np.stack([one.figures(rows.column(one.name)) for one in features], axis=1)
        there = np.logical_not(_all_missing(figures))
        for place, one in enumerate(features):
            if one.name in required:
                there &= ~np.isnan(figures[:, place])
        keys = list(figures.T[::-1])
        if unit is None:
            order = np.lexsort(keys)
            figures = figures[order[there[order]]]
            return cls(tuple(features), figures, np.arange(len(figures)), len(figures), apart)
        whose = _rank_cells(rows.column(unit))
        order = np.lexsort([*keys, whose])
        order = order[there[order]]
        known, person = np.unique(whose[order], return_inverse=True)
        return cls(tuple(features), figures[order], person.astype(np.int64), len(known), apart)

    @property
    def digest(self) -> str:
        """Digest of the rows."""
        made = sha256(repr(self.features).encode())
        made.update(np.ascontiguousarray(self.figures).tobytes())
        made.update(self.person.tobytes())
        return made.hexdigest()

    def rows_of(self, chosen: NDArray[np.bool_]) -> Rows:
        """The rows of the people who are chosen."""
        return np.flatnonzero(chosen[self.person])

    def contents(self, rows: Rows) -> tuple[bytes, ...]:
        """Digest of the multiset of these rows.

        With columns ``apart`` there is one for each column, of the values that are known.
        """
        return tuple(
            sha256(np.bincount(codes[rows], minlength=int(codes.max(initial=0)) + 1)[1:].tobytes()).digest()
            for codes in self._codes
        )

    @cached_property
    def _codes(self) -> tuple[Rows, ...]:
        """Codes of whole rows, or of each column: equal ones have an equal code; 0 if all is missing."""
        parts = np.split(self.figures, self.figures.shape[1], axis=1) if self.apart else [self.figures]
        return tuple(_rank_rows(part) for part in parts)


def features_of(card: Card, columns: Sequence[str], *, but: str | None = None, graded: bool = False) -> list[Feature]:
    """The columns to learn from: those named, or all that are released, but the target; ``graded``: numbers alone."""
    released = {column.name: column for column in published_columns(card)}
    require_names(columns)
    for name in columns:
        if card[name].name not in released:
            raise BadInput(f"{name!r} may not be released, so no model can be learnt from it.", hint="Leave it out.")
    if but is not None and but in columns:
        raise BadInput(f"{but!r} is the target, and cannot be learnt from as well.", hint="Leave it out.")
    chosen = [released[name] for name in columns] if columns else [c for c in released.values() if c.name != but]
    if graded and not columns:
        chosen = [column for column in chosen if column.kind in NUMBERS and column.bounds is not None]
    found = [feature_of(column) for column in chosen]
    if graded and (other := next((one for one in found if isinstance(one, CategoryFeature)), None)):
        raise BadInput(f"{other.name!r} is not numeric, as this learner requires.", hint="Leave it out.")
    if not found:
        raise BadInput(f"{card.name} has no column to learn from.", hint="Declare bounds or categories on its card.")
    return found


def feature_of(column: Column) -> Feature:
    """A column by what its card declares."""
    if column.kind is Kind.TIMESTAMP:
        raise BadInput(
            f"{column.name!r} is a timestamp, which learners do not support.", hint="Name the other columns: on …"
        )
    if column.categories is not None:
        return CategoryFeature(column.name, column.categories)
    if isinstance(column.hierarchy, Taxonomy) and column.kind is Kind.TEXT:
        return CategoryFeature(column.name, column.hierarchy.leaves)
    if column.kind is Kind.BOOLEAN:
        return CategoryFeature(column.name, (False, True))
    if column.bounds is None:
        what = "categories" if column.kind is Kind.TEXT else "bounds"
        raise NotDeclared(
            f"Learning from {column.name!r} needs its {what}, and the card declares none.",
            hint=f"Declare {what}, or leave the column out: name the others (columns=[…], or on COLUMNS).",
        )
    low, high = (figure_of(end) for end in column.bounds)
    return NumberFeature(column.name, column.kind, low, high)


def target_of(table: Table, target: str) -> Feature:
    """The column that is to be learnt, as a feature."""
    column = table.card[target]
    if column not in published_columns(table.card):
        raise BadInput(f"{target!r} may not be released, so it cannot be the target.", hint="Name another target.")
    return feature_of(column)


def as_arrow(rows: Any) -> pa.Table:
    """Rows as an Arrow table: of Arrow, a data frame of pandas or Polars, or a discreet table."""
    found = rows
    if hasattr(rows, "fetch"):
        found = rows.fetch()
    elif hasattr(rows, "to_arrow"):
        found = rows.to_arrow()
    elif hasattr(rows, "iloc"):
        found = pa.Table.from_pandas(rows, preserve_index=False)
    if not isinstance(found, pa.Table):
        raise BadInput(f"A model predicts for rows of a table, not for a {type(rows).__name__}.")
    return found


def cells_of(rows: pa.Table, name: str) -> Cells:
    """A column of rows that a model is to tell something of."""
    if name not in rows.column_names:
        raise NotFound(f"The model needs the column {name!r}, and these rows do not have it.")
    return rows.column(name)


def figure_of(value: Scalar) -> float:
    """A number, or a date as days since 1970."""
    return float((value - _EPOCH).days if isinstance(value, dt.date) else cast("float", value))


def _rank_cells(cells: Cells) -> Rows:
    """The rank of each cell among all that are different; missing ones are one more."""
    values, at = _encode(cells)
    order = pc.sort_indices(values).to_numpy()
    ranks = np.empty(len(order) + 1, np.int64)
    ranks[order] = np.arange(len(order))
    ranks[-1] = len(order)
    return ranks[at]


def _rank_rows(figures: Figures) -> Rows:
    """Equal rows have an equal number, from 1 up; 0 where all of a row is missing."""
    order = np.lexsort(figures.T)
    sorted_ = figures[order]
    other = np.ones(len(order), np.bool_)
    other[1:] = ~((sorted_[1:] == sorted_[:-1]) | (np.isnan(sorted_[1:]) & np.isnan(sorted_[:-1]))).all(axis=1)
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.cumsum(other)
    ranks[_all_missing(figures)] = 0
    return ranks


def _all_missing(figures: Figures) -> NDArray[np.bool_]:
    """For each row whether all of it is missing."""
    return np.asarray(np.isnan(figures).all(axis=1), np.bool_)


def _encode(cells: Cells) -> tuple[Any, Rows]:
    """The different values, and for each cell which of them it holds; missing ones hold one behind the last."""
    coded: Any = pa.chunked_array(cells).combine_chunks().dictionary_encode()
    at: Any = pc.fill_null(coded.indices, len(coded.dictionary))
    return coded.dictionary, np.asarray(at.to_numpy(zero_copy_only=False), np.int64)


def _drop_digits(figure: float) -> float:
    """Without the last digits, which are those of the computation."""
    return float(f"{figure:.{_DIGITS}g}")


def plain(value: Any) -> Any:
    """Fields of a model as plain data: features with their values or bounds, tuples as lists."""
    if isinstance(value, CategoryFeature):
        return {"name": value.name, "values": list(value.values)}
    if isinstance(value, NumberFeature):
        return {"name": value.name, "kind": value.kind.value, "low": value.low, "high": value.high}
    return [plain(one) for one in value] if isinstance(value, tuple) else value


def read_feature(data: object) -> Feature:
    """A feature that ``plain`` wrote, read back strictly."""
    if isinstance(data, Mapping) and "values" in data:
        read = fields(data, "a feature", name=str, values=list)
        if not all(isinstance(one, bool | int | float | Decimal | str | dt.date) for one in read["values"]):
            raise BadInput("a feature: values must be numbers, texts, booleans or dates.")
        return CategoryFeature(read["name"], tuple(read["values"]))
    read = fields(data, "a feature", name=str, kind=str, low=float, high=float)
    if not read["low"] < read["high"]:
        raise BadInput("a feature: the lower bound is not below the upper one.")
    try:
        return NumberFeature(read["name"], Kind(read["kind"]), read["low"], read["high"])
    except ValueError:
        raise BadInput(f"{read['kind']!r} is not a kind of column.") from None
