"""Rows drawn from a model, a block at a time: as a table in memory or, where there are many, in a file.

Nothing here looks at the data, so it costs no privacy.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import combinations
from math import prod
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from discreet.core.release_folder import Rows
from discreet.noise.masking import Generator
from discreet.publish.synthetic.domain import Domain
from discreet.publish.synthetic.graph.model import Model
from discreet.publish.synthetic.zeros import Impossible

ABOUT = "discreet.synthetic"
"""Where a file or table of synthetic rows says how they were made."""
HELD = 1 << 21
"""So many rows are held in memory; more are written to a file."""
_BLOCK = 1 << 18
_TRIES = 64
_MOST_CELLS = 1 << 22
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

        Rows that cannot be are drawn again; if that does not help, they are left out.
        """
        for block in self.model.blocks(rows, rng, _BLOCK):
            codes, values = self._decoded(block, rng)
            for _ in range(_TRIES):
                codes, values, wrong = self._possible(codes, values)
                if not wrong:
                    break
                more, again = self._decoded(self.model.sample(wrong, rng), rng)
                codes, values = np.concatenate([codes, more]), pa.concat_tables([values, again])
            codes, values, _ = self._possible(codes, values)
            yield codes, values

    def _decoded(self, block: Codes, rng: Generator) -> Drawn:
        codes = self.domain.refined(block, rng)
        return codes, self.fine.decoded(codes, rng)

    def _possible(self, codes: Codes, values: pa.Table) -> tuple[Codes, pa.Table, int]:
        """The rows that can be, and how many cannot."""
        wrong = self.impossible.met(values)
        if not len(wrong):
            return codes, values, 0
        kept = np.ones(len(codes), np.bool_)
        kept[wrong] = False
        return codes[kept], values.filter(pa.array(kept)), len(wrong)


@dataclass
class Tally:
    """How often each code, and each pair of codes, was drawn."""

    domain: Domain
    rows: int = 0
    counts: dict[tuple[int, ...], NDArray[np.int64]] = field(init=False)

    def __post_init__(self) -> None:
        sizes = self.domain.sizes
        wanted = [one for k in (1, 2) for one in combinations(range(len(sizes)), k)]
        shapes = {one: tuple(sizes[place] for place in one) for one in wanted}
        self.counts = {one: np.zeros(shape, np.int64) for one, shape in shapes.items() if prod(shape) <= _MOST_CELLS}

    def add(self, codes: Codes) -> None:
        """Count some more."""
        self.rows += len(codes)
        wide = codes.astype(np.int64, order="F")
        for columns, counts in self.counts.items():
            at = np.ravel_multi_index(tuple(wide[:, place] for place in columns), counts.shape)
            self.counts[columns] = counts + np.bincount(at, minlength=counts.size).reshape(counts.shape)


def written(
    blocks: Iterable[Drawn], schema: pa.Schema, tally: Tally, expected: int
) -> Callable[[Mapping[str, object]], pa.Table | Rows]:
    """Draw all blocks, and count them; what is returned puts what there is to say beside them, and gives them.

    Of many rows no more than a block is in memory: they go to a file, which moves where its release is saved.
    """
    if expected <= HELD:
        held = [values for codes, values in _counted(blocks, tally)]
        rows = pa.concat_tables([schema.empty_table(), *held]).combine_chunks()
        return lambda about: rows.replace_schema_metadata({ABOUT: json.dumps(about)})
    with ExitStack() as undo:
        handle, name = tempfile.mkstemp(prefix="discreet-", suffix=".parquet")
        undo.callback(Path(name).unlink)
        os.close(handle)
        writer = pq.ParquetWriter(name, schema, compression="zstd")
        undo.callback(writer.close)
        for _, values in _counted(blocks, tally):
            writer.write_table(values)
        undo.pop_all()

    def finished(about: Mapping[str, object]) -> Rows:
        writer.add_key_value_metadata({ABOUT: json.dumps(about)})
        writer.close()
        return Rows(Path(name))

    return finished


def _counted(blocks: Iterable[Drawn], tally: Tally) -> Iterator[Drawn]:
    for codes, values in blocks:
        tally.add(codes)
        yield codes, values
