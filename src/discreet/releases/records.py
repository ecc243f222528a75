"""Records: everyone that the figures of a release tell of, with their key, their group and what is told of them.

Which person is which: the card's unit, if no one has two rows; else a digest of the row's content, with the unit if
there is one. Rows alike are interchangeable.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from discreet.core import sql
from discreet.core.card import Role
from discreet.core.programs import Numbers
from discreet.core.table import Table
from discreet.errors import DataError
from discreet.releases.facts import FactSide, Figures

_ROUNDING = 1e-6
_ESCAPES = (("\x1e", "\x1e0"), ("\x1f", "\x1e1"))
_MISSING = "\x1en"


class Ambiguous(Exception):
    """Rows that cannot be told apart belong to different groups, so that no one can say who is in which."""


@dataclass(frozen=True, eq=False)
class Told:
    """The figures of one release about the people of a space."""

    number: int
    """Line in the register; 0 for a release that has not left."""
    title: str
    group: Numbers
    """For every atom the leaf group that its people are in; -1 if the release does not tell of them."""
    tells: tuple[str, ...]
    domain: tuple[tuple[str | None, ...], ...]
    """Combinations of values that occur among those it tells of."""
    leaf: Numbers
    """For each of these, the leaf of the figures it belongs to."""
    leaves: int
    """How many leaves the sides that tell have together; a figure's place is group * leaves + leaf."""
    starts: Numbers
    places: Numbers
    """For each figure the places it adds up: ``places[starts[i]:starts[i + 1]]``."""
    low: Numbers
    high: Numbers
    possible: Numbers
    """Places that are not known to be empty, ascending."""
    measure: str = ""
    nonnegative: bool = True
    share: str = ""

    @property
    def exact(self) -> bool:
        """Whether it is known how many people there are in every place."""
        single = (np.diff(self.starts) == 1) & (self.low == self.high)
        return bool(np.isin(self.possible, self.places[self.starts[:-1][single]]).all())

    def says_as_much(self, other: Told) -> bool:
        """Whether another has these very figures."""
        pairs = ((getattr(self, name), getattr(other, name)) for name in ("starts", "places", "low", "high"))
        return self.tells == other.tells and all(np.array_equal(one, more) for one, more in pairs)

    def at(self, atoms: Numbers) -> Told:
        """The same figures for other atoms, of which each was (part of) one of these, or -1."""
        return replace(self, group=np.where(atoms >= 0, self.group[np.maximum(atoms, 0)], -1))


@dataclass(frozen=True, eq=False)
class Records:
    """The people of a new release: their keys, leaf groups, leaf values and told values."""

    key: Any
    unit: Any
    copies: Numbers
    group: Numbers
    leaf: Numbers
    values: Mapping[str, Any]
    amounts: Numbers | None
    by: tuple[str, ...]
    occurring: tuple[tuple[Sequence[Any], Numbers], ...] = ()
    """For each telling side the values that occur in the source, and the leaf of each; -1 for none. Of figures that are
    not complete."""


@dataclass(frozen=True, eq=False)
class Answered:
    """Sums of a measure that were answered exactly, with the group of everyone: what query auditing knows."""

    measure: str
    unit: Any
    """Unit of each row."""
    group: Numbers
    """Group of each row; -1 for none."""
    amounts: Numbers
    sums: Numbers
    """Sum of each group, as it was answered."""
    nonnegative: bool = True

    @property
    def tells(self) -> tuple[str, ...]:
        """The measure."""
        return (self.measure,)

    def records(self, unit: str) -> tuple[Records, Told]:
        """The rows, each someone's own; ``Ambiguous`` if someone has two."""
        here = np.flatnonzero(self.group >= 0)
        who = self.unit.take(pa.array(here))
        if who.null_count or len(pc.unique(who)) < len(here):
            raise Ambiguous
        none, count = np.zeros(len(here), np.int64), len(self.sums)
        records = Records(who.cast(pa.string()), who, none + 1, self.group[here], none, {}, self.amounts[here], (unit,))
        places = np.arange(count)
        measure = f"{self.measure} in 10^-0"
        starts, sums = np.arange(count + 1), self.sums
        told = Told(
            0, "", none[:0], (), ((),), none[:1], 1, starts, places, sums, sums, places, measure, self.nonnegative
        )
        return records, told


