"""One analyst sends the worst questions there are, for minutes: does the service stay there for everybody else?

A real service (``discreet serve``) of a made-up hospital is asked by a process of its own. First an analyst asks small
questions in peace, which says how long those usually take. Then an attacker sends, from many connections at once and
as fast as they are taken, all that an attacker with an account would think of (``attacks``): texts that double, wide
and deep questions, many aggregates and quantiles, groups without end, people joined with themselves again and again,
prices of the same, and no SQL at all. Meanwhile the small questions go on, and ``/v1/live`` is looked at all the
time.

Health must answer within a second, always; small questions must take less than three times as long as in peace, by
their median and by their 95 % quantile; the service must stay, without much more memory than it was given. How long the
attacker waits is the attacker's affair.

And how long an answer takes must not tell of a single person. So the worst questions for that (``conditional``: heavy
work on one person's rows alone, and people joined with themselves, where one person has as many rows as the card
allows and all others have one) are put to an engine that holds that person and to one that does not, and the moments
at which the answers would be released are compared: the best of several turns each, since machines are noisy.
"""

from __future__ import annotations

import asyncio
import itertools
import math
import os
import random
import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import httpx
import pyarrow as pa
from sqlglot import exp

from bench.harness import options, report, result
from bench.serve import BUDGETS, made, serving
from discreet.core import sql
from discreet.core.card import Card, Column
from discreet.core.kind import Kind
from discreet.core.loss import Approximate
from discreet.core.table import Table
from discreet.engines.duckdb import DuckDB
from discreet.errors import BadQuery
from discreet.service.turns import RATIO, released_after
from discreet.verbs.ask.plan import plan

PATIENTS = 20_000
CONNECTIONS = 24
HEALTH_GOAL, SLOWER_GOAL, MEMORY_GOAL, STEPS_GOAL = 1.0, 3.0, 4_000.0, 1.0
_SMALL = "SELECT sex, COUNT(*) + {name} AS n FROM patients WHERE birth_date < DATE '{year}-03-01' GROUP BY sex"
_PATIENCE = 600.0
_EPSILON = "0.0001"
_PLENTY = Approximate(1000, "1e-3")


def _many(made: str, times: int, between: str = ", ") -> str:
    return between.join(made.replace("#", str(one)) for one in range(times))


