"""Codes of a table's dimensions, from the card and from the values that occur in the rows."""

from __future__ import annotations

import datetime as dt
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from math import isnan
from typing import Any

import numpy as np
import pyarrow as pa
from sqlglot import exp

from discreet.core import sql
from discreet.core.card import Column, Role
from discreet.core.hierarchy.hierarchy import apply, codes
from discreet.core.hierarchy.ordered import Ordered
from discreet.core.hierarchy.taxonomy import Taxonomy
from discreet.core.kind import ORDERED, Kind
from discreet.core.table import Table, require_known
from discreet.errors import BadInput, NotDeclared
from discreet.verbs.tabulate.tables.crosstable import TOTAL, Dimension, Numbers


@dataclass(frozen=True)
class Side:
    """A column, the codes it has in the table, and how they are found on the engine."""

    column: Column
    dimension: Dimension
    places: Mapping[int, Mapping[str, int]]
    """For each level worth grouping by, the finest first, the place of each of its codes; what is left out there is
    the same as one of its parts."""
    missing: str
    """The code of rows that have no value."""

    @property
    def levels(self) -> tuple[int | None, ...]:
        """The levels worth grouping by, the finest first; ``None`` is the total of all."""
        whole = (None,) if len(self.dimension) > 1 else ()
        return (*self.places, *whole)

    def at(self, level: int) -> exp.Expr:
        """The expression that gives a row's code on a level."""
        return _at(self.column, level)

    def find(self, level: int, found: pa.ChunkedArray[Any]) -> Numbers:
        """The places of codes as they came from the engine; -1 for those that are left out."""
        distinct: Any = found.combine_chunks()
        distinct = distinct.dictionary_encode(null_encoding="encode")
        known = self.places[level]
        places = [known.get(code_of(code, self.missing), -1) for code in distinct.dictionary.to_pylist()]
        found_at: Numbers = np.array(places, np.int64)[distinct.indices.to_numpy(zero_copy_only=False)]
        return found_at


def side(table: Table, asked: str, *, declared: bool = False) -> Side:
    """The side that ``asked`` names: a column, or ``column@level`` to begin at a level of its hierarchy.

    Its codes are those that occur, in the order in which they are declared, or else sorted; with ``declared`` also
    those categories and codes of its hierarchy that no one has. Rows without a value have a code of their own. Labels
    with a single part, and labels that only repeat the one below, are left out.
    """
    column, start = _asked(table, asked)
    levels = range(start, column.hierarchy.height if column.hierarchy else 1)
    if levels[-1] > 0:
        require_known(table, [column.name])
    found = _paths(table, column, levels, declared=declared)
    labels = {label for path in found for label in path if label is not None}
    missing = _free(("missing", "(missing)", f"{column.name} is missing"), labels)
    paths = [tuple(missing if label is None else label for label in path) for path in found]
    total = _free((TOTAL, "All", f"{TOTAL} of {column.name}"), {*labels, missing})
    dimension = Dimension.from_paths(column.name, paths, total)
    for path in paths:
        if path[0] not in dimension.places or dimension.parts[dimension.places[path[0]]]:
            raise BadInput(
                f"{path[0]!r} is both a value of {column.name} and the name of a group of its values.",
                hint="Give the group another name in the hierarchy.",
            )
    return Side(column, dimension, _worth(paths, levels, dimension), missing)


def _asked(table: Table, asked: str) -> tuple[Column, int]:
    name, _, level = (asked, "", "") if asked in table.card else asked.rpartition("@")
    column = table.card[name or asked]
    if column.role is Role.IDENTIFIER:
        raise BadInput(f"{column.name} is an identifier: a table by it is not allowed.")
    if column.name == table.card.unit:
        raise BadInput(f"{column.name} is the unit: a table by it is not allowed.", hint="Leave it out.")
    if not level:
        _require_declared(column)
        return column, 0
    top = column.hierarchy.height if column.hierarchy else 1
    if not level.isdecimal() or int(level) >= top:
        known = f"levels 0 to {top - 1} of its hierarchy" if top > 1 else "its values, without a level"
        raise BadInput(f"{column.name} cannot start at {level!r}; choose from {known}.")
    if not int(level):
        _require_declared(column)
    return column, int(level)


def _require_declared(column: Column) -> None:
    """What intruders want to learn is not taken from the rows to be printed as a code."""
    known = column.categories is not None or column.kind is Kind.BOOLEAN
    if column.role is Role.SENSITIVE and not known and not isinstance(column.hierarchy, Taxonomy | Ordered):
        raise NotDeclared(
            f"{column.name} is sensitive and its values are not declared: they would be published as codes.",
            hint=f"Declare its categories or a taxonomy, or start at a level of its hierarchy: {column.name}@1.",
        )


