"""Whose question is next, and when its answer is released.

Turns are fair between people: everyone has one question under way at a time, their others wait in a line of their
own, and of those who wait the next turn is theirs who had none for longest. So anyone who sends many, or slow ones,
waits behind themselves. A line is short; who is at its end is told to come back later. Waiting takes no thread.

How long an answer takes depends on rows. So it is released at one of a few moments, counted from when its turn began:
after 50 ms, and after every next step, each a quarter longer than the one before. Answers and refusals alike wait for
the next such moment; until then no one is shown that there is one, and anyone who asked begins no other question, so
that their next turn begins at such a moment, too.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from collections.abc import Callable
from typing import TypeVar

from anyio import to_thread

from discreet.errors import TooMany

FIRST_STEP = 0.05
"""Seconds after which the fastest answers are released."""
RATIO = 1.25
"""How much later each moment is than the one before."""
_WAIT = 1
T = TypeVar("T")


def released_after(seconds: float) -> float:
    """The first moment of release, in seconds from the beginning, for an answer ready after ``seconds``."""
    if seconds <= FIRST_STEP:
        return FIRST_STEP
    step = math.ceil(math.log(seconds / FIRST_STEP, RATIO) - 1e-9)
    return FIRST_STEP * RATIO**step


class Turns:
    """Questions under way, one a person and ``at_once`` in all; ``waiting`` of each person may wait.

    For one event loop.
    """

    def __init__(self, at_once: int, waiting: int, waited: Callable[[float], None] = lambda seconds: None) -> None:
        """``waited`` is called with how long each question waited for its turn."""
        self._at_once = at_once
        self._waiting = waiting
        self._waited = waited
        self._given = time.monotonic()
        """When the last turn began."""
        self._lines: dict[str, deque[asyncio.Future[None]]] = {}
        self._busy: set[str] = set()
        self._running = 0
        self._number = 0
        self._last: dict[str, int] = {}
        """The number of everyone's last turn."""

    @property
    def running(self) -> int:
        """How many questions are worked on."""
        return self._running

    @property
    def in_line(self) -> int:
        """How many questions wait."""
        return sum(map(len, self._lines.values()))

    def stalled(self) -> float:
        """Seconds since the last turn began, if someone waits for other people's questions; else 0.

        Those who wait behind their own questions alone do not count.
        """
        return time.monotonic() - self._given if self._lines.keys() - self._busy else 0.0

    async def work(self, name: str, work: Callable[[], T]) -> T:
        """Do something in a thread, in someone's turn."""
        return await self._do(name, work, lambda _: None, stepped=False)

    async def answer(self, name: str, work: Callable[[], T], release: Callable[[T], None]) -> T:
        """As ``work``, for what looks at rows: it is released at the next step, and ``release`` called with it then."""
        return await self._do(name, work, release, stepped=True)

    async def _do(self, name: str, work: Callable[[], T], release: Callable[[T], None], *, stepped: bool) -> T:
        """If this is cancelled in line, there is no turn; a turn that began goes on to its end."""
        await self._turn(name)
        return await asyncio.shield(asyncio.ensure_future(self._take(name, work, release, stepped=stepped)))

    async def _take(self, name: str, work: Callable[[], T], release: Callable[[T], None], *, stepped: bool) -> T:
        began = time.monotonic()
        try:
            try:
                return_ = await to_thread.run_sync(work)
            finally:
                self._running -= 1
                self._next()
                if stepped:
                    end = began + released_after(time.monotonic() - began)
                    await asyncio.sleep(max(0.0, end - time.monotonic()))
            await to_thread.run_sync(release, return_) if stepped else None
            return return_
        finally:
            self._busy.discard(name)
            self._next()

    async def _turn(self, name: str) -> None:
        line = self._lines.setdefault(name, deque())
        if len(line) >= self._waiting:
            raise TooMany(
                "Too many of your questions are waiting.", wait=_WAIT, hint="Wait for an answer, and ask again."
            )
        mine: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        line.append(mine)
        began = time.monotonic()
        self._next()
        try:
            await mine
            self._waited(time.monotonic() - began)
        except asyncio.CancelledError:
            if mine.done() and not mine.cancelled():
                self._running -= 1
                self._busy.discard(name)
            elif mine in line:
                line.remove(mine)
                if not line:
                    del self._lines[name]
            self._next()
            raise

    def _next(self) -> None:
        """Give turns to those who may have one."""
        while self._running < self._at_once:
            ready = [name for name in self._lines if name not in self._busy]
            if not ready:
                return
            name = min(ready, key=lambda one: self._last.get(one, 0))
            line = self._lines[name]
            mine = line.popleft()
            if not line:
                del self._lines[name]
            if mine.cancelled():
                continue
            self._given = time.monotonic()
            self._number += 1
            self._last[name] = self._number
            self._running += 1
            self._busy.add(name)
            mine.set_result(None)
