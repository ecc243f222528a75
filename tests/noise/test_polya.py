"""Parts of geometric draws: exact, and as many as are promised make a whole one."""

from fractions import Fraction
from math import ceil

import numpy as np
import pytest
from scipy import stats

from discreet.errors import BadInput
from discreet.noise import polya
from discreet.noise.poisson import all_heads, heads_before_tails
from discreet.noise.polya import _flip_two_over_e, polyas
from discreet.noise.stream import Stream

FALSE_ALARM = 1e-6


def entropy(label):
    return Stream(bytes(32), (label.encode(),))


@pytest.mark.parametrize("parts", [1, 2, 3, 5, 8])
def test_so_many_parts_make_exactly_a_geometric_law(parts):
    """In rationals, as series in q: points with rates q**k / (k · parts) add up to weights c(k) q**k.

    These weights, convolved, are 1 for every k, as those of the geometric law. (The series of e to the power of the
    sum of the rates is found by its derivative: k c(k) is the sum of c(k - i) / parts over i = 1 … k.)
    """
    one = [Fraction(1)]
    for k in range(1, 31):
        one.append(sum((one[k - i] * Fraction(i, i * parts) for i in range(1, k + 1)), Fraction(0)) / k)
    whole = [Fraction(1)] + [Fraction(0)] * 30
    for _ in range(parts):
        whole = [sum((whole[i] * one[k - i] for i in range(k + 1)), Fraction(0)) for k in range(31)]
    assert whole == [1] * 31


@pytest.mark.parametrize(
    ("scale", "parts", "count", "off"),
    [
        ("1/2", 2, 100_000, 1.1),
        ("1", 3, 100_000, 1.1),
        ("7/2", 4, 100_000, 1.1),
        ("40", 10, 100_000, 1.1),
        ("2000", 2, 20_000, 1.2),
        ("30000000000", 3, 20_000, 1.2),
    ],
)
def test_draws_have_the_law_and_a_wrong_one_is_noticed(scale, parts, count, off):
    """Chi-square at 1e-6 over about 20 cells; a scale or a shape that is 10 % off (of few draws 20 %) is rejected."""
    scale = Fraction(scale)
    drawn = polyas(scale, parts, count, entropy(f"{scale} {parts}"))

    def p_value(shape, at):
        law = stats.nbinom(shape, -np.expm1(-1 / at))
        edges = np.unique(law.ppf(np.linspace(0, 1, 21)[1:-1]))
        chances = np.diff([0, *law.cdf(edges), 1])
        observed = np.bincount(np.searchsorted(edges, drawn), minlength=len(chances))
        return stats.chisquare(observed, chances * drawn.size).pvalue

    assert p_value(1 / parts, float(scale)) > FALSE_ALARM
    assert p_value(1 / parts, off * float(scale)) < FALSE_ALARM
    assert p_value(off / parts, float(scale)) < FALSE_ALARM


def test_too_wide_a_law_is_refused():
    with pytest.raises(BadInput, match="does not fit"):
        polyas(Fraction(2**51), 2, 1)


def test_a_wide_law_takes_no_longer_than_a_narrow_one():
    """It reads few bits, where a draw that counted up to the result would read as many as the scale."""

    class Counting(Stream):
        read = 0

        def bytes(self, count):
            self.read += count
            return super().bytes(count)

    bits = Counting(bytes(32), (b"wide",))
    assert polyas(Fraction(2**50), 3, 100, bits).max() > 2**40
    assert bits.read < 100_000


@pytest.mark.parametrize(("scale", "first"), [("1/3", 2), ("1", 2), ("5", 16), ("19/2", 32)])
def test_points_beyond_the_last_block_are_kept_with_their_chance(monkeypatch, scale, first):
    """The last block is put where points beyond are not rare: the rates q**k / k from there on are what is kept."""
    monkeypatch.setattr(polya, "_RARE", 0)
    monkeypatch.setattr(polya, "_last", lambda scale: (ceil(scale) - 1).bit_length())
    bits, count, slope = entropy(f"far {scale}"), 20_000, -1 / float(Fraction(scale))
    rates = np.exp(slope * np.arange(first, 2_000)) / np.arange(first, 2_000)
    kept = np.array([point for point in (polya._beyond(Fraction(scale), bits) for _ in range(count)) if point])
    assert kept.min(initial=first) == first
    assert stats.binomtest(kept.size, count, rates.sum()).pvalue > FALSE_ALARM
    near = int((kept < 2 * first).sum())
    assert stats.binomtest(near, count, rates[:first].sum()).pvalue > FALSE_ALARM
    assert scale == "1/3" or stats.binomtest(near, count, 1.6 * rates[:first].sum()).pvalue < FALSE_ALARM


def test_a_coin_of_two_over_e():
    bits = entropy("two over e")
    heads = sum(_flip_two_over_e(bits) for _ in range(20_000))
    assert stats.binomtest(heads, 20_000, 2 / np.e).pvalue > FALSE_ALARM
    assert stats.binomtest(heads, 20_000, 0.7).pvalue < FALSE_ALARM


@pytest.mark.parametrize(("first", "last"), [(1, 0), (1, 5), (3, 40), (2, 700)])
def test_all_heads_has_the_product_as_its_chance(first, last):
    """Chances 1 - 1/(i + 1)², whose product is first (last + 2) / ((first + 1) (last + 1)); 10 % less is rejected."""
    bits = entropy(f"{first} {last}")
    heads = sum(all_heads(first, last, lambda i: (i * i + 2 * i, (i + 1) * (i + 1)), bits) for _ in range(3_000))
    expected = first * (last + 2) / ((first + 1) * (last + 1)) if last else 1.0
    assert stats.binomtest(heads, 3_000, expected).pvalue > FALSE_ALARM
    assert stats.binomtest(heads, 3_000, 0.9 * expected).pvalue < FALSE_ALARM


@pytest.mark.parametrize(("a", "b"), [(0, 5), (1, 2), (99, 100), (999, 1_000)])
def test_heads_before_tails_are_geometric(a, b):
    bits = entropy(f"{a}/{b}")
    drawn = np.array([heads_before_tails(a, b, bits) for _ in range(1_200)])
    if a == 0:
        assert not drawn.any()
        return
    edges = np.unique(stats.geom(1 - a / b, loc=-1).ppf(np.linspace(0, 1, 13)[1:-1]))
    chances = np.diff([0, *stats.geom(1 - a / b, loc=-1).cdf(edges), 1])
    observed = np.bincount(np.searchsorted(edges, drawn), minlength=len(chances))
    assert stats.chisquare(observed, chances * drawn.size).pvalue > FALSE_ALARM
