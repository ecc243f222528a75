"""Files that are what they say, and files that are not."""

import gzip

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.core.kind import Kind
from discreet.engines.duckdb import DuckDB
from discreet.engines.files import open_file
from discreet.errors import BadInput, DataError, NotFound


def rows(path, kinds=None):
    opened = open_file(path, kinds, None)
    return opened.engine.fetch(opened.relation)


def write(folder, name, content):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_a_csv_is_read_as_its_values_say(tmp_path):
    text = (
        "code,age,height,born,seen,ok,name,nothing\n"
        "01305,28,1.5,1990-05-01,2020-01-01 10:00:00,true,Ana,\n"
        "13068,,2,,,false,,\n"
    )
    found = rows(write(tmp_path, "p.csv", text))
    assert [str(t) for t in found.schema.types] == [
        "string",
        "int64",
        "double",
        "date32[day]",
        "timestamp[us]",
        "bool",
        "string",
        "string",
    ]
    assert found.column("code").to_pylist() == ["01305", "13068"]
    assert found.column("age").to_pylist() == [28, None]
    assert found.column("name").to_pylist() == ["Ana", None]


def test_codes_are_text_though_they_look_like_numbers(tmp_path):
    found = rows(write(tmp_path, "p.csv", "Zip Code,phone,zipper\n13053,5551234,1\n"))
    assert [str(t) for t in found.schema.types] == ["string", "string", "int64"]


def test_a_csv_is_read_as_its_card_says(tmp_path):
    found = rows(write(tmp_path, "p.csv", "zip,age\n13053,28\n"), {"zip": Kind.TEXT, "age": Kind.REAL})
    assert found.to_pylist() == [{"zip": "13053", "age": 28.0}]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_read_off_the_header(tmp_path, delimiter):
    text = f'a{delimiter}"b x"\n1{delimiter}"p{delimiter}q ""r""\ns"\n'
    assert rows(write(tmp_path, "p.csv", text)).to_pylist() == [{"a": 1, "b x": f'p{delimiter}q "r"\ns'}]


def test_odd_but_sound_csv_files_are_read(tmp_path):
    assert rows(write(tmp_path, "bom.csv", "\ufeffa,b\n1,2\n")).column_names == ["a", "b"]
    assert rows(write(tmp_path, "crlf.csv", "a,b\r\n1,x\r\n")).to_pylist() == [{"a": 1, "b": "x"}]
    assert rows(write(tmp_path, "one.csv", "a\n1\n2\n")).column("a").to_pylist() == [1, 2]
    assert rows(write(tmp_path, "empty.csv", "a,b\n")).num_rows == 0
    assert rows(write(tmp_path, "no newline at end [1].csv", "a,b\n1,2")).num_rows == 1
    assert rows(write(tmp_path, "p.csv.gz", gzip.compress(b"a,b\n1,2\n"))).num_rows == 1
    mixed = "\n".join(["a", *map(str, range(30_000)), "x"])
    assert rows(write(tmp_path, "late.csv", mixed)).schema.field("a").type == pa.string()


def test_parquet_and_json_and_folders_of_parquet_are_read(tmp_path):
    data = pa.table({"a": pa.array([1, 2], pa.int16()), "b": pa.array(["x", None]).dictionary_encode()})
    pq.write_table(data, tmp_path / "p.parquet")
    assert rows(tmp_path / "p.parquet").schema == pa.schema({"a": pa.int64(), "b": pa.string()})
    (tmp_path / "parts").mkdir()
    for part in range(3):
        pq.write_table(data, tmp_path / "parts" / f"{part}.parquet")
    assert rows(tmp_path / "parts").num_rows == 6
    lines = write(tmp_path, "p.jsonl", '{"a": 1, "zip": "013"}\n{"a": 2, "zip": null}\n')
    assert rows(lines).to_pylist() == [{"a": 1, "zip": "013"}, {"a": 2, "zip": None}]
    assert rows(write(tmp_path, "p.json", '[{"a": 1.5}]')).to_pylist() == [{"a": 1.5}]


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("p.csv", "a,b\n1,2\n3\n", "line 3: 1 fields where the header has 2"),
        ("p.csv", "a,b\n1,2\n3,4,5\n", "line 3: 3 fields where the header has 2"),
        ("p.csv", "a,a\n1,2\n", "same name: 'a' and 'a'"),
        ("p.csv", "a,A\n1,2\n", "same name: 'a' and 'A'"),
        ("p.csv", "a,,c\n1,2,3\n", "without a name: number 2"),
        ("p.csv", "1,2\n3,4\n", "looks like data"),
        ("p.csv", "", "is empty"),
        ("p.csv", "\na,b\n1,2\n", "first line of p.csv is empty"),
        ("p.csv", '"a,b\n' + "1,2\n" * 100_000, "not a header"),
        ("p.csv", "a,b\n1,\xe9\n".encode("latin-1"), "not UTF-8"),
        ("p.csv", b"a,b\n" + b"1,2\n" * 400_000 + "1,\xe9\n".encode("latin-1"), "not UTF-8"),
        ("p.csv", "a,b\n1,2\n".encode("utf-16"), 'encoding = "utf-16"'),
        ("p.csv", 'a,b\n1,"x\n2,y\n', "does not end"),
        ("p.csv", b"PAR1xxxxxxxxxxxx", "those of Parquet"),
        ("p.csv", b"PK\x03\x04 and so on", "Excel"),
        ("p.csv.gz", "a,b\n1,2\n", "is not gzip"),
        ("p.parquet", "a,b\n1,2\n", "is not Parquet"),
        ("p.parquet", b"PAR1" + b"\0" * 40, "could not be read"),
        ("p.json", '{"a": 1', "could not be read"),
        ("p.json", "a,b\n1,2\n", "could not be read"),
    ],
)
def test_a_file_that_is_not_what_it_says_gets_its_own_error(tmp_path, name, content, says):
    with pytest.raises(DataError) as caught:
        rows(write(tmp_path, name, content))
    assert says in str(caught.value)
    assert "\n\n" not in str(caught.value)


