"""An hour at work: twenty analysts, jobs, and everything that goes wrong, one after the other; nothing lost or doubled.

Two services share a ledger in PostgreSQL. While analysts ask, and a steward has a table published again and again,

* the line to the database is cut for a while,
* a service is killed (-9) and started again,
* the disk of the workspace is full for a while (a tmpfs that is made smaller; only where one may be mounted),
* the workspace is upgraded: its ledger is in the format of the version before, and services are replaced. With
  ``--earlier SOURCE`` (the folder ``src`` of that version) the services are of that version until then, and the upgrade
  comes while they work.

That is over after the first half. Then nothing is disturbed any more, and memory and open files of the services are
watched: they must not grow. In the end every answer that an analyst has must be in the ledger with its price, and
sealed; the same question must always have had the same answer; the ledger, the answers and the audit log must be sound;
and every job must be over, and none lost. A job may have failed because the disk was full, if it says so; then it is
submitted again under the same key, and must be done. What became of jobs of the earlier version before the upgrade is
its own affair: if they were lost or failed they are listed, submitted again, and must be done by this one.
"""

from __future__ import annotations

import datetime as dt
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import psycopg

from bench.harness import options, report, result
from bench.load import finish, start
from bench.serve import Place, begun, made, postgres, until_ready
from bench.serve_kill import Outcome, checked
from discreet.budget.ledger import POSTGRES_SCHEMA
from discreet.curator.people.audit import Audit
from discreet.curator.people.people import People
from discreet.curator.people.person import Role
from discreet.curator.people.state import State
from discreet.curator.workspace import open_workspace
from discreet.service.jobs.runner import DISK_FULL

ANALYSTS = 20
PATIENTS = 2_000
MEMORY_GOAL, FILES_GOAL = 1.10, 5
LATEST_CALM = 0.5
"""Share of the time after which nothing is disturbed any more; if that takes longer, all of it does."""
_PAUSE = 0.4
_JOB_SECONDS = 20.0
_SAMPLE_SECONDS = 5.0
_END_SECONDS = 240.0
_DISK_BYTES = 4_000_000_000
_SPARE_BYTES = 64_000
STEWARD = "steward counts blue kites"


class Line:
    """The line between the services and the database, which can be cut."""

    def __init__(self, socket_folder: str) -> None:
        self._inside = f"{socket_folder}/.s.PGSQL.5432"
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self._cut = threading.Event()
        self._ends: set[socket.socket] = set()
        threading.Thread(target=self._accept, daemon=True).start()

    @contextmanager
    def cut(self) -> Iterator[None]:
        """Cut it until the block ends."""
        self._cut.set()
        for end in list(self._ends):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        try:
            yield
        finally:
            self._cut.clear()

    def _accept(self) -> None:
        while True:
            caller = self._listening.accept()[0]
            if self._cut.is_set():
                caller.close()
                continue
            inside = socket.socket(socket.AF_UNIX)
            try:
                inside.connect(self._inside)
            except OSError:  # the server has too many callers just now
                inside.close()
                caller.close()
                continue
            self._ends |= {caller, inside}
            for pair in ((caller, inside), (inside, caller)):
                threading.Thread(target=self._pass_on, args=pair, daemon=True).start()

    def _pass_on(self, one: socket.socket, other: socket.socket) -> None:
        with suppress(OSError):
            while block := one.recv(1 << 16):
                other.sendall(block)
        for end in (one, other):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()
            self._ends.discard(end)


