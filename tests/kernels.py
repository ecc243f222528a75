"""Compiled kernels are shared: of two workers that need the same one, the second waits and takes it from the cache."""

from __future__ import annotations

import fcntl
from pathlib import Path
from typing import Any

from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import Dispatcher


def compile_once() -> None:
    """Have every kernel compiled by one process at a time, the others waiting at a file beside its cache.

    A kernel waits for those that it calls, and none is called by itself through others, so nobody waits for ever.
    """
    alone = Dispatcher.compile

    def compile_(self: Dispatcher, signature: Any) -> Any:
        folder = getattr(self._cache, "cache_path", None)
        if folder is None:
            return alone(self, signature)
        Path(folder).mkdir(parents=True, exist_ok=True)
        with global_compiler_lock, Path(folder, f"{self.__module__}.{self.__qualname__}.lock").open("w") as turn:
            fcntl.flock(turn, fcntl.LOCK_EX)
            return alone(self, signature)

    Dispatcher.compile = compile_
