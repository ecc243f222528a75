"""Poisson draws of a whole rate."""

from fractions import Fraction
from itertools import pairwise
from math import isqrt

import numpy as np
import pytest
from scipy import stats
from tests.noise.bits import FixedBits, exact_law

from discreet.errors import BadInput
from discreet.noise import poisson as module
from discreet.noise.poisson import LARGEST_RATE, all_heads, heads, heads_before_tails, poisson
from discreet.noise.stream import Stream

FALSE_ALARM = 1e-6


@pytest.mark.parametrize(("rate", "count"), [(1, 8_000), (2, 8_000), (7, 8_000), (300, 3_000), (10**6, 1_000)])
def test_draws_have_the_law_and_a_wrong_one_is_noticed(rate, count):
    """Chi-square at 1e-6 over cells of about equal chance; a mean a tenth of a deviation (and 10 %) off is rejected."""
    bits = Stream(bytes(32), (b"poisson", str(rate).encode()))
    drawn = np.array([poisson(rate, bits) for _ in range(count)])

    def p_value(law):
        edges = np.unique(law.ppf(np.linspace(0, 1, 13)[1:-1]))
        chances = np.diff([0, *law.cdf(edges), 1])
        observed = np.bincount(np.searchsorted(edges, drawn), minlength=len(chances))
        return stats.chisquare(observed, chances * drawn.size).pvalue

    assert p_value(stats.poisson(rate)) > FALSE_ALARM
    assert p_value(stats.poisson(rate + max(0.2 * rate**0.5, 0.1 * rate))) < FALSE_ALARM


def test_a_rate_is_whole_and_not_too_large():
    assert abs(poisson(LARGEST_RATE, Stream(bytes(32), (b"large",))) - LARGEST_RATE) < 50 * 2**22
    for rate in (0, LARGEST_RATE + 1):
        with pytest.raises(BadInput):
            poisson(rate)


class _Again(Exception):
    pass


@pytest.mark.parametrize("rate", [1, 2, 3, 4, 6])
def test_one_attempt_has_exactly_the_law_in_proportion(rate):
    """Every path of the coins up to where it starts over, in rationals: P(k) / P(k - 1) is rate / k, to the last digit.

    What is proposed is kept with the same chance wherever it lies, or the ratios would not be those of the law.
    """

    def attempt(path):
        first = []
        choose = path.below

        def below(n):
            if first and n == first[0]:
                raise _Again
            first.append(n)
            return choose(n)

        path.below = below
        try:
            return poisson(rate, path)
        except _Again:
            return None

    wide = isqrt(rate) + 1
    law = exact_law(attempt, choices=max(wide + 8, 2 * rate - wide + 2))
    seen = [law[k] for k in range(rate + wide + 4)]
    assert all(value > 0 for value in seen)
    assert [value / before for before, value in pairwise(seen)] == [Fraction(rate, k) for k in range(1, len(seen))]


@pytest.fixture
def flipped(monkeypatch):
    """Coins in arrays that are noted, and fall heads but for those at ``tails``."""
    seen = type("Seen", (), {"blocks": [], "chances": set(), "tails": None})()

    def fall(places, coin, entropy):
        seen.blocks.append(places.tolist())
        had = sum(len(block) for block in seen.blocks[:-1])
        if seen.tails is not None and seen.by_order:
            return np.arange(had, had + len(places)) != seen.tails
        seen.chances |= {coin(place) for place in places.tolist()[:1]}
        return places != seen.tails if seen.tails is not None else np.ones(len(places), dtype=bool)

    seen.by_order = False
    monkeypatch.setattr(module, "heads", fall)
    return seen


class _OneByOne(FixedBits):
    """Coins one by one that are noted, and fall heads but for those at ``tails``."""

    def __init__(self, tails=None):
        self.coins, self.tails = [], tails

    def flip_ratio(self, a, b):
        self.coins.append((a, b))
        return len(self.coins) - 1 != self.tails


@pytest.mark.parametrize("first", [1, 7])
@pytest.mark.parametrize("count", [0, 1, 2, 95, 96, 97, 98, 479, 480, 481, 482, 3000])
def test_every_coin_of_a_chain_is_flipped_once(flipped, first, count):
    """One by one or in arrays: the coins from first to last, each once, none before, between or after them."""
    last = first + count - 1
    bits = _OneByOne()
    assert all_heads(first, last, lambda i: (i, i + 1), bits)
    in_arrays = [place for block in flipped.blocks for place in block]
    assert [a for a, _ in bits.coins] + in_arrays == list(range(first, last + 1))
    assert all(b == a + 1 for a, b in bits.coins)
    assert [len(block) for block in flipped.blocks[:2]] in ([], [96], [96, min(count - 96, 384)])


@pytest.mark.parametrize("count", [1, 5, 96, 97, 500])
def test_one_tail_anywhere_breaks_a_chain(flipped, count):
    for at in {1, 2, count // 2 + 1, count - 1, count} & set(range(1, count + 1)):
        flipped.tails = at
        assert not all_heads(1, count, lambda i: (i, i + 1), _OneByOne(at - 1))


@pytest.mark.parametrize("run", [0, 1, 2, 95, 96, 97, 479, 480, 481, 2015, 2016, 2017, 70_000])
def test_heads_are_counted_up_to_the_first_tail(flipped, run):
    flipped.tails, flipped.by_order = run, True
    assert heads_before_tails(999, 1000, FixedBits(b"")) == run
    if run < 100:
        bits = _OneByOne(run)
        assert heads_before_tails(1, 2, bits) == run
        assert bits.coins == [(1, 2)] * (run + 1)


def test_a_run_of_heads_flips_the_coin_it_was_given(flipped):
    flipped.tails = 40
    assert heads_before_tails(997, 1000, FixedBits(b"")) == 40
    assert flipped.chances == {(997, 1000)}


@pytest.mark.parametrize("b", [1, 2, 3, 5, 7, 2**16, 2**61, 2**62 - 1, 10**18])
def test_a_coin_of_an_array_is_exact(b):
    """Words below the largest multiple of b count, by their remainder; those from it on are drawn again."""
    whole = 2**64 // b * b
    a = b // 2 + 1 if b > 1 else 1

    def fallen(*words):
        bits = FixedBits(np.array(words, dtype="<u8").tobytes())
        found = heads(np.array([5]), lambda i: (a, b), bits).tolist()
        assert not bits.left
        return found

    assert fallen(0) == [True]
    assert fallen(a - 1) == [True]
    assert fallen(whole - 1) == [b - 1 < a]
    if a < b:
        assert fallen(a) == [False]
        assert fallen(whole - b + a) == [False]
    if whole < 2**64:
        assert fallen(whole, a - 1) == [True]
        assert fallen(2**64 - 1, whole, 0) == [True]


def test_only_the_words_that_are_too_large_are_drawn_again():
    words = np.array([2**64 - 1, 1, 2**64 - 1, 0, 2], dtype="<u8").tobytes()
    assert heads(np.arange(3), lambda i: (1, 3), FixedBits(words)).tolist() == [True, False, False]
    chances = heads(np.array([1, 2]), lambda i: (i, i + 1), FixedBits(np.array([1, 1], dtype="<u8").tobytes()))
    assert chances.tolist() == [False, True]
