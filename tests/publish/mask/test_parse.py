import pytest
from tests.publish.mask.people import CARD

from discreet.core.families import MASKING
from discreet.errors import BadInput, NotFound
from discreet.verbs.publish.mask.coding import Code
from discreet.verbs.publish.mask.ipso import Ipso
from discreet.verbs.publish.mask.noise import Noise
from discreet.verbs.publish.mask.pram import Pram
from discreet.verbs.publish.mask.rounding import Round
from discreet.verbs.publish.mask.shuffle import Shuffle
from discreet.verbs.publish.mask.swap import DataSwap, RankSwap


@pytest.mark.parametrize(
    ("text", "masker"),
    [
        ("noise alpha=0.1", Noise(0.1)),
        ("Noise alpha = 10%  correlated on age, height", Noise(0.1, ("age", "height"), correlated=True)),
        ("rank-swap p=5", RankSwap(5)),
        ("rank-swap p=10 law=buckets on age", RankSwap(10, ("age",), "buckets")),
        ("data-swap share=10% on age within town, smokes", DataSwap(0.1, ("age",), ("town", "smokes"))),
        ("pram keep=0.8 how=optimal on town", Pram(0.8, ("town",), "optimal")),
        ("round base=5 at-random", Round(5, at_random=True)),
        ("code top=80 bottom=20 by-mean on age", Code({"age": 80}, {"age": 20}, by_mean=True)),
        ("ipso version=C on height given town", Ipso("C", ("height",), ("town",))),
        ("shuffle given born on height", Shuffle(("height",), ("born",))),
    ],
)
def test_a_method_is_what_was_written(text, masker):
    assert MASKING.has(text)
    assert MASKING.parse(text, CARD) == masker


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("blur", "no masking method"),
        ("", "no masking method"),
        ("noise", "needs alpha"),
        ("noise alpha=x", "a number above 0"),
        ("noise alpha=0.1 p=3", "'p' is not a parameter"),
        ("code top=80", "No columns to code"),
    ],
)
def test_what_cannot_be_understood_is_said_so(text, said):
    with pytest.raises(BadInput, match=said):
        MASKING.parse(text, CARD)


def test_columns_are_those_of_the_card():
    with pytest.raises(NotFound):
        MASKING.parse("noise alpha=0.1 on shoe size", CARD)
