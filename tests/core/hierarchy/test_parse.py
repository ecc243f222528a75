"""Hierarchies in cards: every mistake is named, near names are offered."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from discreet.core.cardfile import from_fields, to_fields
from discreet.core.hierarchy.intervals import Intervals
from discreet.core.hierarchy.mask import Mask
from discreet.core.hierarchy.taxonomy import Taxonomy
from discreet.errors import HierarchyError


def test_fields_come_in_a_fixed_order_and_only_if_they_say_something() -> None:
    assert to_fields(Mask(5)) == {"type": "mask", "length": 5}
    full = Intervals([2.5, 5], anchor=1, bottom=6, top=11, other="else")
    assert list(to_fields(full).items()) == [
        ("type", "intervals"),
        ("widths", [2.5, 5]),
        ("anchor", 1),
        ("bottom", 6),
        ("top", 11),
        ("other", "else"),
    ]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({}, "type of the hierarchy is missing"),
        ({"type": 5}, "5 is not known"),
        ({"type": "interval"}, r"'interval' is not known \(did you mean 'intervals'\?\)"),
        ({"type": "mask"}, "length is missing"),
        (
            {"type": "mask", "lenght": 5},
            r"'lenght' is not one of its fields \(did you mean 'length'\?\); length is missing",
        ),
        ({"type": "mask", "length": 5, "_steps": []}, "'_steps' is not one of its fields"),
        ({"type": "intervals", "widths": [5], "_grid": 1}, "'_grid' is not one of its fields"),
        (
            {"type": "mask", "length": "5", "colour": 1},
            "'colour' is not one of its fields; length must be a whole number",
        ),
        ({"type": "taxonomy"}, "either a tree or a file"),
        ({"type": "taxonomy", "tree": ["a"], "file": "a.csv"}, "either a tree or a file"),
        ({"type": "taxonomy", "paths": [["a"]]}, "'paths' is not one of its fields"),
        ({"type": "taxonomy", "file": 5}, "file must be the name of a file"),
        ({"type": "taxonomy", "file": "a.csv"}, "was not read from a folder"),
    ],
)
def test_mistakes_are_named(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(HierarchyError, match=message):
        from_fields(fields, folder=None)


def test_files_are_looked_for_beside_the_card(tmp_path: Path) -> None:
    (tmp_path / "sex.csv").write_text("f;*\nm;*\n")
    found = from_fields({"type": "taxonomy", "file": "sex.csv", "other": "x"}, folder=tmp_path)
    assert found == Taxonomy.from_tree(["f", "m"], other="x")
    with pytest.raises(HierarchyError, match=r"no file 'none\.csv' in the card's folder"):
        from_fields({"type": "taxonomy", "file": "none.csv"}, folder=tmp_path)
