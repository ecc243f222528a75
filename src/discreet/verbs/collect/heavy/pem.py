"""The k most frequent strings: the prefix extending method (Wang, Li, Jha 2018).

On every level the beginnings with the largest figures are kept, twice as many as are wanted in the end. Its privacy and
the meaning of its error bars are those of ``prefixes``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.exact import Number
from discreet.errors import BadInput
from discreet.verbs.collect.heavy.prefixes import Level, Prefixes


@dataclass(frozen=True, init=False)
class PEM(Prefixes):
    """The prefix extending method: always finds ``k``, however uncertain they are."""

    name = "pem"
    k: int

    def __init__(self, length: int, epsilon: Number, k: int = 16, step: int = 8) -> None:
        super().__init__(length, epsilon, step)
        if k < 1:
            raise BadInput(f"One string or more can be looked for, not {k}.")
        object.__setattr__(self, "k", k)

    @property
    def parameters(self) -> dict[str, Any]:
        """With how many strings are looked for."""
        return {**super().parameters, "k": self.k}

    def keep(self, level: Level) -> NDArray[np.int64]:
        """The largest."""
        figures = level.counts.reshape(-1)
        return np.argsort(-figures, kind="stable")[: self.k if level.last else 2 * self.k]