def attacks() -> dict[str, str]:
    """Questions by name, ``{tag}`` for what makes each a new one. Some are refused; those cost what planning costs."""
    doubled = ", ".join(f"s{i} AS (SELECT n || n AS n FROM s{i - 1})" for i in range(1, 9))
    least = "cost"
    for place in range(12):
        least = f"GREATEST(LEAST({least}, {90_000 - place}), {place})"
    joined = "visits AS a " + " ".join(f"JOIN visits AS v{i} USING (patient_id)" for i in range(3))
    deep = "SELECT patient_id, cost AS v FROM visits"
    for place in range(5):
        deep = f"SELECT patient_id, LEAST(v, {90_000 - place}) AS v FROM ({deep}) WHERE v > {place}"
    return {
        "doubled texts": f"WITH s0 AS (SELECT zip AS n FROM patients), {doubled} "
        "SELECT COUNT(*) + {tag} AS n FROM s8 WHERE n = 'x'",
        "long texts": "SELECT COUNT(*) + {tag} AS n FROM (SELECT CONCAT(zip, zip, zip, zip, zip, zip, zip, zip) AS k "
        "FROM patients) WHERE " + _many("k LIKE '%#_%#_%a%b'", 8, " OR "),
        "text groups": "SELECT zip || zip || zip || CAST(birth_date AS TEXT) AS k, COUNT(*) + {tag} AS n FROM patients "
        "GROUP BY 1",
        "units with themselves": f"SELECT COUNT(*) + {{tag}} AS n FROM {joined} WHERE a.cost + v1.cost > v2.cost + 1",
        "groups of units with themselves": "SELECT a.admitted AS x, v1.admitted AS y, COUNT(*) + {tag} AS n FROM "
        f"{joined} GROUP BY 1, 2",
        "many sums": f"SELECT COUNT(*) + {{tag}} AS n, {_many('SUM(LEAST(cost, 1000 + #)) AS s#', 60)} FROM visits",
        "many spreads": f"SELECT COUNT(*) + {{tag}} AS n, {_many('STDDEV(LEAST(cost, 1000 + #)) AS s#', 60)} "
        "FROM visits",
        "many correlations": f"SELECT COUNT(*) + {{tag}} AS n, {_many('CORR(LEAST(cost, 99 + #), cost) AS s#', 60)} "
        "FROM visits",
        "many quantiles": f"SELECT COUNT(*) + {{tag}} AS n, "
        f"{_many('QUANTILE_CONT(LEAST(cost, 100 + #), 0.5) AS s#', 60)} FROM visits",
        "many groups": "SELECT WIDTH_BUCKET(cost, 0, 9000, 9000) AS b, MOD(ROUND(cost), 10) AS m, "
        "COUNT(*) + {tag} AS n FROM visits GROUP BY 1, 2",
        "quantiles of many groups": "SELECT WIDTH_BUCKET(cost, 0, 9000, 4000) AS b, MEDIAN(cost) + {tag} AS n "
        "FROM visits GROUP BY 1",
        "long list": f"SELECT COUNT(*) + {{tag}} AS n FROM visits WHERE ROUND(cost) IN ({_many('#', 2_300)})",
        "nested bounds": f"SELECT SUM({least}) + {{tag}} AS n FROM visits",
        "deep": f"SELECT COUNT(*) + {{tag}} AS n, SUM(v) AS s FROM ({deep})",
        "wide": f"SELECT COUNT(*) + {{tag}} AS n FROM (SELECT {_many('cost + # AS c#', 250)} FROM visits) WHERE c3 > 9",
        "unions": "SELECT COUNT(*) + {tag} AS n FROM ("
        + " UNION ALL ".join(["SELECT length_of_stay AS v FROM visits"] * 16)
        + ") WHERE v > 3",
        "unit by unit": "SELECT COUNT(*) + {tag} AS n FROM (SELECT patient_id, "
        f"{_many('SUM(LEAST(cost, 9 + #)) AS s#', 60)} FROM visits GROUP BY patient_id) WHERE s1 > 3",
        "long after": f"SELECT COUNT(*) + {{tag}} AS n, {_many('COUNT(*) * # + 1 AS c#', 60)} FROM visits",
        "parentheses": f"SELECT COUNT(*) + {{tag}} AS n FROM visits WHERE {'(' * 9_000}1 = 1{')' * 9_000}",
        "no SQL": "SELECT {tag} " + "SELECT " * 2_500,
        "conditions": "SELECT COUNT(*) + {tag} AS n FROM visits WHERE "
        + " AND ".join(f"({_many(f'cost <> # + {j}', 30, ' OR ')})" for j in range(25)),
    }


@dataclass
class Told:
    """What was seen from outside."""

    small: list[float] = field(default_factory=list)
    health: list[float] = field(default_factory=list)
    statuses: Counter[str] = field(default_factory=Counter)
    slowest: dict[str, float] = field(default_factory=dict)
    """By attack, the longest that it took, in seconds."""
    wrong: list[str] = field(default_factory=list)
    memory: float = 0.0
    """The most megabytes that the service held."""


def conditional(many: int) -> dict[str, str]:
    """Questions that take longer when somebody is there; as much of it as ``many`` says."""
    joined = "visits AS a JOIN visits AS b USING (who)"
    heavy = "SUM(CASE WHEN a.note LIKE 'p77%' THEN LEAST(LENGTH(UPPER(a.note || '#')), 9) ELSE 0 END) AS s#"
    sums = _many("SUM(LEAST(a.cost + #, b.cost)) AS s#", many)
    return {
        "texts of one person": f"SELECT {_many(heavy, many)} FROM visits AS a",
        "texts of one person, joined": f"SELECT {_many(heavy, many)} FROM {joined}",
        "rows of one person, joined": f"SELECT {sums} FROM {joined}",
        "rows of one person, joined twice": f"SELECT {sums} FROM {joined} JOIN visits AS c USING (who)",
    }


