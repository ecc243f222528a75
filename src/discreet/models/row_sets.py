"""People with several rows: the set of quasi-identifier tuples that each of them has, and how many people share it.

An intruder may know several rows of a person. Where rows of one person can be linked (by a pseudonym), what tells
people apart is the whole *multiset* of their tuples: a set would hide that someone has a tuple twice, which anyone
can see who counts rows. People with equal multisets are an equivalence class of people. Anyone who knows some of a
person's rows finds everyone whose multiset contains them: whole classes, the person's own among them. So where every
class has at least k people, k people match whatever is known, and what holds of each class (a share of people with a
value, a value that not all have) holds of any union of them.

Without a pseudonym an intruder sees less: the rows of all people, without the links. What is learned from less is, on
average over what it might have been, no more; so the same bounds hold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from discreet.core.table import Table
from discreet.errors import BadInput, DataError
from discreet.models.classes import (
    Classes,
    Integers,
    Spread,
    classes_of,
    count_people,
    places_in,
    spread_of,
    told_apart,
)

_MOST_PAIRS = 20_000_000
"""Pairs of rows of one person that are compared."""


@dataclass(frozen=True)
class RowSets:
    """The distinct multisets of tuples that people have, how many people have each, and whose it is."""

    labels: pa.Table
    """The distinct tuples."""
    starts: Integers
    """Where each multiset begins in ``tuples``; one more for the end of the last."""
    tuples: Integers
    """Places in ``labels``, ascending in each multiset, as often as there are rows."""
    people: Integers
    """Number of people with each multiset."""
    units: pa.Table
    """The unit of each person, in its only column."""
    set_of: Integers
    """The multiset of each person."""
    spreads: Mapping[str, Spread]
    """Number of people of each multiset who have each value of a sensitive column in one of their rows or several."""

    @property
    def lengths(self) -> Integers:
        """Number of rows of each multiset."""
        return np.diff(self.starts)

    @property
    def owners(self) -> Integers:
        """The multiset that each of ``tuples`` belongs to."""
        return np.repeat(np.arange(len(self.people)), self.lengths)

    @property
    def classes(self) -> Classes:
        """The equivalence classes of people. A class is named by the first of its rows and how many more there are."""
        first: Any = self.labels.take(self.tuples[self.starts[:-1]])
        more = "more rows"
        while more in first.column_names:
            more += "_"
        labels = first.append_column(more, pa.array(self.lengths - 1))
        return Classes(self.people, self.spreads, labels, several=True)

    def fewest_people(self) -> dict[str, int | None]:
        """The smallest number of people who match any rows of anyone, by the number of rows that are known.

        With all rows known those match who have the same rows and no others. ``None``: no one has that many rows, or
        there are too many pairs to count.
        """
        least = {name: _least(keys, self.people[owner]) for name, (keys, owner) in self._known().items()}
        return {**least, "all": int(self.people.min()) if len(self.people) else None}

    def largest_share(self) -> float:
        """The largest share that one person has of the rows that look alike."""
        keys, many = np.unique(self.owners * self.labels.num_rows + self.tuples, return_counts=True)
        owner, place = np.divmod(keys, max(self.labels.num_rows, 1))
        rows = np.bincount(place, many * self.people[owner], self.labels.num_rows)
        return float((many / rows[place]).max(initial=0.0))

    def _known(self) -> dict[str, tuple[Integers, Integers]]:
        """For one row and for two what can be known of a multiset, and whose it is; each once for a multiset."""
        owner, lengths = self.owners, self.lengths
        nothing = np.empty(0, np.int64)
        if int((lengths * (lengths - 1) // 2).sum()) > _MOST_PAIRS:
            return {"1": _once(self.tuples, owner), "2": (nothing, nothing)}
        keys, owners = [nothing], [nothing]
        for apart in range(1, int(lengths.max(initial=1))):
            places = np.flatnonzero(owner[apart:] == owner[:-apart])
            keys.append(self.tuples[places] * self.labels.num_rows + self.tuples[places + apart])
            owners.append(owner[places])
        return {"1": _once(self.tuples, owner), "2": _once(np.concatenate(keys), np.concatenate(owners))}


def has_several_rows(table: Table) -> bool:
    """Whether someone has several rows."""
    if table.card.unit is None:
        return False
    people, rows = count_people(table)
    return people < rows


def judged_classes(table: Table, sensitive: Sequence[str], population: Table | None, **options: Any) -> Classes:
    """The equivalence classes that models judge: of people, where someone has several rows, else of rows."""
    if not has_several_rows(table):
        return classes_of(table, sensitive=sensitive, population=population, **options)
    return row_sets(table, sensitive).classes


def row_sets(table: Table, sensitive: Sequence[str] = ()) -> RowSets:
    """The multisets of the people in a table: a GROUP BY of units and quasi-identifiers on its engine, and one of
    units and values for each sensitive column."""
    unit, names = table.card.unit, list(table.quasi())
    if unit is None:
        raise BadInput(
            f"The card of {table.card.name} names no column that identifies the person of each row.",
            hint="Declare its unit.",
        )
    counted = table.histogram(unit, *names)
    first, place = told_apart(counted.select(names), ordered=True)
    somebody, owner = told_apart(counted.select([unit]), ordered=True)
    units = counted.select([unit]).take(somebody)
    if units.column(0).null_count:
        raise DataError(f"Some rows of {table.card.name} have no {unit}, so their person is unknown.")
    order = np.lexsort((place, owner))
    many = counted.column(counted.num_columns - 1).to_numpy()[order]
    tuples, starts = np.repeat(place[order], many), np.zeros(units.num_rows + 1, np.int64)
    np.add.at(starts, owner[order] + 1, many)
    starts = np.cumsum(starts)
    set_of = number_sequences(starts, tuples)
    _, some = np.unique(set_of, return_index=True)
    spreads = {}
    for name in dict.fromkeys(sensitive):
        values = table.histogram(unit, name)
        whose = places_in(values.select([unit]), units)
        spreads[name] = spread_of(table.card[name], values.column(name), set_of[whose], np.ones_like(whose))
    found = sequences(starts, tuples, some)
    people = np.bincount(set_of, minlength=len(some)).astype(np.int64)
    return RowSets(counted.select(names).take(first), *found, people, units, set_of, spreads)


def sequences(starts: Integers, items: Integers, which: npt.NDArray[Any]) -> tuple[Integers, Integers]:
    """Where each of some sequences begins when they stand one behind the other, and their items."""
    lengths = np.diff(starts)[which]
    begins = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    places = np.arange(begins[-1]) + np.repeat(starts[which] - begins[:-1], lengths)
    return begins, items[places]


def number_sequences(starts: Integers, items: Integers) -> Integers:
    """A number for each sequence of items, without gaps, equal for equal sequences: exact, an item at a time."""
    lengths = np.diff(starts)
    numbers, width = np.zeros(len(lengths), np.int64), int(items.max(initial=0)) + 1
    for place in range(int(lengths.max(initial=0))):
        longer = np.flatnonzero(lengths > place)
        keys = numbers[longer] * width + items[starts[longer] + place]
        numbers[longer] = np.unique(keys, return_inverse=True)[1]
    return np.unique(numbers * (int(lengths.max(initial=0)) + 1) + lengths, return_inverse=True)[1].astype(np.int64)


def _once(keys: Integers, owners: Integers) -> tuple[Integers, Integers]:
    """Each pair of a key and an owner once."""
    order = np.lexsort((keys, owners))
    keys, owners = keys[order], owners[order]
    first = (np.diff(keys, prepend=-1) != 0) | (np.diff(owners, prepend=-1) != 0)
    return keys[first], owners[first]


def _least(keys: Integers, people: Integers) -> int | None:
    """The smallest number of people over all keys."""
    if not len(keys):
        return None
    _, which = np.unique(keys, return_inverse=True)
    return int(np.bincount(which, people).min())
