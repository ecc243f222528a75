from __future__ import annotations

import random
from fractions import Fraction

import pytest
from tests.hide.plain_miner import drawn, implied, mined

from discreet.errors import BadInput
from discreet.verbs.hide.mining import rules as home
from discreet.verbs.hide.mining.frequent import frequent
from discreet.verbs.hide.mining.rules import rule_in, rules
from discreet.verbs.hide.transactions import Transactions


@pytest.mark.parametrize("seed", range(30))
def test_all_rules_as_by_trying_everything(seed: int) -> None:
    rng = random.Random(seed)  # noqa: S311
    rows, confidence = drawn(rng, "abcdef", 100), Fraction(rng.randint(0, 10), 10)
    held, least = Transactions.of(rows, "abcdef"), rng.randint(1, 30)
    found = rules(frequent(held, least), confidence)
    assert set(found.pairs) == implied(mined(rows, "abcdef", least), confidence)
    assert len(found.pairs) == len(found)
    for rule in list(found)[:20]:
        assert rule == rule_in(held, rule.antecedent, rule.consequent)


def test_figures_of_a_rule() -> None:
    found = rules(frequent(Transactions.of(["abcd", "abc", "acd"]), 2), "2/3")
    rule = found.get("a", "b")
    assert rule is not None
    assert (rule.support, rule.confidence, rule.lift) == (2, Fraction(2, 3), 1)
    assert str(rule) == "a => b (support 2, confidence 66.7%, lift 1.00)"
    assert found.get("b", "d") is None
    assert min(one.confidence for one in found) == Fraction(2, 3)
    assert str(found) == f"{len(found)} rules with a confidence of at least 0.6667"


def test_a_confidence_of_just_the_threshold_counts() -> None:
    held = Transactions.of(["ab"] * 7 + ["a"] * 93)
    assert rules(frequent(held, 1), 0.07).get("a", "b") is not None  # 0.07 · 100 is more than 7 in floats


def test_a_rule_without_one_of_its_sides_is_none() -> None:
    assert rule_in(Transactions.of(["a"], items="b"), "a", "b") is None


def test_what_cannot_be_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    held = Transactions.of(["abc"])
    with pytest.raises(BadInput, match="two non-empty sides"):
        rule_in(held, "ab", "b")
    with pytest.raises(BadInput, match="above 100 %"):
        rules(frequent(held, 1), 60)
    monkeypatch.setattr(home, "MOST_RULES", 3)
    with pytest.raises(BadInput, match="more than 3 rules"):
        rules(frequent(held, 1), 0)


def test_counting_ends_as_soon_as_there_are_too_many() -> None:
    found = frequent(Transactions.of(["abcdefghijkl"]), 1)
    assert home.rules_up_to(found, 0.5, 1000) is None
    assert len(home.rules_up_to(found, 0.5, 3**12) or ()) == 3**12 - 2 * 2**12 + 1
