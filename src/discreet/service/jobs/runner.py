"""The thread that works on jobs, one at a time, each in a child process, which ends when the service does.

A child reports JSON through a pipe: ``at`` (share and words), and last one of ``made``, ``failed`` (an error that
people may read), ``unreachable`` (the same, of a server that did not answer) and ``stumbled`` (any other: its kind, and
where in the code; never its text, which may quote rows).

How a run ended is written down once the database answers, if it does before the job counts as orphaned. A run that was
interrupted while the database was away, or because a later discreet has upgraded the workspace, does not count.
"""

from __future__ import annotations

import atexit
import datetime as dt
import errno
import json
import os
import signal
import socket
import tempfile
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import asdict
from enum import Enum, auto
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any

from discreet.core.text import number
from discreet.errors import DiscreetError, Unreachable
from discreet.noise.entropy import SYSTEM
from discreet.service.jobs.order import out_of_memory_kills, peak_memory
from discreet.service.jobs.places import Run
from discreet.service.jobs.queue import LOG, MOST_RUNS, Claim, Queue, traced
from discreet.service.jobs.work import Task, work

PATIENCE = 30.0
"""Time without a sign of life after which a worker is considered lost, seconds."""
_BEAT = 2.0
_LOOK = 0.25
_IDLE = 1.0
_PAUSE = 0.25
"""Least time between reports of progress, seconds."""
_PLACES = 4
DISK_FULL = "The disk is full."
_FULL = (errno.ENOSPC, errno.EDQUOT)
"""What the system says when a disk, or someone's share of it, is full."""
_NICE = 5
"""Niceness of a child: anyone who asks something comes first."""


class _End(Enum):
    MADE = auto()
    FAILED = auto()
    AWAY = auto()
    DIED = auto()
    TAKEN = auto()
    STOPPED = auto()


