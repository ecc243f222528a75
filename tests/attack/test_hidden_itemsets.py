from __future__ import annotations

import random
from itertools import combinations, product

import numpy as np

from discreet.verbs.attack.finding import Outcome
from discreet.verbs.attack.hidden_itemsets import guess_hidden, suspects

ITEMS = [f"i{number}" for number in range(14)]


def packed(rows: list[set[str]]) -> np.ndarray:
    """A row of words an item."""
    there = np.array([[item in row for row in rows] for item in ITEMS])
    padded = np.zeros((len(ITEMS), -(-len(rows) // 64) * 64), np.uint8)
    padded[:, : len(rows)] = there
    return np.packbits(padded, axis=1, bitorder="little").view(np.uint64)


def drawn(seed: int) -> list[set[str]]:
    rng = random.Random(seed)  # noqa: S311
    return [{item for item in ITEMS if rng.random() < 0.45} for _ in range(700)]


def support(rows: list[set[str]], itemset: frozenset[str]) -> int:
    return sum(itemset <= row for row in rows)


def test_suspects_are_the_minimal_infrequent_itemsets() -> None:
    rows, least = drawn(1), 68
    found = suspects(ITEMS, packed(rows), len(rows), least, longest=3)
    every = [frozenset(chosen) for size in (1, 2, 3) for chosen in combinations(ITEMS, size)]
    counted = {one: support(rows, one) for one in every}
    right = {
        one: many
        for one, many in counted.items()
        if len(one) > 1 and many < least and all(len(one) == 1 or counted[one - {item}] >= least for item in one)
    }
    assert {one.itemset: one.support for one in found} == right
    assert [one.support for one in found] == sorted(right.values(), reverse=True)


def test_whoever_stops_just_below_the_threshold_is_found_out() -> None:
    rows, least = drawn(2), 100
    secrets = [frozenset(pair) for pair in (("i0", "i1"), ("i2", "i3"), ("i4", "i5"), ("i6", "i7"), ("i8", "i9"))]
    secrets += [frozenset(("i10", "i11")), frozenset(("i12", "i13"))]
    for margin, outcome in ((1, Outcome.BROKE), (60, Outcome.NOTHING)):
        hidden = [set(row) for row in rows]
        for secret in secrets:
            having = [row for row in hidden if secret <= row]
            for row in having[least - margin :]:
                row.discard(min(secret))
        told = guess_hidden(ITEMS, packed(hidden), len(hidden), least, secrets)
        assert told.outcome is outcome, (margin, told)
        assert told.details["secrets"] == 7


def test_it_is_told_apart_where_secrets_are_all_that_is_suspicious() -> None:
    """All pairs are frequent but the secret ones: naming all suspects is no guess."""
    secrets = [frozenset(pair) for pair in (("i0", "i1"), ("i2", "i3"), ("i4", "i5"), ("i6", "i7"), ("i8", "i9"))]
    rows = [set(ITEMS) - set(lacking) for lacking in product(*secrets)]
    told = guess_hidden(ITEMS, packed(rows), 32, 8, secrets)
    assert (told.figure, told.outcome) == (1.0, Outcome.BROKE)
    assert told.baseline == 5 / 91
    assert told.details == {"suspects": 5, "secrets": 5, "secrets out of reach": 0}


def test_secrets_of_any_length_are_looked_for_and_those_out_of_reach_are_told() -> None:
    four, far = frozenset(ITEMS[:4]), frozenset((ITEMS[4], ITEMS[5]))
    rows = [set(ITEMS[:4]) - {ITEMS[place % 4]} for place in range(80)] + [set(ITEMS[:4])] * 9
    told = guess_hidden(ITEMS, packed(rows), len(rows), 10, [four, far])
    assert told.figure == 0.5
    assert told.details["secrets out of reach"] == 1


def test_nothing_to_guess() -> None:
    bits = packed(drawn(3))
    assert guess_hidden(ITEMS, bits, 700, 1, [{"i0", "i1"}]).outcome is Outcome.FAILED
    assert guess_hidden(ITEMS, bits, 700, 100, []).outcome is Outcome.FAILED
