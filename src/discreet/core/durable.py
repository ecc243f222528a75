"""Folders that are there as a whole or not at all, also after the power has failed."""

from __future__ import annotations

import os
from pathlib import Path


def settle(made: Path, place: Path) -> None:
    """Move the folder ``made`` to ``place``, which must be free, once all of it is on the disk."""
    for path in (made, *made.rglob("*")):
        _flush(path)
    made.rename(place)
    flush_name(place)


def flush_name(place: Path) -> None:
    """See to it that ``place`` will still have its name."""
    _flush(place.parent)


def _flush(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
