"""Rows drawn from a model, a block at a time: as a table in memory or, where there are many, in a file.

Nothing here looks at the data, so it costs no privacy.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import combinations
from math import prod
from pathlib import Path
from typing import TypeAlias, cast

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from discreet.core.release import Rows
from discreet.core.release_extras import SYNTHETIC
from discreet.noise.masking import Generator
from discreet.verbs.synthesize.domain import Domain
from discreet.verbs.synthesize.graph.model import Model
from discreet.verbs.synthesize.zeros import Impossible

HELD = 1 << 21
"""So many rows are held in memory; more are written to a file."""
_BLOCK = 1 << 18
_TRIES = 32
"""So often other values are drawn for the same codes of a model."""
_ROUNDS = 4
"""So often whole rows are drawn again."""
_MOST_CELLS = 1 << 24
"""Combinations of codes are counted up to so many in all."""
Codes: TypeAlias = NDArray[np.integer]
Drawn: TypeAlias = tuple[Codes, pa.Table]


@dataclass(frozen=True)
class Source:
    """What rows are drawn from."""

    model: Model
    domain: Domain
    """The codes of the model."""
    fine: Domain
    """The codes before any were merged."""
    impossible: Impossible

    def drawn(self, rows: int, rng: Generator) -> Iterator[Drawn]:
        """Blocks of rows, as fine codes and as values.

        Of rows that cannot be, other values with the same codes of the model are drawn: what the model says of its
        codes was measured, and stays. Where there seem to be none, the whole row is drawn again; if that does not help
        either, it is left out.
        """
        for block in self.model.blocks(rows, rng, _BLOCK):
            found, left = list[Drawn](), cast("Codes", block)
            for round_ in range(_ROUNDS):
                if round_ and len(left):
                    left = self.model.sample(len(left), rng)
                for _ in range(_TRIES):
                    if len(left):
                        drawn, left = self._possible(left, rng)
                        found.append(drawn)
            yield np.concatenate([codes for codes, _ in found]), pa.concat_tables([values for _, values in found])

    def _possible(self, block: Codes, rng: Generator) -> tuple[Drawn, Codes]:
        """Values for rows of the model's codes: those that can be, and the codes of those that cannot."""
        codes = self.domain.refined(block, rng)
        values = self.fine.decoded(codes, rng)
        wrong = np.zeros(len(codes), np.bool_)
        wrong[self.impossible.met(values)] = True
        if not wrong.any():
            return (codes, values), block[:0]
        return (codes[~wrong], values.filter(pa.array(~wrong))), block[wrong]


@dataclass
class Tally:
    """How often each code, and each pair of codes, was drawn."""

    domain: Domain
    rows: int = 0
    counts: dict[tuple[int, ...], NDArray[np.int64]] = field(init=False)

    def __post_init__(self) -> None:
        sizes = self.domain.sizes
        self.counts = {
            columns: np.zeros([sizes[place] for place in columns], np.int64) for columns in tallied(self.domain)
        }

    def add(self, codes: Codes) -> None:
        """Count some more."""
        self.rows += len(codes)
        wide = codes.astype(np.int64, order="F")
        for columns, counts in self.counts.items():
            at = np.ravel_multi_index(tuple(wide[:, place] for place in columns), counts.shape)
            self.counts[columns] += np.bincount(at, minlength=counts.size).reshape(counts.shape)


def tallied(domain: Domain) -> list[tuple[int, ...]]:
    """The columns, and pairs of columns, that are counted: the smallest first, as long as there is room."""
    room, found = _MOST_CELLS, list[tuple[int, ...]]()
    wanted = [one for k in (1, 2) for one in combinations(range(len(domain.sizes)), k)]
    for columns in sorted(wanted, key=lambda one: prod(domain.sizes[place] for place in one)):
        room -= prod(domain.sizes[place] for place in columns)
        if room >= 0:
            found.append(columns)
    return sorted(found, key=wanted.index)


@contextmanager
def written(
    blocks: Iterable[Drawn], schema: pa.Schema, tally: Tally, expected: int
) -> Iterator[Callable[[Mapping[str, object]], pa.Table | Rows]]:
    """Draw all blocks, and count them; what is given puts what there is to say beside them, and gives them.

    Of many rows no more than a block is in memory: they go to a file, which moves where its release is saved. Where
    the block under ``with`` fails, the file is gone.
    """
    if expected <= HELD:
        held = [values for codes, values in _counted(blocks, tally)]
        rows = pa.concat_tables([schema.empty_table(), *held]).combine_chunks()
        yield lambda about: rows.replace_schema_metadata({SYNTHETIC: json.dumps(about)})
        return
    with ExitStack() as undo:
        handle, name = tempfile.mkstemp(prefix="discreet-", suffix=".parquet")
        undo.callback(Path(name).unlink)
        os.close(handle)
        writer = pq.ParquetWriter(name, schema, compression="zstd")
        undo.callback(writer.close)
        for _, values in _counted(blocks, tally):
            writer.write_table(values)

        def finished(about: Mapping[str, object]) -> Rows:
            writer.add_key_value_metadata({SYNTHETIC: json.dumps(about)})
            writer.close()
            return Rows(Path(name))

        yield finished
        undo.pop_all()


def _counted(blocks: Iterable[Drawn], tally: Tally) -> Iterator[Drawn]:
    for codes, values in blocks:
        tally.add(codes)
        yield codes, values
