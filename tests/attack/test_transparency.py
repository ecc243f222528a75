import numpy as np
import pyarrow as pa
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_normal
from tests.attack import released

from discreet import samples
from discreet.verbs.attack.distance import DistanceLinkage, Metric
from discreet.verbs.attack.finding import Outcome
from discreet.verbs.attack.linkage_kernels import rows_within
from discreet.verbs.attack.transparency import (
    MicroaggregationIntersection,
    NoiseLinkage,
    RankSwapIntersection,
    neighbouring_means,
    rank_window,
)

NUMBERS = ["age", "income", "height"]


def test_rank_swapped_abalone_falls_to_whoever_reads_the_recipe():
    table = samples.abalone()
    names = list(table.quasi())
    made, links = released.release(
        released.swapped(table.fetch(), 2, names), "rank-swap", p=2.0, columns=names, law="window"
    )
    plain = DistanceLinkage().run(made, table, links)
    found = RankSwapIntersection().run(made, table, links)
    assert found.figure >= 0.88
    assert found.figure > plain.figure + 0.08
    assert found.details["certain"] > 0.75


@pytest.mark.parametrize("p", [0.1, 1, 5, 30, 100])
@pytest.mark.parametrize("seed", range(5))
def test_the_true_value_is_always_within_reach(p, seed):
    before = released.people(200, seed).fetch()
    after = released.swapped(before, p, NUMBERS, seed)
    for name in NUMBERS:
        true, shown = before[name].to_numpy().astype(float), after[name].to_numpy().astype(float)
        low, high = rank_window(true, shown, p)
        assert np.all((low <= shown) & (shown <= high))


@pytest.mark.parametrize("k", [2, 7, 100, 200])
def test_the_own_group_is_always_beside_the_value(k):
    before = released.people(200).fetch()
    after = averaged(before, NUMBERS, k)
    for name in NUMBERS:
        true, shown = before[name].to_numpy().astype(float), after[name].to_numpy()
        low, high = neighbouring_means(true, shown)
        assert np.all((low <= shown) & (shown <= high))


def test_of_equal_values_any_group_may_be_the_own():
    """One 3 is with 1 and 2, three are by themselves, one is with 4 and 5; 2 is nobody's but the first group's."""
    true = np.array([1.0, 2, 3, 3, 3, 3, 3, 4, 5])
    shown = np.repeat([2.0, 3, 4], 3)
    low, high = neighbouring_means(true, shown)
    assert np.all((low <= shown) & (shown <= high))
    assert (low[2], high[2]) == (2.0, 4.0)
    low, high = neighbouring_means(np.array([2.5, 1.0, 9.0, np.nan]), shown)
    assert low[:3].tolist() == [2, 2, 4]
    assert high[:3].tolist() == [3, 2, 4]
    assert np.isnan([low[3], high[3]]).all()


def test_limits_are_limits_and_null_is_null():
    nan = np.nan
    shown = np.array([[1.0, 5.0], [2.0, 6.0], [3.0, nan], [nan, 6.0]])
    low, high = np.array([[1.0, 5.0], [0.0, nan], [nan, 6.0]]), np.array([[2.0, 6.0], [9.0, nan], [nan, 6.0]])
    people, rows = np.zeros((3, 1)), np.array([[0.0], [1.0], [0.0], [0.0]])
    candidates, ties, found = rows_within(shown, low, high, people, rows, np.array([1, 2, 3]), 0)
    assert candidates.tolist() == [2, 1, 1]
    assert ties.tolist() == [1, 1, 1]
    assert found.tolist() == [False, True, True]  # the first person's other candidate is nearer


def test_other_laws_of_swapping_rule_out_nobody():
    table = released.people()
    made, links = released.release(table.fetch(), "rank-swap", p=2, columns=NUMBERS, law="normal")
    found = RankSwapIntersection().run(made, table, links)
    assert found.outcome is Outcome.FAILED
    assert "rules out no row" in found.meaning


@pytest.mark.parametrize("missing", ["p", "columns"])
def test_a_recipe_must_say_what_is_needed(missing):
    said = {"p": 2, "columns": NUMBERS}
    del said[missing]
    table = released.people()
    made, links = released.release(table.fetch(), "rank-swap", **said)
    assert RankSwapIntersection().run(made, table, links).outcome is Outcome.FAILED


