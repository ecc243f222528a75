"""Jobs, and their queue: rows of the service's database, which several service processes may work on.

A process that works on a job owns it, and says every few seconds that it is still there. Whatever it writes, it writes
only if it still owns the job's present run; so one that was away for too long, and whose job someone else has begun
again, changes nothing any more.

That a job is over, and how it ended, is written down in the audit log in the same transaction.
"""

from __future__ import annotations

import datetime as dt
import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

from discreet.budget.store import Session
from discreet.curator.people.audit import Audit
from discreet.curator.people.state import State
from discreet.errors import BadInput, NotFound, Refused
from discreet.service.jobs.order import Estimate, JobLimits, Queued, free_memory, next_job

LOG = logging.getLogger("discreet.service.jobs")
WAITING, RUNNING, DONE, FAILED, LOST, CANCELLED = "waiting", "running", "done", "failed", "lost", "cancelled"
OVER = frozenset({DONE, FAILED, LOST, CANCELLED})
"""The states that a job stays in."""
ENDED = "ended"
"""What the audit log calls how a job ended."""
MOST_RUNS = 2
"""A job whose process died is begun again once."""
_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS jobs (id text PRIMARY KEY, kind text NOT NULL, person text NOT NULL, "
    "about text NOT NULL, spec text NOT NULL, at text NOT NULL, state text NOT NULL, progress double precision, "
    "said text NOT NULL, result text, error text NOT NULL, "
    "runs integer NOT NULL, owner text, beat text, settling integer NOT NULL)",
    "CREATE TABLE IF NOT EXISTS job_keys (person text NOT NULL, key text NOT NULL, job text NOT NULL, "
    "PRIMARY KEY (person, key))",
    "CREATE TABLE IF NOT EXISTS job_times (job text PRIMARY KEY, kind text NOT NULL, about text NOT NULL, "
    "began text NOT NULL, ended text)",
    "CREATE TABLE IF NOT EXISTS job_peaks (job text PRIMARY KEY, kind text NOT NULL, about text NOT NULL, "
    "bytes bigint NOT NULL)",
    "CREATE TABLE IF NOT EXISTS job_requests (job text PRIMARY KEY, request text NOT NULL)",
)
_COLUMNS = "id, kind, person, about, spec, at, state, progress, said, result, error, runs, settling"
_BEFORE = (
    "(SELECT count(*) FROM jobs AS earlier WHERE earlier.state IN ('waiting', 'running') "
    "AND (earlier.at, earlier.id) < (jobs.at, jobs.id))"
)
_KEYED = (
    "SELECT id, kind, jobs.person, about, spec FROM job_keys JOIN jobs ON jobs.id = job_keys.job "
    "WHERE job_keys.person = ? AND key = ? AND state IN (?, ?, ?)"
)
_BEGAN = "(SELECT began FROM job_times WHERE job_times.job = jobs.id)"
_SEEN = f"SELECT {_COLUMNS}, {_BEFORE}, {_BEGAN} FROM jobs"  # noqa: S608  # constants
_BEGIN = (
    "INSERT INTO job_times (job, kind, about, began) VALUES (?, ?, ?, ?) "
    "ON CONFLICT (job) DO UPDATE SET began = excluded.began"
)
_TIMED = "SELECT began, ended FROM job_times WHERE kind = ? AND about = ? AND ended IS NOT NULL"
_TIMED_MOST = 10
"""Number of earlier jobs that an estimate is made from."""
_REQUEST = "SELECT request FROM job_requests WHERE job = ?"
_PEAK = (
    "SELECT MAX(bytes) FROM job_peaks JOIN job_times ON job_times.job = job_peaks.job "
    "WHERE job_peaks.kind = ? AND job_peaks.about = ?"
)
_QUEUED = "SELECT id, kind, person, about, owner FROM jobs WHERE state = ? ORDER BY at, id LIMIT 1000"
_LAST_BEGAN = (
    "SELECT person, MAX(began) FROM job_times JOIN jobs ON jobs.id = job_times.job "
    "WHERE person IN (SELECT person FROM jobs WHERE state = 'waiting') GROUP BY person"
)
_IDS, _UPDATE = "SELECT id FROM jobs", "UPDATE jobs SET"
_HAS_WAITING = "SELECT count(*) FROM jobs WHERE person = ? AND state = 'waiting'"
_MINE = "WHERE id = ? AND owner = ? AND runs = ? AND state = 'running'"
_SILENT = "owner IS NOT NULL AND beat < ?"


