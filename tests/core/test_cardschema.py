import json
import tomllib

import jsonschema
import pytest
from tests.core.hierarchy.examples import EXAMPLES

from discreet import samples
from discreet.core.cardfile import card_schema, dump_cards, to_fields
from discreet.core.families import HIERARCHIES

VALIDATOR = jsonschema.Draft202012Validator(card_schema())


def problems(card):
    plain = json.loads(json.dumps(card, default=str))  # dates are text to an editor
    return [error.message for error in VALIDATOR.iter_errors(plain)]


def column(**fields):
    return {"tables": {"t": {"columns": {"c": {"kind": "text", **fields}}}}}


@pytest.mark.parametrize("make", [samples.inpatient, samples.drug_trial, samples.bits, samples.municipality])
def test_a_sound_card_fits_the_schema(make):
    assert problems(tomllib.loads(dump_cards([make().card]))) == []
    assert problems(tomllib.loads(dump_cards(samples.hospital(100, 1).cards.values()))) == []


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.id)
def test_every_hierarchy_fits_the_schema(example):
    assert problems(column(hierarchy=to_fields(example.hierarchy))) == []


@pytest.mark.parametrize("name", HIERARCHIES.names())
def test_an_unknown_field_of_a_hierarchy_does_not(name):
    assert problems(column(hierarchy={"type": name, "mood": 1}))


@pytest.mark.parametrize(
    "card",
    [
        {},
        {"tables": {}},
        {"tables": {"t": {"columns": {}}}},
        column(kind="integre"),
        column(roll="quasi"),
        column(bounds=[1]),
        column(hierarchy={"type": "intervalls"}),
        {**column(), "discreet": 2},
    ],
)
def test_a_wrong_card_does_not(card):
    assert problems(card)
