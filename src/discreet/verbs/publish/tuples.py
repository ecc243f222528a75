"""The distinct quasi-identifier tuples of a table as small integers: all that a search sees of the rows.

Two tables with the same tuples and counts are the same to a search, be it ten rows or ten billion.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan, nan
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from discreet.core.card import Column
from discreet.core.hierarchy.hierarchy import TOP, LevelCodes, codes
from discreet.core.hierarchy.ordered import Ordered
from discreet.core.hierarchy.taxonomy import Taxonomy
from discreet.core.kind import Kind
from discreet.core.table import Table
from discreet.errors import BadInput
from discreet.models.classes import Classes, Integers, Spread, classes_of

_WIDEST = 10_000
"""Declared bounds of whole numbers up to this far apart are a domain to count leaves in."""


@dataclass(frozen=True)
class Tuples:
    """Distinct tuples in the order of their values, how many rows have each, and the levels of each column."""

    names: tuple[str, ...]
    """The quasi-identifiers."""
    values: tuple[pa.Array[Any], ...]
    """For each column its distinct values, sorted; NULL, if it occurs, last."""
    codes: npt.NDArray[np.int32]
    """Shape (columns, tuples): places in ``values``."""
    counts: Integers
    """How many rows have each tuple."""
    levels: tuple[LevelCodes, ...]
    """For each column the labels of ``values`` on each level; without a hierarchy: itself, and ``*``."""
    shares: tuple[npt.NDArray[np.float64], ...]
    """For each column, shape (levels, values): how much of the column's domain the label of a value covers,
    (leaves − 1) / (domain − 1): 0 for a value that stays itself, 1 for ``*``."""
    spreads: Mapping[str, Spread] = field(default_factory=dict)
    """Sensitive columns over tuples: the classes of these spreads are places of tuples."""
    population: Integers | None = None
    """How many people of the population have each tuple; tuples without rows are those of others only."""

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return int(self.counts.sum())

    @property
    def heights(self) -> tuple[int, ...]:
        """The top level of each column."""
        return tuple(len(one.codes) - 1 for one in self.levels)

    def groups(self, levels: Sequence[int]) -> Integers:
        """For each tuple the number of its class when each column is at its level, without gaps, in the order of
        labels."""
        numbers = np.zeros(len(self.counts), dtype=np.int64)
        for place, level in enumerate(levels):
            labels = self.levels[place].codes[level][self.codes[place]]
            numbers = numbers * (int(labels.max(initial=0)) + 1) + labels
            numbers = np.unique(numbers, return_inverse=True)[1].astype(np.int64)
        return numbers

    def classes(self, groups: Integers) -> Classes:
        """The classes that tuples form by their group numbers, which leave none out; without labels."""
        count = int(groups.max(initial=-1)) + 1
        sizes = np.zeros(count, dtype=np.int64)
        np.add.at(sizes, groups, self.counts)
        spreads = {name: merged(spread, groups, count) for name, spread in self.spreads.items()}
        if self.population is None:
            return Classes(sizes, spreads)
        people = np.zeros(count, dtype=np.int64)
        np.add.at(people, groups, self.population)
        return Classes(sizes, spreads, None, people)

    def labels(self, places: npt.NDArray[np.integer[Any]], levels: Sequence[int]) -> pa.Table:
        """What the tuples at ``places`` are called when each column is at its level: a column for each name."""
        found = {}
        for column, (name, level) in enumerate(zip(self.names, levels, strict=True)):
            codes_ = self.levels[column].codes[level][self.codes[column][places]]
            found[name] = self.levels[column].labels[level].take(pa.array(codes_))
        return pa.table(found)


def tuples_of(table: Table, sensitive: Sequence[str] = (), population: Table | None = None) -> Tuples:
    """The tuples of a table: one GROUP BY on its engine, and one more for each sensitive column.

    Somebody with several rows is an error, and so is a value its hierarchy does not know. Tuples that only others of
    the ``population`` have come last; they have no rows.
    """
    found = classes_of(table, sensitive=sensitive, population=population)
    labels, counts, people = found.labels, found.sizes, found.population
    if labels is None:
        raise BadInput(f"The classes of {table.card.name} have no labels.")
    if population is not None and people is not None:
        others = _others(population, labels)
        labels = pa.concat_tables([labels, others.select(labels.column_names)])
        counts = np.concatenate([counts, np.zeros(others.num_rows, dtype=np.int64)])
        people = np.concatenate([people, others.column(others.num_columns - 1).to_numpy().astype(np.int64)])
    values, places, levels, shares = [], [], [], []
    for name in labels.column_names:
        cells: Any = labels.column(name).combine_chunks()
        distinct = pc.unique(cells)
        distinct = distinct.take(pc.array_sort_indices(distinct, null_placement="at_end"))
        values.append(distinct)
        places.append(pc.index_in(cells, distinct).to_numpy(zero_copy_only=False).astype(np.int32))
        coded, share = _levels(table.card[name], distinct)
        levels.append(coded)
        shares.append(share)
    names = tuple(labels.column_names)
    return Tuples(names, tuple(values), np.stack(places), counts, tuple(levels), tuple(shares), found.spreads, people)


def merged(spread: Spread, groups: Integers, count: int) -> Spread:
    """A spread over ``count`` classes that are unions of its own: ``groups`` says into which each goes."""
    width = max(len(spread.domain), 1)
    keys = groups[spread.classes] * width + spread.codes
    if count * width <= 16 * len(keys) + 1024:  # a dense table of counts is faster than sorting, while it is small
        counts = np.zeros(count * width, dtype=np.int64)
        np.add.at(counts, keys, spread.counts)
        lines = np.flatnonzero(counts)
        counts = counts[lines]
    else:
        lines, inverse = np.unique(keys, return_inverse=True)
        counts = np.zeros(len(lines), dtype=np.int64)
        np.add.at(counts, inverse, spread.counts)
    return Spread(spread.column, spread.domain, lines // width, lines % width, counts)


def keys_of(rows: pa.Table, names: Sequence[str]) -> list[tuple[Any, ...]]:
    """The values of each row; those of alike rows are equal, also where they are NaN."""
    columns = (rows.column(name).to_pylist() for name in names)
    alike = ([nan if isinstance(value, float) and isnan(value) else value for value in column] for column in columns)
    return list(zip(*alike, strict=True))


def _others(population: Table, labels: pa.Table) -> pa.Table:
    """The tuples of a population that are not among ``labels``, with their counts in the last column."""
    counted = population.histogram(*labels.column_names)
    keys = counted.select(labels.column_names).cast(labels.schema)
    known = set(keys_of(labels, labels.column_names))
    fresh = [key not in known for key in keys_of(keys, labels.column_names)]
    return keys.append_column("people", counted.column(counted.num_columns - 1)).filter(pa.array(fresh, pa.bool_()))


def _levels(column: Column, values: pa.Array[Any]) -> tuple[LevelCodes, npt.NDArray[np.float64]]:
    """The levels of the values that occur, and the share of the domain that each of their labels covers."""
    domain = _domain(column, values)
    if column.hierarchy is None:
        whole = np.stack([np.arange(len(domain), dtype=np.int32), np.zeros(len(domain), dtype=np.int32)])
        labels: tuple[pa.Array[Any], ...] = (domain, pa.array([TOP] if len(domain) else [], pa.string()))
    else:
        found = codes(column.hierarchy, column.kind, domain)
        whole, labels = found.codes, found.labels
    widest = max(len(domain) - 1, 1)
    shares = [(np.bincount(level)[level] - 1) / widest for level in whole]
    count = len(values)
    kept = [label[: int(level[:count].max(initial=-1)) + 1] for label, level in zip(labels, whole, strict=True)]
    return LevelCodes(whole[:, :count], tuple(kept)), np.stack(shares)[:, :count]


def _domain(column: Column, values: pa.Array[Any]) -> pa.Array[Any]:
    """The values that occur, and after them those that are declared and do not."""
    declared: Sequence[Any] = ()
    if column.categories is not None:
        declared = column.categories
    elif isinstance(column.hierarchy, Taxonomy | Ordered):
        listed = column.hierarchy.leaves if isinstance(column.hierarchy, Taxonomy) else column.hierarchy.order
        declared = [_read(text, column.kind) for text in map(str, listed)]
    elif column.kind is Kind.INTEGER and column.bounds is not None:
        low, high = (int(end) for end in column.bounds)  # type: ignore[arg-type]  # a whole number, by its kind
        declared = range(low, high + 1) if high - low < _WIDEST else ()
    seen = set(values.to_pylist())
    missing = [value for value in dict.fromkeys(declared) if value is not None and value not in seen]
    return pa.concat_arrays([values, pa.array(missing, values.type)])


def _read(text: str, kind: Kind) -> Any:
    """A listed value as the column has it; ``None`` if it cannot have it."""
    if kind is Kind.BOOLEAN:
        return {"true": True, "false": False}.get(text)
    if kind is Kind.INTEGER:
        try:
            return int(text) if str(int(text)) == text else None
        except ValueError:
            return None
    return text
