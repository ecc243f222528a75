"""Workbooks (Excel, OpenDocument) and files of statistical packages (SPSS, Stata, SAS): their values as text.

Values are written as the card says that texts are written, so that cells which hold a number or a date and cells which
hold a text are read alike. A workbook is unpacked and measured before it is read, whatever sizes it declares: it must
fit in memory. Nothing in it is computed: a formula is the value that was saved with it.
"""

from __future__ import annotations

import datetime as dt
import math
import re
import zipfile
import zlib
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.core.optional import extra
from discreet.core.text_format import TextFormat
from discreet.errors import DataError, NotFound

if TYPE_CHECKING:
    from python_calamine import CalamineWorkbook

WORKBOOKS = (".xlsx", ".xlsm", ".xls", ".ods")
"""Endings of workbooks."""
STATISTICAL = {
    ".sav": "read_sav",
    ".zsav": "read_sav",
    ".dta": "read_dta",
    ".sas7bdat": "read_sas7bdat",
    ".xpt": "read_xport",
}
"""Endings of files of SPSS, Stata and SAS, and pyreadstat's functions that read them."""
MOST_BYTES = 2 << 30
"""Size of an unpacked workbook at most."""
MOST_CELLS = 50_000_000
"""Cells of a sheet at most, empty ones among them."""
_CHUNK_BYTES = 1 << 20
_ROWS_AT_ONCE = 20_000
_LONGEST_CELL = 1 << 17
_CELL = re.compile(rb"<c(\s[^>]*)(?<!/)>(.*?)</c>", re.DOTALL)
_PREFIX = re.compile(rb"<(/?)\w+:")
_EMPTY_FORMULA = re.compile(rb"\s*<f\b[^>]*(?:/>|>[^<]*</f>)\s*(?:<v></v>|<v ?/>)?\s*")
_SAVED = re.compile(rb"<v>([^<]*)</v>")
_PLACE = rb"""\sr\s*=\s*["']([A-Za-z]{1,3})([0-9]+)["']"""
_TYPE = re.compile(rb"""\st\s*=\s*["'](e|str)["']""")
_TAG = re.compile(rb"<[^<>]*>")
_REPEATED = rb"""-%s-repeated\s*=\s*["']([0-9]+)["']"""
_ATTRIBUTE = re.compile(r'([\w:]+)="([^"]*)"')


def is_workbook(path: Path) -> bool:
    """Whether it is one, by its name."""
    return path.suffix.lower() in WORKBOOKS


def cell_text(value: Any, written: TextFormat) -> str | None:
    """A value as the card says that texts are written; ``None`` for nothing."""
    if value is None or value == "" or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, bool):
        return ((written.true if value else written.false) or (str(value).lower(),))[0]
    if isinstance(value, int | float):
        whole = isinstance(value, int) or value.is_integer()
        text = str(int(value)) if whole else f"{Decimal(repr(value)):f}" if math.isfinite(value) else str(value)
        return text.replace(".", written.decimal or ".")
    if isinstance(value, dt.date):
        moment = value if isinstance(value, dt.datetime) else dt.datetime.combine(value, dt.time())
        usual = "%Y-%m-%d" if moment.time() == dt.time() else ""
        form = next((one for one in written.formats if _says_all(one, moment)), usual)
        return f"{moment:{form}}" if form else moment.isoformat(" ")
    return str(value)


def _says_all(format_: str, moment: dt.datetime) -> bool:
    """Whether a date or time that is written by a format is the same when it is read."""
    parts = {"%f": moment.microsecond, "%S": moment.second, "%M": moment.minute, "%[HI]": moment.hour}
    parts["%Y"] = not 1970 <= moment.year < 2070
    return all(not part or re.search(needed, format_) for needed, part in parts.items())


# -- workbooks


def longest_sheet(path: Path) -> str | None:
    """The name of the sheet with the most rows, the first of equals; nothing if there is only one sheet with cells."""
    with _workbook(path) as book:
        names = _filled(book)
        return None if len(names) == 1 else max(names, key=lambda one: book.get_sheet_by_name(one).height)


