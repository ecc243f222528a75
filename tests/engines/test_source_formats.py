"""The same rows in every format, read by one card, are the same rows."""

import datetime as dt
import gzip
import re
import zipfile

import openpyxl
import pandas as pd
import polars as pl
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pyreadstat
import pytest
from pyarrow import feather

import discreet as dc
from discreet.core.card import Card, Column
from discreet.core.kind import Kind
from discreet.core.text_format import FileLayout, TextFormat
from discreet.engines.files import open_file
from discreet.engines.read import open_source, read
from discreet.errors import BadInput, DataError, EngineError, NotFound

COLUMNS = (
    Column("mrn", Kind.TEXT),
    Column("born", Kind.DATE, text=TextFormat(format=["%d.%m.%Y", "%Y-%m-%d"])),
    Column("size", Kind.REAL, text=TextFormat(decimal=",", misfit="missing")),
    Column("sex", Kind.TEXT, text=TextFormat(labels={"1": "male", "2": "female"})),
    Column("well", Kind.BOOLEAN, text=TextFormat(true=["ja"], false=["nein"])),
    Column("town", Kind.TEXT),
)
CARD = Card("p", COLUMNS, text=TextFormat(missing=["?", "NA"], trim=True))
TEXTS = [
    ("0012", "31.12.1970", "1,5", "1", "ja", "Köln"),
    ("0013", " 1.2.1980", "?", "2", "NEIN", "?"),
    ("0014", "NA", "tall", "1", "?", " Düren "),
    ("0015", "1999-01-31", "2", "2", "Ja", "NA"),
]
ROWS = [
    ("0012", dt.date(1970, 12, 31), 1.5, "male", True, "Köln"),
    ("0013", dt.date(1980, 2, 1), None, "female", False, None),
    ("0014", None, None, "male", None, "Düren"),
    ("0015", dt.date(1999, 1, 31), 2.0, "female", True, None),
]
NAMES = [column.name for column in COLUMNS]


def csv(delimiter=";", rows=TEXTS):
    return "".join(delimiter.join(row) + "\n" for row in [NAMES, *rows])


def book(path, rows, *, title=None):
    workbook = openpyxl.Workbook()
    sheet = workbook.active
    for row in ([title] if title else []) + [NAMES, *rows]:
        sheet.append(row)
    workbook.save(path)
    return path


def card(**layout):
    return Card("p", COLUMNS, text=CARD.text, file=FileLayout(**layout))


def found(table):
    return [tuple(row.values()) for row in table.fetch().to_pylist()]


def test_a_csv_in_another_encoding_below_titles_is_read_by_its_card(tmp_path):
    path = tmp_path / "p.csv.gz"
    path.write_bytes(gzip.compress(("Bericht\n\n" + csv() + "\n").encode("windows-1252")))
    table = read(path, card(encoding="windows-1252", header=3))
    assert found(table) == ROWS
    assert [str(one) for one in table.misfits] == ["size: 1 value is not real (such as 'tall' (line 6))"]
    assert "treated as missing: size: 1 value" in str(table)
    with pytest.raises(DataError, match=r'line 4: this is not UTF-8 text.*encoding = "windows-1252"'):
        read(path, card(header=3))


def test_layouts_that_spark_does_not_know_are_lent_to_it(spark, tmp_path):
    path = tmp_path / "p.csv"
    path.write_bytes(("Bericht\n" + csv()).encode("utf-16"))
    table = read(path, card(encoding="utf-16", header=2), engine=spark)
    assert sorted(found(table)) == ROWS
    assert [str(one) for one in table.misfits] == ["size: 1 value is not real (such as 'tall' (line 5))"]
    path.write_text(csv())
    plain = read(path, CARD, engine=spark)
    assert sorted(found(plain)) == ROWS
    assert [one.count for one in plain.misfits] == [1]


def test_a_file_without_a_header_has_the_columns_of_its_card(tmp_path):
    path = tmp_path / "p.tsv"
    path.write_text("units\t" * 5 + "units\n" + csv("\t").partition("\n")[2])
    assert found(read(path, card(header=0, skip=1))) == ROWS
    path.write_text("1\t2\n")
    with pytest.raises(DataError, match="2 fields in a row, and its card 6 columns"):
        read(path, card(header=0))


