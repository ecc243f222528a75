"""The tree answers as a scan of all points would, whoever has left it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.verbs.publish.mask.micro.tree import NUMBER, SUM, farthest, nearest, plant, remove, restore

NOBODY = np.zeros(0, np.int64)
ANYBODY = np.zeros(0, np.bool_)


def scan(points, at):
    """Squared distances, added up column by column as the tree does."""
    total = np.zeros(len(points))
    for column in range(points.shape[1]):
        total += (points[:, column] - at[column]) ** 2
    return total


def far(points, left, at):
    away = scan(points, at)
    return min(left, key=lambda point: (-away[point], point), default=-1)


def near(points, left, at, count):
    away = scan(points, at)
    return sorted(left, key=lambda point: (away[point], point))[:count]


def asked(tree, at, count, wanted=ANYBODY, codes=NOBODY):
    found, costs = np.empty(count, np.int64), np.empty(count)
    have = nearest(tree, at, found, costs, wanted, codes)
    assert (np.diff(costs[:have]) >= 0).all()
    return found[:have].tolist()


def crowd(rng, count, columns, lattice):
    """Points, on a small lattice full of ties or not."""
    if lattice:
        return rng.integers(-2, 3, (count, columns)).astype(float)
    return rng.normal(size=(count, columns))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 400), st.integers(1, 5), st.booleans())
def test_answers_are_those_of_a_scan_while_points_leave_and_return(seed, count, columns, lattice):
    rng = np.random.default_rng(seed)
    points = crowd(rng, count, columns, lattice)
    tree = plant(points, np.arange(count))
    left, gone = set(range(count)), []
    for _ in range(12):
        for point in rng.permutation(sorted(left))[: rng.integers(0, 1 + count // 6)]:
            remove(tree, points, point)
            left.discard(point)
            gone.append(point)
        if gone and rng.random() < 0.5:
            back = gone.pop(rng.integers(len(gone)))
            restore(tree, points, back)
            left.add(back)
        at = points[rng.integers(count)] if rng.random() < 0.5 else rng.normal(size=columns)
        assert farthest(tree, at, -1.0, -1) == far(points, left, at)
        assert asked(tree, at, 7) == near(points, left, at, 7)
        assert set(np.flatnonzero(tree.home[:, NUMBER] >= 0)) == left
        assert np.allclose(tree.whole[SUM], points[sorted(left)].sum(axis=0))


@pytest.mark.parametrize("lattice", [True, False])
def test_a_guess_changes_nothing_about_who_is_farthest(lattice):
    rng = np.random.default_rng(3)
    points = crowd(rng, 300, 3, lattice)
    tree = plant(points, np.arange(300))
    at = points[5]
    away = scan(points, at)
    for guess in rng.integers(0, 300, 40):
        assert farthest(tree, at, away[guess], guess) == far(points, range(300), at)


def test_only_points_with_a_wanted_value_are_found():
    rng = np.random.default_rng(4)
    points, codes = rng.normal(size=(200, 2)), rng.integers(0, 3, 200)
    tree = plant(points, np.arange(200))
    wanted = np.array([False, True, False])
    assert asked(tree, points[0], 9, wanted, codes) == near(points, np.flatnonzero(codes == 1), points[0], 9)
    assert asked(tree, points[0], 9, np.zeros(3, np.bool_), codes) == []


def test_a_tree_of_some_points_knows_no_others():
    points = np.arange(20.0)[:, None]
    tree = plant(points, np.array([3, 7, 11]))
    assert asked(tree, np.zeros(1), 9) == [3, 7, 11]
    assert farthest(tree, np.zeros(1), -1.0, -1) == 11


def test_an_empty_tree_finds_nobody():
    tree = plant(np.zeros((0, 2)), NOBODY)
    assert farthest(tree, np.zeros(2), -1.0, -1) == -1
    assert asked(tree, np.zeros(2), 3) == []
