"""De-anonymisation of sparse tables, such as who rated which film.

Narayanan and Shmatikov (2008), "Robust de-anonymization of large sparse datasets": a handful of roughly known entries
finds a record among hundreds of thousands, since hardly two records are alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from discreet.core.release import Release
from discreet.core.table import Table
from discreet.errors import BadInput, DataError
from discreet.verbs.attack.finding import Array, Finding, failed_finding, share_finding
from discreet.verbs.attack.matching import encode


@dataclass(frozen=True)
class Scoreboard:
    """Scoreboard-RH: record linkage of sparse rows by weighted matches of known entries.

    Every known entry of a person gives points to the records that have it, more for rare items and for nearer values.
    The best record is named only if it stands out: its lead over the second is at least ``eccentricity`` standard
    deviations of all scores. (1.5 serves among hundreds of thousands; among hundreds a lead comes about by chance more
    often, and 5 is better.)

    Both tables have a row an entry: the ``person`` (in the release a pseudonym; equal in both tables where the steward
    knows it to be the same, which the attacker does not use), the ``item``, and ``values`` with the distance at which
    a value is worth e times less, such as ``{"stars": 1.5, "day": 30}``.
    """

    person: str
    item: str
    values: Mapping[str, float] = field(default_factory=dict)
    eccentricity: float = 1.5

    name: ClassVar[str] = "scoreboard"

    def applies(self, release: Release[Any]) -> str | None:
        """``None`` if the release is a table of entries, else the reason why not."""
        if not isinstance(release.payload, pa.Table):
            return "The release is not a table of rows."
        wanted = (self.person, self.item, *self.values)
        missing = [name for name in wanted if name not in release.payload.column_names]
        return f"The release has no column {missing[0]!r}." if missing else None

    def run(self, release: Release[Any], known: Table, links: Array | None = None) -> Finding:
        """Share of people whose record is identified correctly."""
        knows = (
            "The attacker knows a few entries of each person, approximately "
            f"({', '.join((self.item, *self.values))}), and "
            "names a record only if it stands out."
        )
        try:
            if why := self.applies(release):
                raise DataError(why)
            board = _Board.of(release.payload, known.fetch(), self)
        except BadInput as problem:
            return failed_finding(self.name, knows, str(problem))
        named = np.array([board.best_record(target, self.eccentricity) for target in range(len(board.targets))])
        right = (named >= 0) & (named == board.targets)
        baseline = float(np.mean(board.targets >= 0)) / board.records
        meaning = (
            "Share of people whose whole record the attacker finds from a few known entries; 0 is best, 1 "
            "means that everyone is re-identified."
        )
        details = {
            "people": len(right),
            "records": board.records,
            "named": int(np.sum(named >= 0)),
            "named wrongly": int(np.sum((named >= 0) & ~right)),
            "known entries per person, on average": float(len(board.items) / len(right)),
        }
        return share_finding(
            self.name, knows, right.astype(float), baseline, meaning, details=details, people=board.first
        )


@dataclass(frozen=True)
class _Board:
    """Released entries sorted by item, and known entries sorted by person."""

    records: int
    record: Array
    """Record of each released entry."""
    start: Array
    """Index of the first released entry of each item."""
    numbers: Array
    """Values of each released entry, one row per entry."""
    targets: Array
    """True record of each known person, -1 if unknown: for measuring success only."""
    first: Array
    """First row of each person in the known table."""
    bounds: Array
    """Index of the first known entry of each person."""
    items: Array
    """Item of each known entry."""
    values: Array
    """Values of each known entry, one row per entry."""
    scale: Array

    @classmethod
    def of(cls, shown: pa.Table, known: pa.Table, said: Scoreboard) -> _Board:
        for name in (said.person, said.item, *said.values):
            if name not in known.column_names:
                raise DataError(f"The attacker's table has no column {name!r}.")
        if not shown.num_rows or not known.num_rows:
            raise DataError("There are no entries.")
        people, who = _shared_codes(shown[said.person], known[said.person])
        items, what = _shared_codes(shown[said.item], known[said.item])
        order = np.argsort(items, kind="stable")
        kinds = int(max(items.max(), what.max())) + 1
        mine = np.argsort(who, kind="stable")
        targets, begin = np.unique(who[mine], return_index=True)
        there = np.isin(targets, people)
        records, record = np.unique(people, return_inverse=True)
        place = np.searchsorted(records, targets).clip(0, len(records) - 1)
        scale = np.array([float(one) for one in said.values.values()])
        return cls(
            len(records),
            record[order],
            np.searchsorted(items[order], np.arange(kinds + 1)),
            _numbers(shown, said)[order],
            np.where(there, place, -1),
            mine[begin],
            np.append(begin, len(mine)),
            what[mine],
            _numbers(known, said)[mine],
            scale,
        )

    def best_record(self, target: int, eccentricity: float) -> int:
        """The record that stands out for a person's known entries; -1 if none does."""
        score = np.zeros(self.records)
        for entry in range(self.bounds[target], self.bounds[target + 1]):
            low, high = self.start[self.items[entry]], self.start[self.items[entry] + 1]
            if high > low:
                apart = np.abs(self.numbers[low:high] - self.values[entry]) / self.scale
                near = np.exp(-np.nan_to_num(apart, nan=np.inf)).sum(axis=1) if self.scale.size else 1.0
                np.add.at(score, self.record[low:high], near / np.log(max(high - low, 2)))
        if self.records == 1:
            return 0
        second, best = np.partition(score, self.records - 2)[-2:]
        spread = float(score.std())
        return int(np.argmax(score)) if spread > 0 and (best - second) / spread >= eccentricity else -1


def _shared_codes(a: Any, b: Any) -> tuple[Array, Array]:
    if a.type != b.type:
        raise DataError("Release and attacker's table have different types of people or items.")
    codes, _ = encode(pa.chunked_array([*a.chunks, *b.chunks]))
    return codes[: len(a)], codes[len(a) :]


def _numbers(rows: pa.Table, said: Scoreboard) -> Array:
    """Values as numbers, one row per entry; dates in days."""
    columns = []
    for name in said.values:
        cells = rows[name].cast(pa.int32()) if pa.types.is_date32(rows[name].type) else rows[name]
        try:
            columns.append(np.asarray(cells.cast(pa.float64()).to_numpy(), dtype=float))
        except pa.ArrowException:
            raise DataError(f"{name!r} holds no numbers.") from None
    return np.column_stack(columns) if columns else np.zeros((rows.num_rows, 0))
