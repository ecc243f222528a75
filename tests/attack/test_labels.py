"""What a label may stand for."""

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest

from discreet.core.card import Column, Role
from discreet.core.hierarchy.intervals import Intervals
from discreet.core.hierarchy.ordered import Ordered
from discreet.core.hierarchy.taxonomy import Taxonomy
from discreet.core.kind import Kind
from discreet.core.statement import Recipe
from discreet.verbs.attack.labels import is_exact, is_informative, is_unchanged, likelihoods

TREE = Taxonomy.from_tree({"north": ["a", "b"], "south": ["c"]})
HAND = Recipe("publish")


def stands(column, values, label, recipe=HAND):
    """The values that a label may stand for."""
    found = likelihoods(column, pa.array(values), pa.array([label]), recipe)
    return [value for value, fits in zip(values, found[:, 0], strict=True) if fits]


def test_labels_of_every_level_stand_for_what_is_below():
    town = Column("town", Kind.TEXT, Role.QUASI, hierarchy=TREE)
    for label, meant in {"a": ["a"], "north": ["a", "b"], "south": ["c"], "*": ["a", "b", "c", None]}.items():
        assert stands(town, ["a", "b", "c", None], label) == meant
    assert stands(town, ["a", None], None) == [None]


def test_missing_is_only_what_is_missing():
    town = Column("town", Kind.TEXT, Role.QUASI, hierarchy=TREE)
    found = likelihoods(town, pa.array(["a", None]), pa.array(["a", None]), HAND)
    assert found.tolist() == [[1, 0], [0, 1]]


@pytest.mark.parametrize(
    ("label", "meant"),
    [
        ("[20-29]", [20, 25, 29]),
        ("[20 to 25]", [20, 25]),
        ("25", [25]),
        ("25 or missing", []),  # no method says so: it would tell who has none
        ("[-3 to 19]", [19]),
        ("{19, 30}", [19, 30]),
        ("*", [19, 20, 25, 29, 30, None]),
        ("[a-b]", []),
        ("something", []),
    ],
)
def test_ranges_sets_and_what_is_missing(label, meant):
    assert stands(Column("age", Kind.INTEGER, Role.QUASI), [19, 20, 25, 29, 30, None], label) == meant


def test_ranges_of_dates_and_of_ordered_words():
    born, early, late = Column("born", Kind.DATE, Role.QUASI), dt.date(1990, 1, 2), dt.date(1999, 1, 1)
    assert stands(born, [early, late], "[1990-01-01 to 1990-12-31]") == [early]
    school = Column("school", Kind.TEXT, Role.QUASI, hierarchy=Ordered(("none", "primary", "high", "PhD"), (2,)))
    assert stands(school, ["none", "primary", "high", "PhD"], "[primary to PhD]") == ["primary", "high", "PhD"]
    assert stands(school, ["none", "primary", "high"], "none..primary") == ["none", "primary"]


def test_a_value_with_commas_is_found_in_a_set():
    job = Column("job", Kind.TEXT, Role.QUASI)
    assert stands(job, ["a, b", "c", "b"], "{a, b, c}") == ["a, b", "c", "b"]  # b cannot be ruled out
    assert stands(job, ["x", "c"], "{a, b, c}") == ["c"]


def test_the_level_of_the_recipe_counts_and_no_other():
    age = Column("age", Kind.INTEGER, Role.QUASI, hierarchy=Intervals(widths=(5, 10)))
    at = Recipe("publish", {"levels": {"age": 2}})
    assert stands(age, [3, 7, 12], "0-9", at) == [3, 7]
    assert stands(age, [3, 7, 12], "0-4", at) == []
    assert stands(age, [3, 7, 12], "0-4") == [3]
    assert is_exact(age, pa.array([1]), pa.array([1]), Recipe("publish", {"levels": {"age": 0}}))
    assert not is_exact(age, pa.array([1]), pa.array(["0-9"]), at)


def test_hierarchies_may_come_from_the_recipe():
    said = {"levels": {"age": 1}, "hierarchies": {"age": {"type": "intervals", "other": None, "widths": [10]}}}
    age = Column("age", Kind.INTEGER, Role.QUASI)
    assert stands(age, [3, 12], "0-9", Recipe("safepub", said)) == [3]


def test_rounding_coding_and_pram_say_what_cells_may_stand_for():
    weight = Column("weight", Kind.REAL, Role.QUASI)
    near = Recipe("round", {"columns": ["weight"], "base": {"weight": 5.0}, "at_random": False})
    assert stands(weight, [47.0, 48.0, 52.4, 53.0], 50.0, near) == [48.0, 52.4]
    either = Recipe("round", {"columns": ["weight"], "base": {"weight": 5.0}, "at_random": True})
    assert stands(weight, [44.0, 47.0, 53.0, 56.0], 50.0, either) == [47.0, 53.0]
    borders = {"top": {"weight": 80.0}, "bottom": {}}
    coded = Recipe("code", {"columns": ["weight"], **borders, "written": borders})
    assert stands(weight, [79.0, 80.0, 90.0], 80.0, coded) == [80.0, 90.0]
    matrix = {"categories": ["a", "b"], "matrix": [[0.9, 0.1], [0.3, 0.7]]}
    pram = Recipe("pram", {"columns": ["town"], "matrices": {"town": matrix}})
    town = Column("town", Kind.TEXT, Role.QUASI)
    found = likelihoods(town, pa.array(["a", "b", None]), pa.array(["a", "b", None]), pram)
    assert np.allclose(found, [[0.9, 0.1, 0], [0.3, 0.7, 0], [0, 0, 1]])


def test_suppressed_cells_may_be_anything():
    gone = Recipe("suppress-uniques", {"columns": ["town"]})
    town = Column("town", Kind.TEXT, Role.QUASI)
    found = likelihoods(town, pa.array(["a", "b"]), pa.array(["a", None]), gone)
    assert found.tolist() == [[1, 1], [0, 1]]


def test_what_noise_leaves_is_nothing_and_the_rest_is_as_it_was():
    noise = Recipe("noise", {"columns": ["age"]})
    assert not is_informative(noise, "age")
    assert is_informative(noise, "town")
    assert is_unchanged(noise, "town")
    assert not is_unchanged(noise, "age")
