"""What a party brings: numbers, columns, files and tables."""

from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.core.card import Card, Column
from discreet.engines.read import read
from discreet.errors import BadInput, DataError, NotDeclared, NotFound, Refused
from discreet.verbs.combine.data import Data, as_text, load
from discreet.verbs.combine.fixed_point import FixedPoint

ROWS = {"age": [3, 40, 40, 7], "sex": ["f", "m", "m", "f"]}


def test_a_number_several_numbers_and_columns_are_data():
    frame = pd.DataFrame({"value": [5]})
    for value in (5, 5.0, "5", Decimal(5), [5], (5,), np.array([5]), np.int64(5), np.float64(5), frame):
        units, times = Data.from_value(value).numbers("value", FixedPoint(0, 10))
        assert (units.tolist(), times.tolist()) == ([5], [1])
    data = Data.from_value(ROWS)
    assert Data.from_value(data) is data
    assert data.rows == 4
    assert data.counts(["sex", "age"]) == {("f", "3"): 1, ("m", "40"): 2, ("f", "7"): 1}
    with pytest.raises(BadInput, match="same number"):
        Data.from_value({"a": [1], "b": [1, 2]})
    for wrong in (None, object()):
        with pytest.raises(BadInput, match="A party's input cannot be "):
            Data.from_value(wrong)
    with pytest.raises(NotFound, match="no column 'income'"):
        data.columns(["income"])
    with pytest.raises(NotFound, match="names no column, and the input has these: age, sex") as unnamed:
        data.numbers("value", FixedPoint(0, 10))
    assert "of=" in unnamed.value.hint


def test_the_digest_is_of_all_that_is_brought():
    digests = [Data.from_value(value).digest for value in (5, 6, [5, 5], ROWS, {**ROWS, "age": [3, 40, 40, 8]})]
    assert len(set(digests)) == 5
    assert Data.from_value(ROWS).digest == Data.from_value(dict(ROWS)).digest


def test_a_text_file_has_a_number_a_line(tmp_path):
    file = tmp_path / "salary.txt"
    file.write_text("100.25\n\n 7 \n")
    data = load(file)
    assert data.numbers("value", FixedPoint(0, 20_000, 2))[0].tolist() == [10025, 700]
    file.write_text("100\n1,5\n")
    with pytest.raises(DataError, match="line 2"):
        load(file)
    with pytest.raises(NotFound):
        load(tmp_path / "nowhere.txt")


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_rows_in_a_file_are_counted_where_they_are(tmp_path, suffix):
    file = tmp_path / f"rows.{suffix}"
    if suffix == "csv":
        file.write_text("age,sex\n3,f\n40,m\n40,m\n7,f\n")
    else:
        pq.write_table(pa.table(ROWS), file)
    data = load(file)
    assert data.rows == 4
    units, times = data.numbers("age", FixedPoint(0, 110))
    assert sorted(zip(units.tolist(), times.tolist(), strict=True)) == [(3, 1), (7, 1), (40, 2)]
    assert data.counts(["sex", "age"]) == Data.from_value(ROWS).counts(["sex", "age"])
    assert sorted(data.columns(["age"])[0].tolist()) == [3, 7, 40, 40]
    assert data.digest == load(file).digest


def test_what_is_missing_is_an_error(tmp_path):
    file = tmp_path / "rows.csv"
    file.write_text("age,sex\n3,f\n,m\n7,\n")
    with pytest.raises(DataError):
        load(file).numbers("age", FixedPoint(0, 110))
    with pytest.raises(DataError, match="missing"):
        load(file).counts(["sex"])


def test_a_table_that_was_read_says_whose_rows_they_are():
    rows = pa.table({"person": [1, 2, 2], "age": [3, 4, 5]})
    columns = (Column("person", "integer"), Column("age", "integer", bounds=(0, 110)))
    several = Data.from_value(read(rows, Card("visits", columns, unit="person", rows_per_unit=2)))
    assert several.rows == 3
    with pytest.raises(Refused, match="several rows"):
        several.require_one_row_each()
    Data.from_value(
        read(rows.slice(0, 2), Card("visits", columns, unit="person", rows_per_unit=1))
    ).require_one_row_each()
    assert len(several.digest) == 32


def test_a_table_with_an_undecided_column_is_not_brought():
    columns = (Column("age", "integer"), Column("pay", "integer", "undecided"))
    table = read(pa.table({"age": [3], "pay": [4]}), Card("visits", columns))
    with pytest.raises(NotDeclared, match="visits are undecided: pay"):
        Data.from_value(table)
    assert Data.from_value(table.select("age")).rows == 1


def test_a_file_may_say_whose_its_rows_are(tmp_path):
    file = tmp_path / "visits.csv"
    file.write_text("person,age\n1,3\n2,4\n2,5\n")
    load(file).require_one_row_each()
    with pytest.raises(Refused, match="several rows"):
        load(file, "person").require_one_row_each()
    with pytest.raises(NotFound, match="no column 'patient'"):
        load(file, "patient")


def test_categories_are_texts():
    assert [as_text(value) for value in (True, np.bool_(False), 3.0, 2.5, 7, "x")] == [
        "true", "false", "3", "2.5", "7", "x",
    ]  # fmt: skip
