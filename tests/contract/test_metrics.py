"""What every measure of utility keeps to. A new one in ``METRICS`` gets all of these tests."""

import numpy as np
import pyarrow as pa
import pytest
from tests.utility.sides import elsewhere, noisy, people, strangers

import discreet as dc
from discreet.utility.measure import METRICS, loss
from discreet.utility.pair import pair

every = pytest.mark.parametrize("name", METRICS)
BADLY = {
    "il1": 5.0,
    "classical": 1.0,
    "pil": 0.95,
    "marginals 1": 0.7,
    "marginals 2": 0.8,
    "marginals 3": 0.6,
    "correlations": 0.1,
    "regressions": 0.1,
    "clusters": 0.1,
    "propensity": 0.99,
    "learning": 0.15,
}
"""What rows that have nothing to do with the original are given at least (or at most, where more is better)."""


def figure(name, made):
    rows, links = made
    return METRICS[name].measure(pair(people(), rows, links, target="ill")).value


def worse(name, a, b):
    less = METRICS[name].worst is None or METRICS[name].worst > METRICS[name].best
    return a > b if less else a < b


@every
def test_a_copy_in_another_order_loses_nothing(name):
    rows = people().payload()
    links = np.random.default_rng(1).permutation(rows.num_rows)
    assert figure(name, (rows.take(links), links)) == pytest.approx(METRICS[name].best, abs=1e-6)


@every
def test_rows_from_elsewhere_are_as_bad_as_can_be(name):
    found = figure(name, elsewhere(people()))
    assert worse(name, found, BADLY[name])
    worst = METRICS[name].worst
    assert worst is None or not worse(name, found, worst)


@every
def test_a_little_noise_costs_less_than_having_a_stranger_s_values(name):
    little = figure(name, noisy(people(), 0.02))
    if name != "marginals 1":  # strangers' values are all there
        assert worse(name, figure(name, strangers(people())), little)


@every
def test_missing_values_and_constants_do_no_harm(name):
    table = people(nulls=True)
    rows = table.payload()
    links = np.arange(rows.num_rows)
    assert METRICS[name].measure(pair(table, rows, links, target="ill")).value == pytest.approx(
        METRICS[name].best, abs=1e-6
    )


@every
def test_the_order_of_released_rows_means_nothing(name):
    rows, links = noisy(people(), 0.3)
    turned = np.arange(rows.num_rows)[::-1]
    assert figure(name, (rows, links)) == pytest.approx(figure(name, (rows.take(turned), links[turned])), abs=1e-4)


@every
def test_without_links_it_is_measured_or_said_not_to_be_never_wrong(name):
    rows, links = noisy(people(), 0.1)
    entry = loss(people(), rows, metrics=[name]).entry(name)
    if METRICS[name].record_wise:
        assert entry.figure is None
        assert "not linked to original ones" in entry.why
    elif name != "classical":  # which has more to go by with links
        assert entry.figure == pytest.approx(figure(name, (rows, links)))


@every
def test_what_cannot_be_measured_says_why(name):
    card = dc.Card("t", (dc.Column("x", dc.Kind.REAL, dc.Role.QUASI),))
    table = dc.read(pa.table({"x": [1.0, None]}), card=card)
    entry = loss(table, table.payload(), links=np.array([0, 1]), metrics=[name]).entry(name)
    assert entry.figure is not None or entry.why.startswith("not measured: ")


@every
def test_it_says_its_direction_and_meaning(name):
    metric = METRICS[name]
    assert metric.name == name
    assert metric.direction.startswith(("less is better", "more is better"))
    assert metric.meaning.endswith(".")
