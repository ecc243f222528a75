"""Estimators of uniqueness against their definitions, computed in other ways, and against a known population."""

import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from scipy.optimize import brentq, minimize
from scipy.special import gammaln
from scipy.special import psi as scipy_digamma
from scipy.stats import binom, hypergeom
from tests.models import plain

from discreet.core.card import Card, Column, Role
from discreet.core.hierarchy.intervals import Intervals
from discreet.core.kind import Kind
from discreet.core.statement import Evidence
from discreet.engines.read import read
from discreet.errors import BadInput
from discreet.models.check import check
from discreet.models.estimators import (
    Estimates,
    _classes_of_population,
    _expected,
    _falling_root,
    _one_drawn,
    _pitman_law,
    _shape,
    _theta,
    dankar,
    digamma,
    estimates,
    pitman,
    pitman_fits,
    slide_negative_binomial,
    zayatz,
)
from discreet.models.k_anonymity import KAnonymity
from discreet.models.uniqueness import PopulationUniqueness
from discreet.verbs.publish.generalize import Generalize
from discreet.verbs.publish.publish import publish

SAMPLES = [  # how many classes there are of each size, and people
    ({1: 30, 2: 12, 3: 7, 5: 4, 12: 2}, 1_000),
    ({1: 500, 2: 100, 3: 40, 10: 20, 100: 3}, 50_000),
    ({1: 5, 2: 3, 40: 2}, 400),
    ({1: 200, 2: 3}, 5_000),
    ({1: 2, 2: 2, 3: 3, 7: 9}, 120),
]


@pytest.mark.parametrize("x", [1e-6, 0.3, 1, 2.5, 9.99, 10, 123.4, 1e9])
def test_digamma(x):
    assert digamma(x) == pytest.approx(scipy_digamma(x), rel=1e-13, abs=1e-13)


@pytest.mark.parametrize(("sizes", "people"), SAMPLES)
def test_pitman_is_at_the_top_of_the_likelihood(sizes, people):
    rows, classes = sum(s * m for s, m in sizes.items()), sum(sizes.values())

    def unlikely(parameters):
        theta, alpha = parameters
        if not 0 < alpha < 1 or theta <= -alpha:
            return math.inf
        steps = np.arange(1, classes)
        found = np.log(theta + steps * alpha).sum() - (gammaln(theta + rows) - gammaln(theta + 1))
        return -found - sum(m * (gammaln(s - alpha) - gammaln(1 - alpha)) for s, m in sizes.items())

    starts = [(theta, alpha) for theta in (0.5, 10, 200) for alpha in (0.05, 0.4, 0.8)]
    options = {"xatol": 1e-9, "fatol": 1e-11, "maxiter": 4000, "maxfev": 4000}
    best = min(
        (minimize(unlikely, start, method="Nelder-Mead", options=options) for start in starts), key=lambda r: r.fun
    )
    theta, alpha = best.x
    steps = np.arange(people - 1)
    expected = people * math.exp(np.log(theta + alpha + steps).sum() - np.log(theta + 1 + steps).sum())
    assert pitman(sizes, people) == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize(("sizes", "people"), SAMPLES)
def test_zayatz_is_bayes_rule(sizes, people):
    rows, classes = sum(s * m for s, m in sizes.items()), sum(sizes.values())
    chance = {size: hypergeom(people, size, rows).pmf(1) for size in sizes}
    alone = sizes[1] / classes * chance[1] / sum(m / classes * chance[s] for s, m in sizes.items())
    assert zayatz(sizes, people) == pytest.approx(sizes[1] * alone * people / rows)


