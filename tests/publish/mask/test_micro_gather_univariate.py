"""One column is grouped best of all."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.verbs.publish.mask.micro.gather import optimal


def lost(values, of):
    return sum(((values[of == group] - values[of == group].mean()) ** 2).sum() for group in range(of.max() + 1))


def least(values, k):
    """The least that can be lost by runs of any size from k on."""
    ordered = np.sort(values)

    @cache
    def best(end):
        if end == 0:
            return 0.0
        return min(
            (
                best(start) + ((ordered[start:end] - ordered[start:end].mean()) ** 2).sum()
                for start in range(end - k + 1)
            ),
            default=np.inf,
        )

    return best(len(values))


def partitions(places, k):
    """Every way of grouping places in groups of at least k."""
    if not places:
        yield []
        return
    first, *rest = places
    for pattern in range(1 << len(rest)):
        group = [first, *(place for at, place in enumerate(rest) if pattern >> at & 1)]
        if len(group) >= k:
            yield from ([group, *more] for more in partitions([p for p in rest if p not in group], k))


@settings(max_examples=80, deadline=None)
@given(st.lists(st.integers(-20, 20), min_size=1, max_size=40), st.integers(1, 9))
def test_nothing_less_can_be_lost_by_runs(values, k):
    column = np.array(values, dtype=float)
    k = min(k, len(column))
    of = optimal(column, k)
    assert np.bincount(of).min() >= k
    assert np.bincount(of).max() < max(2 * k, 2)
    assert lost(column, of) == pytest.approx(least(column, k), abs=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_nor_by_any_other_groups(seed):
    column = np.random.default_rng(seed).lognormal(0, 1.5, 9)
    every = min(
        sum(((column[group] - column[group].mean()) ** 2).sum() for group in groups)
        for groups in partitions(list(range(9)), 3)
    )
    assert lost(column, optimal(column, 3)) == pytest.approx(every)


def test_groups_are_runs_in_order():
    of = optimal(np.array([5.0, 1, 9, 1.1, 5.1, 9.1, 1.2]), 2)
    assert of.tolist() == [1, 0, 2, 0, 1, 2, 0]


def test_small_differences_count_far_from_zero_and_in_long_columns():
    """Sums over the whole column would drown what is lost in a group: 1e-14 of 1e+12."""
    rng = np.random.default_rng(1)
    near = np.sort(rng.normal(size=6_000))
    moved = np.rint(near * 2**40) / 2**40
    assert (optimal(moved, 3) == optimal(moved + 4096.0, 3)).all()
    of = optimal(moved, 3)
    first = moved[of < 60]
    assert lost(first, of[of < 60]) == pytest.approx(least(first, 3), rel=1e-9)
