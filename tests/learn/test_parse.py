"""Ways of learning as people write them."""

import pytest
from tests.learn.planted import CARD

import discreet as dc
from discreet.core.families import LEARNERS
from discreet.errors import BadInput, NotFound
from discreet.verbs.learn.learner import learner_of


def test_what_is_written_is_what_is_meant():
    assert LEARNERS.parse("learn tree target=default integral=20", CARD) == dc.Learn(dc.DecisionTree("default"))
    assert LEARNERS.parse("learn tree target=default integral=5 depth=2 sample=25%,50% on age, job", CARD) == dc.Learn(
        dc.DecisionTree("default", ("age", "job"), depth=2), integral=5, sample=(0.25, 0.5)
    )
    assert LEARNERS.parse("learn statistics of=median integral=9 choose=first", CARD) == dc.Learn(
        dc.Statistics("median"), integral=9, choose="first"
    )


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("learn", BadInput, "Available:"),
        ("learn tre target=default integral=20", BadInput, "did you mean 'tree'"),
        ("learn tree target=default", BadInput, "integral"),
        ("learn tree integral=20", BadInput, "needs target"),
        ("learn tree target=defalt integral=20", NotFound, "did you mean 'default'"),
        ("learn tree target=default integral=20 count=3", BadInput, "is not a parameter of"),
        ("learn tree target=default integral=20 sample=much", BadInput, "sample must be a number"),
        ("learn tree target=default integral=many", BadInput, "whole number"),
    ],
)
def test_what_is_not_understood(text, error, words):
    with pytest.raises(error, match=words):
        LEARNERS.parse(text, CARD)


def test_what_was_written_down_is_read_back():
    for learner in (dc.DecisionTree("default", ("age",)), dc.LinearModel("age"), dc.Clusters(3), dc.Statistics()):
        assert learner_of(learner.name, learner.parameters()) == learner
        assert isinstance(learner, LEARNERS.entry(learner.name).kind)
    with pytest.raises(BadInput, match="no learner"):
        learner_of("tree", {"leaves": 3})