@dataclass(frozen=True)
class Job:
    """A job, as anyone who may see jobs sees it."""

    id: str
    kind: str
    by: str
    table: str
    spec: Mapping[str, Any]
    at: dt.datetime
    """When it was asked for."""
    state: str
    progress: float | None
    """The share that is done; ``None`` while no one knows."""
    said: str
    """What it is at or, when it is over, what came of it."""
    result: str | None
    """The name of the release that it made, if it made one."""
    error: str
    """What went wrong, and what to do; empty if nothing did."""
    began: dt.datetime | None = None
    """Start of its latest run."""
    request: str = ""
    """The number of the request that asked for it, as in the log; empty if it came another way."""
    expected_seconds: float | None = None
    """How long earlier ones of its kind on its table took, at the median, while it is not over."""
    expected_bytes: int | None = None
    """The most memory that one of them took."""

    @property
    def over(self) -> bool:
        """Whether it will not change any more."""
        return self.state in OVER


@dataclass(frozen=True)
class Claim:
    """A job in someone's hands: this run of it, and whether all of it was made and only has to be put away."""

    job: Job
    owner: str
    run: int
    settling: bool = False


class Queue:
    """The rows. Any thread may use it."""

    def __init__(self, state: State, limits: JobLimits | None = None) -> None:
        self._state = state
        self._limits = limits or JobLimits()
        self._audit = Audit(state)
        state.ensure(*_SCHEMA)

    def add(self, job: Job, key: str | None = None) -> str:
        """Put a new job at the end; its id, or that of the same job by the same person if that is not over yet.

        An idempotency ``key`` names the submission: whatever its owner submits under it is the same job, however long
        ago it was done, unless that failed, was lost or was cancelled. So anyone who clicks twice, or sends a request
        again, gets one job.
        """
        spec = json.dumps(dict(job.spec), ensure_ascii=False)
        row = (job.id, job.kind, job.by, job.table, spec, stamp(job.at))
        same = f"{_IDS} WHERE kind = ? AND person = ? AND about = ? AND spec = ? AND state IN (?, ?) LIMIT 1"
        new = (
            "INSERT INTO jobs (id, kind, person, about, spec, at, state, said, error, runs, settling) "
            "VALUES (?, ?, ?, ?, ?, ?, 'waiting', '', '', 0, 0)"
        )

        def add(session: Session) -> str:
            if key is not None and (earlier := session.rows(_KEYED, (job.by, key, WAITING, RUNNING, DONE))):
                id, *submitted = earlier[0]
                if tuple(submitted) != row[1:5]:
                    raise BadInput("This key belongs to another job.", hint="Submit a different job under a new key.")
                return str(id)
            rows = session.rows(same, (*row[1:5], WAITING, RUNNING))
            if not rows:
                [(waiting,)] = session.rows(_HAS_WAITING, (job.by,))
                if waiting >= self._limits.waiting:
                    raise Refused(
                        f"{waiting} jobs of {job.by} wait already, and no more may.",
                        hint="Wait until some are done, or cancel some.",
                    )
                session.run(new, [row])
                if job.request:
                    session.run("INSERT INTO job_requests (job, request) VALUES (?, ?)", [(job.id, job.request)])
            id = str(rows[0][0]) if rows else job.id
            if key is not None:
                session.run("DELETE FROM job_keys WHERE person = ? AND key = ?", [(job.by, key)])
                session.run("INSERT INTO job_keys (person, key, job) VALUES (?, ?, ?)", [(job.by, key, id)])
            return id

        return self._state.change(add)

    def find(self, id: str) -> Job:
        """One of them."""
        with self._state.reading() as session:
            rows = session.rows(f"{_SEEN} WHERE id = ?", (id,))
        if not rows:
            raise NotFound("There is no such job.")
        return self._expected([_job(rows[0])])[0]

    def all(self, most: int) -> list[Job]:
        """The newest ones."""
        with self._state.reading() as session:
            found = [_job(row) for row in session.rows(f"{_SEEN} ORDER BY at DESC, id DESC LIMIT ?", (most,))]
        return self._expected(found)

    def counts(self) -> dict[str, int]:
        """How many there are in each state."""
        with self._state.reading() as session:
            found = dict(session.rows("SELECT state, count(*) FROM jobs GROUP BY state"))
        return {state: int(found.get(state, 0)) for state in (WAITING, RUNNING, *sorted(OVER))}

    def due(self, silent_since: dt.datetime) -> bool:
        """Whether there is anything to ``claim``, or to ``take_over``."""
        sql = f"{_IDS} WHERE state = 'waiting' OR ({_SILENT}) LIMIT 1"
        with self._state.reading() as session:
            return bool(session.rows(sql, (stamp(silent_since),)))

    def claim(self, owner: str) -> Claim | None:
        """Take the job that is next (``order.py``), if one may begin."""
        sets = "state = 'running', said = 'starting', runs = runs + 1, owner = ?, beat = ?"
        claim = self._taken(sets, "state = 'waiting'", (), owner, lambda session: self._next(session, owner))
        if claim is not None:
            row = (claim.job.id, claim.job.kind, claim.job.table, stamp())
            self._state.change(lambda session: session.run(_BEGIN, [row]))
        return claim

    def take_over(self, owner: str, silent_since: dt.datetime) -> Claim | None:
        """Take a job from an owner who has said nothing since then, whatever its state."""
        silent = (stamp(silent_since),)

        def oldest(session: Session) -> str | None:
            rows = session.rows(f"{_IDS} WHERE {_SILENT} ORDER BY at, id LIMIT 1", silent)
            return str(rows[0][0]) if rows else None

        return self._taken("owner = ?, beat = ?", _SILENT, silent, owner, oldest)

    def beat(self, claim: Claim, progress: float | None, said: str) -> bool:
        """Say that one is still there, and how far; whether the job is still to be worked on."""
        return self._set(claim, "beat = ?, progress = ?, said = ?", stamp(), progress, said)

    def settle(self, claim: Claim) -> bool:
        """All is made: from here on it is put away, by anyone who is there, and cannot be cancelled any more."""
        return self._set(claim, "beat = ?, settling = 1", stamp())

    def done(self, claim: Claim, said: str, result: str | None) -> bool:
        """It is over, and all is where it belongs."""
        ended = "UPDATE job_times SET ended = ? WHERE job = ?"
        self._state.change(lambda session: session.run(ended, [(stamp(), claim.job.id)]))
        return self._ended(claim, DONE, "progress = 1, said = ?, result = ?", said, result)

    def note_peak(self, claim: Claim, peak: int) -> None:
        """Write down how much memory a run has had."""
        note = (
            "INSERT INTO job_peaks (job, kind, about, bytes) VALUES (?, ?, ?, ?) "
            "ON CONFLICT (job) DO UPDATE SET bytes = excluded.bytes"
        )
        row = (claim.job.id, claim.job.kind, claim.job.table, peak)
        self._state.change(lambda session: session.run(note, [row]))

    def estimate(self, kind: str, table: str) -> Estimate:
        """What the latest jobs of a kind on a table took, newest first; none that failed."""
        with self._state.reading() as session:
            return _estimate(session, kind, table)

    def failed(self, claim: Claim, error: str) -> bool:
        """It is over, and nothing came of it."""
        return self._ended(claim, FAILED, "said = '', error = ?", error)

    def died(self, claim: Claim, why: str) -> bool:
        """The process that did it is gone: it waits to be begun again or, the second time, is lost."""
        if claim.run >= MOST_RUNS:
            said = f"{why} It was started {MOST_RUNS} times and failed. Nothing was released."
            told = f"{said} Submit it again; the machine may have too little memory."
            ended, level, became = self._ended(claim, LOST, "said = '', error = ?", told), logging.ERROR, "is lost"
        else:
            said = f"{why} It restarts from the beginning; nothing was released."
            ended, level, became = self._back(claim, said, 0), logging.WARNING, "begins again"
        if ended:
            LOG.log(level, "job %s %s: %s", claim.job.id, became, why, extra=traced(claim.job))
        return ended

    def give_back(self, claim: Claim, said: str) -> bool:
        """Let go of a job that was interrupted and not at fault; this run does not count."""
        return self._back(claim, said, 1)

    def let_go(self, claim: Claim) -> None:
        """A job is over, nothing lies about any more, and it needs no one's care: until then it has an owner."""
        self._changed(f"{_UPDATE} owner = NULL WHERE id = ? AND owner = ? RETURNING id", (claim.job.id, claim.owner))

    def cancel(self, id: str) -> None:
        """From now on it is over; who works on it will notice."""
        sql = f"{_UPDATE} state = ?, said = '' WHERE id = ? AND state IN (?, ?) AND settling = 0 "
        if not self._over(sql, CANCELLED, (CANCELLED, id, WAITING, RUNNING)):
            job = self.find(id)
            told = f"is over: it is {job.state}" if job.state in OVER else "is almost done"
            raise BadInput(f"This job can no longer be cancelled: it {told}.")

    def _ended(self, claim: Claim, state: str, sets: str, *values: object) -> bool:
        whose = (claim.job.id, claim.owner, claim.run)
        return self._over(f"{_UPDATE} state = ?, {sets} {_MINE} ", state, (state, *values, *whose))

    def _over(self, sql: str, state: str, parameters: tuple[object, ...]) -> bool:
        """Have a job be over, and write down how it ended; whether there was one to end."""

        def over(session: Session) -> bool:
            rows = session.rows(f"{sql}RETURNING id, kind, person, about, result", parameters)
            for id, kind, person, table, result in rows:
                about = {"table": table, "job": id, ENDED: state} | ({"release": result} if result else {})
                if asked := session.rows(_REQUEST, (id,)):
                    about["request"] = asked[0][0]
                self._audit.add(session, person, kind, about, well=state == DONE)
            return bool(rows)

        return self._state.change(over)

    def _back(self, claim: Claim, said: str, spared: int) -> bool:
        sets = "state = ?, progress = NULL, said = ?, owner = NULL, settling = 0, runs = runs - ?"
        return self._set(claim, sets, WAITING, said, spared)

    def _set(self, claim: Claim, sets: str, *values: object) -> bool:
        """Change the row of a job while it is in someone's hands; whether it still is."""
        sql = f"{_UPDATE} {sets} {_MINE} RETURNING id"
        return self._changed(sql, (*values, claim.job.id, claim.owner, claim.run))

    def _next(self, session: Session, owner: str) -> str | None:
        """The job that is next, decided in the transaction that takes it, so that no limit is exceeded."""
        process = owner.rpartition(":")[0]

        def queued(state: str) -> list[Queued]:
            rows = session.rows(_QUEUED, (state,))
            return [
                Queued(id, kind, person, table, str(by).rpartition(":")[0] == process)
                for id, kind, person, table, by in rows
            ]

        if not (waiting := queued(WAITING)):
            return None
        last_began = dict(session.rows(_LAST_BEGAN))
        estimate = cache(partial(_estimate, session))
        found = next_job(waiting, queued(RUNNING), last_began, self._limits, estimate=estimate, free_bytes=free_memory)
        return None if found is None else found.id

    def _expected(self, jobs: list[Job]) -> list[Job]:
        """Jobs, and what those that are not over will take, as far as earlier ones tell."""
        known = {(job.kind, job.table) for job in jobs if not job.over}
        if not known:
            return jobs
        with self._state.reading() as session:
            found = {one: _estimate(session, *one) for one in known}
        return [
            job
            if job.over
            else replace(job, expected_seconds=(one := found[job.kind, job.table]).typical, expected_bytes=one.memory)
            for job in jobs
        ]

    def _taken(
        self,
        sets: str,
        free: str,
        values: tuple[object, ...],
        owner: str,
        find: Callable[[Session], str | None],
    ) -> Claim | None:
        """Take the job that ``find`` names, if it is ``free``."""
        sql = f"{_UPDATE} {sets} WHERE id = ? AND {free} RETURNING {_COLUMNS}"

        def take(session: Session) -> tuple[list[tuple[Any, ...]], str]:
            if (id := find(session)) is None:
                return [], ""
            rows = session.rows(sql, (owner, stamp(), id, *values))
            asked = session.rows(_REQUEST, (rows[0][0],)) if rows else []
            return rows, asked[0][0] if asked else ""

        rows, request = self._state.change(take)
        if not rows:
            return None
        return Claim(replace(_job((*rows[0], 0, None)), request=request), owner, rows[0][11], bool(rows[0][12]))

    def _changed(self, sql: str, parameters: tuple[object, ...]) -> bool:
        return bool(self._state.change(lambda session: session.rows(sql, parameters)))


