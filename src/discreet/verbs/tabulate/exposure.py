"""Disclosure by the sensitive cells of a table if they were printed, one sentence for each attack.

- External: there is a single respondent, and whoever knows who it is learns their figure.
- Internal: there are two, and each subtracts their own.
- Dominance: one contributor has most of the cell. The largest learns what all others have together, and so at most
  each; the second largest learns what the largest has at most.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.verbs.tabulate.protection import Protection
from discreet.verbs.tabulate.tables.cells import Cells
from discreet.verbs.tabulate.tables.crosstable import Contributions, CrossTable

_Numbers = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Exposure:
    """An attack that succeeds on a cell."""

    cell: int
    attack: str
    """``external``, ``internal`` or ``dominance``."""
    sentence: str

    def __str__(self) -> str:
        return self.sentence


def exposures(cells: Cells, protection: Protection) -> tuple[str, ...]:
    """What every attack that succeeds on a sensitive cell learns, a sentence each. For the holder's eyes."""
    return tuple(map(str, exposed(cells, protection)))


def exposed(cells: Cells, protection: Protection) -> tuple[Exposure, ...]:
    """Every attack that succeeds on a sensitive cell, in the order of the cells.

    Of dominance only what is closer than twice the truth is told. Nothing is told of a cell of which nobody knows who
    is in it, be it as safe as it may.
    """
    home, place = cells.homes
    found: list[Exposure] = []
    for cell in np.flatnonzero(protection.sensitive).tolist():
        table = cells.tables[int(home[cell])]
        found += _attacks(cell, cells.name(cell), table, int(place[cell]))
    return tuple(found)


def _attacks(cell: int, name: str, table: CrossTable, place: int) -> Iterator[Exposure]:
    known = _known(table)
    if known is None:
        return
    count = float(known.counts.flat[place])
    value = table.written(int(table.values.flat[place]))
    single = count == 1 if known.sole is None else bool(known.sole.flat[place] >= 0)
    if single:
        learned = f"their figure: {value}" if table.what else "that they are the one who is counted there"
        yield Exposure(
            cell, "external", f"{name}: there is a single respondent, and whoever knows who it is learns {learned}."
        )
    elif count == 2:
        own = f"subtracts their own figure from {value} and has the other's" if table.what else "knows of the other"
        yield Exposure(cell, "internal", f"{name}: there are two respondents, and each {own}.")
    if single or known.largest is None or not table.what:
        return
    ranks = known.largest.reshape(table.size, -1)[place].tolist()
    whole = int(table.values.flat[place] if known.absolute is None else known.absolute.flat[place])
    learned = _dominance(table, whole, count, ranks)
    if learned:
        yield Exposure(cell, "dominance" if count != 2 else "internal", f"{name}: {learned}")


def _dominance(table: CrossTable, whole: int, count: float, ranks: list[int]) -> str:
    """What the largest two learn of each other and the rest, if that is close."""
    first, second = ranks[0], ranks[1] if len(ranks) > 1 else 0
    rest = whole - first
    if first <= 0 or rest - second >= first:
        return ""
    others = f"{count - 1:,g} others together have" if count > 2 else "other has"
    said = f"whoever contributed {table.written(first)} knows that the {others} {table.written(rest)}"
    said += ", and each of them no more." if count > 2 else "."
    if second > 0:
        off = 100 * (rest - second) / first
        said += (
            f" Whoever contributed {table.written(second)} knows that the largest contribution is at most "
            f"{table.written(whole - second)}, which is {f'{off:.3g} % too much' if off else 'exact'}."
        )
    return said


def _known(table: CrossTable) -> Contributions | None:
    """Who is in each cell; a table of counts says so itself."""
    if table.contributions is not None or table.what or table.decimals:
        return table.contributions
    return Contributions(table.values)
