"""What a card declares of how values are written and where they are in a file."""

from __future__ import annotations

import pytest

from discreet.core.card import Card, Column, Role
from discreet.core.cardfile import dump_cards, parse_cards
from discreet.core.kind import Kind
from discreet.core.text_format import FileLayout, TextFormat, parts_of
from discreet.errors import CardError

CARD = Card(
    "stays",
    (
        Column("born", Kind.DATE, Role.QUASI, text=TextFormat(format=("%d.%m.%Y", "%Y-%m-%d"), misfit="missing")),
        Column("cost", Kind.DECIMAL, text=TextFormat(decimal=",", thousands=".")),
        Column("sex", Kind.TEXT, Role.UNDECIDED, text=TextFormat(labels={"1": "male", "2": "female"}, missing=("9",))),
        Column("smokes", Kind.BOOLEAN, text=TextFormat(true=("ja",), false=("nein",))),
    ),
    text=TextFormat(missing=("?", "NA"), trim=True),
    file=FileLayout(encoding="windows-1252", delimiter=";", header=3, skip=1),
)


def test_a_card_is_read_back_as_it_was() -> None:
    assert parse_cards(dump_cards([CARD])) == {"stays": CARD}
    assert len({CARD["sex"], CARD["sex"]}) == 1  # hashable, labels included


def test_a_column_declares_over_its_table() -> None:
    assert CARD.text_format("sex") == TextFormat(labels={"1": "male", "2": "female"}, missing=("9",), trim=True)
    assert CARD.text_format("cost") == TextFormat(missing=("?", "NA"), trim=True, decimal=",", thousands=".")


def test_one_format_needs_no_list() -> None:
    assert TextFormat(format="%d/%m/%y").formats == ("%d/%m/%y",)
    assert parts_of("%d. %b %Y") == ["%d", ".", " ", "%b", " ", "%Y"]


@pytest.mark.parametrize(
    ("kind", "text", "wrong"),
    [
        (Kind.INTEGER, TextFormat(format="%Y-%m-%d"), "format: is for date or timestamp columns"),
        (Kind.DATE, TextFormat(format="%d.%m"), "needs a year, a month and a day"),
        (Kind.DATE, TextFormat(format="%d.%m.%Y %y"), "each once"),
        (Kind.DATE, TextFormat(format="%d.%m.%Y %Q"), "'%Q' is not known"),
        (Kind.DATE, TextFormat(format="%d.%m.%Y %d"), "has a part twice"),
        (Kind.DATE, TextFormat(format="%d.%m.%Y %I:%M"), "%I goes with %p"),
        (Kind.REAL, TextFormat(decimal=";"), "a point or a comma"),
        (Kind.REAL, TextFormat(thousands="."), "same as the decimal mark"),
        (Kind.REAL, TextFormat(misfit="drop"), "one of error, missing"),
        (Kind.REAL, TextFormat(labels={"1": "male"}), "labels: is for text columns"),
        (Kind.BOOLEAN, TextFormat(true=("J", "x"), false=("j",)), "true or false, not both"),
    ],
)
def test_what_contradicts_itself_is_an_error(kind: Kind, text: TextFormat, wrong: str) -> None:
    with pytest.raises(CardError) as caught:
        Card("t", (Column("a", kind, text=text),))
    assert wrong in str(caught.value)


@pytest.mark.parametrize(
    ("file", "wrong"),
    [
        ('encoding = "utf-99"', "not a known encoding"),
        ('encoding = "zlib"', "not a known encoding"),
        ('encoding = "undefined"', "not a known encoding"),
        ('encoding = "unicode_escape"', "not a known encoding"),
        ('delimiter = "||"', "is one character"),
        ('delimiter = ";"\nwidths = [3, 4]', "not both"),
        ("widths = [3, 0]", "whole numbers from 1 on"),
        ("header = -1", "cannot be negative"),
        ("headers = 1", "did you mean 'header'?"),
    ],
)
def test_a_layout_that_cannot_be_is_an_error_with_its_line(file: str, wrong: str) -> None:
    text = f'[tables.t.columns.a]\nkind = "text"\n[tables.t.file]\n{file}\n'
    with pytest.raises(CardError) as caught:
        parse_cards(text)
    assert wrong in str(caught.value)
    assert "line 4" in str(caught.value) or "line 5" in str(caught.value)
