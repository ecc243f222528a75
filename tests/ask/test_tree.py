"""Ranges by a hierarchy: least squares to the last digit, the price of one question, the error known beforehand."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
import sqlglot
from hypothesis import given
from hypothesis import strategies as st
from tests.ask.recording import RecordingLaplace, apart
from tests.noise.bits import Repeatable
from tests.noise.laws import distribution

from discreet.core.loss import Concentrated, Pure, sequential
from discreet.errors import BadInput
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.laplace import DiscreteLaplace
from discreet.samples import cases
from discreet.verbs.ask import tree as module
from discreet.verbs.ask.quantile import counts_by_group, quantile, slice_query
from discreet.verbs.ask.scalar import scalar
from discreet.verbs.ask.source import rows_of
from discreet.verbs.ask.tree import Ranges, Tree, _branchings

SHAPES = [(1, 2), (2, 2), (5, 2), (8, 2), (8, 3), (9, 3), (11, 4), (16, 16), (17, 4), (30, 6)]
SILENT = DiscreteLaplace("1/1000")
"""Noise that is not zero once in e**1000 draws."""


def matrix(slices: int, branching: int) -> np.ndarray:
    """Which slices are in which count, level by level."""
    levels, level = [], np.eye(slices, dtype=np.int64)
    while True:
        levels.append(level)
        if len(level) <= branching:
            return np.concatenate(levels)
        level = np.add.reduceat(level, np.arange(0, len(level), branching), axis=0)


def bit_counts() -> np.ndarray:
    """How often each of 000 … 111 is among the bits, counted on the engine."""
    table = cases.bits()
    rows = rows_of(sqlglot.parse_one("SELECT * FROM bits"), {"bits": table})  # type: ignore[arg-type]
    value = scalar(sqlglot.parse_one("4 * d1 + 2 * d2 + d3"), rows.columns)
    assert value.within is not None
    sliced = quantile(value, value.within, Fraction(1, 2), rows.owned)
    found = table.engine.fetch(slice_query(sliced, {}, rows.owned)).to_pylist()
    return counts_by_group(sliced, found, [])[()]


@pytest.mark.parametrize("branching", [2, 3, 8])
def test_the_cumulative_distribution_of_the_bits_costs_one_epsilon_and_not_eight(branching: int) -> None:
    epsilon = Fraction(1, 2)
    assert sequential([Pure(epsilon)] * 8) == Pure(8 * epsilon)
    assert Tree.for_loss(Pure(epsilon), 8).loss() == Pure(epsilon)
    silent = Tree(8, branching, SILENT)
    levels = {2: 3, 3: 2, 8: 1}[branching]
    assert Tree(8, branching, DiscreteLaplace(levels / epsilon)).loss() == Pure(epsilon)
    told = silent.measure(bit_counts())
    assert told.distribution() == (0.3, 0.4, 0.6, 0.6, 0.6, 0.9, 1, 1)
    assert told.count(1, 6) == 6


@pytest.mark.parametrize(("slices", "branching"), SHAPES)
def test_the_counts_are_least_squares_exactly(slices: int, branching: int) -> None:
    a = matrix(slices, branching)
    y = np.random.default_rng(slices).integers(-20, 100, len(a))
    sizes = module._sizes(slices, branching)
    parts = np.split(np.array([Fraction(int(one)) for one in y], dtype=object), np.cumsum(sizes)[:-1])
    x = module._consistent([part[:, None] for part in parts], branching)[:, 0]
    assert ((y.astype(object) - a.astype(object) @ x) @ a.astype(object) == 0).all()


@pytest.mark.parametrize(("slices", "branching"), SHAPES)
def test_the_variance_of_every_range_is_that_of_least_squares(slices: int, branching: int) -> None:
    tree = Tree(slices, branching, DiscreteLaplace(3))
    a = matrix(slices, branching)
    covariance = np.linalg.inv(a.T @ a) * tree.noise.variance
    for low, high in combinations(range(slices + 1), 2):
        assert tree.variance(low, high) == pytest.approx(covariance[low:high, low:high].sum())


@given(
    st.sampled_from(SHAPES),
    st.lists(st.integers(0, 50), min_size=30, max_size=30),
    st.lists(st.integers(0, 29), min_size=1, max_size=4),
)
def test_a_unit_changes_what_gets_noise_by_no_more_than_is_declared(
    shape: tuple[int, int], counts: list[int], rows: list[int]
) -> None:
    slices, branching = shape
    records = []
    without = np.array(counts[:slices])
    added = without.copy()
    for row in rows:
        added[row % slices] += 1
    for data in (without, added):
        noise = RecordingLaplace(7)
        tree = Tree(slices, branching, noise)
        tree.measure(data, Repeatable(1))
        records.append(noise.seen)
    assert apart(*records) == tree.levels * len(rows)
    assert tree.loss(len(rows)) == Pure(Fraction(tree.levels * len(rows), 7))


@given(st.sampled_from(SHAPES), st.lists(st.integers(0, 29), min_size=1, max_size=4))
def test_a_unit_moves_what_gets_gaussian_noise_by_no_more_than_is_declared(
    shape: tuple[int, int], rows: list[int]
) -> None:
    """In Euclidean distance; furthest if all its rows are in one slice."""
    slices, branching = shape
    levels = [
        matrix(slices, branching) @ np.bincount([row % slices for row in places], minlength=slices)
        for places in (rows, [rows[0]] * len(rows))
    ]
    tree = Tree(slices, branching, DiscreteGaussian(7))
    claim = 2 * 7 * tree.loss(len(rows)).rho  # type: ignore[union-attr]
    assert (levels[0] ** 2).sum() <= (levels[1] ** 2).sum() == claim


@pytest.mark.parametrize("slices", [1, 8, 64, 200])
def test_gaussian_noise_loses_what_was_asked_for(slices: int) -> None:
    assert Tree.for_loss(Concentrated("1/8"), slices, 3).loss(3) == Concentrated("1/8")


@pytest.mark.parametrize("slices", [8, 64, 200, 512])
def test_the_branching_is_nearly_the_best_for_the_mean_of_all_ranges(slices: int) -> None:
    def mean(tree: Tree) -> float:
        a = matrix(tree.slices, tree.branching).astype(float)
        cumulative = np.pad(np.linalg.inv(a.T @ a).cumsum(0).cumsum(1), ((1, 0), (1, 0)))
        own = np.diag(cumulative)
        ranges = own[:, None] + own[None, :] - 2 * cumulative
        return float(ranges.mean()) * tree.noise.variance

    chosen = Tree.for_loss(Pure(1), slices)
    others = []
    for branching in range(2, min(slices, 24) + 1):
        levels = len(module._sizes(slices, branching))
        others.append(mean(Tree(slices, branching, DiscreteLaplace(levels))))
    assert mean(chosen) <= 1.15 * min(others)


def test_a_hierarchy_beats_a_histogram_on_many_slices_and_not_on_few() -> None:
    assert Tree.for_loss(Pure(1), 16).levels == 1
    many = Tree.for_loss(Pure(1), 4096)
    assert 12 <= many.branching <= 20
    assert many.variance(100, 3000) < Tree(4096, 4096, DiscreteLaplace(1)).variance(100, 3000) / 10


@given(st.lists(st.integers(-9, 9), min_size=1, max_size=12))
def test_the_monotone_counts_are_the_nearest(values: list[int]) -> None:
    """Against the formula max over starts of min over ends of the mean."""
    n = len(values)
    nearest = [
        max(min(Fraction(sum(values[a : b + 1]), b + 1 - a) for b in range(i, n)) for a in range(i + 1))
        for i in range(n)
    ]
    told = Ranges((Fraction(0), *map(Fraction, values)))
    assert told.monotone() == (0, *(max(one, 0) for one in nearest))
    shares = told.distribution()
    assert list(shares) == sorted(shares)
    assert shares[-1] == 1
    assert shares[0] >= 0


def test_ranges_add_up_exactly() -> None:
    told = Tree.for_loss(Pure("1/10"), 100).measure(range(100), Repeatable(3))  # type: ignore[arg-type]
    assert told.count(0, 33) + told.count(33, 100) == told.count(0, 100)


def test_the_error_holds_where_the_law_is_known() -> None:
    tree = Tree(2, 2, DiscreteLaplace(5))
    law = np.array(list(distribution(tree.noise).values()))
    both = np.convolve(law, law)
    sizes = abs(np.arange(len(both)) - len(both) // 2)

    def beyond(error: float) -> float:
        return float(both[sizes > error].sum())

    for beta in ("1/10", "1/1000"):
        assert tree.error(beta, 0, 1) == tree.noise.error(beta)
        assert beyond(tree.error(beta, 0, 2)) <= Fraction(beta) < beyond(tree.error(beta, 0, 2) / 2)
    assert Tree(2, 2, SILENT).error("1/10", 0, 2) == 0


def test_what_makes_no_sense_is_refused() -> None:
    tree = Tree.for_loss(Pure(1), 8)
    with pytest.raises(BadInput, match="8 slices need 8 counts, not 7"):
        tree.measure([1] * 7)
    for low, high in ((-1, 3), (3, 3), (0, 9)):
        with pytest.raises(BadInput, match="A range of slices"):
            tree.variance(low, high)
        with pytest.raises(BadInput, match="A range of slices"):
            tree.measure([0] * 8).count(low, high)
    with pytest.raises(BadInput, match="epsilon must be above 0"):
        Tree.for_loss(Pure(0), 8)
    with pytest.raises(BadInput, match="the limit is 65,536"):
        Tree(2**17, 2, SILENT)
    with pytest.raises(BadInput):
        Tree.for_loss(Pure(1), 8, 0)


@pytest.mark.parametrize("slices", [1, 2, 3, 4, 5, 8, 9, 10, 27, 28, 100, 101])
def test_the_branchings_to_choose_from_are_the_least_for_each_number_of_levels(slices: int) -> None:
    found = _branchings(slices)
    least = [next(b for b in range(2, 102) if b**levels >= slices) for levels in range(1, 9)]
    assert found == least[: len(found)] and found[-1] == 2 and 2 not in found[:-1]