class Runner:
    """Works on what waits, until it is stopped.

    ``task`` says what a run's process is told; ``put_away`` gives what a run made its final place and says so in the
    queue; ``clear`` leaves nothing of a run; ``superseded`` says whether a later discreet has upgraded the workspace.
    """

    def __init__(
        self,
        queue: Queue,
        task: Callable[[Claim], Task],
        put_away: Callable[[Claim], None],
        clear: Callable[[str, int], None],
        superseded: Callable[[], bool],
        *,
        patience: float,
    ) -> None:
        self._queue, self._task, self._put_away, self._clear = queue, task, put_away, clear
        self._superseded = superseded
        self._patience = patience
        self._owner = f"{socket.gethostname()}:{os.getpid()}:{SYSTEM.bytes(4).hex()}"
        self._thread: threading.Thread | None = None
        self._wake, self._stopping, self._at_once = threading.Event(), threading.Event(), threading.Event()
        self._trouble = ""
        """What it stumbled over when it last looked for something to do."""
        self.child: Child | None = None
        """The process that works just now."""

    def start(self) -> None:
        """Begin."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._go, name="discreet-jobs", daemon=True)
            self._thread.start()
            atexit.register(self.stop, 0.0)

    @property
    def alive(self) -> bool:
        """Whether it works, if it was started."""
        return self._thread is None or self._thread.is_alive()

    def take_no_more(self) -> None:
        """Take no new jobs."""
        self._stopping.set()
        self._wake.set()

    def stop(self, grace: float) -> None:
        """Take no new jobs, give running ones this number of seconds, then return them to the queue."""
        self.take_no_more()
        if self._thread is not None:
            atexit.unregister(self.stop)
            self._thread.join(grace)
            self._at_once.set()
            self._thread.join()

    def look(self) -> None:
        """There is something new in the queue."""
        self._wake.set()

    def _go(self) -> None:
        while not self._stopping.is_set():
            try:
                busy, trouble = self._turn(), ""
            except Exception as error:  # noqa: BLE001  # the database is away, the disk is full: later it may go on
                busy, trouble = False, f"{type(error).__name__} at {where(error)}"
            if trouble != self._trouble:  # and not every time that it looks
                LOG.warning("jobs wait: %s", trouble) if trouble else LOG.info("jobs go on")
                self._trouble = trouble
            if not busy:
                self._wake.wait(_IDLE)
                self._wake.clear()

    def _turn(self) -> bool:
        """Do one thing, if there is one to do."""
        silent = dt.datetime.now(dt.UTC) - dt.timedelta(seconds=self._patience)
        if not self._queue.due(silent):
            return False
        orphan = self._queue.take_over(self._owner, silent)
        if orphan is not None:
            self._care_for(orphan)
            return True
        claim = self._queue.claim(self._owner)
        if claim is not None:
            self._work_on(claim)
        return claim is not None

    def _care_for(self, orphan: Claim) -> None:
        """A job whose service is gone: what it had made is put away, anything less is begun again, or lost."""
        LOG.warning("job %s had lost its service", orphan.job.id, extra=traced(orphan.job))
        if orphan.settling:
            self._put_away(orphan)
            return
        self._clear(orphan.job.id, orphan.run)
        if not orphan.job.over:
            self._queue.died(orphan, "The service that ran it was gone.")
        self._queue.let_go(orphan)

    def _work_on(self, claim: Claim) -> None:
        id = claim.job.id
        try:
            task = self._task(claim)
        except DiscreetError as error:
            self._queue.failed(claim, str(error))
            self._queue.let_go(claim)
            return
        LOG.info("job %s begins", id, extra=traced(claim.job))
        child = self.child = Child(task)
        try:
            end, problem = self._attend(child, claim)
        finally:
            self.child = None
            how = child.end()
        LOG.info("job %s ends: %s", id, end.name.lower(), extra=traced(claim.job))
        self._write_down(claim, end, problem or how, child.peak)

    def _write_down(self, claim: Claim, end: _End, why: str, peak: int) -> None:
        """Write down how a run ended, again and again while the database is away or the disk is full."""
        until, away = time.monotonic() + self._patience, False
        while True:
            try:
                self._close(claim, end, why, peak, away=away)
                return
            except (DiscreetError, OSError) as error:
                if time.monotonic() > until or self._at_once.wait(_LOOK):
                    raise  # the job is orphaned: the next service takes it over
                away = away or isinstance(error, Unreachable)

    def _close(self, claim: Claim, end: _End, why: str, peak: int, *, away: bool) -> None:
        """Write down how a run ended. It may have been begun before."""
        if peak:
            self._queue.note_peak(claim, peak)
        if end is _End.MADE and self._queue.settle(claim):
            self._put_away(claim)
            return
        self._clear(claim.job.id, claim.run)
        if end is _End.STOPPED:
            self._queue.give_back(claim, "The service was stopped. The job restarts with the service.")
        elif end is _End.AWAY and away:
            self._queue.give_back(claim, "The database was away. The job restarts from the beginning.")
        elif end is _End.DIED or (end is _End.AWAY and claim.run < MOST_RUNS):
            self._queue.died(claim, why)
        elif end is _End.FAILED and self._superseded():
            LOG.warning("no more jobs are begun: a later discreet has upgraded the workspace")
            self._stopping.set()
            self._queue.give_back(claim, "The workspace was upgraded. The job restarts with the new service.")
        elif end in (_End.FAILED, _End.AWAY):
            self._queue.failed(claim, why)
        self._queue.let_go(claim)

    def _attend(self, child: Child, claim: Claim) -> tuple[_End, str]:
        """Pass on what the process says, until it is over or someone else says so: how it ended, and the error."""
        progress, words = None, "starting"
        beaten, told = time.monotonic(), False
        while not self._at_once.is_set():
            try:
                said = child.hear(_LOOK)
            except EOFError:
                return _End.DIED, ""
            if said is not None:
                if "at" not in said:
                    return self._last_word(said, claim)
                (progress, words), told = said["at"], True
            since = time.monotonic() - beaten
            if told or since > _BEAT or self._wake.is_set():
                self._wake.clear()
                try:
                    if not self._queue.beat(claim, progress, words):
                        return _End.TAKEN, ""
                except DiscreetError:  # the database is away; others take the job over if it stays so
                    if since > self._patience:
                        return _End.TAKEN, ""
                    continue
                beaten, told = time.monotonic(), False
        return _End.STOPPED, ""

    def _last_word(self, said: dict[str, object], claim: Claim) -> tuple[_End, str]:
        if "made" in said:
            return _End.MADE, ""
        if "unreachable" in said:
            return _End.AWAY, str(said["unreachable"])
        if "failed" in said:
            return _End.FAILED, str(said["failed"])
        if isinstance(told := said.get("stumbled"), dict) and told.get("kind") == MemoryError.__name__:
            return _End.FAILED, "This job needs more memory than it could have. Nothing was released."
        log = SYSTEM.bytes(4).hex()
        LOG.error("job %s stumbled, %s: %s", claim.job.id, log, said["stumbled"], extra=traced(claim.job))
        error = f"This job failed with an internal error (log {log}). Nothing was released."
        return _End.FAILED, f"{error} Report this log number to the administrator."


class Child:
    """A task in a process of its own."""

    def __init__(self, task: Task) -> None:
        context = get_context("spawn")
        self._pipe, end = context.Pipe(duplex=False)
        self._process: SpawnProcess = context.Process(target=_main, args=(end, json.dumps(asdict(task))))
        self.peak = 0
        """The most memory that it was seen to have, bytes."""
        self._kills = out_of_memory_kills()
        self._process.start()
        end.close()

    @property
    def pid(self) -> int | None:
        """The number of its process."""
        return self._process.pid

    def hear(self, seconds: float) -> dict[str, Any] | None:
        """What it says within some seconds, if anything; an ``EOFError`` when it is gone."""
        self.peak = max(self.peak, peak_memory(self._process.pid or 0) or 0)
        if not self._pipe.poll(seconds):
            return None
        try:
            said: dict[str, Any] = json.loads(self._pipe.recv_bytes())
        except OSError:
            raise EOFError from None
        return said

    def end(self) -> str:
        """See to it that it and whatever it started are gone; how it ended, in a sentence."""
        try:
            if self._process.pid is not None:
                os.killpg(self._process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):  # it is gone already, or had no group of its own yet
            self._process.kill()
        self._process.join()
        self._pipe.close()
        code = self._process.exitcode or 0
        self._process.close()
        if code == -signal.SIGKILL and (out_of_memory_kills() or 0) > (self._kills or 0):
            had = f", when it had {number(round(self.peak / 1_000_000), 'megabyte')}" if self.peak else ""
            return f"The system ended its process because memory ran out{had}."
        return f"Its process ended by signal {-code}." if code < 0 else f"Its process ended with status {code}."


def where(error: BaseException) -> str:
    """The last places of the code that an error passed."""
    frames = traceback.extract_tb(error.__traceback__)[-_PLACES:]
    return ", ".join(f"{frame.filename.rpartition('discreet/')[2]}:{frame.lineno}" for frame in frames)


def disk_is_full(error: BaseException | None) -> bool:
    """Whether a full disk is behind an error, in the words of the system, of DuckDB or of SQLite."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in _FULL:
            return True
        if any(words in str(error) for words in (*map(os.strerror, _FULL), "disk is full")):
            return True
        error = error.__cause__ or error.__context__
    return False


