"""Files that are whole, or not there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

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
