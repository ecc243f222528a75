"""Limits on what one question may take: seconds, and memory on the engine.

A question that someone else wrote runs inside ``limited``. How much time it has left is known wherever an engine is
asked (``seconds_left``), and every engine stops a query that takes longer. Anyone who hits a limit is told nothing of
it: ``releases/pipeline.py`` says the same words whatever went wrong, since whether a limit is hit may depend on
someone's row.
"""

from __future__ import annotations

import heapq
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
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
    watched = _Watched(time.monotonic() + seconds, stop)
    _WATCH.add(watched)
    try:
        yield
    except BaseException:
        if watched.fired:
            raise too_long() from None
        raise
    finally:
        watched.end()
    if watched.fired:
        raise too_long()


class _Watched:
    """A query that may run until then."""

    def __init__(self, until: float, stop: Callable[[], object]) -> None:
        self.until = until
        self.fired = False
        self._stop: Callable[[], object] | None = stop
        self._over = threading.Event()

    def __lt__(self, other: _Watched) -> bool:
        return self.until < other.until

    def end(self) -> None:
        """It is over; what it would have been stopped with is let go."""
        self._over.set()
        self._stop = None

    def fire(self) -> None:
        """Its time is over: stop it from a thread of its own, since that may take long, too."""
        stop = self._stop
        if stop is not None and not self._over.is_set():
            self.fired = True
            threading.Thread(target=self._stopped, args=(stop,), daemon=True).start()

    def _stopped(self, stop: Callable[[], object]) -> None:
        """Stop the query, again and again until it ends: a stop that an engine was too busy for is tried anew."""
        while not self._over.is_set():
            with suppress(Exception):
                stop()
            self._over.wait(_AGAIN)


class _Watch:
    """One thread that wakes when the time of a query is over, for all queries of a process."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Begin anew: a process that forked has neither the thread nor the queries."""
        self._waiting: list[_Watched] = []
        self._changed = threading.Condition()
        self._runs = False

    def add(self, watched: _Watched) -> None:
        """Watch over a query."""
        with self._changed:
            if not self._runs:
                threading.Thread(target=self._run, name="limits", daemon=True).start()
                self._runs = True
            heapq.heappush(self._waiting, watched)
            if self._waiting[0] is watched:
                self._changed.notify()

    def _run(self) -> None:
        with self._changed:
            while True:
                while self._waiting and self._waiting[0].until <= time.monotonic():
                    heapq.heappop(self._waiting).fire()
                left = self._waiting[0].until - time.monotonic() if self._waiting else None
                self._changed.wait(left)


_WATCH = _Watch()
os.register_at_fork(after_in_child=_WATCH.forget)


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
