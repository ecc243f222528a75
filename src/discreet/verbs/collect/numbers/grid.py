"""A declared grid of numbers, so that a report distribution is a finite table.

A number is cut to the declared range and then rounded at random to one of the two points beside it, the nearer the
likelier, so that it is right on average. Why this costs no privacy: what is reported of the number is a mixture of what
is reported of the two points, and a quotient of mixtures is never beyond the worst quotient of what is mixed.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.core.exact import Number, signed
from discreet.errors import BadInput, DataError
from discreet.noise.entropy import Entropy
from discreet.verbs.collect.domain import Codes, Floats, Values, plain_fields, set_fields

MAX_STEPS = 4096
_ROUNDING_BITS = 53


@dataclass(frozen=True, init=False)
class NumberGrid:
    """A grid of ``steps`` equal steps from ``low`` to ``high``, declared before anyone answers."""

    low: Fraction
    high: Fraction
    steps: int

    def __init__(self, low: Number, high: Number, steps: int = 256) -> None:
        set_fields(self, low=signed(low, "low"), high=signed(high, "high"), steps=steps)
        if self.low >= self.high:
            raise BadInput(f"A grid goes from a number to a larger one, got {low} to {high}.")
        if type(steps) is not int or not 1 <= steps <= MAX_STEPS:
            raise BadInput(f"A grid has 1 to {MAX_STEPS} steps, got {steps!r}.", hint="For example 256.")

    @property
    def step(self) -> Fraction:
        """Width of a step."""
        return (self.high - self.low) / self.steps

    @property
    def parameters(self) -> dict[str, Any]:
        return plain_fields(self)

    def round_randomly(self, values: Values, entropy: Entropy) -> Codes:
        """Round each number at random to a point beside it, from 0 to ``steps`` (by 53 binary digits)."""
        at = self._steps_of(self.numbers(values))
        below = np.minimum(np.floor(at), self.steps - 1)
        part = ((at - below) * 2.0**_ROUNDING_BITS).astype(np.uint64)
        return below.astype(np.int64) + (entropy.words(at.size) >> np.uint64(64 - _ROUNDING_BITS) < part)

    def cells(self, values: Values) -> Codes:
        """Cell of each number, from 0 to ``steps`` - 1; a number on an edge is in the upper."""
        return np.minimum(np.floor(self._steps_of(self.numbers(values))), self.steps - 1).astype(np.int64)

    def value(self, steps: Floats | float) -> Any:
        """Number that is ``steps`` steps above the lowest."""
        return float(self.low) + steps * float(self.step)

    def numbers(self, values: Values) -> Floats:
        """Convert answers to floating-point numbers; a missing one is an error."""
        try:
            array = values if isinstance(values, np.ndarray | pa.Array | pa.ChunkedArray) else pa.array(list(values))
            numbers = np.asarray(array, dtype=np.float64)
        except (pa.ArrowException, TypeError, ValueError):  # what it says may quote an answer
            raise DataError("An answer is not a number.") from None
        if np.isnan(numbers).any():
            raise DataError("A number is missing.", hint="Leave out people who did not answer.")
        return numbers

    def _steps_of(self, numbers: Floats) -> Floats:
        """Steps of each number above the lowest, cut to the grid."""
        cut = np.clip(numbers, float(self.low), float(self.high))
        return np.clip((cut - float(self.low)) * (self.steps / float(self.high - self.low)), 0, self.steps)