@pytest.mark.parametrize(("sizes", "people"), SAMPLES[:2])
def test_the_negative_binomial_law_expects_the_uniques_and_pairs_there_are(sizes, people):
    drawn = sum(s * m for s, m in sizes.items()) / people
    classes = _classes_of_population(sizes, drawn)
    found = slide_negative_binomial(sizes, people)
    lows = np.linspace(0.001, 0.999, 4000)
    near = [(abs(classes * b ** _shape(b, drawn, sizes[2] / sizes[1]) - found), b) for b in lows]
    b = min(near)[1]
    a = _shape(b, drawn, sizes[2] / sizes[1])
    more = np.arange(20_000)  # members of a class beside the first
    chance = np.exp(gammaln(a + more) - gammaln(a) - gammaln(more + 1) + a * math.log(b) + more * math.log(1 - b))
    size = more + 1
    for wanted in (1, 2):
        seen = np.exp(gammaln(size + 1) - gammaln(wanted + 1) - gammaln(np.maximum(size - wanted + 1, 1)))
        seen = np.where(size >= wanted, seen * drawn**wanted * (1 - drawn) ** np.maximum(size - wanted, 0), 0)
        assert classes * (chance * seen).sum() == pytest.approx(sizes[wanted], rel=0.02)


def test_a_known_population_is_estimated_well():
    draw = np.random.default_rng(5)
    theta, alpha, people = 200.0, 0.5, 20_000
    sizes, classes = np.zeros(people), 0
    for person in range(people):  # Pitman's own process
        if draw.random() < (theta + alpha * classes) / (theta + person):
            sizes[classes], classes = 1, classes + 1
        else:
            weights = np.cumsum(sizes[:classes] - alpha)
            sizes[np.searchsorted(weights, draw.random() * weights[-1])] += 1
    everybody = np.repeat(np.arange(classes), sizes[:classes].astype(int))

    def sample(rows):
        counts = np.bincount(draw.choice(everybody, rows, replace=False))
        return dict(zip(*(part.tolist() for part in np.unique(counts[counts > 0], return_counts=True)), strict=True))

    assert pitman(sample(people // 4), people) == pytest.approx((sizes == 1).sum(), rel=0.2)
    small = sample(people // 10)
    assert dankar(small, people) == pitman(small, people)


def test_the_rule_chooses_by_the_size_of_the_sample():
    large, people = SAMPLES[4]
    assert dankar(large, people) == min(zayatz(large, people), slide_negative_binomial(large, people))
    assert dankar({1: 9, 5: 1}, 40) == zayatz({1: 9, 5: 1}, 40)  # no pairs: no negative binomial law


@pytest.mark.parametrize("estimate", [pitman, zayatz, slide_negative_binomial, dankar])
def test_the_ends(estimate):
    assert estimate({2: 4}, 100) == 0
    assert estimate({1: 3, 2: 2}, 7) == pytest.approx(3)  # the sample is the population
    assert math.isnan(estimate({1: 4}, 4000)) or estimate({1: 4}, 4000) == pytest.approx(4000)


def test_the_model_bounds_the_share_of_unique_people_and_names_rows_to_suppress():
    rows = [(place, "a") for place in range(6)] + [(7, "a")] * 4 + [(8, "a")] * 2
    classes = plain.made(rows)
    model = PopulationUniqueness("0.1", 30, "zayatz")
    assert model.figure(classes) == pytest.approx(zayatz({1: 6, 2: 1, 4: 1}, 30) / 30)
    gone = model.breaking(classes)
    assert set(classes.sizes[gone].tolist()) == {1}
    assert model.figure(classes.keeping(~gone)) <= 0.1
    one_less = gone.copy()
    one_less[np.flatnonzero(gone)[0]] = False
    assert model.figure(classes.keeping(~one_less)) > 0.1
    with pytest.raises(BadInput, match="smaller than the sample of 12 rows"):
        PopulationUniqueness("0.1", 11).verdict(classes)


def of_few_unique_and_large_classes(share, seed=1):
    """Class sizes of a sample of 100,000 people: a tenth of them are unique, the rest are in classes of 100."""
    people = 100_000
    everybody = np.concatenate([np.arange(people // 10), people + np.repeat(np.arange(people * 9 // 1000), 100)])
    drawn = np.random.default_rng(seed).choice(everybody, int(people * share), replace=False)
    sizes = np.unique(drawn, return_counts=True)[1]
    return dict(zip(*(part.tolist() for part in np.unique(sizes, return_counts=True)), strict=True)), people


@pytest.mark.parametrize("share", [0.01, 0.02, 0.03, 0.05, 0.099, 0.101, 0.2])
def test_the_largest_is_no_less_than_the_truth_where_no_law_fits(share):
    sizes, people = of_few_unique_and_large_classes(share)
    said = estimates(sizes, people)
    assert said.range[0] < 0.05  # what is wrong with the estimators
    assert said.unfit
    assert "far too low" in said.warnings[0]
    assert said.largest > 0.095


def test_a_law_that_fits_is_believed():
    draw = np.random.default_rng(2)
    theta, alpha, people = 100.0, 0.4, 3_000
    sizes = []
    for person in range(people):  # Pitman's own process
        if draw.random() < (theta + alpha * len(sizes)) / (theta + person):
            sizes.append(1)
        else:
            weights = np.cumsum(np.asarray(sizes) - alpha)
            sizes[np.searchsorted(weights, draw.random() * weights[-1])] += 1
    found = dict(zip(*(part.tolist() for part in np.unique(sizes, return_counts=True)), strict=True))
    assert pitman_fits(found)
    assert not estimates(found, 20_000).unfit
    law = _pitman_law(tuple(sorted(found.items())))
    assert sum(size * _expected(size, people, *law) for size in range(1, people + 1)) == pytest.approx(people)


def test_estimators_that_disagree_are_named():
    said = estimates({1: 1350, 2: 600, 3: 299, 4: 120, 5: 60}, 100_000)
    assert any("disagree" in warning for warning in said.warnings)
    assert estimates({1: 3, 2: 2}, 7).warnings == ()  # the sample is the population


def test_a_release_says_that_it_is_estimated_and_how_far_estimates_differ():
    sizes, people = of_few_unique_and_large_classes(0.02)
    values = np.repeat(np.arange(sum(sizes.values())), np.repeat([*sizes], [*sizes.values()]))
    card = Card("people", (Column("v", Kind.INTEGER, Role.QUASI, hierarchy=Intervals((10,))),))
    table = read(pa.table({"v": values}), card)
    low = PopulationUniqueness("0.1", people, "pitman")
    assert low.check(table).holds
    assert not PopulationUniqueness("0.1", people).check(table).holds
    release = publish(table, Generalize(levels={"v": 0}), low)
    assert release.statement.evidence is Evidence.ESTIMATED
    text = str(release.statement)
    for part in ("estimated", "zayatz", "disagree", "far too low"):
        assert part in text
    both = publish(table, Generalize(levels={"v": 0}), low & KAnonymity(1))
    assert both.statement.evidence is Evidence.ESTIMATED
    assert "disagree" in str(check(table, low & KAnonymity(1)))
    assert publish(table, Generalize(levels={"v": 0}), KAnonymity(1)).statement.evidence is Evidence.CHECKED


@pytest.mark.parametrize(("sizes", "people"), SAMPLES)
def test_the_classes_of_the_population_are_counted_by_haas_and_stokes(sizes, people):
    """Their formula as they write it: (1 - q)^i ((1 + q)^i - 1) for (1 - q²)^i - (1 - q)^i, in rationals."""
    q = Fraction(sum(s * m for s, m in sizes.items()), people)
    first = sum(m * i * q * q * (1 - q * q) ** (i - 1) for i, m in sizes.items())
    second = sum(m * (1 - q) ** i * ((1 + q) ** i - 1) for i, m in sizes.items())
    third = sum(m * (1 - q) ** i for i, m in sizes.items()) / sum(
        m * i * q * (1 - q) ** (i - 1) for i, m in sizes.items()
    )
    wanted = sum(sizes.values()) + sizes[1] * first / second * third**2
    assert _classes_of_population(sizes, float(q)) == pytest.approx(float(wanted), rel=1e-9)


def expected_seen(a, b, drawn, wanted):
    """How many of a class are seen, exactly ``wanted``, by the sum over all sizes of a class."""
    more = np.arange(60_000)
    chance = np.exp(gammaln(a + more) - gammaln(a) - gammaln(more + 1) + a * math.log(b) + more * math.log1p(-b))
    return float((chance * binom(more + 1, drawn).pmf(wanted)).sum())


@pytest.mark.parametrize("b", [0.02, 0.3, 0.9])
@pytest.mark.parametrize("drawn", [0.05, 0.4])
def test_the_shape_gives_the_ratio_of_pairs_to_uniques(b, drawn):
    a = _shape(b, drawn, 0.4)
    assert a > 0
    assert expected_seen(a, b, drawn, 2) / expected_seen(a, b, drawn, 1) == pytest.approx(0.4, rel=1e-6)


@pytest.mark.parametrize(("sizes", "people"), SAMPLES[:2])
def test_the_negative_binomial_estimate_is_at_the_root_of_its_equation(sizes, people):
    drawn, ratio = sum(s * m for s, m in sizes.items()) / people, sizes[2] / sizes[1]
    classes = _classes_of_population(sizes, drawn)

    def over(b):
        return classes * expected_seen(_shape(b, drawn, ratio), b, drawn, 1) - sizes[1]

    root = brentq(over, 0.005, 0.995)
    wanted = classes * root ** _shape(root, drawn, ratio)
    assert slide_negative_binomial(sizes, people) == pytest.approx(wanted, rel=1e-4)


@pytest.mark.parametrize(("sizes", "people"), SAMPLES)
def test_the_fitted_law_is_where_the_likelihood_is_flat(sizes, people):
    rows, classes = sum(s * m for s, m in sizes.items()), sum(sizes.values())

    def likelihood(alpha, theta):
        found = np.log(theta + np.arange(1, classes) * alpha).sum() - (gammaln(theta + rows) - gammaln(theta + 1))
        return found + sum(m * (gammaln(s - alpha) - gammaln(1 - alpha)) for s, m in sizes.items())

    alpha, theta = _pitman_law(tuple(sorted(sizes.items())))
    if not 1e-3 < alpha < 0.999:
        return
    step = 1e-5
    curve = (
        abs(likelihood(alpha + step, theta) - 2 * likelihood(alpha, theta) + likelihood(alpha - step, theta)) / step**2
    )
    slope = (likelihood(alpha + step, theta) - likelihood(alpha - step, theta)) / (2 * step)
    assert abs(slope) < curve * 1e-4
    along = theta * 1e-5
    assert likelihood(alpha, theta) >= max(
        likelihood(alpha, theta + 1e3 * along), likelihood(alpha, theta - 1e3 * along)
    )


@pytest.mark.parametrize(("size", "people"), [(1, 9), (2, 9), (5, 9), (9, 9), (3, 200)])
def test_the_expected_classes_are_pitmans(size, people):
    """Factor by factor: C(N, i) (1 - α)…(i - 1 - α) (θ + α)…(θ + α + N - i - 1) / ((θ + 1)…(θ + N - 1))."""
    alpha, theta = 0.3, 2.5
    wanted = math.comb(people, size) * math.prod(k - alpha for k in range(1, size))
    for k in range(people - 1):
        wanted /= theta + 1 + k
        if k < people - size:
            wanted *= theta + alpha + k
    assert _expected(size, people, alpha, theta) == pytest.approx(wanted, rel=1e-9)


def test_a_law_is_taken_to_fit_where_there_is_nothing_to_compare():
    assert pitman_fits({2: 5, 3: 9})
    assert pitman_fits({1: 7})
    assert not pitman_fits({1: 1000, 100: 90})


def test_a_fit_is_within_four_deviations():
    """Classes of one to five rows, as many as the fitted law expects: then some more of three rows than it allows."""
    sizes = SAMPLES[1][0]
    rows = sum(s * m for s, m in sizes.items())
    law = _pitman_law(tuple(sorted(sizes.items())))
    off = [abs(sizes.get(s, 0) - (e := _expected(s, rows, *law))) / math.sqrt(max(e, 1)) for s in range(1, 6)]
    assert pitman_fits(sizes) == (max(off) <= 4)
    near = [{1: 36, 5: 5, 8: 6}, {1: 52, 4: 14, 7: 18, 8: 7}]  # few are expected, or none is there
    for other in [*({1: 500, 2: 100, 3: 40, 4: many, 10: 20} for many in range(20, 140, 5)), *near]:
        rows = sum(s * m for s, m in other.items())
        law = _pitman_law(tuple(sorted(other.items())))
        off = [abs(other.get(s, 0) - (e := _expected(s, rows, *law))) / math.sqrt(max(e, 1)) for s in range(1, 6)]
        assert pitman_fits(other) == (max(off) <= 4)


def test_the_rule_takes_pitman_up_to_a_tenth_exactly():
    sizes = {1: 6, 2: 2}
    assert dankar(sizes, 100) == pitman(sizes, 100)
    assert dankar(sizes, 99) == min(zayatz(sizes, 99), slide_negative_binomial(sizes, 99))
    assert dankar(sizes, 99) != pitman(sizes, 99)


def test_estimates_are_shares_of_the_people():
    sizes, people = SAMPLES[0]
    said = estimates(sizes, people)
    assert said.shares["zayatz"] == pytest.approx(zayatz(sizes, people) / people)
    assert said.alone == pytest.approx(30 / sum(s * m for s, m in sizes.items()))
    assert said.range == (min(said.shares.values()), max(said.shares.values()))
    assert estimates({}, 5).alone == 0
    assert set(estimates({1: 4}, 4000).shares.values()) == {1.0}
    assert estimates({1: 9, 5: 1}, 40).unfit[-1] == "snb"
    assert "snb" not in estimates({1: 9, 5: 1}, 40).shares


@pytest.mark.parametrize(("low", "high", "said"), [(0.1, 0.2, 0), (0.1, 0.21, 1), (0.1, 0.1, 0)])
def test_estimators_disagree_beyond_a_factor_of_two(low, high, said):
    found = Estimates({"a": low, "b": high}, 0.5, ())
    assert len(found.warnings) == said
    assert found.largest == high
    assert Estimates({"a": low}, 0.5, ("b",)).largest == 0.5
    assert Estimates({"a": low}, 0.05, ("b",)).largest == low
    assert Estimates({"a": low}, 0.5, ("b", "c")).warnings[0].startswith("The rows do not fit the model behind b and c")


def test_of_a_class_exactly_one_is_drawn():
    for size, rows, people in ((1, 3, 10), (2, 3, 10), (5, 3, 10), (8, 3, 10), (9, 3, 10), (4, 10, 10)):
        assert _one_drawn(size, rows, people) == pytest.approx(hypergeom(people, size, rows).pmf(1), abs=1e-15)
    assert _one_drawn(200_000, 500_000, 1_000_000) == 0.0


@pytest.mark.parametrize("root", [0.1, 1.0, 2.9])
def test_a_falling_root_is_found_to_the_last_digit(root):
    assert _falling_root(lambda x: root - x, 0.0, 3.0) == pytest.approx(root, abs=1e-12)
    assert _falling_root(lambda x: 1.0, 0.0, 3.0) == pytest.approx(3.0)
    assert _falling_root(lambda x: -1.0, 0.0, 3.0) == pytest.approx(0.0, abs=1e-12)
    assert _falling_root(lambda x: 1.0, 5.0, 5.0) == 5.0


@pytest.mark.parametrize("sizes", [{1: 298, 2: 177, 3: 115, 4: 68, 5: 19, 6: 129}])
def test_a_fit_counts_the_unique_rows_too(sizes):
    """Only of the unique rows there are more than four deviations fewer than the fitted law expects."""
    assert not pitman_fits(sizes)


def test_a_root_near_the_end_of_its_range_is_found():
    """Between 0.001 and 0.002, where few classes are tiny and one is large."""
    sizes, people = {1: 2, 2: 1, 50: 1}, 20_000
    drawn = 54 / people
    classes = _classes_of_population(sizes, drawn)
    root = brentq(lambda b: classes * expected_seen(_shape(b, drawn, 0.5), b, drawn, 1) - 2, 0.001, 0.002)
    wanted = classes * root ** _shape(root, drawn, 0.5)
    assert slide_negative_binomial(sizes, people) == pytest.approx(wanted, rel=1e-3)


@pytest.mark.parametrize("alpha", [0.3, 0.6, 0.9])
@pytest.mark.parametrize("classes", [2, 5, 50])
def test_theta_is_where_both_sums_are_equal_though_it_may_be_below_0(alpha, classes):
    theta = _theta(alpha, 1000, classes)
    sums = (sum(1 / (theta + i * alpha) for i in range(1, classes)), sum(1 / (theta + i) for i in range(1, 1000)))
    assert theta > -alpha and sums[0] == pytest.approx(sums[1], rel=1e-9)
