"""Ten million made-up patients to Parquet: the time it takes, and how many CPU seconds beside merely writing them.

The floor writes the same rows again, read back from the file that was made.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from bench.harness import contest, options, report, result, take_part

MOST_SECONDS = 60
RATIO_GOAL = 10


def ours(rows: int, folder: str) -> Callable[[], object]:
    from discreet import samples

    def work() -> object:
        samples.hospital(rows, seed=1).write(Path(folder) / "ours", tables=("patients",))
        return rows

    return work


def floor(rows: int, folder: str) -> Callable[[], object]:
    import pyarrow.parquet as pq

    source = pq.ParquetFile(Path(folder) / "ours" / "patients.parquet")
    groups = [source.read_row_group(group) for group in range(source.num_row_groups)]

    def work() -> object:
        with pq.ParquetWriter(Path(folder) / "floor.parquet", source.schema_arrow) as writer:
            for group in groups:
                writer.write_table(group)
        return rows

    return work


CONTESTANTS = {"made and written": ours, "written alone": floor}


def main() -> None:
    chosen = options(__doc__ or "").parse_args()
    if chosen.contestant:
        take_part(CONTESTANTS, chosen)
        return
    rows = 1_000_000 if chosen.quick else 10_000_000
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        measured = contest("samples", list(CONTESTANTS), {"rows": rows, "folder": folder}, turns=2)
        wall = (time.perf_counter() - began) / 2
    made, written = measured["made and written"], measured["written alone"]
    report(
        [[name, f"{m.cpu:.2f}", f"{m.memory:.0f}"] for name, m in measured.items()],
        [f"{rows:,} patients to Parquet", "CPU s", "peak MB"],
    )
    result(seconds=(wall, MOST_SECONDS, True), cpu_ratio=(made.cpu / written.cpu, RATIO_GOAL, True))


if __name__ == "__main__":
    main()
