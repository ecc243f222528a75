from __future__ import annotations

import time
from dataclasses import replace
from fractions import Fraction
from math import ceil

import pytest
from tests.hide.problems import best_by_trying, drawn_problem

from discreet.errors import NoPromise
from discreet.verbs.hide.methods.classes import classified, minimal_sets
from discreet.verbs.hide.methods.exact import HEURISTICS, Exact, cost, reached, solve
from discreet.verbs.hide.problem import HidingProblem
from discreet.verbs.hide.secrets import Secret
from discreet.verbs.hide.transactions import Transactions


def itemset(items, support=2):
    return Secret(frozenset(), frozenset(items), support)


@pytest.mark.parametrize("seed", range(12))
def test_nothing_is_better_by_trying_everything(seed):
    problem = drawn_problem(seed, items="abcd", rows=4, secrets=2)
    if int(problem.transactions.supports.sum()) > 9:
        problem = drawn_problem(seed, items="abc", rows=4, secrets=2)
    outcome = Exact(seconds=5).apply(problem)
    assert not problem.visible(outcome.after)
    assert cost(problem, outcome.after) == best_by_trying(problem)
    assert dict(outcome.facts)["fewest non-sensitive itemsets lost"] == "proved"
    for one in list(problem.innocent)[-2:]:
        kept = replace(problem, keep=(one,))
        best = best_by_trying(kept)
        if best is None:
            with pytest.raises(NoPromise):
                Exact(seconds=5).apply(kept)
        else:
            assert cost(kept, Exact(seconds=5).apply(kept).after) == best


def test_a_confidence_just_above_one_that_there_can_be():
    """2 of 4 is not 0.5000001 or more, so that nothing has to leave; and what must stay can."""
    rule = Secret(frozenset("a"), frozenset("b"), 1, Fraction("0.5000001"))
    problem = HidingProblem(Transactions.of(["ab", "ab", "a", "a"]), (rule,), 2, keep=(frozenset("ab"),))
    solved = solve(classified(problem), None, "changed", time.monotonic() + 5)
    assert solved is not None
    assert not solved.taken
    less = replace(problem, secrets=(replace(rule, confidence=Fraction(1, 2)),))
    assert solve(classified(less), None, "changed", time.monotonic() + 5) is None


@pytest.mark.parametrize("share", ["0.6666667", "1/3", "0.0001", "1", "0.5000001", "355/1130"])
@pytest.mark.parametrize("most", [1, 2, 7, 12, 100])
def test_the_next_confidence_that_there_can_be(share, most):
    share = Fraction(share)
    assert reached(share, most) == min(Fraction(ceil(share * below), below) for below in range(1, most + 1))


def test_what_contains_a_secret_of_a_higher_threshold_can_be_kept():
    held = Transactions.of(["abc"] * 3 + ["ab"] * 3)
    problem = HidingProblem(held, (itemset("ab", 4),), 2, keep=(frozenset("abc"),))
    outcome = Exact(seconds=5).apply(problem)
    assert not problem.visible(outcome.after)
    assert outcome.after.support("abc") >= 2
    assert frozenset("abc") in problem.innocent and not problem.effects(outcome.after).itemsets.lost


@pytest.mark.parametrize("seed", range(3, 6))
def test_it_is_never_worse_than_a_heuristic(seed):
    problem = drawn_problem(seed, items="abcdefgh", rows=150, secrets=4)
    heuristics = [cost(problem, way.apply(problem).after) for way in HEURISTICS]
    assert cost(problem, Exact(seconds=3).apply(problem).after) <= min(heuristics)
    fewest = cost(problem, Exact("changed", seconds=3).apply(problem).after)
    assert fewest[1] <= min(changed for _, changed in heuristics)


def test_the_program_alone_hides_itemsets_and_rules():
    """Without the heuristics, which the result falls back on."""
    for seed in range(12):
        problem = drawn_problem(seed, items="abcde", rows=25)
        solved = solve(classified(problem), None, "changed", time.monotonic() + 5)
        assert solved is not None
        taken = [(row, item) for row, items in solved.taken.items() for item in items]
        assert not problem.visible(problem.transactions.without(taken)), seed
        fewest = solve(classified(problem), None, "lost", time.monotonic() + 5)
        assert fewest is not None
        taken = [(row, item) for row, items in fewest.taken.items() for item in items]
        assert cost(problem, problem.transactions.without(taken))[0] == fewest.bound, (
            "what is lost beyond the border counts"
        )


def test_out_of_time_it_says_how_far_it_may_be_off():
    problem = drawn_problem(2, items="abcdefgh", rows=150, secrets=4)
    outcome = Exact(seconds=1e-3).apply(problem)
    assert not problem.visible(outcome.after)
    told = dict(outcome.facts)["fewest non-sensitive itemsets lost"]
    assert told == "proved" or told.startswith("not proved within 0.001 seconds: ")


def test_what_must_stay_stays_or_the_conflict_is_named():
    held = Transactions.of(["abx", "aby", "ab", "ac", "bc", "de", "de"])
    problem = HidingProblem(held, (itemset("ab"), itemset("de")), 2)
    kept = replace(problem, keep=(frozenset("b"), frozenset("a")))
    outcome = Exact(seconds=5).apply(kept)
    assert not kept.visible(outcome.after)
    assert not kept.lost(outcome.after)
    narrow = Transactions.of(["ab", "ab", "de", "de"])
    with pytest.raises(NoPromise, match=r"^No solution was found that hides a, b while a; b stay frequent"):
        Exact(seconds=5).apply(
            replace(problem, transactions=narrow, keep=(frozenset("a"), frozenset("b")), secrets=problem.secrets)
        )


def test_sets_of_which_each_item_is_needed():
    sets, complete = minimal_sets([frozenset("ab"), frozenset("bc")])
    assert sets == [frozenset(one) for one in ("a", "b", "c", "ac")]
    assert complete
    many, complete = minimal_sets([frozenset((f"{place}a", f"{place}b")) for place in range(9)])
    assert len(many) == 18 + 9 * 8 // 2 * 4
    assert not complete


def test_a_transaction_with_too_many_secrets_for_all_choices():
    pairs = [(f"{place}a", f"{place}b") for place in range(9)]
    everything = [item for pair in pairs for item in pair]
    problem = HidingProblem(Transactions.of([everything, *pairs]), tuple(itemset(pair) for pair in pairs), 2)
    outcome = Exact(seconds=2).apply(problem)
    assert not problem.visible(outcome.after)
    assert cost(problem, outcome.after) <= min(cost(problem, way.apply(problem).after) for way in HEURISTICS)
    assert "two items at most" in dict(outcome.facts)["program"]


def test_a_solution_that_keeps_something_is_the_best_of_those_that_do():
    """Of a, b in four transactions one may stay, so that {a, x} or {b, x} is lost."""
    free = HidingProblem(Transactions.of(["abx", "abx", "ab", "ab"]), (itemset("ab"),), 2)
    assert cost(free, Exact(seconds=5).apply(free).after) == best_by_trying(free) == (1, 3)
    for one in ("ax", "bx"):
        kept = replace(free, keep=(frozenset(one),))
        outcome = Exact(seconds=5).apply(kept)
        assert not kept.lost(outcome.after)
        assert cost(kept, outcome.after) == best_by_trying(kept) == (1, 3)
    with pytest.raises(NoPromise, match="hides a, b while a, x; b, x stay frequent"):
        Exact(seconds=5).apply(replace(free, keep=(frozenset("ax"), frozenset("bx"))))