def sheet_rows(path: Path, sheet: str | None = None) -> Iterator[tuple[int, list[Any]]]:
    """The rows of a sheet that are not empty, each with its number and as many cells as the widest.

    Cells that are merged down a column all show the value; an error (``#N/A``) is its text.
    """
    with _workbook(path) as book:
        names = _filled(book) if sheet is None else (sheet,)
        if sheet is not None and sheet not in book.sheet_names:
            raise NotFound(f"{path.name} has no sheet {sheet!r}; it has {', '.join(book.sheet_names)}.")
        if len(names) != 1:
            raise DataError(
                f"{path.name} has {len(names)} sheets: {', '.join(names)}.",
                hint='Declare one on the card: file = { sheet = "…" }. A draft takes one: discreet card draft --sheet.',
            )
        found = book.get_sheet_by_name(names[0])
        first_column = (found.start or (0, 0))[1]
        errors = _error_cells(path, names[0])
        merged = defaultdict(list)
        for (top, left), (bottom, right) in found.merged_cell_ranges or ():
            merged[top].append((bottom, left - first_column, right - first_column))
        shown: dict[int, tuple[int, Any]] = {}
        for place, cells in enumerate(found.iter_rows()):
            for column, text in errors.get(place, {}).items():
                cells[column - first_column] = text
            for column, (bottom, value) in shown.items():
                cells[column] = value if place <= bottom else cells[column]
            for bottom, left, right in merged[place]:
                shown |= {column: (bottom, cells[column]) for column in range(left, min(right + 1, len(cells)))}
            if any(cell != "" for cell in cells):
                yield place + 1, cells


def _filled(book: CalamineWorkbook) -> tuple[str, ...]:
    names = tuple(book.sheet_names)
    return names if len(names) == 1 else tuple(one for one in names if book.get_sheet_by_name(one).height) or names


@contextmanager
def _workbook(path: Path) -> Iterator[CalamineWorkbook]:
    with extra("files"):
        from python_calamine import CalamineError, CalamineWorkbook, PasswordError

    damaged = (CalamineError, zipfile.BadZipFile, zlib.error, OSError, EOFError, NotImplementedError, RuntimeError)
    try:
        if path.suffix.lower() != ".xls":
            with zipfile.ZipFile(path) as archive:
                _require_small(archive, path)
        with CalamineWorkbook.from_path(path) as book:
            yield book
    except PasswordError as error:
        raise DataError(f"{path.name} has a password.", hint="Save it without one.") from error
    except damaged as error:
        raise DataError(
            f"{path.name} could not be read: {str(error).rstrip('.')}.", hint="The workbook is damaged; save it again."
        ) from error


def _require_small(archive: zipfile.ZipFile, path: Path) -> None:
    """Raise an error if a workbook unpacks to more than fits in memory, whatever sizes it declares."""
    declared = {one.filename: one.file_size for one in archive.infolist()}
    problem = "" if sum(declared.values()) <= MOST_BYTES else f"unpacks to more than {MOST_BYTES >> 30} GB"
    for name, size in declared.items():
        if problem:
            break
        unpacked, rows, columns, rest = 0, 0, 0, b""
        for part in _unpacked(archive, name):
            unpacked += len(part)
            if unpacked > size:
                problem = f"is larger than it declares ({name})"
                break
            whole, end, rest = (rest + part).rpartition(b">")  # a tag may go on in the next part
            rows, columns = _extent(whole + end, rows, columns)
            rest = rest[-_LONGEST_CELL:]
        if rows * columns > MOST_CELLS:
            problem = f"has a sheet of {rows:,} rows and {columns:,} columns"
    if problem:
        raise DataError(f"{path.name} {problem}.", hint="Export the sheet as CSV or Parquet.")


def _extent(part: bytes, rows: int, columns: int) -> tuple[int, int]:
    """Rows and columns of a sheet as far as they are named, or repeated with a value, in a part of it."""
    named = re.findall(_PLACE, part)
    rows = max([rows, *map(int, {row for _, row in named})])
    columns = max([columns, *map(_column_number, {column for column, _ in named})])
    rows = max([rows, *map(int, re.findall(rb"""<(?:\w+:)?row\s[^>]*?r\s*=\s*["']([0-9]+)["']""", part))])
    columns = max([columns, *(len(re.findall(rb"<(?:\w+:)?c\b", one)) for one in re.split(rb"<(?:\w+:)?row\b", part))])
    repeated = {
        int(n) for tag in _TAG.findall(part) if b"value-type" in tag for n in re.findall(_REPEATED % b"columns", tag)
    }
    if repeated:
        rows += sum(map(int, re.findall(_REPEATED % b"rows", part)))
        columns = max(columns, *repeated)
    return rows, columns


