"""Checking privacy models on Adult: ours beside pycanon, and beside the GROUP BY that any check needs.

30,162 complete rows; eight columns are quasi-identifiers, and occupation is sensitive. Everybody holds the rows in
memory and has checked a few of them before, off the clock, so that neither reading nor importing is measured. k,
distinct l and t (equal distance) are checked one by one, as pycanon does, and by us also all at once, as ``discreet
check`` does. We number the values of quasi-identifiers when rows in memory are opened as a table, once for all checks:
what that takes is in a line of its own, and every figure beside pycanon is given with it, too. The GROUP BY is on a
table that DuckDB holds, its texts numbered (ENUM), off the clock as well.

pycanon is asked if ``--peer-python`` names an interpreter that has it. ``--data`` is a folder with ``adult.csv``,
divided by semicolons; without it the rows come from ``discreet.samples``.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.harness import Measured, contest, options, report, result, take_part

SENSITIVE = "occupation"
QUASI = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass", "salary-class"]
WHAT = ("k", "l", "t")
GROUPED, OURS, PYCANON, TOGETHER = "DuckDB, GROUP BY alone", "discreet", "pycanon", "discreet, all at once"
OPENED = "discreet, opening"
PEER_GOAL, FLOOR_GOAL = 50, 3
FEW = 200

Work = Callable[[], object]


# -- what is measured


def grouped(data: str, **_: object) -> Work:
    """The least that finding k takes: count the classes."""
    import duckdb
    import pyarrow.compute as pc

    rows, connection = _rows(data), duckdb.connect()
    connection.register("read", rows)
    cells = []
    for name in QUASI:
        text = str(rows.schema.field(name).type) == "string"
        if text:
            connection.execute(f'CREATE TYPE "{name} numbered" AS ENUM (SELECT DISTINCT "{name}" FROM read)')
        cells.append(f'"{name}"::"{name} numbered" AS "{name}"' if text else f'"{name}"')
    connection.execute(f"CREATE TABLE adult AS SELECT {', '.join(cells)} FROM read")
    keys = ", ".join(f'"{name}"' for name in QUASI)

    def least(source: str) -> object:
        counted = connection.sql(f"SELECT {keys}, COUNT(*) AS n FROM {source} GROUP BY {keys}").to_arrow_table()
        return pc.min(counted.column("n")).as_py()

    least(f"(FROM adult LIMIT {FEW})")
    return lambda: least("adult")


def ours(*what: str) -> Callable[..., Work]:
    def start(data: str, **_: object) -> Work:
        from discreet.engines.read import read
        from discreet.models.check import check
        from discreet.models.closeness import TCloseness
        from discreet.models.diversity import LDiversity
        from discreet.models.k_anonymity import KAnonymity
        from discreet.models.model import Model

        rows, card = _rows(data), _card()
        wanted: dict[str, Model] = {
            "k": KAnonymity(5),
            "l": LDiversity(3, SENSITIVE),
            "t": TCloseness("0.2", SENSITIVE, "equal"),
        }
        models = [wanted[name] for name in what]
        check(read(rows.slice(0, FEW), card), *models)
        table = read(rows, card)
        table.count()
        return lambda: _answer([verdict.figure for verdict in check(table, *models)])

    return start


def opened(data: str, **_: object) -> Work:
    """What rows in memory take to become a table."""
    from discreet.engines.read import read

    rows, card = _rows(data), _card()
    read(rows.slice(0, FEW), card)
    return lambda: len(read(rows, card).columns)


def pycanon(what: str) -> Callable[..., Work]:
    def start(data: str, python: str, **_: object) -> Work:
        if sys.executable != python:  # go on as the same script in the peer's interpreter
            os.execv(python, [python, *sys.orig_argv[1:]])  # noqa: S606
        import pandas as pd
        from pycanon import anonymity

        rows = pd.read_csv(data, sep=";")
        asked: dict[str, Callable[[Any], float]] = {
            "k": lambda frame: anonymity.k_anonymity(frame, QUASI),
            "l": lambda frame: anonymity.l_diversity(frame, QUASI, [SENSITIVE]),
            "t": lambda frame: anonymity.t_closeness(frame, QUASI, [SENSITIVE]),
        }
        asked[what](rows.head(FEW))
        return lambda: _answer([asked[what](rows)])

    return start


def _card() -> Any:
    from discreet.core.card import Card, Column, Role
    from discreet.core.kind import Kind

    columns = [Column(name, Kind.INTEGER if name == "age" else Kind.TEXT, Role.QUASI) for name in QUASI]
    return Card("adult", (*columns, Column(SENSITIVE, Kind.TEXT, Role.SENSITIVE)))


def _rows(data: str) -> Any:
    from pyarrow import csv

    return csv.read_csv(data, parse_options=csv.ParseOptions(delimiter=";"))


def _answer(figures: list[float]) -> object:
    rounded = [round(float(figure), 9) for figure in figures]
    return rounded[0] if len(rounded) == 1 else rounded


# -- the contests

CONTESTANTS: dict[str, Callable[..., Work]] = {
    GROUPED: grouped,
    OPENED: opened,
    TOGETHER: ours(*WHAT),
    **{f"{OURS} {name}": ours(name) for name in WHAT},
    **{f"{PYCANON} {name}": pycanon(name) for name in WHAT},
}


def main() -> None:
    parser = options(__doc__ or "")
    parser.add_argument("--peer-python", metavar="PATH", help="an interpreter with pycanon")
    parser.add_argument("--data", metavar="FOLDER", help="where adult.csv is")
    chosen = parser.parse_args()
    if chosen.contestant:
        take_part(CONTESTANTS, chosen)
        return
    peer = _peer(chosen.peer_python)
    with tempfile.TemporaryDirectory() as folder:
        rows, file = _prepared(chosen.data, Path(folder), 5_000 if chosen.quick else None)
        told = {"data": file, "python": peer or ""}
        floor = contest("check", [GROUPED], told, turns=5)[GROUPED]
        opening = contest("check", [OPENED], told, turns=5)[OPENED]
        mine: dict[str, Measured] = {}
        theirs: dict[str, Measured] = {}
        for name in WHAT:
            found = contest("check", [f"{OURS} {name}", *([f"{PYCANON} {name}"] if peer else [])], told, turns=2)
            more = contest("check", [f"{OURS} {name}"], told, turns=3)[f"{OURS} {name}"]
            mine[name] = min(found[f"{OURS} {name}"], more, key=lambda one: one.cpu)
            if peer:
                theirs[name] = found[f"{PYCANON} {name}"]
        together = contest("check", [TOGETHER], told, turns=5)[TOGETHER]
    _report(rows, {GROUPED: floor, OPENED: opening, TOGETHER: together}, mine, theirs)


def _peer(python: str | None) -> str | None:
    """The path that an interpreter with pycanon knows itself under."""
    if python is None:
        return None
    command = [python, "-c", "import sys, pycanon; print(sys.executable)"]
    asked = subprocess.run(command, capture_output=True, text=True, check=False)
    return asked.stdout.strip() if asked.returncode == 0 else None


def _prepared(data: str | None, folder: Path, most: int | None) -> tuple[int, str]:
    """A file with the rows, divided by semicolons, and how many there are."""
    from pyarrow import csv

    if data is not None:
        rows = _rows(str(Path(data) / "adult.csv"))
    else:
        from discreet import samples

        held = samples.adult().fetch()
        named = {name: name.replace("_", "-") for name in held.column_names} | {"income": "salary-class"}
        rows = held.rename_columns([named[name] for name in held.column_names])
        rows = rows.select([*QUASI, SENSITIVE]).drop_null()
    rows = rows.slice(0, most)
    file = folder / "adult.csv"
    csv.write_csv(rows, file, csv.WriteOptions(delimiter=";"))
    return rows.num_rows, str(file)


def _report(rows: int, around: dict[str, Measured], mine: dict[str, Measured], theirs: dict[str, Measured]) -> None:
    floor, opening = around[GROUPED].cpu, around[OPENED].cpu
    own = {name: mine[name].cpu for name in WHAT} | {"all": around[TOGETHER].cpu}
    peers = {name: theirs[name].cpu for name in theirs}
    peers |= {"all": sum(peers.values())} if peers else {}
    lines = [[GROUPED, f"{floor:.4f}", "", "", ""], ["opening the table", f"{opening:.4f}", "", "", ""]]
    figures = {"k_over_group_by": (own["k"] / floor, float(FLOOR_GOAL), True)}
    for name, cpu in own.items():
        ratios = ["", "", ""]
        if peers:
            ratios = [f"{peers[name]:.3f}", f"{peers[name] / cpu:.0f}", f"{peers[name] / (cpu + opening):.0f}"]
            figures[f"{name}_vs_pycanon"] = (peers[name] / cpu, float(PEER_GOAL), False)
            figures[f"{name}_with_opening_vs_pycanon"] = (peers[name] / (cpu + opening), float(PEER_GOAL), False)
        lines.append(["k, l and t at once" if name == "all" else name, f"{cpu:.4f}", *ratios])
    report(lines, [f"a check of {rows:,} rows, CPU s", OURS, PYCANON, "ratio", "with opening"])
    result(**figures)


if __name__ == "__main__":
    main()
