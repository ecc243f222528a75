from __future__ import annotations

from collections import Counter
from itertools import combinations

import pytest

from discreet.errors import BadInput
from discreet.samples.baskets import baskets


def test_the_same_seed_gives_the_same_baskets_of_the_asked_length() -> None:
    made = baskets(1_000, patterns=100, seed=3)
    assert made == baskets(1_000, patterns=100, seed=3) != baskets(1_000, patterns=100, seed=4)
    assert sum(map(len, made)) / 1_000 == pytest.approx(10, abs=0.6)
    assert all(made)
    assert all(list(basket) == sorted(set(basket)) for basket in made)


def test_patterns_are_planted() -> None:
    """The most frequent pair is in far more baskets than independent items would be together."""
    made = baskets(1_000, patterns=100, seed=3)
    single = Counter(item for basket in made for item in basket)
    pairs = Counter(pair for basket in made for pair in combinations(basket, 2))
    (one, other), together = pairs.most_common(1)[0]
    assert together > 3 * single[one] * single[other] / 1_000


def test_few_items_fill_small_baskets() -> None:
    assert {item for basket in baskets(50, items=2, length=2, pattern=1, patterns=3) for item in basket} == {
        "item0",
        "item1",
    }


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(BadInput, match="At least one basket"):
        baskets(0)
    with pytest.raises(BadInput, match="no larger than"):
        baskets(5, items=3, length=9, pattern=2)
