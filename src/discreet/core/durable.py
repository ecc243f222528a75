"""Files and folders that are there as a whole or not at all, also after the power has failed."""

from __future__ import annotations

import os
from pathlib import Path


def write(path: Path, data: bytes | memoryview) -> None:
    """A new file, all of which is on the disk; its name is not yet."""
    with path.open("xb", buffering=0) as file:
        left = memoryview(data)
        while left:
            left = left[file.write(left) :]
        os.fsync(file.fileno())


def settle(made: Path, place: Path) -> None:
    """Move the folder ``made`` to ``place``, which must be free, once all of it is on the disk."""
    for path in made.rglob("*"):
        _flush(path)
    give_name(made, place)


def give_name(made: Path, place: Path) -> None:
    """Move the folder ``made``, the files of which are on the disk already, to ``place``, which must be free."""
    _flush(made)
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
