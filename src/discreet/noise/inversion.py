"""Fast exact draws by looking up the first bits of a uniform real number in a table of proven bounds."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from discreet.core.exact import exp_minus
from discreet.noise.entropy import Entropy, Integers, Words

_GUARD = 64
_WORD, _SHORT = 64, 16


@dataclass(frozen=True)
class Law:
    """P(k) in proportion to e**-(linear·k + square·k²) for k = 0, 1, …, size - 1 (``None``: without end)."""

    linear: Fraction
    square: Fraction = Fraction(0)
    size: int | None = None

    def cumulative(self, bits: int) -> tuple[list[int], list[int]]:
        """Bounds low[k] <= P(X <= k) * 2**bits <= high[k], until what lies beyond is below 2**-bits.

        The last k of a finite distribution is left out: its P(X <= k) is 1.

        Why this is right: every weight is the one before times a ratio, and every ratio the one before times
        a constant; all are held between two integers and rounded outwards. Ratios do not grow, so the weights
        beyond the last add up to at most the first of them over one minus its ratio to the next.
        """
        p = bits + _GUARD
        one = 1 << p
        ratio, bend = exp_minus(self.linear + self.square, p), exp_minus(2 * self.square, p)
        weight = (one, one)
        lows, highs = [one], [one]
        while self.size is None or len(lows) < self.size:
            weight, ratio = _times(weight, ratio, p), _times(ratio, bend, p)
            beyond = -(-(weight[1] << p) // (one - ratio[1])) if ratio[1] < one else one
            if self.size is None and beyond << (bits + 1) < one:
                break
            lows.append(lows[-1] + weight[0])
            highs.append(highs[-1] + weight[1])
        all_low, all_high = lows[-1], highs[-1] + (beyond if self.size is None else 0)
        kept = len(lows) if self.size is None else self.size - 1
        return (
            [(low << bits) // all_high for low in lows[:kept]],
            [min(-(-(high << bits) // all_low), 1 << bits) for high in highs[:kept]],
        )


class Table:
    """Draws from a distribution by inversion: X is the first k with U < P(X <= k), for a uniform real number U.

    Why this is right: of U only the first 16 bits are drawn. They leave U in an interval; where no bound of the
    table can lie in that interval, X is known whatever the other bits are. Where one can, 48 bits more are
    drawn, and after those 64 at a time, against bounds computed as finely. So X is exactly what the whole of U
    would have given, and a bound that is not tight costs time, never exactness.
    """

    def __init__(self, law: Law) -> None:
        self._law = law
        low, high = law.cumulative(_WORD)
        self._low = np.array(low, dtype=np.uint64)
        self._last_unsure = np.array([bound - 1 for bound in high], dtype=np.uint64)
        first = np.arange(1 << _SHORT, dtype=np.uint64) << np.uint64(_WORD - _SHORT)
        k, known = self._look_up(first)
        k_at_end, known_at_end = self._look_up(first + np.uint64((1 << (_WORD - _SHORT)) - 1))
        self._short = np.where(known & known_at_end & (k == k_at_end), k, -1).astype(np.int16)

    def draws(self, count: int, entropy: Entropy) -> Integers:
        """``count`` independent draws."""
        short = entropy.shorts(count)
        drawn = self._short[short].astype(np.int64)
        open_ = np.flatnonzero(drawn < 0)
        prefix = short[open_].astype(np.uint64) << np.uint64(_WORD - _SHORT) | entropy.words(open_.size) >> np.uint64(
            _SHORT
        )
        k, known = self._look_up(prefix)
        for i in np.flatnonzero(~known):
            k[i] = self._refined(int(prefix[i]), entropy)
        drawn[open_] = k
        return drawn

    def _look_up(self, prefix: Words) -> tuple[Integers, np.ndarray[tuple[int], np.dtype[np.bool_]]]:
        k = np.searchsorted(self._low, prefix, side="right")
        known = (k == 0) | (prefix > self._last_unsure[k - 1])
        if self._law.size is None:
            known &= k < self._low.size
        return k.astype(np.int64, copy=False), known

    def _refined(self, prefix: int, entropy: Entropy) -> int:
        bits = _WORD
        while True:
            bits += _WORD
            prefix = prefix << _WORD | entropy.bits(_WORD)
            low, high = self._law.cumulative(bits)
            k = bisect_right(low, prefix)
            if (k == 0 or prefix >= high[k - 1]) and (k < len(low) or self._law.size is not None):
                return k


@lru_cache(maxsize=64)
def table(law: Law) -> Table:
    """Table of a distribution, cached for the next draw."""
    return Table(law)


def _times(left: tuple[int, int], right: tuple[int, int], p: int) -> tuple[int, int]:
    return left[0] * right[0] >> p, -(-left[1] * right[1] >> p)
