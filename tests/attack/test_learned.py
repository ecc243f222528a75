import numpy as np
import pyarrow as pa
import pytest
from tests.attack import released

from discreet.verbs.attack.distance import DistanceLinkage
from discreet.verbs.attack.learned import LearnedLinkage, Shape, optimal_weights


def linked(gaps, weights):
    return int(np.sum((gaps @ weights).min(axis=1) > 0))


@pytest.mark.parametrize("seed", range(6))
def test_no_weights_link_more_than_the_optimal_ones(seed):
    rng = np.random.default_rng(seed)
    gaps = rng.normal(0.4, 1.0, (12, 5, 2))
    best = max(linked(gaps, np.array([w, 1 - w])) for w in np.linspace(0, 1, 2001))
    found = optimal_weights(gaps)
    assert found.sum() == pytest.approx(1)
    assert linked(gaps, found) >= best


def table_and_release(masked, values):
    names = [f"c{place}" for place in range(values.shape[1])]
    table = released.known(pa.table(dict(zip(names, values.T, strict=True))))
    return table, *released.release(pa.table(dict(zip(names, masked.T, strict=True))))


@pytest.mark.parametrize("people", [40, pytest.param(300, marks=pytest.mark.slow)], ids=["few", "many"])
def test_columns_full_of_noise_are_learnt_to_be_left_out(people):
    rng = np.random.default_rng(7)
    values = rng.normal(size=(people, 5))
    masked = values + rng.normal(size=values.shape) * [0.02, 0.02, 3, 3, 3]
    table, made, links = table_and_release(masked, values)
    plain, learnt = DistanceLinkage().run(made, table, links), LearnedLinkage().run(made, table, links)
    assert learnt.figure > plain.figure + 0.3
    assert learnt.figure > 0.8
    weights = learnt.details["weights"]
    assert min(weights["c0"], weights["c1"]) > 2 * max(weights["c2"], weights["c3"], weights["c4"])


def test_a_metric_learns_that_noise_is_shared():
    rng = np.random.default_rng(8)
    values = rng.normal(size=(300, 4))
    masked = values + rng.normal(size=(300, 1)) + 0.05 * rng.normal(size=values.shape)
    table, made, links = table_and_release(masked, values)
    weights, metric = (LearnedLinkage(shape=shape).run(made, table, links).figure for shape in list(Shape)[:2])
    assert metric > 0.8
    assert weights < 0.6


@pytest.mark.slow
def test_a_choquet_integral_learns_that_one_of_two_columns_is_right():
    rng = np.random.default_rng(9)
    values = rng.normal(size=(300, 2))
    values = np.repeat(values, 2, axis=1) + 0.01 * rng.normal(size=(300, 4))
    ruined = rng.integers(0, 2, (300, 2))
    masked = values.copy()
    for pair in (0, 1):
        masked[np.arange(300), 2 * pair + ruined[:, pair]] += rng.normal(0, 2, 300)
    table, made, links = table_and_release(masked, values)
    weights = LearnedLinkage(shape=Shape.WEIGHTS).run(made, table, links).figure
    choquet = LearnedLinkage(shape=Shape.CHOQUET).run(made, table, links).figure
    assert choquet > weights + 0.2


@pytest.mark.parametrize("shape", Shape)
def test_nobody_is_learnt_from_and_asked_about(shape):
    table = released.people(100)
    made, links = released.release(table.fetch())
    assert LearnedLinkage(shape=shape).run(made, table, links).details["people"] == 50
