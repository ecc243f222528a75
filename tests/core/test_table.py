"""A table and its card: what can be asked of it, and whether its rows keep to the card."""

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest

from discreet import samples
from discreet.core import sql
from discreet.core.card import Card, Column, Role
from discreet.core.hierarchy import Intervals, Mask
from discreet.core.kind import Kind
from discreet.core.table import count_name, require_valid, violations
from discreet.engines.read import read
from discreet.errors import BadInput, DataError, EngineError, HierarchyError, NotFound

CARD = Card(
    "t",
    (
        Column("id", Kind.INTEGER, Role.IDENTIFIER),
        Column("zip", Kind.TEXT, Role.QUASI, hierarchy=Mask(5)),
        Column("age", Kind.INTEGER, Role.QUASI, hierarchy=Intervals((10, 20))),
        Column("note", Kind.TEXT),
    ),
    unit="id",
    rows_per_unit=1,
)
DATA = pa.table(
    {
        "id": [1, 2, 3, 4],
        "zip": ["13053", "13068", None, "13053"],
        "age": [28, 29, 31, 28],
        "note": ["a", "b", "c", "d"],
        "undeclared": ["secret"] * 4,
    }
)


@pytest.fixture
def table():
    return read(DATA, CARD)


def test_what_nobody_declared_is_not_there(table):
    assert table.fetch().column_names == ["id", "zip", "age", "note"]
    assert table.schema.names == ["id", "zip", "age", "note"]


def test_counting_and_looking(table):
    assert table.count() == 4
    assert table.head(2).num_rows == 2
    assert sum(batch.num_rows for batch in table.stream()) == 4


def test_the_histogram_counts_each_combination_and_null_is_one(table):
    rows = {tuple(row.values()) for row in table.histogram().to_pylist()}
    assert rows == {("13053", 28, 2), ("13068", 29, 1), (None, 31, 1)}
    coarse = {tuple(row.values()) for row in table.histogram(levels={"zip": 2, "age": 1}).to_pylist()}
    assert coarse == {("130**", "20-29", 3), (None, "30-39", 1)}
    assert table.histogram("note", levels={"note": 1}).to_pylist() == [{"note": "*", "n": 4}]


def test_the_count_never_hides_a_column():
    assert count_name(["a"]) == "n"
    assert count_name(["N", "n_"]) == "n__"


def test_generalised_columns_are_text_and_keep_their_role(table):
    coarse = table.generalize({"zip": 5, "age": 2, "note": 1})
    assert coarse.card["age"] == Column("age", Kind.TEXT, Role.QUASI)
    assert coarse.card["id"] is CARD["id"]
    assert coarse.fetch().select(["zip", "age", "note"]).to_pylist()[2] == {"zip": "*", "age": "20-39", "note": "*"}


def test_a_value_without_a_place_is_an_error_not_a_null(table):
    odd = read(DATA.set_column(1, "zip", [["13053", "1", "22", None]]), CARD)
    with pytest.raises(HierarchyError, match=r"zip: 2 rows are unknown to the hierarchy \(such as '1', '22'\)"):
        odd.generalize({"zip": 1})
    assert odd.generalize({"zip": 5}).count() == 4


def test_levels_that_are_not_there_are_refused(table):
    with pytest.raises(HierarchyError, match="levels go from 0 to 5"):
        table.generalize({"zip": 6})
    with pytest.raises(HierarchyError, match=r"kept \(0\) or suppressed \(1\)"):
        table.generalize({"note": 2})
    with pytest.raises(NotFound, match="no column 'zipp'"):
        table.generalize({"zipp": 1})


def test_the_unit_stays_or_a_row_would_become_a_person(table):
    chosen = table.select("id", "age")
    assert chosen.card.unit == "id"
    assert chosen.card.rows_per_unit == 1
    with pytest.raises(BadInput, match="The unit 'id' must be selected"):
        table.select("age")
    with pytest.raises(BadInput, match="is not generalised"):
        table.generalize({"id": 1})


def test_a_payload_has_no_identifier_and_no_unit(table):
    assert table.payload().column_names == ["zip", "age", "note"]
    with pytest.raises(BadInput, match="nothing to release"):
        table.select("id").payload()


def test_a_histogram_never_turns_unknown_values_into_null_and_knows_its_columns():
    odd = read(DATA.set_column(1, "zip", [["13053", "1", "22", None]]), CARD)
    with pytest.raises(HierarchyError, match="zip: 2 rows"):
        odd.histogram("zip", levels={"zip": 1})
    with pytest.raises(NotFound, match="'zpi' has no level here"):
        odd.histogram("zip", levels={"zpi": 1})
    with pytest.raises(BadInput, match="whole number"):
        odd.generalize({"zip": "1"})


