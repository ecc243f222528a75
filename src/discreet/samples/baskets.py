"""Made-up shopping baskets with planted patterns, by the recipe behind the test data called T10I4D100K.

Agrawal and Srikant (1994), "Fast algorithms for mining association rules", section 2.4.3: patterns share items with the
pattern before, some are bought far more often than others, and not everyone buys a whole pattern.
"""

from __future__ import annotations

import numpy as np

from discreet.errors import BadInput

_SHARED = 0.5
"""The mean share of a pattern that is taken from the one before."""
_LEFT_OUT = (0.5, 0.1)
"""The mean and the variance of the chance that one more item of a pattern is left out."""


def baskets(
    rows: int = 100_000,
    *,
    items: int = 1000,
    length: float = 10,
    pattern: float = 4,
    patterns: int = 2000,
    seed: int = 1,
) -> list[tuple[str, ...]]:
    """Baskets of ``length`` items on average, out of ``patterns`` of ``pattern`` items on average.

    The same seed gives the same baskets. The defaults are those of T10I4D100K.
    """
    if min(rows, items, patterns) < 1 or not 1 <= pattern <= items or not 1 <= length <= items:
        raise BadInput(
            "At least one basket, item and pattern are needed, and baskets no larger than the number of items."
        )
    rng = np.random.default_rng(seed)
    known = _patterns(rng, items, pattern, patterns)
    weights = rng.exponential(size=patterns)
    left_out = np.clip(rng.normal(_LEFT_OUT[0], _LEFT_OUT[1] ** 0.5, patterns), 0, 1)
    sizes = np.clip(rng.poisson(length - 1, rows) + 1, 1, items)
    names = [f"item{number:0{len(str(items - 1))}d}" for number in range(items)]
    drawn = iter(rng.choice(patterns, 4 * rows + 100, p=weights / weights.sum()).tolist())
    made: list[tuple[str, ...]] = []
    kept: list[int] = []
    for size in sizes.tolist():
        basket = set(kept)
        kept = []
        while len(basket) < size:
            chosen = next(drawn, None)
            if chosen is None:
                drawn = iter(rng.choice(patterns, 2 * rows + 100, p=weights / weights.sum()).tolist())
                continue
            part = list(known[chosen])
            while part and rng.random() < left_out[chosen]:
                part.pop(int(rng.random() * len(part)))
            if len(basket) + len(part) > size and basket and rng.random() < _SHARED:
                kept = part  # a pattern that does not fit goes into the next basket half of the time
                break
            basket.update(part)
        made.append(tuple(names[number] for number in sorted(basket)))
    return made


def _patterns(rng: np.random.Generator, items: int, mean: float, count: int) -> list[list[int]]:
    """Sets of items: part of each comes from the one before, the rest is drawn with unequal chances."""
    chances = rng.exponential(size=items)
    chances /= chances.sum()
    found: list[list[int]] = []
    for size in np.clip(rng.poisson(mean - 1, count) + 1, 1, items).tolist():
        before = found[-1] if found else []
        shared = min(len(before), round(size * min(1.0, rng.exponential(_SHARED))))
        chosen = set(rng.permutation(before)[:shared].astype(int).tolist())
        while len(chosen) < size:
            chosen.update(rng.choice(items, size - len(chosen), p=chances).tolist())
        found.append(sorted(chosen))
    return found
