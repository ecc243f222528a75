"""The quasi-identifier histogram of a large Parquet table: through `Table`, and as a hand-written DuckDB query.

The answer is fetched as Arrow in both. Ours includes opening the file, reading the card and planning.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from bench.harness import contest, options, report, result, take_part

CPU_GOAL, MEMORY_GOAL = 1.15, 1.2


def by_hand(data: str, card: str) -> Callable[[], object]:
    import duckdb

    def work() -> object:
        connection = duckdb.connect()
        query = f"""SELECT zip, sex, birth_date, count(*) AS n FROM read_parquet('{data}') GROUP BY ALL"""
        found = connection.sql(query).to_arrow_table()
        return found.num_rows

    return work


def ours(data: str, card: str) -> Callable[[], object]:
    import discreet as dc

    dc.read  # noqa: B018  # the import is not what is measured

    def work() -> object:
        found = dc.read(data, card=card, table="patients").histogram("zip", "sex", "birth_date")
        return found.num_rows

    return work


CONTESTANTS = {"DuckDB by hand": by_hand, "discreet Table": ours}


def main() -> None:
    chosen = options(__doc__ or "").parse_args()
    if chosen.contestant:
        take_part(CONTESTANTS, chosen)
        return
    from discreet import samples

    rows = 1_000_000 if chosen.quick else 10_000_000
    with tempfile.TemporaryDirectory() as folder:
        world = samples.hospital(rows, seed=1)
        data = world.write(Path(folder), tables=("patients",))["patients"]
        card = Path(folder) / "hospital.toml"
        measured = contest("engines", list(CONTESTANTS), {"data": str(data), "card": str(card)}, turns=5)
    hand, table = measured["DuckDB by hand"], measured["discreet Table"]
    report(
        [[name, f"{m.cpu:.2f}", f"{m.memory:.0f}", f"{m.cpu / hand.cpu:.2f}"] for name, m in measured.items()],
        [f"histogram of {rows:,} rows", "CPU s", "peak MB", "CPU ratio"],
    )
    result(
        cpu_ratio=(table.cpu / hand.cpu, CPU_GOAL, True),
        memory_ratio=(table.memory / hand.memory, MEMORY_GOAL, True),
    )


if __name__ == "__main__":
    main()
