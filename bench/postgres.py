"""The endpoint for SQL clients beside the HTTP API: CPU of the service for the same answers.

A real service of a made-up hospital is asked the same questions both ways, by turns, new ones and such as were answered
before. What counts is the CPU time of the service's process, the best of several turns, since machines are noisy. The
answers must be the same, and so must what the ledger says was spent.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx
import psycopg

from bench import serve
from bench.harness import options, report, result
from bench.load import EPSILON, PLENTY
from discreet.core.loss import Pure

GOAL = 1.3
_QUESTION = (
    "SELECT sex, insurance, COUNT(*) AS n FROM patients WHERE birth_date < DATE '1950-03-01' AND '{}' <> '' "
    "GROUP BY sex, insurance"
)


def over_http(place: serve.Place) -> Callable[[str], list[list[object]]]:
    """Asks by the API."""
    headers = {"Authorization": f"Bearer {place.tokens[0]}"}
    client = httpx.Client(base_url=place.addresses[0], headers=headers, trust_env=False, timeout=60)

    def ask(question: str) -> list[list[object]]:
        given = client.post("/v1/ask", json={"questions": [question], "epsilon": EPSILON})
        rows: list[list[object]] = given.raise_for_status().json()["answers"][0]["answer"]["rows"]
        return rows

    return ask


def over_postgres(place: serve.Place, port: int) -> Callable[[str], list[list[object]]]:
    """Asks by PostgreSQL's protocol, as psycopg does."""
    settings = f"-c discreet.epsilon={EPSILON} -c discreet.max_per_connection=1000"
    connection = psycopg.connect(
        host="127.0.0.1", port=port, user="analyst0", password=place.tokens[0], options=settings, autocommit=True
    )
    return lambda question: [list(row) for row in connection.execute(question).fetchall()]


def cpu_of(processes: list[int], ask: Callable[[str], list[list[object]]], questions: list[str]) -> float:
    """CPU seconds of the service for each question."""
    before = serve.cpu_seconds(processes)
    for question in questions:
        ask(question)
    return (serve.cpu_seconds(processes) - before) / len(questions)


def main() -> None:
    chosen = options(__doc__ or "").parse_args()
    count, turns = (60, 3) if chosen.quick else (400, 5)
    with TemporaryDirectory() as folder:
        place = serve.made(Path(folder), 1, 2, budgets={PLENTY: Pure(1000)})
        port = place.ports[1]
        place = serve.Place(place.folder, place.tokens, place.ports[:1])
        service = serve.begun(place, place.ports[0], "--postgres-port", str(port))
        try:
            serve.until_ready(place, place.ports[0], service)
            ways = {"HTTP": over_http(place), "PostgreSQL": over_postgres(place, port)}
            cpu: dict[tuple[str, str], float] = {}
            wrong = 0
            for turn in range(turns):
                for name, ask in ways.items():
                    asked = [_QUESTION.format(f"{name} {turn} {number}") for number in range(count)]
                    for kind in ("new", "repeated"):
                        cpu[name, kind] = min(cpu.get((name, kind), 60.0), cpu_of([service.pid], ask, asked))
                wrong += any(ways["HTTP"](one) != ways["PostgreSQL"](one) for one in asked[:5])
        finally:
            service.terminate()
            service.wait(60)
    kinds = ("new", "repeated")
    report(
        [[name, *(f"{cpu[name, kind] * 1000:.1f}" for kind in kinds)] for name in ways],
        ["CPU ms an answer", *kinds],
    )
    ratios = {kind: cpu["PostgreSQL", kind] / cpu["HTTP", kind] for kind in kinds}
    result(**{f"{kind}_to_http": (ratio, GOAL, True) for kind, ratio in ratios.items()}, wrong=(wrong, 0, True))


if __name__ == "__main__":
    main()
