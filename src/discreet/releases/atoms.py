"""Atoms: people grouped by which group of every earlier release they belong to.

A *space* is what the releases of one state of a population tell of the same people: for every record its key, its atom
and the values that were told of it, and for every release the group of each atom. Anyone who knows all
quasi-identifiers knows everyone's atom and no more, so that people of one atom are alike in everything that was
released.

What is kept of people is confidential: the register has it as bytes, with what each release tells.
"""

from __future__ import annotations

import io
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from discreet.core.programs import Numbers
from discreet.errors import Damaged
from discreet.releases.records import Ambiguous, Records, Told, array_of

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
    """Text of each value that was told of someone; ``NOT_TOLD`` where it was not."""
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

    def restricted(self, lines: Collection[int]) -> Space:
        """The space as someone knows it who has the releases on these lines only: atoms they do not split are one."""
        told = [one for one in self.told if one.number in lines]
        if not told:
            return replace(self, told=())
        groups = np.stack([one.group for one in told])
        _, first, atom = np.unique(groups, axis=1, return_index=True, return_inverse=True)
        people = replace(self.people, atom=atom.reshape(-1)[self.people.atom])
        return Space(people, tuple(one.at(first) for one in told), self.by)

    def views(self, held: Mapping[int, str]) -> list[Space]:
        """The space of a holder of all releases, and of each recipient with the tables they hold (lines ``held``)."""
        holders = sorted({held[one.number] for one in self.told if one.number in held})
        lines = {one.number for one in self.told}
        seen = [{line for line in lines if held.get(line, "") in ("", who)} for who in ("", *holders)]
        return [self.restricted(some) for some in seen] if holders else [self]


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


def dump_people(spaces: Mapping[str, Space]) -> bytes:
    """The people of all spaces of a population."""
    parts = {}
    for name, space in spaces.items():
        people = space.people
        columns: dict[str, Any] = {"key": people.key, "unit": people.unit, "copies": people.copies, "atom": people.atom}
        columns |= {f"value {name}": texts.dictionary_encode() for name, texts in people.values.items()}
        columns |= {f"amount {name}": figures for name, figures in people.amounts.items()}
        sink = io.BytesIO()
        pq.write_table(pa.table(columns), sink, compression="zstd")
        parts[name] = np.frombuffer(sink.getvalue(), np.uint8)
    parts["spaces"] = _text({name: list(space.by) for name, space in spaces.items()})
    return _packed(parts)


def load_people(data: bytes) -> dict[str, Space]:
    """What ``dump_people`` wrote, without what was told."""
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as parts:
            spaces = {}
            for name, by in _read(parts["spaces"]).items():
                table = pq.read_table(io.BytesIO(parts[name].tobytes()))
                columns = {column: array_of(table, column) for column in table.column_names}
                people = People(
                    columns["key"],
                    columns["unit"],
                    columns["copies"].to_numpy(),
                    columns["atom"].to_numpy(),
                    {one[6:]: columns[one] for one in columns if one.startswith("value ")},
                    {
                        one[7:]: columns[one].to_numpy(zero_copy_only=False)
                        for one in columns
                        if one.startswith("amount ")
                    },
                )
                spaces[name] = Space(people, (), tuple(by))
    except (KeyError, ValueError, OSError, pa.ArrowException) as error:
        raise _damaged() from error
    return spaces


_ARRAYS = ("group", "leaf", "starts", "places", "low", "high", "possible")


def dump_told(told: Mapping[str, Sequence[Told]], parents: Mapping[str, Numbers]) -> bytes:
    """What a release tells in each space, with the atom that each atom was part of before it."""
    parts: dict[str, Any] = {}
    listed: list[dict[str, Any]] = []
    for space, items in told.items():
        parts[f"parents {space}"] = parents[space]
        for one in items:
            number = len(listed)
            parts |= {f"{name} {number}": getattr(one, name) for name in _ARRAYS}
            listed.append(
                {
                    "space": space,
                    "tells": list(one.tells),
                    "domain": [list(row) for row in one.domain],
                    "leaves": one.leaves,
                    "measure": one.measure,
                    "nonnegative": one.nonnegative,
                    "share": one.share,
                }
            )
    parts["told"] = _text(listed)
    return _packed(parts)


def load_told(data: bytes, number: int, title: str) -> tuple[dict[str, list[Told]], dict[str, Numbers]]:
    """What ``dump_told`` wrote."""
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as parts:
            told: dict[str, list[Told]] = {}
            for place, one in enumerate(_read(parts["told"])):
                arrays = {name: parts[f"{name} {place}"] for name in _ARRAYS}
                told.setdefault(one["space"], []).append(
                    Told(
                        number,
                        title,
                        tells=tuple(one["tells"]),
                        domain=tuple(map(tuple, one["domain"])),
                        leaves=one["leaves"],
                        measure=one["measure"],
                        nonnegative=one["nonnegative"],
                        share=one["share"],
                        **arrays,
                    )
                )
            return told, {name[8:]: parts[name] for name in parts.files if name.startswith("parents ")}
    except (KeyError, ValueError, TypeError, OSError) as error:
        raise _damaged() from error


def _packed(parts: Mapping[str, Any]) -> bytes:
    sink = io.BytesIO()
    np.savez_compressed(sink, **parts)
    return sink.getvalue()


def _text(value: object) -> Numbers:
    return np.frombuffer(json.dumps(value).encode(), np.uint8)


def _read(part: Numbers) -> Any:
    return json.loads(part.tobytes())


def _damaged() -> Damaged:
    return Damaged("The register's facts about people cannot be read.", hint="Restore the newest copy of the register.")
