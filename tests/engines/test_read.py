"""One door for every source: what is opened, and what is said of what cannot be."""

import importlib

import pyarrow as pa
import pytest

from discreet.core.card import Card, Column
from discreet.core.kind import Kind
from discreet.engines.duckdb import DuckDB
from discreet.engines.read import draft, read
from discreet.errors import BadInput, CardError, DataError, EngineError, NotFound

CARD = Card("t", (Column("a", Kind.INTEGER), Column("b", Kind.TEXT)))
COLUMNS = {"a": [1, 2], "b": ["x", None]}


def frame(library, columns):
    """A table of another library's, which is imported when a test needs it."""
    return pa.table(columns) if library == "pyarrow" else importlib.import_module(library).DataFrame(columns)


@pytest.mark.parametrize("library", ["pyarrow", "pandas", "polars"])
def test_a_table_in_memory_is_read_whoever_holds_it(library):
    assert read(frame(library, COLUMNS), CARD).fetch().to_pydict() == COLUMNS


def test_a_data_frame_that_is_no_table_of_typed_columns_says_why():
    import pandas as pd

    with pytest.raises(DataError, match="typed columns"):
        read(pd.DataFrame({"a": [1, "x"]}), CARD)
    with pytest.raises(DataError, match=r"same name|Duplicate"):
        read(pd.DataFrame([[1, 2]], columns=["a", "a"]), CARD)


def test_what_is_no_card_says_what_to_give():
    rows = pa.table(COLUMNS)
    proposed = draft(rows)
    assert read(rows, card=proposed).fetch().to_pydict() == COLUMNS
    with pytest.raises(BadInput, match="or the path of a card file, not a dict"):
        read(rows, card={})


def test_whole_numbers_beyond_64_bits_are_refused_without_showing_one():
    with pytest.raises(DataError, match="Column 'a' has values that do not fit") as refusal:
        read(pa.table({"a": pa.array([1, 2**64 - 5], pa.uint64()), "b": ["x", "y"]}), CARD).fetch()
    assert str(2**64 - 5) not in str(refusal.value)


def test_a_card_is_given_as_a_card_or_as_its_file(tmp_path):
    card = tmp_path / "cards.toml"
    card.write_text('[tables.t.columns.a]\nkind = "integer"\n[tables.u.columns.b]\nkind = "text"\n')
    (tmp_path / "u.csv").write_text("a,b\n1,x\n")
    assert read(tmp_path / "u.csv", card).columns == ("b",)
    assert read(str(tmp_path / "u.csv"), str(card), table="t").columns == ("a",)
    assert read(pa.table(COLUMNS), card, table="t").columns == ("a",)
    with pytest.raises(NotFound, match="describes several tables: t, u"):
        read(pa.table(COLUMNS), card)


def test_numbers_widen_to_what_the_card_says_and_nothing_else_is_converted():
    data = pa.table({"i": [1], "d": pa.array([1], pa.decimal128(5, 2)), "t": ["1"]})
    wide = Card("t", (Column("i", Kind.REAL), Column("d", Kind.REAL), Column("t", Kind.TEXT)))
    assert read(data, wide).fetch().to_pylist() == [{"i": 1.0, "d": 1.0, "t": "1"}]
    assert read(data, Card("t", (Column("i", Kind.DECIMAL),))).schema.field("i").type == pa.decimal128(38, 0)
    wrong = Card("t", (Column("i", Kind.TEXT), Column("t", Kind.INTEGER), Column("d", Kind.DECIMAL)))
    with pytest.raises(DataError) as caught:
        read(data, wrong)
    assert "i: the card says text, the data holds integer" in str(caught.value)
    assert "t: the card says integer, the data holds text" in str(caught.value)


def test_a_table_that_is_asked_for_by_name_must_be_on_the_card(tmp_path):
    (tmp_path / "one.toml").write_text('[tables.t.columns.a]\nkind = "integer"\n')
    assert read(pa.table(COLUMNS), tmp_path / "one.toml").card.name == "t"
    with pytest.raises(NotFound, match="no table 'u'"):
        read(pa.table(COLUMNS), tmp_path / "one.toml", table="u")
    with pytest.raises(NotFound, match="not u"):
        read(pa.table(COLUMNS), CARD, table="u")


