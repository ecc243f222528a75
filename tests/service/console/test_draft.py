"""Drafts: what a browser kept comes back whole, and nothing else is taken for it."""

import json
from dataclasses import asdict, replace

import pytest

from discreet.errors import BadInput
from discreet.service.console.draft import FIELDS, Draft, read
from discreet.service.console.question_builder import Choices, Condition, Grouping, Measure

FIELDS_ = dict.fromkeys(FIELDS, "0.1") | {"mode": "epsilon"}
ONE = Draft(
    "sql",
    "SELECT '</script>' -- \"",
    Choices("visits", conditions=(Condition("a", "in", ("b",)),)),
    FIELDS_,
    ("a" * 64,),
)

TOO_MANY = (
    {"measures": (Measure(),) * 4},
    {"groupings": (Grouping("a"),) * 3},
    {"conditions": ONE.choices.conditions * 9},
)
"""Choices that fit into a draft, and would have the service draw a form without an end."""


def test_a_draft_comes_back_whole():
    assert Draft.from_json(json.dumps(asdict(ONE))) == ONE


def test_what_the_browser_keeps_is_the_draft_as_a_text():
    before, _, text = ONE.keep("ann").partition(", ")
    assert before == 'sessionStorage.setItem("discreet-ask ann"'
    assert Draft.from_json(json.loads(text.removesuffix(")"))) == ONE
    assert '"discreet-ask ann"' in read("ann")


def changed(**more):
    return json.dumps(asdict(ONE) | more)


@pytest.mark.parametrize(
    "wrong",
    [
        None,
        3,
        "",
        "[]",
        "null",
        "{",
        "[" * 50_000,
        "x" * 60_001,
        changed(view="other"),
        changed(view=[]),
        changed(sql=1),
        changed(fields={}),
        changed(fields=FIELDS_ | {"mode": "free"}),
        changed(fields=FIELDS_ | {"epsilon": 1}),
        changed(choices={}),
        changed(pinned=["../../etc"]),
        changed(pinned=3),
        changed(pinned=["a" * 64] * 5),
        *(changed(choices=asdict(replace(ONE.choices, **more))) for more in TOO_MANY),
    ],
)
def test_anything_else_is_refused(wrong):
    with pytest.raises(BadInput):
        Draft.from_json(wrong)
