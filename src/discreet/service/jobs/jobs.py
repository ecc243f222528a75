"""Jobs: what takes a while is asked for here, looked after, and found again.

A job is never silently gone. Its row is in the service's database before ``submit`` returns. What it makes it makes in
a process of its own, under other names, and it leaves, gets its final names, and is listed, only when all of it is
there. If that process or the service dies before, it is begun again once, and after that reported as lost; if the
service dies while names are given, anyone who comes next gives the rest of them.
"""

from __future__ import annotations

import datetime as dt
import re
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from discreet.core.release import load_papers
from discreet.curator.people.state import State
from discreet.curator.release_index import LEARNT, Shelf, Shelved
from discreet.curator.upgrading import databases
from discreet.curator.workspace import open_workspace
from discreet.errors import BadInput, DiscreetError
from discreet.noise.entropy import SYSTEM
from discreet.service.jobs.checks import HIDDEN, PUBLISHED, TABULATED, table_of
from discreet.service.jobs.order import Estimate, JobLimits
from discreet.service.jobs.places import Made, Places
from discreet.service.jobs.queue import DONE, WAITING, Claim, Job, Queue
from discreet.service.jobs.runner import PATIENCE, Runner
from discreet.service.jobs.specs import Learn, Spec
from discreet.service.jobs.work import Task

__all__ = ["Job", "Jobs"]
_KINDS = {"publish": PUBLISHED, "tabulate": TABULATED, "hide": HIDDEN, "learn": LEARNT}
"""Jobs that make a release of their own, with its kind in the release index."""
_LONGEST_TITLE = 120


class Jobs:
    """The jobs of a workspace. Threads may share it, and several processes may have it open."""

    def __init__(
        self, state: State, folder: Path, *, patience: float = PATIENCE, limits: JobLimits | None = None
    ) -> None:
        """Of the workspace in ``folder``; a service that was silent for ``patience`` seconds is taken for gone.

        ``limits`` say how many run at the same time, each in a process of its own.
        """
        limits = limits or JobLimits()
        self._workspace = open_workspace(folder)
        self._shelf = Shelf(state, self._workspace)
        self._queue = Queue(state, limits)
        self._places = Places(self._workspace.folder)
        self._runners = [
            Runner(self._queue, self._task, self._put_away, self._places.clear, self._superseded, patience=patience)
            for _ in range(limits.at_once)
        ]

    def submit(self, spec: Spec, by: str, *, key: str | None = None, request: str = "") -> Job:
        """Submit a job; whatever is wrong with it that shows before a row is looked at is an error.

        The same again, by the same person, is the same job until that is over, and under the same idempotency ``key``
        also when it is done.
        """
        table = table_of(spec, self._workspace, self._shelf)
        at = dt.datetime.now(dt.UTC)
        job = Job(
            _name(table, at), spec.kind, by, table, spec.to_dict(), at, WAITING, None, "", None, "", None, request
        )
        id = self._queue.add(job, key)
        self._look()
        return self._queue.find(id)

    def find(self, id: str) -> Job:
        """A job as it is now."""
        return self._queue.find(id)

    def all(self, *, most: int = 50) -> list[Job]:
        """Jobs, newest first."""
        return self._queue.all(most)

    def counts(self) -> Mapping[str, int]:
        """Number of jobs in each state."""
        return self._queue.counts()

    @property
    def alive(self) -> bool:
        """Whether what waits will be worked on, if that was started here."""
        return all(runner.alive for runner in self._runners)

    def cancel(self, id: str) -> None:
        """Stop a job that is not over; nothing of it is left."""
        self._queue.cancel(id)
        self._look()

    def start(self) -> None:
        """Begin to work on what waits."""
        self._places.prepare()
        for runner in self._runners:
            runner.start()

    def stop(self, grace: float) -> None:
        """Finish running jobs within this number of seconds; others wait for the next start."""
        until = time.monotonic() + grace
        for runner in self._runners:
            runner.take_no_more()
        for runner in self._runners:
            runner.stop(max(until - time.monotonic(), 0.0))

    def estimate(self, kind: str, table: str) -> Estimate:
        """What the latest jobs of a kind on a table took."""
        return self._queue.estimate(kind, table)

    def _look(self) -> None:
        """Have all runners look at the queue."""
        for runner in self._runners:
            runner.look()

    def paper(self, id: str, name: str) -> Path:
        """A document that a job made for the table's holder alone."""
        return self._places.paper(id, self._done(id).kind, name)

    def result(self, id: str) -> Mapping[str, Any]:
        """Result of a job, as plain data, for the table's holder alone."""
        return self._places.result(self._done(id).id)

    def _done(self, id: str) -> Job:
        job = self.find(id)
        if job.state != DONE:
            raise BadInput(f"This job is {job.state}, so it has no result.", hint="Wait until it is done.")
        return job

    def _task(self, claim: Claim) -> Task:
        job = claim.job
        attacked = self._shelf.path(job.spec["release"]) if job.kind == "attack" else ""
        run = self._places.run(job.id, claim.run)
        where = str(self._workspace.folder)
        return Task(job.id, where, job.kind, job.table, job.spec, str(run.folder), str(attacked))

    def _superseded(self) -> bool:
        """Whether a later discreet has upgraded the workspace, so that nothing can be released from here any more."""
        return any(one.superseded for one in databases(self._workspace))

    def _put_away(self, claim: Claim) -> None:
        """Give what a run made its place and its line in every list. It may have been begun before."""
        job = claim.job
        try:
            made = self._places.run(job.id, claim.run).made()
        except (OSError, ValueError, DiscreetError):
            self._queue.died(claim, "Its result could not be read.")
            self._queue.let_go(claim)
            return
        self._places.put_away(job.id, claim.run)
        release = None
        if made.answer:
            release = made.answer
            self._put_answer(job, made)
        elif job.kind in _KINDS:
            release = job.id
            self._shelf.put(self._shelved(job, made))
        self._queue.done(claim, made.said, release)
        self._places.clear(job.id, claim.run)
        self._queue.let_go(claim)

    def _put_answer(self, job: Job, made: Made) -> None:
        """List what a curator made and keeps: a model, or a stand-in, which is shared."""
        papers = load_papers(self._workspace.releases / made.answer)
        if job.kind == Learn.kind:
            found = Shelved.learnt(made.answer, papers, job.table, by=job.by)
            self._shelf.put(replace(found, title=_title(made.title) or found.title))
            return
        self._shelf.put(Shelved.synthetic(made.answer, papers, job.table, by=job.by))
        self._shelf.share(made.answer, True)  # also if it had been released to someone before

    def _shelved(self, job: Job, made: Made) -> Shelved:
        return Shelved(
            id=job.id,
            kind=_KINDS[job.kind],
            title=_title(made.title) or f"{job.table}, {_KINDS[job.kind]}",
            tables=(job.table,),
            by=job.by,
            at=dt.datetime.now(dt.UTC),
            method=made.method,
            loss=None,
            private=made.private,
            shared=False,
            place=str(self._places.release(job.id).relative_to(self._workspace.folder)),
        )


def _title(text: str) -> str:
    """A title that the release index accepts: column names in it may contain any character."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())[:_LONGEST_TITLE].strip()


def _name(table: str, at: dt.datetime) -> str:
    """A name that no other job has: the day, the table, and a few random letters."""
    told = re.sub("[^0-9a-z]+", "-", table.lower()).strip("-")[:20].strip("-")
    return f"{at:%Y%m%d}-{told or 'table'}-{SYSTEM.bytes(4).hex()}"