def test_fixed_widths_are_read_by_their_card(tmp_path):
    path, widths = tmp_path / "p.txt", (6, 12, 6, 4, 6, 8)
    path.write_text(
        "".join(
            "".join(one.ljust(width) for one, width in zip(row, widths, strict=True)).rstrip() + "\n"
            for row in [NAMES, *TEXTS]
        )
    )
    assert found(read(path, card(widths=widths))) == ROWS


def test_a_workbook_holds_numbers_dates_and_texts_in_one_column(tmp_path):
    rows = [list(row) for row in TEXTS]
    rows[0][1], rows[0][2], rows[0][4] = dt.date(1970, 12, 31), 1.5, True
    rows[0][3] = rows[2][3] = 1
    path = book(tmp_path / "p.xlsx", rows, title=["Bericht 2024"])
    table = read(path, card(header=2))
    assert found(table) == ROWS
    assert [str(one) for one in table.misfits] == ["size: 1 value is not real (such as 'tall' (row 5))"]


def test_a_workbook_of_several_sheets_needs_a_name(tmp_path):
    path = tmp_path / "p.xlsx"
    workbook = openpyxl.Workbook()
    workbook.active.append(["a"])
    workbook.create_sheet("other").append(["a"])
    workbook["other"].append([7])
    workbook.create_sheet("empty")
    workbook.save(path)
    with pytest.raises(DataError, match="2 sheets: Sheet, other"):
        open_file(path, None, None)
    one = Card("t", (Column("a", Kind.INTEGER),), file=FileLayout(sheet="other"))
    assert found(read(path, one)) == [(7,)]
    with pytest.raises(NotFound, match="no sheet 'none'; it has Sheet, other, empty"):
        read(path, Card("t", one.columns, file=FileLayout(sheet="none")))


def test_merged_cells_show_their_value_in_every_row_and_errors_are_seen(tmp_path):
    workbook = openpyxl.Workbook()
    sheet = workbook.active
    for row in (["ward", "n"], ["A", 1], [None, 2], ["B", "#N/A"], [None, None]):
        sheet.append(row)
    sheet.merge_cells("A2:A3")
    workbook.save(tmp_path / "p.xlsx")
    columns = (Column("ward", Kind.TEXT), Column("n", Kind.INTEGER, text=TextFormat(misfit="missing")))
    table = read(tmp_path / "p.xlsx", Card("t", columns))
    assert found(table) == [("A", 1), ("A", 2), ("B", None)]
    assert [str(one) for one in table.misfits] == ["n: 1 value is not integer (such as '#N/A' (row 4))"]
    sheet["B2"] = "=1+1"
    workbook.save(tmp_path / "p.xlsx")
    with pytest.raises(DataError, match="formula in B2 was never computed"):
        read(tmp_path / "p.xlsx", Card("t", columns))


@pytest.mark.parametrize("ending", ["sav", "zsav", "dta", "xpt"])
def test_files_of_statistical_packages_have_their_labels(tmp_path, ending):
    path = str(tmp_path / f"p.{ending}")
    data = pd.DataFrame({"id": [1.0, 2.0, 3.0], "sex": [1.0, 2.0, None], "born": [dt.date(2020, 1, 31)] * 3})
    labels = {"variable_value_labels": {"sex": {1: "male", 2: "female"}}}
    write = {"xpt": pyreadstat.write_xport, "dta": pyreadstat.write_dta}.get(ending, pyreadstat.write_sav)
    write(data, path, **({} if ending == "xpt" else labels), **({"compress": True} if ending == "zsav" else {}))
    born, codes = dt.date(2020, 1, 31), (Column("id", Kind.INTEGER), Column("sex", Kind.INTEGER))
    assert found(read(path, Card("t", (*codes, Column("born", Kind.DATE))))) == [
        (1, 1, born),
        (2, 2, born),
        (3, None, born),
    ]
    sexes = ["1", "2", None] if ending == "xpt" else ["male", "female", None]
    assert read(path, Card("t", (Column("sex", Kind.TEXT),))).fetch()["sex"].to_pylist() == sexes
    opened = open_source(path)
    guessed = opened.engine.fetch(opened.relation)
    assert guessed["sex"].to_pylist() == ([1, 2, None] if ending == "xpt" else sexes)
    assert guessed["born"].to_pylist() == [born] * 3


