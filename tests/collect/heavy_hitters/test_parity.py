"""Local hashing by parities: exact, for every random row there is."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from tests.noise.bits import Repeatable

from discreet.verbs.collect.heavy_hitters import ParityHashing, hashed
from discreet.verbs.collect.protocol import audit


@pytest.mark.parametrize(("epsilon", "buckets"), [(Fraction(1, 2), 2), (Fraction(1), 4), (Fraction(3), 16)])
def test_audit(epsilon: Fraction, buckets: int) -> None:
    oracle = ParityHashing(epsilon)
    assert oracle.buckets == buckets
    result = audit(oracle)
    assert result.holds
    assert result.epsilon == pytest.approx(float(epsilon), abs=1e-12)


def test_two_strings_share_a_bucket_exactly_as_often_as_is_said() -> None:
    """Strings of 4 bits, 3 parities: all rows of 6 bits, and all pairs; the buckets of a pair differ evenly."""
    rows = np.array([[row, 0] for row in range(64)], dtype=np.uint64)
    for one, other in product(range(16), repeat=2):
        if one == other:
            continue
        buckets = [hashed(rows, np.full((64, 1), string, dtype=np.uint64), 3) for string in (one, other)]
        assert (np.bincount(buckets[0] ^ buckets[1], minlength=8) == 8).all()


def test_a_support_of_another_string_is_exactly_q() -> None:
    """By the law: own bucket with p, any other evenly; the other string's bucket is even given the own one."""
    for epsilon in (Fraction(1), Fraction(3)):
        oracle = ParityHashing(epsilon)
        g, p = oracle.buckets, oracle.p_own
        assert p * Fraction(1, g) + (1 - p) / (g - 1) * (1 - Fraction(1, g)) == oracle.q_other


def test_rows_go_over_words() -> None:
    """A string whose only bit is the last of a word: its j-th parity is the row's bit j places further."""
    row = np.array([[1 << 63, 0b0101, 0]], dtype=np.uint64)
    assert hashed(row, np.array([[1 << 63, 0]], dtype=np.uint64), 4)[0] == 0b1011


def test_all_ways_to_go_on_are_counted_as_one_by_one() -> None:
    oracle, entropy = ParityHashing(Fraction(3)), Repeatable(1)
    strings = entropy.words(2 * 200).reshape(200, 2)
    rows, report_codes = oracle.draw(strings, entropy)
    prefixes = strings[:3] & np.array([2**60 - 1, 0], dtype=np.uint64)
    counts = oracle.supports(rows, report_codes, prefixes, 60, 8)
    for index, end in product(range(3), (0, 1, 77, 255)):
        whole = prefixes[index] | np.array([end << 60 & 2**64 - 1, end >> 4], dtype=np.uint64)
        assert counts[index, end] == (hashed(rows, np.tile(whole, (200, 1)), oracle.parities) == report_codes).sum()


def test_estimates_are_unbiased_over_many_reports() -> None:
    """One string of 3 bits against another: within six deviations of the exact mean, a fixed seed."""
    oracle, entropy, n = ParityHashing(Fraction(1)), Repeatable(2), 40_000
    rows, report_codes = oracle.draw(np.full((n, 1), 0b101, dtype=np.uint64), entropy)
    supports = oracle.supports(rows, report_codes, np.zeros((1, 1), dtype=np.uint64), 0, 3)[0]
    p, q = float(oracle.p_own), float(oracle.q_other)
    counts = (supports - n * q) / (p - q)
    spread = np.sqrt(oracle.variance(n, np.eye(8)[0b101]))
    assert (np.abs(counts - n * np.eye(8)[0b101]) < 6 * spread).all()
