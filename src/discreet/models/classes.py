"""Equivalence classes: who looks alike on the quasi-identifiers. All that a privacy model sees of a table.

They come from a GROUP BY on the engine (``classes_of``) or from a search that tries out a recoding; a model cannot
tell which, so that what a search believes and what is checked on the release can never be two different things.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from discreet.core import sql
from discreet.core.card import Column
from discreet.core.hierarchy.ordered import Ordered
from discreet.core.identifiers import require_rows_of_people
from discreet.core.report import Picture, bars
from discreet.core.table import Table, count_name
from discreet.errors import BadInput, DataError

Integers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

_MOST = 2**62
_BORDERS = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1_000)
"""Sizes of classes at which the bars of the picture begin."""


@dataclass(frozen=True)
class Spread:
    """How the values of one column are spread over the classes: one line for each class and value that occur together.

    Lines are sorted by class, then by value. NULL is a value like any other.
    """

    column: Column
    domain: pa.Array[Any]
    """The value of each code: in the declared order of categories, else sorted; NULL, if it occurs, last."""
    classes: Integers
    codes: Integers
    counts: Integers

    @cached_property
    def whole(self) -> Integers:
        """How often each value occurs in all classes together."""
        found = np.zeros(len(self.domain), dtype=np.int64)
        np.add.at(found, self.codes, self.counts)
        return found

    @cached_property
    def starts(self) -> Integers:
        """The first line of each class."""
        return np.flatnonzero(np.diff(self.classes, prepend=-1)).astype(np.int64)

    def by_class(self, function: np.ufunc, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The values of the lines of each class put together by ``function``, such as ``np.maximum``."""
        return np.asarray(function.reduceat(values, self.starts)) if len(values) else values


@dataclass(frozen=True)
class Classes:
    """The classes of a table: their sizes, and the spread of sensitive columns over them."""

    sizes: Integers
    spreads: Mapping[str, Spread] = field(default_factory=dict)
    labels: pa.Table | None = None
    """What the members of each class share, to name it by; ``None`` inside a search."""
    population: Integers | None = None
    """How many people of the population there are in each class, by the same recoding; ``None``: none was given."""
    outside: int = 0
    """How many people of the population are in none of these classes."""
    several: bool = False
    """Whether sizes and spreads count people of whom some have several rows, and so perhaps several values of a column
    (``row_sets.py``); else everyone has one row."""

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return int(self.sizes.sum())

    def spread(self, name: str) -> Spread:
        """The spread of a sensitive column."""
        try:
            return self.spreads[name]
        except KeyError:
            raise BadInput(f"The equivalence classes were formed without {name!r}.") from None

    def people(self) -> Integers:
        """How many people of the population there are in each class."""
        if self.population is None:
            raise BadInput(
                "The equivalence classes were formed without the population that a model needs.",
                hint="A population can be matched with a table as it is, or with a full-domain recoding of it.",
            )
        return self.population

    def keeping(self, kept: Flags) -> Classes:
        """These classes without the others, which are suppressed."""
        place = np.cumsum(kept) - 1
        spreads = {}
        for name, one in self.spreads.items():
            lines = kept[one.classes]
            spreads[name] = Spread(
                one.column, one.domain, place[one.classes[lines]], one.codes[lines], one.counts[lines]
            )
        labels = None if self.labels is None else self.labels.filter(pa.array(kept))
        if self.population is None:
            return Classes(self.sizes[kept], spreads, labels, several=self.several)
        outside = self.outside + int(self.population[~kept].sum())
        return Classes(self.sizes[kept], spreads, labels, self.population[kept], outside)


