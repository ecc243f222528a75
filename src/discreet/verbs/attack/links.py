"""Which released row is whose, as the holder's copy of a release says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy.typing as npt

from discreet.core.holder_copy import belongs, holder_file, read_holder_copy
from discreet.errors import DataError, NotFound


def links_of(folder: Path, links: Path | None = None) -> npt.NDArray[Any] | None:
    """For each row of the release in ``folder`` the original's row number, from 0.

    Without ``links`` the holder's copy beside the folder is taken; ``None`` if there is none, or if it has no links. An
    error if it is of another release.
    """
    place = links or holder_file(folder)
    try:
        copy = read_holder_copy(place)
    except NotFound:
        if links is None:
            return None
        raise
    if copy.links is None:
        if links is None:
            return None
        raise DataError(f"{place} does not say which row is whose.", hint="Give the holder's copy of a masked release.")
    if not belongs(copy, folder):
        raise DataError(
            f"{place} is of another release than {folder}, so that nobody could tell which row is whose.",
            hint="Give the holder's copy of this release (--links), or move this one away.",
        )
    return copy.links
