"""Two hundred mutilated files, drawn by a seed, each with the rows it has, an error, or whatever is no traceback."""

from __future__ import annotations

import gzip
import io
import os
import struct
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pyreadstat
from pyarrow import feather

from discreet.core.text_format import FileLayout
from discreet.engines.files import open_file
from discreet.errors import BadInput, DataError, EngineError, NotFound

NAMES = ("a", "b", "c")
Rows = list[tuple[str | None, ...]]
ERROR, ANYTHING = "an error", "anything but a traceback"
Case = tuple[Path, FileLayout, "Rows | str"]


def cases(folder: Path, seed: int, count: int) -> Iterator[tuple[str, Case]]:
    """``count`` files, one of each kind after the other."""
    for number in range(count):
        random = Random(f"{seed} {number}")  # noqa: S311
        make = MUTILATIONS[number % len(MUTILATIONS)]
        place = folder / str(number)
        place.mkdir()
        yield f"{number} {make.__name__}", make(place, random)


def judge(case: Case) -> str:
    """What is wrong with how a file is read; nothing if it is right."""
    path, layout, expected = case
    try:
        opened = open_file(path, {}, None, layout=layout)
        rows = [tuple(row.values()) for row in opened.engine.fetch(opened.relation).to_pylist()]
        opened.engine.close()
    except (DataError, BadInput, NotFound) as error:
        told = str(error)
        if expected not in (ERROR, ANYTHING):
            return f"not read: {told}"
        return "" if 10 < len(told) < 2_000 and "Traceback" not in told else f"unclear: {told[:200]}"
    except EngineError as error:  # Parquet is read where it lies, when its rows are asked for
        return "" if expected == ANYTHING and path.suffix == ".parquet" else f"unclear: {error}"
    if expected == ANYTHING or rows == expected:
        return ""
    return f"read as {str(rows)[:200]}, expected {str(expected)[:200]}"


def _truth(random: Random, many: int = 20) -> Rows:
    words = ("x", "ä ö", "1,5", "2", "it's", "long " * 10, "é")
    return [(str(row), random.choice(words), random.choice(words)) for row in range(many)]


def _csv(rows: Rows, end: str = "\n") -> str:
    lines = [";".join(NAMES), *(";".join(cell or "" for cell in row) for row in rows)]
    return "".join(line + end for line in lines)


def _made(folder: Path, name: str, content: bytes | str, expected: Rows | str, **layout: object) -> Case:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path, FileLayout(**layout), expected  # type: ignore[arg-type]


def wrong_encoding(folder: Path, random: Random) -> Case:
    return _made(folder, "p.csv", _csv([*_truth(random), ("é", "é", "é")]).encode("latin-1"), ERROR)


def right_encoding(folder: Path, random: Random) -> Case:
    encoding, rows = random.choice(["windows-1252", "utf-16", "utf-16-be", "cp850", "utf-32"]), _truth(random)
    return _made(folder, "p.csv", _csv(rows).encode(encoding), rows, encoding=encoding)


def _broken_line(line: str, random: Random) -> str:
    lines = _csv(_truth(random)).splitlines()
    lines.insert(random.randrange(1, len(lines)), line)
    return "\n".join(lines) + "\n"


def short_row(folder: Path, random: Random) -> Case:
    return _made(folder, "p.csv", _broken_line(random.choice(["1", "1;2"]), random), ERROR)


def long_row(folder: Path, random: Random) -> Case:
    return _made(folder, "p.csv", _broken_line("1;2;3;4" + ";5" * random.randrange(3), random), ERROR)


def mixed_separators(folder: Path, random: Random) -> Case:
    return _made(folder, "p.csv", _broken_line(random.choice(["1,2,3", "1\t2\t3", "1|2;3"]), random), ERROR)


def byte_order_mark(folder: Path, random: Random) -> Case:
    rows = _truth(random)
    return _made(folder, random.choice(["p.csv", "p.tsv", "p.txt"]), "\ufeff" + _csv(rows), rows)


def zero_byte(folder: Path, random: Random) -> Case:
    return _made(folder, "p.csv", _broken_line("1;\0;3", random), ERROR)


def million_columns(folder: Path, random: Random) -> Case:
    many = random.choice([20_000, 100_000, 1_000_000])
    return _made(folder, "p.csv", ",".join(f"c{place}" for place in range(many)) + "\n", ERROR)


def nothing_in_it(folder: Path, random: Random) -> Case:
    name = random.choice(["p.csv", "p.xlsx", "p.parquet", "p.sav", "p.feather", "p.json", "p.csv.gz", "p.fwf"])
    return _made(folder, name, random.choice([b"", b"\n"]), ERROR)


def header_alone(folder: Path, random: Random) -> Case:
    return _made(folder, "p.csv", random.choice(["a;b;c", "a;b;c\n", "\ufeffa;b;c\r\n"]), [])


