"""The process of a job. It tells the service how far it is, through a pipe, and ends when the service does.

What it tells is JSON: ``at`` (share and words), and last one of ``made``, ``failed`` (an error that people may read)
and ``stumbled`` (any other: its kind, and where in the code; never what it says, which may quote rows).
"""

from __future__ import annotations

import json
import os
import signal
import tempfile
import threading
import time
import traceback
from dataclasses import asdict
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any

from discreet.errors import DiscreetError
from discreet.service.jobs.places import Run
from discreet.service.jobs.work import Task, work

_PAUSE = 0.25
"""Progress is told at most so often, in seconds."""
_PLACES = 4
_NICE = 5
"""Whoever asks something comes first."""


class Child:
    """A task in a process of its own."""

    def __init__(self, task: Task) -> None:
        context = get_context("spawn")
        self._pipe, end = context.Pipe(duplex=False)
        self._process: SpawnProcess = context.Process(target=_main, args=(end, json.dumps(asdict(task))))
        self._process.start()
        end.close()

    @property
    def pid(self) -> int | None:
        """The number of its process."""
        return self._process.pid

    def hear(self, seconds: float) -> dict[str, Any] | None:
        """What it says within some seconds, if anything; an ``EOFError`` when it is gone."""
        if not self._pipe.poll(seconds):
            return None
        try:
            said: dict[str, Any] = json.loads(self._pipe.recv_bytes())
        except OSError:
            raise EOFError from None
        return said

    def end(self) -> str:
        """See to it that it and whatever it started are gone; how it ended, in words."""
        try:
            if self._process.pid is not None:
                os.killpg(self._process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):  # it is gone already, or had no group of its own yet
            self._process.kill()
        self._process.join()
        self._pipe.close()
        code = self._process.exitcode or 0
        self._process.close()
        return f"by signal {-code}" if code < 0 else f"with status {code}"


def where(error: BaseException) -> str:
    """The last places of the code that an error passed."""
    frames = traceback.extract_tb(error.__traceback__)[-_PLACES:]
    return ", ".join(f"{frame.filename.rpartition('discreet/')[2]}:{frame.lineno}" for frame in frames)


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
    except DiscreetError as error:
        teller.tell("failed", str(error))
    except BaseException as error:  # noqa: BLE001  # whatever it is, it is told, without what it says
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

    def progress(self, share: float, what: str) -> None:
        """Tell how far it is, unless that was told a moment ago."""
        now = time.monotonic()
        if now - self._last >= _PAUSE:
            self._last = now
            self.tell("at", [float(share), str(what)])

    def tell(self, what: str, about: object) -> None:
        self._pipe.send_bytes(json.dumps({what: about}).encode())
