"""Trees: the same as the slowest and plainest way gives, and equal whenever they say the same."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from tests.learn.planted import CARD, PLANTED, credit, in_order, rows, slow_tree

import discreet as dc
from discreet.core.document import dumps, loads
from discreet.engines.read import read
from discreet.errors import BadInput, NotDeclared, NotFound
from discreet.noise.masking import Draws
from discreet.verbs.learn.learner import exact_sums
from discreet.verbs.learn.tree import DecisionTree, Tree


def test_trees_are_those_of_brute_force():
    table = credit(300)
    people = in_order(table)
    for depth, gain in ((1, 0.0), (3, 0.0), (3, 0.005)):
        learner = DecisionTree("default", depth=depth, gain=gain)
        trainer = learner.trainer(learner.frame(table))
        for draw in range(3):
            who = np.sort(Draws(7).at(draw).permutation(300)[:120])
            slow = slow_tree([people[one] for one in who], depth, Fraction(str(gain)))
            assert trainer.train(who, exact_sums).to_dict() == slow


def test_a_tree_does_not_hang_on_the_order_of_rows():
    learner = DecisionTree("default")
    shuffled = rows().take(pa.array(np.random.default_rng(2).permutation(1500)))
    frames = [learner.frame(read(one, CARD)) for one in (rows(), shuffled)]
    assert frames[0].digest == frames[1].digest
    assert learner.trainer(frames[0]).train(np.arange(1500), exact_sums).to_dict() == PLANTED


def test_a_tree_tells_what_is_asked_and_is_plain_data():
    learner = DecisionTree("default")
    frame = learner.frame(credit())
    trainer = learner.trainer(frame)
    tree = trainer.train(np.arange(1500), exact_sums)
    told = tree.predict(rows()).to_pylist()
    right = np.mean([one == truth for one, truth in zip(told, rows()["default"].to_pylist(), strict=True)])
    assert right == trainer.score(tree, np.arange(1500)) > 0.9
    assert Tree.from_dict(loads(dumps(tree.to_dict()))) == tree == dc.load_model(tree.to_dict())
    assert str(tree).splitlines()[:3] == ["income < 20.0?", "  yes: job = none?", "    yes: yes"]
    assert "job = none?" in tree.picture().svg
    with pytest.raises(NotFound, match="needs the column 'income'"):
        tree.predict(rows().select(["age"]))


def test_missing_values_pass_no_test():
    table = pa.table({"age": [None, 30], "income": [None, 10.0], "job": ["none", "none"]})
    assert Tree.from_dict(PLANTED).predict(table).to_pylist() == ["no", "yes"]


def test_who_has_several_rows_is_one_person():
    card = dc.Card("credit", CARD.columns, unit="name", rows_per_unit=3)
    twice = pa.concat_tables([rows(200), rows(200).slice(50, 20)])
    frame = DecisionTree("default").frame(read(twice, card))
    assert frame.people == 200
    assert np.bincount(frame.person).max() == 2
    chosen = np.zeros(200, np.bool_)
    chosen[frame.person[0]] = True
    assert len(frame.rows_of(chosen)) == np.bincount(frame.person)[frame.person[0]]


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"target": "income"}, "is a number"),
        ({"target": "name"}, "may not be released"),
        ({"target": "default", "columns": ("default",)}, "cannot be learnt from as well"),
        ({"target": "default", "columns": ("age", "age")}, "named twice"),
        ({"target": "default", "depth": 99}, "between 1 and 8"),
        ({"target": "default", "grid": 1}, "between 2 and 1,000"),
        ({"target": "default", "gain": -1.0}, "gain must be a number"),
    ],
)
def test_what_no_tree_can_be_grown_of(said, words):
    with pytest.raises(BadInput, match=words):
        DecisionTree(**said).frame(credit())


def test_a_grid_is_declared_and_never_read_off_the_rows():
    card = dc.Card("credit", (dc.Column("age", "integer"), dc.Column("default", "text", categories=("no", "yes"))))
    with pytest.raises(NotDeclared, match="needs its bounds"):
        DecisionTree("default").frame(read(rows().select(["age", "default"]), card))


def test_a_model_that_is_none_is_refused():
    with pytest.raises(BadInput, match="not a model"):
        dc.load_model({"kind": "forest"})
    with pytest.raises(BadInput, match="< or ="):
        dc.load_model(PLANTED | {"tree": PLANTED["tree"] | {"test": ">"}})
