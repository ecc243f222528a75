"""Costs and values, as people read them."""

from fractions import Fraction

import pytest

from discreet.verbs.prove.explain import cost_text, factor_text
from discreet.verbs.prove.number_text import Enclosure, probability_text, value_text


@pytest.mark.parametrize(
    ("charge", "scale", "cost"),
    [
        ("2", "4 * N / eps", "eps/(2*N)"),
        ("1", "2 / eps", "eps/2"),
        ("s", "s / eps", "eps"),
        ("0", "1 / eps", "0"),
        ("-2", "4 / (3 * eps)", "-3*eps/2"),
        ("1", "eps * eps", "1/(eps*eps)"),
        ("1", "1 / size(q)", "size(q)"),
        ("abs(x - x')", "1 / eps", "(abs(x - x')) * eps"),
        ("1", "a + b", "(1) / (a + b)"),
        ("1", "0", "(1) / (0)"),
        ("1", "1 +", "(1) / (1 +)"),
        ("2", "3", "2/3"),
    ],
)
def test_a_cost_is_said_in_few_words(charge, scale, cost):
    assert cost_text(charge, scale) == cost


def test_one_over_a_scale():
    assert (factor_text("2 / eps"), factor_text("a + b"), factor_text("1")) == ("eps/2", "1/(a + b)", "1")


def test_values_are_written_as_in_a_program():
    assert value_text((True, Fraction(1, 2), 3)) == "[true, 1/2, 3]"


def test_chances_are_exact_where_that_is_short():
    assert probability_text(Fraction(3, 4)) == "3/4"
    assert probability_text(Fraction(10**20 + 1, 3 * 10**20)) == "0.333333…"
    assert probability_text(Enclosure(Fraction(1, 3), Fraction(1, 3) + Fraction(1, 10**30))) == "0.333333…"
    assert probability_text(Enclosure(Fraction(1, 4), Fraction(1, 2))) == "0.25…0.5"
    assert probability_text(Enclosure(Fraction(1, 4), Fraction(1, 4))) == "1/4"
