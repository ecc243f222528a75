"""Tables: proven bounds, and all the bits it takes where 16 or 64 do not tell."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from tests.core.test_directed_rounding import true_exp_minus
from tests.noise.bits import FixedBits

from discreet.noise.inversion import Law, Table, _times

LAWS = [
    Law(Fraction(1)),
    Law(Fraction(1, 16)),
    Law(Fraction(200)),
    Law(Fraction(1, 50), size=256),
    Law(Fraction(1, 10**9), size=256),
    Law(Fraction(100), size=2),
    Law(Fraction(0), Fraction(1, 2)),
    Law(Fraction(0), Fraction(1, 2 * 60**2)),
    Law(Fraction(0), Fraction(50)),
]
each_law = pytest.mark.parametrize("law", LAWS, ids=str)


def true_cumulative(law: Law, count: int) -> list[Fraction]:
    terms = law.size or 4 * count + 50
    weights = [true_exp_minus(law.linear * k + law.square * k * k) for k in range(terms)]
    total = sum(weights)
    sums = np.cumsum(np.array(weights, dtype=object))
    return [value / total for value in sums[:count]]


@each_law
def test_the_bounds_hold_and_are_tight(law: Law) -> None:
    low, high = law.cumulative(64)
    assert len(low) == (law.size - 1 if law.size else len(high))
    for k, true in enumerate(true_cumulative(law, len(low))):
        assert low[k] <= true * 2**64 + Fraction(1, 10**20)
        assert true * 2**64 <= high[k] + Fraction(1, 10**20)
        assert high[k] - low[k] <= 2
    if law.size is None:
        assert low[-1] >= 2**64 - 2


@each_law
def test_of_all_16_bit_prefixes_each_outcome_gets_its_share(law: Law) -> None:
    """Fed with every prefix once, and each open prefix with the lowest bits that follow it, counts are the law's."""
    table = Table(law)
    everything = np.arange(2**16, dtype="<u2").tobytes()
    counts = Counter(table.draws(2**16, _ThenZeros(everything)).tolist())
    below = 0
    cumulative = true_cumulative(law, len(law.cumulative(64)[0]))
    for k, true in enumerate(cumulative):
        below += counts[k]
        assert -1 <= below - true * 2**16 <= 1


@each_law
def test_a_prefix_on_a_bound_is_told_by_more_bits(law: Law) -> None:
    table = Table(law)
    low, _ = law.cumulative(64)
    fine, _ = law.cumulative(128)
    for k in sorted({0, len(low) // 3, len(low) // 2}):
        if low[k] >= 2**64 - 2 or (k and low[k] - low[k - 1] < 4):
            continue
        prefix, following = divmod(fine[k], 2**64)
        if not 3 < following < 2**64 - 4:
            continue
        assert prefix == low[k]
        for offset, outcome in ((-3, k), (3, k + 1)):
            assert draw(table, prefix, following + offset) == outcome
        assert draw(table, prefix - 1, None) == k
        assert draw(table, prefix + 1, None) == k + 1


def test_what_the_table_does_not_reach_is_reached_with_more_bits() -> None:
    table = Table(Law(Fraction(1)))
    top = 2**64 - 1
    assert draw(table, top, 0) == 44  # 1 - e**-45 < 1 - 2**-64 < 1 - e**-44
    assert 80 < draw(table, top, top - 50) < 90


def draw(table: Table, prefix: int, following: int | None) -> int:
    given = np.array([prefix >> 48], dtype="<u2").tobytes()
    if table._short[prefix >> 48] < 0:
        given += np.array([(prefix & (2**48 - 1)) << 16], dtype="<u8").tobytes()
        if following is not None:
            given += following.to_bytes(8, "little")
    entropy = FixedBits(given)
    drawn = int(table.draws(1, entropy)[0])
    assert entropy.left == b""
    return drawn


class _ThenZeros(FixedBits):
    def bytes(self, count: int) -> bytes:
        return super().bytes(count) if self.left else bytes(count)


@pytest.mark.parametrize("within", [0, 1, 2**47, 2**48 - 2, 2**48 - 1])
@pytest.mark.parametrize("width", [0, 1])
def test_16_bits_tell_unless_a_bound_may_lie_among_what_follows_them(within: int, width: int) -> None:
    """Two outcomes, told apart by a number of 64 bits of which 16 are 7; of width 1 it is open itself."""
    bound = (7 << 48) + within
    law = SimpleNamespace(size=2, cumulative=lambda bits: ([bound], [bound + width]))
    short = Table(law)._short  # type: ignore[arg-type]
    open_ = [7] if width or within else []
    assert np.flatnonzero(short < 0).tolist() == open_
    assert (short[:7] == 0).all() and (short[8 if open_ else 7 :] == 1).all()


def test_a_product_of_intervals_is_rounded_outwards() -> None:
    assert _times((3, 5), (7, 9), 1) == (10, 23)
    assert _times((4, 4), (6, 6), 3) == (3, 3)
