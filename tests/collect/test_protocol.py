"""The audit: proves what holds, refutes two mistakes that are known from other packages, and says which answers do."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.collect.bad.sure import Sure
from tests.collect.bad.unsplit import Unsplit

from discreet.core.exact import exp_lower, exp_upper
from discreet.verbs.collect.frequency.randomized_response import GRR
from discreet.verbs.collect.frequency.unary_encoding import SUE
from discreet.verbs.collect.protocol import LossAudit, audit
from discreet.verbs.collect.report_distribution import IndependentBits, Matrix, ReportDistribution, epsilon_claim


@dataclass(frozen=True)
class Claim:
    """Some law with some claim."""

    epsilon: Fraction
    report_distribution: ReportDistribution


def test_what_holds_is_proved() -> None:
    result = audit(SUE(4, 1))
    assert result.holds
    assert str(result) == "Holds: the loss is 1, and 1 is claimed."


def test_unary_encoding_without_the_split_is_refuted() -> None:
    result = audit(Unsplit(4, 1))
    assert not result.holds
    assert result.epsilon == pytest.approx(2, abs=1e-12)
    assert str(result) == (
        "Does not hold: 1 is claimed, and a report is e^2 times as likely for answer 0 as for answer 1."
    )


def test_rappor_with_a_sure_bit_is_refuted() -> None:
    result = audit(Sure(4, 2))
    assert not result.holds
    assert result.ratio is None
    assert result.epsilon == math.inf
    assert str(result) == "Does not hold: some reports are possible for answer 0, never for 1."


@settings(max_examples=40)
@given(st.lists(st.integers(0, 9), min_size=2, max_size=4), st.lists(st.integers(0, 9), min_size=2, max_size=4))
def test_the_ratio_is_that_of_all_reports(one: list[int], other: list[int]) -> None:
    """Coins against the matrix of all their outcomes."""
    heads = [tuple(Fraction(each, 9) for each in row[:2]) for row in (one, other)]
    rows = tuple(tuple((a if x else 1 - a) * (b if y else 1 - b) for x in (0, 1) for y in (0, 1)) for a, b in heads)
    coins, matrix = (
        audit(Claim(Fraction(1), distribution)) for distribution in (IndependentBits(tuple(heads)), Matrix(rows))
    )
    assert coins.ratio == matrix.ratio
    assert coins.holds == matrix.holds


def test_a_claim_is_decided_to_the_last_digit() -> None:
    """e**1 lies between two rationals a part in 2**150 apart: on either side the verdict differs."""
    low = exp_lower(Fraction(1))
    assert LossAudit(Fraction(1), low, (0, 1)).holds
    assert not LossAudit(Fraction(1), exp_upper(Fraction(1)), (0, 1)).holds
    assert low * (1 + Fraction(1, 2**140)) > exp_upper(Fraction(1))


def test_a_claim_that_is_too_small_by_a_hair_does_not_hold() -> None:
    oracle = GRR(3, 1)
    ratio = oracle.p_own / oracle.q_other
    assert audit(oracle).ratio == ratio
    assert not audit(Claim(Fraction(1) - Fraction(1, 10**15), oracle.report_distribution)).holds


@settings(max_examples=40)
@given(st.fractions(1, 10**8))
def test_a_claim_made_of_a_ratio_holds(ratio: Fraction) -> None:
    epsilon = epsilon_claim(ratio)
    assert LossAudit(epsilon, ratio, (0, 1)).holds
    assert float(epsilon) == pytest.approx(math.log(ratio), abs=1e-10)
