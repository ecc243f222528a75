"""Recoding Adult class by class: ours beside published figures of ARX and sdcMicro and beside anonypyx, in CPU seconds.

30,162 complete rows, nine quasi-identifiers, k = 5. What is measured is the whole way from an open table to the new
labels; everybody has done it once before, off the clock, as ARX had been warmed up. ARX's figures were measured with
its own hierarchies: give ``--data``, a folder with ``adult.csv`` and ``adult_hierarchy_*.csv``, divided by semicolons,
to compare with them; without it rows and hierarchies come from ``discreet.samples``. anonypyx is measured if
``--peer-python`` names an interpreter that has it.

Granularity is 1 less the mean share of its domain that a cell covers: more is better. sdcMicro lets a missing value
match anything; ours is a value of its own, so it takes more cells to be suppressed, and what is promised is more.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench.adult import NAMES, adult, from_samples
from bench.harness import Measured, contest, options, report, result, take_part
from bench.publish import K

ARX, ARX_FAST, SDC_CELLS = (55.2, 0.940578), (7.5, 0.932261), (291.0, 15_743)
CPU_GOAL, GRANULARITY_GOAL, PEER_GOAL, SDC_GOAL = 1 / 10, 0.9406, 10.0, 20.0
SEVEN = ("salary-class", "occupation")
"""The columns that are no keys in the comparison with sdcMicro."""

Work = Callable[[], object]


def ours(name: str) -> Callable[..., Work]:
    """The granularity, the classes and the suppressed cells of a method's result."""

    def start(data: str, **_: object) -> Work:
        from discreet.core.card import Role
        from discreet.models.k_anonymity import KAnonymity
        from discreet.verbs.publish.local import LocalRecode, SuppressCells
        from discreet.verbs.publish.mondrian import Mondrian

        method = {
            "local recoding": LocalRecode(),
            "local recoding, more effort": LocalRecode(effort=100),
            "Mondrian, strict": Mondrian(),
            "Mondrian, relaxed": Mondrian(strict=False),
            "cells of nine columns": SuppressCells(),
            "cells of seven columns": SuppressCells(),
        }[name]
        table = _numbered(adult(Path(data)))
        if name.endswith("seven columns"):
            columns = (replace(c, role=Role.OTHER) if c.name in SEVEN else c for c in table.card.columns)
            table = replace(table, card=replace(table.card, columns=tuple(columns)))

        def work() -> object:
            found = method.recode(table, [KAnonymity(K)])
            figures = found.quality
            cells = figures.get("suppressed cells")
            return [1 - figures["granularity"], table.count() / figures["class size"], cells]

        work()
        return work

    return start


def anonypyx(data: str, python: str, **_: object) -> Work:
    """Mondrian, with every column but the age taken as categories; how many classes there are."""
    if sys.executable != python:  # go on as the same script in the peer's interpreter
        os.execv(python, [python, *sys.orig_argv[1:]])  # noqa: S606
    import anonypyx as peer
    import pandas as pd

    rows = pd.read_csv(Path(data) / "adult.csv", sep=";")[NAMES]
    for name in NAMES:
        if name != "age":
            rows[name] = rows[name].astype("category")

    def work() -> object:
        found = peer.Anonymiser(
            rows, k=K, algorithm="Mondrian", feature_columns=NAMES, generalisation_strategy="human-readable"
        ).anonymise()
        return [None, len(found), None]

    return work


METHODS = (
    "local recoding",
    "local recoding, more effort",
    "Mondrian, strict",
    "Mondrian, relaxed",
    "cells of nine columns",
    "cells of seven columns",
)
CONTESTANTS: dict[str, Callable[..., Work]] = {name: ours(name) for name in METHODS} | {"anonypyx": anonypyx}


def main() -> None:
    parser = options(__doc__ or "")
    parser.add_argument("--peer-python", metavar="PATH", help="an interpreter with anonypyx")
    parser.add_argument("--data", metavar="FOLDER", help="where adult.csv and ARX's hierarchies are")
    chosen = parser.parse_args()
    if chosen.contestant:
        take_part(CONTESTANTS, chosen)
        return
    peer = _peer(chosen.peer_python)
    with tempfile.TemporaryDirectory() as scratch:
        if chosen.data is None:
            from_samples(Path(scratch), 5_000 if chosen.quick else None)
        told = {"data": str(chosen.data or scratch), "python": peer or ""}
        measured = {name: contest("local", [name], told, turns=1 if chosen.quick else 3)[name] for name in METHODS}
        theirs = contest("local", ["anonypyx"], told, turns=1)["anonypyx"] if peer else None
    result(**_compare(measured, theirs, published=chosen.data is not None))


def _compare(
    mine: dict[str, Measured], theirs: Measured | None, *, published: bool
) -> dict[str, tuple[float, float, bool]]:
    lines = [_line(name, own) for name, own in mine.items()]
    if theirs is not None:
        lines.append(_line("anonypyx, Mondrian", theirs))
    if published:
        for name, (cpu, granularity) in {"ARX, local recoding": ARX, "ARX, its fast setting": ARX_FAST}.items():
            lines.append([name + " (published)", f"{cpu:.2f}", f"{granularity:.4f}", "", ""])
        lines.append(["sdcMicro, seven columns (published)", f"{SDC_CELLS[0]:.2f}", "", "", f"{SDC_CELLS[1]:,}"])
    report(lines, [f"Adult, k = {K}", "CPU s", "granularity", "classes", "cells suppressed"])
    local, mondrian = mine["local recoding"], mine["Mondrian, strict"]
    figures: dict[str, tuple[float, float, bool]] = {}
    if published:
        figures["local_granularity"] = (local.answer[0], GRANULARITY_GOAL, False)  # type: ignore[index]
        figures["local_cpu_over_arx"] = (local.cpu / ARX[0], CPU_GOAL, True)
        figures["sdcmicro_over_cells_cpu"] = (SDC_CELLS[0] / mine["cells of seven columns"].cpu, SDC_GOAL, False)
    else:
        figures["local_over_mondrian_loss"] = (_loss(local) / _loss(mondrian), 1.0, True)
    if theirs is not None:
        figures["anonypyx_over_mondrian_cpu"] = (theirs.cpu / mondrian.cpu, PEER_GOAL, False)
    return figures


def _line(name: str, one: Measured) -> list[str]:
    granularity, classes, cells = one.answer  # type: ignore[misc]
    shown = "" if granularity is None else f"{granularity:.4f}"
    return [name, f"{one.cpu:.2f}", shown, f"{classes:,.0f}", "" if cells is None else f"{cells:,.0f}"]


def _loss(one: Measured) -> float:
    return 1 - float(one.answer[0])  # type: ignore[index]


def _numbered(table: Any) -> Any:
    """The same table with the age as a number."""
    import pyarrow as pa

    from discreet.core.kind import Kind
    from discreet.engines.read import read

    rows = table.fetch()
    place = rows.column_names.index("age")
    rows = rows.set_column(place, "age", rows.column("age").cast(pa.int64()))
    columns = (replace(c, kind=Kind.INTEGER) if c.name == "age" else c for c in table.card.columns)
    return read(rows, replace(table.card, columns=tuple(columns)))


def _peer(python: str | None) -> str | None:
    """The path that an interpreter with anonypyx knows itself under."""
    if python is None:
        return None
    command = [python, "-c", "import sys, anonypyx; print(sys.executable)"]
    asked = subprocess.run(command, capture_output=True, text=True, check=False)
    return asked.stdout.strip() if asked.returncode == 0 else None


if __name__ == "__main__":
    main()