def classes_of(
    table: Table,
    quasi: Sequence[str] = (),
    sensitive: Sequence[str] = (),
    *,
    population: Table | None = None,
    levels: Mapping[str, int] | None = None,
    ordered: bool = True,
) -> Classes:
    """The classes of a table on its quasi-identifiers, by GROUP BYs on its engine: one for each sensitive column.

    ``population`` is a table that everyone in this one is in, too, with one row. If this one was recoded, ``levels``
    says how, and the population is made coarser in the same way. Classes are in the order of their labels;
    ``ordered=False`` saves that work, and labels may then be places in dictionaries.
    """
    names = tuple(quasi) or table.quasi()
    require_people(table)
    if population is not None and population.card.unit is not None:
        require_people(population)
    beside = [name for name in dict.fromkeys(sensitive) if name not in names]
    counted = _histogram(table, [*names, *beside[:1]])
    keys = counted.select(list(names))
    counts = _counts(counted)
    if ordered or beside:
        first, place = told_apart(keys, ordered)
        labels = keys.take(first)
        sizes = np.zeros(len(first), dtype=np.int64)
        np.add.at(sizes, place, counts)
    else:
        labels, sizes, place = keys, counts, np.arange(len(counts))
    if ordered or population is not None:
        labels = _plain(labels)
    spreads = {}
    for name in dict.fromkeys(sensitive):
        if name in beside[1:]:
            again = _histogram(table, [*names, name])
            where = places_in(again.select(list(names)), labels)
            spreads[name] = spread_of(table.card[name], again.column(name), where, _counts(again))
        else:
            spreads[name] = spread_of(table.card[name], counted.column(name), place, counts)
    if population is None:
        return Classes(sizes, spreads, labels)
    people, outside = _people(table, population, levels or {}, labels)
    _require_within(table, population, labels, sizes, people)
    return Classes(sizes, spreads, labels, people, outside)


def require_people(table: Table) -> None:
    """An error if someone has several rows: classes count rows, and what is promised is about people.

    The rows are counted, whatever the card says of ``rows_per_unit``: a promise must not rest on a hope. Without a
    unit, identifiers that repeat are an error, unless the card says that every row is a person.
    """
    unit = table.card.unit
    if unit is None:
        require_rows_of_people(table)
        return
    people, rows = count_people(table)
    if people < rows:
        raise BadInput(
            f"{table.card.name} has {rows:,} rows of {people:,} {unit}s: an equivalence class would count "
            "one person several times.",
            hint=f'Publish one row of each {unit}, drawn at random: people="one-row" (--people one-row); or generalise '
            'the rows of whole people: people="unlinked" or people="linked".',
        )


def count_people(table: Table) -> tuple[int, int]:
    """How many people there are, and how many rows; whatever the card says of ``rows_per_unit``."""
    unit = sql.column(table.card.unit or "")
    people, rows = sql.aggregates(
        table.engine, table.relation, [exp.Count(this=exp.Distinct(expressions=[unit])), sql.count_rows()]
    )
    return int(people), int(rows)


def taken(column: pa.ChunkedArray[Any], places: Integers) -> pa.Array[Any]:
    """The cells of a column at some places."""
    if not pa.types.is_dictionary(column.type):
        cells: pa.Array[Any] = column.take(places).combine_chunks()
        return cells
    whole = _encoded(column)
    numbers = pa.array(whole.indices.to_numpy(zero_copy_only=False)[places])
    return pa.DictionaryArray.from_arrays(numbers, whole.dictionary, safe=False)


def domain_of(column: Column, values: pa.Array[Any]) -> pa.Array[Any]:
    """The distinct ``values`` of a column in their natural order: declared, else sorted; NULL last."""
    distinct = pc.unique(values)
    distinct = distinct.take(pc.array_sort_indices(distinct, null_placement="at_end"))
    if column.categories is not None:
        place = {value: at for at, value in enumerate(column.categories)}
        return _ranked(distinct, [None if value is None else place.get(value) for value in distinct.to_pylist()])
    if isinstance(column.hierarchy, Ordered):
        spelled = {value: at for at, value in enumerate(column.hierarchy.order)}
        return _ranked(distinct, [spelled.get(str(value)) for value in distinct.to_pylist()])
    return distinct


def _ranked(distinct: pa.Array[Any], places: list[int | None]) -> pa.Array[Any]:
    """Sorted values by their declared places; those that have none after them, NULL last of all."""
    last = len(distinct) - distinct.null_count
    order = sorted(range(last), key=lambda at: (places[at] is None, places[at] or 0))
    return distinct.take(pa.array([*order, *range(last, len(distinct))], pa.int64()))


