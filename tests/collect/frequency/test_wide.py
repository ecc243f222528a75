"""Many values, by another way of counting: what the exact examples of the contract are too small for."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats
from tests.noise.bits import Repeatable

from discreet.errors import BadInput, DataError
from discreet.verbs.collect.bit_reports import rows_of
from discreet.verbs.collect.frequency.hadamard import Hadamard
from discreet.verbs.collect.frequency.local_hashing import BLH, OLH, Hashing, bucket_of, meeting, stretches
from discreet.verbs.collect.frequency.subset_selection import SubsetSelection
from discreet.verbs.collect.frequency.unary_encoding import OUE, SUE
from discreet.verbs.collect.frequency_oracle import Client


@pytest.mark.parametrize("d", [63, 64, 65, 1000])
@pytest.mark.parametrize("kind", [OUE, SUE, SubsetSelection])
def test_every_bit_of_a_row_has_its_chance(kind: type[Client], d: int) -> None:
    """The own value is the last; those of all others are taken together, and each by itself."""
    client, n = kind(d, 1), 2000
    drawn = client.randomize(np.full(n, d - 1), entropy=Repeatable(d))
    told = np.unpackbits(rows_of(drawn), axis=1, bitorder="little")
    assert not told[:, d:].any()
    assert client.supports(drawn).tolist() == told[:, :d].sum(axis=0).tolist()
    assert stats.binomtest(int(told[:, d - 1].sum()), n, float(client.own)).pvalue > 1e-6
    sums = told[:, : d - 1].sum(axis=0)
    q = float(client.other)
    assert stats.chi2.sf(((sums - n * q) ** 2 / (n * q * (1 - q))).sum(), d - 1) > 1e-6
    if kind is not SubsetSelection:
        assert stats.binomtest(int(sums.sum()), n * (d - 1), q).pvalue > 1e-6


def test_a_subset_has_its_size_however_large() -> None:
    client = SubsetSelection(1000, "1/100")
    assert client.parameters == {"size": client.size} == {"size": 498}
    told = np.unpackbits(rows_of(client.randomize(np.arange(1000), entropy=Repeatable(1))), axis=1)
    assert set(told.sum(axis=1).tolist()) == {client.size}


@pytest.mark.parametrize("d", [2, 3, 64, 100])
def test_the_transform_counts_what_each_report_supports(d: int) -> None:
    client = Hadamard(d, 1)
    reports = client.randomize(np.arange(500) % d, entropy=Repeatable(3))
    place, plus = reports.to_numpy() // 2, reports.to_numpy() % 2
    agree = [(np.bitwise_count(place & value) % 2 == 0) == (plus == 1) for value in range(d)]
    assert client.supports(reports).tolist() == [int(one.sum()) for one in agree]


def test_no_room_is_made_for_a_report_that_cannot_be() -> None:
    """One made-up number may not cost the collector gigabytes."""
    tracemalloc.start()
    with pytest.raises(DataError, match="A report names a place"):
        Hadamard(40_000, 1).count(pa.array([2**32 - 1], pa.uint32()))
    assert tracemalloc.get_traced_memory()[1] < 10**7
    tracemalloc.stop()


@pytest.mark.parametrize("d", [2, 100])
def test_a_hashed_report_is_tried_on_every_value(d: int) -> None:
    """More reports than are tried at once; by whole numbers, as a person would."""
    client = OLH(d, 1)
    reports = client.randomize(np.arange(5000) % d, entropy=Repeatable(4)).slice(7)
    told = [(int.from_bytes(r[:4], "little"), int.from_bytes(r[4:8], "little"), r[8]) for r in reports.to_pylist()]
    found = [
        sum((a * v + b) % client.field * client.buckets // client.field == at for a, b, at in told) for v in range(d)
    ]
    assert client.supports(reports).tolist() == found


def test_buckets_are_stretches_of_the_field() -> None:
    for field, buckets in ((7, 3), (31, 4), (2**31 - 1, 5)):
        edges = stretches(field, buckets)
        places = np.concatenate([edges[:-1], edges[1:] - 1])
        assert bucket_of(places, field, buckets).tolist() == 2 * list(range(buckets))
    every = [sum(bucket_of(np.arange(7), 7, 3) == bucket) for bucket in range(3)]
    assert meeting(7, 3) * 7**2 == sum(n**2 for n in every)
    assert meeting(7, 3, 3) * 7**3 == sum(n**3 for n in every)


def test_binary_and_optimal_hashing_differ_in_their_buckets() -> None:
    assert (BLH(5, 2).buckets, OLH(5, 2).buckets, OLH(5, 20).buckets, OLH(5, "1/10").buckets) == (2, 8, 256, 2)
    with pytest.raises(BadInput, match="buckets"):
        Hashing(5, 1, 257)

    class Tiny(Hashing):
        field = 3

    with pytest.raises(BadInput, match="no more than 3"):
        Tiny(4, 1, 2)


def test_reports_come_in_parts_that_bound_the_memory() -> None:
    class Few(OUE):
        at_once = 7

    reports = Few(10, 1).randomize(np.arange(20) % 10)
    assert (type(reports), len(reports)) == (pa.FixedSizeBinaryArray, 20)
