"""Taxonomies: trees and files say the same, and what is wrong with a file is told with its lines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from discreet.core.hierarchy.taxonomy import Taxonomy
from discreet.errors import HierarchyError, NotFound

TREE = {"Asia": {"East": ["Japan", "China"], "South": ["India"]}, "Europe": ["France", "Spain"]}
WORLD = Taxonomy.from_tree(TREE)


def written(folder: Path, text: str, encoding: str = "utf-8") -> Path:
    file = folder / "world.csv"
    file.write_bytes(text.encode(encoding))
    return file


def test_short_branches_stay_themselves_on_the_lower_levels() -> None:
    assert WORLD.height == 3
    assert WORLD.paths == (
        ("Japan", "East", "Asia"),
        ("China", "East", "Asia"),
        ("India", "South", "Asia"),
        ("France", "France", "Europe"),
        ("Spain", "Spain", "Europe"),
    )
    assert WORLD.leaves == ("Japan", "China", "India", "France", "Spain")
    assert WORLD.fields() == {"tree": TREE}


def test_a_value_beside_groups_has_nothing_below_it() -> None:
    tree = {"Asia": {"East": ["Japan"], "Mongolia": []}, "Antarctica": []}
    hierarchy = Taxonomy.from_tree(tree)
    assert hierarchy.paths[1:] == (("Mongolia", "Mongolia", "Asia"), ("Antarctica",) * 3)
    assert hierarchy.fields() == {"tree": tree}


def test_a_group_may_repeat_itself_upwards() -> None:
    tree = {"Europe": {"Europe": ["France", "Spain"]}, "Asia": {"East": ["Japan"]}}
    assert Taxonomy.from_tree(tree).fields() == {"tree": tree}


@pytest.mark.parametrize(
    "text",
    [
        "Japan;East;Asia;*\nChina;East;Asia;*\nIndia;South;Asia;*\nFrance;France;Europe;*\nSpain;Spain;Europe;*\n",
        "\ufeffJapan,East,Asia\r\nChina,East,Asia\r\n\r\nIndia,South,Asia\r\nFrance,France,Europe\r\nSpain,Spain,Europe",
        "child,parent\nJapan,East\nChina,East\nEast,Asia\nIndia,South\nSouth,Asia\nFrance,Europe\nSpain,Europe\n",
        'Japan;"East"\nChina;East\nJapan;East\nIndia;South\nFrance;Europe\nSpain;Europe\nEast;Asia\nSouth;Asia\nAsia;*\nEurope;*\n',
    ],
    ids=["arx", "arx-commas-bom-no-top", "child-parent", "child-parent-top"],
)
def test_files_say_what_trees_say(tmp_path: Path, text: str) -> None:
    assert Taxonomy.from_csv(written(tmp_path, text)) == WORLD


def test_names_may_hold_the_other_delimiter(tmp_path: Path) -> None:
    file = written(tmp_path, "Doe, John;People;*\nRoe, Jane, Dr;People;*\n")
    assert Taxonomy.from_csv(file).leaves == ("Doe, John", "Roe, Jane, Dr")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "world.csv is empty"),
        ("\n\n", "world.csv is empty"),
        ("Japan\nChina\n", "one column only"),
        ("a;b;*\nc;d\n", "line 2 has 2 columns, line 1 has 3"),
        ("a;b;*\n\nc;;*\n", "line 3: a name is missing"),
        ("a;b;*\nc;d;*\na;d;*\n", r"'a' lies in both 'b' and 'd' \(lines 1, 3\)"),
        ("a;b;x;*\nc;b;y;*\n", r"'b' lies in both 'x' and 'y' \(lines 1, 2\)"),
        ("a;b;c;*\nb;x;y;*\n", r"'b' stands for different things on level 0 and level 1 \(lines 1, 2\)"),
        ("a;*;b\nc;*;b\n", "must not be '\\*'"),
        ("Japan,Asia\nChina,Asia\nJapan,Europe\n", r"'Japan' lies in both 'Asia' and 'Europe' \(lines 1, 3\)"),
        ("a,b\nb,c\nc,a\nd,a\n", r"a → b → c → a is a cycle \(lines 1, 2, 3\)"),
        ("a,a\n", r"a → a is a cycle \(lines 1\)"),
        ("*,a\n", "line 1: '\\*' is the top"),
        ("child,parent\n", "it has no values"),
        ('a;"b;c\n', "line 1: "),
    ],
)
def test_what_is_wrong_with_a_file_is_told_with_its_lines(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(HierarchyError, match=message):
        Taxonomy.from_csv(written(tmp_path, text))


def test_other_encodings_and_missing_files_are_told(tmp_path: Path) -> None:
    with pytest.raises(HierarchyError, match=r"not UTF-8 text: byte 3 "):
        Taxonomy.from_csv(written(tmp_path, "caé;b\n", "latin-1"))
    with pytest.raises(NotFound, match=r"no taxonomy file .*none\.csv"):
        Taxonomy.from_csv(tmp_path / "none.csv")
    with pytest.raises(NotFound, match="no taxonomy file"):
        Taxonomy.from_csv(tmp_path)


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ({}, "no values"),
        ({"a": ["x", "x"]}, "'x' is listed twice"),
        ({"a": ["x"], "b": ["x"]}, "'x' lies in both 'a' and 'b'"),
        (["x", "y", "x"], "'x' is listed twice"),
        ({"a": {"g": ["x"]}, "b": {"g": ["y"]}}, "'g' lies in both 'a' and 'b'"),
        ({"Other": ["Other", "None"]}, "'Other' stands for different things on level 0 and level 1"),
        ({"*": ["x"]}, "must not be '\\*'"),
        ({"a": [""]}, "must not be empty"),
        ({"a ": ["x", "y"]}, "ends in a space"),
        ({"a": "x"}, "made of tables and lists, got 'x' under 'a'"),
        ({"a": [1.5]}, "names must be text"),
        ("x", "made of tables and lists"),
    ],
)
def test_trees_that_make_no_sense_are_refused(tree: Any, message: str) -> None:
    with pytest.raises(HierarchyError, match=message):
        Taxonomy.from_tree(tree)


def test_other_must_be_a_label_of_its_own() -> None:
    with pytest.raises(HierarchyError, match="other 'Asia' is a label already"):
        Taxonomy.from_tree(TREE, other="Asia")


def test_many_problems_are_counted() -> None:
    with pytest.raises(HierarchyError, match="and 12 more"):
        Taxonomy.from_tree({"a": [f"x{n}" for n in range(20)], "b": [f"x{n}" for n in range(20)]})
