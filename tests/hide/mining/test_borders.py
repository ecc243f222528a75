from __future__ import annotations

import random
from itertools import combinations

import pytest
from tests.hide.plain_miner import drawn, mined

from discreet.errors import BadInput
from discreet.verbs.hide.mining.borders import borders, maximal, minimal, revised
from discreet.verbs.hide.mining.frequent import frequent
from discreet.verbs.hide.mining.partition import frequent_in_blocks
from discreet.verbs.hide.transactions import Transactions

ITEMS = "abcdef"


@pytest.mark.parametrize("seed", range(30))
def test_both_borders_as_by_trying_everything(seed: int) -> None:
    rng = random.Random(seed)  # noqa: S311
    rows, least = drawn(rng, ITEMS, 100), rng.randint(1, 40)
    right = mined(rows, ITEMS, least)
    found = borders(frequent(Transactions.of(rows, ITEMS), least), ITEMS)
    every = (frozenset(chosen) for size in range(1, 7) for chosen in combinations(ITEMS, size))
    rare = [one for one in every if one not in right]
    assert sorted(map(sorted, found.positive)) == sorted(map(sorted, maximal(right)))
    assert sorted(map(sorted, found.negative)) == sorted(map(sorted, minimal(rare)))


def test_the_border_that_hiding_should_leave() -> None:
    found = frequent(Transactions.of(["abcd", "abc", "acd"]), 2)
    left = revised(found, ["abc", "abcd"])
    assert left.negative == (frozenset("abc"),)
    assert set(left.positive) == {frozenset("ab"), frozenset("bc"), frozenset("acd")}


def test_borders_need_all_itemsets() -> None:
    held = Transactions.of(["abcd", "abc", "acd"])
    cut, blocks = frequent(held, 2, longest=2), frequent_in_blocks(lambda: [held], "2/3", longest=2)
    for found in (cut, cut.keep("maximal"), blocks):
        with pytest.raises(BadInput, match="more than 2 items were not mined"):
            borders(found, "abcd")
        with pytest.raises(BadInput, match="more than 2 items were not mined"):
            revised(found, ["ab"])
    assert borders(frequent(held, 2, longest=4), "abcd") == borders(frequent(held, 2), "abcd")


def test_maximal_ones_also_where_parts_are_missing() -> None:
    assert maximal(map(frozenset, ("a", "abc", "cd"))) == (frozenset("cd"), frozenset("abc"))
