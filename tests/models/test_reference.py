"""Every model of one class at a time against plain Python on random small tables."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.models import plain

from discreet.core.card import Column
from discreet.core.kind import Kind
from discreet.models.beta_likeness import BetaLikeness, DeltaDisclosure
from discreet.models.closeness import TCloseness
from discreet.models.diversity import AlphaK, EntropyLDiversity, LDiversity, PSensitivity, RecursiveLDiversity
from discreet.models.k_anonymity import KAnonymity
from discreet.models.risk import ProsecutorRisk

KEYS = st.one_of(st.none(), st.integers(0, 3))
TEXTS = st.lists(st.tuples(KEYS, st.sampled_from(["a", "b", "c", "d", "e", None])), min_size=1, max_size=24)
NUMBERS = st.lists(st.tuples(KEYS, st.one_of(st.none(), st.integers(-5, 5))), min_size=1, max_size=24)

TREE = Column("s", Kind.TEXT, hierarchy=plain.TREE)
NUMBER = Column("s", Kind.INTEGER)


def distinct(values, _whole):
    return len(set(values))


CASES = [  # the model, the column's kind, the figure of one class in plain Python, what figure is good
    (KAnonymity(3), None, lambda values, _: len(values), lambda f, v, _: len(v) >= 3),
    (LDiversity(2, "s"), None, distinct, lambda f, v, _: f >= 2),
    (EntropyLDiversity(2, "s"), None, plain.entropy, lambda f, v, _: f >= 2 - 1e-9),
    (EntropyLDiversity("1.5", "s"), None, plain.entropy, lambda f, v, _: f >= 1.5),
    (RecursiveLDiversity(2, 2, "s"), None, plain.recursive(2), lambda f, v, _: f < 2),
    (RecursiveLDiversity("1.5", 3, "s"), None, plain.recursive(3), lambda f, v, _: f < 1.5),
    (PSensitivity(2, 3, "s"), None, distinct, lambda f, v, _: f >= 2 and len(v) >= 3),
    (
        AlphaK("0.5", 2, "s"),
        None,
        lambda values, _: max(Counter(values).values()) / len(values),
        lambda f, v, _: f <= 0.5 and len(v) >= 2,
    ),
    (TCloseness("0.2", "s"), None, plain.equal, lambda f, v, _: f <= 0.2 + 1e-9),
    (TCloseness("0.3", "s"), NUMBER, plain.ordered, lambda f, v, _: f <= 0.3 + 1e-9),
    (TCloseness("0.3", "s"), TREE, plain.hierarchical, lambda f, v, _: f <= 0.3 + 1e-9),
    (TCloseness("0.3", "s", "equal"), TREE, plain.equal, lambda f, v, _: f <= 0.3 + 1e-9),
    (BetaLikeness(1, "s"), None, plain.beta, lambda f, v, _: f <= 1 + 1e-9),
    (BetaLikeness(1, "s", enhanced=True), None, plain.beta, lambda f, v, whole: plain.enhanced(v, whole, 1)),
    (DeltaDisclosure(1, "s"), None, plain.disclosure, lambda f, v, _: f < 1 - 1e-9),
    (ProsecutorRisk("0.4"), None, lambda values, _: 1 / len(values), lambda f, v, _: len(v) >= 2.5),
]


@pytest.mark.parametrize(("model", "column", "figure", "good"), CASES, ids=lambda case: str(getattr(case, "claim", "")))
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_figures_and_verdict_are_those_of_plain_python(model, column, figure, good, data):
    rows = data.draw(NUMBERS if column is NUMBER else TEXTS)
    classes = plain.made(rows, column)
    whole = [value for _, value in rows]
    parts = plain.groups(rows)
    expected = [figure(values, whole) for values in parts.values()]
    np.testing.assert_allclose(model.figures(classes), expected, rtol=1e-7, atol=1e-9)
    broken = [not good(found, values, whole) for found, values in zip(expected, parts.values(), strict=True)]
    assert model.breaking(classes).tolist() == broken
    verdict = model.verdict(classes)
    assert verdict.holds == (not any(broken))
    assert verdict.exposed == sum(len(v) for v, bad in zip(parts.values(), broken, strict=True) if bad)
    assert verdict.rows == len(rows)
    place = list(parts).index(verdict.worst["q"])
    assert broken[place] or verdict.holds
    worst = min(expected) if model.lowest else max(expected)
    assert math.isclose(verdict.figure, worst, rel_tol=1e-7, abs_tol=1e-9)


@settings(max_examples=30, deadline=None)
@given(rows=TEXTS)
def test_what_stays_after_suppression_holds_as_a_table_of_its_own(rows):
    from discreet.models.model import settled

    for model in (TCloseness("0.25", "s"), TCloseness("0.4", "s", "ordered"), BetaLikeness(1, "s")):
        classes = plain.made(rows)
        kept = settled(classes, [model])
        names = [key for key, stays in zip(plain.groups(rows), kept, strict=True) if stays]
        left = [row for row in rows if row[0] in names]
        again = plain.made(left)
        assert not model.breaking(again).any()
        np.testing.assert_allclose(model.figures(classes.keeping(kept)), model.figures(again), atol=1e-12)


def test_the_largest_share_is_shown_though_another_class_is_too_small():
    rows = [(1, "a"), (1, "b"), *[(2, "a")] * 9, (2, "b")]
    verdict = AlphaK("0.95", 5, "s").verdict(plain.made(rows))
    assert not verdict.holds
    assert verdict.figure == 0.9
    assert verdict.worst == {"q": 1}  # the one that breaks it
    fewest = PSensitivity(1, 5, "s").verdict(plain.made([*rows, *[(3, "a")] * 6]))
    assert (fewest.holds, fewest.figure) == (False, 1)


@pytest.mark.parametrize("beta", [1, 2, 5, 100])
def test_the_gain_that_is_shown_does_not_depend_on_what_is_asked_for(beta):
    classes = plain.made([(1, "a"), (1, "b"), *[(2, "a")] * 9, (2, "b")])
    verdict = BetaLikeness(beta, "s", enhanced=True).verdict(classes)
    assert verdict.figure == pytest.approx(2)  # from a share of 1/6 to one half
    assert not verdict.holds  # -ln(1/6) is less
    assert "-ln of its share" in str(verdict)
