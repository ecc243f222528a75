"""What the holder keeps of a release beside it, for nobody else's eyes: there if the release is, else not."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from discreet.core.atomic_files import owned
from discreet.core.release_folder import write_rows

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


def fingerprint(release: Path | pa.Table) -> str:
    """By which a kept file knows its release: the SHA-256 of its rows as they are, or will be, saved; of none, none."""
    if isinstance(release, pa.Table):
        digest = _Digest()
        write_rows(release, digest)
        return digest.sha256.hexdigest()
    place = release / "payload.parquet"
    if not place.is_file():
        return ""
    with place.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class _Digest(io.RawIOBase):
    """A file that is nowhere: its hash is all that is left."""

    def __init__(self) -> None:
        self.sha256 = hashlib.sha256()
        self._written = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self.sha256.update(data)
        self._written += len(data)
        return len(data)

    def tell(self) -> int:
        return self._written


@contextmanager
def private(place: Path) -> Iterator[BinaryIO]:
    """A new file that its owner alone may read, from its first byte on; an error if there is one already."""
    with open(place, "xb", opener=owned) as file:
        yield file
