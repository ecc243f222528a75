"""Drafting a card beside DuckDB's own SUMMARIZE of the same table: 10 million rows and 20 columns in a Parquet file.

Nine columns are typed and eleven are texts: codes, places, remarks, and four that are written as in a spreadsheet
(dates in two formats with marks for missing ones, amounts with a decimal comma, words for true and false, numbers with
question marks). SUMMARIZE has minimum, maximum, approximate distinct values, average and quantiles of every column. A
draft has kinds, formats, roles with their reasons and a unit. Both run on the same threads; only CPU seconds count.
A million of these rows as a CSV file, all of them texts then, are drafted beside SUMMARIZE of what DuckDB's own reader
makes of them.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from bench.harness import contest, options, report, result, take_part

SUMMARIZE, DRAFT = "DuckDB, SUMMARIZE", "discreet, draft"
GOAL = 5
COLUMNS = """
    i AS record_id,
    'P' || lpad((hash(i) % 3000000)::VARCHAR, 8, '0') AS patient,
    (hash(i + 1) % 100)::INTEGER AS age,
    lpad((1000 + hash(i + 2) % 98000)::VARCHAR, 5, '0') AS zip,
    DATE '1930-01-01' + (hash(i + 3) % 30000)::INTEGER AS born,
    TIMESTAMP '2020-01-01' + to_seconds((hash(i + 4) % 100000000)::BIGINT) AS admitted,
    CASE WHEN hash(i + 5) % 2 = 0 THEN 'f' ELSE 'm' END AS sex,
    exp(5 + (hash(i + 6) % 1000) / 200.0) AS cost,
    (20000 + hash(i + 7) % 90000)::INTEGER AS income,
    'D' || (hash(i + 8) % 200) AS diagnosis,
    'ward ' || (hash(i + 9) % 30) AS ward,
    'came in with a cough, has had it for ' || (hash(i + 10) % 100000) || ' days' AS remark,
    CASE WHEN hash(i) % 300 = 0 THEN 'n/a' WHEN hash(i) % 3 = 0
         THEN strftime(DATE '1930-01-01' + (hash(i + 11) % 30000)::INTEGER, '%Y-%m-%d')
         ELSE strftime(DATE '1930-01-01' + (hash(i + 11) % 30000)::INTEGER, '%d.%m.%Y') END AS day_of_visit,
    replace(((hash(i + 12) % 1000000) / 100.0)::DECIMAL(9, 2)::VARCHAR, '.', ',') AS amount,
    CASE hash(i + 13) % 3 WHEN 0 THEN 'ja' WHEN 1 THEN 'nein' ELSE 'unbekannt' END AS smoker,
    CASE WHEN hash(i + 14) % 50 = 0 THEN '?' ELSE (40 + hash(i + 14) % 90)::VARCHAR END AS weight,
    (hash(i + 15) % 11)::INTEGER AS score,
    'town ' || (hash(i + 16) % 5000) AS town,
    (hash(i + 17) % 4 = 0) AS active,
    (hash(i + 18) % 1000000) / 7.0 AS level
"""

Work = Callable[[], object]


def summarize(file: str, rows: int) -> Work:
    import duckdb

    connection = duckdb.connect()
    connection.execute("SELECT 1").fetchall()
    return lambda: len(connection.execute(f"SUMMARIZE SELECT * FROM '{file}'").fetchall())


def draft(file: str, rows: int) -> Work:
    from discreet.engines.read import draft as make

    def work() -> int:
        drafted = make(file)
        assert drafted.rows == rows
        return len(drafted.card.columns)

    return work


CONTESTANTS = {SUMMARIZE: summarize, DRAFT: draft}


def _made(folder: Path, rows: int, name: str) -> str:
    import duckdb

    file = folder / name
    duckdb.execute(f"COPY (SELECT {COLUMNS} FROM range({rows}) AS made(i)) TO '{file}'")
    return str(file)


def main() -> None:
    chosen = options(__doc__ or "").parse_args()
    if chosen.contestant:
        take_part(CONTESTANTS, chosen)
        return
    sizes = {
        "table.parquet": 200_000 if chosen.quick else 10_000_000,
        "table.csv": 50_000 if chosen.quick else 1_000_000,
    }
    lines, ratios = [], {}
    with tempfile.TemporaryDirectory() as folder:
        for name, rows in sizes.items():
            found = contest(
                "draft", [SUMMARIZE, DRAFT], {"file": _made(Path(folder), rows, name), "rows": rows}, turns=2
            )
            ratios[name.partition(".")[2]] = found[DRAFT].cpu / found[SUMMARIZE].cpu
            for who, one in found.items():
                lines.append([f"{who}, {rows:,} rows of {name}", f"{one.cpu:.1f} s", f"{one.memory:,.0f} MB"])
    report(lines, ["who", "CPU", "peak memory"])
    result(**{f"draft_{kind}_over_summarize": (ratio, GOAL, True) for kind, ratio in ratios.items()})


if __name__ == "__main__":
    main()
