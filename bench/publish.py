"""Optimal full-domain generalisation of Adult: ours beside ARX's published figures and beside anjana, in CPU seconds.

30,162 complete rows, nine quasi-identifiers, k = 5. What is measured is the search for the best levels on the tuples
of the table; it was done once before, off the clock, as ARX had been warmed up. ARX's figures were measured with its
own hierarchies: give ``--data``, a folder with ``adult.csv`` and ``adult_hierarchy_*.csv``, divided by semicolons, to
compare with them; without it rows and hierarchies come from ``discreet.samples``. anjana is measured if
``--peer-python`` names an interpreter that has it; it is greedy, so it finds worse levels. ``--exhaustive`` tries
every combination of levels, with code of its own.

The same search on many more rows with the same tuples, and one over fifteen columns of ten rows, are measured, too.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.adult import NAMES, adult, from_samples
from bench.harness import Measured, contest, options, report, result, take_part

K = 5
PUBLISHED_GOAL, PEER_GOAL, SAME_GOAL, WIDE_GOAL = 1 / 5, 20, 1.5, 1.0
MANY = 10_000_000

Work = Callable[[], object]


@dataclass(frozen=True)
class Task:
    """A search, and what ARX is known to take and to find."""

    quality: str
    suppress: str
    cpu: float
    score: float
    suppressed: int | None = None
    sensitive: str | None = None
    peer: bool = field(default=False, kw_only=True)

    @property
    def name(self) -> str:
        diverse = f", 3-diverse {self.sensitive}" if self.sensitive else ""
        return f"{self.quality}{diverse}, {float(self.suppress):.0%} suppressed"


TASKS = [
    Task("geometric granularity", "0", 0.12, 0.573151, 0, peer=True),
    Task("geometric granularity", "0.05", 1.2, 0.241932, 1346, peer=True),
    Task("geometric granularity", "1", 4.3, 0.220412, 2553, peer=True),
    Task("geometric granularity", "0", 0.08, 0.542211, sensitive="occupation"),
    Task("geometric granularity", "0.05", 0.70, 0.171702, sensitive="occupation"),
    Task("geometric granularity", "1", 1.1, 0.166715, sensitive="occupation"),
    Task("entropy", "0", 0.1, 407_289.5),
    Task("entropy", "0.05", 2.0, 264_341.9),
    Task("entropy", "1", 9.0, 249_855.1),
    Task("discernibility", "0", 0.1, 33_627_534),
    Task("discernibility", "0.05", 1.9, 7_220_555),
    Task("discernibility", "1", 5.4, 7_220_555),
    Task("class size", "0", 0.1, 628.375),
    Task("class size", "0.05", 1.8, 28.808),
    Task("class size", "1", 5.3, 16.3214),
]


# -- what is measured


def ours(task: Task) -> Callable[..., Work]:
    def start(data: str, **_: object) -> Work:
        from discreet.models.diversity import LDiversity
        from discreet.models.k_anonymity import KAnonymity
        from discreet.models.model import Model
        from discreet.verbs.publish.generalize import Generalize
        from discreet.verbs.publish.tuples import tuples_of

        models: list[Model] = [KAnonymity(K)]
        models += [LDiversity(3, task.sensitive)] if task.sensitive else []
        tuples = tuples_of(adult(Path(data), task.sensitive), [task.sensitive] if task.sensitive else [])
        method = Generalize(task.suppress, _quality(task.quality))

        def work() -> object:
            found = method.search(tuples, models)
            assert found.optimal
            return [found.loss, found.suppressed]

        work()
        return work

    return start


def anjana(task: Task) -> Callable[..., Work]:
    def start(data: str, python: str, **_: object) -> Work:
        if sys.executable != python:  # go on as the same script in the peer's interpreter
            os.execv(python, [python, *sys.orig_argv[1:]])  # noqa: S606
        import pandas as pd
        from anjana.anonymity import k_anonymity

        folder = Path(data)
        rows = pd.read_csv(folder / "adult.csv", sep=";", dtype=str)[NAMES]
        levels = {}
        for name in NAMES:
            paths = pd.read_csv(folder / f"adult_hierarchy_{name}.csv", sep=";", dtype=str, header=None)
            levels[name] = {level: paths[level].to_numpy() for level in paths.columns}

        def work() -> object:
            with contextlib.redirect_stdout(io.StringIO()):
                return len(k_anonymity(rows, [], NAMES, K, 100 * float(task.suppress), levels))

        return work

    return start


def repeated(times: int) -> Callable[..., Work]:
    """The whole way from rows to levels, each row ``times`` over: what the engine takes, and what is left."""

    def start(folder: str, **_: object) -> Work:
        from discreet.core.card import Card, Column, Role
        from discreet.core.hierarchy.intervals import Intervals
        from discreet.core.kind import Kind
        from discreet.engines.read import read
        from discreet.models.k_anonymity import KAnonymity
        from discreet.verbs.publish.generalize import Generalize
        from discreet.verbs.publish.tuples import tuples_of

        columns = [Column(name, Kind.INTEGER, Role.QUASI, hierarchy=Intervals([5, 10, 50])) for name in "abc"]
        table = read(Path(folder) / f"{times}.parquet", Card("ten", tuple(columns)))
        models = [KAnonymity(2 * times)]
        Generalize().search(tuples_of(table), models)

        def work() -> object:
            began = time.process_time()
            table.histogram()
            grouped = time.process_time()
            tuples = tuples_of(table)
            told = time.process_time()
            for _ in range(50):
                found = Generalize("0.2").search(tuples, models)
            ended = time.process_time()
            spent = {"rows": tuples.rows, "GROUP BY": grouped - began, "tuples": told - grouped}
            (Path(folder) / f"{times}.json").write_text(json.dumps(spent | {"search": (ended - told) / 50}))
            return found.levels

        return work

    return start


def wide(suppress: str) -> Callable[..., Work]:
    """Fifteen columns with five levels each, ten rows: thirty billion combinations of levels."""

    def start(**_: object) -> Work:
        from random import Random

        import pyarrow as pa

        from discreet.core.card import Card, Column, Role
        from discreet.core.hierarchy.intervals import Intervals
        from discreet.core.kind import Kind
        from discreet.engines.read import read
        from discreet.models.k_anonymity import KAnonymity
        from discreet.verbs.publish.generalize import Generalize
        from discreet.verbs.publish.tuples import tuples_of

        draw = Random(1)  # noqa: S311
        names = [f"c{number}" for number in range(15)]
        rows = pa.table({name: [draw.randrange(16) for _ in range(10)] for name in names})
        columns = [Column(n, Kind.INTEGER, Role.QUASI, bounds=(0, 15), hierarchy=Intervals([2, 4, 8])) for n in names]
        tuples = tuples_of(read(rows, Card("wide", tuple(columns))))
        method = Generalize(suppress)

        def work() -> object:
            found = method.search(tuples, [KAnonymity(2)])
            assert found.optimal
            return found.loss

        work()
        return work

    return start


CONTESTANTS: dict[str, Callable[..., Work]] = {
    **{task.name: ours(task) for task in TASKS},
    **{f"anjana {task.name}": anjana(task) for task in TASKS if task.peer},
    **{f"repeated {times}": repeated(times) for times in (1, MANY // 10)},
    **{f"wide {suppress}": wide(suppress) for suppress in ("0", "0.2", "1")},
}


# -- the data


def _repeat(folder: Path) -> None:
    import duckdb

    ten = "SELECT (i * 7) % 23 AS a, (i * i) % 17 AS b, (i * 5) % 11 AS c FROM range(10) AS t(i)"
    for times in (1, MANY // 10):
        file = folder / f"{times}.parquet"
        duckdb.connect().execute(f"COPY (SELECT a, b, c FROM ({ten}), range({times})) TO '{file}' (FORMAT parquet)")


def _quality(name: str) -> Any:
    from discreet.utility.quality import ClassSize, Discernibility, Entropy, Granularity

    known = {one.name: one for one in (Entropy(), Discernibility(), ClassSize())}
    return known.get(name, Granularity("geometric"))


# -- every combination of levels, by code that shares nothing with the search


def exhaustive(data: str, **_: object) -> Work:
    """The least geometric granularity for each share of rows that may be suppressed, and how many then are."""
    import csv

    import numpy as np

    folder = Path(data)
    with (folder / "adult.csv").open() as file:
        rows = list(csv.DictReader(file, delimiter=";"))
    labels, shares = [], []  # for each column and level: a number for the label of each row, and what it covers
    for name in NAMES:
        with (folder / f"adult_hierarchy_{name}.csv").open() as file:
            paths = {path[0]: path for path in csv.reader(file, delimiter=";")}
        levels = range(len(next(iter(paths.values()))))
        names = [{label: n for n, label in enumerate({p[level]: 0 for p in paths.values()})} for level in levels]
        leaves = [[sum(p[level] == label for p in paths.values()) for label in names[level]] for level in levels]
        codes = [np.array([names[level][paths[row[name]][level]] for row in rows]) for level in levels]
        labels.append(codes)
        shares.append([(np.array(leaves[level])[codes[level]] - 1) / (len(paths) - 1) for level in levels])

    def work() -> object:
        best: dict[str, tuple[float, int]] = {}
        for node in itertools.product(*(range(len(codes)) for codes in labels)):
            key = np.zeros(len(rows), dtype=np.int64)
            for codes, level in zip(labels, node, strict=True):
                key = key * (int(codes[level].max()) + 1) + codes[level]
            _, place, size = np.unique(key, return_inverse=True, return_counts=True)
            gone = size[place] < K
            columns = [np.where(gone, 1.0, share[level]).mean() for share, level in zip(shares, node, strict=True)]
            loss = float(np.exp(np.log1p(columns).mean()) - 1)
            for suppress in ("0", "0.05", "1"):
                if gone.sum() <= float(suppress) * len(rows) and loss < best.get(suppress, (2.0, 0))[0]:
                    best[suppress] = loss, int(gone.sum())
        return best

    return work


CONTESTANTS["exhaustive"] = exhaustive


# -- the contests


def main() -> None:
    parser = options(__doc__ or "")
    parser.add_argument("--peer-python", metavar="PATH", help="an interpreter with anjana")
    parser.add_argument("--data", metavar="FOLDER", help="where adult.csv and ARX's hierarchies are")
    parser.add_argument("--exhaustive", action="store_true", help="try every combination of levels, too: minutes")
    chosen = parser.parse_args()
    if chosen.contestant:
        take_part(CONTESTANTS, chosen)
        return
    peer = _peer(chosen.peer_python)
    turns = 1 if chosen.quick else 5
    tasks = [task for task in TASKS if task.peer] if chosen.quick else TASKS
    figures: dict[str, tuple[float, float, bool]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        if chosen.data is None:
            from_samples(folder, 5_000 if chosen.quick else None)
        told = {"data": str(chosen.data or folder), "folder": scratch, "python": peer or ""}
        mine = {task: contest("publish", [task.name], told, turns=turns)[task.name] for task in tasks}
        theirs = {task: _only(f"anjana {task.name}", told) for task in tasks if task.peer and peer}
        figures |= _compare(mine, theirs, published=chosen.data is not None)
        if chosen.exhaustive:
            figures["worse_than_exhaustive"] = (_worse(mine, _only("exhaustive", told)), 1e-9, True)
        if not chosen.quick:
            figures["search_many_over_few_rows"] = (_same(folder, told), SAME_GOAL, True)
        figures["wide_cpu_s"] = (_wide(told), WIDE_GOAL, True)
    result(**figures)


def _only(name: str, told: dict[str, Any]) -> Measured:
    return contest("publish", [name], told, turns=1)[name]


def _peer(python: str | None) -> str | None:
    """The path that an interpreter with anjana knows itself under."""
    if python is None:
        return None
    command = [python, "-c", "import sys, anjana; print(sys.executable)"]
    asked = subprocess.run(command, capture_output=True, text=True, check=False)
    return asked.stdout.strip() if asked.returncode == 0 else None


def _compare(
    mine: dict[Task, Measured], theirs: dict[Task, Measured], *, published: bool
) -> dict[str, tuple[float, float, bool]]:
    lines, figures, found = [], {}, 0
    for task, own in mine.items():
        loss, suppressed = own.answer  # type: ignore[misc]
        digits = len(str(task.score).partition(".")[2])
        same = abs(loss - task.score) <= 0.51 * 10**-digits and task.suppressed in (None, suppressed)
        found += same
        peer = theirs.get(task)
        arx = [f"{task.cpu:.2f}", f"{own.cpu / task.cpu:.3f}", f"{task.score:,}"] if published else ["", "", ""]
        against = [f"{peer.cpu:.2f}", f"{peer.cpu / own.cpu:.0f}"] if peer else ["", ""]
        lines.append([task.name, f"{own.cpu:.4f}", f"{loss:,.6f}", f"{suppressed:,}", *arx, *against])
        short = task.suppress.replace("0.05", "5").replace("1", "100")
        if task.peer and published:
            figures[f"cpu_over_arx_{short}"] = (own.cpu / task.cpu, PUBLISHED_GOAL, True)
        if peer:
            figures[f"anjana_over_cpu_{short}"] = (peer.cpu / own.cpu, float(PEER_GOAL), False)
    heads = ["CPU s", "loss", "suppressed", "ARX s", "ours / ARX", "ARX's loss", "anjana s", "anjana / ours"]
    report(lines, [f"Adult, k = {K}", *heads])
    if published:
        figures["arx_scores_reproduced"] = (found, len(mine), False)
    return figures


def _worse(mine: dict[Task, Measured], every: Measured) -> float:
    best = dict(every.answer)  # type: ignore[call-overload]
    gaps = [abs(own.answer[0] - best[task.suppress][0]) for task, own in mine.items() if task.peer]  # type: ignore[index]
    told = ", ".join(f"{loss:.6f} with {gone:,} suppressed" for loss, gone in best.values())
    print(f"\nEvery combination of levels, {every.cpu:.0f} CPU s: {told}")
    return max(gaps)


def _same(folder: Path, told: dict[str, Any]) -> float:
    _repeat(folder)
    lines, spent = [], []
    for times in (1, MANY // 10):
        contest("publish", [f"repeated {times}"], told, turns=1)
        spent.append(json.loads((folder / f"{times}.json").read_text()))
        steps = [f"{spent[-1][step]:.4f}" for step in ("GROUP BY", "tuples", "search")]
        lines.append([f"{spent[-1]['rows']:,} rows, the same ten tuples", *steps])
    print()
    report(lines, ["CPU s", "GROUP BY", "tuples, with it", "search"])
    return spent[1]["search"] / spent[0]["search"]


def _wide(told: dict[str, Any]) -> float:
    spent = {suppress: _only(f"wide {suppress}", told).cpu for suppress in ("0", "0.2", "1")}
    lines = [[f"{float(suppress):.0%} suppressed", f"{cpu:.3f}"] for suppress, cpu in spent.items()]
    print()
    report(lines, ["15 quasi-identifiers, 10 rows, k = 2", "CPU s"])
    return spent["0"]


if __name__ == "__main__":
    main()
