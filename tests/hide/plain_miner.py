"""Mining by trying everything: what the real one is compared with."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import combinations

Itemset = frozenset[str]


def drawn(rng: random.Random, items: str, most: int) -> list[tuple[str, ...]]:
    """Some transactions, sparse or dense."""
    share = rng.choice((0.2, 0.5, 0.9))
    return [tuple(item for item in items if rng.random() < share) for _ in range(rng.randint(1, most))]


def mined(rows: list[tuple[str, ...]], items: str, least: int, longest: int | None = None) -> dict[Itemset, int]:
    held = [frozenset(row) for row in rows]
    sizes = range(1, (longest or len(items)) + 1)
    every = (frozenset(chosen) for size in sizes for chosen in combinations(items, size))
    counted = {itemset: sum(itemset <= row for row in held) for itemset in every}
    return {itemset: support for itemset, support in counted.items() if support >= least}


def implied(found: dict[Itemset, int], confidence: Fraction) -> set[tuple[Itemset, Itemset]]:
    return {
        (whole - right, right)
        for whole, support in found.items()
        for size in range(1, len(whole))
        for right in map(frozenset, combinations(sorted(whole), size))
        if support >= confidence * found[whole - right]
    }
