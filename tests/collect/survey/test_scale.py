"""Files of answers: any kind that people have, a part at a time, and never half a file of reports."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from tests.collect.survey.surveys import answers, survey

from discreet.errors import BadInput, DataError, NotFound
from discreet.noise.entropy import Entropy
from discreet.verbs.collect.survey import report_files
from discreet.verbs.collect.survey.report_files import randomize_batch, randomize_file, read_reports


class Heads(Entropy):
    """Coins that always fall heads, so that the truth is told."""

    __slots__ = ()

    def bytes(self, count):
        return bytes(count)


TABLE = pa.Table.from_batches([answers(300)])


def test_csv_and_parquet_give_the_same_reports(tmp_path):
    made = survey()
    pq.write_table(TABLE, tmp_path / "a.parquet")
    pyarrow.csv.write_csv(TABLE, tmp_path / "a.csv")
    for name in ("a.parquet", "a.csv"):
        assert randomize_file(made, tmp_path / name, tmp_path / f"{name}.parquet", entropy=Heads()) == 300
    one, other = (pq.read_table(tmp_path / f"{name}.parquet") for name in ("a.parquet", "a.csv"))
    assert one.equals(other)
    assert one.column("like").to_pylist() == [value == "yes" for value in TABLE.column("like").to_pylist()]


def test_parts_are_read_one_after_the_other(tmp_path, monkeypatch):
    monkeypatch.setattr(report_files, "_ROWS_PER_BATCH", 100)
    pq.write_table(TABLE, tmp_path / "a.parquet")
    report_codes = []
    randomize_file(survey(), tmp_path / "a.parquet", tmp_path / "r.parquet", progress=report_codes.append)
    assert report_codes == [100, 200, 300]
    assert [people for people, _ in read_reports(survey(), tmp_path / "r.parquet")] == [100, 100, 100]


def test_truth_values_and_dictionaries_are_answers_too():
    made = survey()
    plain = answers(300)
    odd = plain.set_column(0, "like", pa.array([value == "yes" for value in plain.column("like").to_pylist()]))
    odd = odd.set_column(2, "gender", odd.column("gender").dictionary_encode())
    assert randomize_batch(made, odd, Heads()).equals(randomize_batch(made, plain, Heads()))


def test_if_one_question_is_drawn_everybody_answers_one():
    batch = randomize_batch(survey(share="sampled"), answers(2_000))
    asked = [2_000 - column.null_count for column in batch.columns]
    assert sum(asked) == 2_000
    assert min(asked) > 350  # of 500; less has a chance of 1e-13


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"like": None}, "no column 'like'"),
        ({"like": pa.array(["maybe"] * 300)}, "not one of the question's values"),
        ({"like": pa.array([None] * 300, pa.string())}, "answer to like is missing"),
        ({"albums": pa.array([0.5] * 300)}, "whole numbers"),
        ({"age": pa.array(["old"] * 300)}, "not a number"),
    ],
)
def test_what_is_no_answer_is_an_error_and_leaves_no_file(tmp_path, changed, says):
    columns = {name: TABLE.column(name) for name in TABLE.column_names} | changed
    pq.write_table(
        pa.table({name: value for name, value in columns.items() if value is not None}), tmp_path / "a.parquet"
    )
    with pytest.raises(DataError, match=says):
        randomize_file(survey(), tmp_path / "a.parquet", tmp_path / "r.parquet")
    assert [path.name for path in tmp_path.iterdir()] == ["a.parquet"]


@pytest.mark.parametrize("bad", ["yes,3,female,40,secret", "yes,secret,female,40"])
def test_what_is_wrong_with_a_csv_is_said_by_its_line_and_quotes_nobody(tmp_path, bad):
    rows = ["like,albums,gender,age", *["yes,3,female,40"] * 100_000, bad, "no,1,male,30"]
    (tmp_path / "a.csv").write_text("\n".join(rows))
    with pytest.raises(DataError, match="wrong in line 100002") as raised:
        randomize_file(survey(), tmp_path / "a.csv", tmp_path / "r.parquet")
    assert "secret" not in str(raised.value)


def test_files_that_are_not_there_or_of_another_survey(tmp_path):
    with pytest.raises(NotFound):
        randomize_file(survey(), tmp_path / "a.parquet", tmp_path / "r.parquet")
    (tmp_path / "a.parquet").write_text("no")
    with pytest.raises(DataError, match="cannot be read"):
        randomize_file(survey(), tmp_path / "a.parquet", tmp_path / "r.parquet")
    pq.write_table(TABLE, tmp_path / "b.parquet")
    randomize_file(survey(), tmp_path / "b.parquet", tmp_path / "r.parquet")
    with pytest.raises(BadInput, match="already exists"):
        randomize_file(survey(), tmp_path / "b.parquet", tmp_path / "r.parquet")
    with pytest.raises(DataError, match="do not belong to the current version of this survey"):
        list(read_reports(survey(epsilon=3), tmp_path / "r.parquet"))
