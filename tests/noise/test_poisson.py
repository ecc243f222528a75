"""Poisson draws of a whole rate."""

import numpy as np
import pytest
from scipy import stats

from discreet.errors import BadInput
from discreet.noise.poisson import LARGEST_RATE, poisson
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
