"""Facts: what a release tells of the people in it, as data that joint exposure can compute with.

A release tells *figures* (sums over groups of people, exact or within an interval), or a privacy loss, which the
ledger adds up, or it is *opaque*: masked and synthetic rows say something of everyone, and no one can say what as
linear equations. Facts are made from what was released, never from what was meant.

Figures are cells of a table with sides. Everyone is taken to know which leaf of a *known* side a person belongs to
(region, age group, the equivalence class of a published file); the leaves of a side that ``tells`` are what the release
says of people (diagnosis, income class). A cell has a code on every side, and a code covers one leaf or several.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import prod
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from discreet.core import sql
from discreet.core.loss import Loss
from discreet.core.programs import Numbers
from discreet.core.table import Table
from discreet.errors import DataError

_MOST_COMBINATIONS = 300_000
"""Different rows of a published file whose figures are kept, at most."""
_UNNAMED = (exp.Columns, exp.PositionalColumn, exp.Star, exp.Table, exp.Anonymous, exp.Rand)
"""What of a condition may depend on columns that it does not name: a function of the database may look at any."""
Find: TypeAlias = Callable[[Sequence[Any]], Numbers]


@dataclass(frozen=True)
class Opaque:
    """A release that tells something of people, but not as figures: it is not checked together with others."""

    why: str
    tells: tuple[str, ...] = ()
    """Columns that exact figures of it are about, if there are any."""


@dataclass(frozen=True)
class Lossy:
    """A release with a privacy loss, which composes with that of others in the ledger."""

    loss: Loss


@dataclass(frozen=True, eq=False)
class FactSide:
    """A side of the figures: how a row's leaf is found, and which leaves each code covers."""

    name: str
    tells: tuple[str, ...]
    """Columns whose values the leaves tell; empty for a side that everyone is taken to know."""
    labels: tuple[exp.Expr, ...]
    """Expressions over the rows that say which leaf a row belongs to."""
    find: Find
    """The leaf of each row, from the fetched labels; -1 for a row that is on none."""
    leaves: int
    covers: tuple[Numbers, ...]
    """For each code the leaves it covers."""


@dataclass(frozen=True, eq=False)
class Figures:
    """Sums over groups of people, as they were released."""

    rows: Table
    """The rows that were added up."""
    sides: tuple[FactSide, ...]
    codes: Numbers
    """int64: a row a figure, a column a side."""
    low: Numbers
    high: Numbers
    """float64: what the true figure is at least and at most; equal where it is printed."""
    complete: bool = False
    """Whether every combination of leaves that has no figure is known to be empty."""
    measure: str = ""
    """Column that is summed; empty if rows are counted."""
    decimals: int = 0
    amount: exp.Expr | None = None
    """What a row adds to its figure, in whole units of 10 to the power of minus ``decimals``."""
    nonnegative: bool = True
    """Whether everyone knows that no amount is negative."""
    share: Fraction | None = None
    """Share of p of a p% rule that was promised."""

    @property
    def tells(self) -> tuple[str, ...]:
        """Columns that the figures tell the values of."""
        told = dict.fromkeys(name for side in self.sides for name in side.tells)
        return (*told, *([self.measure] if self.measure else []))

    def project(self, columns: Collection[str]) -> Figures | None:
        """What these figures tell of some columns alone; ``None`` if nothing."""
        if set(self.tells) <= set(columns):
            return self
        if not set(self.tells) & set(columns) or self.measure:
            return None
        if self.complete:  # what has gaps says nothing exact of a part of its columns
            return self._projected_rows(columns) if (self.low == self.high).all() else None
        keep = [place for place, side in enumerate(self.sides) if not side.tells or set(side.tells) <= set(columns)]
        whole = np.ones(len(self.codes), bool)
        for place in set(range(len(self.sides))) - set(keep):
            full = np.array([len(cover) == self.sides[place].leaves for cover in self.sides[place].covers])
            whole &= full[self.codes[:, place]]
        sides = tuple(self.sides[place] for place in keep)
        return replace(self, sides=sides, codes=self.codes[whole][:, keep], low=self.low[whole], high=self.high[whole])

    def _projected_rows(self, columns: Collection[str]) -> Figures:
        """Counts of fewer columns of a published file: those of all combinations that agree on them."""
        known, telling = self.sides
        assert isinstance(telling.find, TupleFinder)  # noqa: S101  # made by ``class_figures``
        names = [name for name in telling.tells if name in columns]
        labels = telling.find.labels
        fewer = _distinct(labels.select(names))
        find = TupleFinder(fewer)
        leaf = find([labels.column(name) for name in names])[self.codes[:, 1]]
        codes, which = np.unique(np.stack([self.codes[:, 0], leaf], 1), axis=0, return_inverse=True)
        counts = np.bincount(which.ravel(), self.low)
        side = FactSide(
            ", ".join(names),
            tuple(names),
            tuple(map(sql.column, names)),
            find,
            fewer.num_rows,
            each_leaf(fewer.num_rows),
        )
        return replace(self, sides=(known, side), codes=codes, low=counts, high=counts)


