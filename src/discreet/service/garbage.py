"""Garbage of large questions: collected by the thread that made it, in that question's own turn.

Syntax trees have cycles, so only Python's garbage collector frees what planning leaves behind, and no other thread runs
while it works. By default it looks at the young objects often, in the middle of a large question: the trees still in
use count as old from then on, and every few seconds a full collection of the old ones stops the service for up to half
a second. Here the young are looked at when a large question is done and almost nothing of it is in use. So few objects
grow old, and full collections are rare.

Why this tells nothing of the rows: a turn ends after its collection, and its answer is released at the next step.
"""

from __future__ import annotations

import gc
import sys
import threading
import traceback
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
_THRESHOLDS = (40_000, 100, 50)
"""New objects per collection of generation 0; collections of it per collection of generation 1; and of that per full
collection."""
_LARGE = 2
"""Collections of generation 0 during a large question, at least: Python runs them in the thread that makes objects."""
_SWITCH_SECONDS = 0.0005
"""Time for which a thread that plans a large question keeps others waiting each time they need the interpreter."""


class _Collections(threading.local):
    """Collections of generation 0 in this thread."""

    count = 0


_collections = _Collections()


def configure() -> None:
    """Set up garbage collection and thread switching of a service that has started; what is there by now, stays."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_THRESHOLDS)
    if _count not in gc.callbacks:
        gc.callbacks.append(_count)
    sys.setswitchinterval(_SWITCH_SECONDS)


def tidied(work: Callable[[], T]) -> T:
    """Do ``work``, and collect its garbage if it was large."""
    _collections.count = 0
    try:
        return work()
    except BaseException as error:
        _forget_locals(error)
        raise
    finally:
        if _collections.count >= _LARGE:
            gc.collect(1)


def _count(phase: str, info: dict[str, int]) -> None:
    if phase == "stop" and info["generation"] == 0:
        _collections.count += 1


def _forget_locals(error: BaseException | None) -> None:
    """Clear the local variables of an error's frames: they hold the trees of a question that was refused."""
    while error is not None:
        traceback.clear_frames(error.__traceback__)
        error = error.__context__
