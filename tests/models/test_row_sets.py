"""Models that count people where people have several rows, against plain Python on random tables."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from tests import several_rows as plain

import discreet as dc
from discreet.errors import BadInput, DataError
from discreet.models import row_sets as module
from discreet.models.row_sets import number_sequences, row_sets

SEEDS = [*range(24), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(24, 300))]


@pytest.mark.parametrize("seed", SEEDS)
def test_people_are_counted_as_by_hand(seed):
    rows = plain.rows_of(seed)
    table, classes = plain.table_of(rows), plain.classes(rows)
    if len(rows) == len(plain.by_person(rows)):
        return  # everybody has one row
    found = dc.check(table)
    assert found.known == plain.fewest(plain.by_person(rows))
    assert (found.rows, found.classes) == (len(plain.by_person(rows)), len(classes))
    least = min(map(len, classes))
    assert found[0].claim.text == f"{least}-anonymous"
    judged = row_sets(table, ["ill"]).classes
    for k in (least, least + 1):
        assert dc.KAnonymity(k).verdict(judged).holds == (k == least)
    diversities = [plain.diversity(members, rows) for members in classes]
    for l in (min(diversities), min(diversities) + 1):  # noqa: E741
        assert dc.LDiversity(l, "ill").verdict(judged).holds == (l == min(diversities))
    assert all(plain.hitting_set(members, rows) >= one for members, one in zip(classes, diversities, strict=True))


def test_a_value_that_everybody_has_is_certain_however_many_others_there_are():
    ills = {"p1": "xy", "p2": "xz", "p3": "xw"}
    table = plain.table_of([{"who": p, "age": 1, "ward": "a", "ill": ill} for p, own in ills.items() for ill in own])
    assert dc.LDiversity(1, "ill").check(table).holds
    assert not dc.LDiversity(2, "ill").check(table).holds  # x is everybody's, though there are four values
    assert not dc.AlphaK("0.99", 1, "ill").check(table).holds
    assert dc.AlphaK(1, 3, "ill").check(table).holds


def test_a_row_twice_is_not_a_row_once():
    rows = [{"who": who, "age": 1, "ward": "a", "ill": "x"} for who in ("p1", "p2", "p2")]
    assert dc.check(plain.table_of(rows)).known == {"1": 2, "2": 1, "all": 1}


def test_models_that_are_not_sound_are_refused():
    table = plain.table_of(plain.rows_of(1, people=8))
    for model in (dc.TCloseness("0.5", "ill"), dc.EntropyLDiversity(2, "ill")):
        with pytest.raises(BadInput, match="assumes one row per person"):
            model.check(table)
        with pytest.raises(BadInput, match="assumes one row per person"):
            dc.check(table, model)


def test_a_row_of_nobody_is_an_error():
    rows = [*plain.rows_of(1, people=4), {"who": None, "age": 1, "ward": "a", "ill": "x"}]
    with pytest.raises(DataError, match="have no who"):
        row_sets(plain.table_of(rows))


def test_the_check_says_what_an_intruder_can_do():
    rows = [{"who": f"p{n}", "age": 1, "ward": "a", "ill": ill} for n in range(3) for ill in "xy"]
    found = dc.check(plain.table_of(rows), dc.KAnonymity(3))
    assert found.holds
    assert "3 people with several rows in 1 class" in found.summary
    assert "by one row, at least 3; two rows, at least 3; all of a person's rows, at least 3" in str(found)
    assert found.to_dict()["known_rows"] == {"1": 3, "2": 3, "all": 3}
    assert found.to_dict()["people"] == 3


def test_sequences_get_one_number_if_they_are_equal():
    parts = [[1, 2], [1], [1, 2], [], [2, 1], [1, 2, 0], []]
    starts = np.cumsum([0, *map(len, parts)])
    numbers = number_sequences(starts, np.array([item for part in parts for item in part]))
    assert [[a == b for b in parts] for a in parts] == [[a == b for b in numbers] for a in numbers]
    assert pa.array(numbers).unique().sort().to_pylist() == list(range(5))


@pytest.mark.parametrize("ages", [None, {"p": (1, 2), "q": (1, 2), "r": (1, 2), "s": (1, 1)}])
def test_of_rows_that_look_alike_somebody_has_the_largest_share(ages):
    rows = plain.rows_of(1)
    if ages:
        rows = [{"who": who, "age": age, "ward": "a", "ill": "x"} for who, own in ages.items() for age in own]
    own = plain.by_person(rows)
    alike = sum(own.values(), Counter())
    largest = max(many / alike[one] for some in own.values() for one, many in some.items())
    assert row_sets(plain.table_of(rows)).largest_share() == pytest.approx(largest)


def test_a_class_of_people_is_named_by_its_first_row_and_the_number_of_others():
    rows = [{"who": who, "age": age, "ward": "a", "ill": "x"} for who in ("p1", "p2") for age in (1, 2, 2)]
    rows.append({"who": "p3", "age": 5, "ward": "a", "ill": "x"})
    classes = row_sets(plain.table_of(rows)).classes
    named = {
        row["age"]: (row["more rows"], size)
        for row, size in zip(classes.labels.to_pylist(), classes.sizes, strict=True)
    }
    assert named == {1: (2, 2), 5: (0, 1)}


@pytest.mark.parametrize(("most", "two"), [(4, 1), (3, None)])
def test_so_many_pairs_of_rows_are_compared(monkeypatch, most, two):
    """Three pairs of one person, and one of another."""
    monkeypatch.setattr(module, "_MOST_PAIRS", most)
    rows = [
        {"who": who, "age": age, "ward": "a", "ill": "x"} for who, age in zip("pppqq", (1, 2, 3, 1, 4), strict=True)
    ]
    assert row_sets(plain.table_of(rows)).fewest_people() == {"1": 1, "2": two, "all": 1}


def test_every_class_of_people_has_its_own_most_frequent_values():
    """Two people of each class; in the first each value is one person's, in the second x is everybody's."""
    ills = {("p1", 1): "x", ("p2", 1): "y", ("p3", 2): "xy", ("p4", 2): "xz", ("p5", 3): "xy", ("p6", 3): "zw"}
    rows = [{"who": p, "age": age, "ward": "a", "ill": ill} for (p, age), own in ills.items() for ill in own * 2]
    classes = row_sets(plain.table_of(rows), ["ill"]).classes
    found = dict(
        zip((one["age"] for one in classes.labels.to_pylist()), dc.LDiversity(1, "ill").figures(classes), strict=True)
    )
    assert found == {1: 2, 2: 1, 3: 2}
