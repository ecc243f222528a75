"""What a person sees of verdicts."""

import json
from fractions import Fraction

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.core.card import Card, Column, Role
from discreet.core.kind import Kind
from discreet.engines.read import read
from discreet.models.check import cells, check
from discreet.models.classes import by_size
from discreet.models.diversity import LDiversity
from discreet.models.k_anonymity import KAnonymity
from discreet.samples import got, inpatient

COARSE = {"zip": 2, "age": 1, "nationality": 1}


def test_verdicts_say_what_holds_and_where_not():
    found = check(inpatient().generalize(COARSE), KAnonymity(4), LDiversity(2, "condition"))
    assert not found.holds
    assert [verdict.holds for verdict in found] == [True, False]
    assert (len(found), found.rows, found.classes, found.unique) == (2, 12, 3, 0)
    assert str(found).splitlines() == [
        "inpatient: 12 rows in 3 classes on zip, age, nationality; 0 unique.",
        "  4-anonymous: holds; smallest class: 4",
        "  2-diverse on condition: does not hold; fewest distinct values in a class: 1; 4 of 12 rows are exposed",
    ]
    assert repr(found) == str(found)
    html = found._repr_html_()
    assert "2-diverse on condition" in html
    assert "zip = 130**, age = 3*, nationality = *" in html
    assert html.startswith('<div class="discreet-release">')
    assert '<span class="badge bad">does not hold</span>' in html
    assert "<svg" not in html  # drawn as an image, which cannot run anything
    assert json.loads(json.dumps(found.to_dict()))["models"][1]["worst"]["age"] == "3*"


def test_html_shows_values_and_runs_none():
    card = Card("x", (Column("q", Kind.TEXT, Role.QUASI),))
    found = check(read(pa.table({"q": ["<script>"]}), card), KAnonymity(2))
    assert "<script>" not in found._repr_html_()


def test_without_models_the_usual_ones_are_named_as_they_just_hold():
    found = check(inpatient().generalize({"zip": 1, "age": 2, "nationality": 1}))
    assert found.holds
    assert [verdict.claim.text for verdict in found] == [
        "4-anonymous",
        "3-diverse on condition",
        "entropy 2.8284-diverse on condition",
        "0.1667-close on condition",
        "of prosecutor risk at most 0.25",
        "of marketer risk at most 0.25",
    ]
    assert check(got()).unique == 7


@settings(max_examples=15, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 4)), min_size=1, max_size=20))
def test_the_usual_ones_hold_and_nothing_much_stricter_does(rows):
    card = Card("x", (Column("q", Kind.INTEGER, Role.QUASI), Column("s", Kind.INTEGER, Role.SENSITIVE)))
    keys, values = zip(*rows, strict=True)
    found = check(read(pa.table({"q": keys, "s": values}), card))
    assert found.holds
    for verdict in found:
        stated = next(value for name, value in verdict.claim.parameters if name in ("k", "l", "t", "threshold"))
        assert float(Fraction(stated)) == pytest.approx(verdict.figure, abs=1.0001e-4)


def test_a_table_without_rows_exposes_nobody():
    empty = inpatient().where(_false())
    assert check(empty).verdicts == ()
    assert check(empty, KAnonymity(5)).holds
    assert "0 rows in 0 classes" in str(check(empty))
    assert "<svg" not in check(empty)._repr_html_()


def test_the_picture_counts_rows_by_the_size_of_their_class():
    drawn = check(got(), KAnonymity(2)).picture()
    assert "1: 7; 2: 2" in drawn.svg
    assert "3 to 4" not in drawn.svg
    assert "1: 0; 2: 0; 3 to 4: 4" in by_size("x", {4: 1}, "").svg
    assert "500 to 999: 0; 1,000 or more: 2,000" in by_size("x", {2_000: 1}, "").svg
    assert "9 rows in 8 classes on age; 7 unique." in drawn.caption


@pytest.mark.parametrize("rows", [1, 5])
def test_one_row_and_all_alike(rows):
    card = Card("x", (Column("q", Kind.TEXT, Role.QUASI), Column("s", Kind.TEXT, Role.SENSITIVE)))
    found = check(read(pa.table({"q": ["a"] * rows, "s": ["x"] * rows}), card))
    assert found[0].claim.text == f"{rows}-anonymous"
    assert found[3].claim.text == "0-close on s"


def _false():
    from sqlglot import exp

    return exp.false()


def test_a_table_in_which_somebody_is_alone_is_not_called_anonymous():
    first = next(iter(check(got())))
    assert first.claim.text == "1-anonymous"
    assert cells(first)[1] == "none (k = 1)"
