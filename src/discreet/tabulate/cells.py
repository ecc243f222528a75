"""Cells and the relations between them: all that protecting a table works on, whatever tables they came from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from discreet.errors import BadInput
from discreet.tabulate.crosstable import CrossTable
from discreet.tabulate.dimension import Dimension
from discreet.tabulate.parts import sparse

_Numbers = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells of one table, or of several that share some.

    A relation says that a total is the sum of its parts: ``relations @ values == 0`` with 1 for the total and -1 for
    each part. ``lower`` and ``upper`` are what everybody knows of each cell before the table is printed.
    """

    values: _Numbers
    """int64, in whole units of 10 to the power of minus ``decimals``."""
    relations: Any
    """A ``scipy.sparse.csr_array`` of int8: a row a relation, a column a cell."""
    lower: _Numbers
    upper: _Numbers
    """float64, infinite where nothing is known."""
    tables: tuple[CrossTable, ...] = field(repr=False)
    places: tuple[_Numbers, ...] = field(repr=False)
    """For each table the cell that each of its places, flattened, is."""
    decimals: int = 0

    @classmethod
    def of(cls, *tables: CrossTable) -> Cells:
        """The cells of these tables. What has the same codes in two tables, totals of all left out, is one cell."""
        if len({table.decimals for table in tables}) != 1:
            raise BadInput("Linked tables need figures with the same number of decimals.")
        places, values = _shared(tables)
        blocks = [
            sparse().csr_array((one.data, place[one.indices], one.indptr), shape=(one.shape[0], len(values)))
            for one, place in zip(map(_relations, tables), places, strict=True)
        ]
        least = 0.0 if values.min(initial=0) >= 0 else -np.inf
        return cls(
            values,
            _distinct(sparse().vstack(blocks, format="csr")) if len(blocks) > 1 else blocks[0],
            np.full(len(values), least),
            np.full(len(values), np.inf),
            tables,
            places,
            tables[0].decimals,
        )

    def __len__(self) -> int:
        return len(self.values)

    def knowing(self, lower: _Numbers, upper: _Numbers) -> Cells:
        """The same cells if everybody knows these bounds, which must hold."""
        if ((self.values < lower) | (self.values > upper)).any():
            raise BadInput("A cell is outside the bounds that everybody is said to know.")
        return replace(self, lower=np.asarray(lower, np.float64), upper=np.asarray(upper, np.float64))

    @cached_property
    def homes(self) -> tuple[_Numbers, _Numbers]:
        """For each cell a table it is in, and its place there."""
        table = np.zeros(len(self), np.int64)
        place = np.zeros(len(self), np.int64)
        for number in range(len(self.tables) - 1, -1, -1):
            where = self.places[number]
            table[where] = number
            place[where] = np.arange(len(where))
        return table, place

    @cached_property
    def counts(self) -> _Numbers | None:
        """How many respondents each cell has, if that is known."""
        found = np.zeros(len(self), np.float64)
        for table, place in zip(self.tables, self.places, strict=True):
            if table.contributions is None:
                return None
            found[place] = table.contributions.counts.ravel()
        return found

    def name(self, cell: int) -> str:
        """What a cell is called: its codes."""
        table, place = self.homes
        return ", ".join(self.tables[int(table[cell])].codes(int(place[cell])))

    def broken(self) -> _Numbers:
        """The relations that do not hold."""
        return np.flatnonzero(self.relations.astype(np.int64) @ self.values)

    def total(self, relation: int) -> int:
        """The cell that a relation says is the sum of others."""
        span = slice(*self.relations.indptr[relation : relation + 2])
        return int(self.relations.indices[span][self.relations.data[span] > 0][0])


def sums(side: Dimension) -> Any:
    """The relations of one side as a matrix: a row for each code that has parts."""
    rows, columns, signs = [], [], []
    totals = [place for place, parts in enumerate(side.parts) if parts]
    for row, total in enumerate(totals):
        parts = side.parts[total]
        rows += [row] * (len(parts) + 1)
        columns += [total, *parts]
        signs += [1, *(-1 for _ in parts)]
    return sparse().csr_array((np.array(signs, np.int8), (rows, columns)), shape=(len(totals), len(side)))


def _relations(table: CrossTable) -> Any:
    """Every relation of a table: those of each side, for every combination of codes of the others."""
    lib = sparse()
    found = []
    for axis, side in enumerate(table.dimensions):
        before, after = (int(np.prod(part, dtype=np.int64)) for part in (table.shape[:axis], table.shape[axis + 1 :]))
        one = lib.kron(lib.eye_array(before, dtype=np.int8), sums(side), format="csr")
        found.append(lib.kron(one, lib.eye_array(after, dtype=np.int8), format="csr"))
    return lib.csr_array(lib.vstack(found, format="csr"), dtype=np.int8)


def _shared(tables: Sequence[CrossTable]) -> tuple[tuple[_Numbers, ...], _Numbers]:
    """For each table the cell each of its places is, and the cells' values; an error if a shared cell has two."""
    if len(tables) == 1:
        return (np.arange(tables[0].size),), tables[0].values.ravel()
    known: dict[frozenset[tuple[str, str]], int] = {}
    values: list[int] = []
    places = []
    for table in tables:
        place = np.empty(table.size, np.int64)
        for flat, value in enumerate(table.values.ravel().tolist()):
            codes = zip(table.dimensions, table.codes(flat), strict=True)
            key = frozenset((side.name, code) for side, code in codes if code != side.codes[0])
            cell = known.setdefault(key, len(values))
            if cell == len(values):
                values.append(value)
            elif values[cell] != value:
                raise BadInput(
                    f"The tables share the cell {', '.join(table.codes(flat))} and give it different figures: "
                    f"{table.written(values[cell])} and {table.written(value)}."
                )
            place[flat] = cell
        places.append(place)
    return tuple(places), np.array(values, np.int64)


def _distinct(relations: Any) -> Any:
    """Each relation once: tables that share cells share relations too."""
    relations.sort_indices()
    seen: dict[tuple[bytes, bytes], int] = {}
    for row in range(relations.shape[0]):
        span = slice(relations.indptr[row], relations.indptr[row + 1])
        seen.setdefault((relations.indices[span].tobytes(), relations.data[span].tobytes()), row)
    return relations[list(seen.values())]
