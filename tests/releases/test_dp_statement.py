"""Statements about what is spent on bounded tables."""

from __future__ import annotations

from fractions import Fraction

import pytest

from discreet.core.card import Card, Column
from discreet.core.kind import Kind
from discreet.core.loss import Concentrated, Pure
from discreet.core.statement import Evidence
from discreet.errors import BadInput, NotDeclared
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.laplace import DiscreteLaplace
from discreet.releases.method import BETA, kept_rows, loss_of, promised, rows_per_unit

COLUMNS = (Column("who", Kind.INTEGER), Column("x", Kind.INTEGER))
VISITS = Card("visits", COLUMNS, unit="who", rows_per_unit=3)
ROWS = Card("rows", COLUMNS)


def test_a_statement_says_whose_data_is_protected_and_what_that_rests_on() -> None:
    both = promised(Pure(1), ROWS, VISITS, VISITS)
    assert (both.unit, both.loss, both.evidence) == ("who", Pure(1), Evidence.PROVED)
    assert both.assumes[1:] == (
        "Each row is a different person.",
        "The column who identifies the person of each row, and no one has two values of it.",
    )
    assert promised(Pure(1), ROWS).unit == "row"


def test_a_recipe_says_which_rows_counted() -> None:
    said = kept_rows(VISITS, ROWS, VISITS)
    assert said == (
        "no more than 3 rows of each who counted; every row counted as one unit; "
        "values outside their declared bounds were clamped to them"
    )


def test_rows_per_unit_are_declared() -> None:
    assert (rows_per_unit(VISITS), rows_per_unit(ROWS)) == (3, 1)
    with pytest.raises(NotDeclared, match="how many rows one who may have"):
        rows_per_unit(Card("visits", COLUMNS, unit="who"))


def test_one_loss_is_named() -> None:
    assert loss_of("1/2", None) == Pure("1/2")
    assert loss_of(None, "1/8") == Concentrated("1/8")
    with pytest.raises(BadInput, match=r"set epsilon or rho\."):
        loss_of(None, None)
    with pytest.raises(BadInput, match="not both"):
        loss_of(1, 1)
    for given in ((0, None), (None, 0)):
        with pytest.raises(BadInput, match="above 0"):
            loss_of(*given)
    assert Fraction(1, 20) == BETA


def test_noise_that_cannot_be_drawn_is_refused_beforehand() -> None:
    for fits in (DiscreteLaplace(2**50), DiscreteGaussian(2**100)):
        fits.require_drawable()
    for wide in (DiscreteLaplace(2**50 + 1), DiscreteGaussian((2**50 + 1) ** 2)):
        with pytest.raises(BadInput, match="64-bit"):
            wide.require_drawable()
