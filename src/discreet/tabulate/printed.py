"""A table as it leaves: which figures are printed and which are hidden, as rows, and back again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.core.document import fields, texts
from discreet.core.release import Release
from discreet.errors import BadInput, DataError
from discreet.tabulate.cells import Cells
from discreet.tabulate.crosstable import CrossTable
from discreet.tabulate.dimension import Dimension

HIDDEN = "hidden"
COUNT = "n"
_MOST_DIGITS = 38
_Numbers = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False)
class Printed:
    """What anybody sees: the tables, and of each cell whether its figure is printed. Hidden figures are 0 here."""

    tables: tuple[CrossTable, ...]
    hidden: tuple[_Numbers, ...]
    """For each table, of its shape: bool."""

    @classmethod
    def of(cls, cells: Cells, values: _Numbers, hidden: _Numbers) -> Printed:
        """These figures of the cells, without the hidden ones."""
        shown = np.where(hidden, 0, values)
        tables, masks = [], []
        for table, place in zip(cells.tables, cells.places, strict=True):
            figures = shown[place].reshape(table.shape)
            tables.append(CrossTable(table.dimensions, figures, table.what, table.decimals))
            masks.append(hidden[place].reshape(table.shape))
        return cls(tuple(tables), tuple(masks))

    @property
    def sides(self) -> tuple[str, ...]:
        """The names of all dimensions, in the order they come."""
        return tuple(dict.fromkeys(side.name for table in self.tables for side in table.dimensions))

    def rows(self) -> pa.Table:
        """A row a cell: a code of every dimension (the total, where a table is not over it), the figure, and whether
        it is hidden. A cell that several tables share is there once."""
        cells = Cells.of(*self.tables)
        codes: dict[str, _Numbers] = {}
        hidden = np.zeros(len(cells), bool)
        for table, mask, place in zip(self.tables, self.hidden, cells.places, strict=True):
            hidden[place] = mask.ravel()
            for axis, side in enumerate(table.dimensions):
                column = codes.setdefault(side.name, np.full(len(cells), side.codes[0], dtype=object))
                along = np.arange(len(side)).reshape([-1 if other == axis else 1 for other in range(len(table.shape))])
                column[place] = np.array(side.codes, dtype=object)[np.broadcast_to(along, table.shape).ravel()]
        name = self.tables[0].what or COUNT
        figures = {name: _figures(cells.values, hidden, cells.decimals), HIDDEN: pa.array(hidden)}
        sides: dict[str, Any] = {side: pa.array(column, pa.string()) for side, column in codes.items()}
        return pa.table(sides | figures)

    def structure(self) -> list[dict[str, Any]]:
        """What a recipe says of the tables: their sides, codes and totals, what was added up, and how exactly."""
        return [
            {
                "dimensions": [
                    {"name": side.name, "codes": list(side.codes), "parents": list(side.parents)}
                    for side in table.dimensions
                ],
                "figure": table.what,
                "decimals": table.decimals,
            }
            for table in self.tables
        ]

    @classmethod
    def read(cls, release: Release[pa.Table]) -> Printed:
        """What was released, from its rows and recipe."""
        tables = release.recipe.parameters.get("tables")
        if not isinstance(tables, list) or not isinstance(release.payload, pa.Table):
            raise BadInput("This is not the release of a table.", hint="Give a folder that `discreet tabulate` wrote.")
        shapes = [_shape(one) for one in tables]
        figure: list[Any] = release.payload.column(shapes[0][1] or COUNT).to_pylist()
        hides = release.payload.column(HIDDEN).to_pylist()
        sides = [side for dimensions, _, _ in shapes for side in dimensions]
        columns = {side.name: release.payload.column(side.name).to_pylist() for side in sides}
        found: dict[tuple[str, ...], int] = {key: row for row, key in enumerate(zip(*columns.values(), strict=True))}
        tops = {side.name: side.codes[0] for side in sides}
        made, masks = [], []
        for dimensions, what, decimals in shapes:
            blank = CrossTable(dimensions, np.zeros(tuple(map(len, dimensions)), np.int64), what, decimals)
            values, hidden = np.zeros(blank.size, np.int64), np.zeros(blank.size, bool)
            for cell in range(blank.size):
                codes = dict(zip((side.name for side in dimensions), blank.codes(cell), strict=True))
                row = found.get(tuple(codes.get(name, tops[name]) for name in columns))
                if row is None:
                    raise DataError(f"The cell {', '.join(codes.values())} is missing from the release.")
                hidden[cell] = hides[row]
                values[cell] = 0 if figure[row] is None else int(Decimal(figure[row]).scaleb(decimals))
            made.append(CrossTable(dimensions, values.reshape(blank.shape), what, decimals))
            masks.append(hidden.reshape(blank.shape))
        return cls(tuple(made), tuple(masks))


def _figures(values: _Numbers, hidden: _Numbers, decimals: int) -> pa.Array[Any]:
    if not decimals:
        return pa.array(values, pa.int64(), mask=hidden)
    told = (
        None if hides else Decimal(value).scaleb(-decimals)
        for value, hides in zip(values.tolist(), hidden.tolist(), strict=True)
    )
    return pa.array(told, pa.decimal128(_MOST_DIGITS, decimals))


def _shape(data: Mapping[str, Any]) -> tuple[tuple[Dimension, ...], str, int]:
    read = fields(data, "a table", dimensions=list, figure=str, decimals=int)
    return tuple(map(_side, read["dimensions"])), read["figure"], read["decimals"]


def _side(data: object) -> Dimension:
    read = fields(data, "a dimension", name=str, codes=list, parents=list)
    parents: Sequence[object] = read["parents"]
    if not all(type(parent) is int for parent in parents):
        raise BadInput("a dimension: parents must be whole numbers.")
    return Dimension(read["name"], texts(read["codes"], "codes"), tuple(parents))  # type: ignore[arg-type]  # just seen
