"""How unlikely a share of heads is: n coins fall so, or farther off, with a chance of e**-(n divergence) at most."""

from __future__ import annotations

from math import log


def divergence(share: float, chance: float) -> float:
    """Kullback and Leibler's, of two coins."""
    heads = share * log(share / chance) if share > 0 else 0.0
    return heads + ((1 - share) * log((1 - share) / (1 - chance)) if share < 1 else 0.0)


def unlikely(chance: float, coins: float, limit: float) -> float:
    """The share of heads from which on it has a chance of at most e**-limit; above 1 if there is none."""
    if coins * divergence(1.0, chance) < limit:
        return 2.0
    low, high = chance, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if coins * divergence(middle, chance) >= limit else (middle, high)
    return high