def bad_names(folder: Path, random: Random) -> Case:
    names = random.choice(["a;a;b", "a;A;b", "a;;b", ";;", "1;2;3", "a;b; "])
    return _made(folder, "p.csv", f"{names}\n1;2;3\n", ERROR)


def open_quote(folder: Path, random: Random) -> Case:
    return _made(folder, "p.csv", _broken_line(random.choice(['1;"2;3', '"1;2;3', '1;2;"3']), random), ERROR)


def line_ends(folder: Path, random: Random) -> Case:
    rows = _truth(random)
    if random.random() < 0.5:
        return _made(folder, "p.csv", _csv(rows, random.choice(["\r", "\r\n"])), rows)
    first, _, rest = _csv(rows).partition("\n2;")
    return _made(folder, "p.csv", first.replace("\n", "\r\n") + "\r\n2;" + rest, rows)


def long_line(folder: Path, random: Random) -> Case:
    size = random.choice([100_000, 1_000_000, 40_000_000])
    rows: Rows = [("1", "x" * size, "3")]
    return _made(folder, "p.csv", _csv(rows), ERROR if size > 16_000_000 else rows)


def packed_long_line(folder: Path, random: Random) -> Case:
    with gzip.open(folder / "p.csv.gz", "wb", 6) as file:
        file.write(b"a;b;c\n")
        for _ in range(random.choice([50, 200])):
            file.write(b"x" * 1_000_000)
    return folder / "p.csv.gz", FileLayout(), ERROR


def truncated(folder: Path, random: Random) -> Case:
    data = pa.table({name: ["x" * 50] * 500 for name in NAMES})
    sink, book = io.BytesIO(), openpyxl.Workbook()
    name = random.choice(["p.csv.gz", "p.parquet", "p.xlsx", "p.feather", "p.sav"])
    if name == "p.csv.gz":
        whole = gzip.compress("".join(f"{random.random()};b;c\n" for _ in range(500)).encode())
    elif name == "p.sav":
        pyreadstat.write_sav(pd.DataFrame({"a": range(500)}), str(folder / name))
        whole = (folder / name).read_bytes()
    else:
        if name == "p.parquet":
            pq.write_table(data, sink)
        elif name == "p.feather":
            feather.write_feather(data, sink)
        else:
            book.active.append(list(NAMES))
            book.save(sink)
        whole = sink.getvalue()
    return _made(folder, name, whole[: random.randrange(17, int(len(whole) * 0.9))], ERROR)


def random_bytes(folder: Path, random: Random) -> Case:
    endings = ["csv", "fwf", "xlsx", "xls", "ods", "parquet", "json", "sav", "dta", "sas7bdat", "xpt", "arrow"]
    return _made(folder, f"p.{random.choice(endings)}", random.randbytes(random.choice([20, 3_000])), ERROR)


def flipped_bytes(folder: Path, random: Random) -> Case:
    sink, book, name = io.BytesIO(), openpyxl.Workbook(), random.choice(["p.parquet", "p.xlsx", "p.sav", "p.feather"])
    if name == "p.parquet":
        pq.write_table(pa.table({"a": [1, 2]}), sink)
    elif name == "p.feather":
        feather.write_feather(pa.table({"a": ["x", "y"]}), sink)
    elif name == "p.xlsx":
        for row in (NAMES, (1, 2, 3)):
            book.active.append(row)
        book.save(sink)
    else:
        pyreadstat.write_sav(pd.DataFrame({"a": [1.0, 2.0]}), str(folder / name))
        sink.write((folder / name).read_bytes())
    whole = bytearray(sink.getvalue())
    for _ in range(random.randrange(1, 6)):
        whole[random.randrange(16, len(whole))] ^= 1 << random.randrange(8)
    return _made(folder, name, bytes(whole), ANYTHING)


def _workbook(sheet: bytes, extra: dict[str, bytes] | None = None) -> bytes:
    """An Excel workbook of one sheet, written by hand."""
    main = b"http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    office = b"http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = b"http://schemas.openxmlformats.org/package/2006/relationships"
    parts = {
        "_rels/.rels": b'<Relationships xmlns="%b"><Relationship Id="r1" Type="%b/officeDocument" '
        b'Target="xl/workbook.xml"/></Relationships>' % (package, office),
        "xl/workbook.xml": b'<workbook xmlns="%b" xmlns:r="%b"><sheets><sheet name="s" sheetId="1" r:id="r1"/></sheets>'
        b"</workbook>" % (main, office),
        "xl/_rels/workbook.xml.rels": b'<Relationships xmlns="%b"><Relationship Id="r1" Type="%b/worksheet" '
        b'Target="worksheets/sheet1.xml"/></Relationships>' % (package, office),
        "xl/worksheets/sheet1.xml": b'<worksheet xmlns="%b"><sheetData>' % main + sheet + b"</sheetData></worksheet>",
        **(extra or {}),
    }
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return sink.getvalue()