def _column_number(letters: bytes) -> int:
    """The number of a column, from 1: ``AA`` is 27."""
    number = 0
    for letter in letters.upper():
        number = number * 26 + letter - 64
    return number


def _unpacked(archive: zipfile.ZipFile, name: str) -> Iterator[bytes]:
    """The bytes of a member, however many there are: the size that is declared does not end them."""
    info = archive.getinfo(name)
    info.file_size = MOST_BYTES + 1
    with archive.open(info) as file:
        while part := file.read(_CHUNK_BYTES):
            yield part


def _error_cells(path: Path, sheet: str) -> dict[int, dict[int, str]]:
    """The errors of a sheet of an Excel workbook by row and column, from 0; an error if a formula has no value."""
    found: dict[int, dict[int, str]] = {}
    if path.suffix.lower() not in (".xlsx", ".xlsm"):
        return found
    with zipfile.ZipFile(path) as archive:
        rest = b""
        for part in _unpacked(archive, _member(archive, sheet)):
            cells, _, rest = _PREFIX.sub(rb"<\1", rest + part).rpartition(b"</c>")
            cells += b"</c>"
            for attributes, inside in _CELL.findall(cells):
                place, kind = re.search(_PLACE, attributes), _TYPE.search(attributes)
                if kind and kind[1] == b"e" and place and (saved := _SAVED.search(inside)):
                    row = found.setdefault(int(place[2]) - 1, {})
                    row[_column_number(place[1]) - 1] = unescape(saved[1].decode())
                elif _EMPTY_FORMULA.fullmatch(inside) and not (kind and kind[1] == b"str"):
                    where = b"".join(place.groups()).decode() if place else "one of its cells"
                    raise DataError(
                        f"{path.name}: the formula in {where} was never computed.",
                        hint="Open the workbook in a spreadsheet program and save it there.",
                    )
            rest = rest[-_LONGEST_CELL:]
    return found


def _member(archive: zipfile.ZipFile, sheet: str) -> str:
    """The member of an Excel workbook that has a sheet."""
    texts = [archive.read(one).decode() for one in ("xl/workbook.xml", "xl/_rels/workbook.xml.rels")]
    tags = [[dict(_ATTRIBUTE.findall(tag)) for tag in re.findall(r"<[^>]*>", text)] for text in texts]
    key = next(one["r:id"] for one in tags[0] if unescape(one.get("name", "")) == sheet and "r:id" in one)
    target = next(one["Target"] for one in tags[1] if one.get("Id") == key)
    return target.removeprefix("/") if target.startswith("/") else f"xl/{target}"


# -- files of statistical packages


def is_statistical(path: Path) -> bool:
    """Whether it is a file of SPSS, Stata or SAS, by its name."""
    return path.suffix.lower() in STATISTICAL


def statistical_rows(path: Path) -> tuple[tuple[str, ...], Iterator[tuple[int, list[Any]]]]:
    """The names of the columns, and the rows with their numbers; what a package calls missing is ``None``."""

    def rows() -> Iterator[tuple[int, list[Any]]]:
        first = 1
        while part := list(zip(*_statistical(path, row_offset=first - 1, row_limit=_ROWS_AT_ONCE)[0], strict=True)):
            yield from ((first + place, list(cells)) for place, cells in enumerate(part))
            first += len(part)

    return _statistical(path, metadataonly=True)[1], rows()


def value_labels(path: Path) -> dict[str, dict[str, str]]:
    """The labels of each column's codes, the codes as text."""
    found = _statistical(path, metadataonly=True)[2]
    return {
        name: {cell_text(code, TextFormat()) or "": str(label) for code, label in labels.items()}
        for name, labels in found.items()
    }


def _statistical(path: Path, **asked: Any) -> tuple[list[list[Any]], tuple[str, ...], dict[str, dict[Any, Any]]]:
    """The columns of a part of a file, their names, and the labels of their codes."""
    with extra("files"):
        import pyreadstat

    try:
        data, about = getattr(pyreadstat, STATISTICAL[path.suffix.lower()])(str(path), output_format="dict", **asked)
    except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError, ValueError, OverflowError) as error:
        raise DataError(
            f"{path.name} could not be read: {error}.", hint="The file is damaged; save it again."
        ) from error
    return [list(column) for column in data.values()], tuple(about.column_names), about.variable_value_labels
