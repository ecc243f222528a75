"""What answers cost: how a loss is shared, what noise each measure gets for it, and what needs which kind of loss."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from sqlglot import exp
from tests.ask.visits import CARD

from discreet.core.loss import Approximate, Concentrated, Pure
from discreet.core.table import Table
from discreet.engines.duckdb import DuckDB
from discreet.errors import BadInput
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.laplace import DiscreteLaplace
from discreet.verbs.ask.plan import UNITS, Plan, plan
from discreet.verbs.ask.price import Price, price

REQUIRED = replace(
    CARD, columns=tuple(replace(column, required=column.name in ("age", "income")) for column in CARD.columns)
)


def planned(text: str, card: object = CARD) -> Plan:
    return plan(text, {"visits": Table(card, DuckDB(), exp.select("*").from_("nowhere"))})  # type: ignore[arg-type]


def shares(made: Plan, paid: Price) -> dict[str, Fraction]:
    """What each measure loses."""
    found = {}
    for name, measure in made.measures.items():
        noise = paid.noise[name]
        if isinstance(noise, DiscreteLaplace):
            found[name] = noise.loss(measure.most).epsilon
        else:
            found[name] = measure.squares / (2 * noise.sigma_squared)
    for name, one in made.quantiles.items():
        found[name] = paid.choices[name].loss(one.sensitivity).epsilon
    return found


@pytest.mark.parametrize(
    ("figures", "expected"),
    [
        ("COUNT(*)", [1]),
        ("COUNT(*), AVG(change)", [Fraction(1, 3)] * 3),
        ("COUNT(*), AVG(age)", [Fraction(2, 3), Fraction(1, 3)]),
        ("COUNT(*), AVG(age), AVG(income)", [Fraction(3, 5), Fraction(1, 5), Fraction(1, 5)]),
        ("COUNT(*), COUNT(*) * 2, COUNT(1), COUNT(age)", [1]),
        ("AVG(age), STDDEV(age)", [Fraction(2, 5), Fraction(2, 5), Fraction(1, 5)]),
        ("COUNT(*), MEDIAN(age)", [Fraction(1, 2), Fraction(1, 2)]),
        ("CORR(age, income)", [Fraction(1, 6)] * 6),
        ("CORR(age, change)", [Fraction(1, 6)] * 6),
    ],
)
def test_what_several_figures_are_made_of_gets_the_parts_of_all(figures: str, expected: list[Fraction]) -> None:
    made = planned(f"SELECT {figures} FROM visits", REQUIRED)
    paid = price(made, "0.7")
    assert paid.loss == Pure("0.7")
    found = sorted(shares(made, paid).values())
    assert found == sorted(part * Fraction(7, 10) for part in expected)
    assert sum(found) == Fraction(7, 10)


def test_required_values_are_counted_with_their_rows() -> None:
    """COUNT(x), COUNT(*) and the count behind AVG(x) are one; a condition makes another, for all that have it."""
    assert len(planned("SELECT COUNT(*), COUNT(age), AVG(age) FROM visits", REQUIRED).measures) == 2
    assert len(planned("SELECT COUNT(*), COUNT(age), AVG(age) FROM visits").measures) == 3
    text = "SELECT COUNT_IF(member), COUNT(*) FILTER (WHERE member), AVG(age) FILTER (WHERE member) FROM visits"
    assert len(planned(text, REQUIRED).measures) == 2
    (measure,) = planned("SELECT COUNT_IF(member) FILTER (WHERE grade = 1) FROM visits").measures.values()
    assert measure.sql.sql().count("CASE WHEN") == 1


def test_values_that_a_question_makes_may_be_missing() -> None:
    for text in ("CASE WHEN member THEN age END", "age / NULLIF(grade, 1)", "age + change"):
        found = planned(f"SELECT COUNT(*), AVG({text}) FROM visits", REQUIRED)
        assert len(found.measures) == 3, text
    inside = planned("SELECT COUNT(*), AVG(a) FROM (SELECT age AS a FROM visits WHERE member)", REQUIRED)
    assert len(inside.measures) == 2, "a column of another name is required still"


def test_the_number_of_units_that_shows_a_group_is_the_one_that_was_asked_for() -> None:
    made = planned("SELECT note, COUNT(DISTINCT person) AS n FROM visits GROUP BY note")
    assert list(made.measures) == [UNITS]
    assert shares(made, price(made, 1, "1e-6")) == {UNITS: 1}
    nobodys = replace(CARD, unit=None, rows_per_unit=None)
    made = planned("SELECT note, COUNT(*) AS n, SUM(age) FROM visits GROUP BY note", nobodys)
    paid = price(made, 1, "1e-6")
    assert shares(made, paid)[UNITS] == Fraction(2, 3) and len(made.measures) == 2
    assert paid.loss == Approximate(1, "1e-6")


def test_a_rho_buys_gaussian_noise() -> None:
    made = planned("SELECT city, COUNT(*), SUM(change), COUNT(DISTINCT person) FROM visits GROUP BY city")
    paid = price(made, rho="0.1")
    assert paid.loss == Concentrated("0.1")
    assert all(isinstance(noise, DiscreteGaussian) for noise in paid.noise.values())
    assert sum(shares(made, paid).values()) == Fraction(1, 10)
    changes = {measure.sql.sql(): measure.squares for measure in made.measures.values()}
    assert sorted(changes.values()) == [3, 9, (3 * 51) ** 2], "a person counts once in each of three cities"
    more = price(made, rho=1).errors()
    assert all(0 < more[name] < error for name, error in paid.errors().items())


def test_a_quantile_for_a_rho_is_chosen_at_the_epsilon_that_is_worth_it() -> None:
    made = planned("SELECT MEDIAN(age) FROM visits")
    (epsilon,) = shares(made, price(made, rho=Fraction(1, 8))).values()
    assert epsilon == 1
    (epsilon,) = shares(made, price(made, rho=1)).values()
    assert epsilon**2 / 8 <= 1 < (epsilon + Fraction(1, 10**15)) ** 2 / 8


def test_undeclared_groups_are_not_shown_for_a_rho() -> None:
    made = planned("SELECT note, COUNT(*) FROM visits GROUP BY note")
    with pytest.raises(BadInput, match=r"note.*epsilon and a delta, not for a rho"):
        price(made, rho=1, delta="1e-6")


def test_exactly_one_of_epsilon_and_rho_is_given() -> None:
    made = planned("SELECT COUNT(*) FROM visits")
    for given in ({}, {"epsilon": 1, "rho": 1}):
        with pytest.raises(BadInput, match="set epsilon or rho"):
            price(made, **given)  # type: ignore[arg-type]
    for given in ({"epsilon": 0}, {"rho": 0}):
        with pytest.raises(BadInput, match="must be above 0"):
            price(made, **given)  # type: ignore[arg-type]