@dataclass
class Services:
    """The services, of one version or the other, and what they use."""

    place: Place
    earlier: Path | None
    running: dict[int, subprocess.Popen[bytes]] = field(default_factory=dict)
    samples: dict[int, list[tuple[float, int, int]]] = field(default_factory=dict)
    """Of each process: when, memory in kB, open files."""
    upgraded: dt.datetime | None = None
    """When the services of the earlier version were gone."""

    def begin(self, port: int) -> None:
        """Start one, and wait until it is ready."""
        with _sources(self.earlier):
            self.running[port] = begun(self.place, port)
        until_ready(self.place, port, self.running[port])

    def end(self, port: int, how: signal.Signals) -> None:
        """End one."""
        self.running[port].send_signal(how)
        self.running[port].wait(_END_SECONDS)

    def sample(self) -> None:
        """Note what they use just now."""
        for service in list(self.running.values()):
            with suppress(OSError, StopIteration):
                status = Path(f"/proc/{service.pid}/status").read_text().splitlines()
                memory = next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))
                files = sum(1 for _ in Path(f"/proc/{service.pid}/fd").iterdir())
                self.samples.setdefault(service.pid, []).append((time.monotonic(), memory, files))


@contextmanager
def _sources(earlier: Path | None) -> Iterator[None]:
    """Have what is started be of the earlier version."""
    before = os.environ.get("PYTHONPATH")
    if earlier is not None:
        os.environ["PYTHONPATH"] = str(earlier)
    try:
        yield
    finally:
        os.environ.pop("PYTHONPATH", None)
        if before is not None:
            os.environ["PYTHONPATH"] = before


@contextmanager
def small_disk(folder: Path) -> Iterator[Callable[[bool], None] | None]:
    """A disk at ``folder`` that can be made full and not full; ``None`` where none may be mounted."""
    if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={_DISK_BYTES}", "tmpfs", folder], check=False).returncode:
        yield None
        return

    def full(now: bool) -> None:
        for _ in range(100):  # others write meanwhile
            used = os.statvfs(folder)
            size = (used.f_blocks - used.f_bfree) * used.f_frsize + _SPARE_BYTES if now else _DISK_BYTES
            if not subprocess.run(["mount", "-o", f"remount,size={size}", folder], check=False).returncode:
                return

    try:
        yield full
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


class Publisher(threading.Thread):
    """A steward who has a table published again and again."""

    def __init__(self, place: Place) -> None:
        super().__init__(daemon=True)
        self._place, self.over = place, threading.Event()
        self.jobs: dict[str, dict[str, object]] = {}
        """What was asked for, by the number of the job."""

    def run(self) -> None:
        number = 0
        while not self.over.wait(_JOB_SECONDS):
            number += 1
            asked = {"table": "patients", "models": ["k=3"], "title": f"Patients {number}", "key": f"job {number}"}
            while not self.over.is_set():  # the same key is one job, however often it is sent
                if self.submit(asked):
                    break
                self.over.wait(1)

    def submit(self, asked: dict[str, object]) -> bool:
        """Submit a job; whether it was accepted."""
        address = self._place.addresses[len(self.jobs) % len(self._place.addresses)]
        with suppress(httpx.HTTPError), httpx.Client(base_url=address, trust_env=False, timeout=30) as client:
            signed = client.post("/v1/session", json={"name": "sue", "password": STEWARD})
            if signed.status_code == 200:
                headers = {"X-CSRF-Token": signed.json()["csrf"]}
                reply = client.post("/v1/jobs/publish", json=asked, headers=headers)
                if reply.status_code == 202:
                    self.jobs[str(reply.json()["id"])] = asked
                    return True
        return False


def as_before(address: str) -> None:
    """Turn the ledger's tables back to what the version before had; its lines are the same."""
    with psycopg.connect(address) as server:
        server.execute(f"SET search_path = {POSTGRES_SCHEMA}")
        server.execute("ALTER TABLE accounts DROP COLUMN period, DROP COLUMN past")
        server.execute("DROP TABLE formats")


@dataclass
class Soaked:
    """What came of it."""

    outcome: Outcome
    lost_jobs: list[str]
    excused_jobs: list[str]
    """Jobs that were submitted again and are done: they had failed as they may, or the earlier version lost them."""
    jobs: int
    growth: float
    """Largest memory of a service at the end, divided by that in the middle."""
    files: int
    """Largest growth of open files of a service from the middle to the end."""
    memory: list[int]
    """Memory of the services at the end, MB."""
    done: list[str]
    """What was done to it, and when."""