@dataclass(frozen=True, eq=False)
class Recorded:
    """Figures as a register kept them, with the people they tell of."""

    people: Records
    told: Told
    stable: tuple[Records, Told] | None = None
    """The same of the columns that never change."""

    @property
    def tells(self) -> tuple[str, ...]:
        """The columns that it tells of, or the measure."""
        return (*self.told.tells, *([self.told.measure] if self.told.measure else []))

    def records(self, unit: str) -> tuple[Records, Told]:  # whatever the unit is called
        """The people and the figures."""
        return self.people, self.told


def fetch_records(figures: Figures, by: Sequence[str] = ()) -> Records:
    """Everyone that figures tell of, by one GROUP BY on the engine, told apart ``by`` columns as they were before."""
    rows, card = figures.rows, figures.rows.card
    known = [side for side in figures.sides if not side.tells]
    telling = [side for side in figures.sides if side.tells]
    if not all(name in card for name in by):
        raise Ambiguous("earlier releases distinguished rows by columns that are missing, so people cannot be matched")
    by = tuple(by) or key_columns(rows)
    shown: dict[str, exp.Expr] = {f"key_{place}": sql.column(name) for place, name in enumerate(by)}
    if card.unit is not None:
        shown["unit"] = sql.column(card.unit)
    for number, side in enumerate((*known, *telling)):
        shown |= {f"label_{number}_{place}": label.copy() for place, label in enumerate(side.labels)}
    told = tuple(dict.fromkeys(name for side in telling for name in side.tells))
    shown |= {f"told_{place}": sql.column(name) for place, name in enumerate(told)}
    if figures.amount is not None:
        shown["amount"] = figures.amount.copy()
    inner = rows.query(*(sql.named(value, name) for name, value in shown.items()))
    keys = [sql.column(name) for name in shown]
    counted = sql.named(exp.cast(sql.count_rows(), exp.DType.BIGINT), "copies")
    fetched = rows.engine.fetch(
        exp.select(*keys, counted).from_(inner.subquery("r")).group_by(*(key.copy() for key in keys))
    )
    leaves = [
        side.find([fetched.column(f"label_{number}_{place}") for place in range(len(side.labels))])
        for number, side in enumerate((*known, *telling))
    ]
    if any((leaf < 0).any() for leaf in leaves):
        raise DataError("The release was not made from these rows: some are in none of its groups.")
    unit = array_of(fetched, "unit") if card.unit is not None else pa.nulls(fetched.num_rows)
    single = by == (card.unit,)
    key = array_of(fetched, "key_0") if single else _digests([array_of(fetched, f"key_{n}") for n in range(len(by))])
    found = Records(
        key.cast(pa.string()) if single else key,
        unit,
        np.asarray(fetched.column("copies").to_numpy(), np.int64),
        mixed([side.leaves for side in known], leaves[: len(known)], fetched.num_rows),
        mixed([side.leaves for side in telling], leaves[len(known) :], fetched.num_rows),
        {name: texts(array_of(fetched, f"told_{place}")) for place, name in enumerate(told)},
        None if figures.amount is None else np.asarray(fetched.column("amount").to_numpy(), np.float64),
        by,
        () if figures.complete else tuple(_occurring(rows, side) for side in telling),
    )
    if len(pc.unique(found.key)) < len(found.key):
        raise Ambiguous
    return found


def _occurring(rows: Table, side: FactSide) -> tuple[Sequence[Any], Numbers]:
    """The values of a side's columns that occur in the source of some rows, and the leaf of each.

    A leaf of several values does not tell which of them occur among the rows of a release, even if only one does.
    """
    told, labels = (
        [sql.named(value.copy(), f"{name}_{place}") for place, value in enumerate(values)]
        for name, values in (("told", map(sql.column, side.tells)), ("label", side.labels))
    )
    columns, leaves = [], []
    for source in filter(None, (rows.relation, rows.whole)):  # columns may have been recoded since
        fetched = rows.engine.fetch(exp.select(*told, *labels).from_(source.subquery("t")).distinct())
        columns.append([texts(array_of(fetched, f"told_{place}")) for place in range(len(told))])
        leaves.append(side.find([fetched.column(f"label_{place}") for place in range(len(labels))]))
    return [pa.concat_arrays(parts) for parts in zip(*columns, strict=True)], np.concatenate(leaves)


