"""Marginals of a model against enumeration."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.synthesize.graph.brute import marginal, random_model, subsets

from discreet.errors import BadInput
from discreet.verbs.synthesize.graph.factor import calibrate
from discreet.verbs.synthesize.graph.tree import junction

CLIQUES = st.lists(st.sets(st.integers(0, 4), min_size=1, max_size=3).map(lambda some: tuple(sorted(some))), max_size=6)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(1, 4), min_size=5, max_size=5), CLIQUES, st.integers(0, 10**6), st.sampled_from([0.0, 0.3]))
def test_every_marginal_is_that_of_the_full_table(sizes, cliques, seed, impossible):
    model, full, log_sum, weight = random_model(sizes, cliques, np.random.default_rng(seed), impossible)
    if weight == 0:
        assert log_sum == -np.inf
        return
    assert log_sum == pytest.approx(np.log(weight))
    wanted = subsets(5)
    for columns, found in zip(wanted, model.marginals(wanted), strict=True):
        np.testing.assert_allclose(found, marginal(full, columns), atol=1e-9)
        assert found.sum() == pytest.approx(model.total)


def test_columns_come_in_the_order_asked_for():
    model, full, *_ = random_model((2, 3, 4), [(0, 1), (1, 2)], np.random.default_rng(1))
    np.testing.assert_allclose(model.marginal((2, 0)), marginal(full, (0, 2)).T)


def test_potentials_of_any_size_neither_overflow_nor_vanish():
    found, log_sum = calibrate(junction((2, 2), [(0, 1)]), [np.array([[1e5, -1e5], [-2e5, 1e5 + 1]])])
    assert log_sum == pytest.approx(1e5 + np.log1p(np.e))
    np.testing.assert_allclose(found[0], np.array([[1, 0], [0, np.e]]) / (1 + np.e))


@pytest.mark.parametrize("columns", [(0, 0), (5,), (-1,)])
def test_columns_that_are_not_there_are_refused(columns):
    model, *_ = random_model((2, 2), [(0, 1)], np.random.default_rng(1))
    with pytest.raises(BadInput, match="different columns"):
        model.marginal(columns)