def _histogram(table: Table, names: Sequence[str]) -> pa.Table:
    """The histogram of a table. Rows in memory are counted there, by the places of their values in dictionaries."""
    rows = table.engine.dictionary_codes(table.relation, names)
    if rows is None:
        return table.histogram(*names)
    order, starts = _grouped(_numbers(rows, ordered=False))
    first, counts = order[starts], pa.array(np.diff(starts, append=len(order)))
    return pa.table({name: taken(rows.column(name), first) for name in names} | {count_name(names): counts})


def _plain(labels: pa.Table) -> pa.Table:
    """The same table with the values themselves where places in a dictionary are."""
    types = [field.type.value_type if pa.types.is_dictionary(field.type) else field.type for field in labels.schema]
    return labels.cast(pa.schema(list(zip(labels.column_names, types, strict=True))))


def _counts(counted: pa.Table) -> Integers:
    return np.asarray(counted.column(counted.num_columns - 1).to_numpy(), dtype=np.int64)


def spread_of(column: Column, values: pa.ChunkedArray[Any], classes: Integers, counts: Integers) -> Spread:
    encoded = _encoded(values)
    domain = domain_of(column, encoded.dictionary)
    ranks = pc.index_in(encoded.dictionary, domain).to_numpy(zero_copy_only=False).astype(np.int64)
    codes = ranks[encoded.indices.to_numpy(zero_copy_only=False)]
    order, lines = _grouped(classes * max(len(domain), 1) + codes)
    counts = counts[order]
    if len(lines) < len(counts):  # the column is a quasi-identifier, and was counted beside another
        counts = np.add.reduceat(counts, lines)
    first = order[lines]
    return Spread(column, domain, classes[first], codes[first], counts)


def _people(table: Table, population: Table, levels: Mapping[str, int], labels: pa.Table) -> tuple[Integers, int]:
    """How many of the population are in each class, and how many are in none."""
    names = labels.column_names
    coarse = population.generalize({name: levels[name] for name in names if levels.get(name)})
    for name in names:
        kind, has = table.card[name].kind, coarse.card[name].kind
        if kind is not has:
            raise BadInput(
                f"{name} is {kind.value} in {table.card.name} and {has.value} in the population "
                f"{population.card.name}: they cannot be matched.",
                hint="Use a population with the columns as released, or give the levels of the release.",
            )
    counted = coarse.histogram(*names)
    keys = counted.select(names).cast(labels.schema)
    place, counts = places_in(keys, labels), _counts(counted)
    found = np.zeros(labels.num_rows, dtype=np.int64)
    np.add.at(found, place[place >= 0], counts[place >= 0])
    return found, int(counts[place < 0].sum())


def _require_within(table: Table, population: Table, labels: pa.Table, sizes: Integers, people: Integers) -> None:
    short = np.flatnonzero(people < sizes)
    if len(short):
        example = ", ".join(f"{name} = {value}" for name, value in labels.slice(short[0], 1).to_pylist()[0].items())
        raise DataError(
            f"The population {population.card.name} has fewer people than {table.card.name} in {len(short):,} of "
            f"{len(sizes):,} classes, such as {example} ({people[short[0]]:,} and {sizes[short[0]]:,}).",
            hint="The population must contain everyone in the table.",
        )


def told_apart(keys: pa.Table, ordered: bool) -> tuple[Integers, Integers]:
    """The first row of each distinct key, and for each row the place of its key among these."""
    order, starts = _grouped(_numbers(keys, ordered))
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(order)))
    return order[starts], place


def _grouped(numbers: Integers) -> tuple[Integers, Integers]:
    """The order that sorts numbers, none below 0, equal ones as they come; and where in it each number begins."""
    bits = len(numbers).bit_length()
    if int(numbers.max(initial=0)).bit_length() + bits < 63:  # sorting numbers is faster than sorting their places
        found = numbers << bits
        found |= np.arange(len(numbers), dtype=np.int64)
        found.sort()
        order = found & ((1 << bits) - 1)
        found >>= bits
    else:
        order = np.argsort(numbers, kind="stable")
        found = numbers[order]
    begins = np.ones(len(found), dtype=np.bool_)
    np.not_equal(found[1:], found[:-1], out=begins[1:])
    return order, np.flatnonzero(begins).astype(np.int64, copy=False)


