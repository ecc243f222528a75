"""What a statement says of the way its models were reached, and what a recipe does not tell."""

import numpy as np
import pyarrow as pa
import pytest

import discreet as dc
from discreet.core.card import Card, Column, Role
from discreet.core.kind import Kind

CARD = Card(
    "people",
    (
        Column("age", Kind.INTEGER, Role.QUASI, bounds=(0, 120)),
        Column("sex", Kind.TEXT, Role.QUASI),
        Column("ill", Kind.TEXT, Role.SENSITIVE),
    ),
)


def people(women: int = 4) -> dc.Table:
    sexes = ["f"] * women + ["m"] * (12 - women)
    rows = pa.table({"age": [30, 31, 40, 41] * 3, "sex": sexes, "ill": ["cold", "flu", "pox"] * 4})
    return dc.read(rows, CARD)


def test_dummies_are_confessed_in_the_statement() -> None:
    said = dc.publish(people(), dc.AddDummies(), dc.KAnonymity(3)).statement
    assert any("rows are dummies" in caveat for caveat in said.caveats)


def test_ranges_that_end_at_peoples_values_are_confessed() -> None:
    said = dc.publish(people(), dc.Mondrian(), dc.KAnonymity(3)).statement
    assert any("Ranges end at values that people have" in caveat for caveat in said.caveats)


def test_that_missing_values_count_is_said_where_it_matters() -> None:
    models = [dc.KAnonymity(3)], [dc.KAnonymity(3), dc.LDiversity(2, "ill")]
    said = [dc.publish(people(), dc.Generalize(), wanted).statement.caveats for wanted in models]
    assert ["missing" in " ".join(caveats) for caveats in said] == [False, True]


def test_it_is_said_which_sensitive_columns_no_model_speaks_of() -> None:
    said = dc.publish(people(), dc.Generalize(), dc.KAnonymity(3)).statement.caveats
    assert any("Nothing is promised about ill" in caveat for caveat in said)


@pytest.mark.parametrize("women", [1, 2, 5])
def test_a_recipe_does_not_tell_how_frequent_suppressed_values_were(women: int) -> None:
    """``sex`` is one label throughout, so whatever is released must be the same however many women there are."""
    method = dc.Generalize(levels={"age": 1, "sex": 1})
    recipes = [dc.publish(people(count), method, dc.KAnonymity(3)).recipe.parameters for count in (women, 6)]
    assert recipes[0] == recipes[1]


@pytest.mark.parametrize("first", [0.0, -0.0])
def test_a_class_is_not_named_by_one_of_its_rows(first: float) -> None:
    card = Card("t", (Column("x", Kind.REAL, Role.QUASI), Column("ill", Kind.TEXT, Role.SENSITIVE)))
    rows = pa.table({"x": [first, 0.0, 0.0, -0.0, 0.0], "ill": list("abcde")})
    released = dc.publish(dc.read(rows, card), dc.Generalize(), dc.KAnonymity(5)).payload
    assert not np.signbit(np.asarray(released.column("x"))).any()
