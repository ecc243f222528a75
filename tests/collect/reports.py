"""Every report that a device can make, with its exact chance for every answer: small examples of all protocols."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations, product
from math import prod
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.verbs.collect import report_distribution
from discreet.verbs.collect.frequency.count_mean_sketch import CMS, HCMS, CountMeanSketch
from discreet.verbs.collect.frequency.hadamard import Hadamard
from discreet.verbs.collect.frequency.local_hashing import BLH, OLH, LocalHashing
from discreet.verbs.collect.frequency.projective_geometry import PGR
from discreet.verbs.collect.frequency.randomized_response import GRR, Coins
from discreet.verbs.collect.frequency.subset_selection import SubsetSelection
from discreet.verbs.collect.frequency.unary_encoding import OUE, SUE, UnaryEncoding
from discreet.verbs.collect.frequency_oracle import FrequencyOracle
from discreet.verbs.collect.longitudinal.loloha import LGRR, LOLOHA
from discreet.verbs.collect.longitudinal.rappor import LOSUE, RAPPOR
from discreet.verbs.collect.report_arrays import reports_to_rows


class SmallOLH(OLH):
    """Of functions that can all be tried."""

    field = 7


class SmallBLH(BLH):
    """Of functions that can all be tried."""

    field = 7


class SmallHashing(LocalHashing):
    """Of functions that can all be tried."""

    field = 7


class SmallLOLOHA(LOLOHA):
    """Of functions that can all be tried."""

    field = 7

    @cached_property
    def permanent(self) -> LocalHashing:
        return SmallHashing(self.domain, self.permanent_epsilon, self.buckets)


class AllFunctions(CountMeanSketch):
    """A sketch that has every function once: what one has on average that is drawn."""

    field = 3

    @cached_property
    def coefficients(self) -> NDArray[np.int64]:
        every = np.array(list(product(range(self.field), repeat=3))).T
        assert every.shape == (3, self.functions)
        return every


class AllCMS(AllFunctions, CMS):
    """With a bit for every bucket."""


class AllHCMS(AllFunctions, HCMS):
    """With Hadamard response."""


SMALL: list[FrequencyOracle] = [
    Coins(),
    Coins(["never", "ever"], truth="2/3", heads="9/10"),
    GRR(2, 1),
    GRR("abcdefg", "1/10"),
    SUE(5, 1),
    OUE(2, 1),
    OUE(6, "1/2"),
    RAPPOR(5, 1),
    RAPPOR(3, 1, permanent_epsilon=5),
    SmallBLH(7, 1),
    SmallOLH(6, 1),
    SubsetSelection(2, 1),
    SubsetSelection(10, 1),
    SubsetSelection(9, "1/10"),
    Hadamard(2, 1),
    Hadamard(5, 1),
    Hadamard(8, 3),
    AllCMS(3, 1, functions=27, buckets=2, seed=1),
    AllHCMS(3, 1, functions=27, buckets=2, seed=1),
    PGR(2, 1),
    PGR(6, "1/2"),
    PGR(14, 1),
    PGR(20, 2),
    LGRR(5, 1),
    LGRR(7, 1, permanent_epsilon=3),
    LOSUE(6, 1),
    SmallLOLOHA(6, 1),
]


@dataclass(frozen=True)
class Every:
    """All reports, and the chance of each for each answer."""

    oracle: FrequencyOracle
    reports: pa.Array[Any]
    probabilities: tuple[tuple[Fraction, ...], ...]

    @cached_property
    def supports(self) -> NDArray[np.int64]:
        """A row for each report: which values it supports."""
        return np.array([self.oracle.supports(self.reports.slice(index, 1)) for index in range(len(self.reports))])


def whole(distribution: report_distribution.ReportDistribution) -> Any:
    """The law of all answers, pair by pair, whatever is said to be alike."""
    return distribution.whole if isinstance(distribution, report_distribution.SymmetricAnswers) else distribution


def every(oracle: FrequencyOracle) -> Every:
    """All reports of a small example."""
    d, distribution = len(oracle.domain), whole(oracle.report_distribution)
    if isinstance(oracle, LocalHashing):
        return _hashed(oracle)
    if isinstance(oracle, CountMeanSketch):
        return _sketched(oracle)
    if isinstance(oracle, UnaryEncoding):
        report_codes = list(product((False, True), repeat=d))
        probabilities = tuple(
            tuple(prod(p if heads else 1 - p for heads, p in zip(one, row, strict=True)) for one in report_codes)
            for row in distribution.ones
        )
        return Every(oracle, _bits(np.array(report_codes), oracle.report_type), probabilities)
    if isinstance(oracle, SubsetSelection):
        report_codes = [[value in chosen for value in range(d)] for chosen in combinations(range(d), oracle.size)]
        return Every(oracle, _bits(np.array(report_codes), oracle.report_type), distribution.rows)
    if isinstance(oracle, Hadamard):
        indices = distribution.outcomes
        probabilities = tuple(
            tuple(probability / len(indices) for index in indices for probability in reversed(index.rows[value]))
            for value in range(d)
        )
        return Every(oracle, pa.array(np.arange(oracle.counter_length), oracle.report_type), probabilities)
    assert isinstance(distribution, report_distribution.Matrix)
    return Every(oracle, pa.array(np.arange(len(distribution.rows[0])), oracle.report_type), distribution.rows)


def _bits(report_codes: NDArray[np.bool_], report_type: pa.DataType) -> pa.Array[Any]:
    return pa.array([row.tobytes() for row in np.packbits(report_codes, axis=1, bitorder="little")], report_type)


def _hashed(oracle: LocalHashing) -> Every:
    """Every function, and every bucket that can be told; buckets are looked up as a person would."""
    field, buckets = oracle.field, oracle.buckets
    lie = (1 - oracle.p_own) / (buckets - 1)
    report_codes = list(product(range(field), range(field), range(buckets)))
    reports = [a.to_bytes(4, "little") + b.to_bytes(4, "little") + bytes([bucket]) for a, b, bucket in report_codes]

    def bucket_of(index: int) -> int:
        return max(bucket for bucket in range(buckets) if bucket * field <= index * buckets)

    probabilities = tuple(
        tuple(
            (oracle.p_own if bucket_of((a * value + b) % field) == bucket else lie) / field**2
            for a, b, bucket in report_codes
        )
        for value in range(len(oracle.domain))
    )
    return Every(oracle, pa.array(reports, oracle.report_type), probabilities)


def _sketched(oracle: CountMeanSketch) -> Every:
    """Every function, and every report of the protocol over its buckets."""
    inner = every(oracle.inner)
    rows = reports_to_rows(inner.reports)
    reports, probabilities = [], [[] for _ in oracle.domain.values]
    for function, (a, b, c) in enumerate(oracle.coefficients.T.tolist()):
        reports += [function.to_bytes(2, "little") + row.tobytes() for row in rows]
        for value, row in enumerate(probabilities):
            index = (a * value * value + b * value + c) % oracle.field
            row += [
                probability / oracle.functions
                for probability in inner.probabilities[index * oracle.buckets // oracle.field]
            ]
    return Every(oracle, pa.array(reports, oracle.report_type), tuple(map(tuple, probabilities)))
