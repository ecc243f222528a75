import datetime as dt
from decimal import Decimal

import numpy as np
import pytest

from discreet.core.card import Card, Column, Role, fits
from discreet.core.cardfile import dump_cards, parse_cards
from discreet.core.hierarchy.dates import Dates
from discreet.core.hierarchy.intervals import Intervals
from discreet.core.kind import Kind
from discreet.errors import BadInput, CardError, NotFound

AGE = Column("age", Kind.INTEGER, Role.QUASI, bounds=(0, 110))


def what(column):
    return [problem.what for problem in column.problems()]


@pytest.mark.parametrize(
    ("column", "says"),
    [
        (Column("a", Kind.INTEGER, bounds=(110, 0)), "not below"),
        (Column("a", Kind.INTEGER, bounds=(1, 1)), "not below"),
        (Column("a", Kind.INTEGER, bounds=(0.5, 2)), "two integer values"),
        (Column("a", Kind.REAL, bounds=(float("nan"), 2.0)), "two real values"),
        (Column("a", Kind.TEXT, bounds=("a", "b")), "categories instead"),
        (Column("a", Kind.DATE, bounds=(dt.datetime(2020, 1, 1), dt.date(2021, 1, 1))), "two date values"),
        (Column("a", Kind.DATE, bounds=("2020-01-01", "2021-01-01")), "without quotes: bounds = [2020-01-01, 2021"),
        (Column("a", Kind.TEXT, categories=()), "no value at all"),
        (Column("a", Kind.TEXT, categories=("x", "x")), "listed twice"),
        (Column("a", Kind.INTEGER, categories=(1, True)), "is not of kind integer"),
        (Column("a", Kind.INTEGER, categories=(1, 2), bounds=(1, 2)), "not both"),
        (Column("a", Kind.INTEGER, max_length=5), "integer column has no length"),
        (Column("a", Kind.TEXT, max_length=0), "at least 1"),
        (Column("a", Kind.TEXT, max_length=5, categories=("x",)), "categories already limit"),
        (Column("a", Kind.TEXT, hierarchy=Intervals((5,))), "this one is text"),
        (Column("a", Kind.INTEGER, Role.IDENTIFIER, hierarchy=Intervals((5,))), "removed, not generalised"),
        (Column("a", Kind.INTEGER, from_data=("bounds",)), "does not have"),
        (Column("a", Kind.INTEGER, from_data=("mood",)), "not one of"),
    ],
)
def test_a_column_that_contradicts_itself_says_how(column, says):
    assert any(says in text for text in what(column)), what(column)


def test_names_of_kinds_and_roles_are_taken_as_what_they_mean_and_others_refused():
    assert Column("a", "integer", "quasi", bounds=[0, 3]) == Column("a", Kind.INTEGER, Role.QUASI, bounds=(0, 3))
    length = ({"max_length": "5"}, {"max_length": True})
    for wrong in ({"kind": "integre"}, {"role": "qausi"}, {"categories": "abc"}, {"bounds": 3}, *length):
        with pytest.raises(BadInput, match="Column 'a'"):
            Column(**{"name": "a", "kind": "text", **wrong})


def test_what_is_left_open_is_listed():
    born = Column("born", Kind.DATE, Role.QUASI, hierarchy=Dates())  # with a hierarchy it is published, not asked
    card = Card("t", (Column("who", Kind.TEXT), AGE, Column("x", Kind.REAL), born), unit="who")
    assert card.open_questions() == (
        "rows_per_unit: the most rows per person; questions (discreet workspace) need it",
        "categories of who",
        "bounds of x",
        "bounds of born",
        "a sensitive column: none is declared",
    )


def test_a_sound_column_has_no_problems():
    assert what(AGE) == []
    assert what(Column("d", Kind.DECIMAL, bounds=(0, Decimal("1.5")))) == []


def test_a_card_reports_all_problems_at_once():
    with pytest.raises(CardError) as caught:
        Card(
            "t",
            (AGE, Column("AGE", Kind.TEXT), Column("x", Kind.REAL, bounds=(2.0, 1.0))),
            unit="who",
            rows_per_unit=0,
        )
    assert {problem.path for problem in caught.value.problems} == {
        ("columns", "AGE"),
        ("columns", "x", "bounds"),
        ("unit",),
        ("rows_per_unit",),
    }


