"""From sources as they are to drafts, and from drafts to tables: messy files, data frames and databases."""

from dataclasses import replace

import pandas as pd
import polars as pl
import psycopg
import pyarrow as pa
import pytest

import discreet as dc
from discreet import samples
from discreet.core.card import Card, Column
from discreet.core.cardfile import parse_cards
from discreet.core.kind import Kind
from discreet.core.text_format import TextFormat
from discreet.errors import DataError, NotDeclared


def test_a_messy_file_is_drafted_as_it_is_and_read_exactly_once_its_questions_are_answered(tmp_path):
    made = samples.messy(rows=3_000)
    file = made.write(tmp_path)
    drafted = dc.draft(file)
    assert drafted.card.file == made.card.file
    assert drafted.card.unit == made.card.unit
    same = ("patient_no", "name", "born", "zip", "town", "height_cm", "admitted", "diagnosis", "smoker", "note")
    found = {name: (drafted.card[name].kind, drafted.card[name].role) for name in same}
    assert found == {name: (made.card[name].kind, made.card[name].role) for name in same}
    assert not drafted.card.having(dc.Role.OTHER)
    with pytest.raises(DataError, match=r"born: \d+ values are not date[\s\S]*cost: \d+ values are not real"):
        dc.read(file, drafted)
    answers = {name: replace(drafted.card[name].text, misfit="missing") for name in ("born", "cost")}
    columns = [replace(one, text=answers.get(one.name, one.text)) for one in drafted.card.columns]
    rows = dc.read(file, replace(drafted.card, columns=tuple(columns))).fetch()
    for name in same:
        assert rows.column(name).to_pylist() == made.truth.column(name).to_pylist(), name
    cost = [one if one is None else float(one) for one in made.truth.column("cost").to_pylist()]
    assert rows.column("cost").to_pylist() == cost


FRAME = pd.DataFrame(
    {
        "sex": pd.Categorical(["f", "m", "f", None] * 25, categories=["f", "m", "x"]),
        "visits": pd.array([1, None, 3, 40] * 25, dtype="Int64"),
        "seen": pd.to_datetime(["2024-03-31 12:00"] * 100).tz_localize("Europe/Vienna"),
        "born": ["31.12.1970", "01.02.1980"] * 50,
        "iso": ["1970-12-31", "1980-02-01"] * 50,
        "code": ["1", "2"] * 50,
        "weight": ["70,5", "?"] * 50,
    }
)


@pytest.mark.parametrize("frame", [FRAME, pl.from_pandas(FRAME)], ids=["pandas", "polars"])
def test_data_frames_keep_the_meaning_of_their_types(frame):
    drafted = dc.draft(frame, name="people")
    kinds = {one.name: one.kind.value for one in drafted.card.columns if one.name != "sex"}
    assert kinds == {
        "visits": "integer",
        "seen": "timestamp",
        "born": "date",
        "iso": "date",
        "code": "text",
        "weight": "real",
    }
    rows = dc.read(frame, drafted).fetch()
    assert rows.column("sex").to_pylist()[:4] == ["f", "m", "f", None]
    assert rows.column("visits").to_pylist()[:3] == [1, None, 3]
    assert [str(one) for one in rows.column("born").to_pylist()[:2]] == ["1970-12-31", "1980-02-01"]
    assert rows.column("iso").to_pylist() == rows.column("born").to_pylist()
    assert rows.column("weight").to_pylist()[:2] == [70.5, None]
    assert rows.column("seen").to_pylist()[0].isoformat() == "2024-03-31T10:00:00+00:00"


def test_the_categories_of_a_data_frame_are_marked_as_read_off_the_data():
    drafted = dc.draft(FRAME, name="people")
    assert drafted.card["sex"].categories == ("f", "m", "x")
    assert drafted.card["sex"].from_data == ("categories",)
    assert "NOT PRIVATE" in drafted.to_toml()
    assert any("delete from_data" in why for why in drafted.reasons["sex"])
    assert parse_cards(drafted.to_toml()) == {"people": drafted.card}


def test_what_is_drafted_is_read_and_nothing_of_it_leaves_before_it_is_decided():
    table = dc.read(FRAME, dc.draft(FRAME, name="people"))
    assert table.count() == len(FRAME)
    with pytest.raises(NotDeclared, match="visits, code"):
        dc.publish(table, "k=2")


def test_texts_of_a_database_are_drafted_and_read(postgres, postgres_address, fresh):
    name = fresh()
    postgres.load(name, pa.table({"born": ["31.12.1970", "01.02.1980", "n/a"] * 10, "n": list(range(30))}))
    source = f"{postgres_address}#{name}"
    drafted = dc.draft(source)
    assert drafted.card["born"].text.missing == ("n/a",)
    assert [str(one) for one in dc.read(source, drafted).fetch().column("born").to_pylist()[:3]] == [
        "1970-12-31",
        "1980-02-01",
        "None",
    ]


@pytest.mark.parametrize(("type_", "value"), [("uuid", "md5(n::text)"), ("jsonb", "'[' || n || ']'"), ("char(4)", "n")])
def test_units_that_postgres_prints_as_text_are_drafted_read_and_counted(
    postgres, postgres_address, fresh, type_, value
):
    """No type but text takes patterns, and a UUID has no smallest value before PostgreSQL 18."""
    name = fresh()
    with psycopg.connect(postgres_address) as connection:
        connection.execute(
            f"CREATE TABLE {name} AS SELECT ({value})::{type_} AS id, (ARRAY['x', 'y'])[1 + n % 2] AS town, n AS paid"
            " FROM generate_series(1, 40) AS n"
        )
    source = f"{postgres_address}#{name}"
    drafted = dc.draft(source)
    assert drafted.card["id"].kind is Kind.TEXT
    missing = replace(drafted.card["id"], text=TextFormat(missing=("n/a",)))
    columns = (missing, Column("town", Kind.TEXT), Column("paid", Kind.INTEGER))
    table = dc.read(source, Card(name, columns, unit="id", rows_per_unit=1))
    made = dc.tabulate(table, by="town", value="paid", rules="min=3").payload.to_pylist()
    assert sorted(row["paid"] for row in made) == [400, 420, 820]


def test_numbers_that_often_stand_for_missing_ones_are_asked_about(tmp_path):
    (tmp_path / "people.csv").write_text("age,height,size\n" + "41,170,1\n35,-99,2\n999,180,3\n99,175,4\n" * 30)
    drafted = dc.draft(tmp_path / "people.csv")
    assert any('"999" is far from all other values' in why for why in drafted.reasons["age"])
    assert any('declare: missing = ["-99"]' in why for why in drafted.reasons["height"])
    assert not any("far from" in why for why in drafted.reasons["size"])
    assert drafted.card["age"].text.missing is None
    assert any("codes" in why for why in dc.draft(pa.table({"sex": [1, 2] * 20})).reasons["sex"])
