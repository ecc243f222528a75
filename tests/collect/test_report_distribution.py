"""Laws in the forms that devices draw them in, beside plain matrices of the same."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import prod

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.core.exact import exp_lower
from discreet.errors import BadInput
from discreet.verbs.collect.report_distribution import (
    DENOMINATOR,
    IndependentBits,
    IndependentReports,
    MappedAnswers,
    Matrix,
    PublicChoice,
    ReportDistribution,
    epsilon_claim,
    require_epsilon,
    round_down,
    round_up,
    worst_ratio,
)

HALF, THIRD = Fraction(1, 2), Fraction(1, 3)
probabilities = st.fractions(0, 1, max_denominator=6)


def ratio(distribution: ReportDistribution) -> Fraction | None:
    return worst_ratio(distribution)[0]


@settings(max_examples=30)
@given(st.lists(st.tuples(probabilities, probabilities, probabilities), min_size=2, max_size=3))
def test_independent_coins_are_the_matrix_of_all_their_falls(heads: list[tuple[Fraction, ...]]) -> None:
    rows = tuple(
        tuple(prod(p if up else 1 - p for up, p in zip(falls, row, strict=True)) for falls in product((0, 1), repeat=3))
        for row in heads
    )
    whole, coins = Matrix(rows), IndependentBits(tuple(heads))
    assert coins.answers == whole.answers
    assert ratio(coins) == ratio(whole)


def test_a_public_choice_is_as_bad_as_its_worst_outcome() -> None:
    mild, bad = Matrix(((HALF, HALF), (THIRD, 1 - THIRD))), Matrix(((1 - THIRD, THIRD), (THIRD, 1 - THIRD)))
    assert ratio(PublicChoice((mild, bad))) == ratio(bad) == 2
    assert PublicChoice((mild, bad)).answers == 2
    assert ratio(PublicChoice((mild, Matrix(((Fraction(1), Fraction(0)), (HALF, HALF)))))) is None


def test_reports_about_one_answer_multiply() -> None:
    one = Matrix(((1 - THIRD, THIRD), (THIRD, 1 - THIRD)))
    assert ratio(IndependentReports((one, one, one))) == 8
    assert ratio(IndependentReports((one, Matrix(((Fraction(1), Fraction(0)), (HALF, HALF)))))) is None


def test_answers_that_are_sent_to_the_same_cannot_be_told_apart() -> None:
    distribution = MappedAnswers(Matrix(((1 - THIRD, THIRD), (THIRD, 1 - THIRD))), (0, 1, 0))
    assert (distribution.answers, distribution.ratio(0, 2), distribution.ratio(0, 1)) == (3, 1, 2)


def test_the_worst_pair_is_named() -> None:
    distribution = Matrix(((HALF, HALF), (THIRD, 1 - THIRD), (Fraction(1, 4), Fraction(3, 4))))
    assert worst_ratio(distribution) == (Fraction(2), (0, 2))
    assert worst_ratio(Matrix(((HALF, HALF), (HALF, HALF)))) == (Fraction(1), (0, 0))


@settings(max_examples=30)
@given(st.fractions("1/100", 20, max_denominator=1000))
def test_chances_are_rounded_to_the_side_they_should(epsilon: Fraction) -> None:
    probability = 1 / (exp_lower(epsilon) + 1)
    assert 0 <= probability - round_down(probability) < Fraction(1, DENOMINATOR)
    assert 0 <= round_up(probability) - probability < Fraction(1, DENOMINATOR)
    assert (round_down(probability) * DENOMINATOR).denominator == 1
    assert 0 <= epsilon_claim(exp_lower(epsilon)) - epsilon <= Fraction(1, 10**12)


def test_claims_are_bounded() -> None:
    assert require_epsilon("1/2") == HALF
    for wrong in (0, "1e-7", 21, -1, "many"):
        with pytest.raises(BadInput, match="epsilon"):
            require_epsilon(wrong)
