"""Projective geometry response: the space, its points, and the transform that counts."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from tests.noise.bits import Repeatable

from discreet.verbs.collect.frequency.projective_geometry import PGR
from discreet.verbs.collect.frequency.subset_selection import SubsetSelection


@pytest.mark.parametrize(("d", "epsilon"), [(13, 1), (40, 1), (57, 2), (100, 1), (250, "1/2")])
def test_the_transform_counts_orthogonal_points(d: int, epsilon: object) -> None:
    """By products of vectors; every value has as many orthogonal points, every pair as many of them in common."""
    oracle = PGR(d, epsilon)
    vectors = np.array([oracle._vector(point) for point in range(oracle.points)])
    assert (
        len({tuple(vector) for vector in vectors.tolist()})
        == oracle.points
        == (oracle.field**oracle.length - 1) // (oracle.field - 1)
    )
    firsts = [vector[np.flatnonzero(vector)[0]] for vector in vectors]
    assert set(firsts) == {1}
    orthogonal = vectors[:d] @ vectors.T % oracle.field == 0
    assert len(set(orthogonal.sum(axis=1).tolist())) == 1
    assert len({int((orthogonal[a] & orthogonal[b]).sum()) for a, b in combinations(range(min(d, 20)), 2)}) == 1
    reports = oracle.randomize(np.arange(3000) % d, entropy=Repeatable(d))
    counts = np.bincount(reports.to_numpy(), minlength=oracle.points)
    assert oracle.supports(reports).tolist() == (orthogonal @ counts).tolist()


def test_counts_stay_whole_when_there_are_very_many() -> None:
    oracle = PGR(1000, 4)
    counts = np.random.default_rng(1).integers(0, 10**8, oracle.points)
    vectors, supported = (
        np.array([oracle._vector(point) for point in range(oracle.points)]),
        oracle.support_counts(counts),
    )
    for value in (0, 1, 999):
        assert supported[value] == counts[vectors @ vectors[value] % oracle.field == 0].sum()


def test_it_is_nearly_as_accurate_as_subset_selection_in_two_bytes() -> None:
    for d, epsilon in ((100, 3), (1000, 1), (1000, 5), (1000, 10)):
        oracle = PGR(d, epsilon)
        assert oracle.report_type.bit_width <= 32
        assert oracle.variance(1000) < 1.1 * SubsetSelection(d, epsilon).variance(1000), (d, epsilon)


def test_the_space_follows_from_the_question() -> None:
    oracle = PGR(1000, 1)
    assert oracle.parameters == {"field": 3, "length": 7}
    assert PGR(100_000, 5).points >= 100_000