def all_keys(rows: Table, by: Sequence[str]) -> Any:
    """The keys of all rows of the source that some rows were chosen from, by columns as they were before the choice."""
    keys = [sql.named(sql.column(name), f"key_{place}") for place, name in enumerate(by)]
    fetched = rows.engine.fetch(exp.select(*keys).from_((rows.whole or rows.relation).subquery("t")).distinct())
    columns = [array_of(fetched, f"key_{place}") for place in range(len(by))]
    return columns[0].cast(pa.string()) if by == (rows.card.unit,) else _digests(columns)


def key_columns(rows: Table) -> tuple[str, ...]:
    """The columns that say which record is which: the unit, if it does, or all but identifiers.

    Where people may have several rows the unit alone never does: of some of the rows it may, and of all of them not.
    """
    card = rows.card
    if card.unit is not None and (card.rows_per_unit or 1) == 1:
        figures = rows.query(
            sql.named(sql.count_rows(), "n"),
            sql.named(exp.Count(this=exp.Distinct(expressions=[sql.column(card.unit)])), "units"),
        )
        counted = rows.engine.fetch(figures).to_pylist()[0]
        if counted["n"] == counted["units"]:
            return (card.unit,)
    content = [one.name for one in card.columns if one.role is not Role.IDENTIFIER and one.name != card.unit]
    return (*([card.unit] if card.unit is not None else []), *content)


def told_by(figures: Figures, records: Records, title: str) -> Told:
    """What figures tell, before the people they tell of have atoms; an error if the rows say otherwise."""
    known = [place for place, side in enumerate(figures.sides) if not side.tells]
    telling = [place for place, side in enumerate(figures.sides) if side.tells]
    sides = [figures.sides[place] for place in (*known, *telling)]
    leaves = prod(figures.sides[place].leaves for place in telling)
    shape = [side.leaves for side in sides]
    codes = figures.codes[:, [*known, *telling]]
    single = np.stack(
        [np.array([len(cover) == 1 for cover in side.covers])[codes[:, n]] for n, side in enumerate(sides)], 1
    ).all(axis=1)
    if not figures.complete and (figures.low == figures.high)[single].all() and single.sum() == prod(shape):
        keep = np.flatnonzero(single)  # every inner cell is printed: totals say nothing more
    else:
        least = 0.0 if figures.nonnegative else -np.inf
        keep = np.flatnonzero((figures.low > least) | (figures.high < np.inf))
    starts, places = _places(sides, codes[keep], shape)
    low, high = figures.low[keep], figures.high[keep]
    amounts = records.copies if records.amounts is None else records.amounts * records.copies
    used, where = np.unique(np.concatenate([records.group * leaves + records.leaf, places]), return_inverse=True)
    sums = np.bincount(where[: len(amounts)], amounts, len(used))
    here = where[len(amounts) :]
    running = np.concatenate([[0.0], np.cumsum(sums[here])])
    truth = running[starts[1:]] - running[starts[:-1]]
    slack = _ROUNDING * np.maximum(1.0, np.abs(truth))
    if (truth < low - slack).any() or (truth > high + slack).any():
        raise DataError(
            f"{title} was not made from these rows: its figures differ.",
            hint="If the table changed meanwhile, try again.",
        )
    empty = places[starts[:-1][(np.diff(starts) == 1) & (high <= 0)]] if not figures.measure else places[:0]
    possible = np.unique(places) if figures.complete else np.setdiff1d(np.arange(prod(shape)), empty)
    names = tuple(records.values)
    columns = [records.values[name].dictionary_encode(null_encoding="encode") for name in names]
    combos, first = _combinations(columns, len(records.key))
    leaf = records.leaf[first]
    if not figures.complete and telling:  # what no one has may still be possible: a rounded 0, a hidden cell
        combos, leaf = _possible(sides[len(known) :], names, records, possible)
    return Told(
        0,
        title,
        np.empty(0, np.int64),
        names,
        combos,
        leaf,
        leaves,
        starts,
        places,
        low,
        high,
        possible,
        f"{figures.measure} in 10^-{figures.decimals}" if figures.measure else "",
        figures.nonnegative,
        str(figures.share or ""),
    )


