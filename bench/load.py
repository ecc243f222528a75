"""Analysts at a service, many at once, in a process of their own: what each asked and what each was given.

``python -m bench.load`` reads a ``Task`` from standard input and prints what was seen; SIGTERM ends it early. Every
analyst asks new questions, asks some again, has some priced, asks some of a table that is nearly spent, and now and
then something that is no question. Whoever loses the connection asks the same again until there is an answer.
"""

from __future__ import annotations

import asyncio
import json
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import httpx

EPSILON = "0.001"
PLENTY, SCARCE = "patients", "visits"
"""A table with budget for all, and one that is soon spent."""
_EXPECTED = {200, 400, 409}
_PAUSE = 0.05
_PATIENCE = 60.0
"""How many seconds a request may take."""
_ASKS = (
    "SELECT sex, COUNT(*) AS n FROM {table} WHERE birth_date < DATE '{year}-03-01' AND '{name}' <> '' GROUP BY sex",
    "SELECT COUNT(*) AS n FROM {table} WHERE birth_date BETWEEN DATE '{year}-01-01' AND DATE '{year}-12-31' "
    "AND '{name}' <> ''",
    "SELECT insurance, COUNT(*) AS n FROM {table} WHERE sex = 'F' AND birth_date > DATE '{year}-06-30' "
    "AND '{name}' <> '' "
    "GROUP BY insurance",
)


@dataclass(frozen=True)
class Task:
    """Who asks, where, and for how long."""

    addresses: Sequence[str]
    tokens: Sequence[str]
    """Analysts take turns with these."""
    analysts: int
    seconds: float
    patience: float = _PATIENCE
    """How many seconds somebody asks the same again before they give up."""
    pause: float = 0.0
    """Mean time between an answer and the next question, seconds."""
    faults: bool = False
    """Whether something is broken on purpose: a request that fails for that (5xx) is sent again."""


@dataclass
class Seen:
    """What analysts saw of a service."""

    statuses: Counter[str] = field(default_factory=Counter)
    answers: list[dict[str, Any]] = field(default_factory=list)
    """Of every answer its identity, table, price and whether it was free."""
    wrong: list[str] = field(default_factory=list)
    """What should not have happened."""
    starved: int = 0
    """How often somebody gave up, since no connection lasted until there was an answer."""
    lost: int = 0
    """How often a connection was lost, or there was none."""
    waits: list[float] = field(default_factory=list)
    """How long new answers took, in seconds."""
    seconds: float = 0.0

    @property
    def new(self) -> list[dict[str, Any]]:
        """The answers that were charged."""
        return [one for one in self.answers if not one["free"]]


def start(task: Task) -> subprocess.Popen[str]:
    """Let analysts loose."""
    command = [sys.executable, "-m", "bench.load"]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdin is not None
    child.stdin.write(json.dumps(asdict(task)))
    child.stdin.close()
    child.stdin = None
    return child


def finish(child: subprocess.Popen[str]) -> Seen:
    """Wait until they are done: what they saw."""
    said, _ = child.communicate()
    assert child.returncode == 0, "the load failed"
    told = json.loads(said)
    return Seen(**told | {"statuses": Counter(told["statuses"])})


