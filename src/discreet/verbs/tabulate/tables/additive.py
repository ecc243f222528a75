"""Additivity check: the relations of a table that do not add up, by name."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.core.text import number
from discreet.errors import DataError
from discreet.verbs.tabulate.tables.cells import Cells
from discreet.verbs.tabulate.tables.crosstable import written

_Numbers = np.ndarray[Any, Any]
_SHOWN = 10


def require_additive(cells: Cells, printed: _Numbers | None = None, *, rounded: bool = False) -> None:
    """Raise an error that lists the totals that are not the sum of their parts, if there are any.

    Only totals that were ``printed`` are looked at, all by default. That is enough if the others follow from the inner
    cells: then, from below upwards, every printed total does too. ``rounded``: each figure may be off by half a unit.
    """
    printed = np.ones(len(cells), bool) if printed is None else printed
    relations = cells.relations
    off = relations.astype(np.int64) @ cells.values
    totals = relations.indices[relations.data == 1]
    allowed = np.diff(relations.indptr) if rounded else 0
    broken = np.flatnonzero((np.abs(off) * 2 > allowed) & printed[totals])
    if not len(broken):
        return
    lines = []
    for relation in broken[:_SHOWN].tolist():
        total, parts = int(totals[relation]), relations.indices[slice(*relations.indptr[relation : relation + 2])]
        absent = int((~printed[parts]).sum())
        figure = int(cells.values[total])
        lines.append(
            f"\n  {_name(cells, total, parts)}: {written(figure, cells.decimals)} is printed, its parts "
            f"{f'({absent:,} of them not in the table) ' if absent else ''}add up to "
            f"{written(figure - int(off[relation]), cells.decimals)}"
        )
    more = f"\n  and {len(broken) - _SHOWN:,} more" if len(broken) > _SHOWN else ""
    raise DataError(
        f"The table does not add up, in {number(len(broken), 'place')}:{''.join(lines)}{more}",
        hint="\nMend the table, or the hierarchy. If figures were rounded one by one, say so (rounded): totals are "
        "then added up anew.",
    )


def _name(cells: Cells, total: int, parts: _Numbers) -> str:
    """A total by its codes and the side along which it is one."""
    table, place = cells.homes
    home = cells.tables[int(table[total])]
    part = next(int(one) for one in parts if one != total)
    if int(table[part]) != int(table[total]):
        return cells.name(total)
    codes, others = (home.codes(int(place[cell])) for cell in (total, part))
    sides = [side.name for side, code, other in zip(home.dimensions, codes, others, strict=True) if code != other]
    return f"{', '.join(codes)} (over {sides[0]})" if len(home.dimensions) > 1 else codes[0]