def test_arrow_files_and_folders_are_read(tmp_path):
    data = pa.table({name: [row[place] for row in TEXTS] for place, name in enumerate(NAMES)})
    feather.write_feather(data, tmp_path / "p.feather")
    with pa.ipc.new_stream(tmp_path / "p.arrow", data.schema) as stream:
        stream.write(data)
    pq.write_table(data, tmp_path / "p.parquet")
    (tmp_path / "parts").mkdir()
    for place, row in enumerate(TEXTS):
        (tmp_path / "parts" / f"{place}.csv").write_text(csv(rows=[row]))
    for name in ("p.feather", "p.arrow", "p.parquet", "parts"):
        table = read(tmp_path / name, CARD)
        assert found(table) == ROWS, name
        assert [one.count for one in table.misfits] == [1]
    assert table.misfits[0].examples == ("'tall' (2.csv, line 2)",)
    (tmp_path / "parts" / "9.csv").write_text("a;b\n1;2\n")
    with pytest.raises(DataError, match=r"9\.csv has different columns"):
        read(tmp_path / "parts", CARD)


def test_text_columns_of_a_database_are_read_by_their_card(engine, fresh):
    """Wherever the rows are: the same relation, the same rows."""
    from discreet.engines.read import Source, _declared, _everything

    name = fresh()
    engine.load(name, pa.table({name_: [row[place] for row in TEXTS] for place, name_ in enumerate(NAMES)}))
    table = _declared(CARD, Source("p", engine, _everything(name)))
    assert sorted(found(table)) == ROWS
    assert [str(one) for one in table.misfits] == ["size: 1 value is not real (such as 'tall')"]
    strict = Card("p", (Column("town", Kind.INTEGER),), text=TextFormat(missing=["?"]))
    with pytest.raises(DataError, match="town: 3 values are not integer"):
        _declared(strict, Source("p", engine, _everything(name)))


def test_numbers_that_are_codes_get_their_labels():
    labelled = Card("t", (Column("sex", Kind.TEXT, text=TextFormat(labels={"1": "male", "2": "female"})),))
    assert found(read(pa.table({"sex": [2, 1, None]}), labelled)) == [("female",), ("male",), (None,)]


def test_a_query_of_a_database_is_read_and_can_only_read(postgres, postgres_address, fresh):
    name = fresh()
    postgres.load(name, pa.table({"a": [1, 2, 3], "b": ["x#y", "z", None]}))
    address = f"{postgres_address}#SELECT a * 2 AS a FROM {name} WHERE b = 'x#y' OR a > 2"
    one = Card("t", (Column("a", Kind.INTEGER),))
    table = read(address, one)
    assert sorted(found(table)) == [(2,), (6,)]
    assert table.source.endswith(address.partition("#")[2])
    for text in (
        f"WITH gone AS (DELETE FROM {name} RETURNING a) SELECT a FROM gone",
        f"SELECT a INTO copied FROM {name}",
        f"SELECT a FROM {name}; DROP TABLE {name}",
        f"SELECT a FROM {name} FOR UPDATE",
        f"SELECT a FROM {name} WHERE a = $1",
        f"SELECT random() AS a FROM {name}",
        f"SELECT a FROM {name} WHERE pg_sleep(9) IS NULL",
        """SELECT length("pg_read_file"('PG_VERSION')) AS a""",
        """SELECT a FROM "pg_catalog"."pg_stat_file"('PG_VERSION') AS t(a)""",
        "SELECT FROM WHERE",
    ):
        with pytest.raises(BadInput, match="query of this address"):
            read(f"{postgres_address}#{text}", one)
    with psycopg.connect(postgres_address) as connection:
        assert connection.execute(f'SELECT count(*) FROM "{name}"').fetchall() == [(3,)]
    with pytest.raises(BadInput, match="Only a PostgreSQL address"):
        read("sc://localhost#SELECT 1", one)