def _heaviest(name: str, table: dict[str, Table]) -> str:
    """The largest of them that is taken."""
    for many in (60, 40, 30, 20, 15, 10, 8, 6, 5, 4, 3, 2, 1):
        question = conditional(many)[name]
        try:
            plan(question, table)
        except BadQuery:
            continue
        return question
    raise AssertionError(f"{name}: nothing is taken")


def steps_apart(turns: int) -> dict[str, float]:
    """How many steps later each of them is released when that person is there."""
    columns = (
        Column("who", Kind.INTEGER),
        Column("cost", Kind.INTEGER, bounds=(0, 1000)),
        Column("note", Kind.TEXT),
    )
    card = Card("visits", columns, unit="who", rows_per_unit=20)
    tables = []
    for extra in (0, 20):
        who = [*range(PATIENTS), *[PATIENTS] * extra]
        notes = [*(f"n{one}" for one in range(PATIENTS)), *["p77" + "x" * 997] * extra]
        engine = DuckDB(settings={"threads": "1"})
        engine.load("visits", pa.table({"who": who, "cost": [one % 1000 for one in who], "note": notes}))
        shown = [sql.column(column.name) for column in columns]
        tables.append({"visits": Table(card, engine, exp.select(*shown).from_(sql.table("visits")))})
    found = {}
    for name in conditional(1):
        question = _heaviest(name, tables[0])
        plans = [plan(question, one) for one in tables]
        best = [math.inf, math.inf]
        for _ in range(turns):
            for place, one in enumerate(plans):
                began = time.process_time()
                one.rows.engine.fetch(one.query)
                best[place] = min(best[place], time.process_time() - began)
        found[name] = abs(math.log(released_after(best[1]) / released_after(best[0]), RATIO))
        print(f"  {name}: {best[0] * 1000:.1f} ms without, {best[1] * 1000:.1f} ms with")
    return found


class Flood:
    """A service, somebody with small questions, and an attacker."""

    def __init__(self, address: str, tokens: tuple[str, ...], process: int) -> None:
        self._address = address
        self._ann, self._eve = tokens[0], tokens[1]
        self._process = process
        self._numbers = itertools.count()
        self._dice = random.Random(7)  # noqa: S311
        self.told = Told()

    async def run(self, seconds: float, *, attacked: bool) -> Told:
        self.told = Told()
        over = time.monotonic() + seconds
        limits = httpx.Limits(max_connections=None)
        async with httpx.AsyncClient(
            base_url=self._address, timeout=_PATIENCE, limits=limits, trust_env=False
        ) as client:
            work = [self._watch(client, over), self._ask_small(client, over)]
            if attacked:
                order = list(attacks().items())
                work += [self._attack(client, over, order, place) for place in range(CONNECTIONS)]
            tasks = [asyncio.create_task(one) for one in work]
            await asyncio.gather(*tasks[:2])
            for task in tasks[2:]:  # what the attacker still waits for
                task.cancel()
            await asyncio.gather(*tasks[2:], return_exceptions=True)
        return self.told

    async def _watch(self, client: httpx.AsyncClient, over: float) -> None:
        while time.monotonic() < over:
            began = time.monotonic()
            try:
                reply = await client.get("/v1/live")
                self.told.health.append(time.monotonic() - began)
                if reply.status_code != 200:
                    self.told.wrong.append(f"health: {reply.status_code}")
            except httpx.TransportError as error:
                self.told.wrong.append(f"health: {error!r}")
            self.told.memory = max(self.told.memory, _megabytes(self._process))
            await asyncio.sleep(0.1)

    async def _ask_small(self, client: httpx.AsyncClient, over: float) -> None:
        while time.monotonic() < over:
            question = _SMALL.format(name=next(self._numbers), year=self._dice.randint(1930, 2015))
            began = time.monotonic()
            reply = await self._sent(client, self._ann, "/v1/ask", question)
            if reply is None or reply.status_code != 200:
                self.told.wrong.append(f"a small question: {None if reply is None else reply.text[:200]}")
            else:
                self.told.small.append(time.monotonic() - began)
            await asyncio.sleep(0.05)

    async def _attack(self, client: httpx.AsyncClient, over: float, order: list[tuple[str, str]], place: int) -> None:
        for number in itertools.count(place):
            if time.monotonic() > over:
                return
            name, text = order[number % len(order)]
            question = text.replace("{tag}", str(next(self._numbers)))
            began = time.monotonic()
            reply = await self._sent(client, self._eve, "/v1/price" if number % 5 == 4 else "/v1/ask", question)
            status = "lost" if reply is None else str(reply.status_code)
            self.told.statuses[status] += 1
            self.told.slowest[name] = max(self.told.slowest.get(name, 0.0), time.monotonic() - began)
            if status in ("lost", "500", "503"):
                self.told.wrong.append(f"{name}: {status}")
            if status == "429":
                await asyncio.sleep(0.2)

    async def _sent(self, client: httpx.AsyncClient, token: str, path: str, question: str) -> httpx.Response | None:
        body: dict[str, Any] = {"questions": [question], "epsilon": _EPSILON, "delta": "1e-12"}
        if "GROUP BY sex" in question:
            body.pop("delta")
        try:
            return await client.post(path, json=body, headers={"Authorization": f"Bearer {token}"})
        except httpx.TransportError:
            return None


