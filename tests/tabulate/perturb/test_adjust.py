"""Adjustment: additive, far enough off, within limits, and as near as an independent solver finds."""

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp
from tests.tabulate.drawn import drawn, relations_hold

from discreet.core.programs import Program
from discreet.errors import BadInput, NoPromise
from discreet.verbs.tabulate.method import Protection
from discreet.verbs.tabulate.perturb.adjust import adjust, least_squares
from discreet.verbs.tabulate.tables.cells import Cells
from discreet.verbs.tabulate.tables.crosstable import CrossTable, Dimension, summed


def protected(cells, seed, share=0.2):
    """Some cells must move, by levels that are not whole and differ by side."""
    rng = np.random.default_rng(seed)
    sensitive = rng.random(len(cells)) < share
    sensitive[rng.integers(len(cells))] = True
    below, above = (np.where(sensitive, rng.uniform(0.5, 6, len(cells)), 0) for _ in range(2))
    return Protection(sensitive, below, above)


def far_enough(cells, protection, values):
    change = (values - cells.values)[protection.sensitive]
    below, above = protection.below[protection.sensitive], protection.above[protection.sensitive]
    return ((change >= above) | (change <= -below)).all()


def by_another_solver(cells, protection, weights, limits, senses=None):
    """The least weighted change in whole units, with the whole problem as one programme for SciPy; None if there is
    none. Of a sensitive cell d >= above - M (1 - y) and d <= M y - below, with M far beyond what is needed."""
    n, big = len(cells), 200.0
    eye, zero = np.eye(n), np.zeros((n, n))
    relations = cells.relations.toarray().astype(float)
    s = protection.sensitive
    fall = np.minimum(np.minimum(cells.values - cells.lower, limits), big)
    rows = [
        LinearConstraint(np.hstack([relations, np.zeros((len(relations), 2 * n))]), 0, 0),
        LinearConstraint(np.hstack([eye, -eye, zero]), -np.inf, 0),
        LinearConstraint(np.hstack([-eye, -eye, zero]), -np.inf, 0),
        LinearConstraint(np.hstack([eye, zero, -big * eye])[s], (protection.above - big)[s], np.inf),
        LinearConstraint(np.hstack([eye, zero, -big * eye])[s], -np.inf, -protection.below[s]),
    ]
    low, high = (0, 1 * s) if senses is None else (senses * s, senses * s)
    bounds = Bounds(
        np.concatenate([-np.floor(fall), np.zeros(n), low * np.ones(n)]),
        np.concatenate([np.floor(np.minimum(limits, big)), np.full(n, np.inf), high]),
    )
    found = milp(np.concatenate([np.zeros(n), weights, np.zeros(n)]), constraints=rows, bounds=bounds, integrality=1)
    return found.fun if found.status == 0 else None


def test_tables_add_up_and_sensitive_cells_are_far_enough_off():
    for seed in range(300):
        norm = "l1" if seed % 5 else "l2"
        cells = drawn(seed, codes=3, nested=0.2, least=-20 if seed % 4 == 0 else 0)
        protection = protected(cells, seed, share=0.1)
        up = np.ones(len(cells), bool) if len(cells) > 16 else None
        adjusted = adjust(cells, protection, 1 / np.maximum(1, np.abs(cells.values)), norm=norm, up=up)
        assert relations_hold(cells, adjusted.values)
        assert far_enough(cells, protection, adjusted.values)
        assert (adjusted.values >= cells.lower).all()
        assert adjusted.bound <= adjusted.distance
        assert ((adjusted.values > cells.values) >= adjusted.up).all()


def test_it_is_as_near_as_another_solver_finds():
    compared = 0
    for seed in range(30):
        cells = drawn(seed, sides=1 + seed % 2, codes=3 - seed % 2, nested=0.3 if seed % 2 else 0.8)
        protection = protected(cells, seed)
        weights = np.random.default_rng(seed).uniform(0.5, 2, len(cells))
        limits = np.full(len(cells), (np.inf, 12.0, 7.5)[seed % 3])
        best = by_another_solver(cells, protection, weights, limits)
        if best is None:
            with pytest.raises(NoPromise):
                adjust(cells, protection, weights, limits=limits)
            continue
        adjusted = adjust(cells, protection, weights, limits=limits)
        assert (np.abs(adjusted.values - cells.values) <= limits).all()
        assert adjusted.bound <= best + 1e-6
        if sum(side.nested for side in cells.tables[0].dimensions) <= 1:
            assert adjusted.distance == pytest.approx(best, abs=1e-6)
            compared += 1
    assert compared > 15


def test_with_three_sides_little_is_lost_to_whole_units():
    for seed in range(5):
        cells = drawn(seed, sides=3, codes=2, nested=0)
        protection, weights = protected(cells, seed, share=0.05), np.ones(len(cells))
        adjusted = adjust(cells, protection, weights)
        best = by_another_solver(cells, protection, weights, np.full(len(cells), np.inf))
        assert adjusted.bound - 1e-6 <= best <= adjusted.distance + 1e-6
        assert adjusted.distance <= best + len(cells)


def test_given_senses_are_kept():
    for seed in range(20):
        cells = drawn(seed, sides=2, codes=3)
        protection, weights = protected(cells, seed), np.ones(len(cells))
        up = np.ones(len(cells), bool)
        adjusted = adjust(cells, protection, weights, up=up)
        raised = protection.sensitive
        assert ((adjusted.values - cells.values)[raised] >= protection.above[raised]).all()
        assert np.array_equal(adjusted.up, raised)
        if not any(side.nested for side in cells.tables[0].dimensions):
            best = by_another_solver(cells, protection, weights, np.full(len(cells), np.inf), senses=1)
            assert adjusted.distance == pytest.approx(best)


