"""Synthesizers as people write them."""

import pytest
from tests.publish.mask.people import CARD

from discreet.core.families import SYNTHESIZERS
from discreet.errors import BadInput, NotFound
from discreet.verbs.publish.mask.ipso import Ipso
from discreet.verbs.publish.mask.resample import Resample
from discreet.verbs.synthesize.non_private.cart import Cart
from discreet.verbs.synthesize.non_private.copies import Copies
from discreet.verbs.synthesize.non_private.copula import Copula
from discreet.verbs.synthesize.non_private.redrawn import Redrawn


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("synthesize cart", Cart()),
        ("Synthesize CART", Cart()),
        ("synthesize cart given=age,town", Cart(given=("age", "town"))),
        ("synthesize cart given age, town leaf=10 proper", Cart(given=("age", "town"), leaf=10, proper=True)),
        ("synthesize cart on smokes given 'age'", Cart(columns=("smokes",), given=("age",))),
        ('synthesize cart smooth=false on="age", weight rows=10', Cart(("age", "weight"), rows=10, smooth=False)),
        ("synthesize copula margins=parametric copies=5", Copies(Copula(margins="parametric"), 5)),
        ("synthesize ipso version=B given smokes", Redrawn(Ipso("B", given=("smokes",)))),
        ("synthesize resample samples=3 on weight", Redrawn(Resample(3, ("weight",)))),
    ],
)
def test_what_is_written_is_what_is_meant(text, meant):
    assert SYNTHESIZERS.has(text)
    assert SYNTHESIZERS.parse(text, CARD) == meant


@pytest.mark.parametrize("entry", SYNTHESIZERS.entries(), ids=lambda entry: entry.name)
def test_every_example_can_be_written(entry):
    assert SYNTHESIZERS.parse(entry.example, CARD).name == f"synthesize {entry.name}"


@pytest.mark.parametrize(
    ("text", "error", "why"),
    [
        ("synthesize kart", BadInput, "no synthesizer.*'cart'"),
        ("synthesize cart epsilon=1", BadInput, "is not a parameter of synthesize cart"),
        ("synthesize cart leaf=many", BadInput, "whole number"),
        ("synthesize cart copies=0", BadInput, "at least 2"),
        ("synthesize cart given nobody", NotFound, "nobody"),
        ("synthesize resample given age", BadInput, "is not a parameter of"),
    ],
)
def test_what_is_written_wrongly_is_said_so(text, error, why):
    with pytest.raises(error, match=why):
        SYNTHESIZERS.parse(text, CARD)


def test_the_hint_says_all_that_can_be_said():
    with pytest.raises(BadInput) as found:
        SYNTHESIZERS.parse("synthesize cart leaves=3", CARD)
    for word in ("leaf=5", "smooth=true", "on COLUMNS", "given COLUMNS", "copies=5"):
        assert word in found.value.hint


def test_what_promises_something_is_not_plain():
    assert not SYNTHESIZERS.has("synthesize epsilon=1")
    assert not SYNTHESIZERS.has("synthesize")
    assert not SYNTHESIZERS.has("noise alpha=1")
