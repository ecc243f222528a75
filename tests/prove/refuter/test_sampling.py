"""Bounds of chances from counts."""

from fractions import Fraction

import pytest

from discreet.verbs.prove.refuter.sampling import clopper_pearson_lower


@pytest.mark.parametrize(("hits", "runs"), [(17, 5000), (400, 600), (600, 600), (599, 600), (0, 10)])
def test_the_bound_is_clopper_and_pearsons(hits, runs):
    from scipy.stats import beta

    expected = beta.ppf(1e-9, hits, runs - hits + 1) if hits else 0.0
    found = float(clopper_pearson_lower(hits, runs, Fraction(1, 10**9)))
    assert found == pytest.approx(expected, rel=1e-5)
    assert found <= expected + 1e-12
