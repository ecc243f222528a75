from __future__ import annotations

import discreet as dc
from discreet.verbs.hide.methods.heuristics import Atallah
from discreet.verbs.hide.problem import HidingProblem
from discreet.verbs.hide.reading import read_transactions
from discreet.verbs.hide.secrets import Secret


def test_the_lecture_s_example_step_by_step():
    """T1 a b c d, T2 a b c, T3 a c d: hide {a, b, c}. Of the pairs, ac has the largest support; T2 touches fewest."""
    held = read_transactions(dc.samples.transactions())
    problem = HidingProblem(held, (Secret(frozenset(), frozenset("abc"), 2),), 2)
    outcome = Atallah().apply(problem)
    (step,) = outcome.steps
    assert (step.row, step.item, step.action, step.secret) == (1, "a", "out", "a, b, c")
    assert step.why == (
        "{a, c} has the largest support, 3, then {a} has the largest support, 3; "
        "of 2 transactions this one touches fewest pairs (2 frequent)"
    )
    assert str(step).startswith("a leaves transaction 2: ")
    assert list(outcome.after.to_rows()) == [("a", "b", "c", "d"), ("b", "c"), ("a", "c", "d")]
    lost = problem.effects(outcome.after).itemsets.lost
    assert [str(one) for one in lost] == ["a, b: 2 → 1"]


def test_a_single_item_can_be_secret():
    held = read_transactions(dc.samples.transactions())
    outcome = Atallah().apply(HidingProblem(held, (Secret(frozenset(), frozenset("d"), 2),), 2))
    assert [(step.row, step.item, step.why.split(";")[0]) for step in outcome.steps] == [
        (2, "d", "it is the only item")
    ]
