"""Parts of geometric draws: exact, and as many as are promised make a whole one."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from discreet.errors import BadInput
from discreet.noise.chain import all_heads, heads_before_tails
from discreet.noise.polya import _chance, polyas
from discreet.noise.stream import Stream

FALSE_ALARM = 1e-6


def entropy(label):
    return Stream(bytes(32), (label.encode(),))


@pytest.mark.parametrize("parts", [1, 2, 3, 5, 8])
def test_so_many_parts_make_exactly_a_geometric_law(parts):
    """In rationals: the weights c(k) of the parts, convolved, are 1 for every k, as those of the geometric law."""
    one = [_chance(k, parts) for k in range(31)]
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
        ("2000", 2, 2_000, 1.5),
    ],
)
def test_draws_have_the_law_and_a_wrong_one_is_noticed(scale, parts, count, off):
    """Chi-square at 1e-6 over about 20 cells; a scale or a shape that is 10 % off (of few draws 50 %) is rejected."""
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
    with pytest.raises(BadInput, match="fewer decimals"):
        polyas(Fraction(2**37), 2, 1)


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