def test_totals_that_must_not_change_do_not():
    cells = drawn(3, sides=2, codes=4, nested=0, most=200)
    protection = protected(cells, 3, share=0.1)
    totals = np.zeros(len(cells), bool)
    totals[cells.relations.indices[cells.relations.data > 0]] = True
    protection = Protection(
        protection.sensitive & ~totals,
        np.where(totals, 0, protection.below),
        np.where(totals, 0, protection.above),
    )
    adjusted = adjust(cells, protection, np.ones(len(cells)), limits=np.where(totals, 0.0, np.inf))
    assert np.array_equal(adjusted.values[totals], cells.values[totals])
    assert far_enough(cells, protection, adjusted.values)


def test_what_is_impossible_names_the_cells_that_stand_in_the_way():
    cells = Cells.of(CrossTable((Dimension.flat("a", ["x", "y"]),), np.array([30, 10, 20])))
    protection = Protection(np.array([False, True, False]), np.array([0, 5.0, 0]), np.array([0, 5.0, 0]))
    with pytest.raises(NoPromise, match=r"y.*change by more") as refused:
        adjust(cells, protection, np.ones(3), limits=np.array([0, np.inf, 2.0]))
    assert "20" not in str(refused.value)
    fixed = cells.knowing(np.array([0, 8.0, 0]), np.array([np.inf, 12.0, np.inf]))
    with pytest.raises(NoPromise, match="Some sensitive cells cannot be moved as far as their rule requires"):
        adjust(fixed, protection, np.ones(3))


def test_large_figures_and_small_weights():
    """The same table in other units has the same relative answer."""
    cells = drawn(5, sides=2, codes=4, nested=0)
    many = Cells.of(CrossTable(cells.tables[0].dimensions, cells.tables[0].values * 10**9))
    sensitive = np.zeros(len(cells), bool)
    sensitive[[-1, -8]] = True
    small, large = (Protection(sensitive, np.where(sensitive, x, 0.0), np.where(sensitive, x, 0.0)) for x in (5, 5e9))
    weights = 1 / np.maximum(1, cells.values)
    one = adjust(cells, small, weights)
    other = adjust(many, large, weights / 1e9)
    assert relations_hold(many, other.values)
    assert other.distance == pytest.approx(one.distance)


def test_nothing_sensitive_changes_nothing():
    cells = drawn(1)
    none = np.zeros(len(cells))
    adjusted = adjust(cells, Protection(none > 0, none, none), np.ones(len(cells)))
    assert np.array_equal(adjusted.values, cells.values) and adjusted.distance == 0


def test_wrong_input_is_refused():
    cells = drawn(1)
    none = np.zeros(len(cells))
    with pytest.raises(BadInput, match="l1 or l2"):
        adjust(cells, Protection(none > 0, none, none), none, norm="l3")
    broken = Cells.of(CrossTable((Dimension.flat("a", ["x", "y"]),), np.array([9, 1, 2])))
    with pytest.raises(BadInput, match="adds up"):
        adjust(broken, Protection(np.zeros(3, bool), np.zeros(3), np.zeros(3)), np.ones(3))


def test_least_squares_are_least():
    """At the least, no step towards any other possible point goes down: the gradient and the step, multiplied."""
    for seed in range(30):
        cells = drawn(seed, codes=3)
        rng = np.random.default_rng(seed)
        weights = rng.uniform(0.1, 3, len(cells))
        points = [drawn_like(cells, rng) for _ in range(8)]
        least, most = np.min(points, axis=0), np.max(points, axis=0)
        x = least_squares(cells.relations, weights, least, most)
        assert np.abs(cells.relations @ x).max() < 1e-4
        assert ((x >= least) & (x <= most)).all()
        assert all((weights * x) @ (point - x) > -1e-3 for point in points)
    relations = Cells.of(CrossTable((Dimension.flat("a", ["x", "y"]),), np.array([0, 0, 0]))).relations
    x = least_squares(relations, np.ones(3), np.array([3.0, -9, -9]), np.array([9, 0.5, 9.0]))
    assert np.allclose(x, [3, 0.5, 2.5])


def drawn_like(cells, rng):
    """Figures that fulfil the relations, none near 0."""
    sides = cells.tables[0].dimensions
    return summed(sides, rng.uniform(2, 9, [len(side.leaves) for side in sides])).ravel()


def test_a_programme_without_variables_is_possible_or_not():
    none, matrix = np.zeros(0), np.zeros((1, 0))
    for right, possible in ((0.0, True), (1.0, False)):
        side = np.array([right])
        found = Program(none, matrix, side, side, none, none, none > 0).solve(1.0)
        assert (found.x is not None) is possible and found.infeasible is not possible


def test_least_squares_of_large_figures_are_as_exact_as_floats_are():
    relations = Cells.of(CrossTable((Dimension.flat("a", ["x", "y", "z"]),), np.zeros(4, np.int64))).relations
    least, most = np.array([1e12, -1e13, -1e13, -1e13]), np.full(4, 1e13)
    x = least_squares(relations, np.array([1.0, 0.3, 0.7, 1.1]), least, most)
    assert x[0] == 1e12 and abs(x[1:].sum() - 1e12) < 1e6
    assert np.allclose(x[1:] * [0.3, 0.7, 1.1], x[1] * 0.3)
