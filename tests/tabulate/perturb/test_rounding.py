"""Rounding: additive where it says so, within the base it says, nearest among all, and unbiased at random."""

import itertools

import numpy as np
import pytest
from tests.tabulate.drawn import drawn, relations_hold

from discreet.errors import BadInput, NoPromise
from discreet.verbs.tabulate.perturb.rounding import controlled, conventional, possible, random
from discreet.verbs.tabulate.tables.cells import Cells
from discreet.verbs.tabulate.tables.crosstable import CrossTable, Dimension, summed


def table(values):
    values = np.asarray(values, np.int64)
    sides = tuple(
        Dimension.flat(name, [f"{name}{n}" for n in range(size)])
        for name, size in zip("abc", values.shape, strict=False)
    )
    return Cells.of(CrossTable(sides, summed(sides, values)))


def by_brute_force(cells, base):
    """The least distance of all zero-restricted roundings that add up, or None."""
    floors, rest = np.divmod(cells.values, base)
    between = np.flatnonzero(rest)
    up = (np.arange(2 ** len(between))[:, None] >> np.arange(len(between))) & 1
    tables = np.repeat(floors[None, :], len(up), axis=0)
    tables[:, between] += up
    adds_up = ~(cells.relations.astype(np.int64) @ tables.T).any(axis=0)
    return np.abs(tables[adds_up] * base - cells.values).sum(axis=1).min() if adds_up.any() else None


@pytest.mark.parametrize("seeds", [range(start, start + 80) for start in range(0, 320, 80)], ids=str)
def test_controlled_rounding_adds_up_and_stays_within_reach(seeds):
    for seed in seeds:
        cells = drawn(seed, codes=3, nested=0.25, least=-20 if seed % 4 == 0 else 0)
        base = (2, 3, 5, 10)[seed % 4]
        rounded = controlled(cells, base)
        off = np.abs(rounded.values - cells.values)
        assert relations_hold(cells, rounded.values) and rounded.additive
        assert (rounded.values % base == 0).all()
        assert (off < rounded.reach * base).all()
        assert rounded.distance == rounded.bound == off.sum()
        assert ((rounded.low <= cells.values) & (cells.values <= rounded.high)).all()
        if cells.values.min() >= 0:
            assert rounded.values.min() >= 0
        if rounded.reach == 1:
            assert (off[cells.values % base == 0] == 0).all()
        if len(cells.tables[0].dimensions) <= 2 and sum(one.nested for one in cells.tables[0].dimensions) <= 1:
            assert rounded.reach == 1, "a network always has a rounding"


def test_controlled_rounding_is_the_nearest_of_all():
    for seed in range(60):
        cells = drawn(seed, sides=1 + seed % 2, codes=3, nested=0.2)
        rounded = controlled(cells, 5)
        if np.count_nonzero(cells.values % 5) <= 13:
            assert rounded.distance == by_brute_force(cells, 5)


def test_three_sides_may_need_more_than_neighbours_and_say_so():
    cells = table([[[0, 1], [1, 0]], [[0, 1], [1, 1]]])
    assert by_brute_force(cells, 2) is None
    rounded = controlled(cells, 2)
    assert rounded.reach == 2
    assert relations_hold(cells, rounded.values)
    assert (np.abs(rounded.values - cells.values) < 4).all()
    assert (rounded.high - rounded.values == 3).all()


@pytest.mark.parametrize("inner", [[[[0, 1], [1, 0]], [[0, 1], [1, 1]]], [[[1, 0], [0, 1]], [[1, 1], [0, 1]]]])
def test_beyond_neighbours_cells_may_go_up_and_down_alike(inner):
    """The nearest of all tables of multiples that are less than two bases off, by trying them."""
    cells = table(inner)
    sides = cells.tables[0].dimensions
    options = [[at for at in (0, 2, 4) if abs(at - value) < 4] for value in np.ravel(inner)]
    best = np.inf
    for tried in itertools.product(*options):
        off = np.abs(summed(sides, np.reshape(tried, (2, 2, 2))).ravel() - cells.values)
        best = min(best, off.sum() if off.max() < 4 else np.inf)
    rounded = controlled(cells, 2)
    assert (rounded.reach, rounded.distance, rounded.bound) == (2, best, best)


