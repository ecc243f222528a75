import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest

from discreet.core.card import Card, Column
from discreet.core.hierarchy import Mask
from discreet.core.kind import Kind
from discreet.core.table import require_valid, violations
from discreet.engines.read import read
from discreet.errors import DataError

CARD = Card(
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
    return read(pa.table(good | columns), CARD)


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
        ({"who": ["a", None, None, "b"]}, "who: 2 rows are nobody's (such as None)"),
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
    table = read(pa.table({"x": ["ab", "abc", None]}), Card("t", (Column("x", Kind.TEXT, longest=2),)))
    assert [str(found) for found in violations(table)] == ["x: 1 row is longer than 2 characters (such as 'abc')"]


def test_all_violations_are_in_one_error():
    with pytest.raises(DataError) as caught:
        require_valid(visits(sex=["x"] * 4, age=[200] * 4))
    assert "sex: 4 rows" in str(caught.value)
    assert "age: 4 rows" in str(caught.value)