def test_where_keeps_the_rows_it_says(table):
    assert table.where(sql.column("age") > 28).count() == 2


def test_a_stored_table_has_the_same_rows_and_its_name_is_taken(table):
    stored = table.generalize({"age": 1}).store("coarse")
    assert stored.fetch().column("age").to_pylist() == ["20-29", "20-29", "30-39", "20-29"]
    with pytest.raises(EngineError, match="already exists"):
        table.store("coarse")


def test_without_quasi_identifiers_there_is_no_default_histogram():
    table = read(DATA, Card("t", (Column("note", Kind.TEXT),)))
    with pytest.raises(NotFound, match="no quasi-identifier"):
        table.histogram()


def test_a_table_shows_its_columns_and_no_rows(table):
    assert "zip" in str(table)
    assert "quasi" in str(table)
    assert "13053" not in str(table) + table._repr_html_()
    odd = samples.inpatient().generalize({})
    assert "<script>" not in read(DATA, Card("<script>", (Column("note", Kind.TEXT),)))._repr_html_()
    assert odd.count() == 12


STRICT_CARD = Card(
    "visits",
    (
        Column("who", Kind.TEXT),
        Column("sex", Kind.TEXT, categories=("F", "M")),
        Column("age", Kind.INTEGER, bounds=(0, 110)),
        Column("cost", Kind.DECIMAL, bounds=(Decimal(0), Decimal("99.99"))),
        Column("weight", Kind.REAL, bounds=(0.0, 300.0)),
        Column("day", Kind.DATE, bounds=(dt.date(2020, 1, 1), dt.date(2020, 12, 31))),
        Column("zip", Kind.TEXT, hierarchy=Mask(5)),
    ),
    unit="who",
    rows_per_unit=2,
)


def visits(**columns):
    good = {
        "who": ["a", "a", "b", "c"],
        "sex": ["F", "M", None, "F"],
        "age": [0, 110, None, 50],
        "cost": pa.array([Decimal("0.00"), Decimal("99.99"), None, Decimal("1.00")], pa.decimal128(10, 2)),
        "weight": [0.0, 300.0, None, 70.0],
        "day": [dt.date(2020, 1, 1), dt.date(2020, 12, 31), None, dt.date(2020, 5, 5)],
        "zip": ["13053", "00000", None, "99999"],
    }
    return read(pa.table(good | columns), STRICT_CARD)


def test_data_that_keeps_to_its_card_has_no_violations():
    assert violations(visits()) == ()
    require_valid(visits())


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ({"sex": ["F", "f", "x", None]}, "sex: 2 rows are outside the declared categories (such as 'f', 'x')"),
        ({"age": [-1, 0, 111, None]}, "age: 2 rows are outside the declared bounds (such as -1, 111)"),
        ({"weight": [float("nan"), 1.0, 2.0, 3.0]}, "weight: 1 row is outside the declared bounds (such as nan)"),
        ({"zip": ["13053", "1305", "", None]}, "zip: 2 rows are unknown to the hierarchy (such as '', '1305')"),
        ({"who": ["a", None, None, "b"]}, "who: 2 rows are without a unit (such as None)"),
        ({"who": ["a", "a", "a", "b"]}, "who: 1 unit has more than the declared 2 rows"),
    ],
)
def test_every_way_to_break_a_card_is_counted_and_shown(columns, says):
    assert [str(found) for found in violations(visits(**columns))] == [says]


def test_a_required_value_that_is_missing_is_a_violation():
    column = Column("x", Kind.REAL, required=True)
    table = read(pa.table({"x": [1.0, None, float("nan")]}), Card("t", (column,)))
    assert [str(found) for found in violations(table)] == [
        "x: 2 rows are without a value that is required (such as None, nan)"
    ]


def test_a_text_that_is_longer_than_declared_is_a_violation():
    table = read(pa.table({"x": ["ab", "abc", None]}), Card("t", (Column("x", Kind.TEXT, max_length=2),)))
    assert [str(found) for found in violations(table)] == ["x: 1 row is longer than 2 characters (such as 'abc')"]


def test_all_violations_are_in_one_error():
    with pytest.raises(DataError) as caught:
        require_valid(visits(sex=["x"] * 4, age=[200] * 4))
    assert "sex: 4 rows" in str(caught.value)
    assert "age: 4 rows" in str(caught.value)
