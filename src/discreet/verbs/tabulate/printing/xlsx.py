"""Published table as a workbook: a sheet for each table, the last dimension across, × in hidden cells."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from io import BytesIO
from itertools import product
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from discreet.core.optional import extra
from discreet.core.release import Release
from discreet.errors import BadInput, DataError
from discreet.verbs.tabulate.printing.html import CROSS
from discreet.verbs.tabulate.printing.printed import PublishedTable

_MOST_ROWS = 1_048_576
_MOST_COLUMNS = 16_384
_EXACT_BELOW = 10**15
"""A figure of more digits is written as text: spreadsheets keep 15 of them."""
_CORE = "docProps/core.xml"
_EPOCH = dt.datetime(1980, 1, 1)
"""When every workbook was made, as far as it says: when a release was made is no one's business."""


def save_xlsx(release: Release[Any], place: str | Path) -> Path:
    """Write a table that ``tabulate`` released to a new workbook, which does not say when it was made."""
    printed = PublishedTable.read(release)
    with extra("tabulate"):
        from openpyxl import Workbook
        from openpyxl.styles import Alignment, Font
    path = Path(place)
    if path.exists():
        raise BadInput(f"There is a file {path} already.", hint="Name another, or move it away.")
    _require_writable(printed)
    book = Workbook()
    book.remove(book.active)
    for number, (table, hidden) in enumerate(zip(printed.tables, printed.hidden, strict=True), 1):
        *down, across = table.dimensions
        if table.size // len(across) >= _MOST_ROWS or len(across) + len(down) >= _MOST_COLUMNS:
            raise BadInput(
                f"A sheet is too small for a table of {table.size // len(across):,} rows and {len(across):,} columns.",
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
    _save(book, path)
    return path


def _require_writable(printed: PublishedTable) -> None:
    with extra("tabulate"):
        from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE

    for side in (side for table in printed.tables for side in table.dimensions):
        for text in (side.name, *side.codes):
            if ILLEGAL_CHARACTERS_RE.search(text):
                raise DataError(
                    f"{text!r} has control characters, and a workbook cannot hold them.",
                    hint="Save it as CSV or Parquet.",
                )


def _save(book: Any, path: Path) -> None:
    """Write the workbook with all times set to the same date: those it tells and those of the files within."""
    with extra("tabulate"):
        from openpyxl.xml.functions import tostring

    made = BytesIO()
    book.save(made)
    book.properties.created = book.properties.modified = _EPOCH
    with ZipFile(made) as parts, ZipFile(path, "x") as archive:
        for name in parts.namelist():
            content = tostring(book.properties.to_tree()) if name == _CORE else parts.read(name)
            archive.writestr(ZipInfo(name, _EPOCH.timetuple()[:6]), content, ZIP_DEFLATED)


def _figure(table: Any, hidden: Any, cell: int) -> object:
    if hidden.flat[cell]:
        return CROSS
    value = int(table.values.flat[cell])
    figure = Decimal(value).scaleb(-table.decimals) if table.decimals else value
    return figure if abs(value) < _EXACT_BELOW else f"{figure:f}" if table.decimals else str(figure)