def _megabytes(process: int) -> float:
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def _at(waits: list[float], share: float) -> float:
    ordered = sorted(waits) or [math.inf]
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def main() -> None:
    parser = options(__doc__ or "")
    parser.add_argument("--seconds", type=float, default=None, help="how long the attack lasts (default: 300)")
    chosen = parser.parse_args()
    seconds = chosen.seconds or (20 if chosen.quick else 300)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        place = made(
            folder, 2, 1, patients=PATIENTS // (4 if chosen.quick else 1), budgets=dict.fromkeys(BUDGETS, _PLENTY)
        )
        with serving(place) as [process]:
            flood = Flood(place.addresses[0], place.tokens, process)
            asyncio.run(flood.run(3, attacked=False))  # the first questions open tables
            peace = asyncio.run(flood.run(min(20.0, seconds), attacked=False))
            war = asyncio.run(flood.run(seconds, attacked=True))
    rows = [
        [
            name,
            str(len(told.small)),
            f"{median(told.small or [math.inf]) * 1000:.0f}",
            f"{_at(told.small, 0.95) * 1000:.0f}",
            f"{max(told.small, default=math.inf) * 1000:.0f}",
            f"{_at(told.health, 0.99) * 1000:.0f}",
            f"{max(told.health, default=math.inf) * 1000:.0f}",
            f"{told.memory:.0f}",
            str(len(told.wrong)),
        ]
        for name, told in (("in peace", peace), ("attacked", war))
    ]
    report(rows, ["", "small", "median ms", "95 % ms", "slowest ms", "health 99 % ms", "health ms", "MB", "wrong"])
    print(f"\nattacks answered or refused: {dict(war.statuses)}")
    for name, slow in sorted(war.slowest.items(), key=lambda one: -one[1]):
        print(f"  {slow:7.2f} s  {name}")
    for one in [*peace.wrong, *war.wrong][:10]:
        print(one)
    print("\none person more:")
    apart = steps_apart(3 if chosen.quick else 15)
    print()
    result(
        wrong=(len(peace.wrong) + len(war.wrong), 0, True),
        health_seconds=(max(war.health, default=math.inf), HEALTH_GOAL, True),
        small_median=(median(war.small or [math.inf]) / median(peace.small or [1]), SLOWER_GOAL, True),
        small_95=(_at(war.small, 0.95) / _at(peace.small, 0.95), SLOWER_GOAL, True),
        memory_mb=(war.memory, MEMORY_GOAL, True),
        steps_by_one_person=(max(apart.values()), STEPS_GOAL, True),
    )


if __name__ == "__main__":
    main()
