"""Durable charges: how many a second from 16 clients, beside the disk's own pace, and whether they get dearer.

Opening a ledger checks all of its lines; that is measured, too, in CPU time.

Throughput is the one figure here in wall time, because waiting for the disk is what the clients share; the
disk's pace (append a page, fdatasync) is measured just before and after, in the same folder. What a charge
costs after many others is compared in CPU time, one client at a time.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from bench.harness import contest, options, report, result, take_part
from discreet.budget.ledger import SqlLedger, create_ledger, open_ledger
from discreet.core.loss import Pure

CLIENTS = 16
PACE_GOAL, GROWTH_GOAL, OPEN_GOAL = 1000, 1.25, 1.0
CHARGES = 400
LOSS = Pure("0.001")


def after(name: str) -> Callable[..., Callable[[], object]]:
    """One client charges a copy of a ledger that many, or few, have charged before."""

    def prepare(folder: str, **_: object) -> Callable[[], object]:
        ledger = open_ledger(copied(Path(folder) / name))

        def work() -> object:
            for number in range(CHARGES):
                ledger.charge("visits/ann", LOSS, key=f"again {number}", what="SELECT COUNT(*) FROM visits")
            return CHARGES

        return work

    return prepare


def opening(name: str) -> Callable[..., Callable[[], object]]:
    """One client opens a copy of a ledger."""

    def prepare(folder: str, **_: object) -> Callable[[], object]:
        copy = copied(Path(folder) / name)

        def work() -> object:
            with open_ledger(copy) as ledger:
                return ledger.find("0") is not None

        return work

    return prepare


def copied(ledger: Path) -> Path:
    """A copy of a ledger and of what is kept beside it."""
    copy = Path(tempfile.mkdtemp(dir=ledger.parent)) / ledger.name
    for file in ledger.parent.glob(f"{ledger.name}*"):
        if file.is_file():
            shutil.copy(file, copy.parent)
    return copy


CONTESTANTS = {"few": after("few"), "many": after("many"), "open": opening("many")}


def filled(path: Path, charges: int) -> None:
    """A ledger with this many charges from many clients."""
    with create_ledger(path) as ledger:
        accounts(ledger)
        clients(ledger, charges, 500)


def accounts(ledger: SqlLedger) -> None:
    ledger.open_account("visits", Pure(10**6))
    ledger.open_account("visits/ann", Pure(10**6))


def clients(ledger: SqlLedger, charges: int, count: int) -> float:
    """The seconds that ``count`` threads take for so many charges together."""

    def client(name: int) -> None:
        for number in range(name, charges, count):
            ledger.charge("visits/ann", LOSS, key=f"{number:x}", what="SELECT COUNT(*) FROM visits")

    threads = [threading.Thread(target=client, args=(name,)) for name in range(count)]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.perf_counter() - began


def disk(folder: Path, seconds: float = 1.0) -> float:
    """How often a second a page can be appended and made durable."""
    path = folder / "disk"
    handle = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    began, count = time.perf_counter(), 0
    while time.perf_counter() - began < seconds:
        os.write(handle, b"x" * 4096)
        os.fdatasync(handle)
        count += 1
    os.close(handle)
    path.unlink()
    return count / seconds


def pace(folder: Path, charges: int, turns: int = 3) -> tuple[float, float]:
    """The best of several turns: charges a second, and the disk's pace around that turn."""
    found = []
    for turn in range(turns):
        before = disk(folder)
        with create_ledger(folder / f"pace{turn}") as ledger:
            accounts(ledger)
            seconds = clients(ledger, charges, CLIENTS)
        found.append((charges / seconds, (before + disk(folder)) / 2))
    return max(found)


def main() -> None:
    chosen = options(__doc__ or "").parse_args()
    if chosen.contestant:
        take_part(CONTESTANTS, chosen)
        return
    many = 10_000 if chosen.quick else 100_000
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        charges, writes = pace(folder, 4_000 if chosen.quick else 10_000)
        filled(folder / "few", 10)
        filled(folder / "many", many)
        measured = contest("ledger", ["few", "many"], {"folder": name}, turns=5)
        measured |= contest("ledger", ["open"], {"folder": name}, turns=5)
    few, last, opened = measured["few"], measured["many"], measured["open"]
    report(
        [[f"{CLIENTS} clients", f"{charges:.0f}", f"{writes:.0f}", f"{charges / writes:.1f}"]],
        ["SQLite, synchronous=FULL", "charges/s", "the disk's fdatasync/s", "charges per write"],
    )
    print()
    report(
        [
            [f"after {before:,} charges", f"{m.cpu / CHARGES * 1e6:.0f}", f"{m.cpu / few.cpu:.2f}"]
            for before, m in ((10, few), (many, last))
        ],
        ["one client", "CPU µs a charge", "ratio"],
    )
    print()
    report([[f"{many:,} lines", f"{opened.cpu * 1e3:.0f}"]], ["opening, all lines checked", "CPU ms"])
    result(
        charges_per_second=(charges, PACE_GOAL, False),
        cost_growth=(last.cpu / few.cpu, GROWTH_GOAL, True),
        seconds_to_open_100_000=(opened.cpu * 100_000 / many, OPEN_GOAL, True),
    )


if __name__ == "__main__":
    main()
