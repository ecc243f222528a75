"""Cells and their additivity relations, whatever tables they came from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from discreet.core.text import number
from discreet.errors import BadInput, DataError
from discreet.verbs.attack.intruder.sparse import sparse
from discreet.verbs.tabulate.tables.crosstable import CrossTable, Dimension, Numbers, written

_SHOWN = 10


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells of one table, or of several that share some.

    A relation says that a total is the sum of its parts: ``relations @ values == 0`` with 1 for the total and -1 for
    each part. ``lower`` and ``upper`` are what everyone knows of each cell before the table is printed.
    """

    values: Numbers
    """int64, in whole units of 10 to the power of minus ``decimals``."""
    relations: Any
    """A ``scipy.sparse.csr_array`` of int8: a row a relation, a column a cell."""
    lower: Numbers
    upper: Numbers
    """float64, infinite where nothing is known."""
    tables: tuple[CrossTable, ...] = field(repr=False)
    places: tuple[Numbers, ...] = field(repr=False)
    """For each table the cell that each of its places, flattened, is."""
    decimals: int = 0

    @classmethod
    def of(cls, *tables: CrossTable) -> Cells:
        """The cells of these tables. What has the same codes in two tables, totals of all left out, is one cell; so is
        a total that one of them leaves out for its single part, and this part."""
        if len({table.decimals for table in tables}) != 1:
            raise BadInput("Linked tables need figures with the same number of decimals.")
        places, values = shared(tables)
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

    def knowing(self, lower: Numbers, upper: Numbers) -> Cells:
        """The same cells if everyone knows these bounds, which must hold."""
        if ((self.values < lower) | (self.values > upper)).any():
            raise BadInput("A cell is outside its declared public bounds.")
        return replace(self, lower=np.asarray(lower, np.float64), upper=np.asarray(upper, np.float64))

    @cached_property
    def homes(self) -> tuple[Numbers, Numbers]:
        """For each cell a table it is in, and its place there."""
        table = np.zeros(len(self), np.int64)
        place = np.zeros(len(self), np.int64)
        for which, places in reversed(list(enumerate(self.places))):
            table[places] = which
            place[places] = np.arange(len(places))
        return table, place

    @cached_property
    def counts(self) -> Numbers | None:
        """How many respondents each cell has, if that is known."""
        found = np.zeros(len(self), np.float64)
        for table, place in zip(self.tables, self.places, strict=True):
            if table.contributions is None:
                return None
            found[place] = table.contributions.counts.ravel()
        return found

    @property
    def has_empty_codes(self) -> bool:
        """Whether there are codes that no one has: then all declared ones are in the tables, else those that occur."""
        for table in self.tables:
            for axis in range(len(table.shape)):
                along = tuple(slice(1, None) if other == axis else 0 for other in range(len(table.shape)))
                if table.contributions is not None and (table.contributions.counts[along] == 0).any():
                    return True
        return False

    def name(self, cell: int) -> str:
        """What a cell is called: its codes."""
        table, place = self.homes
        return ", ".join(self.tables[int(table[cell])].codes(int(place[cell])))

    def broken(self) -> Numbers:
        """The relations that do not hold."""
        return np.flatnonzero(self.relations.astype(np.int64) @ self.values)


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


def alike(sides: Sequence[Dimension]) -> dict[str, dict[str, int]]:
    """For each name of a side a number for every code and alias there: the same for what is the same, 0 for the total.

    A total that one table leaves out for its single part may be a code of another, which begins at a coarser level:
    they are one figure. Where some table has both, its relations say what they have to do with each other.
    """
    found: dict[str, dict[str, int]] = {}
    for name in dict.fromkeys(side.name for side in sides):
        here = [side for side in sides if side.name == name]
        same = {code: code for side in here for code in (*side.codes, *side.aliases)}

        def first(code: str, same: dict[str, str] = same) -> str:
            while same[code] != code:
                code = same[code]
            return code

        for label, code in (pair for side in here for pair in side.aliases.items()):
            if not any(label in side.places and code in side.places for side in here):
                same[first(label)] = first(code)
        tops = {first(side.codes[0]): side.codes[0] for side in here}
        if len(tops) > 1:
            called = " and ".join(map(repr, tops.values()))
            raise BadInput(
                f"Linked tables need one name for the total of {name}; it is called {called}.",
                hint="Name the total of each table (total=…), and use the same codes of a dimension in every table.",
            )
        numbers = dict.fromkeys([*tops, *map(first, same)])
        places = {code: number for number, code in enumerate(numbers)}
        found[name] = {code: places[first(code)] for code in same}
        if any(len({found[name][code] for code in side.codes}) < len(side) for side in here):
            raise BadInput(f"The tables do not agree on which codes of {name} are the same.")
    return found


