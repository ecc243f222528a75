from __future__ import annotations

import random

import pytest
from tests.hide.plain_miner import drawn, mined

from discreet.errors import BadInput, NotFound
from discreet.samples.baskets import baskets
from discreet.verbs.hide.mining import frequent as home
from discreet.verbs.hide.mining.frequent import frequent, least_of
from discreet.verbs.hide.transactions import Transactions


@pytest.mark.parametrize("seed", range(40))
def test_all_closed_and_maximal_as_by_trying_everything(seed: int) -> None:
    rng = random.Random(seed)  # noqa: S311
    items = "abcdefg"[: rng.randint(1, 7)]
    rows = drawn(rng, items, 150)
    least, longest = rng.randint(1, max(1, len(rows) // 2)), rng.choice((None, 1, 2, 3))
    found = frequent(Transactions.of(rows, items), least, longest=longest)
    right = mined(rows, items, least, longest)
    assert found.as_dict() == right
    assert {one for one, _ in found.keep("maximal")} == {one for one in right if not any(one < two for two in right)}
    assert {one for one, _ in found.keep("closed")} == {
        one for one in right if not any(one < two and right[one] == right[two] for two in right)
    }


def test_looking_up() -> None:
    held = Transactions.of(["abcd", "abc", "acd"])
    found = frequent(held, 2, keep="maximal")
    assert dict(found) == {frozenset("abc"): 2, frozenset("acd"): 2}
    assert (found["ac"], found[""], found.get("bd"), len(found)) == (3, 3, None, 2)
    assert "ac" in found
    assert "bd" not in found
    assert "x" not in found
    assert str(found) == "2 itemsets that at least 2 of 3 transactions have"
    with pytest.raises(NotFound, match=r"\{b, d\} is not frequent"):
        found["bd"]


def test_an_item_in_all_transactions_is_found() -> None:
    assert frequent(Transactions.of(["ab", "a"]), 2).as_dict() == {frozenset("a"): 2}


def test_nothing_is_frequent_in_nothing() -> None:
    found = frequent(Transactions.of([], items="ab"), 1)
    assert (len(found), len(found.keep("closed"))) == (0, 0)


def test_many_rows_against_their_own_supports() -> None:
    held = Transactions.of(baskets(3_000, items=60, patterns=40, seed=5))
    found = frequent(held, 150)
    assert found.deepest > 3
    assert all(held.support(itemset) == support for itemset, support in found)


def test_a_share_is_rounded_up_exactly() -> None:
    assert [least_of(share, rows) for share, rows in ((0.07, 100), ("1/3", 100), (0, 9), (1, 9))] == [7, 34, 1, 9]


def test_what_cannot_be_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    held = Transactions.of(["abc", "abc"])
    with pytest.raises(BadInput, match="at least one transaction"):
        frequent(held, 0)
    with pytest.raises(BadInput, match="at least one item"):
        frequent(held, 1, longest=0)
    with pytest.raises(BadInput, match="all, closed or maximal"):
        frequent(held, 1, keep="some")  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="above 100 %"):
        least_of(2, 9)
    monkeypatch.setattr(home, "MOST_ITEMSETS", 5)
    with pytest.raises(BadInput, match="More than 5 itemsets"):
        frequent(held, 1)
