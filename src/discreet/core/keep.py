"""What the holder keeps of a release beside it, for nobody else's eyes: there if the release is, else not."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

RELEASE = "discreet.release"
"""The note in a kept file that says which release it belongs to."""


@contextmanager
def kept(rows: pa.Table | None, place: str | Path | None) -> Iterator[dict[str, str]]:
    """Write ``rows`` before the block, and give the file its name once the block ended well.

    What the block adds to the notes that it is given stands in the file as Parquet metadata.
    """
    notes: dict[str, str] = {}
    if rows is None or place is None:
        yield notes
        return
    final = Path(place).absolute()
    waiting = final.with_name(f".discreet-{final.name}")
    waiting.unlink(missing_ok=True)  # of a process that was stopped
    try:
        with private(waiting) as file, pq.ParquetWriter(file, rows.schema) as writer:
            writer.write_table(rows)
            file.flush()
            yield notes
            writer.add_key_value_metadata(notes)
        waiting.rename(final)
    finally:
        waiting.unlink(missing_ok=True)


def fingerprint(folder: Path) -> str:
    """By which a kept file knows its release: the SHA-256 of its rows as saved; of no rows, none."""
    place = folder / "payload.parquet"
    if not place.is_file():
        return ""
    with place.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def private(place: Path) -> Iterator[BinaryIO]:
    """A new file that its owner alone may read, from its first byte on; an error if there is one already."""
    with os.fdopen(os.open(place, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
        yield file
