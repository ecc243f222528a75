"""What the holder keeps of a release beside it, for nobody else's eyes: there if the release is, else not."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq


@contextmanager
def kept(rows: pa.Table | None, place: str | Path | None) -> Iterator[None]:
    """Write ``rows`` before the block, and give the file its name once the block ended well."""
    if rows is None or place is None:
        yield
        return
    final = Path(place).absolute()
    waiting = final.with_name(f".discreet-{final.name}")
    waiting.unlink(missing_ok=True)  # of a process that was stopped
    try:
        with private(waiting) as file:
            pq.write_table(rows, file)
        yield
        waiting.rename(final)
    finally:
        waiting.unlink(missing_ok=True)


@contextmanager
def private(place: Path) -> Iterator[BinaryIO]:
    """A new file that its owner alone may read, from its first byte on; an error if there is one already."""
    with os.fdopen(os.open(place, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
        yield file
