"""Published table: printed and hidden figures as rows, and read back from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.core.document import fields, texts
from discreet.core.markup import Markup, markup
from discreet.core.release import Release, with_rows
from discreet.errors import BadInput, DataError
from discreet.verbs.tabulate.printing.html import headed, laid_out
from discreet.verbs.tabulate.tables.cells import Cells, alike, shared
from discreet.verbs.tabulate.tables.crosstable import COUNT, HIDDEN, CrossTable, Dimension, Numbers, require_names

_MOST_DIGITS = 38


@dataclass(frozen=True, eq=False)
class PublishedTable:
    """What anyone sees: the tables, and of each cell whether its figure is printed. Hidden figures are 0 here."""

    tables: tuple[CrossTable, ...]
    hidden: tuple[Numbers, ...]
    """For each table, of its shape: bool."""

    def __post_init__(self) -> None:
        for table in self.tables:
            require_names(self.sides, table.what)

    @classmethod
    def of(cls, cells: Cells, values: Numbers, hidden: Numbers) -> PublishedTable:
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
        it is hidden. A cell that several tables share is there once, under its codes in the first of them."""
        places, values = shared(self.tables)
        tops = {side.name: side.codes[0] for table in reversed(self.tables) for side in table.dimensions}
        codes = {name: np.full(len(values), tops[name], dtype=object) for name in self.sides}
        hidden = np.zeros(len(values), bool)
        for table, mask, place in reversed(list(zip(self.tables, self.hidden, places, strict=True))):
            hidden[place] = mask.ravel()
            for axis, side in enumerate(table.dimensions):
                along = np.arange(len(side)).reshape([-1 if other == axis else 1 for other in range(len(table.shape))])
                codes[side.name][place] = np.array(side.codes, dtype=object)[
                    np.broadcast_to(along, table.shape).ravel()
                ]
        name = self.tables[0].what or COUNT
        figures = {name: _figures(values, hidden, self.tables[0].decimals), HIDDEN: pa.array(hidden)}
        sides: dict[str, Any] = {side: pa.array(column, pa.string()) for side, column in codes.items()}
        return pa.table(sides | figures)

    def html(self) -> Markup:
        """The tables as people read them."""
        tables = zip(self.tables, self.hidden, strict=True)
        return markup(headed(table, laid_out(table, hidden), len(self.tables)) for table, hidden in tables)

    def structure(self) -> list[dict[str, Any]]:
        """What a recipe says of the tables: their sides, codes and totals, what was added up, and how exactly."""
        return [
            {
                "dimensions": [
                    {"name": side.name, "codes": list(side.codes), "parents": list(side.parents)}
                    | ({"aliases": [list(pair) for pair in side.aliases.items()]} if side.aliases else {})
                    for side in table.dimensions
                ],
                "figure": table.what,
                "decimals": table.decimals,
            }
            for table in self.tables
        ]

    @classmethod
    def read(cls, release: Release[pa.Table]) -> PublishedTable:
        """What was released, from its rows and recipe."""
        release = with_rows(release)
        tables = release.recipe.parameters.get("tables")
        if not isinstance(tables, list) or not tables or not isinstance(release.payload, pa.Table):
            raise BadInput("This is not the release of a table.", hint="Use a folder that `discreet tabulate` wrote.")
        shapes = [_shape(one) for one in tables]
        name = shapes[0][1] or COUNT
        sides = [side for dimensions, _, _ in shapes for side in dimensions]
        same = alike(sides)
        strange = [column for column in (*same, name, HIDDEN) if column not in release.payload.column_names]
        if strange:
            raise DataError(f"The release has no column {strange[0]!r}, which its recipe names.")
        figure: list[Any] = release.payload.column(name).to_pylist()
        hides = release.payload.column(HIDDEN).to_pylist()
        columns = {one: [same[one].get(str(code)) for code in release.payload.column(one).to_pylist()] for one in same}
        found: dict[tuple[int | None, ...], int] = {
            key: row for row, key in enumerate(zip(*columns.values(), strict=True))
        }
        made, masks = [], []
        for dimensions, what, decimals in shapes:
            blank = CrossTable(dimensions, np.zeros(tuple(map(len, dimensions)), np.int64), what, decimals)
            values, hidden = np.zeros(blank.size, np.int64), np.zeros(blank.size, bool)
            for cell in range(blank.size):
                codes = dict(zip((side.name for side in dimensions), blank.codes(cell), strict=True))
                row = found.get(tuple(same[one][codes[one]] if one in codes else 0 for one in columns))
                if row is None:
                    raise DataError(f"The cell {', '.join(codes.values())} is missing from the release.")
                hidden[cell] = hides[row]
                values[cell] = 0 if figure[row] is None else int(Decimal(figure[row]).scaleb(decimals))
            made.append(CrossTable(dimensions, values.reshape(blank.shape), what, decimals))
            masks.append(hidden.reshape(blank.shape))
        return cls(tuple(made), tuple(masks))


def _figures(values: Numbers, hidden: Numbers, decimals: int) -> pa.Array[Any]:
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
    known = {"aliases": [], **data} if isinstance(data, Mapping) else data
    read = fields(known, "a dimension", name=str, codes=list, parents=list, aliases=list)
    parents: Sequence[object] = read["parents"]
    if not all(type(parent) is int for parent in parents):
        raise BadInput("a dimension: parents must be whole numbers.")
    pairs = [texts(pair, "aliases") if isinstance(pair, list) else () for pair in read["aliases"]]
    if any(len(pair) != 2 for pair in pairs):
        raise BadInput("a dimension: aliases must be pairs of texts.")
    return Dimension(read["name"], texts(read["codes"], "codes"), tuple(parents), dict(pairs))  # type: ignore[arg-type]  # just seen