@dataclass(frozen=True)
class Choice:
    """How the rows of a release were chosen: by what everyone knows, and by what the choice itself tells."""

    rows: Table
    """All rows that could have been chosen, by what everyone knows."""
    condition: exp.Expr | None = None
    """What the chosen ones have besides, if anything."""
    tells: tuple[str, ...] = ()
    """The columns of that condition."""

    @classmethod
    def of(cls, table: Table) -> Choice | Opaque:
        """By the conditions of ``table.where``; opaque if what is known and what is not cannot be told apart."""
        known: list[exp.Expr] = []
        telling: list[exp.Expr] = []
        names: set[str] = set()
        for part in _conjuncts(table.chosen):
            if part.find(*_UNNAMED) is not None:
                return Opaque("its rows were chosen by a condition that does not say by which columns")
            used = {column.name for column in part.find_all(exp.Column)}
            quasi = used.intersection(table.chosen_by)
            if quasi and used - quasi:
                return Opaque(f"its rows were chosen by {' and '.join(sorted(used))} at once")
            (known if quasi == used else telling).append(part)
            names |= used - quasi
        if not telling:
            return cls(table)
        if table.unchosen is None or any(part.find(exp.Query) for part in telling):
            return Opaque(f"its rows were chosen by {' and '.join(sorted(names))}")
        rows = exp.select(exp.Star()).from_(table.unchosen.subquery("t"))
        rows = rows.where(*known) if known else rows
        return cls(replace(table, relation=rows, unchosen=None, chosen=()), exp.and_(*telling), tuple(sorted(names)))

    @staticmethod
    def hidden(table: Table) -> Opaque | None:
        """Why released rows of a table are opaque: they were chosen by what not everyone knows. ``None`` if not."""
        choice = Choice.of(table)
        if isinstance(choice, Opaque) or choice.condition is None:
            return choice if isinstance(choice, Opaque) else None
        return Opaque(f"its rows were chosen by {' and '.join(choice.tells)}")

    @property
    def side(self) -> FactSide:
        """The side of those who were chosen (its only code) and those who were not."""
        assert self.condition is not None  # noqa: S101  # asked for only then
        chosen = exp.case().when(self.condition.copy(), exp.true()).else_(exp.false())

        def find(columns: Sequence[Any]) -> Numbers:
            return np.where(np.asarray(columns[0].to_numpy(), bool), 0, 1)

        return FactSide("chosen", self.tells, (chosen,), find, 2, (np.array([0]),))


def _conjuncts(conditions: Sequence[exp.Expr]) -> Iterator[exp.Expr]:
    for one in conditions:
        if isinstance(one, exp.And | exp.Paren):
            yield from _conjuncts([part for part in (one.this, one.args.get("expression")) if part is not None])
        else:
            yield one


Facts: TypeAlias = Opaque | Lossy | tuple[Figures, ...]