def _cells(*rows: tuple[str, ...]) -> bytes:
    text = ""
    for number, row in enumerate(rows, 1):
        cells = (
            f'<c r="{letter}{number}" t="inlineStr"><is><t>{cell}</t></is></c>'
            for letter, cell in zip("ABC", row, strict=True)
        )
        text += f'<row r="{number}">{"".join(cells)}</row>'
    return text.encode()


def zip_bomb(folder: Path, random: Random) -> Case:
    """Gigabytes of spaces, declared; or more than is declared."""
    good = _workbook(_cells(NAMES, ("1", "2", "3")), {"xl/bomb.xml": b" " * 100_000_000})
    if random.random() < 0.5:  # it says that it is a hundred bytes long
        good = good.replace(struct.pack("<L", 100_000_000), struct.pack("<L", 100))
    else:  # it says that it is four gigabytes long
        good = good.replace(struct.pack("<L", 100_000_000), struct.pack("<L", 4_000_000_000))
    return _made(folder, "p.xlsx", good, ERROR)


def far_cell(folder: Path, random: Random) -> Case:
    far = b'<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>'
    return _made(folder, random.choice(["p.xlsx", "p.xlsm"]), _workbook(_cells(NAMES) + far), ERROR)


def entities(folder: Path, random: Random) -> Case:
    lines = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, random.choice([9, 12])))
    bomb = f'<!DOCTYPE x [<!ENTITY e0 "x">{lines}]>'.encode()
    return _made(folder, "p.xlsx", _workbook(bomb + b'<row r="1"><c r="A1" t="str"><v>&e8;</v></c></row>'), ANYTHING)


def formulas(folder: Path, random: Random) -> Case:
    saved = random.random() < 0.5
    value = "<v>7</v>" if saved else random.choice(["", "<v></v>", "<v/>"])
    cell = f'<row r="2"><c r="A2"><f>3+4</f>{value}</c><c r="B2"><v>1.5</v></c></row>'.encode()
    sheet = _cells(NAMES) + cell
    return _made(folder, "p.xlsx", _workbook(sheet), [("7", "1.5", None)] if saved else ERROR)


def merged(folder: Path, random: Random) -> Case:
    book = openpyxl.Workbook()
    for row in (NAMES, ("1", "2", "3"), (None, "5", "6")):
        book.active.append(row)
    header = random.random() < 0.5
    book.active.merge_cells("A1:B1" if header else "A2:A3")
    book.save(folder / "p.xlsx")
    return folder / "p.xlsx", FileLayout(), ERROR if header else [("1", "2", "3"), ("1", "5", "6")]


def no_file(folder: Path, random: Random) -> Case:
    path, rows = folder / "p.csv", _truth(random)
    (folder / "real").write_text(_csv(rows))
    what = random.choice(["link", "broken", "loop", "fifo", "folder", "device"])
    if what == "fifo":
        os.mkfifo(path)
    elif what == "folder":
        path.mkdir()
    else:
        place = {"link": folder / "real", "broken": folder / "gone", "loop": path, "device": Path("/dev/zero")}[what]
        path.symlink_to(place)
    return path, FileLayout(), rows if what == "link" else ERROR


def fixed_widths(folder: Path, random: Random) -> Case:
    rows: Rows = [("1", "ä b", "c"), ("22", None, "d")]
    good = "a  b  c\n1  ä bc\n22    d"
    late = random.random() < 0.5
    return _made(folder, "p.fwf", good + (" e\n" if late else "\n"), ERROR if late else rows, widths=(3, 3, 1))


def odd_json(folder: Path, random: Random) -> Case:
    text = random.choice(['{"a": 1', "[1, 2", "nul", '{"a": 1}\n{"A": 2, "a": 3}\n', "a;b\n1;2\n", '{"a": }'])
    return _made(folder, random.choice(["p.json", "p.jsonl"]), text, ERROR)


def odd_name(folder: Path, random: Random) -> Case:
    rows = _truth(random)
    return _made(
        folder, random.choice(["it's [a] {b}*?.csv", "ü ñ.CSV", "a'; DROP TABLE x.csv", "-x.tsv"]), _csv(rows), rows
    )


MUTILATIONS: tuple[Callable[[Path, Random], Case], ...] = (
    wrong_encoding,
    right_encoding,
    short_row,
    long_row,
    mixed_separators,
    byte_order_mark,
    zero_byte,
    nothing_in_it,
    header_alone,
    bad_names,
    open_quote,
    line_ends,
    truncated,
    random_bytes,
    flipped_bytes,
    formulas,
    merged,
    no_file,
    fixed_widths,
    odd_json,
    odd_name,
    far_cell,
    entities,
    zip_bomb,
    million_columns,
    long_line,
    packed_long_line,
)