def _estimate(session: Session, kind: str, table: str) -> Estimate:
    rows = session.rows(f"{_TIMED} ORDER BY began DESC LIMIT {_TIMED_MOST}", (kind, table))
    began, ended = ([dt.datetime.fromisoformat(row[column]) for row in rows] for column in (0, 1))
    seconds = [(last - first).total_seconds() for first, last in zip(began, ended, strict=True)]
    [(peak,)] = session.rows(_PEAK, (kind, table))
    return Estimate(seconds, peak)


def traced(job: Job) -> dict[str, str]:
    """What a line of the log about a job says beside its text: which request asked for it."""
    return {"request": job.request} if job.request else {}


def stamp(at: dt.datetime | None = None) -> str:
    """A time as it is kept: texts in the order of times."""
    return (at or dt.datetime.now(dt.UTC)).astimezone(dt.UTC).isoformat(timespec="microseconds")


def _job(row: tuple[Any, ...]) -> Job:
    id, kind, by, table, spec, at, state, progress, said, result, error, _, _, before, began = row
    if state == WAITING and before:
        said = f"{said} {before} {'job is' if before == 1 else 'jobs are'} before it.".strip()
    start = dt.datetime.fromisoformat(began) if began else None
    submitted = dt.datetime.fromisoformat(at)
    return Job(id, kind, by, table, json.loads(spec), submitted, state, progress, said, result, error, start)
