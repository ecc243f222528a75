"""The pieces of the system of counts, one by one: what may go together, what cancels, and limits of their size."""

from __future__ import annotations

from math import inf

import numpy as np
import pyarrow as pa
import pytest

from discreet.releases import joint_counts
from discreet.releases.atoms import NOT_TOLD, People
from discreet.releases.joint_counts import (
    Target,
    TooLarge,
    _among,
    _combinations,
    _dependencies,
    _distinct,
    _joined,
    unions,
    value_groups,
)
from discreet.releases.records import Told
from discreet.verbs.attack.intruder.sparse import sparse

NONE = np.empty(0, np.int64)


def told(tells, domain, leaf=(), figures=(), group=(0,)):
    """A release that tells columns, with figures that add up leaves of one group."""
    places = np.array([leaf for figure in figures for leaf in figure], np.int64)
    starts = np.cumsum([0, *map(len, figures)])
    leaves = max(leaf, default=0) + 1
    return Told(1, "", np.array(group), tells, tuple(domain), np.array(leaf), leaves, starts, places, NONE, NONE, NONE)


@pytest.mark.parametrize(
    ("figure", "group"),
    [((0,), None), ((0, 1), "ab"), ((1, 3), "bd"), ((0, 1, 2), "abc"), ((0, 1, 2, 3), None), ((0, 1, 2, 3, 4), None)],
)
def test_several_values_that_are_counted_together_are_a_group_unless_they_are_nearly_all(figure, group):
    """Of five values, four tell the fifth."""
    one = told(("ill",), [(value,) for value in "abcde"], range(5), [figure])
    assert value_groups(one, "ill") == ({frozenset(group)} if group else set())


def test_a_figure_that_splits_a_value_counts_no_group_of_values():
    domain = [(value, side) for value in "abcd" for side in "xy"]
    for figure, group in (((0, 1, 2, 3), {frozenset("ab")}), ((0, 1, 2), set()), ((0, 2), set())):
        assert value_groups(told(("ill", "side"), domain, range(8), [figure]), "ill") == group


def people(**columns):
    size = len(next(iter(columns.values())))
    values = {name: pa.array(list(one)) for name, one in columns.items()}
    return People(pa.array(range(size)), pa.nulls(size), np.ones(size, np.int64), np.zeros(size, np.int64), values)


@pytest.mark.parametrize(("chapters", "says"), [("pq", True), ("pp", False)])
@pytest.mark.parametrize("many", [10, 9])
def test_a_column_says_another_if_more_than_a_few_people_agree(many, chapters, says):
    """Ten people a value, on average, and more than one value on the other side."""
    found = _dependencies(people(ill="a" * 10 + "b" * many, chapter=chapters[0] * 10 + chapters[1] * many))
    one, other = dict(zip("ab", chapters, strict=True)), dict(zip(chapters, "ab", strict=True))
    assert found == ({("ill", "chapter"): one, ("chapter", "ill"): other} if says and many == 10 else {})


def test_only_those_of_whom_both_were_told_say_anything():
    ill, chapter = "a" * 10 + "b" * 10 + "a" * 5, "p" * 10 + "q" * 10 + NOT_TOLD * 5
    assert _dependencies(people(ill=ill, chapter=chapter))["ill", "chapter"] == {"a": "p", "b": "q"}
    assert ("ill", "chapter") not in _dependencies(people(ill=ill, chapter=chapter.replace(NOT_TOLD, "q")))


def rows(found):
    return {tuple(sorted(row.items())) for row in found}


def test_domains_go_together_where_what_they_share_agrees():
    ab, bc = (("a", "b"), {("1", "x"), ("2", "y")}), (("b", "c"), {("x", "p"), ("x", "q"), ("z", "p")})
    joined = {(("a", "1"), ("b", "x"), ("c", "p")), (("a", "1"), ("b", "x"), ("c", "q"))}
    assert rows(_joined([ab, bc], {})) == joined
    assert rows(_joined([ab, bc], {("a", "c"): {"1": "q"}})) == {(("a", "1"), ("b", "x"), ("c", "q"))}
    assert rows(_joined([ab, bc], {("a", "c"): {"2": "q"}, ("a", "d"): {"1": "q"}})) == joined
    assert list(_joined([ab, (("b", "c"), {("z", "p")}), (("d",), {("1",)})], {})) == []