def _at(column: Column, level: int) -> exp.Expr:
    value = sql.column(column.name)
    return apply(column.hierarchy, value, level, column.kind) if column.hierarchy else value


def _paths(table: Table, column: Column, levels: range, *, declared: bool) -> list[tuple[str | None, ...]]:
    """The labels upwards of each distinct code, in the order the codes shall have."""
    names = [f"level_{level}" for level in levels]
    labelled = [sql.named(_at(column, level), name) for level, name in zip(levels, names, strict=True)]
    by_value = levels[0] > 0 and column.kind in ORDERED
    rows = table.query(*labelled, *([sql.named(sql.column(column.name), "least")] if by_value else []))
    least = [sql.named(exp.Min(this=sql.column("least")), "least")] if by_value else []
    keys = [sql.column(name) for name in names]
    query = exp.select(*keys, *least).from_(rows.subquery("r")).group_by(*(key.copy() for key in keys))
    fetched = table.engine.fetch(query)
    values = fetched.column("least" if by_value else names[0]).to_pylist()
    paths = list(zip(*(map(code_of, fetched.column(name).to_pylist()) for name in names), strict=True))
    if declared:
        there = set(paths)
        more = {path: value for path, value in _nobody_has(column, levels).items() if path not in there}
        paths += more
        values += more.values() if by_value else [path[0] for path in more]
    listed = _declared(column, levels[0])

    def order(place: int) -> tuple[Any, ...]:
        value, label = values[place], paths[place][0]
        if label is None:
            return (2, 0, 0, "")
        if label in listed:
            return (0, listed[label], 0, "")
        odd = isinstance(value, float) and isnan(value)
        return (1, odd, 0 if odd or isinstance(value, str) else value, label)

    return [paths[place] for place in sorted(range(len(paths)), key=order)]


def _nobody_has(column: Column, levels: range) -> dict[tuple[str, ...], Any]:
    """The labels upwards of every declared value, and the least value that has them."""
    listed: Sequence[Any] = column.categories or ()
    if isinstance(column.hierarchy, Taxonomy):
        listed = column.hierarchy.leaves
    elif isinstance(column.hierarchy, Ordered):
        listed = column.hierarchy.order
    found: dict[tuple[str, ...], Any] = {}
    upwards = [[code_of(value)] for value in listed]
    if column.hierarchy is not None and listed:
        known = codes(column.hierarchy, column.kind, pa.array(listed))
        for labels, places in zip(known.labels[1:-1], known.codes[1:-1], strict=True):
            for path, place in zip(upwards, places.tolist(), strict=True):
                path.append(code_of(labels[place].as_py()))
    for value, path in zip(listed, upwards, strict=True):
        labels_here = tuple(path[level] for level in levels)
        found[labels_here] = min(found.get(labels_here, value), value)
    return found


def _declared(column: Column, level: int) -> dict[str, int]:
    """Where the labels of a level stand in the order that the card declares, if it does."""
    listed: Sequence[Any] = ()
    if isinstance(column.hierarchy, Taxonomy):
        listed = [path[level] for path in column.hierarchy.paths]
    elif isinstance(column.hierarchy, Ordered):
        order = pa.array([str(item) for item in column.hierarchy.order])
        listed = codes(column.hierarchy, Kind.TEXT, order).labels[level].to_pylist()
    elif level == 0 and column.categories is not None:
        listed = column.categories
    places: dict[str, int] = {}
    for label in listed:
        places.setdefault(code_of(label, ""), len(places))
    return places


def _worth(paths: Sequence[Sequence[str]], levels: range, dimension: Dimension) -> dict[int, dict[str, int]]:
    """For each level that has codes no finer one has, the places of its codes."""
    found: dict[int, dict[str, int]] = {}
    seen: set[str] = set()
    for place, level in enumerate(levels):
        here = {path[place]: dimension.places[path[place]] for path in paths if path[place] in dimension.places}
        if not here.keys() <= seen:
            found[level] = here
            seen |= here.keys()
    return found


def code_of(value: Any, missing: Any = None) -> Any:
    """A value as the code of a table; ``missing`` if there is none."""
    if value is None:
        return missing
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dt.datetime):
        return value.isoformat(sep=" ")
    if isinstance(value, Decimal):
        return f"{value:f}"
    return value if isinstance(value, str) else str(value)


def _free(names: Sequence[str], taken: Container[str]) -> str:
    for name in names:
        if name not in taken:
            return name
    raise BadInput(f"{', '.join(map(repr, names))} are already codes.", hint="Give one of them another name.")