def places_in(keys: pa.Table, labels: pa.Table) -> Integers:
    """For each row of ``keys`` its place in ``labels``, or -1; NULL is equal to NULL."""
    if keys.schema != labels.schema:
        keys, labels = _plain(keys), _plain(labels)
    numbers = _numbers(pa.concat_tables([labels, keys]), ordered=False)
    known, rows = numbers[: labels.num_rows], numbers[labels.num_rows :]
    if not len(known):
        return np.full(len(rows), -1, dtype=np.int64)
    order = np.argsort(known)
    near = order[np.minimum(np.searchsorted(known, rows, sorter=order), len(known) - 1)]
    return np.where(known[near] == rows, near, -1).astype(np.int64)


def _numbers(keys: pa.Table, ordered: bool) -> Integers:
    """A number for each row, equal for equal rows (NULL is equal to NULL); if ``ordered``, in the order of the rows."""
    numbers, most = np.zeros(keys.num_rows, dtype=np.int64), 1
    for column in keys.columns:
        encoded = _encoded(column)
        codes, size = encoded.indices.to_numpy(zero_copy_only=False), len(encoded.dictionary)
        if ordered:
            rank = np.empty(size, dtype=np.int64)
            rank[pc.array_sort_indices(encoded.dictionary, null_placement="at_end").to_numpy()] = np.arange(size)
            codes = rank[codes]
        if most * max(size, 1) >= _MOST:
            _, numbers = np.unique(numbers, return_inverse=True)
            most = len(numbers) + 1
        numbers *= size
        numbers += codes
        most *= max(size, 1)
    return numbers


def _encoded(column: pa.ChunkedArray[Any]) -> pa.DictionaryArray[Any, Any]:
    """A column as places in its distinct values, NULL among them."""
    found: Any = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    encoded: pa.DictionaryArray[Any, Any] = (
        found if pa.types.is_dictionary(found.type) else found.dictionary_encode(null_encoding="encode")
    )
    return encoded


@dataclass(frozen=True)
class Sizes:
    """Number of equivalence classes of each size."""

    classes: Mapping[int, int]

    @classmethod
    def of(cls, table: Table) -> Sizes:
        """Counted on the table's engine; what comes back is one line for each size there is."""
        names = table.quasi()
        size = count_name(names)
        counted = exp.select(sql.named(sql.column(size), "size"), sql.named(sql.count_rows(), "classes"))
        query = counted.from_(table.histogram_query(*names).subquery("h")).group_by(sql.column(size))
        found = table.engine.fetch(query).to_pylist()
        return cls({int(row["size"]): int(row["classes"]) for row in sorted(found, key=lambda row: row["size"])})

    @property
    def rows(self) -> int:
        """Number of rows."""
        return sum(size * count for size, count in self.classes.items())

    @property
    def count(self) -> int:
        """Number of classes."""
        return sum(self.classes.values())

    @property
    def smallest(self) -> int:
        """The size of the smallest class; 0 if there is none."""
        return min(self.classes, default=0)

    @property
    def unique(self) -> float:
        """Share of unique rows."""
        return self.classes.get(1, 0) / self.rows if self.rows else 0.0

    @property
    def highest_risk(self) -> float:
        """Probability of picking the right row of the smallest class."""
        return 1 / self.smallest if self.smallest else 0.0

    @property
    def average_risk(self) -> float:
        """Mean of that probability over all rows."""
        return self.count / self.rows if self.rows else 0.0


def by_size(title: str, sizes: Mapping[int, int], caption: str) -> Picture:
    """How many rows are in classes of what size; ``sizes``: how many classes there are of each.

    Sizes below those that occur are shown, too: that no one is alone is what one looks for.
    """
    rows = dict.fromkeys(_BORDERS, 0)
    for size, count in sizes.items():
        rows[max(border for border in _BORDERS if border <= size)] += size * count
    last = max(place for place, border in enumerate(_BORDERS) if rows[border])
    ends = dict(pairwise(_BORDERS))
    shown = _BORDERS[: last + 1]
    return bars(title, [_between(low, ends.get(low)) for low in shown], [rows[low] for low in shown], caption=caption)


def _between(low: int, high: int | None) -> str:
    if high is None:
        return f"{low:,} or more"
    return str(low) if high == low + 1 else f"{low:,} to {high - 1:,}"