@pytest.mark.parametrize(("most", "fine"), [(6, True), (5, False)])
def test_combinations_may_be_so_many(monkeypatch, most, fine):
    monkeypatch.setattr(joint_counts, "_MOST_COMBINATIONS", most)
    one, two = told(("a",), [("1",), ("2",)]), told(("b",), [("x",), ("y",), ("z",)])
    if fine:
        columns, found, _, _ = _combinations([one, two], {})
        assert columns == ("a", "b") and len(found) == 6
    else:
        with pytest.raises(TooLarge):
            _combinations([one, two], {})


def test_whoever_is_told_of_fewer_columns_has_fewer_values():
    one, two = told(("a",), [("1",)], group=(0, -1, 0)), told(("b",), [("x",)], group=(0, 0, -1))
    columns, found, of_combination, of_atom = _combinations([one, two], {})
    assert columns == ("a", "b")
    kinds = {row: int(kind) for row, kind in zip(found, of_combination, strict=True)}
    assert of_atom.tolist() == [kinds["1", "x"], kinds[NOT_TOLD, "x"], kinds["1", NOT_TOLD]]
    assert len(set(kinds.values())) == len(kinds) == 3


def test_equal_sums_are_one_equation_within_the_narrowest_interval():
    matrix = sparse().csr_array(np.array([[1, 1, 0], [0, 1, 0], [1, 1, 0], [0, 0, 0], [0, 0, 1]]))
    low, high = np.array([0, 1, 2, 3, -inf]), np.array([5, 1, 9, 3, inf])
    made, least, most = _distinct(matrix, low, high)
    found = {tuple(row): ends for row, *ends in zip(made.toarray().tolist(), least, most, strict=True)}
    assert found == {(1, 1, 0): [2, 5], (0, 1, 0): [1, 1]}


def united(changes, smallest, *, sizes=(), part=None, units=None):
    free = [Target((atom,), "ill", "flu") for atom in range(len(changes))]
    units = units or {
        atom: frozenset((atom, n) for n in range(size)) for atom, size in enumerate(sizes or [1] * len(changes))
    }
    marks = np.array(changes).astype(np.uint64) @ np.array([2**40 + 9, 2**61 + 1], np.uint64)[: len(changes[0])]
    found = unions(free, marks, np.zeros(len(changes)) if part is None else np.array(part), units, smallest)
    return sorted(one.atoms for one in found)


def test_atoms_whose_changes_cancel_are_known_together():
    pair = [[1, 2], [-1, -2], [0, 1]]
    assert united(pair, 3) == [(0, 1)]
    assert united(pair, 2) == [], "two of them are no smaller group than two"
    assert united(pair, 3, sizes=(1, 2, 1)) == [] and united(pair, 4, sizes=(1, 2, 1)) == [(0, 1)]
    assert united(pair, 3, part=(0, 1, 0)) == [], "parts that nothing joins"
    three = [[1, 1], [-1, 0], [0, -1]]
    assert united(three, 3) == [] and united(three, 4) == [(0, 1, 2)]
    assert united([[1], [1], [-1]], 3) == [(0, 2), (1, 2)]
    assert united([[2], [-1]], 4) == [], "an atom is taken once"


def test_all_atoms_of_a_person_are_a_group_of_one():
    three = [[1, 1], [-1, 0], [0, -1], [1, 1]]
    of_one = {atom: frozenset({"ann"}) for atom in range(3)} | {3: frozenset({"ben"})}
    assert united(three, 2, units=of_one) == [(0, 1, 2)]
    assert united(three, 3, units=of_one) == [(0, 1, 2), (1, 2, 3)], "two of the atoms are hers, one is his"
    assert united(three, 2, units=of_one | {1: frozenset({"ann", "cid"})}) == []


@pytest.mark.parametrize(("name", "most"), [("_MOST_LOOKED_AT", 3), ("_MOST_UNIONS", 2)])
def test_groups_of_atoms_that_are_looked_at_and_found_are_limited(monkeypatch, name, most):
    """Three single atoms are looked at, and two pairs are found."""
    monkeypatch.setattr(joint_counts, name, most)
    assert united([[1], [1], [-1]], 3) == [(0, 2), (1, 2)]
    monkeypatch.setattr(joint_counts, name, most - 1)
    with pytest.raises(TooLarge):
        united([[1], [1], [-1]], 3)


@pytest.mark.parametrize("places", [(), (5,), (0, 9), (0, 5, 7)])
def test_places_are_found_among_others(places):
    asked = np.array([0, 5, 6, 9, 12])
    assert _among(asked, np.array(places, np.int64)).tolist() == [one in places for one in asked.tolist()]