def shared(tables: Sequence[CrossTable]) -> tuple[tuple[Numbers, ...], Numbers]:
    """For each table the cell each of its places is, and the cells' values; an error if a shared cell has two."""
    if len(tables) == 1:
        return (np.arange(tables[0].size),), tables[0].values.ravel()
    ends = np.cumsum([table.size for table in tables])
    keys = np.zeros(ends[-1], np.int64)
    for name, numbers in alike([side for table in tables for side in table.dimensions]).items():
        along = np.concatenate([_along(table, name, numbers) for table in tables])
        _, keys = np.unique(keys, return_inverse=True)  # so that the next product fits 64 bits
        keys = keys * len(numbers) + along
    _, first, cell = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(first)
    number = np.empty(len(order), np.int64)
    number[order] = np.arange(len(order))
    figures = np.concatenate([table.values.ravel() for table in tables])
    odd = np.flatnonzero(figures != figures[first[cell]])
    if len(odd):
        which = int(np.searchsorted(ends, odd[0], side="right"))
        table = tables[which]
        raise BadInput(
            "The tables share the cell "
            f"{', '.join(table.codes(int(odd[0]) - int(ends[which]) + table.size))} and give "
            f"it different figures: {table.written(figures[first[cell[odd[0]]]])} and "
            f"{table.written(figures[odd[0]])}."
        )
    return tuple(np.split(number[cell], ends[:-1])), figures[first[order]]


def _along(table: CrossTable, name: str, numbers: Mapping[str, int]) -> Numbers:
    """For each cell of a table the number of its code on a side, or of the total if the table is not over it."""
    for axis, side in enumerate(table.dimensions):
        if side.name == name:
            codes = np.array([numbers[code] for code in side.codes], np.int64)
            shape = [-1 if other == axis else 1 for other in range(len(table.shape))]
            return np.broadcast_to(codes.reshape(shape), table.shape).ravel()
    return np.zeros(table.size, np.int64)


def _distinct(relations: Any) -> Any:
    """Each relation once: tables that share cells share relations too."""
    relations.sort_indices()
    seen: dict[tuple[bytes, bytes], int] = {}
    for row in range(relations.shape[0]):
        span = slice(relations.indptr[row], relations.indptr[row + 1])
        seen.setdefault((relations.indices[span].tobytes(), relations.data[span].tobytes()), row)
    return relations[list(seen.values())]


def require_additive(cells: Cells, printed: Numbers | None = None, *, rounded: bool = False) -> None:
    """Raise an error that lists the totals that are not the sum of their parts, if there are any.

    Only totals that were ``printed`` are looked at, all by default. That is enough if the others follow from the inner
    cells: then, from below upwards, every printed total does too. ``rounded``: each figure may be off by half a unit.
    """
    printed = np.ones(len(cells), bool) if printed is None else printed
    relations = cells.relations
    off = relations.astype(np.int64) @ cells.values
    totals = relations.indices[relations.data == 1]
    allowed = np.diff(relations.indptr) if rounded else 0
    broken = np.flatnonzero((np.abs(off) * 2 > allowed) & printed[totals])
    if not len(broken):
        return
    lines = []
    for relation in broken[:_SHOWN].tolist():
        total, parts = int(totals[relation]), relations.indices[slice(*relations.indptr[relation : relation + 2])]
        absent = int((~printed[parts]).sum())
        figure = int(cells.values[total])
        lines.append(
            f"\n  {_name(cells, total, parts)}: {written(figure, cells.decimals)} is given, its parts "
            f"{f'({absent:,} of them not in the table) ' if absent else ''}add up to "
            f"{written(figure - int(off[relation]), cells.decimals)}"
        )
    more = f"\n  and {len(broken) - _SHOWN:,} more" if len(broken) > _SHOWN else ""
    raise DataError(
        f"The table does not add up, in {number(len(broken), 'place')}:{''.join(lines)}{more}",
        hint="\nCorrect the table or the hierarchy. If figures were rounded one by one, set rounded: totals "
        "are then recomputed.",
    )


def _name(cells: Cells, total: int, parts: Numbers) -> str:
    """A total by its codes and the side along which it is one."""
    table, place = cells.homes
    home = cells.tables[int(table[total])]
    part = next(int(one) for one in parts if one != total)
    if int(table[part]) != int(table[total]):
        return cells.name(total)
    codes, others = (home.codes(int(place[cell])) for cell in (total, part))
    sides = [side.name for side, code, other in zip(home.dimensions, codes, others, strict=True) if code != other]
    return f"{', '.join(codes)} (over {sides[0]})" if len(home.dimensions) > 1 else codes[0]