class Analyst:
    """One who asks, one request at a time."""

    def __init__(self, number: int, client: httpx.AsyncClient, token: str, task: Task, seen: Seen) -> None:
        self._number = number
        self._patience, self._pause, self._faults = task.patience, task.pause, task.faults
        self._client = client
        self._headers = {"Authorization": f"Bearer {token}"}
        self._seen = seen
        self._dice = random.Random(number)  # noqa: S311  # what is asked protects nobody
        self._count = 0
        self._asked: list[tuple[str, list[Any]]] = []
        """Own questions and what was answered."""

    async def work(self, over: asyncio.Event) -> None:
        """Ask until it is over; what was begun is finished."""
        while not over.is_set():
            if self._pause:
                await asyncio.sleep(self._dice.expovariate(1 / self._pause))
            drawn = self._dice.random()
            if drawn < 0.5 or not self._asked:
                await self._ask_new(PLENTY)
            elif drawn < 0.65:
                text = self._new(PLENTY)
                await self._send("price", text)
                await self._ask_new(PLENTY, text)
            elif drawn < 0.8:
                await self._ask_again()
            elif drawn < 0.88:
                await self._send("price", self._dice.choice(self._asked)[0])
            elif drawn < 0.97:
                await self._ask_new(SCARCE, f"SELECT COUNT(*) AS n FROM {SCARCE} WHERE '{self._name()}' <> ''")
            else:
                await self._send("ask", f"SELECT * FROM {PLENTY}", expected=400)

    async def _ask_new(self, table: str, text: str | None = None) -> None:
        text = text or self._new(table)
        began = time.monotonic()
        found = await self._send("ask", text, expected=200 if table == PLENTY else None)
        if found is not None:
            self._seen.waits.append(time.monotonic() - began)
            self._note(found, table)
            self._asked.append((text, found["answer"]["rows"]))

    async def _ask_again(self) -> None:
        text, rows = self._dice.choice(self._asked)
        found = await self._send("ask", text, expected=200)
        if found is not None:
            self._note(found, SCARCE if f"FROM {SCARCE}" in text else PLENTY)
            if not found["free"] or found["answer"]["rows"] != rows:
                self._seen.wrong.append(f"the same question got another answer, or was charged again: {text}")

    def _note(self, found: Mapping[str, Any], table: str) -> None:
        self._seen.answers.append(
            {"id": found["id"], "table": table, "price": found["price"]["epsilon"], "free": found["free"]}
        )

    async def _send(self, what: str, text: str, *, expected: int | None = 200) -> dict[str, Any] | None:
        """A request, sent until it is answered: what an ask was given, if anything was."""
        asked = {"questions": [text], "epsilon": EPSILON}
        until = time.monotonic() + self._patience
        while True:
            try:
                reply = await self._client.post(f"/v1/{what}", json=asked, headers=self._headers)
                if not self._faults or reply.status_code < 500:
                    break
                self._seen.statuses[f"{what} {reply.status_code}"] += 1
            except httpx.TransportError:
                self._seen.lost += 1
            if time.monotonic() > until:
                self._seen.starved += 1
                return None
            await asyncio.sleep(_PAUSE * (10 if self._faults else 1))
        self._seen.statuses[f"{what} {reply.status_code}"] += 1
        if reply.status_code != expected and (expected is not None or reply.status_code not in _EXPECTED):
            self._seen.wrong.append(f"{what} {reply.status_code}: {reply.text[:300]}")
        found: list[dict[str, Any]] = reply.json().get("answers", []) if reply.status_code == 200 else []
        return found[0] if found else None

    def _new(self, table: str) -> str:
        return self._dice.choice(_ASKS).format(name=self._name(), table=table, year=self._dice.randint(1930, 2015))

    def _name(self) -> str:
        self._count += 1
        return f"n{self._number}_{self._count}"


async def watched(task: Task) -> Seen:
    """Let all analysts work, and write down what they see."""
    seen, over = Seen(), asyncio.Event()
    began = time.monotonic()
    loop = asyncio.get_running_loop()
    loop.call_later(task.seconds, over.set)
    loop.add_signal_handler(signal.SIGTERM, over.set)
    limits = httpx.Limits(max_connections=None)
    clients = [
        httpx.AsyncClient(base_url=address, timeout=_PATIENCE, limits=limits, trust_env=False)
        for address in task.addresses
    ]
    analysts = [
        Analyst(number, clients[number % len(clients)], task.tokens[number % len(task.tokens)], task, seen)
        for number in range(task.analysts)
    ]
    await asyncio.gather(*(one.work(over) for one in analysts))
    seen.seconds = time.monotonic() - began
    for client in clients:
        await client.aclose()
    return seen


if __name__ == "__main__":
    print(json.dumps(vars(asyncio.run(watched(Task(**json.loads(sys.stdin.read())))))))
