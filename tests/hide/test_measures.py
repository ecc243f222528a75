from __future__ import annotations

from fractions import Fraction

import pytest

from discreet.errors import BadInput
from discreet.verbs.hide.measures import Shift, side_effects
from discreet.verbs.hide.transactions import Transactions

LECTURE = Transactions.of(["abcd", "abc", "acd"])
ABC = frozenset("abc")


def test_the_lecture_s_answer_loses_one_pair() -> None:
    after = LECTURE.without([(1, "a")])
    told = side_effects(LECTURE, after, least=2, itemsets={ABC: 2})
    assert told.itemsets.hidden == (Shift(ABC, 2, 1),)
    assert told.itemsets.visible == told.itemsets.artificial == ()
    assert told.itemsets.lost == (Shift(frozenset("ab"), 2, 1),)
    assert (told.itemsets.innocent, told.itemsets.after) == (10, 9)
    assert told.itemsets.misses_cost == pytest.approx(1 / 10)
    assert told.dissimilarity == pytest.approx(1 / 10)
    assert told.information_loss == pytest.approx(3 / 23)  # a, ab and ac lose one each
    assert (told.taken_out, told.put_in, told.touched, told.rules) == (1, 0, 1, None)
    assert str(told.itemsets.lost[0]) == "a, b: 2 → 1"
    assert told.to_dict()["itemsets"]["lost"] == ["a, b: 2 → 1"]


def test_both_extremes() -> None:
    same = side_effects(LECTURE, LECTURE, least=2, itemsets={ABC: 2}, confidence=Fraction(1, 2))
    assert (same.itemsets.hiding_failure, same.itemsets.misses_cost, same.information_loss) == (1, 0, 0)
    assert same.rules is not None
    assert (same.rules.misses_cost, same.rules.artificial_patterns) == (0, 0)
    empty = Transactions.of([(), (), ()], items="abcd")
    gone = side_effects(LECTURE, empty, least=2, itemsets={ABC: 2})
    assert (gone.itemsets.hiding_failure, gone.itemsets.misses_cost) == (0, 1)
    assert (gone.dissimilarity, gone.information_loss, gone.touched) == (1, 1, 3)


def test_what_was_put_in_shows_as_artificial() -> None:
    after = LECTURE.changed((), [(1, "d")])
    told = side_effects(LECTURE, after, least=3)
    assert {shift.itemset for shift in told.itemsets.artificial} == set(map(frozenset, ("d", "ad", "cd", "acd")))
    assert told.itemsets.artificial_patterns == pytest.approx(4 / 7)
    assert (told.taken_out, told.put_in) == (0, 1)


def test_rules_are_hidden_lost_and_made() -> None:
    before = Transactions.of(["ab"] * 6 + ["a"] * 4 + ["b"] * 2)
    secret = (frozenset("a"), frozenset("b"))
    after = before.without([(0, "b")])
    told = side_effects(
        before, after, least=2, confidence=Fraction(3, 5), secret_rules={secret: (2, Fraction(3, 5))}
    ).rules
    assert told is not None
    assert [str(one) for one in told.hidden] == ["a => b: 6 (60.0%) → 5 (50.0%)"]
    assert (told.lost, told.artificial, told.innocent, told.hiding_failure) == ((), (), 1, 0)
    back = side_effects(after, before, least=2, confidence=Fraction(3, 5)).rules
    assert back is not None
    assert [str(one) for one in back.artificial] == ["a => b: 5 (50.0%) → 6 (60.0%)"]
    assert back.to_dict()["artificial_patterns"] == pytest.approx(1 / 2)


def test_a_secret_that_nobody_could_see_counts_nowhere() -> None:
    told = side_effects(LECTURE, LECTURE, least=2, itemsets={ABC: 3})
    assert told.itemsets.visible == told.itemsets.hidden == ()
    assert told.itemsets.hiding_failure == 0


def test_only_the_same_items_and_transactions_are_compared() -> None:
    for other in (LECTURE.projected("abc"), LECTURE.projected("dcba"), Transactions.of(["abcd"])):
        with pytest.raises(BadInput, match="needs the same number of transactions"):
            side_effects(LECTURE, other, least=2)
