"""How a text file is laid out: its encoding, delimiter and header, found by evidence; and its text in a stream.

Text is decoded strictly, a chunk at a time: a byte that is none of the encoding is an error with its line. Encodings
that fit any bytes are told apart by what they make of letters: a word has no sign in it and no capital in its middle.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, pairwise
from pathlib import Path
from typing import IO, TypeVar

from discreet.core.text_format import FileLayout, TextFormat
from discreet.engines.workbooks import cell_text, is_workbook, longest_sheet, sheet_rows
from discreet.errors import DataError

_Found = TypeVar("_Found", int, str)
DELIMITERS = ",;\t|"
MOST_COLUMNS = 10_000
"""Columns of a file at most."""
_SAMPLE = 200
HEADER_CHARACTERS = 1 << 20
"""Characters of a text file in which its header must end."""
_CHUNK_BYTES = 1 << 20
_SINGLE_BYTE = ("windows-1252", "iso-8859-15", "windows-1250", "iso-8859-2", "windows-1251", "cp850", "mac-roman")
"""Encodings to choose from, the first of equals; windows-1252 has all letters of ISO 8859-1."""
NUMBER = r"[+-]?(\d+[.,]?\d*|[.,]\d+)([eE][+-]?\d+)?"
"""What is a number, and no column's name."""
_VALUE = rf"{NUMBER}|\d{{1,4}}[-./]\d{{1,2}}[-./]\d{{1,4}}.*"
"""What is a number or a date, and no column's name."""


def detect_layout(path: Path, sheet: str | None = None) -> FileLayout:
    """The layout of a text file or workbook; what is as it is by default is not declared.

    ``header`` is 0 where the first row has numbers or dates alone. Of several filled sheets the longest is taken,
    unless ``sheet`` names another.
    """
    if is_workbook(path):
        sheet = sheet or longest_sheet(path)
        rows = list(islice(sheet_rows(path, sheet), _SAMPLE))
        header = _header_row([[cell_text(cell, TextFormat()) or "" for cell in cells] for _, cells in rows])
        return FileLayout(sheet=sheet, header=_unusual(rows[header - 1][0] if header else 0, 1))
    encoding = detect_encoding(path)
    start = head(path, encoding)
    lines = start.splitlines()[:_SAMPLE]
    if suffix_of(path) == ".fwf" or not any(mark in start for mark in DELIMITERS):
        widths = _widths(lines)
        if len(widths) > 1:
            header = _header_row([cut(line, widths) for line in lines])
            return FileLayout(encoding=_unusual(encoding, "utf-8"), widths=widths, header=_unusual(header, 1))
    quoted = re.findall(r"(?m)(?:^|[,;\t|])'[^'\n]*'(?=[,;\t|\r\n])", start)
    quote = "'" if '"' not in start and len(quoted) > 1 else None
    delimiter, header = _delimited(start, quote)
    return FileLayout(
        encoding=_unusual(encoding, "utf-8"),
        delimiter=_unusual(delimiter, ","),
        quote=quote,
        header=_unusual(header, 1),
    )


def suffix_of(path: Path) -> str:
    """The ending of a file's name that says what it is, without ``.gz``."""
    endings = [one.lower() for one in path.suffixes] or [""]
    return endings[-2] if endings[-1] == ".gz" and len(endings) > 1 else endings[-1]


def _unusual(found: _Found, usual: _Found) -> _Found | None:
    return None if found == usual else found


# -- encodings


def detect_encoding(path: Path) -> str:
    """``utf-8`` where all bytes are; else by its mark, its zero bytes, or what makes words of its bytes."""
    with open_bytes(path) as file:
        start = file.read(_CHUNK_BYTES)
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    if not start.startswith(codecs.BOM_UTF8) and b"\0" in start:
        even, odd = start[::2].count(0), start[1::2].count(0)
        if max(even, odd) > len(start) // 8 and min(even, odd) * 8 < max(even, odd):
            return "utf-16-be" if even > odd else "utf-16-le"
    evidence = _not_utf8(path)
    if evidence is None:
        return "utf-8"
    fitting = [one for one in _SINGLE_BYTE if _decodes(evidence, one)]
    return max(fitting, key=lambda one: _wordlike(evidence.decode(one)), default="iso-8859-1")


def _not_utf8(path: Path) -> bytes | None:
    """Lines with bytes beyond ASCII, from the first chunk that is no UTF-8 on; ``None`` if all of the file is."""
    decoder, part = codecs.getincrementaldecoder("utf-8")("strict"), b""
    with open_bytes(path) as file:
        try:
            while part := file.read(_CHUNK_BYTES):
                decoder.decode(part)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            part += file.read(_CHUNK_BYTES)
        else:
            return None
    return b"\n".join(line for line in part.splitlines() if not line.isascii())


def _decodes(text: bytes, encoding: str) -> bool:
    try:
        return not re.search("[\x80-\x9f]", text.decode(encoding))
    except UnicodeDecodeError:
        return False


def _wordlike(text: str) -> int:
    """Evidence that a text was decoded rightly: letters within words count for it, signs and capitals there against."""
    score = 0
    for before, here, after in zip(" " + text, text, text[1:] + " ", strict=False):
        beside = [one for one in (before, after) if one.isalpha()]
        if here.isascii():
            continue
        if not (here.islower() or here.isupper()):
            score -= 2 if beside or here == "¤" else 0
        elif here < "\u0250":  # a Latin letter
            foreign = not before.isascii() and not after.isascii()
            score += -2 if foreign or (here.isupper() and before.islower()) else 1
        else:
            score += -2 if any(map(str.isascii, beside)) else 1
    return score