def test_frames_keep_the_meaning_of_their_types():
    moment = dt.datetime(2024, 3, 31, 1, 30, tzinfo=dt.UTC)
    one = Card(
        "t",
        (
            Column("ward", Kind.TEXT),
            Column("n", Kind.INTEGER),
            Column("seen", Kind.TIMESTAMP),
            Column("nothing", Kind.INTEGER),
            Column("ok", Kind.BOOLEAN),
        ),
    )
    pandas = pd.DataFrame(
        {
            "ward": pd.Categorical(["A", None], categories=["B", "A"]),
            "n": pd.array([1, None], dtype="Int64"),
            "seen": pd.to_datetime([moment, None]).tz_convert("Europe/Berlin"),
            "nothing": [None, None],
            "ok": pd.array([True, None], dtype="boolean"),
        }
    )
    polars = pl.DataFrame(
        {
            "ward": pl.Series(["A", None], dtype=pl.Enum(["B", "A"])),
            "n": pl.Series([1, None], dtype=pl.UInt8),
            "seen": pl.Series([moment, None]).dt.convert_time_zone("Europe/Berlin"),
            "nothing": [None, None],
            "ok": [True, None],
        }
    )
    for frame in (pandas, polars):
        rows = read(frame, one).fetch()
        assert [tuple(row.values()) for row in rows.to_pylist()] == [("A", 1, moment, None, True), (None,) * 5]
        assert str(rows.schema.field("seen").type) == "timestamp[us, tz=UTC]"


def test_what_was_taken_for_missing_is_said_by_the_command_and_the_recipe(tmp_path):
    from tests.called import called

    (tmp_path / "p.csv").write_text("zip,age\n" + "1305,20\n" * 4 + "1305,old\n")
    columns = (Column("zip", Kind.TEXT, "quasi"), Column("age", Kind.INTEGER, text=TextFormat(misfit="missing")))
    (tmp_path / "p.toml").write_text(dc.dump_cards([Card("p", columns)]))
    run = called(["card", "check", "p.toml", "--data", "p.csv"], tmp_path)
    assert (
        "Treated as missing, as the card declares:\n  age: 1 value is not integer (such as 'old' (line 6))"
        in run.stdout
    )
    release = dc.publish(read(tmp_path / "p.csv", Card("p", columns)), [dc.KAnonymity(2)])
    assert release.recipe.parameters["taken_for_missing"] == {"age": 1}


def test_a_misfit_that_comes_later_fails_too(postgres, postgres_address, fresh):
    name = fresh()
    postgres.load(name, pa.table({"born": ["31.12.1999"], "sex": ["1"]}))
    columns = (
        Column("born", Kind.DATE, text=TextFormat(format="%d.%m.%Y")),
        Column("sex", Kind.TEXT, text=TextFormat(labels={"1": "male"})),
    )
    table = read(f"{postgres_address}#{name}", Card("t", columns))
    assert found(table) == [(dt.date(1999, 12, 31), "male")]
    for values in (("31.02.1999", "1"), ("31.12.1999", "2")):
        with psycopg.connect(postgres_address) as connection:
            connection.execute(f'UPDATE "{name}" SET born = %s, sex = %s', values)
        with pytest.raises(EngineError, match="PostgreSQL failed: invalid input"):
            table.fetch()


def test_dates_of_a_workbook_are_written_by_a_format_that_says_all_of_them(tmp_path):
    """Two digits of a year would make 2050 of 1950, and a format without seconds would drop them."""
    born = Column("born", Kind.TIMESTAMP, text=TextFormat(format=["%d.%m.%y", "%d.%m.%Y %H:%M"], misfit="missing"))
    workbook, path = openpyxl.Workbook(), tmp_path / "p.xlsx"
    moments = [dt.datetime(1950, 2, 3), dt.datetime(1980, 2, 3), dt.datetime(1980, 2, 3, 10, 11)]
    for row in (["born"], *([one] for one in (*moments, dt.datetime(1980, 2, 3, 10, 11, 12)))):
        workbook.active.append(row)
    workbook.save(path)
    table = read(path, Card("p", (born,)))
    assert table.head(9)["born"].to_pylist() == [*moments, None]
    assert [one.count for one in table.misfits] == [1]