def _main(pipe: Connection, task: str) -> None:
    os.setsid()  # a group of its own, so that all of it can be ended at once, and Ctrl-C is the service's alone
    os.nice(_NICE)
    os.umask(0o077)  # whatever it writes lies in the workspace
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _hush()
    teller = _Teller(pipe)
    try:
        asked = Task(**json.loads(task))
        _at_home(Run(Path(asked.folder)))
        work(asked, teller.progress)
        teller.tell("made", True)
    except BaseException as error:  # noqa: BLE001  # whatever it is, it is told
        if disk_is_full(error):
            teller.tell("failed", f"{DISK_FULL} Nothing was released. Free space on it, then submit the job again.")
        elif isinstance(error, DiscreetError):
            teller.tell("unreachable" if isinstance(error, Unreachable) else "failed", str(error))
        else:  # without what it says
            teller.tell("stumbled", {"kind": type(error).__name__, "where": where(error)})


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
    os.killpg(0, signal.SIGKILL)


def _hush() -> None:
    """What libraries print may quote rows: it goes nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(nowhere, stream)
    os.close(nowhere)


def _at_home(run: Run) -> None:
    """Whatever is written by the way lies in the folder of the run, and goes with it."""
    run.begin()
    os.chdir(run.scratch)
    os.environ["TMPDIR"] = tempfile.tempdir = str(run.scratch)


class _Teller:
    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe
        self._last = float("-inf")

    def progress(self, share: float | None, what: str) -> None:
        """Tell how far it is, if that is known, unless it was told a moment ago."""
        now = time.monotonic()
        if now - self._last >= _PAUSE:
            self._last = now
            self.tell("at", [None if share is None else float(share), str(what)])

    def tell(self, what: str, about: object) -> None:
        self._pipe.send_bytes(json.dumps({what: about}).encode())
