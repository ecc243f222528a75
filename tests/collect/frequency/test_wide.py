"""Many values, by another way of counting: what the exact examples of the contract are too small for."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats
from tests.noise.bits import Repeatable

from discreet.errors import BadInput, DataError
from discreet.verbs.collect.frequency.hadamard import Hadamard
from discreet.verbs.collect.frequency.local_hashing import (
    BLH,
    OLH,
    LocalHashing,
    bucket_edges,
    bucket_of,
    collision_probability,
)
from discreet.verbs.collect.frequency.subset_selection import SubsetSelection
from discreet.verbs.collect.frequency.unary_encoding import OUE, SUE
from discreet.verbs.collect.frequency_oracle import FrequencyOracle
from discreet.verbs.collect.report_arrays import reports_to_rows


@pytest.mark.parametrize("d", [63, 64, 65, 1000])
@pytest.mark.parametrize("kind", [OUE, SUE, SubsetSelection])
def test_every_bit_of_a_row_has_its_chance(kind: type[FrequencyOracle], d: int) -> None:
    """The own value is the last; those of all others are taken together, and each by itself."""
    oracle, n = kind(d, 1), 2000
    drawn = oracle.randomize(np.full(n, d - 1), entropy=Repeatable(d))
    report_codes = np.unpackbits(reports_to_rows(drawn), axis=1, bitorder="little")
    assert not report_codes[:, d:].any()
    assert oracle.supports(drawn).tolist() == report_codes[:, :d].sum(axis=0).tolist()
    assert stats.binomtest(int(report_codes[:, d - 1].sum()), n, float(oracle.p_own)).pvalue > 1e-6
    sums = report_codes[:, : d - 1].sum(axis=0)
    q = float(oracle.q_other)
    assert stats.chi2.sf(((sums - n * q) ** 2 / (n * q * (1 - q))).sum(), d - 1) > 1e-6
    if kind is not SubsetSelection:
        assert stats.binomtest(int(sums.sum()), n * (d - 1), q).pvalue > 1e-6


def test_a_subset_has_its_size_however_large() -> None:
    oracle = SubsetSelection(1000, "1/100")
    assert oracle.parameters == {"size": oracle.size} == {"size": 498}
    report_codes = np.unpackbits(reports_to_rows(oracle.randomize(np.arange(1000), entropy=Repeatable(1))), axis=1)
    assert set(report_codes.sum(axis=1).tolist()) == {oracle.size}


@pytest.mark.parametrize("d", [2, 3, 64, 100])
def test_the_transform_counts_what_each_report_supports(d: int) -> None:
    oracle = Hadamard(d, 1)
    reports = oracle.randomize(np.arange(500) % d, entropy=Repeatable(3))
    index, plus = reports.to_numpy() // 2, reports.to_numpy() % 2
    agree = [(np.bitwise_count(index & value) % 2 == 0) == (plus == 1) for value in range(d)]
    assert oracle.supports(reports).tolist() == [int(one.sum()) for one in agree]


def test_no_room_is_made_for_a_report_that_cannot_be() -> None:
    """One made-up number may not cost the collector gigabytes."""
    tracemalloc.start()
    with pytest.raises(DataError, match="unknown position"):
        Hadamard(40_000, 1).count(pa.array([2**32 - 1], pa.uint32()))
    assert tracemalloc.get_traced_memory()[1] < 10**7
    tracemalloc.stop()


@pytest.mark.parametrize("d", [2, 100])
def test_a_hashed_report_is_tried_on_every_value(d: int) -> None:
    """More reports than are tried at once; by whole numbers, as a person would."""
    oracle = OLH(d, 1)
    reports = oracle.randomize(np.arange(5000) % d, entropy=Repeatable(4)).slice(7)
    report_codes = [
        (int.from_bytes(r[:4], "little"), int.from_bytes(r[4:8], "little"), r[8]) for r in reports.to_pylist()
    ]
    result = [
        sum((a * v + b) % oracle.field * oracle.buckets // oracle.field == at for a, b, at in report_codes)
        for v in range(d)
    ]
    assert oracle.supports(reports).tolist() == result


def test_buckets_are_stretches_of_the_field() -> None:
    for field, buckets in ((7, 3), (31, 4), (2**31 - 1, 5)):
        edges = bucket_edges(field, buckets)
        indices = np.concatenate([edges[:-1], edges[1:] - 1])
        assert bucket_of(indices, field, buckets).tolist() == 2 * list(range(buckets))
    every = [sum(bucket_of(np.arange(7), 7, 3) == bucket) for bucket in range(3)]
    assert collision_probability(7, 3) * 7**2 == sum(n**2 for n in every)
    assert collision_probability(7, 3, 3) * 7**3 == sum(n**3 for n in every)


def test_binary_and_optimal_hashing_differ_in_their_buckets() -> None:
    assert (BLH(5, 2).buckets, OLH(5, 2).buckets, OLH(5, 20).buckets, OLH(5, "1/10").buckets) == (2, 8, 256, 2)
    with pytest.raises(BadInput, match="buckets"):
        LocalHashing(5, 1, 257)

    class Tiny(LocalHashing):
        field = 3

    with pytest.raises(BadInput, match="no more than 3"):
        Tiny(4, 1, 2)


def test_reports_come_in_parts_that_bound_the_memory() -> None:
    class Few(OUE):
        batch_size = 7

    reports = Few(10, 1).randomize(np.arange(20) % 10)
    assert (type(reports), len(reports)) == (pa.FixedSizeBinaryArray, 20)