@dataclass(frozen=True, eq=False)
class TupleFinder:
    """Finds rows of labels by their number, missing values included."""

    labels: pa.Table
    _values: list[Any] = field(init=False, repr=False)
    _known: dict[int, int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        values = [pc.unique(self.labels.column(place)) for place in range(self.labels.num_columns)]
        object.__setattr__(self, "_values", values)
        keys, _ = self._keys([self.labels.column(place) for place in range(self.labels.num_columns)])
        object.__setattr__(self, "_known", {key: number for number, key in enumerate(keys.tolist())})

    def __call__(self, columns: Sequence[Any]) -> Numbers:
        keys, found = self._keys(columns)
        distinct, places = np.unique(keys, return_inverse=True)
        numbers = np.array([self._known.get(key, -1) for key in distinct.tolist()], np.int64)
        return np.where(found, numbers[places], -1) if len(distinct) else places

    def _keys(self, columns: Sequence[Any]) -> tuple[Numbers, Numbers]:
        """A number for each combination of values, and whether every one of them is known."""
        length = len(columns[0]) if columns else self.labels.num_rows
        wide = prod(len(values) + 1 for values in self._values) >= 2**62
        keys, found = np.zeros(length, object if wide else np.int64), np.ones(length, bool)
        for column, values in zip(columns, self._values, strict=True):
            places = pc.index_in(column.cast(values.type), value_set=values).fill_null(-1)
            numbers = np.asarray(places.to_numpy(), np.int64)
            found &= numbers >= 0
            keys = keys * (len(values) + 1) + (numbers + 1)
        return keys, found


def class_figures(rows: Table, labels: Mapping[str, exp.Expr], written: Table, told: Sequence[str]) -> Facts:
    """Figures of a published file: for every equivalence class, how many of its rows have each combination of values.

    ``rows`` are the released people before recoding, ``labels`` what each quasi-identifier became, and ``written`` the
    rows that were released, of which the columns ``told`` are not quasi-identifiers.
    """
    known = list(labels)
    counted = written.histogram(*known, *told)
    if counted.num_rows > _MOST_COMBINATIONS:
        return Opaque(f"it has more than {_MOST_COMBINATIONS:,} different rows")
    classes, values = _distinct(counted.select(known)), _distinct(counted.select(list(told)))
    classes_of, values_of = TupleFinder(classes), TupleFinder(values)
    names = [known, list(told)]
    found = [
        find([counted.column(one) for one in some]) for find, some in zip((classes_of, values_of), names, strict=True)
    ]
    counts = np.asarray(counted.column(-1).to_numpy(), np.float64)
    sides = [
        FactSide(
            ", ".join(known), (), tuple(labels.values()), classes_of, classes.num_rows, each_leaf(classes.num_rows)
        )
    ]
    if told:
        columns = tuple(map(sql.column, told))
        sides.append(
            FactSide(", ".join(told), tuple(told), columns, values_of, values.num_rows, each_leaf(values.num_rows))
        )
    return (Figures(rows, tuple(sides), np.stack(found[: len(sides)], 1), counts, counts, complete=True),)


def gap_figures(
    rows: Table, data: pa.Table, known: Sequence[str], told: Sequence[str], *, column: str, gaps: Numbers
) -> Facts:
    """Figures of released rows that show all columns as they are in ``data``, but for a column with ``gaps`` (bool),
    each of which may have been any value.

    How many rows have a combination of values is at least as many as are seen to, and at most that many more as have a
    gap and agree in all other columns; how many agree in these is exact. Anyone who fills the gaps in any way that
    keeps to this has rows that may have been the true ones: they tell no more.
    """
    counted = rows.histogram(*known, *told)
    if counted.num_rows > _MOST_COMBINATIONS:
        return Opaque(f"it has more than {_MOST_COMBINATIONS:,} different rows")
    sides, codes = [], []
    for part in filter(None, (tuple(known), tuple(told))):
        labels = _distinct(counted.select(list(part)))
        count, find = labels.num_rows, TupleFinder(labels)
        alike = np.arange(count)
        if column in part:
            rest = labels.select([name for name in part if name != column])
            alike = np.zeros(count, np.int64) if not rest.num_columns else TupleFinder(_distinct(rest))(rest.columns)
        covers = (*each_leaf(count), *(np.flatnonzero(alike == one) for one in range(int(alike.max(initial=-1)) + 1)))
        leaf = find([data.column(name) for name in part])
        if (leaf < 0).any():
            raise DataError("The table changed while its transactions were read.", hint="Try again.")
        codes.append(np.stack([leaf, count + alike[leaf]], 1))
        tells = part if part == tuple(told) else ()
        sides.append(FactSide(", ".join(part), tells, tuple(map(sql.column, part)), find, count, covers))
    seen, whole = (np.stack([one[:, n] for one in codes], 1) for n in (0, 1))
    single, cell, places = np.unique(seen, axis=0, return_index=True, return_inverse=True)
    low = np.bincount(places.ravel(), ~gaps, len(single))
    totals, group = np.unique(whole, axis=0, return_inverse=True)
    missing = np.bincount(group.ravel(), gaps, len(totals))
    exact = np.bincount(group.ravel(), minlength=len(totals)).astype(np.float64)
    open_ = np.flatnonzero(missing)
    high = low + missing[group.ravel()[cell]]
    return (
        Figures(
            rows,
            tuple(sides),
            np.concatenate([single, totals[open_]]),
            np.concatenate([low, exact[open_]]),
            np.concatenate([high, exact[open_]]),
            complete=True,
        ),
    )


def _distinct(rows: pa.Table) -> pa.Table:
    if not rows.num_columns:
        return rows
    return rows.group_by(rows.column_names, use_threads=False).aggregate([])


def each_leaf(leaves: int) -> tuple[Numbers, ...]:
    """Codes that cover one leaf each."""
    return tuple(np.arange(leaves).reshape(-1, 1))
