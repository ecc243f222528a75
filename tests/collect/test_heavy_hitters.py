"""Frequent strings that nobody knew beforehand: both methods find them, with error bars that hold.

Local hashing by parities: exact, for every random row there is.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import binom
from tests.noise.bits import Repeatable

from discreet.errors import BadInput, DataError
from discreet.verbs.collect.heavy_hitters import PEM, HeavyHitters, ParityHashing, PrefixSearch, PrefixTree, hashed
from discreet.verbs.collect.protocol import audit

PEOPLE = {"anna": 9000, "anne": 6000, "bo": 5000, "bob": 4000, "çelik": 3000, "dominique-marie": 3000}
VALUES = [name for name, count in PEOPLE.items() for _ in range(count)] + [f"rare{number}" for number in range(2000)]
METHODS: list[PrefixSearch] = [PEM(6, 4, k=6), PrefixTree(6, 4), PEM(6, 4, k=6, step=5), PrefixTree(6, 4, step=3)]


def true(result: HeavyHitters) -> np.ndarray:
    """How many people really have what was found."""
    cut = [value.encode()[:6] for value in VALUES]
    return np.array([cut.count(string) for string in result.strings])


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_frequent_strings_are_found_with_bars_that_hold(method: PrefixSearch) -> None:
    result = method.estimate(method.randomize(VALUES, entropy=Repeatable(1)), confidence=1 - 1e-6)
    assert {b"anna", b"anne", b"bo", b"bob", "çelik".encode()} <= set(result.strings)
    assert b"domini" in result.strings  # cut off at six bytes
    assert (np.abs(result.counts - true(result)) <= result.error_bars_together).all()
    assert result.table().num_rows == len(result.strings)


def test_bars_cover_at_the_stated_rate() -> None:
    """All strings tried on the last level together, at 80 %: the number of runs in which one bar fails is binomial.

    With probability 1e-6 a right method fails this; the seed is fixed.
    """
    method, entropy, runs = PEM(1, 2, k=4), Repeatable(7), 300
    values = ["a"] * 300 + ["b"] * 150 + ["c"] * 50
    missed = 0
    for _ in range(runs):
        result = method.estimate(method.randomize(values, entropy=entropy), confidence=0.8)
        held = np.array([values.count(string.decode("latin-1")) for string in result.strings])
        missed += bool((np.abs(result.counts - held) > result.error_bars_together).any())
    assert missed <= binom.isf(1e-6, runs, 0.2)


def test_the_tree_finds_nothing_that_is_not_there() -> None:
    method = PrefixTree(4, 1)
    result = method.estimate(method.randomize([f"{number:04x}" for number in range(20_000)], entropy=Repeatable(2)))
    assert result.strings == ()
    assert result.table().num_rows == 0


def test_few_reports_and_a_large_loss_find_nothing_that_is_not_there() -> None:
    """Everybody has one string; at 80 %, the number of runs in which another is found is binomial at most."""
    method, entropy, runs = PrefixTree(2, 5), Repeatable(5), 200
    wrong = 0
    for _ in range(runs):
        result = method.estimate(method.randomize(["ab"] * 500, entropy=entropy), confidence=0.8)
        assert b"ab" in result.strings
        wrong += len(result.strings) > 1
    assert wrong <= binom.isf(1e-6, runs, 0.2)


def test_whoever_is_within_reach_is_found() -> None:
    """Just at the reach, on twenty runs at 95 %: fewer than 14 would be seen with a chance below 1e-5."""
    method, n, entropy = PrefixTree(2, 2, most=16), 6000, Repeatable(3)
    reach = int(method.detectable_count(n)) + 1
    values = ["zz"] * reach + [f"{number % 50:02d}" for number in range(n - reach)]
    runs = [method.estimate(method.randomize(values, entropy=entropy)) for _ in range(20)]
    assert sum(b"zz" in result.strings for result in runs) >= 14
    assert method.detectable_count(100 * n) < 11 * reach


@pytest.mark.parametrize("method", [PEM(3, 1), PrefixTree(3, 1)], ids=repr)
def test_a_person_loses_epsilon(method: PrefixSearch) -> None:
    assert audit(method).holds
    assert method.loss.epsilon == method.epsilon == 1
    assert method.parameters["length"] == 3


def test_what_cannot_be_used_is_refused() -> None:
    method = PEM(4, 1)
    reports = method.randomize(["a"] * 100)
    with pytest.raises(DataError, match="zero byte"):
        method.randomize([b"a\0b"])
    with pytest.raises(DataError, match="are fixed_size_binary"):
        method.estimate(pa.array([1, 2]))
    with pytest.raises(DataError, match="unknown level or bucket"):
        method.estimate(pa.array([b"\xff" * 19], reports.type))
    with pytest.raises(BadInput, match="no reports"):
        method.estimate(reports[:1])
    with pytest.raises(BadInput, match="Confidence"):
        method.estimate(reports, confidence=1)
    for wrong in ({"length": 0}, {"length": 65}, {"step": 9}, {"k": 0}):
        with pytest.raises(BadInput):
            PEM(**{"length": 4, "epsilon": 1, **wrong})
    with pytest.raises(BadInput):
        PrefixTree(4, 1, most=0)


def test_chunks_of_reports_are_one() -> None:
    method = PEM(2, 3, k=2)
    reports = method.randomize(["ab"] * 500 + ["cd"] * 300, entropy=Repeatable(4))
    chunked = pa.chunked_array([reports[:100], reports[100:]])
    assert method.estimate(chunked).strings == method.estimate(reports).strings == (b"ab", b"cd")


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
