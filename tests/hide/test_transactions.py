from __future__ import annotations

import numpy as np
import pytest

from discreet.errors import BadInput, NotFound
from discreet.verbs.hide.transactions import Transactions, all_ones, places

LECTURE = [("a", "b", "c", "d"), ("a", "b", "c"), ("a", "c", "d")]


def test_supports_of_the_lecture() -> None:
    held = Transactions.of(LECTURE)
    assert [held.support(pair) for pair in ("ab", "bc", "ac")] == [2, 2, 3]
    assert held.support("") == 3
    assert held.supports.tolist() == [3, 2, 3, 2]
    assert held.rows_of("abc").tolist() == [0, 1]
    assert list(held.to_rows()) == LECTURE
    assert held.row(2) == ("a", "c", "d")
    assert str(held) == "3 transactions of 4 items, 3.3 per transaction"


def test_more_rows_than_a_word_has_bits() -> None:
    rows = [tuple(name for place, name in enumerate("abc") if number >> place & 1) for number in range(130)]
    held = Transactions.of(rows)
    assert list(held.to_rows()) == rows
    assert held.support("abc") == sum(len(row) == 3 for row in rows)
    assert [held.row(number) for number in (63, 64, 129)] == [rows[number] for number in (63, 64, 129)]
    assert places(all_ones(130)).tolist() == list(range(130))


def test_items_go_out_and_come_in() -> None:
    held = Transactions.of(LECTURE)
    less = held.without([(1, "a")])
    assert (less.support("abc"), held.support("abc")) == (1, 2)
    assert held.differs(less) == ([(1, "a")], [])
    more = held.changed([(0, "a")], [(1, "d")])
    assert held.differs(more) == ([(0, "a")], [(1, "d")])
    assert more.changed([(1, "d")], [(0, "a")]) == held
    assert held != less
    assert held != "abc"
    assert held.projected("da").items == ("d", "a")
    assert held.projected("da").support("da") == 2


def test_a_cell_given_twice_is_one() -> None:
    assert Transactions.of([("a", "a", "b")]).supports.tolist() == [1, 1]


def test_nothing_and_items_that_nobody_has() -> None:
    empty = Transactions.of([], items="ab")
    assert (empty.rows, empty.support("ab"), list(empty.to_rows())) == (0, 0, [])
    assert Transactions.of([()], items="b").supports.tolist() == [0]


def test_what_is_wrong_is_said() -> None:
    held = Transactions.of([("bread", "wine")])
    with pytest.raises(NotFound, match="did you mean 'bread'"):
        held.support(["bred"])
    with pytest.raises(NotFound, match="no transaction number 1"):
        held.without([(1, "wine")])
    with pytest.raises(BadInput, match="same name"):
        Transactions(("a", "a"), np.zeros((2, 1), np.uint64), 1)
    with pytest.raises(BadInput, match="another shape"):
        Transactions(("a",), np.zeros((1, 2), np.uint64), 1)
    with pytest.raises(BadInput, match="needs the same number of transactions"):
        held.differs(Transactions.of([("bread",)]))
    with pytest.raises(NotFound, match="did you mean 'wine'"):
        held.projected(["win"])


@pytest.mark.parametrize(("row", "item"), [(0, 1), (2, 0), (-1, 0), (0, -1)])
def test_cells_outside_are_refused(row: int, item: int) -> None:
    with pytest.raises(BadInput, match="numbered from 0 to 1"):
        Transactions.from_cells(("a",), np.array([row]), np.array([item]), 2)
