"""What the holder keeps of a release beside it: there if the release is, and not if it is not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

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
    try:
        pq.write_table(rows, waiting)
        yield
        waiting.rename(final)
    finally:
        waiting.unlink(missing_ok=True)
