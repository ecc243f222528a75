from __future__ import annotations

from fractions import Fraction

import pytest

from discreet.errors import BadInput, NoPromise, NotFound
from discreet.verbs.hide.secrets import Secret, Thresholds, parse_kept, parse_secrets, support_of
from discreet.verbs.hide.transactions import Transactions

HELD = Transactions.of([["bread", "wine", "beer"], ["beer", "nappies"], ["wine, red", "sex=f"], ["bread"]] * 25)
MINER = Thresholds.of(100, "2%", "60%")


def one(itemsets=(), rules=(), thresholds=MINER):
    (secret,) = parse_secrets(HELD, itemsets, rules, thresholds)
    return secret


def test_secrets_as_people_write_them():
    assert one(["bread, wine"]) == Secret(frozenset(), frozenset({"bread", "wine"}), 2)
    assert one([("wine", "bread")]) == one(["bread,wine"])
    assert one(['"wine, red"']).whole == {"wine, red"}
    found = one(rules=["beer => nappies"])
    assert (found.antecedent, found.consequent, found.support) == ({"beer"}, {"nappies"}, 2)
    assert found.confidence == Fraction(3, 5)
    assert str(found) == "beer => nappies"
    assert one(rules=["sex=f, bread=>beer"]).antecedent == {"sex=f", "bread"}


def test_thresholds_of_their_own_and_margins():
    assert one(["bread, wine; support=10"]).support == 10
    assert one(["bread, wine; support=10% margin=25%"]).support == 8
    weak = one(rules=["beer => wine; support=5%, confidence=1/2 margin=0.1"])
    assert (weak.support, weak.confidence) == (5, Fraction(9, 20))
    assert one(["bread"], thresholds=Thresholds.of(100, 10, None, "15%")).support == 9


@pytest.mark.parametrize(
    ("said", "count"), [("2%", 2), (0.02, 2), ("0.015", 2), ("1/50", 2), (50, 50), ("50", 50), (Fraction(1, 3), 34)]
)
def test_a_support_is_a_share_or_a_number(said, count):
    assert support_of(said, 100) == count


@pytest.mark.parametrize("said", [0, "0", "200%", -1, "much"])
def test_a_support_that_is_none(said):
    with pytest.raises(BadInput):
        support_of(said, 100)


@pytest.mark.parametrize(
    ("itemsets", "rules", "said"),
    [
        ((), (), "No secret given"),
        (["bread => wine"], (), "is a rule and not an itemset"),
        ([" , "], (), "There is no item"),
        (["bread; suport=3"], (), "did you mean 'support'"),
        (["bread; confidence=50%"], (), "has no confidence"),
        ((), ["bread"], "is not a rule"),
        ((), ["bread =>"], "There is no item"),
        ((), ["bread => bread"], "on both sides"),
        ((), ["bread => wine => beer"], "is not a rule"),
        (["bread", "bread; support=1%"], (), "A secret occurs twice"),
        (["bread; margin=100%"], (), "below 1"),
    ],
)
def test_what_is_no_secret(itemsets, rules, said):
    with pytest.raises(BadInput, match=said):
        parse_secrets(HELD, itemsets, rules, MINER)


def test_names_and_confidences_that_are_missing():
    with pytest.raises(NotFound, match="did you mean 'bread'"):
        one(["bred, wine"])
    with pytest.raises(BadInput, match="No confidence given"):
        one(rules=["beer => wine"], thresholds=Thresholds.of(100, 2))
    with pytest.raises(BadInput, match="above 0 and at most 1"):
        Thresholds.of(100, 2, 0)


def test_how_many_must_go():
    rule = Secret(frozenset("a"), frozenset("b"), 5, Fraction(1, 2))
    assert rule.excess(10, 12) == 5  # down to 5 of 12, which is less than a half
    assert rule.excess(10, 100) == 0
    assert rule.excess(4, 4) == 0
    assert rule.visible(6, 12) and not rule.visible(5, 12)
    assert Secret(frozenset(), frozenset("ab"), 5).excess(10, 100) == 6


def test_what_is_to_stay_must_be_there_and_be_no_secret():
    secrets = parse_secrets(HELD, ["bread, wine"], (), MINER)
    assert parse_kept(HELD, ["beer", "beer"], secrets, 2) == (frozenset({"beer"}),)
    with pytest.raises(BadInput, match="cannot stay frequent: its support is only 0"):
        parse_kept(HELD, ["nappies, wine"], secrets, 2)
    with pytest.raises(NoPromise, match="of which it is a part"):
        parse_kept(HELD, ["beer, bread, wine"], secrets, 2)