def soaked(seconds: float, earlier: Path | None) -> Soaked:
    """Let it all happen."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="discreet-soak-")))
        full = stack.enter_context(small_disk(folder))
        inside = stack.enter_context(postgres())
        line = Line(parse_qs(urlsplit(inside).query)["host"][0])
        address = f"postgresql://postgres@127.0.0.1:{line.port}/postgres"
        place = made(folder, ANALYSTS, 2, address, patients=PATIENTS)
        _add_steward(place)
        if earlier is not None:
            as_before(inside)
        services, done = Services(place, earlier), list[str]()
        for port in place.ports:
            services.begin(port)
        publisher = Publisher(place)
        publisher.start()
        load = start(place.task(seconds * 10, ANALYSTS, patience=300.0, pause=_PAUSE, faults=True))
        began = time.monotonic()

        def until(share: float) -> None:
            while (left := began + share * seconds - time.monotonic()) > 0:
                services.sample()
                time.sleep(min(left, _SAMPLE_SECONDS))
            print(f"{share:.0%} of the time is over", file=sys.stderr, flush=True)

        def note(what: str) -> None:
            done.append(f"{time.monotonic() - began:.0f} s: {what}")

        try:
            _disturb(services, line, inside, full=full, until=until, note=note)
            late = max((time.monotonic() - began) / seconds - LATEST_CALM, 0.0)  # on a busy machine
            until(1.0 + late)
        finally:
            publisher.over.set()
            load.send_signal(signal.SIGTERM)
        seen = finish(load)
        publisher.join(60)
        jobs = len(publisher.jobs)
        lost, excused = _until_jobs_are_done(place, publisher, earlier is not None, services.upgraded)
        services.sample()
        growth, files, memory = _growth(services, began + (0.6 + late) * seconds)
        for port in place.ports:
            services.end(port, signal.SIGTERM)
        outcome = checked(place, seen, [])
        outcome.wrong.extend(_problems_of_log(place))
        return Soaked(outcome, lost, excused, jobs, growth, files, memory, done)


def _disturb(
    services: Services,
    line: Line,
    inside: str,
    *,
    full: Callable[[bool], None] | None,
    until: Callable[[float], None],
    note: Callable[[str], None],
) -> None:
    """All that goes wrong, one after the other."""
    place = services.place
    until(0.08)
    with line.cut():
        note("the database is cut off for 20 s")
        time.sleep(20)
    until(0.18)
    note("a service is killed (-9)")
    services.end(place.ports[0], signal.SIGKILL)
    services.begin(place.ports[0])
    until(0.25)
    if full is not None:
        note("the disk is full for 15 s")
        full(True)
        time.sleep(15)
        full(False)
    until(0.35)
    _upgrade(services, inside, note)


def _add_steward(place: Place) -> None:
    with closing(State.open(open_workspace(place.folder))) as state:
        people = People(state)
        people.change_password("sue", people.add("sue", Role.STEWARD), STEWARD)


def _problems_of_log(place: Place) -> list[str]:
    with closing(State.open(open_workspace(place.folder))) as state:
        verdict = Audit(state).verify()
    return [] if verdict.sound else [f"audit log: {verdict}"]


def _upgrade(services: Services, inside: str, note: Callable[[str], None]) -> None:
    """Upgrade the workspace: while services of the version before work, or while none does; and replace them."""
    place = services.place
    if services.earlier is None:
        for port in place.ports:
            services.end(port, signal.SIGTERM)
        as_before(inside)
    command = [sys.executable, "-m", "discreet.cli", "workspace", "upgrade", str(place.folder)]
    subprocess.run([*command, "--database-is-backed-up"], check=True, stdout=subprocess.DEVNULL)
    note("the workspace is upgraded")
    for port in place.ports:
        if services.earlier is not None:
            services.end(port, signal.SIGTERM)
    services.earlier, services.upgraded = None, dt.datetime.now(dt.UTC)
    for port in place.ports:
        services.begin(port)
    note("all services are of this version")


def _until_jobs_are_done(
    place: Place, publisher: Publisher, earlier: bool, upgraded: dt.datetime | None
) -> tuple[list[str], list[str]]:
    """What is wrong with jobs, and those that had to be submitted again and are done."""
    wrong, excused = [], []
    first = _over(place)
    for job, one in first.items():
        if job not in publisher.jobs:
            wrong.append(f"{job}: nobody asked for it")
        elif one["state"] != "done":
            theirs = earlier and upgraded is not None and dt.datetime.fromisoformat(str(one["at"])) < upgraded
            said = f"{job}: {one['state']}{', in the earlier version' if theirs else ''}: {one['error']}"
            may = theirs or (one["state"] == "failed" and str(one["error"]).startswith(DISK_FULL))
            (excused if may and publisher.submit(publisher.jobs[job]) else wrong).append(said)
    last = _over(place)
    wrong += [f"{job}: gone" for job in publisher.jobs if job not in last]
    again = {job: one for job, one in last.items() if job not in first}
    wrong += [f"{job}: {one['state']} again" for job, one in again.items() if one["state"] != "done"]
    return wrong, excused


def _over(place: Place) -> dict[str, dict[str, object]]:
    """All jobs, once they are over."""
    with httpx.Client(base_url=place.addresses[0], trust_env=False, timeout=30) as client:
        client.post("/v1/session", json={"name": "sue", "password": STEWARD})
        for _ in range(300):
            jobs = {one["id"]: one for one in client.get("/v1/jobs?most=1000").json()}
            if not {"waiting", "running"} & {one["state"] for one in jobs.values()}:
                break
            time.sleep(1)
    return jobs


def _growth(services: Services, since: float) -> tuple[float, int, list[int]]:
    """How much the services that are there in the end have grown since a moment, at most; and their memory."""
    growth, files, memory = 1.0, 0, []
    for service in services.running.values():
        after = [one for one in services.samples.get(service.pid, []) if one[0] >= since]
        first, last = after[: max(len(after) // 5, 1)], after[-max(len(after) // 5, 1) :]
        growth = max(growth, max(one[1] for one in last) / max(one[1] for one in first))
        files = max(files, max(one[2] for one in last) - max(one[2] for one in first))
        memory.append(last[-1][1] // 1000)
    return growth, files, memory


def main() -> None:
    parser = options(__doc__ or "")
    parser.add_argument("--seconds", type=float, default=None, help="how long it lasts (default: 600; an hour: 3600)")
    parser.add_argument("--earlier", type=Path, default=None, help="folder src of the version before this one")
    chosen = parser.parse_args()
    found = soaked(chosen.seconds or (180 if chosen.quick else 600), chosen.earlier and chosen.earlier.resolve())
    seen = found.outcome.seen
    report(
        [
            [
                f"{seen.seconds:.0f}",
                str(sum(seen.statuses.values())),
                str(len(seen.new)),
                str(found.jobs),
                str(seen.lost),
                str(sum(count for status, count in seen.statuses.items() if status.split()[-1] >= "500")),
                str(found.outcome.wasted),
                f"{found.growth:.2f}",
                str(found.files),
                " + ".join(map(str, found.memory)),
            ]
        ],
        ["s", "requests", "answers", "jobs", "lost lines", "5xx", "wasted", "memory ×", "files +", "MB"],
    )
    for one in found.done:
        print(one)
    for one in found.excused_jobs:
        print(f"submitted again, and done: {one}")
    print(f"load of the machine: {os.getloadavg()[1]:.1f} on {os.cpu_count()} cores")
    wrong = [*found.outcome.uncharged, *found.outcome.wrong, *found.lost_jobs]
    wrong += ["somebody waited for an answer in vain"] * seen.starved
    for one in wrong[:20]:
        print(one)
    print()
    result(wrong=(len(wrong), 0, True), memory=(found.growth, MEMORY_GOAL, True), files=(found.files, FILES_GOAL, True))


if __name__ == "__main__":
    main()
