"""What every way to hide must do, whatever it is: hide, tell what it changed, and not more than it says."""

from __future__ import annotations

import pytest
from tests.hide.problems import drawn_problem

from discreet.core.families import HIDING
from discreet.errors import BadInput, NoPromise
from discreet.verbs.hide.io import found_in
from discreet.verbs.hide.mining.frequent import frequent

FOR_RULES = {"lower-consequent", "raise-antecedent"}
PUTS_IN = {"raise-antecedent"}
SEEDS = range(8)


def problem_for(name, seed):
    problem = drawn_problem(seed)
    if name not in FOR_RULES:
        return problem
    rules = tuple(one for one in problem.secrets if one.is_rule)
    return type(problem)(problem.transactions, rules, problem.least, problem.confidence)


@pytest.mark.parametrize("name", HIDING.names())
def test_nothing_secret_is_found_and_nothing_appears(name):
    done = 0
    for seed in SEEDS:
        problem = problem_for(name, seed)
        try:
            outcome = HIDING.parse(name).apply(problem)
        except NoPromise:
            assert name in PUTS_IN
            continue
        done += 1
        assert not problem.visible(outcome.after)
        assert not found_in(outcome.after, problem.secrets)
        effects = problem.effects(outcome.after)
        assert effects.itemsets.hiding_failure == 0
        assert effects.rules is not None and effects.rules.hiding_failure == 0
        if name not in PUTS_IN:
            assert not (outcome.after.bits & ~problem.transactions.bits).any(), "items only leave"
            assert set(frequent(outcome.after, problem.least).as_dict()) <= set(problem.frequent.as_dict())
            assert effects.itemsets.artificial == ()
    assert done > len(SEEDS) // 3


@pytest.mark.parametrize("name", HIDING.names())
def test_the_steps_lead_from_before_to_after(name):
    problem = problem_for(name, 3)
    outcome = HIDING.parse(name).apply(problem)
    cells = {"out": [], "in": [], "unknown": []}
    for step in outcome.steps:
        cells[step.action].append((step.row, step.item))
    changed = {(step.row, step.item) for step in outcome.steps}
    assert len(changed) == len(outcome.steps), "no cell is changed twice"
    there = [(row, item) for row, item in cells["unknown"] if item in problem.transactions.row(row)]
    assert problem.transactions.changed(cells["out"] + there, cells["in"]) == outcome.after


def test_what_is_not_visible_is_left_alone():
    problem = drawn_problem(5)
    hidden = HIDING.parse("maxfia").apply(problem).after
    again = type(problem)(hidden, problem.secrets, problem.least, problem.confidence)
    for name in set(HIDING.names()) - FOR_RULES:
        assert HIDING.parse(name).apply(again).steps == ()


def test_ways_are_named_as_people_write_them():
    assert HIDING.parse("SWA window = 7").window == 7
    with pytest.raises(BadInput, match=r"did you mean 'maxmin'"):
        HIDING.parse("maxmn")
    with pytest.raises(BadInput, match="'depth' is not a parameter"):
        HIDING.parse("bba depth=3")
    with pytest.raises(BadInput, match="whole number, at least 1"):
        HIDING.parse("swa window=0")
    with pytest.raises(BadInput, match="seconds must be a number above 0"):
        HIDING.parse("exact seconds=0")
