"""What a card calls impossible: read, written again, and refused where it says nothing."""

from __future__ import annotations

import jsonschema
import pytest

from discreet.core.card import Card, Column
from discreet.core.cardfile import card_fields, card_schema, dump_cards, parse_cards
from discreet.core.edit_rules import known, named
from discreet.core.kind import Kind
from discreet.errors import BadInput, CardError

TEXT = """
[tables.t]
impossible = ["Age < 15 AND status = 'married'", "died < DATE '1900-01-01'"]
[tables.t.columns.age]
kind = "integer"
[tables.t.columns.status]
kind = "text"
[tables.t.columns.died]
kind = "date"
"""


def test_a_card_keeps_its_conditions():
    cards = parse_cards(TEXT)
    assert cards["t"].impossible == ("Age < 15 AND status = 'married'", "died < DATE '1900-01-01'")
    assert parse_cards(dump_cards(cards.values())) == cards
    jsonschema.validate({"tables": {"t": {"impossible": ["a = 1"], "columns": {"a": {"kind": "text"}}}}}, card_schema())
    assert "impossible" in card_fields(cards.values())["tables"]["t"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("age <", "not an SQL condition"),
        ("age + 1", "not a simple condition"),
        ("lower(status) = 'x'", "LOWER"),
        ("EXISTS (SELECT 1)", "EXISTS"),
        ("agee < 3", "no column 'agee' (did you mean 'age'?)"),
        ("", "not an SQL condition"),
        ("SELECT 1", "SELECT"),
    ],
)
def test_what_is_no_condition_is_a_problem_of_the_card(text, said):
    with pytest.raises(CardError) as error:
        parse_cards(TEXT.replace("Age < 15 AND status = 'married'", text))
    assert said in str(error.value)
    assert "tables.t.impossible" in str(error.value)


def test_names_are_found_as_sql_finds_them():
    assert named("AGE < 3 or Age > status") == ("AGE", "Age", "status")
    assert known("AGE < 3", ["age"]).sql() == '"age" < 3'
    assert known("AGE < nobody", ["age"]) is None


def test_a_card_in_python_is_checked_too():
    columns = (Column("a", Kind.INTEGER),)
    assert Card("t", columns, impossible=["a < 1"]).impossible == ("a < 1",)
    with pytest.raises(CardError):
        Card("t", columns, impossible=["a <"])
    with pytest.raises(BadInput):
        Card("t", columns, impossible="a < 1")
    assert Card("t", columns, impossible=["gone < 1"])  # a column that was left out
