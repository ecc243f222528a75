"""The meter: losses add up exactly, choices have the law of the exponential mechanism, audits catch what is claimed
too low."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from tests.noise.bits import Repeatable, check_law

from discreet.core.card import Card, Column
from discreet.core.kind import Kind
from discreet.core.loss import Approximate, Concentrated, Pure, sequential
from discreet.engines.read import read
from discreet.errors import BadInput, NoPromise
from discreet.noise.entropy import SYSTEM
from discreet.verbs.synthesize.domain import Domain
from discreet.verbs.synthesize.private import Synthesize
from discreet.verbs.synthesize.spending import GRID, Chosen, Compared, Counts, Measured, Meter, least_noise

CARD = Card(
    "t",
    (
        Column("who", Kind.INTEGER, role="identifier"),
        Column("a", Kind.TEXT, categories=("x", "y"), required=True),
        Column("b", Kind.INTEGER, bounds=(0, 3), required=True),
        Column("c", Kind.BOOLEAN, required=True),
    ),
    unit="who",
    rows_per_unit=2,
)
DOMAIN = Domain.of(CARD)


def counted(rows=40, more=()):
    """Counts of some people with two rows each, and of one more who has the rows given."""
    people = [(n // 2, "xy"[n % 2], n % 4, n % 3 == 0) for n in range(rows)]
    people += [(10_000, *one) for one in more]
    who, a, b, c = zip(*people, strict=True)
    return Counts(read(pa.table({"who": who, "a": a, "b": b, "c": c}), CARD), DOMAIN)


SOMEBODY = [("x", 3, True), ("x", 3, True)]


@pytest.mark.parametrize("loss", [Pure("1/3"), Concentrated("1/7")])
def test_shares_add_up_to_the_allowance_and_not_beyond(loss):
    trail = []
    meter = Meter(counted(), loss, 2, SYSTEM, trail)
    meter.measure((0,), Fraction(1, 3))
    meter.choose([(0, 1), (1, 2)], [np.zeros((2, 4)), np.zeros((4, 2))], [1, 2], [0.5, 0.0], Fraction(1, 7))
    part = meter.part(Fraction(1, 2))
    part.measure((0, 1), Fraction(3, 4))
    part.compare((2,), np.array([1.5, 2.5]), Fraction(1, 4))
    assert part.left == 0
    assert meter.left == 1 - Fraction(1, 3) - Fraction(1, 7) - Fraction(1, 2)
    with pytest.raises(NoPromise):
        part.measure((0,), Fraction(1, 10**9))
    with pytest.raises(NoPromise):
        meter.measure((0,), meter.left + Fraction(1, 10**30))
    for share in (0, Fraction(-1, 2), 0.01):
        with pytest.raises((NoPromise, BadInput)):
            meter.measure((0,), share)
    meter.measure((1,), meter.left)
    assert meter.left == 0
    assert [type(step) for step in trail] == [Measured, Chosen, Measured, Compared, Measured]


OURS, THEIRS, OTHERS = (counted(more=more) for more in ([], SOMEBODY, [("y", 0, False), ("x", 2, True)]))


def lost(trail, ours, theirs):
    return sequential(step.lost(ours, theirs) for step in trail)


def amount(loss):
    return loss.epsilon if isinstance(loss, Pure) else loss.rho


@pytest.mark.parametrize("loss", [Pure(1), Concentrated("1/10")])
def test_an_audit_finds_no_more_than_was_claimed_and_all_of_it_where_somebody_is_worst(loss):
    trail = []
    meter = Meter(counted(), loss, 2, SYSTEM, trail)
    meter.measure((0, 1), Fraction(1, 2))
    meter.compare((0, 1), np.zeros((2, 4)), Fraction(1, 4))  # with nothing expected, all rows count
    meter.choose([(0,), (1,)], [np.zeros(2), np.full(4, 100.0)], [1, 1], [0, 0], Fraction(1, 4))
    found = lost(trail, THEIRS, OURS)
    assert amount(loss) * (1 - Fraction(1, 2**50)) <= amount(found) <= amount(loss)  # noise is rounded up a hair
    for more in ([("x", 0, True), ("y", 3, False)], [("y", 1, True)], []):
        assert amount(lost(trail, counted(more=more), OURS)) <= amount(loss)


@pytest.mark.parametrize("loss", [Pure(1), Concentrated("1/10")])
def test_an_audit_catches_half_the_sensitivity(loss):
    trail = []
    meter = Meter(counted(), loss, 1, SYSTEM, trail)  # somebody has two rows, and the meter believes in one
    for columns in ((0,), (0, 1)):
        meter.measure(columns, Fraction(1, 2))
    found = lost(trail, THEIRS, OURS)
    assert amount(found) > Fraction(19, 10) * amount(loss)


@pytest.mark.parametrize(
    ("by", "options"),
    [
        ("aim", {"epsilon": 1}),
        ("aim", {"epsilon": 1, "delta": "1e-6"}),
        ("mst", {"epsilon": 1}),
        ("mst", {"rho": "1/5"}),
        ("mwem", {"rho": "1/5"}),
        ("bayes", {"epsilon": 1}),
        ("independent", {"rho": "1/5"}),
    ],
)
def test_the_whole_method_loses_no_more_than_it_promises(by, options):
    method = Synthesize(**options, by=by, rows=10)
    table, trail = OURS.table, []
    method.run(table, Repeatable(3), trail=trail)
    promise = method.promise(CARD)
    for theirs in (THEIRS, OTHERS):
        found = lost(trail, theirs, OURS)
        assert 0 < amount(found) <= amount(method.allowance)
    if "delta" in options:
        assert promise.loss == Approximate(1, "1e-6")
    else:
        assert promise.loss == method.allowance


def test_a_choice_has_the_law_of_the_exponential_mechanism():
    counts, candidates = counted(), [(0,), (1,), (2,)]
    expected = [np.array([18.3, 20.0]), np.full(4, 9.0), np.array([30.0, 10.0])]
    weights, penalties, share = [1, 2, 1], [0.5, 1.0, 0.0], Fraction(1, 2)
    epsilon = 3 * share
    exact = []
    for columns, one, weight, penalty in zip(candidates, expected, weights, penalties, strict=True):
        grid = np.rint(one * GRID) / GRID
        exact.append(weight * (np.abs(counts.over(columns) - grid).sum() - penalty))
    law = np.exp(float(epsilon) * np.array(exact) / (2 * 2 * 2))  # sensitivity: two rows, weight two
    law /= law.sum()

    def draw(entropy):
        return Meter(counts, Pure(3), 2, entropy).choose(candidates, expected, weights, penalties, share)

    check_law(draw, dict(enumerate(law.tolist())), rest=1e-4)


def test_noise_is_that_of_the_share():
    for loss in (Pure(1), Concentrated(1)):
        meter = Meter(counted(), loss, 2, Repeatable(1))
        wide = meter.deviation(Fraction(1, 100))
        assert meter.deviation(meter.sharper(Fraction(1, 100))) == pytest.approx(wide / 2, rel=0.01)
        assert least_noise(loss, Fraction(1, 100), 2).variance == pytest.approx(wide**2)
        one = meter.measure((0, 1), Fraction(1, 100))
        assert one.deviation == wide
        assert one.counts.shape == (2, 4)


def test_a_distance_is_near_the_true_one_and_bounds_it_as_often_as_it_says():
    counts, expected = counted(), np.array([[3.0, 5.5], [1, 2], [9, 0], [2, 2]]).T
    true = np.abs(counts.over((0, 1)) - expected).sum()
    meter = Meter(counts, Concentrated(100), 2, Repeatable(5))
    held = 0
    for _ in range(1_000):
        found = meter.compare((0, 1), expected, Fraction(1, 1_000))
        held += found.at_most(Fraction(1, 20)) >= true
        assert abs(found.value - true) < 40
    assert 920 <= held <= 980  # 950 expected, with a deviation of 7


def test_there_is_nothing_to_choose_from_without_weights():
    meter = Meter(counted(), Pure(1), 2, SYSTEM)
    for weights in ([0], [-1]):
        with pytest.raises(BadInput):
            meter.choose([(0,)], [np.zeros(2)], weights, [0], Fraction(1, 2))
    with pytest.raises(BadInput):
        meter.choose([], [], [], [], Fraction(1, 2))
    with pytest.raises(BadInput, match="shape"):
        meter.choose([(0,)], [np.zeros(3)], [1], [0], Fraction(1, 2))
    assert math.isfinite(meter.deviation(Fraction(1, 10**6)))
