"""Health of the service: its databases, disk and queues, as far as they answer in time.

A database that is away may let anyone who asks it wait for long. So it is asked in a thread of its own, one at a time,
and anyone who wants to know waits for that as long as is set, and no longer. No request waits in that thread, and none
of the service's own threads is taken: they may all be waiting for the same database.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import shutil
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Generic, TypeVar

from discreet.curator.people.person import Person, Role
from discreet.service.operations.operations import Operations
from discreet.service.settings import Settings
from discreet.service.turns import Turns
from discreet.service.views import BudgetView

T = TypeVar("T")
_READER = Person("condition", Role.AUDITOR, dt.datetime.fromtimestamp(0, dt.UTC), disabled=False, must_change=False)
"""Identity of the checks: an auditor's permissions suffice."""
_GOOD_FOR = 1.0
"""Time for which a result is reused, seconds."""
_LONG = 60.0
"""Time beyond the limit of one question after which a queue that begins none counts as stuck, seconds."""


@dataclass(frozen=True)
class DatabaseState:
    """Figures from the databases: budgets and jobs."""

    accounts: Sequence[BudgetView]
    jobs: Mapping[str, int]
    """Number of jobs, by state."""


class Lookup(Generic[T]):
    """A value that is looked up in a thread of its own when someone asks for it."""

    def __init__(self, look: Callable[[], T]) -> None:
        self._look = look
        self._lock = threading.Lock()
        self._latest: Future[T] | None = None
        self._until = 0.0

    async def within(self, seconds: float) -> T | None:
        """The value, if it is found within ``seconds`` or was found just now; ``None`` if not, or after an error."""
        found = asyncio.wrap_future(self._begun())
        found.add_done_callback(lambda one: one.cancelled() or one.exception())  # it may come when no one waits
        await asyncio.wait([found], timeout=seconds)  # which leaves it under way
        return found.result() if found.done() and found.exception() is None else None

    def _begun(self) -> Future[T]:
        with self._lock:
            if self._latest is None or (self._latest.done() and time.monotonic() > self._until):
                self._latest = Future()
                threading.Thread(target=self._run, args=(self._latest,), name="condition", daemon=True).start()
            return self._latest

    def _run(self, found: Future[T]) -> None:
        try:
            result = self._look()
        except Exception as error:  # noqa: BLE001  # whatever it is, it is not known
            self._until = time.monotonic() + _GOOD_FOR
            found.set_exception(error)
        else:
            self._until = time.monotonic() + _GOOD_FOR
            found.set_result(result)


class Condition:
    """The parts that a service depends on, and whether they work."""

    def __init__(self, desk: Operations, turns: Turns, settings: Settings) -> None:
        self._desk, self._turns, self._least = desk, turns, settings.free_disk_bytes
        self._wait = settings.health_seconds
        self._longest = desk.workspace.limits.seconds + _LONG
        self._databases = Lookup(self._ask)
        self._disk = Lookup(lambda: shutil.disk_usage(desk.workspace.folder).free)

    async def databases(self) -> DatabaseState | None:
        """The figures from the databases; ``None`` if they do not answer in time."""
        return await self._databases.within(self._wait)

    async def problems(self) -> dict[str, str]:
        """The problem of each part, in words that anyone may read; empty if there is none."""
        found, free = await asyncio.gather(self.databases(), self._disk.within(self._wait))
        said = {"database": "" if found is not None else "The database does not answer.", "disk": "", "queue": ""}
        if free is None:
            said["disk"] = "The disk does not answer."
        elif free < self._least:
            said["disk"] = "The disk is almost full."
        if self._turns.stalled() > self._longest:
            said["queue"] = "Questions wait, and none begins."
        elif not self._desk.jobs_alive:
            said["queue"] = "Jobs are not worked on."
        return said

    def _ask(self) -> DatabaseState:
        return DatabaseState(self._desk.budgets.accounts(_READER), self._desk.job_counts(_READER))
