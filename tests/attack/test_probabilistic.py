import numpy as np
import pyarrow as pa
import pytest
from tests.attack import released

from discreet.errors import BadInput
from discreet.verbs.attack.probabilistic import (
    NEAR,
    FellegiSunter,
    ProbabilisticLinkage,
    _most_agreeing,
    _PairPatterns,
    estimate,
)


def drawn(model, pairs, seed=1):
    """Patterns of pairs that obey ``model``, and which are true."""
    rng = np.random.default_rng(seed)
    true = rng.random(pairs) < model.prior
    columns = [
        np.where(true, rng.choice(len(m), pairs, p=m), rng.choice(len(u), pairs, p=u))
        for m, u in zip(model.m, model.u, strict=True)
    ]
    return np.column_stack(columns), true


MODEL = FellegiSunter(
    0.1,
    (np.array([0.9, 0.08, 0.02]), np.array([0.8, 0.2]), np.array([0.95, 0.05]), np.array([0.7, 0.3])),
    (np.array([0.01, 0.09, 0.9]), np.array([0.1, 0.9]), np.array([0.3, 0.7]), np.array([0.05, 0.95])),
)


def test_what_is_estimated_is_what_the_pairs_were_drawn_from():
    patterns, _ = drawn(MODEL, 200_000)
    seen, counts = np.unique(patterns, axis=0, return_counts=True)
    found = estimate(seen, counts, (3, 2, 2, 2))
    assert found.prior == pytest.approx(MODEL.prior, abs=0.005)
    for mine, theirs in zip(found.m + found.u, MODEL.m + MODEL.u, strict=True):
        assert mine == pytest.approx(theirs, abs=0.02)


def test_the_weight_is_the_logarithm_of_the_odds_and_null_says_nothing():
    pattern = np.array([[0, 1, -1, -1]])
    assert MODEL.weights(pattern)[0] == pytest.approx(np.log2(0.9 / 0.01) + np.log2(0.2 / 0.9))
    odds = 0.1 / 0.9 * (0.9 / 0.01) * (0.2 / 0.9)
    assert MODEL.posterior(pattern)[0] == pytest.approx(odds / (1 + odds))


def test_the_posterior_is_calibrated():
    patterns, true = drawn(MODEL, 100_000, seed=2)
    said = MODEL.posterior(patterns)
    for low, high in ((0.0, 0.2), (0.2, 0.8), (0.8, 1.01)):
        here = (said >= low) & (said < high)
        assert true[here].mean() == pytest.approx(said[here].mean(), abs=0.05)


def test_patterns_have_a_level_for_each_column():
    with pytest.raises(BadInput, match="needs a count"):
        estimate(np.zeros((3, 2), int), np.ones(3), (2, 2, 2))


def test_people_who_are_alike_in_everything_are_not_taken_for_the_same():
    rng = np.random.default_rng(4)
    values = rng.normal(size=(600, 1)) + 0.2 * rng.normal(size=(600, 6))
    table = released.known(pa.table(dict(zip("abcdef", values.T, strict=True))))
    noise = 0.02 * rng.normal(size=values.shape)
    made, links = released.release(pa.table(dict(zip("abcdef", (values + noise).T, strict=True))))
    assert ProbabilisticLinkage().run(made, table, links).figure > 0.9


def test_a_column_that_is_changed_at_random_is_not_relied_on():
    table = released.people(300)
    rows = table.fetch()
    rows = rows.set_column(0, "age", rows["age"].take(np.random.default_rng(5).permutation(300)))
    made, links = released.release(rows)
    found = ProbabilisticLinkage().run(made, table, links)
    assert found.figure > 0.95
    assert found.details["agreement of true pairs"]["age"][0] < 0.2
    assert found.details["agreement of true pairs"]["height"][0] > 0.95


def pairs_of(columns, seed=3):
    """People, rows and limits with few values, so that many rows begin alike, equal others or are NULL; all levels."""
    entropy = np.random.default_rng(seed)
    people, rows = (entropy.integers(0, 9, (count, columns)) / 40 for count in (20, 200))
    rows[entropy.random(rows.shape) < 0.05] = np.nan
    rows[150:] = rows[:50]
    limits = np.where(np.arange(columns)[:, None] % 2, NEAR, (0.0, np.inf, np.inf, np.inf))
    apart = np.abs(people[:, None] - rows[None])
    levels = np.where(np.isnan(apart), -1, (apart[..., None] > limits).sum(-1))
    return people, rows, limits, levels, entropy.normal(size=(columns, len(NEAR) + 1))


def weights_of(levels, table):
    padded = np.hstack([table, np.zeros((len(table), 1))])
    return sum(padded[column][levels[..., column]] for column in range(len(table)))


def test_rows_that_begin_alike_are_compared_as_one_by_one():
    people, rows, limits, levels, table = pairs_of(4)
    truth = np.arange(len(people)) - 2
    weights = weights_of(levels, table).round(9)
    best = weights.max(axis=1)
    ties, found = _most_agreeing(people, rows, limits, table, truth)
    assert ties.tolist() == (weights == best[:, None]).sum(axis=1).tolist()
    own = weights[np.arange(len(people)), truth]
    assert found.tolist() == ((truth >= 0) & (own == best)).tolist()


@pytest.mark.parametrize("columns", [3, 30])  # the patterns of 30 columns need more than 64 bits
def test_patterns_stand_for_all_pairs(columns):
    people, rows, limits, levels, table = pairs_of(columns)
    odds = np.exp2(weights_of(levels, table))
    shares = odds / odds.sum(axis=1, keepdims=True)
    expected = [[shares[levels[..., column] == level].sum() for level in range(5)] for column in range(columns)]
    assert np.allclose(_PairPatterns.of(people, rows, limits).level_sums(table), expected)