def test_values_that_are_not_what_the_card_says_are_counted_and_the_first_is_shown(tmp_path):
    path = write(tmp_path, "p.csv", "age,born\n28,1990-01-01\nold,1991-01-01\nyoung,soon\n")
    with pytest.raises(DataError) as caught:
        rows(path, {"age": Kind.INTEGER, "born": Kind.DATE})
    assert "age: 2 values are not integer (such as 'old' (line 3), 'young' (line 4))" in str(caught.value)
    assert "born: 1 value is not date (such as 'soon' (line 4))" in str(caught.value)


STRICT = [
    (Kind.INTEGER, ["0", "-5", "+7", "007"], ["1.7", "0x1F", "1_000", "1e3", "9223372036854775808", " 1 x"]),
    (Kind.REAL, ["1", "-.5", "1e3", "NaN", "-inf", "2."], ["1e400", "1,5", "0x1p3", "--1"]),
    (Kind.DECIMAL, ["1", "-0.25", ".5", "12."], ["0.1234567891234567891", "1e3", "nan"]),
    (Kind.BOOLEAN, ["true", "F", "Yes", "0"], ["2", "ja", "on"]),
    (Kind.DATE, ["2020-02-29"], ["2021-02-29", "2020-1-1", "2020-01-01 10:00:00", "infinity", "01.02.2020"]),
    (
        Kind.TIMESTAMP,
        ["2020-01-01", "2020-01-01T10:00", "2020-01-01 10:00:00.123456"],
        ["2020-01-01 10:00:00+02", "2020-01-01 10:00:00.123456789", "2020-01-01 25:00:00"],
    ),
]


@pytest.mark.parametrize(("kind", "good", "bad"), STRICT, ids=lambda value: getattr(value, "value", ""))
def test_a_value_is_of_its_kind_or_an_error_never_rounded_or_cut(tmp_path, kind, good, bad):
    for ending, quote in ((".csv", "{}"), (".jsonl", '{{"a": "{}"}}')):
        header = "a\n" if ending == ".csv" else ""
        path = write(tmp_path, f"good{ending}", header + "".join(quote.format(text) + "\n" for text in good))
        assert rows(path, {"a": kind}).num_rows == len(good)
        for number, text in enumerate(bad):
            path = write(tmp_path, f"bad{number}{ending}", header + quote.format(text.replace(",", "c")) + "\n")
            with pytest.raises(DataError, match=f"a: 1 value is not {kind.value}"):
                rows(path, {"a": kind})


def test_decimals_have_the_digits_that_are_there(tmp_path):
    found = rows(write(tmp_path, "p.csv", "a\n1.5\n2.25\n"), {"a": Kind.DECIMAL})
    assert [str(value) for value in found.column("a").to_pylist()] == ["1.50", "2.25"]


def test_json_is_read_as_its_card_says_and_nothing_is_guessed(tmp_path):
    path = write(tmp_path, "p.json", '[{"day": "2020-01-01", "time": "10:00:00", "n": 1.25, "m": null, "x": [1]}]')
    kinds = {"day": Kind.TEXT, "time": Kind.TEXT, "n": Kind.DECIMAL, "m": Kind.INTEGER, "x": Kind.TEXT}
    assert [str(value) for value in rows(path, kinds).to_pylist()[0].values()] == [
        "2020-01-01",
        "10:00:00",
        "1.25",
        "None",
        "[1]",
    ]


def test_two_files_of_one_name_and_one_file_twice_are_opened_on_one_engine(tmp_path):
    engine = DuckDB()
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        write(tmp_path / folder, "p.csv", f"a\n{folder}\n")
    opened = [open_file(tmp_path / folder / "p.csv", None, engine)[1] for folder in ("one", "two", "one")]
    assert [engine.fetch(relation).to_pylist()[0]["a"] for relation in opened] == ["one", "two", "one"]


def test_nothing_is_left_of_a_failed_load(tmp_path):
    engine = DuckDB()
    path = write(tmp_path, "p.csv", "age\n1\nx\n")
    with pytest.raises(DataError):
        open_file(path, {"age": Kind.INTEGER}, engine)
    assert engine.run("SELECT count(*) FROM duckdb_tables()") == [(0,)]


def test_missing_and_nameless_files_say_what_to_do(tmp_path):
    with pytest.raises(NotFound, match="no file"):
        rows(tmp_path / "no.csv")
    with pytest.raises(BadInput, match="no known ending"):
        rows(write(tmp_path, "notes", "x"))
    with pytest.raises(BadInput, match="it is a zip archive or an Excel workbook"):
        rows(write(tmp_path, "book.docx", b"PK\x03\x04 and so on"))
    (tmp_path / "folder").mkdir()
    with pytest.raises(DataError, match="no Parquet"):
        rows(tmp_path / "folder")
