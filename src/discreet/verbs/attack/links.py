"""Which released row is whose, as the holder kept it when the release was made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from discreet.core.holder_copy import RELEASE, fingerprint
from discreet.errors import DataError, NotFound


def links_of(folder: Path, links: Path | None = None) -> npt.NDArray[Any] | None:
    """For each row of the release in ``folder`` the original's row number, from 0.

    Without ``links`` the file that ``publish`` kept beside the folder is taken; ``None`` if there is none. An error if
    it was kept of another release.
    """
    place = links or folder.resolve().with_name(f"{folder.resolve().name}.links.parquet")
    if not place.is_file():
        if links is None:
            return None
        raise NotFound(f"There is no file {links}.")
    try:
        with pq.ParquetFile(place) as file:
            if file.schema_arrow.names != ["row"]:
                raise DataError(f"{place} does not say which row is whose.", hint="Give the file that publish kept.")
            of = (file.metadata.metadata or {}).get(RELEASE.encode(), b"").decode()
            if not of or of != fingerprint(folder):
                raise DataError(
                    f"{place} {'is of another release than' if of else 'does not say that it is of'} {folder}, so that "
                    "nobody could tell which row is whose.",
                    hint="Give the file that publish kept with this release (--links), or move this one away.",
                )
            return file.read().column("row").to_numpy()
    except pa.ArrowException as error:
        raise DataError(f"{place} cannot be read: {error}.") from error
