"""Randomness for masking methods that promise nothing by themselves. The only door to ``numpy.random`` for them.

It is fast and repeatable, and no cryptographic generator: whatever promises a privacy loss draws from ``entropy``.
Without a seed it starts from the operating system's entropy and no one can repeat it; with one, anyone who knows the
seed can take the masking away, and the release says so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from discreet.errors import BadInput
from discreet.noise.entropy import Entropy

Generator: TypeAlias = np.random.Generator


def generator(seed: int | None = None) -> Generator:
    """A generator, seeded by the operating system unless a seed is given."""
    return Draws.of(seed).at()


@dataclass(frozen=True, repr=False)
class Draws:
    """Independent generators, one for each block of rows: what a block gets does not depend on who works on it."""

    root: int

    @classmethod
    def of(cls, seed: int | None = None) -> Draws:
        """The generators of a seed, which is a whole number, or of 128 bits from the operating system."""
        if seed is None:
            return cls(Entropy().bits(128))
        if type(seed) is not int or seed < 0:
            raise BadInput(f"A seed must be a whole number of at least 0, got {seed!r}.")
        return cls(seed)

    def at(self, *key: int) -> Generator:
        """The generator of one block, the same whenever it is asked for."""
        return Generator(np.random.PCG64DXSM(np.random.SeedSequence(self.root, spawn_key=key)))