@pytest.mark.parametrize("name", ["rowid", "ROWID"])
def test_a_column_may_be_called_as_duckdb_calls_its_own(tmp_path, name):
    path = tmp_path / "p.csv"
    path.write_text(f"{name},a\n7,1\n8,x\n")
    card = Card("p", (Column(name, Kind.INTEGER), Column("a", Kind.INTEGER, text=TextFormat(misfit="missing"))))
    table = read(path, card)
    assert table.head(9).to_pylist() == [{name: 7, "a": 1}, {name: 8, "a": None}]
    assert "line 3" in str(table.misfits[0])


def test_a_column_cannot_be_called_as_we_call_one(tmp_path):
    path = tmp_path / "p.csv"
    path.write_text("discreet_row,a\n7,1\n8,x\n")
    with pytest.raises(DataError, match="Rename it"):
        read(path, Card("p", (Column("discreet_row", Kind.INTEGER), Column("a", Kind.INTEGER))))


def test_quotation_marks_may_be_none(tmp_path):
    path = tmp_path / "p.csv"
    path.write_text('a,b\n"x,2\n')
    card = Card("p", (Column("a", Kind.TEXT), Column("b", Kind.INTEGER)), file=FileLayout(quote=""))
    assert read(path, card).head(9).to_pylist() == [{"a": '"x', "b": 2}]


def test_utf_16_needs_its_mark(tmp_path):
    path = tmp_path / "p.csv"
    path.write_bytes("a\n1\n".encode("utf-16-be"))
    with pytest.raises(DataError, match="BOM"):
        read(path, Card("p", (Column("a", Kind.INTEGER),), file=FileLayout(encoding="utf-16")))


SHEET = (
    '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'
    '<row r="1"><c r="A1" t="inlineStr"><is><t>a</t></is></c></row>{}</sheetData></worksheet>'
)


def sheet(path, rows, *, prefixed=False):
    """A workbook with a sheet as other programs may write it."""
    book(path, [])
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    text = SHEET.format(rows)
    text = re.sub(r"<(/?)(?=\w)", r"<\1x:", text).replace("xmlns=", "xmlns:x=") if prefixed else text
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in (members | {"xl/worksheets/sheet1.xml": text}).items():
            archive.writestr(name, content)
    return path


@pytest.mark.parametrize(
    "error",
    [
        "<c r='A2' t='e'><v>#N/A</v></c>",
        '<c s="0" t="e" r="A2"><v>#N/A</v></c>',
        '<c r="A2" t = "e"><f>1/0</f><v>#N/A</v></c>',
        '<c r="B2"/><c r="A2" t="e"><v>#N/A</v></c>',
    ],
)
@pytest.mark.parametrize("prefixed", [False, True])
def test_an_error_in_a_cell_is_its_text_however_the_sheet_is_written(tmp_path, error, prefixed):
    path = sheet(
        tmp_path / "p.xlsx", f'<row r="2">{error}</row><row r="3"><c r="A3"><v>3</v></c></row>', prefixed=prefixed
    )
    assert found(read(path, Card("t", (Column("a", Kind.TEXT),)))) == [("#N/A",), ("3",)]
    path = sheet(path, '<row r="2"><c s="0" r="A2"><f>1+1</f></c></row>', prefixed=prefixed)
    with pytest.raises(DataError, match="the formula in A2 was never computed"):
        read(path, Card("t", (Column("a", Kind.TEXT),)))


@pytest.mark.parametrize(
    "far",
    [
        "<c r='XFD1048576'><v>1</v></c>",
        '<c r="xfd1048576"><v>1</v></c>',
        '<c r = "XFD0000000001048576"><v>1</v></c>',
        "<c/>" * 9000 + "<c><v>1</v></c>",
    ],
)
@pytest.mark.parametrize("padding", [0, (1 << 20) - len(SHEET) - 30])
def test_a_sheet_that_would_not_fit_in_memory_is_refused_however_it_is_written(tmp_path, far, padding):
    """A library that makes room for all cells ends the process. The padding lets a tag lie on the end of a chunk."""
    path = sheet(tmp_path / "p.xlsx", f"{' ' * padding}<row r='1048576'>{far}</row>")
    with pytest.raises(DataError, match="has a sheet of 1,048,576 rows"):
        read(path, Card("t", (Column("a", Kind.TEXT),)))
