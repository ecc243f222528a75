"""Temporary files of a service: in a folder of its own in the workspace, never among those of other programs.

What a query spills to the disk, and what is uploaded or unpacked by the way, is rows of people, so it lies where the
rows are and with their permissions. A service therefore needs to write to its workspace and to nothing else: not to
``/tmp``, not to a home. Compiled kernels are kept in the workspace too, where neither the package nor the home can be
written to.

Each process locks its folder while it lives. What a killed one left is deleted by the next that starts.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from discreet.core.compiled import FOLDER_VARIABLE

_PREFIX = ".scratch-"
_COMPILED = ".compiled"


@contextmanager
def own_scratch(workspace: Path) -> Iterator[Path]:
    """Have this process, and those it starts, put temporary files in a folder of the workspace, while the block runs.

    Compiled kernels go there by an environment variable, unless someone set that.
    """
    before = tempfile.tempdir, os.environ.get("TMPDIR"), os.environ.get(FOLDER_VARIABLE)
    with _locked(workspace):  # no one else deletes a folder between its making and its lock
        _delete_left(workspace)
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=workspace))
        lock = _lock(folder)
    tempfile.tempdir = str(folder)
    os.environ["TMPDIR"] = str(folder)
    os.environ.setdefault(FOLDER_VARIABLE, str(workspace / _COMPILED))
    try:
        yield folder
    finally:
        tempfile.tempdir = before[0]
        for name, value in (("TMPDIR", before[1]), (FOLDER_VARIABLE, before[2])):
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value
        shutil.rmtree(folder, ignore_errors=True)
        if lock is not None:
            os.close(lock)


def _delete_left(workspace: Path) -> None:
    for folder in workspace.glob(f"{_PREFIX}*"):
        if (lock := _lock(folder)) is not None:
            shutil.rmtree(folder, ignore_errors=True)
            os.close(lock)


def _lock(folder: Path) -> int | None:
    """A lock on a folder that ends with this process; ``None`` if another process has it, or just deleted it."""
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        return None
    return handle


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with suppress(OSError):  # a file system without locks: then nothing that was left can be told and deleted
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
