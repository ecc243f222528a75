"""No cell of a CSV file is a formula."""

import csv
import io
import re

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dc
from discreet.core.spreadsheet import escaped, write_csv

ODD = ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1", "'=1", "''@x", "- ", "-"]
PLAIN = ["a=1", "-5", "+3.25", "-1e6", "-5%", "", "'quoted'", "'", " =1", "1-2", "*", "[-5, 0)", None]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())])
def test_a_text_that_would_be_computed_has_an_apostrophe(kind):
    rows = pa.table({"t": pa.array(ODD + PLAIN, pa.string()).cast(kind)})
    assert escaped(rows)["t"].to_pylist() == [f"'{text}" for text in ODD] + PLAIN


def test_numbers_and_names_of_columns():
    rows = pa.table({"=x": [-5, 3], "-y": [-0.5, 1.0], "z": pa.array(["=1", None])})
    sink = io.BytesIO()
    write_csv(rows, sink)
    read = list(csv.reader(io.StringIO(sink.getvalue().decode())))
    assert read == [["'=x", "'-y", "z"], ["-5", "-0.5", "'=1"], ["3", "1", ""]]


@given(st.lists(st.text(st.sampled_from("'=+-@\t\r\n5.a ＝")), min_size=1))
def test_it_can_be_undone_and_nothing_is_left_to_compute(texts):
    made = escaped(pa.table({"t": pa.array(texts, pa.string())}))["t"].to_pylist()
    assert not [
        text for text in made if text[:1] in "=+-@\t\r\n＝" and text and not re.fullmatch(r"[-+]?[0-9.]+", text)
    ]
    assert [re.sub(r"\A'(?='*[=+\-@\t\r\n＝])", "", text) for text in made] == texts


@pytest.mark.parametrize("to_folder", [True, False])
def test_the_csv_of_a_release_has_no_formulas(tmp_path, to_folder):
    card = dc.Card("t", (dc.Column("q", dc.Kind.TEXT, dc.Role.QUASI), dc.Column("s", dc.Kind.TEXT, dc.Role.SENSITIVE)))
    table = dc.read(pa.table({"q": ["=1+1"] * 4, "s": ["@x", "b", "-5", "+y"]}), card)
    folder = tmp_path / "out"
    if to_folder:
        dc.publish(table, dc.Generalize(), dc.KAnonymity(2), to=folder, csv=True)
    else:
        dc.publish(table, dc.Generalize(), dc.KAnonymity(2)).save(folder, csv=True)
    read = list(csv.DictReader(io.StringIO((folder / "payload.csv").read_text(encoding="utf-8"))))
    assert sorted((row["q"], row["s"]) for row in read) == sorted(("'=1+1", s) for s in ("'@x", "b", "-5", "'+y"))
    assert set(dc.Release.load(folder).payload["s"].to_pylist()) == {"@x", "b", "-5", "+y"}
