"""What is special about each heuristic; what all have in common is in test_contract.py."""

from __future__ import annotations

from fractions import Fraction

import pytest

import discreet as dc
from discreet.errors import BadInput, NoPromise
from discreet.verbs.hide.methods.blocking import Blocking
from discreet.verbs.hide.methods.confidence import LowerConsequent, LowerRule, RaiseAntecedent
from discreet.verbs.hide.methods.heuristics import BBA, IGA, SWA, Atallah, MaxFIA, MaxMin, MinFIA
from discreet.verbs.hide.problem import HidingProblem
from discreet.verbs.hide.reading import read_transactions
from discreet.verbs.hide.secrets import Secret
from discreet.verbs.hide.transactions import Transactions

HALF = Fraction(1, 2)


def itemset(items, support=2):
    return Secret(frozenset(), frozenset(items), support)


def rule(left, right, support=2, confidence=HALF):
    return Secret(frozenset(left), frozenset(right), support, confidence)


def test_victims_are_the_most_and_the_least_frequent_item():
    problem = HidingProblem(Transactions.of(["ab", "ab", "ab", "a", "a"]), (itemset("ab"),), 2)
    assert {step.item for step in MaxFIA().apply(problem).steps} == {"a"}
    assert {step.item for step in MinFIA().apply(problem).steps} == {"b"}


def test_an_item_that_secrets_share_is_taken_once_for_both():
    held = Transactions.of(["abc", "abc", "abc", "b", "c"])
    problem = HidingProblem(held, (itemset("ab"), itemset("ac")), 2)
    steps = IGA().apply(problem).steps
    assert [(step.row, step.item) for step in steps] == [(0, "a"), (1, "a")]
    assert len(MaxFIA().apply(problem).steps) == 4


def test_every_window_keeps_its_share():
    held = Transactions.of(["ab"] * 100 + ["c"] * 20)
    outcome = SWA(window=20).apply(HidingProblem(held, (itemset("ab", 51),), 10))
    left = outcome.after.rows_of("ab")
    assert len(left) == 50
    assert [int(((left >= start) & (left < start + 20)).sum()) for start in range(0, 100, 20)] == [10] * 5


def test_the_border_is_spared():
    """Taking b would lose {b, d}, which is just frequent; a is free, and so is c in the transactions without e."""
    held = Transactions.of(["abd", "abd", "ab", "a", "a", "a"])
    problem = HidingProblem(held, (itemset("ab", 3),), 2)
    for way in (BBA(), MaxMin()):
        after = way.apply(problem).after
        assert after.support("ab") == 2
        assert after.support("bd") == 2


def test_raising_an_antecedent_puts_items_in_where_most_is_there():
    held = Transactions.of(["abc", "abc", "a", "b", "d", "d"])
    outcome = RaiseAntecedent().apply(HidingProblem(held, (rule("ab", "c"),), 2, HALF))
    assert [(step.row, step.item, step.action) for step in outcome.steps][:2] == [(2, "b", "in"), (3, "a", "in")]
    assert outcome.after.support("ab") == 5
    with pytest.raises(NoPromise, match="with it in every transaction"):
        RaiseAntecedent().apply(HidingProblem(Transactions.of(["ab", "ab", "ab", "c"]), (rule("a", "b"),), 2, HALF))


def test_rules_are_weakened_and_itemsets_are_not():
    held = Transactions.of(["ab", "ab", "ab", "abc", "a"])
    problem = HidingProblem(held, (rule("a", "b", 2, Fraction(3, 5)),), 2, Fraction(3, 5))
    steps = LowerConsequent().apply(problem).steps
    assert [(step.row, step.item) for step in steps] == [(0, "b"), (1, "b")]
    assert all(step.item == "a" for step in LowerRule().apply(problem).steps)
    with pytest.raises(BadInput, match="'a, b' is an itemset"):
        LowerConsequent().apply(HidingProblem(held, (itemset("ab"),), 2))


def test_unknown_items_stand_for_absent_ones_too():
    held = Transactions.of(["ab"] * 20 + ["b"] * 40 + ["ac"] * 40)
    outcome = Blocking().apply(HidingProblem(held, (itemset("ab", 6),), 5))
    assert outcome.possible is not None
    unknown = outcome.possible.bits & ~outcome.after.bits
    assert outcome.after.support("ab") == 5
    assert int((unknown & ~held.bits).any()) == 1
    blocked = [step for step in outcome.steps if "decoy" not in step.why]
    decoys = [step for step in outcome.steps if "decoy" in step.why]
    assert len(blocked) == 15
    assert len([step for step in decoys if step.item == blocked[0].item]) == 15
    assert len([step for step in decoys if step.item == "c"]) == 30, "an item of no secret is unknown as often"
    assert not (held.bits & ~outcome.possible.bits).any(), "what was there may be there"
    assert outcome.facts == (
        ("every unknown taken as present", "a, b is in 5 to 35 transactions"),
        ("items that are unknown somewhere", "a (of a secret), c (a decoy)"),
    )
    plain = Blocking(decoys=False).apply(HidingProblem(held, (itemset("ab", 6),), 5))
    assert plain.possible == held


def test_the_lecture_s_example_step_by_step():
    """T1 a b c d, T2 a b c, T3 a c d: hide {a, b, c}. Of the pairs, ac has the largest support; T2 touches fewest."""
    held = read_transactions(dc.samples.transactions())
    problem = HidingProblem(held, (Secret(frozenset(), frozenset("abc"), 2),), 2)
    outcome = Atallah().apply(problem)
    (step,) = outcome.steps
    assert (step.row, step.item, step.action, step.secret) == (1, "a", "out", "a, b, c")
    assert step.why == (
        "{a, c} has the largest support, 3, then {a} has the largest support, 3; "
        "of 2 transactions, this one costs fewest frequent pairs (2)"
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