def test_two_columns_of_exactly_the_same_name_are_refused():
    with pytest.raises(CardError, match="same name"):
        Card("t", (AGE, Column("age", Kind.TEXT)))


def test_rows_per_unit_needs_a_unit():
    with pytest.raises(CardError, match="different person"):
        Card("t", (AGE,), rows_per_unit=3)


@pytest.mark.parametrize("groups", [0, 4])
def test_a_person_counts_in_no_more_groups_than_rows(groups):
    with pytest.raises(CardError, match="groups_per_unit"):
        Card("t", (AGE,), unit="age", rows_per_unit=3, groups_per_unit=groups)
    with pytest.raises(CardError, match="groups_per_unit"):
        Card("t", (AGE,), groups_per_unit=1)
    assert Card("t", (AGE,), unit="age", rows_per_unit=3, groups_per_unit=3).groups_per_unit == 3


def test_what_is_public_is_about_nobody():
    with pytest.raises(CardError, match="about people"):
        Card("t", (AGE,), unit="age", rows_per_unit=1, public=True)


def test_columns_are_found_by_name_and_role():
    card = Card("t", (AGE, Column("name", Kind.TEXT, Role.IDENTIFIER)))
    assert card["age"] is AGE
    assert card.having(Role.QUASI) == (AGE,)
    with pytest.raises(NotFound, match="it has age, name"):
        card["agee"]


def test_a_card_with_anything_read_off_the_data_is_not_private():
    assert Card("t", (AGE,)).private
    assert not Card("t", (Column("a", Kind.INTEGER, bounds=(0, 1), from_data=("bounds",)),)).private


def test_a_bool_is_no_integer_and_a_datetime_no_date():
    assert not fits(True, Kind.INTEGER)
    assert not fits(dt.datetime(2020, 1, 1), Kind.DATE)
    assert fits(1, Kind.REAL)


@pytest.mark.parametrize(
    ("kind", "bounds", "said"),
    [
        (Kind.REAL, (0.0, 500000.0), "0 to 500,000"),
        (Kind.REAL, (-0.5, 12345.678), "-0.5 to 12,345.678"),
        (Kind.DECIMAL, (Decimal("0.00"), Decimal("99.90")), "0 to 99.90"),
        (Kind.INTEGER, (1900, 2025), "1900 to 2025"),
        (Kind.DATE, (dt.date(1920, 1, 1), dt.date(2025, 12, 31)), "1920-01-01 to 2025-12-31"),
        (
            Kind.TIMESTAMP,
            (dt.datetime(2024, 1, 1), dt.datetime(2025, 12, 31, 23, 59, 59, 999999)),
            "2024-01-01 to 2025-12-31",
        ),
        (
            Kind.TIMESTAMP,
            (dt.datetime(2024, 1, 1, 8), dt.datetime(2025, 1, 1)),
            "2024-01-01 08:00:00 to 2025-01-01 00:00:00",
        ),
    ],
)
def test_bounds_are_declared_as_people_read_them(kind, bounds, said):
    assert Column("x", kind, bounds=bounds).declared == said


def test_numbers_of_numpy_are_numbers():
    bounded = Column("age", Kind.INTEGER, bounds=(np.int64(0), np.int32(110)))
    assert bounded == Column("age", Kind.INTEGER, bounds=(0, 110))
    assert all(type(value) is int for value in bounded.bounds)
    assert Column("x", Kind.REAL, bounds=(np.float32(0.5), np.float64(2))).bounds == (0.5, 2.0)
    born = Column("born", Kind.DATE, bounds=(np.datetime64("2001-01-01"), np.datetime64("2002-01-01")))
    assert born.bounds[0] == dt.date(2001, 1, 1)
    assert Column("b", Kind.INTEGER, categories=list(np.arange(3))).categories == (0, 1, 2)
    card = Card("t", (bounded, Column("who", Kind.TEXT)), unit="who", rows_per_unit=np.int64(3))
    assert parse_cards(dump_cards([card])) == {"t": card}
    with pytest.raises(CardError, match="bounds must be two integer values"):
        Card("t", (Column("age", Kind.INTEGER, bounds=(np.float64(0), np.float64(1))),))