def test_columns_that_are_not_on_the_card_are_named():
    assert read(pa.table({**COLUMNS, "c": [1, 2]}), CARD).unseen == ("c",)


def test_a_card_that_names_missing_columns_names_them_all():
    card = Card("t", (Column("a", Kind.INTEGER), Column("c", Kind.TEXT), Column("d", Kind.TEXT)))
    with pytest.raises(NotFound, match=r"not in the data: c, d\. The data has: a, b"):
        read(pa.table(COLUMNS), card)


def test_columns_of_a_kind_no_card_knows_matter_only_if_declared():
    data = pa.table({"a": [1], "l": [[1]]})
    assert read(data, Card("t", (Column("a", Kind.INTEGER),))).count() == 1
    with pytest.raises(DataError, match="the data holds list"):
        read(data, Card("t", (Column("l", Kind.TEXT),)))


@pytest.mark.parametrize(
    ("source", "error", "says"),
    [
        (42, BadInput, "Cannot read a int"),
        ("mysql://host/db#t", BadInput, "No engine is known for mysql"),
        ("nowhere.csv", NotFound, "no file"),
        (pa.table([[1], [2]], names=["a", ""]), DataError, "without a name"),
    ],
)
def test_what_cannot_be_opened_says_why(source, error, says):
    with pytest.raises(error, match=says):
        read(source, CARD)


def test_an_address_without_a_table_takes_the_cards_name_and_a_file_of_cards_needs_one(tmp_path):
    card = tmp_path / "two.toml"
    card.write_text('[tables.t.columns.a]\nkind = "text"\n[tables.u.columns.b]\nkind = "text"\n')
    with pytest.raises(NotFound, match="several tables"):
        read("postgresql://127.0.0.1:1/db", card)


def test_a_broken_card_is_reported_before_the_data_is_touched(tmp_path):
    card = tmp_path / "bad.toml"
    card.write_text('[tables.t.columns.a]\nkind = "integre"\n')
    with pytest.raises(CardError):
        read(tmp_path / "nowhere.csv", card)


def test_one_engine_can_hold_several_tables(tmp_path):
    engine = DuckDB()
    (tmp_path / "one.csv").write_text("a,b\n1,x\n")
    (tmp_path / "two.csv").write_text("a,b\n2,y\n")
    one, two = (read(tmp_path / name, CARD, engine=engine) for name in ("one.csv", "two.csv"))
    assert one.fetch().to_pylist() + two.fetch().to_pylist() == [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]
    shown = [read(pa.table({"a": [n], "b": [""]}), CARD, engine=engine) for n in (1, 2)]
    assert [table.fetch()["a"].to_pylist() for table in shown] == [[1], [2]]


def test_an_engine_that_is_closed_says_so_and_closing_twice_is_fine():
    table = read(pa.table(COLUMNS), CARD)
    table.engine.close()
    table.engine.close()
    with pytest.raises(EngineError):
        table.count()


def test_a_stream_under_way_is_not_cut_off_by_the_next_question():
    table = read(pa.table({"a": list(range(300_000)), "b": ["x"] * 300_000}), CARD)
    reader = table.stream()
    first = reader.read_next_batch()
    assert table.count() == 300_000
    assert first.num_rows + sum(batch.num_rows for batch in reader) == 300_000


def test_what_does_not_fit_in_memory_spills_to_disk():
    engine = DuckDB(settings={"memory_limit": "60MB", "threads": "2"})
    engine.run("CREATE TABLE big AS SELECT hash(i) AS a, i::VARCHAR AS b FROM range(3_000_000) t(i)")
    assert engine.run("SELECT count(*) FROM (SELECT a, b, count(*) FROM big GROUP BY ALL)") == [(3_000_000,)]