def averaged(rows, names, k):
    """Each column by itself in groups of k by rank."""
    for name in names:
        values = rows[name].to_numpy()
        order = np.argsort(values, kind="stable")
        groups = np.minimum(np.arange(len(values)) // k, len(values) // k - 1)
        means = np.bincount(groups, values[order]) / np.bincount(groups)
        made = np.empty(len(values))
        made[order] = means[groups]
        rows = rows.set_column(rows.column_names.index(name), name, pa.array(made))
    return rows


def test_columns_averaged_one_by_one_meet_in_one_row():
    rng = np.random.default_rng(6)
    names = list("abcd")
    table = released.known(pa.table(dict(zip(names, rng.exponential(size=(4, 500)), strict=True))))
    rows = averaged(table.fetch(), names, 10)
    made, links = released.release(rows, "microaggregate", k=10, columns=names, blocks=[[name] for name in names])
    found = MicroaggregationIntersection().run(made, table, links)
    assert found.figure > 0.99
    assert found.details["certain"] > 0.95


def test_columns_averaged_together_hide_one_in_k():
    values = np.repeat(np.arange(40.0), 5)
    rng = np.random.default_rng(7)
    table = released.known(pa.table({"a": values + 0.1 * rng.random(200), "b": 0.1 * rng.random(200) - values}))
    rows = pa.table({"a": values + 0.05, "b": 0.05 - values})
    made, links = released.release(rows, "microaggregate", k=5, columns=["a", "b"])
    assert MicroaggregationIntersection().run(made, table, links).figure == pytest.approx(0.2)


def test_who_knows_the_noise_does_better_than_the_nearest_row():
    table = samples.abalone()
    names = list(table.quasi())[:7]
    rows, said = released.noisy(table, 0.1, names)
    made, links = released.release(rows.drop_columns(["rings", "sex"]), "noise", **said)
    plain, known = DistanceLinkage().run(made, table, links), NoiseLinkage().run(made, table, links)
    assert known.figure > plain.figure + 0.05


def test_correlated_noise_is_seen_through():
    rng = np.random.default_rng(8)
    values = rng.normal(size=(400, 3))
    names = list("abc")
    table = released.known(pa.table(dict(zip(names, values.T, strict=True))))
    covariance = np.ones((3, 3)) + 0.01 * np.eye(3)
    rows, said = released.noisy(table, 1.0, names, covariance=covariance)
    made, links = released.release(rows, "noise", noise_covariance=covariance.tolist(), **said)
    off = values[:, None, :] - np.column_stack([made.payload[name].to_numpy() for name in names])
    fit = multivariate_normal(np.zeros(3), covariance).logpdf(off)
    by_hand = links[np.argmax(fit - logsumexp(fit, axis=0), axis=1)] == np.arange(400)
    known = NoiseLinkage().run(made, table, links)
    assert known.figure == pytest.approx(by_hand.mean())
    for metric in Metric:
        assert known.figure > 2 * DistanceLinkage(metric=metric).run(made, table, links).figure


def test_factors_are_noise_in_logarithms_and_zeros_stay():
    rng = np.random.default_rng(9)
    values = np.exp(rng.normal(0, 2, (400, 3)))
    values[rng.random(values.shape) < 0.1] = 0.0
    names = list("abc")
    table = released.known(pa.table(dict(zip(names, values.T, strict=True))))
    spread = np.log1p(0.2**2)
    factors = np.exp(rng.normal(-spread / 2, np.sqrt(spread), values.shape))
    made, links = released.release(
        pa.table(dict(zip(names, (values * factors).T, strict=True))), "multiply", alpha=0.2, columns=names
    )
    plain, known = DistanceLinkage().run(made, table, links), NoiseLinkage().run(made, table, links)
    assert known.figure > plain.figure + 0.2


def test_a_column_without_noise_must_agree():
    table = released.people()
    rows, said = released.noisy(table, 2.0, ["height"])
    made, links = released.release(rows, "noise", **said)
    assert NoiseLinkage().run(made, table, links).figure > 0.95


def test_noise_of_unknown_size_cannot_be_used():
    table = released.people()
    made, links = released.release(table.fetch(), "noise", columns=NUMBERS)
    found = NoiseLinkage().run(made, table, links)
    assert found.outcome is Outcome.FAILED
    assert "how the noise is distributed" in found.meaning
