"""Files and folders that are there as a whole or not at all, also after the power has failed; and those that nobody but
their owner may read, whatever the umask."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

FOLDER, FILE = 0o700, 0o600
"""Permissions of what only its owner may read."""


def write(path: Path, data: bytes | memoryview, *, private: bool = False) -> None:
    """A new file, all of which is on the disk; its name is not yet."""
    with open(path, "xb", buffering=0, opener=owned if private else None) as file:
        left = memoryview(data)
        while left:
            left = left[file.write(left) :]
        os.fsync(file.fileno())


def settle(made: Path, place: Path) -> None:
    """Move ``made`` to ``place``, which must be free, once all of it is on the disk, for its owner alone."""
    make_private(made)
    for path in made.rglob("*"):
        _flush(path)
    give_name(made, place)


def give_name(made: Path, place: Path) -> None:
    """Move the folder ``made``, the files of which are on the disk already, to ``place``, which must be free."""
    _flush(made)
    made.rename(place)
    flush_name(place)


def make_private(place: Path) -> None:
    """Let nobody but the owner of a file, or of a folder and all in it, read it."""
    for path in (place, *place.rglob("*")):
        if not path.is_symlink():
            path.chmod(FOLDER if path.is_dir() else FILE)


def readable_by_others(folder: Path) -> list[Path]:
    """What in ``folder`` somebody other than its owner may read or write: nothing, if nobody else may enter it."""
    if not folder.stat().st_mode & 0o077:
        return []
    return [path for path in (folder, *folder.rglob("*")) if not path.is_symlink() and path.stat().st_mode & 0o077]


def owned(path: str, flags: int) -> int:
    """For ``open``: a file that only its owner may read, from its first byte on, also if it was there before."""
    handle = os.open(path, flags, FILE)
    if flags & (os.O_WRONLY | os.O_RDWR):
        os.fchmod(handle, FILE)
    return handle


@contextmanager
def open_private(place: Path) -> Iterator[BinaryIO]:
    """A new file that its owner alone may read, on the disk when the block ends; an error if there is one already."""
    with open(place, "xb", opener=owned) as file:
        yield file
        file.flush()
        os.fsync(file.fileno())


def flush_name(place: Path) -> None:
    """See to it that ``place`` will still have its name."""
    _flush(place.parent)


def _flush(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