def open_bytes(path: Path) -> IO[bytes]:
    """The bytes of a file, unpacked if it is gzipped."""
    return gzip.open(path, "rb") if path.suffix.lower() == ".gz" else path.open("rb")  # type: ignore[return-value]


def decoded(path: Path, encoding: str | None) -> Iterator[str]:
    """The text of a file, a chunk at a time, without a byte order mark; an error with the line where it is none."""
    name = codecs.lookup(encoding or "utf-8").name
    decoder, line, first = codecs.getincrementaldecoder(name)("strict"), 1, True
    with open_bytes(path) as file:
        while True:
            part = b""
            try:
                part = file.read(_CHUNK_BYTES)
                text = decoder.decode(part, final=not part)
            except UnicodeDecodeError as error:
                raise _undecodable(path, encoding, line + error.object[: error.start].count(b"\n")) from error
            except (OSError, EOFError, zlib.error, UnicodeError) as error:  # the last: UTF-16 without its mark
                raise DataError(f"{path.name} could not be read: {error}.", hint="Is the file complete?") from error
            if first and text:
                text, first = text.removeprefix("\ufeff"), False
            line += text.count("\n")
            if text:
                yield text
            if not part:
                return


def _undecodable(path: Path, encoding: str | None, line: int) -> DataError:
    likely = detect_encoding(path)
    hint = f'It looks like {likely}: declare file = {{ encoding = "{likely}" }} on its card.'
    return DataError(
        f"{path.name}, line {line}: this is not {encoding or 'UTF-8'} text.",
        hint=hint if likely != (encoding or "utf-8").lower() else "Declare its encoding on the card.",
    )


def head(path: Path, encoding: str | None) -> str:
    """The first million characters of a text file."""
    start, size = [], 0
    for part in decoded(path, encoding):
        start.append(part)
        size += len(part)
        if size >= HEADER_CHARACTERS:
            break
    text = "".join(start)[:HEADER_CHARACTERS]
    if "\0" in text:
        raise DataError(f"{path.name} is not a text file: it has zero bytes.")
    return text


# -- delimiter and header


def _delimited(start: str, quote: str | None) -> tuple[str, int]:
    """The delimiter, and the line of the header: the first row as wide as most rows are, and without a number."""

    def judged(delimiter: str) -> tuple[bool, float, int]:
        grid = parsed[delimiter]
        width = _width(row for _, row in grid)
        alike = sum(len(row) == width for _, row in grid) / max(len(grid), 1)
        named = any(len(row) == width and _names(row) for _, row in grid)
        return width > 1 and named, alike if width > 1 else 0, width

    parsed = {delimiter: list(_parsed(start, delimiter, quote)) for delimiter in DELIMITERS}
    best = max(DELIMITERS, key=judged)
    place = _header_row([row for _, row in parsed[best]])
    return best, parsed[best][place - 1][0] if place else 0


def _parsed(start: str, delimiter: str, quote: str | None) -> Iterator[tuple[int, list[str]]]:
    """The first rows, each with the line it begins in; the last may be cut off, and is left out."""
    reader = csv.reader(io.StringIO(start, newline=""), delimiter=delimiter, quotechar=quote or '"')
    whole = len(start) < HEADER_CHARACTERS
    rows, line = [], 1
    try:
        for row in islice(reader, _SAMPLE):
            rows.append((line, row))
            line = reader.line_num + 1
    except csv.Error:
        whole = True
    yield from (one for one in (rows if whole or len(rows) == _SAMPLE else rows[:-1]) if one[1])


def _width(rows: Iterable[Sequence[str]]) -> int:
    """How many fields most rows have; the larger of equals."""
    widths = Counter(map(len, rows))
    return max(widths, key=lambda one: (widths[one], one), default=0)


def _names(row: Sequence[str]) -> bool:
    """Whether these can be the names of columns."""
    plain = [cell.strip() for cell in row]
    return all(plain) and not any(re.fullmatch(_VALUE, cell) for cell in plain) and len(set(plain)) == len(plain)


def _header_row(grid: Sequence[Sequence[str]]) -> int:
    """The row with the column names, from 1; 0 if the first full row has values alone."""
    width = _width(grid)
    full = [place for place, row in enumerate(grid, 1) if len(row) == width and any(cell.strip() for cell in row)]
    named = [place for place in full if _names(grid[place - 1])]
    if named and named[0] == full[0]:
        return named[0]
    first = grid[full[0] - 1] if full else ()
    if first and all(re.fullmatch(_VALUE, cell.strip()) or not cell.strip() for cell in first):
        return 0
    return named[0] if named else full[0] if full else 1


# -- fixed width


def _widths(lines: Sequence[str]) -> tuple[int, ...]:
    """Widths of the fields of lines that have spaces in the same places; nothing, if there are no such places."""
    rows = [line for line in lines if line.strip()]
    longest = max(map(len, rows), default=0)
    blank = [all(row[place : place + 1] in ("", " ") for row in rows) for place in range(longest)]
    starts = [0, *(place + 1 for place, (now, then) in enumerate(pairwise(blank)) if now and not then), longest]
    return tuple(end - begin for begin, end in pairwise(starts) if end > begin)


def cut(line: str, widths: Sequence[int]) -> list[str]:
    """The fields of a line of fixed widths, without the spaces around them."""
    ends = [sum(widths[: place + 1]) for place in range(len(widths))]
    return [line[end - width : end].strip() for end, width in zip(ends, widths, strict=True)]
