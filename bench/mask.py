"""Rank swapping and noise on a table of ten real columns, beside the least that swapping along ranks takes.

That least is sorting every column and putting the values back (NumPy). Everybody holds the rows in memory and has
masked a few of them before, off the clock, so that neither reading nor compiling is measured. sdcMicro, for comparison,
took 61.6 CPU s to rank-swap 100,000 rows of ten columns.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bench.harness import contest, options, report, result, take_part

COLUMNS = 10
FEW = 1_000
GOAL = 10.0
FLOOR = "NumPy, sort and put back"

Work = Callable[[], object]


# -- what is measured


def floor(rows: int, **_: object) -> Work:
    """Each column sorted, and its values put back."""
    import numpy as np

    columns = np.random.default_rng(1).normal(size=(COLUMNS, rows))

    def work() -> object:
        made = np.empty_like(columns)
        for place, values in enumerate(columns):
            order = np.argsort(values, kind="stable")
            made[place, order] = values[order]
        return made.shape[1]

    return work


def ours(text: str) -> Callable[..., Work]:
    def start(rows: int, **_: object) -> Work:
        from discreet.core.families import MASKING

        table = _table(rows)
        masker = MASKING.parse(text, table.card)
        masker.mask(_table(FEW), seed=1)
        return lambda: masker.mask(table, seed=1).rows.num_rows

    return start


def _table(rows: int) -> Any:
    import numpy as np
    import pyarrow as pa

    from discreet.core.card import Card, Column, Role
    from discreet.core.kind import Kind
    from discreet.engines.read import read

    columns = np.random.default_rng(1).normal(size=(COLUMNS, rows))
    data = pa.table({f"x{place}": values for place, values in enumerate(columns)})
    return read(data, Card("t", tuple(Column(name, Kind.REAL, Role.QUASI) for name in data.column_names)))


# -- the contest

METHODS = ("rank-swap p=5", "rank-swap p=5 law=normal", "rank-swap p=20 law=buckets", "noise alpha=0.1")
CONTESTANTS: dict[str, Callable[..., Work]] = {FLOOR: floor, **{text: ours(text) for text in METHODS}}


def main() -> None:
    chosen = options(__doc__ or "").parse_args()
    if chosen.contestant:
        take_part(CONTESTANTS, chosen)
        return
    rows = 100_000 if chosen.quick else 1_000_000
    found = contest("mask", list(CONTESTANTS), {"rows": rows}, turns=2)
    print(f"{rows:,} rows × {COLUMNS} columns")
    lines = [
        [name, f"{one.cpu:.2f}", f"{one.cpu / found[FLOOR].cpu:.1f}", f"{one.memory:.0f}"]
        for name, one in found.items()
    ]
    report(lines, ["", "CPU s", "× the least", "MB"])
    swaps = [found[text].cpu for text in METHODS if text.startswith("rank-swap")]
    result(rank_swap_cpu_s=(max(swaps), GOAL * rows / 1_000_000, True))


if __name__ == "__main__":
    main()
