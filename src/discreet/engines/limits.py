"""Limits on what one question may take: seconds, and memory on the engine.

A question that someone else wrote runs inside ``limited``. How much time it has left is known wherever an engine is
asked (``seconds_left``), and every engine stops a query that takes longer. Anyone who hits a limit is told nothing of
it:
``releases/pipeline.py`` says the same words whatever went wrong, since whether a limit is hit may depend on someone's
row.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
from sqlglot import exp

from discreet.core.engine import Engine, Written
from discreet.errors import BadInput, DiscreetError, EngineError, LoginFailed, Refused, Unreachable

if TYPE_CHECKING:
    from discreet.core.engine import Part

_AGAIN = 0.2
SPILLED = 4
"""How many times its memory a query may put on the disk."""


@dataclass(frozen=True)
class Limits:
    """What one question may take."""

    seconds: float = 60.0
    """From when it is planned to its answer; for other methods, of each query on the engine."""
    memory: int = 2_000
    """Megabytes that an engine may hold for it; four times as many may lie on the disk."""

    def __post_init__(self) -> None:
        for name, least in (("seconds", 0.001), ("memory", 64)):
            said = getattr(self, name)
            if isinstance(said, bool) or not isinstance(said, int | float) or not least <= said <= 10**7:
                raise BadInput(f"The limit {name} must be a number of at least {least:g}, not {said!r}.")


@dataclass(frozen=True)
class _Running:
    limits: Limits
    until: float | None
    """When all of it must be over, by the monotonic clock; ``None``: each query has its own time."""


_running: ContextVar[_Running | None] = ContextVar("discreet_limits", default=None)


@contextmanager
def limited(limits: Limits, *, times: float = 1, whole: bool = True) -> Iterator[None]:
    """Run a block within limits; ``times`` multiplies the time limit of the whole block.

    Without ``whole`` each query has its own time. Inside another block the limits of that one hold.
    """
    if _running.get() is not None:
        yield
        return
    token = _running.set(_Running(limits, time.monotonic() + times * limits.seconds if whole else None))
    try:
        yield
    finally:
        _running.reset(token)


def seconds_left() -> float | None:
    """How long a query may take that is asked now; ``None``: as long as it likes. An error if the time is over."""
    running = _running.get()
    if running is None or running.until is None:
        return None if running is None else running.limits.seconds
    left = running.until - time.monotonic()
    if left <= 0:
        raise too_long()
    return left


def memory_allowed() -> int | None:
    """Megabytes that an engine may hold for what runs now; ``None``: as many as it likes."""
    running = _running.get()
    return None if running is None else int(running.limits.memory)


@contextmanager
def stopping(stop: Callable[[], object], seconds: float) -> Iterator[None]:
    """Call ``stop`` from another thread if the block takes longer than that, which is then an error.

    It is called until the block ends: what has not begun yet, an engine does not stop.
    """
    fired, over = threading.Event(), threading.Event()

    def fire() -> None:
        fired.set()
        while not over.is_set():
            stop()
            over.wait(_AGAIN)

    timer = threading.Timer(seconds, fire)
    timer.daemon = True
    timer.start()
    try:
        yield
    except BaseException:
        if fired.is_set():
            raise too_long() from None
        raise
    finally:
        over.set()
        timer.cancel()
    if fired.is_set():
        raise too_long()


def too_long() -> EngineError:
    """What is said of a query that was stopped."""
    return EngineError("The query exceeded its time limit.", hint="Limits are set in workspace.toml.")


def fetch(engine: Engine, query: exp.Query | Written, *, each: Part | None = None) -> pa.Table:
    """The rows of ``query``, or what ``each`` keeps of them; it may take as long as the question's limits say.

    Whatever goes wrong may depend on someone's row, so nothing is said of it; unless the rows were not reached. No
    value is why: whether there is an answer would tell of it.
    """
    try:
        if isinstance(query, Written):
            return engine.fetch_written(query, seconds=seconds_left(), each=each)
        return engine.fetch(query, seconds=seconds_left(), each=each, forgiving=True)
    except (Unreachable, LoginFailed):
        raise
    except DiscreetError:
        raise Refused("The question could not be answered.", hint="Ask the data holder to investigate.") from None
