"""Rows of a model: proportional counts, conditional independence, and blocks that are one sample."""

from __future__ import annotations

import numpy as np
import pytest
from tests.synthesize.graph.brute import marginal, random_model

from discreet.errors import BadInput
from discreet.noise.masking import generator
from discreet.verbs.synthesize.graph.model import _round_systematically

SIZES = (3, 4, 2, 3)
CHAIN = [(0, 1), (1, 2), (2, 3)]


def counted(rows, sizes, columns):
    found = np.zeros([sizes[column] for column in columns])
    np.add.at(found, tuple(rows[:, column] for column in columns), 1)
    return found


def test_counts_of_a_clique_are_near_what_is_expected():
    model, full, *_ = random_model(SIZES, CHAIN, np.random.default_rng(5))
    rows = model.sample(5000, generator(1))
    assert rows.shape == (5000, 4)
    assert rows.dtype == np.int32
    for depth, clique in enumerate(model.cliques, start=1):
        # less than one row a cell, and at most as much again for each rounding above it
        off = np.abs(counted(rows, SIZES, clique) - marginal(full, clique) * 50)
        assert off.max() < 4 * depth


def test_columns_are_independent_given_what_is_between_them():
    model, full, *_ = random_model((3, 2, 3), [(0, 1), (1, 2)], np.random.default_rng(6))
    count = 200_000
    found = counted(model.sample(count, generator(2)), (3, 2, 3), (0, 1, 2))
    expected = full * count / 100
    # hypergeometric counts within each value of the middle column vary less than binomial ones
    assert (np.abs(found - expected) < 6.5 * np.sqrt(expected) + 2).all()


def test_every_row_is_rounded_up_or_down_and_right_on_average():
    shares = np.array([[0.15, 0.0, 0.35, 0.5], [0.3, 0.3, 0.4, 0.0], [0.0, 0.0, 0.0, 0.0]])
    given = np.array([3, 1, 0])
    rng = np.random.default_rng(7)
    draws = np.stack([_round_systematically(shares, given, rng) for _ in range(1500)])
    exact = shares * given[:, None]
    assert (draws.sum(axis=2) == given).all()
    assert (draws >= np.floor(exact)).all()
    assert (draws <= np.ceil(exact)).all()
    assert np.abs(draws.mean(axis=0) - exact).max() < 6.2 * 0.5 / np.sqrt(1500)


@pytest.mark.parametrize("sizes", [SIZES, (2, 40, 3, 2)])
def test_blocks_together_are_one_sample(sizes):
    model, full, *_ = random_model(sizes, CHAIN, np.random.default_rng(8))
    blocks = list(model.blocks(10_000, generator(3), 999))
    assert [len(block) for block in blocks] == [999] * 10 + [10]
    rows = np.concatenate(blocks)
    for depth, clique in enumerate(model.cliques, start=1):
        off = np.abs(counted(rows, sizes, clique) - marginal(full, clique) * 100)
        assert off.max() < 4 * depth
    # a block is a random part of the whole: its counts are hypergeometric, not proportional and not ordered
    one, expected = counted(blocks[4], sizes, (0,)), counted(rows, sizes, (0,)) * 999 / 10_000
    assert (np.abs(one - expected) < 6.5 * np.sqrt(expected) + 2).all()


def test_impossible_cells_get_no_row():
    for seed in range(20):
        model, full, _, weight = random_model(SIZES, CHAIN, np.random.default_rng(seed), impossible=0.4)
        if weight:
            assert not counted(model.sample(300, generator(seed)), SIZES, range(4))[full == 0].any()


def test_no_rows_and_one_row():
    model, *_ = random_model(SIZES, CHAIN, np.random.default_rng(5))
    assert model.sample(0, generator(1)).shape == (0, 4)
    assert model.sample(1, generator(1)).shape == (1, 4)
    with pytest.raises(BadInput, match="not negative"):
        model.sample(-1, generator(1))
