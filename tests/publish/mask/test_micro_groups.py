"""Groups are those of the methods as the papers have them, done plainly, ties included."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.noise.masking import generator
from discreet.verbs.publish.mask.micro.diverse import NO_RULE
from discreet.verbs.publish.mask.micro.gather import LEFT, mdav, nearest_points, v_mdav
from discreet.verbs.publish.mask.micro.grouping import Grouping, divide, form_groups, neighbours

NONE = np.zeros(0, np.int64)


# -- the methods, plainly: quadratic, column by column


def away(points, rows, at):
    total = np.zeros(len(rows))
    for column in range(points.shape[1]):
        total += (points[rows, column] - at[column]) ** 2
    return total


def farthest(points, rows, at):
    return rows[int(np.argmax(away(points, rows, at)))]


def nearest(points, rows, at, count):
    return [rows[place] for place in np.argsort(away(points, rows, at), kind="stable")[:count]]


def plain(points, k, both):
    """MDAV, or CBFS."""
    groups, rest = [], list(range(len(points)))

    def take(seed):
        rest_array = np.array(rest)
        groups.append([seed, *nearest(points, rest_array, points[seed], k - 1)])
        for point in groups[-1][1:]:
            rest.remove(point)

    while len(rest) >= 2 * k:
        rows = np.array(rest)
        one = farthest(points, rows, points[rows].sum(axis=0) / len(rows))
        seeds = [one]
        if both and len(rest) >= 3 * k:
            seeds.append(farthest(points, rows[rows != one], points[one]))
        for seed in seeds:
            rest.remove(seed)
        for seed in seeds:
            take(seed)
    return [*groups, rest]


def plain_v_mdav(points, k, gamma):
    groups, rest = [], list(range(len(points)))
    centre = points.sum(axis=0) / len(points)
    while len(rest) >= k:
        seed = farthest(points, np.array(rest), centre)
        rest.remove(seed)
        group = [seed, *nearest(points, np.array(rest), points[seed], k - 1)]
        rest = [point for point in rest if point not in group]
        while len(group) < 2 * k - 1 and len(rest) >= 2:
            to_group = {p: min(away(points, np.array(group), points[p])) for p in rest}
            chosen = min(rest, key=lambda p: (to_group[p], p))
            others = np.array([p for p in rest if p != chosen])
            if not to_group[chosen] < gamma * gamma * min(away(points, others, points[chosen])):
                break
            group.append(chosen)
            rest.remove(chosen)
        groups.append(group)
    return groups, rest


def lattice(seed, count, columns):
    """Few different values, exactly summed in any order: ties everywhere."""
    return np.random.default_rng(seed).integers(-3, 4, (count, columns)) / 4.0


def cloud(seed, count, columns):
    """Multiples of 2**-20, so that sums are exact in any order."""
    return np.rint(np.random.default_rng(seed).normal(size=(count, columns)) * 2**20) / 2**20


def sets(of):
    return {frozenset(np.flatnonzero(of == group).tolist()) for group in range(of.max(initial=-1) + 1)}


# -- the same groups


@pytest.mark.parametrize("made", [lattice, cloud])
@pytest.mark.parametrize("both", [True, False])
@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32), st.integers(6, 160), st.integers(1, 6), st.integers(2, 6))
def test_mdav_and_cbfs_form_the_groups_of_a_plain_scan(made, both, seed, count, columns, k):
    points = made(seed, max(count, k), columns)
    of, groups = mdav(points, k, both, NONE, NO_RULE)
    assert sets(of) == {frozenset(map(int, group)) for group in plain(points, k, both)}
    assert groups == of.max() + 1
    assert k <= np.bincount(of).min()
    assert np.bincount(of).max() <= 2 * k - 1


@pytest.mark.parametrize("both", [True, False])
def test_so_they_do_when_the_edge_is_seen_anew_and_the_tree_planted_again(both):
    points = cloud(1, 3000, 4)
    of, _ = mdav(points, 5, both, NONE, NO_RULE)
    assert sets(of) == {frozenset(map(int, group)) for group in plain(points, 5, both)}


@pytest.mark.parametrize("made", [lattice, cloud])
@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32), st.integers(6, 90), st.integers(1, 4), st.integers(2, 5), st.sampled_from([0, 0.2, 1.1]))
def test_v_mdav_forms_the_groups_of_a_plain_scan(made, seed, count, columns, k, gamma):
    points = made(seed, count, columns)
    order = np.argsort(-away(points, np.arange(count), points.sum(axis=0) / count), kind="stable")
    of, groups = v_mdav(points, order, k, gamma, NONE, NO_RULE)
    expected, rest = plain_v_mdav(points, k, gamma)
    assert sets(of) == {frozenset(map(int, group)) for group in expected}
    assert sorted(np.flatnonzero(of == LEFT)) == sorted(rest)
    assert groups == len(expected)


def test_by_hand_two_ends_are_taken_at_a_time():
    points = np.array([[0.0], [1], [2], [10], [11], [12], [20], [21], [22]])
    of, groups = mdav(points, 3, True, NONE, NO_RULE)
    assert sets(of) == {frozenset({0, 1, 2}), frozenset({3, 4, 5}), frozenset({6, 7, 8})}
    assert groups == 3


def test_records_that_are_all_alike_are_grouped_by_number():
    of, _ = mdav(np.zeros((7, 2)), 2, True, NONE, NO_RULE)
    assert sorted(np.bincount(of)) == [2, 2, 3]


def test_who_found_no_group_joins_the_nearest():
    """The records at 4 and 7 are left when both ends have their group."""
    points = np.array([[0.0], [1], [2], [4], [7], [10], [11], [12]])
    of, _ = v_mdav(points, np.array([7, 0, 1, 2, 3, 4, 5, 6]), 3, 0.2, NONE, NO_RULE)
    assert np.flatnonzero(of == LEFT).tolist() == [3, 4]
    done = form_groups(points, np.arange(8), NONE, way(k=3, algorithm="v-mdav"), generator(1))
    assert sets(done) == {frozenset({0, 1, 2, 3}), frozenset({4, 5, 6, 7})}


def test_of_few_points_the_closest_are_all_of_them():
    assert nearest_points(np.array([[1.0], [5]]), np.array([[4.0]]), 3).tolist() == [[1, 0, -1]]


def test_neighbours_are_the_nearest_others_however_many_are_in_one_place():
    points = lattice(2, 120, 2)
    found = neighbours(points, 6)
    for point in range(120):
        others = np.array([other for other in range(120) if other != point])
        assert found[point].tolist() == nearest(points, others, points[point], 6)


# -- blocks


def way(**said):
    plain_way = {
        "k": 5,
        "algorithm": "mdav",
        "gamma": 0.2,
        "improve": 0,
        "at_once": 100,
        "rule": NO_RULE,
        "broken": None,
    }
    return Grouping(**(plain_way | said))


def test_blocks_hold_every_point_once_and_are_cut_at_the_median():
    points = cloud(3, 1000, 3) * [1, 9, 1]
    found = list(divide(points, 300))
    assert sorted(np.concatenate(found)) == list(range(1000))
    assert [len(part) for part in found] == [250] * 4
    halves = sorted((points[np.concatenate(pair), 1] for pair in (found[:2], found[2:])), key=np.min)
    assert halves[0].max() <= halves[1].min()


def test_groups_of_a_block_are_those_of_the_method_inside_it():
    points = cloud(4, 400, 2)
    of = form_groups(points, np.arange(400), NONE, way(), generator(1))
    assert np.bincount(of).min() >= 5
    for part in divide(points, 100):
        alone, _ = mdav(points[part], 5, True, NONE, NO_RULE)
        assert sets(alone) == sets(np.unique(of[part], return_inverse=True)[1])


def test_fewer_than_two_groups_are_one():
    assert form_groups(cloud(5, 9, 2), np.arange(9), NONE, way(), generator(1)).tolist() == [0] * 9
    assert form_groups(np.zeros((30, 0)), np.arange(30), NONE, way(), generator(1)).tolist() == [0] * 30
