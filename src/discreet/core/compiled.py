"""Numba's ``njit`` with a cache of compiled kernels in a folder that this user can write to.

Numba keeps compiled kernels beside the module, or in the user's home, and fails at import if it may write in neither
(a service account without a home, a read-only installation). Then they are kept in the folder that the variable
``DISCREET_COMPILED`` names (for a service one in its workspace), or in one of the user's own among the temporary files;
without such a folder they are compiled in every process.

What is in a cache is run, so the folder must be one that no one else can write to: it belongs to this user, is closed
to others, and is not reached by a link.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba.core import config

_Kernel = TypeVar("_Kernel", bound=Callable[..., Any])
_SETTING = "NUMBA_CACHE_DIR"
FOLDER_VARIABLE = "DISCREET_COMPILED"
"""The environment variable that names the folder for compiled kernels."""


def njit(**options: Any) -> Callable[[_Kernel], _Kernel]:
    """``numba.njit(**options)``; ``cache=True`` also works where neither the package nor the home can be written to."""

    def compiled(function: _Kernel) -> _Kernel:
        try:
            return _njit(function, options)
        except RuntimeError as error:
            if "cannot cache function" not in str(error):
                raise
        if _use(_private_folder()):
            return _njit(function, options)
        return _njit(function, options | {"cache": False})

    return compiled


def _njit(function: _Kernel, options: dict[str, Any]) -> _Kernel:
    return numba.njit(**options)(function)  # type: ignore[no-any-return]


def _use(folder: Path | None) -> bool:
    """Have Numba keep kernels in a folder, in this process and those it starts."""
    if folder is not None:
        os.environ[_SETTING] = str(folder)
        config.reload_config()  # type: ignore[no-untyped-call]
    return folder is not None


def _private_folder() -> Path | None:
    """A folder for compiled kernels, if there can be one that is this user's alone."""
    user = os.getuid() if hasattr(os, "getuid") else os.environ.get("USERNAME", "user")
    try:
        named = os.environ.get(FOLDER_VARIABLE)
        folder = Path(named) if named else Path(tempfile.gettempdir()) / f"discreet-compiled-{user}"
        folder.mkdir(mode=stat.S_IRWXU, exist_ok=True)
        found = folder.lstat()
        if not stat.S_ISDIR(found.st_mode) or (hasattr(os, "getuid") and _open_to_others(found)):
            return None
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError:
        return None


def _open_to_others(folder: os.stat_result) -> bool:
    return folder.st_uid != os.getuid() or bool(folder.st_mode & (stat.S_IRWXG | stat.S_IRWXO))
