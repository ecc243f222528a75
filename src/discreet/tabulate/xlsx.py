"""A printed table as a workbook: a sheet a table, the last dimension across, hidden figures as crosses."""

from __future__ import annotations

from decimal import Decimal
from itertools import product
from pathlib import Path
from typing import Any

from discreet.errors import BadInput, MissingPart
from discreet.tabulate.laid_out import CROSS
from discreet.tabulate.printed import Printed

_MOST_ROWS = 1_048_576
_MOST_COLUMNS = 16_384


def save_xlsx(printed: Printed, place: str | Path) -> Path:
    """Write the tables to a new workbook."""
    try:
        from openpyxl import Workbook
        from openpyxl.styles import Alignment, Font
    except ImportError:
        raise MissingPart("openpyxl", "tabulate") from None
    path = Path(place)
    if path.exists():
        raise BadInput(f"There is a file {path} already.", hint="Name another, or move it away.")
    book = Workbook()
    book.remove(book.active)
    for number, (table, hidden) in enumerate(zip(printed.tables, printed.hidden, strict=True), 1):
        *down, across = table.dimensions
        if table.size // len(across) >= _MOST_ROWS or len(across) + len(down) >= _MOST_COLUMNS:
            raise BadInput(
                f"A sheet holds no table of {table.size // len(across):,} rows and {len(across):,} columns.",
                hint="Save it as CSV or Parquet.",
            )
        sheet = book.create_sheet(f"Table {number}")
        sheet.append([*(side.name for side in down), *across.codes] if down else list(across.codes))
        for row, places in enumerate(product(*(range(len(side)) for side in down))):
            start = row * len(across)
            labels = [side.codes[place] for side, place in zip(down, places, strict=True)]
            sheet.append([*labels, *(_figure(table, hidden, start + column) for column in range(len(across)))])
            for cell in sheet[sheet.max_row][: len(down)]:
                cell.data_type = "s"  # a code that begins with = is no formula
            if all(side.parts[place] for side, place in zip(down, places, strict=True)) and down:
                for cell in sheet[sheet.max_row]:
                    cell.font = Font(bold=True)
        for cell in sheet[1]:
            cell.data_type = "s"
            cell.font, cell.alignment = (
                Font(bold=True),
                Alignment(horizontal="right" if cell.column > len(down) else "left"),
            )
        sheet.freeze_panes = sheet.cell(2, len(down) + 1)
    book.save(path)
    return path


def _figure(table: Any, hidden: Any, cell: int) -> object:
    if hidden.flat[cell]:
        return CROSS
    value = int(table.values.flat[cell])
    return Decimal(value).scaleb(-table.decimals) if table.decimals else value
