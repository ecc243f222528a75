"""A large table published on Spark: k-anonymity for 100 million rows, in bounded memory.

Rows are made by DuckDB as Parquet; Spark (in this process, two threads) counts, recodes and sorts them; what comes out
is streamed into a release folder and checked there. Memory is the peak of this process and of Spark's, which is
given a heap that the rows do not fit in.

Recorded on two cores: 100 million rows in 842 CPU seconds (585 of the clock), 421 MB in Python and 2,693 MB in Spark's
processes together; 99,978,879 rows in 389,695 classes were released, in a file of 11 MB. With a heap of 1 GB the same
run ended for want of memory while the last partitions were sorted.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import duckdb

import discreet as dc
from bench.harness import options, report, result
from discreet.core.card import Card, Column, Role
from discreet.core.hierarchy.intervals import Intervals
from discreet.core.hierarchy.mask import Mask
from discreet.core.kind import Kind

HEAP = "2g"
PARTITIONS = 400
"""Sorted rows leave Spark a partition at a time, so partitions must be small beside the heap. Spark would put small
ones together by their size on disk, which says little: labels are compressed to a fiftieth there."""
MEMORY_GOAL = 3_000.0
"""MB for all processes together, whatever the number of rows."""
CARD = Card(
    "people",
    (
        Column("age", Kind.INTEGER, Role.QUASI, bounds=(0, 99), hierarchy=Intervals(widths=(5, 10, 20))),
        Column("zip", Kind.TEXT, Role.QUASI, hierarchy=Mask(length=5)),
        Column("sex", Kind.TEXT, Role.QUASI, categories=("f", "m")),
        Column("disease", Kind.TEXT, Role.SENSITIVE),
    ),
)
ROWS = """
    SELECT CAST(sqrt(hash(i, 1) % 10000) AS BIGINT) % 100 AS age,
           lpad(CAST(10000 + CAST(sqrt(hash(i, 2) % 4000000) AS BIGINT) AS VARCHAR), 5, '0') AS zip,
           CASE WHEN hash(i, 3) % 2 = 0 THEN 'f' ELSE 'm' END AS sex,
           'disease ' || CAST(hash(i, 4) % 30 AS VARCHAR) AS disease
    FROM range({rows}) AS r(i)
"""


def main() -> None:
    parser = options(__doc__ or "")
    parser.add_argument("--rows", type=int, help="how many rows (default 100 million; 1 million with --quick)")
    chosen = parser.parse_args()
    rows = chosen.rows or (1_000_000 if chosen.quick else 100_000_000)
    with tempfile.TemporaryDirectory() as folder:
        measured = _published(Path(folder), rows)
    report(
        [[f"{rows:,}", *(f"{measured[name]:,.0f}" for name in ("cpu", "python", "spark", "released"))]],
        ["rows", "CPU s", "peak MB, Python", "peak MB, Spark", "rows released"],
    )
    print(json.dumps(measured))
    result(memory=(measured["python"] + measured["spark"], MEMORY_GOAL, True))


def _published(folder: Path, rows: int) -> dict[str, float]:
    from pyspark.sql import SparkSession

    with duckdb.connect(config={"memory_limit": "1GB", "temp_directory": str(folder / "spill")}) as connection:
        connection.execute(f"COPY ({ROWS.format(rows=rows)}) TO '{folder / 'people.parquet'}' (FORMAT parquet)")
    os.chdir(folder)  # Spark leaves folders where it is started
    os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    settings = {
        "spark.driver.memory": HEAP,
        "spark.sql.adaptive.coalescePartitions.enabled": "false",
        "spark.task.maxDirectResultSize": "64m",  # larger results are kept first, and were lost from a heap this small
        "spark.sql.shuffle.partitions": str(PARTITIONS),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.local.dir": str(folder / "local"),
    }
    session = SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()
    began, own = time.monotonic(), time.process_time()
    table = dc.read(folder / "people.parquet", CARD, engine=dc.Spark(session))
    release = dc.publish(table, dc.Generalize(suppress="0.01"), dc.KAnonymity(5), to=folder / "release")
    measured = {
        "wall": time.monotonic() - began,
        "cpu": time.process_time() - own + sum(map(_cpu, _started())),
        "python": _peak(os.getpid()),
        "spark": sum(map(_peak, _started())),
        "released": float(release.recipe.parameters["released"]),
        "classes": float(release.recipe.parameters["classes"]),
        "megabytes": (folder / "release" / "payload.parquet").stat().st_size / 1e6,
    }
    session.stop()
    return measured


def _started() -> list[int]:
    """The processes of Spark, which this one started: Java, and Python for what is streamed."""
    parents = {}
    for status in Path("/proc").glob("[0-9]*/status"):
        with suppress(FileNotFoundError, ProcessLookupError):  # another process, and over by now
            parents[int(status.parent.name)] = int(re.findall(r"PPid:\s+(\d+)", status.read_text())[0])
    found = []
    for number, parent in parents.items():
        above = parent
        while above in parents and above != os.getpid():
            above = parents[above]
        if above == os.getpid():
            found.append(number)
    return found


def _peak(process: int) -> float:
    """The most memory a process ever had, in MB; nothing is known of one that is over."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{process}/status").read_text())
    return int(found[1]) / 1024 if found else 0.0


def _cpu(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
