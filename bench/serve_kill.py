"""The service killed under load, again and again: nobody ever has an answer that was not charged.

The load of ``bench.serve`` goes on while the service is killed (-9) at a moment nobody chose and started again. In the
end every answer that an analyst was given must be in the ledger with its price, and the same question must always have
had the same answer; the ledger must be sound. A charge may be wasted: whoever was cut off asks the same again, which is
charged once. With PostgreSQL two processes share the ledger and are killed in turn.

Two more figures stand apart from that: how often an analyst gave up, because no service lived long enough to answer,
and how long a restart took. Nearly all of a restart is Python importing what the service is made of, about two seconds
of a processor, for which the load and the other service compete with it.
"""

from __future__ import annotations

import itertools
import random
import signal
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from bench.harness import options, report, result
from bench.load import PLENTY, SCARCE, Seen, finish, start
from bench.serve import ANALYSTS, PATIENTS, Place, begun, charges, made, postgres, until_ready
from discreet.core.loss import Pure
from discreet.core.release import Release
from discreet.curator.curator import Curator
from discreet.releases.store import SEAL

KILLS = 50
RESTART_GOAL = 5.0
_LONGEST = 3600.0
_PATIENCE = 300.0


@dataclass(frozen=True)
class Outcome:
    """What came of it."""

    seen: Seen
    uncharged: list[str]
    """Answers that somebody has and that were not charged, or not sealed."""
    wrong: list[str]
    """Whatever else should not have happened."""
    restarts: list[float]
    """Seconds until a service that was killed and started again answered."""
    wasted: int
    """Charges for which nobody has an answer."""

    @property
    def slowest(self) -> float:
        return max(self.restarts, default=0.0)


def killed(place: Place, kills: int, analysts: int = ANALYSTS, between: float = 2.0) -> Outcome:
    """Let analysts ask while services are killed and started again, in turn."""
    dice = random.Random(kills)  # noqa: S311  # when it is killed protects nobody
    services = {port: begun(place, port) for port in place.ports}
    for port, service in services.items():
        until_ready(place, port, service)
    load = start(place.task(_LONGEST, analysts, patience=_PATIENCE))
    restarts = []
    try:
        for port in itertools.islice(itertools.cycle(place.ports), kills):
            time.sleep(dice.uniform(0.1, between))
            services[port].kill()
            services[port].wait()
            services[port] = begun(place, port)
            restarts.append(until_ready(place, port, services[port]))
        load.send_signal(signal.SIGTERM)
        seen = finish(load)
    finally:
        load.kill()
        for service in services.values():
            service.terminate()
            service.wait()
    return checked(place, seen, restarts)


def checked(place: Place, seen: Seen, restarts: list[float]) -> Outcome:
    """Hold what analysts have against the ledger."""
    uncharged, wrong = [], list(seen.wrong)
    answers = {one["id"]: one for one in seen.answers}
    with Curator(place.folder) as curator:
        found = {table: charges(curator.ledger, table) for table in (PLENTY, SCARCE)}
        paid = {one.key: one.loss for table in found.values() for one in table}
        for identity, one in answers.items():
            receipt = Release.load(curator.workspace.releases / identity).receipt
            if receipt is None or paid.get(receipt.key) != Pure(one["price"]):
                uncharged.append(f"an answer for {one['price']} that was not charged: {identity}")
            if curator.ledger.find(SEAL + identity) is None:
                uncharged.append(f"an answer that was not sealed: {identity}")
        for table, charged in found.items():
            spent = sum((Fraction(one.loss.to_dict()["epsilon"]) for one in charged), Fraction(0))
            account = curator.ledger.account(table)
            if account.spent != Pure(spent) or not account.budget.covers(account.total):
                wrong.append(f"{table}: {account.spent} is not what its lines add up to, or more than the budget")
        verdict = curator.verify()
        if not verdict.sound:
            wrong.append(str(verdict))
    return Outcome(seen, uncharged, wrong, restarts, len(paid) - len(answers))


def outcome(kind: str, kills: int, people: int, patients: int = PATIENTS) -> Outcome:
    """Kill services whose ledger is of one kind."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        address = stack.enter_context(postgres()) if kind == "PostgreSQL" else None
        return killed(made(folder, people, 1 if address is None else 2, address, patients=patients), kills)


def main() -> None:
    parser = options(__doc__ or "")
    parser.add_argument("--kills", type=int, default=None, help=f"how often it is killed (default: {KILLS})")
    chosen = parser.parse_args()
    kills = chosen.kills or (4 if chosen.quick else KILLS)
    people = 8 if chosen.quick else ANALYSTS
    found = {kind: outcome(kind, kills // 2, people) for kind in ("SQLite", "PostgreSQL")}
    report(
        [
            [
                kind,
                str(len(one.restarts)),
                str(one.seen.lost),
                str(len({answer["id"] for answer in one.seen.answers})),
                str(one.wasted),
                f"{sorted(one.restarts)[len(one.restarts) // 2]:.1f}",
                f"{one.slowest:.1f}",
                str(one.seen.starved),
                str(len(one.uncharged)),
                str(len(one.wrong)),
            ]
            for kind, one in found.items()
        ],
        [
            "ledger",
            "kills",
            "cut off",
            "answers",
            "charged in vain",
            "median restart s",
            "slowest",
            "gave up",
            "uncharged",
            "wrong",
        ],
    )
    for kind, one in found.items():
        for said in [*one.uncharged, *one.wrong][:5]:
            print(f"{kind}: {said}")
    print()
    result(
        uncharged_answers=(sum(len(one.uncharged) for one in found.values()), 0, True),
        wrong=(sum(len(one.wrong) for one in found.values()), 0, True),
        gave_up=(sum(one.seen.starved for one in found.values()), 0, True),
        slowest_restart=(max(one.slowest for one in found.values()), RESTART_GOAL, True),
    )


if __name__ == "__main__":
    main()
