from __future__ import annotations

from collections.abc import Iterator

import pytest

from discreet.errors import DataError
from discreet.samples.baskets import baskets
from discreet.verbs.hide.mining.frequent import frequent, least_of
from discreet.verbs.hide.mining.partition import frequent_in_blocks
from discreet.verbs.hide.mining.rules import rules
from discreet.verbs.hide.transactions import Transactions

ROWS = baskets(1_200, items=40, patterns=30, seed=2)


@pytest.mark.parametrize("size", [270, 590, 5_000])
def test_blocks_tell_the_same_as_all_at_once(size: int) -> None:
    def blocks() -> Iterator[Transactions]:
        return (Transactions.of(ROWS[begin : begin + size]) for begin in range(0, len(ROWS), size))

    whole = frequent(Transactions.of(ROWS), least_of(0.2, len(ROWS)))
    found = frequent_in_blocks(blocks, 0.2)
    assert found.as_dict() == whole.as_dict()
    assert {one for one, _ in found.keep("maximal")} == {one for one, _ in whole.keep("maximal")}
    assert set(rules(found, 0.7).pairs) == set(rules(whole, 0.7).pairs)
    assert frequent_in_blocks(blocks, 0.2, longest=2).as_dict() == {
        one: support for one, support in whole if len(one) < 3
    }


def test_data_that_changes_in_between_is_noticed() -> None:
    parts = [[Transactions.of(["ab"])], [Transactions.of(["ab", "b"])]]
    with pytest.raises(DataError, match="1 transactions at first and 2 later"):
        frequent_in_blocks(lambda: parts.pop(0), 0.5)


def test_no_transactions_at_all() -> None:
    assert len(frequent_in_blocks(list, 0.5)) == 0
