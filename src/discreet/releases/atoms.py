"""Atoms: people grouped by which group of every earlier release they belong to.

A *space* is what the releases of one state of a population tell of the same people: for every record its key, its atom
and the values that were told of it, and for every release the group of each atom. Whoever knows all quasi-identifiers
knows everybody's atom and no more, so that people of one atom are alike in everything that was released.

What is kept of people is for the holder alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.core.programs import Numbers
from discreet.releases.records import Ambiguous, Records, Told

NOT_TOLD = "\x00"
"""Value of a column that no release has told of a person."""


@dataclass(frozen=True, eq=False)
class People:
    """Records of a space: a row each."""

    key: Any
    unit: Any
    copies: Numbers
    atom: Numbers
    values: Mapping[str, Any] = field(default_factory=dict)
    """Text of each value that was told of somebody; ``NOT_TOLD`` where it was not."""
    amounts: Mapping[str, Numbers] = field(default_factory=dict)
    """float64 whole numbers: contribution to each measure; NaN where none was told."""

    def __len__(self) -> int:
        return len(self.key)

    @cached_property
    def units(self) -> Numbers:
        """A number for each unit."""
        return np.asarray(self.unit.dictionary_encode().indices.to_numpy(zero_copy_only=False))

    @property
    def atoms(self) -> int:
        """How many atoms there are."""
        return int(self.atom.max(initial=-1)) + 1

    @cached_property
    def sizes(self) -> Numbers:
        """How many records each atom has."""
        return np.bincount(self.atom, self.copies, self.atoms).astype(np.int64)

    @cached_property
    def unit_counts(self) -> Numbers:
        """How many units each atom has; without units, a record is one."""
        if self.unit.null_count == len(self.unit):
            return self.sizes
        pairs = np.unique(self.atom.astype(np.int64) * (int(self.units.max(initial=0)) + 1) + self.units)
        return np.bincount(pairs // (int(self.units.max(initial=0)) + 1), minlength=self.atoms)

    def units_of(self, atoms: Numbers) -> dict[int, frozenset[int]]:
        """The units in each of these atoms."""
        single = self.unit.null_count == len(self.unit)
        found: dict[int, set[int]] = {int(atom): set() for atom in atoms}
        for record in np.flatnonzero(np.isin(self.atom, atoms)).tolist():
            atom = int(self.atom[record])
            for copy in range(int(self.copies[record]) if single else 1):
                found[atom].add(record + copy * len(self) if single else int(self.units[record]))
        return {atom: frozenset(units) for atom, units in found.items()}

    def count(self, atoms: Numbers) -> int:
        """How many units, or records without units, some atoms have together."""
        among = np.isin(self.atom, atoms)
        if self.unit.null_count == len(self.unit):
            return int(self.copies[among].sum())
        return len(np.unique(self.units[among]))


@dataclass(frozen=True, eq=False)
class Space:
    """People and what every release tells of them."""

    people: People
    told: tuple[Told, ...] = ()
    by: tuple[str, ...] = ()
    """Columns whose content is the key, or the unit alone."""


def link(space: Space, records: Records, told: Told) -> Space:
    """The space with the people of a new release, and atoms that keep its groups apart.

    ``Ambiguous`` if it cannot be said who is who.
    """
    people = space.people
    at = pc.index_in(records.key, value_set=people.key).fill_null(-1)
    place = np.asarray(at.to_numpy(zero_copy_only=False), np.int64)
    there = place >= 0
    if len(people) and (people.copies[place[there]] != records.copies[there]).any():
        raise Ambiguous
    fresh = np.flatnonzero(~there)
    target = place.copy()
    target[fresh] = len(people) + np.arange(len(fresh))
    count = len(people) + len(fresh)
    group = np.full(count, -1, np.int64)
    group[target] = records.group
    before = np.concatenate([people.atom, np.full(len(fresh), -1, np.int64)])
    width = int(group.max(initial=-1)) + 2
    pairs, atom = np.unique((before + 1) * width + group + 1, return_inverse=True)
    parents = pairs // width - 1
    moved = [one.at(parents) for one in space.told]
    values, amounts = {}, {}
    for name in {*people.values, *records.values}:
        values[name] = _told_values(people.values.get(name), records.values.get(name), target, count)
    for name in {*people.amounts, *([told.measure] if records.amounts is not None else [])}:
        known = people.amounts.get(name)
        amounts[name] = np.concatenate(
            [np.full(len(people), np.nan) if known is None else known, np.full(len(fresh), np.nan)]
        )
        if name == told.measure and records.amounts is not None:
            amounts[name][target] = records.amounts
    merged = People(
        pa.concat_arrays([people.key, records.key.take(pa.array(fresh))])
        if len(people)
        else records.key.take(pa.array(fresh)),
        _joined(people.unit, records.unit.take(pa.array(fresh))),
        np.concatenate([people.copies, records.copies[fresh]]),
        atom.astype(np.int64),
        values,
        amounts,
    )
    return Space(merged, (*moved, replace(told, group=pairs % width - 1)), records.by)


def same_values(people: People, records: Records, told: Told) -> tuple[int, bool]:
    """How many people of a space are in the new records, and whether all that was told of them is as it is now."""
    place = np.asarray(pc.index_in(records.key, value_set=people.key).fill_null(-1).to_numpy(zero_copy_only=False))
    there = np.flatnonzero(place >= 0)
    same = True
    for name, now in records.values.items():
        if name in people.values:
            before = people.values[name].take(pa.array(place[there]))
            unknown = pc.equal(before, pa.scalar(NOT_TOLD)).fill_null(False)
            alike = pc.or_(
                pc.equal(before, now.take(pa.array(there))).fill_null(False),
                pc.and_(pc.is_null(before), pc.is_null(now.take(pa.array(there)))),
            )
            same &= bool(pc.all(pc.or_(unknown, alike)).as_py() in (True, None))
    if records.amounts is not None and told.measure in people.amounts:
        before_amounts = people.amounts[told.measure][place[there]]
        same &= bool((np.isnan(before_amounts) | (before_amounts == records.amounts[there])).all())
    return len(there), same


def _told_values(before: Any, now: Any, target: Numbers, count: int) -> Any:
    """The values that were told of each record, the newest last."""
    parts = [one for one in (before, now) if one is not None]
    held = pa.concat_arrays([*parts, pa.array([NOT_TOLD])])
    place = np.full(count, len(held) - 1)
    if before is not None:
        place[: len(before)] = np.arange(len(before))
    if now is not None:
        place[target] = len(held) - 1 - len(now) + np.arange(len(now))
    return held.take(pa.array(place))


def _joined(one: Any, other: Any) -> Any:
    if not len(one):
        return other
    return pa.concat_arrays([one, other.cast(one.type)])


def nobody() -> Space:
    """A space without people."""
    none = np.empty(0, np.int64)
    return Space(People(pa.array([], pa.string()), pa.nulls(0), none, none))
