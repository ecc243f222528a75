"""``hospital(rows, seed)``: a linked world of patients, visits and voters, as skewed as real ones are."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from discreet.core.card import Card, Column, Role
from discreet.core.cardfile import dump_cards
from discreet.core.hierarchy.dates import Dates
from discreet.core.hierarchy.intervals import Intervals
from discreet.core.hierarchy.mask import Mask
from discreet.core.hierarchy.taxonomy import Taxonomy
from discreet.core.kind import Kind
from discreet.core.table import Table
from discreet.engines.read import read
from discreet.errors import BadInput, NotFound
from discreet.samples.world.people import (
    ADULT_AGES,
    AS_OF,
    ETHNICITIES,
    INSURANCES,
    OLDEST,
    PARTIES,
    PATIENT_AGES,
    SEXES,
    People,
    Places,
    dates,
    full_names,
    labels,
    patients,
    people,
    places,
)
from discreet.samples.world.visits import (
    DEAREST,
    DIAGNOSES,
    LONGEST_STAY,
    MOST_VISITS,
    OUTCOMES,
    SINCE,
    WARDS,
    tree,
    visits,
)

CHUNK = 250_000
"""Patients made at a time: memory does not grow with the world."""
TABLES = ("patients", "visits", "voters")


def hospital(rows: int, seed: int = 0) -> Hospital:
    """A made-up hospital with ``rows`` patients; the same for the same arguments, everywhere.

    ``patients`` has one row each (ZIP, sex, birth date, ethnicity, insurance); ``visits`` up to 20 a patient
    over two years (diagnosis, ward, stay, cost, outcome); ``voters`` is a public list with 70 % of the adult
    patients on it, beside as many people who never were patients. No one in it exists.
    """
    if rows < 1:
        raise BadInput(f"A hospital needs at least 1 patient, got {rows}.")
    if seed < 0:
        raise BadInput(f"A seed must be a whole number of at least 0, got {seed}.")
    return Hospital(rows, seed)


@dataclass(frozen=True)
class Hospital:
    """The tables of one made-up hospital, made anew whenever they are asked for."""

    rows: int
    seed: int

    @property
    def cards(self) -> dict[str, Card]:
        """The card of each table."""
        return cards()

    @property
    def chunks(self) -> int:
        """How many chunks the world is made in."""
        return -(-self.rows // CHUNK)

    def batches(self, table: str) -> Iterator[pa.RecordBatch]:
        """The rows of a table, a chunk of patients at a time."""
        _require_table(table)
        return (self.batch(table, chunk) for chunk in range(self.chunks))

    def batch(self, table: str, chunk: int) -> pa.RecordBatch:
        """The rows of a table that belong to one chunk of patients, without making the others."""
        _require_table(table)
        if not 0 <= chunk < self.chunks:
            raise NotFound(f"This hospital has chunks 0 to {self.chunks - 1}; there is no chunk {chunk}.")
        start = chunk * CHUNK
        persons = self._patients(chunk)
        rng = self._rng(chunk + 1, 1 + TABLES.index(table))
        if table == "patients":
            return patients(persons, start + 1, self._places, rng)
        if table == "visits":
            return visits(persons, start + 1, start * MOST_VISITS + 1, rng)
        return voters(persons, 2 * start + 1, self._places, rng)

    def table(self, name: str) -> Table:
        """One table, in memory."""
        return read(pa.Table.from_batches(self.batches(name)), self.cards[name])

    def write(
        self, folder: str | Path, tables: Iterable[str] = TABLES, progress: Callable[[str, float], None] | None = None
    ) -> dict[str, Path]:
        """Write tables as Parquet files, and the cards as ``hospital.toml`` beside them; the tables' paths.

        A file appears under its name when it is complete, or not at all. ``progress`` is told, after every
        chunk, the table's name and which share of it is written.
        """
        folder = Path(folder)
        paths = {name: folder / f"{name}.parquet" for name in tables}
        for name, path in paths.items():
            write_parquet(path, self._reported(name, progress))
        with whole(folder / "hospital.toml") as card:
            card.write_text(dump_cards(self.cards.values()), encoding="utf-8")
        return paths

    @cached_property
    def _places(self) -> Places:
        return places(self.rows, self._rng(0))

    def _patients(self, chunk: int) -> People:
        count = min(CHUNK, self.rows - chunk * CHUNK)
        return people(count, PATIENT_AGES, self._places, self._rng(chunk + 1, 0))

    def _rng(self, *key: int) -> np.random.Generator:
        """A stream of its own for every chunk and table: the child that ``SeedSequence.spawn`` would give."""
        return np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=key))

    def _reported(self, name: str, progress: Callable[[str, float], None] | None) -> Iterator[pa.RecordBatch]:
        for done, batch in enumerate(self.batches(name), start=1):
            yield batch
            if progress is not None:
                progress(name, done / self.chunks)


def _require_table(name: str) -> None:
    if name not in TABLES:
        raise NotFound(f"A hospital has no table {name!r}; it has {', '.join(TABLES)}.")


def cards() -> dict[str, Card]:
    """A card for each table, by name."""
    return {card.name: card for card in (_patients(), _visits(), _voters())}


def _patients() -> Card:
    return Card(
        "patients",
        (
            Column("patient_id", Kind.INTEGER, Role.IDENTIFIER),
            Column("name", Kind.TEXT, Role.IDENTIFIER),
            *_known_to_all(),
            Column("ethnicity", Kind.TEXT, Role.QUASI, categories=ETHNICITIES),
            Column("insurance", Kind.TEXT, Role.SENSITIVE, categories=INSURANCES),
        ),
        unit="patient_id",
        rows_per_unit=1,
    )


def _visits() -> Card:
    day, moment = dt.time.min, dt.time(23, 59, 59, 999_999)
    return Card(
        "visits",
        (
            Column("visit_id", Kind.INTEGER, Role.IDENTIFIER),
            Column("patient_id", Kind.INTEGER, Role.IDENTIFIER),
            Column(
                "admitted",
                Kind.TIMESTAMP,
                Role.QUASI,
                bounds=(dt.datetime.combine(SINCE, day), dt.datetime.combine(AS_OF, moment)),
                hierarchy=Dates(("day", "month", "quarter", "year")),
            ),
            Column(
                "diagnosis",
                Kind.TEXT,
                Role.SENSITIVE,
                categories=tuple(diagnosis.name for diagnosis in DIAGNOSES),
                hierarchy=Taxonomy.from_tree(tree()),
            ),
            Column("ward", Kind.TEXT, Role.QUASI, categories=WARDS),
            Column(
                "length_of_stay",
                Kind.INTEGER,
                Role.QUASI,
                bounds=(0, LONGEST_STAY),
                hierarchy=Intervals(widths=(3, 15, 30)),
                note="Nights",
            ),
            Column("cost", Kind.DECIMAL, Role.SENSITIVE, bounds=(Decimal(0), Decimal(DEAREST))),
            Column("outcome", Kind.TEXT, Role.SENSITIVE, categories=OUTCOMES),
        ),
        unit="patient_id",
        rows_per_unit=MOST_VISITS,
    )


def _voters() -> Card:
    return Card(
        "voters",
        (
            Column("voter_id", Kind.INTEGER, Role.IDENTIFIER),
            Column("name", Kind.TEXT, Role.IDENTIFIER),
            *_known_to_all(),
            Column("party", Kind.TEXT, categories=PARTIES),
            Column("registered", Kind.INTEGER, bounds=(AS_OF.year - OLDEST, AS_OF.year), note="Year"),
        ),
        unit="voter_id",
        rows_per_unit=1,
        note="A public list: what an intruder has.",
    )


def _known_to_all() -> tuple[Column, ...]:
    """What the hospital and the list of voters both hold."""
    return (
        Column("zip", Kind.TEXT, Role.QUASI, hierarchy=Mask(5)),
        Column("sex", Kind.TEXT, Role.QUASI, categories=SEXES),
        Column(
            "birth_date",
            Kind.DATE,
            Role.QUASI,
            bounds=(dt.date(AS_OF.year - OLDEST, 1, 1), AS_OF),
            hierarchy=Dates(("month", "quarter", "year", "decade")),
        ),
    )


LISTED = 0.7
"""The share of adult patients on the list."""
_MOVED = 0.05


def voters(patients: People, first_voter: int, where: Places, rng: np.random.Generator) -> pa.RecordBatch:
    """Voters: the listed of these patients, and as many other adults as there are patients, well mixed.

    One listed patient in twenty has moved: the list and the hospital know different ZIPs.
    """
    listed = np.flatnonzero((patients.age >= 18) & (rng.random(len(patients)) < LISTED))
    others = people(len(patients), ADULT_AGES, where, rng)
    zips = patients.zip[listed]
    moved = rng.random(len(listed)) < _MOVED
    zips[moved] = where.live.draw_many(rng, int(moved.sum()))
    order = rng.permutation(len(listed) + len(others))
    age, sex, birth, first, last = (
        np.concatenate([getattr(patients, name)[listed], getattr(others, name)])[order]
        for name in ("age", "sex", "birth", "first", "last")
    )
    zip_ = np.concatenate([zips, others.zip])[order]
    since = np.floor((age - 17) * rng.random(len(age)) ** 2).astype(np.int64)
    return pa.RecordBatch.from_pydict(
        {
            "voter_id": pa.array(np.arange(first_voter, first_voter + len(order))),
            "name": full_names(first, last),
            "zip": where.codes.take(zip_),
            "sex": labels(SEXES, sex),
            "birth_date": dates(birth),
            "party": labels(PARTIES, where.party.draw(rng, zip_)),
            "registered": pa.array(AS_OF.year - since),
        }
    )


_FEW_VALUES = {"zip", "sex", "birth_date", "ethnicity", "insurance", "diagnosis", "ward", "outcome", "party"}


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """Another name in the same folder to write to; it becomes ``path`` if nothing goes wrong."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        yield unfinished
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def write_parquet(path: Path, batches: Iterator[pa.RecordBatch]) -> None:
    """Write at least one batch."""
    first = next(batches)
    with whole(path) as unfinished, _writer(unfinished, first.schema) as file:
        file.write_batch(first)
        for batch in batches:
            file.write_batch(batch)


def _writer(path: Path, schema: pa.Schema) -> pq.ParquetWriter:
    """A dictionary is kept only for columns in which it saves space."""
    few: Any = [name for name in schema.names if name in _FEW_VALUES]  # pyarrow's stubs know a bool only
    return pq.ParquetWriter(path, schema, compression="zstd", compression_level=1, use_dictionary=few)
