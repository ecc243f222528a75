"""Holder's copy of a table as plain data, for a page that draws it."""

from __future__ import annotations

from itertools import product
from typing import Any

from discreet.verbs.tabulate.printing.holder import TableHolder
from discreet.verbs.tabulate.printing.html import CROSS, MOST_CELLS
from discreet.verbs.tabulate.tables.dimension import Dimension

_KINDS = {"": "shown", "added": "hidden", "sensitive": "sensitive"}
_LISTED = 200


def view(holder: TableHolder, title: str) -> dict[str, Any]:
    """The tables as the holder's page shows them, cell by cell, and what there is to say. It must never leave.

    A cell has its true ``figure``, what is ``printed`` of it, its ``kind`` (shown; hidden, or changed, to protect
    others; sensitive) and in words ``why``, and what an intruder can tell of it.
    """
    return {
        "title": title,
        "facts": [{"name": name, "told": told} for name, told in holder.in_figures()],
        "tables": [_table(holder, place) for place in range(len(holder.cells.tables))],
        "exposures": list(holder.exposures[:_LISTED]),
    }


def _table(holder: TableHolder, place: int) -> dict[str, Any]:
    table, where = holder.cells.tables[place], holder.cells.places[place]
    *down, across = table.dimensions
    width = len(across)

    def cell(flat: int, total: bool) -> dict[str, Any]:
        one = int(where[flat])
        figure, kind, why = holder.told(table, one)
        printed = CROSS if holder.hidden[one] else table.written(int(holder.values[one]))
        return {"figure": figure, "printed": printed, "kind": _KINDS[kind], "why": why, "total": total}

    rows = []
    if table.size <= MOST_CELLS:
        for row, places in enumerate(product(*(range(len(side)) for side in down))):
            labels = [_label(side, code) for side, code in zip(down, places, strict=True)]
            total = any(label["total"] for label in labels)
            cells = [cell(row * width + at, total or bool(across.parts[at])) for at in range(width)]
            rows.append({"labels": labels, "cells": cells})
    return {
        "sides": [side.name for side in table.dimensions],
        "figure": table.what,
        "size": table.size,
        "too_large": table.size > MOST_CELLS,
        "across": [_label(across, code) for code in range(width)],
        "rows": rows,
    }


def _label(side: Dimension, place: int) -> dict[str, Any]:
    return {"text": side.codes[place], "depth": int(side.depths[place]), "total": bool(side.parts[place])}