def _possible(
    sides: Sequence[FactSide], names: Sequence[str], records: Records, possible: Numbers
) -> tuple[tuple[tuple[str | None, ...], ...], Numbers]:
    """Every combination of values that someone may have, and the leaf it belongs to: whatever goes together on the
    sides, as far as the figures allow."""
    shape = [side.leaves for side in sides]
    by_leaf: list[dict[int, list[dict[str, str | None]]]] = []
    for side, (columns, leaf) in zip(sides, records.occurring, strict=True):
        coded = [column.dictionary_encode(null_encoding="encode") for column in columns]
        combos, first = _combinations(coded, len(leaf))
        found: dict[int, list[dict[str, str | None]]] = {}
        for values, at in zip(combos, leaf[first].tolist(), strict=True):
            found.setdefault(at, []).append(dict(zip(side.tells, values, strict=True)))
        by_leaf.append(found)
    rows: dict[tuple[str | None, ...], int] = {}
    for number in np.unique(possible % prod(shape)).tolist():
        places = np.unravel_index(number, shape)
        for parts in product(*(found.get(int(at), ()) for found, at in zip(by_leaf, places, strict=True))):
            row = {name: value for part in parts for name, value in part.items()}
            if all(row[name] == value for part in parts for name, value in part.items()):
                rows[tuple(row[name] for name in names)] = number
    return tuple(rows), np.array(list(rows.values()), np.int64)


def _places(sides: Sequence[Any], codes: Numbers, shape: Sequence[int]) -> tuple[Numbers, Numbers]:
    """The places that each figure adds up."""
    firsts = [np.array([cover[0] for cover in side.covers]) for side in sides]
    counts = [np.array([len(cover) for cover in side.covers]) for side in sides]
    sizes = np.ones(len(codes), np.int64)
    flat = np.zeros(len(codes), np.int64)
    for n, size in enumerate(shape):
        sizes *= counts[n][codes[:, n]]
        flat = flat * size + firsts[n][codes[:, n]]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    places = np.empty(starts[-1], np.int64)
    places[starts[:-1][sizes == 1]] = flat[sizes == 1]
    for row in np.flatnonzero(sizes > 1).tolist():
        grid = np.zeros(1, np.int64)
        for n, size in enumerate(shape):
            grid = (grid[:, None] * size + sides[n].covers[codes[row, n]][None, :]).ravel()
        places[starts[row] : starts[row + 1]] = grid
    return starts, places


def mixed(sizes: Sequence[int], leaves: Sequence[Numbers], count: int) -> Numbers:
    """One number for a leaf on each of several sides."""
    found = np.zeros(count, np.int64)
    for size, leaf in zip(sizes, leaves, strict=True):
        found = found * size + leaf
    return found


def array_of(table: pa.Table, name: str) -> Any:
    column = table.column(name).combine_chunks()
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def texts(column: Any) -> Any:
    """Values as text, the same for equal values; missing ones stay missing."""
    if pa.types.is_string(column.type):
        return column
    coded = column.dictionary_encode(null_encoding="mask")
    names = pa.array([str(value) for value in coded.dictionary.to_pylist()], pa.string())
    return names.take(coded.indices)


def _digests(columns: Sequence[Any]) -> Any:
    """A digest of each row's content, the same for equal rows only."""
    parts: list[Any] = []
    for column in columns:
        part: Any = texts(column)
        for mark, escaped in _ESCAPES:
            part = pc.replace_substring(part, mark, escaped)
        parts.append(part.fill_null(_MISSING))
    joined = pc.binary_join_element_wise(*parts, "\x1f") if parts else pa.array([], pa.string())
    return pa.array(
        [hashlib.blake2b(str(one).encode(), digest_size=16).hexdigest() for one in joined.to_pylist()], pa.string()
    )


def _combinations(columns: Sequence[Any], count: int) -> tuple[tuple[tuple[str | None, ...], ...], Numbers]:
    """The distinct combinations of values, and a row that has each."""
    key = np.zeros(count, np.int64)
    for column in columns:
        _, key = np.unique(key, return_inverse=True)
        key = key * len(column.dictionary) + column.indices.to_numpy(zero_copy_only=False)
    _, first = np.unique(key, return_index=True)
    if not columns:
        return ((),) if count else (), first[:1]
    named = [column.dictionary.to_pylist() for column in columns]
    rows = zip(*(column.indices.take(pa.array(first)).to_pylist() for column in columns), strict=True)
    return tuple(tuple(named[n][code] for n, code in enumerate(row)) for row in rows), first
