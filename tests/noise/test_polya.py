"""Parts of geometric draws: exact, and as many as are promised make a whole one."""

from fractions import Fraction
from math import ceil

import numpy as np
import pytest
from scipy import stats
from tests.noise.bits import FixedBits, Heads, exact_law

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


def test_the_chance_of_two_over_e_is_its_series():
    """Of coins with 1/3, 1/4, … the first to fail is the k-th: in rationals, up to the twentieth coin."""
    law = exact_law(_flip_two_over_e, choices=20)
    rest = 1 - law[True] - law[False]
    assert 0 < rest < Fraction(1, 10**18)
    assert abs(float(law[True]) - 2 / np.e) < 1e-15


@pytest.mark.parametrize(("scale", "first"), [("1/3", 8), ("1", 8), ("5/4", 16), ("2", 16), ("9/4", 32), ("4", 32)])
def test_the_last_block_begins_at_or_above_eight_times_the_scale(scale, first):
    assert 1 << polya._last(Fraction(scale)) == first
    assert first >= 8 * Fraction(scale) > 0


@pytest.mark.parametrize("scale", ["1/3", "1", "5/2", "40"])
@pytest.mark.parametrize("further", [0, 1, 3])
def test_a_point_beyond_is_kept_with_exactly_its_chance(monkeypatch, scale, further):
    """With the chance 2**halvings q**k 2**block / k, where halvings count the blocks: all coins fall heads."""
    scale = Fraction(scale)
    flips = []
    monkeypatch.setattr(polya, "_flip_two_over_e", lambda entropy: not flips.append(1))
    block, halvings = polya._last(scale) + 1 + further, 9 + further
    for offset in (0, 1, (1 << block) - 1):
        flips.clear()
        bits = Heads(*[1] * further, 0, offset)
        point = polya._beyond(scale, bits)
        assert point == (1 << block) + offset
        assert not bits.script
        assert len(flips) == halvings
        assert bits.factor == Fraction(1 << block, point)
        assert bits.exponent + halvings == point / scale


@pytest.mark.parametrize("tails", ["two over e", "exponential", "rational"])
def test_a_point_beyond_needs_every_coin(monkeypatch, tails):
    class Bits(Heads):
        def flip_exp_ratio(self, a, b):
            return tails != "exponential"

        def flip_ratio(self, a, b):
            return tails != "rational"

    monkeypatch.setattr(polya, "_flip_two_over_e", lambda entropy: tails != "two over e")
    assert polya._beyond(Fraction(1), Bits(0, 5)) == 0


@pytest.mark.parametrize(("count", "parts"), [(1, 1), (5, 3), (6, 7), (100, 1000)])
def test_each_draw_and_block_has_one_place_of_its_own(monkeypatch, count, parts):
    """Of rate · parts places each is one draw's one block, or stands for nothing; the rate is the least with room."""
    scale = Fraction(2)
    blocks = polya._last(scale) + 2
    asked = []

    class Every(FixedBits):
        def many_below(self, n, many):
            asked.append(n)
            return np.arange(n)

    monkeypatch.setattr(polya, "poisson", lambda rate, entropy: asked.append(rate) or 1)
    rows, found = polya._proposed(scale, parts, count, Every(b""))
    rate, places = asked
    assert places == rate * parts
    assert (rate - 1) * parts < count * blocks <= rate * parts
    assert list(zip(rows.tolist(), found.tolist(), strict=True)) == [
        (r, b) for r in range(count) for b in range(blocks)
    ]


def test_points_of_a_block_are_even_and_kept_with_their_chance(monkeypatch):
    """A word gives a place k from 2**j on; a geometric draw must reach it, and a coin of 2**j / k fall heads."""
    blocks = np.array([0, 1, 1, 3, 3, 3, 3])
    words = np.array([5, 2**63, 1, 0, 7, 8, 7], dtype="<u8").tobytes()
    reached = np.array([1, 1, 3, 8, 14, 9, 15])
    asked = {}

    def heads(points, coin, entropy):
        low, high = coin(points)
        asked.update(zip(points.tolist(), zip(low.tolist(), high.tolist(), strict=True), strict=True))
        return np.array([True, True, True, True, True, False, True])

    monkeypatch.setattr(polya, "geometrics", lambda scale, count, entropy: reached)
    monkeypatch.setattr(polya, "heads", heads)
    rows, points = polya._inside(Fraction(3), np.arange(7) * 10, blocks, FixedBits(words))
    assert asked == {1: (1, 1), 2: (2, 2), 3: (2, 3), 8: (8, 8), 15: (8, 15)}
    assert rows.tolist() == [0, 20, 30, 60]
    assert points.tolist() == [1, 3, 8, 15]


def test_of_points_beyond_one_of_256_is_looked_at_and_all_add_up(monkeypatch):
    last = polya._last(Fraction(1))
    rows = np.array([0, 0, 1, 1, 1, 2])
    blocks = np.array([last, last + 1, last + 1, last + 1, 0, last])
    monkeypatch.setattr(polya, "_proposed", lambda scale, parts, count, entropy: (rows, blocks))
    monkeypatch.setattr(polya, "_inside", lambda scale, rows, blocks, entropy: (rows, blocks + 100))
    monkeypatch.setattr(polya, "_beyond", lambda scale, entropy: 2**62)
    shorts = np.array([255, 256, 0], dtype="<u2").tobytes()
    drawn = polyas(Fraction(1), 2, 3, FixedBits(shorts)).tolist()
    assert drawn == [last + 100 + 2**58, 100 + 2**58, last + 100]


def test_many_draws_are_made_in_blocks(monkeypatch):
    monkeypatch.setattr(polya, "_BLOCK", 3)
    sizes = []

    def proposed(scale, parts, count, entropy):
        sizes.append(count)
        return np.arange(count), np.zeros(count, dtype=np.int64)

    monkeypatch.setattr(polya, "_proposed", proposed)
    monkeypatch.setattr(polya, "_inside", lambda scale, rows, blocks, entropy: (rows, rows + 1))
    assert polyas(Fraction(1), 2, 8, FixedBits(b"")).tolist() == [1, 2, 3, 1, 2, 3, 1, 2]
    assert sizes == [3, 3, 2]