def test_linked_tables_are_rounded_together():
    rng = np.random.default_rng(4)
    sides = [Dimension.flat(name, [f"{name}{n}" for n in range(3)]) for name in "abc"]
    cube = rng.integers(0, 30, (3, 3, 3))
    tables = [
        CrossTable(pair, summed(pair, cube.sum(axis=away)))
        for pair, away in (((sides[0], sides[1]), 2), ((sides[0], sides[2]), 1))
    ]
    cells = Cells.of(*tables)
    assert len(cells) < sum(one.size for one in tables)
    rounded = controlled(cells, 5)
    assert relations_hold(cells, rounded.values) and (np.abs(rounded.values - cells.values) < 5 * rounded.reach).all()


def test_large_figures_are_exact():
    cells = table(np.array([[10**15 + 1, 10**15 + 3], [7, 10**15 + 9]]))
    rounded = controlled(cells, 5)
    assert rounded.reach == 1 and relations_hold(cells, rounded.values)


def test_conventional_rounding_takes_the_nearest_and_halves_away_from_zero():
    cells = table([5, -5, 4, 15, -14, 0])
    rounded = conventional(cells, 10)
    assert rounded.values[1:].tolist() == [10, -10, 0, 20, -10, 0]
    for seed in range(50):
        cells = drawn(seed, least=-30)
        for base in (3, 10):
            rounded = conventional(cells, base)
            assert (np.abs(rounded.values - cells.values) <= base // 2).all()
            assert ((rounded.low <= cells.values) & (cells.values <= rounded.high)).all()


def test_conventional_rounding_can_give_everything_away():
    cells = table([3, 3, 3, 3])
    rounded = conventional(cells, 5)
    assert rounded.values.tolist() == [10, 5, 5, 5, 5] and not rounded.additive
    seen = possible(cells, rounded)
    assert np.allclose(seen.low, cells.values) and np.allclose(seen.high, cells.values)


def test_controlled_rounding_leaves_an_interval():
    cells = table([[3, 4], [1, 8]])
    rounded = controlled(cells, 5)
    seen = possible(cells, rounded)
    assert ((seen.low <= cells.values) & (cells.values <= seen.high)).all()
    assert (seen.low >= np.maximum(rounded.low, 0)).all() and (seen.high <= rounded.high).all()
    assert (seen.high - seen.low >= 3).all()


@pytest.mark.parametrize("base", [3, 5])
def test_random_rounding_is_unbiased(base):
    """The number that goes up is binomial with chance rest/base: within its bound at 1e-9 (Hoeffding)."""
    values = np.arange(-base, 2 * base)
    cells = table(np.broadcast_to(values[:, None, None], (len(values), 40, 50)))
    rounded = random(cells, base, seed=7)
    assert ((rounded.low <= cells.values) & (cells.values <= rounded.high)).all()
    for value, line in zip(values, rounded.values.reshape(cells.tables[0].shape)[1:, 1:, 1:], strict=True):
        assert set(line.flat) <= {value // base * base, -(-value // base) * base}
        assert abs(line.mean() - value) <= base * np.sqrt(np.log(2e9) / (2 * line.size))


def test_random_rounding_without_a_seed_cannot_be_repeated():
    cells = table(np.full(300, 2))
    assert not np.array_equal(random(cells, 5).values, random(cells, 5).values)


@pytest.mark.parametrize("base", [1, 0, -5, 2.5, True])
def test_a_base_is_a_whole_number(base):
    for way in (conventional, random, controlled):
        with pytest.raises(BadInput, match="base"):
            way(table([1, 2]), base)


def test_a_table_that_does_not_add_up_is_not_rounded():
    sides = (Dimension.flat("a", ["x", "y"]),)
    with pytest.raises(BadInput, match="needs a table that adds up"):
        controlled(Cells.of(CrossTable(sides, np.array([9, 1, 2]))), 5)


def test_no_time_is_no_answer():
    with pytest.raises(NoPromise, match="seconds"):
        controlled(table([[1, 2], [3, 4]]), 5, seconds=0.001)
