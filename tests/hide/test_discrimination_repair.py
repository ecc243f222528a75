from __future__ import annotations

import random
from fractions import Fraction

import pytest
from tests.hide.decided import credits

from discreet.errors import BadInput
from discreet.verbs.hide.discrimination import Disparity, disparity
from discreet.verbs.hide.discrimination_repair import Levelling, Neutralised, needed, neutralise
from discreet.verbs.hide.transactions import Transactions

F, BAD, GOOD = "sex=f", "credit=bad", "credit=good"
HELD = Transactions.of(credits(600, red=True))
RULE = Disparity(frozenset({F}), frozenset(), BAD, 20, 12, 80, 16)


def levelled(way: Levelling) -> Neutralised:
    return neutralise(HELD, protected=(F,), decision=BAD, otherwise=GOOD, least=10, alpha="5/4", way=way)


@pytest.mark.parametrize("way", ["up", "down"])
def test_no_rule_discriminates_afterwards(way: Levelling) -> None:
    told = levelled(way)
    assert told.before.direct
    assert told.before.indirect
    assert (told.after.direct, told.after.indirect) == ((), ())
    now = told.transactions
    for row in range(now.rows):
        was, held = set(HELD.row(row)), set(now.row(row))
        assert len(held & {BAD, GOOD}) == 1
        assert was - {BAD, GOOD} == held - {BAD, GOOD}
        assert (was != held) == (row in told.changed)
        if was != held and way == "up":
            assert {F, BAD} <= was
        if was != held and way == "down":
            assert F not in was
            assert GOOD in was
    assert len(told.changed) < 0.3 * HELD.rows


def test_nothing_changes_where_nothing_discriminates() -> None:
    fair = Transactions.of([(F, BAD), (F,), ("sex=m", BAD), ("sex=m",)] * 10)
    told = neutralise(fair, protected=(F,), decision=BAD, least=2, alpha=1.25)
    assert told.changed == ()
    assert told.transactions == fair


def test_without_another_item_the_decision_just_goes() -> None:
    rows = [(F, BAD)] * 8 + [(F,)] * 2 + [("sex=m", BAD)] * 2 + [("sex=m",)] * 8
    told = neutralise(Transactions.of(rows), protected=(F,), decision=BAD, least=2, alpha=1.25)
    assert told.changed == tuple(range(5))  # 3 of 10 against 5 of 20, elift 6/5; with 4 of 10 and 6 of 20 it is 4/3


@pytest.mark.parametrize("way", ["up", "down"])
@pytest.mark.parametrize("alpha", ["11/10", "3/2", 2])
def test_as_few_changes_as_possible(way: Levelling, alpha: str | int) -> None:
    limit = Fraction(alpha)
    number = needed(RULE, limit, way)

    def lift(changes: int) -> Fraction:
        hit = 12 - changes if way == "up" else 12
        everybody = 28 + (-changes if way == "up" else changes)
        return Fraction(hit, 20) / Fraction(everybody, 100)

    assert lift(number) < limit <= lift(number - 1)


def test_levelling_down_has_always_enough_to_change() -> None:
    hard = Disparity(frozenset({F}), frozenset({"zip=1"}), BAD, 90, 90, 10, 1)
    assert needed(hard, Fraction(101, 100), "down") == 9
    same = Disparity(frozenset({F}), frozenset({"zip=1"}), BAD, 20, 20, 10, 10)
    assert needed(same, Fraction(101, 100), "down") == 0


def test_another_way_is_refused() -> None:
    with pytest.raises(BadInput, match="up or down"):
        neutralise(HELD, protected=(F,), decision=BAD, least=10, alpha=2, way="left")  # type: ignore[arg-type]


@pytest.mark.parametrize("otherwise", [F, BAD])
def test_what_stands_in_for_the_decision_is_neither_it_nor_protected(otherwise: str) -> None:
    with pytest.raises(BadInput, match="cannot replace the decision"):
        neutralise(HELD, protected=(F,), decision=BAD, otherwise=otherwise, least=10, alpha=2)


def test_rules_that_become_rare_on_the_way_are_levelled_too() -> None:
    draw = random.Random(8)  # noqa: S311
    for _ in range(40):
        rows = []
        for _ in range(16):
            old, woman = draw.random() < 0.5, draw.random() < 0.4
            bad = draw.random() < (0.6 if woman else 0.3)
            rows.append(["old"] * old + [F] * woman + [BAD if bad else GOOD])
        held = Transactions.of(rows, [F, "old", BAD, GOOD])
        told = neutralise(held, protected=(F, "old"), decision=BAD, otherwise=GOOD, least=2, alpha="11/10")
        for rule in told.before.direct:
            now = disparity(told.transactions, rule.protected, rule.context, BAD)
            assert now is None or now.elift < Fraction(11, 10)


def test_all_go_free_where_nobody_else_is_hit() -> None:
    assert needed(Disparity(frozenset({F}), frozenset(), BAD, 10, 4, 10, 0), Fraction(5, 4), "up") == 4
