"""``hospital(rows, seed)``: a linked world of patients, visits and voters, as skewed as real ones are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa

from discreet.core.card import Card
from discreet.core.cardfile import dump_cards
from discreet.core.table import Table
from discreet.engines.read import read
from discreet.errors import BadInput, NotFound
from discreet.samples.world.cards import cards
from discreet.samples.world.files import whole, write_parquet
from discreet.samples.world.people import PATIENT_AGES, People, patients, people
from discreet.samples.world.places import Places, places
from discreet.samples.world.visits import MOST_VISITS, visits
from discreet.samples.world.voters import voters

CHUNK = 250_000
"""Patients made at a time: memory does not grow with the world."""
TABLES = ("patients", "visits", "voters")


def hospital(rows: int, seed: int = 0) -> Hospital:
    """A made-up hospital with ``rows`` patients; the same for the same arguments, everywhere.

    ``patients`` has one row each (ZIP, sex, birth date, ethnicity, insurance); ``visits`` up to 20 a patient
    over two years (diagnosis, ward, stay, cost, outcome); ``voters`` is a public list with 70 % of the adult
    patients on it, beside as many people who never were patients. Nobody in it exists.
    """
    if rows < 1:
        raise BadInput(f"A hospital needs at least 1 patient, got {rows}.")
    if seed < 0:
        raise BadInput(f"A seed is a whole number from 0 on, got {seed}.")
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
        self,
        folder: str | Path,
        tables: Iterable[str] = TABLES,
        progress: Callable[[str, float], None] | None = None,
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
