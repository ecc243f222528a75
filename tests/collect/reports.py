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

from discreet.verbs.collect import report_distribution as laws
from discreet.verbs.collect.bit_reports import rows_of
from discreet.verbs.collect.frequency.coins import Coins
from discreet.verbs.collect.frequency.count_mean_sketch import CMS, HCMS, Sketch
from discreet.verbs.collect.frequency.grr import GRR
from discreet.verbs.collect.frequency.hadamard import Hadamard
from discreet.verbs.collect.frequency.local_hashing import BLH, OLH, Hashing
from discreet.verbs.collect.frequency.projective_geometry import PGR
from discreet.verbs.collect.frequency.subset_selection import SubsetSelection
from discreet.verbs.collect.frequency.unary_encoding import OUE, SUE, Unary
from discreet.verbs.collect.frequency_oracle import Client
from discreet.verbs.collect.longitudinal.l_grr import LGRR
from discreet.verbs.collect.longitudinal.loloha import LOLOHA
from discreet.verbs.collect.longitudinal.rappor import LOSUE, RAPPOR


class SmallOLH(OLH):
    """Of functions that can all be tried."""

    field = 7


class SmallBLH(BLH):
    """Of functions that can all be tried."""

    field = 7


class SmallHashing(Hashing):
    """Of functions that can all be tried."""

    field = 7


class SmallLOLOHA(LOLOHA):
    """Of functions that can all be tried."""

    field = 7

    @cached_property
    def permanent(self) -> Hashing:
        return SmallHashing(self.domain, self.forever, self.buckets)


class AllFunctions(Sketch):
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


SMALL: list[Client] = [
    Coins(),
    Coins(["never", "ever"], truth="2/3", heads="9/10"),
    GRR(2, 1),
    GRR("abcdefg", "1/10"),
    SUE(5, 1),
    OUE(2, 1),
    OUE(6, "1/2"),
    RAPPOR(5, 1),
    RAPPOR(3, 1, forever=5),
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
    LGRR(7, 1, forever=3),
    LOSUE(6, 1),
    SmallLOLOHA(6, 1),
]


@dataclass(frozen=True)
class Every:
    """All reports, and the chance of each for each answer."""

    client: Client
    reports: pa.Array[Any]
    chances: tuple[tuple[Fraction, ...], ...]

    @cached_property
    def supports(self) -> NDArray[np.int64]:
        """A row for each report: which values it supports."""
        return np.array([self.client.supports(self.reports.slice(place, 1)) for place in range(len(self.reports))])


def whole(law: laws.Law) -> Any:
    """The law of all answers, pair by pair, whatever is said to be alike."""
    return law.whole if isinstance(law, laws.Alike) else law


def every(client: Client) -> Every:
    """All reports of a small example."""
    d, law = len(client.domain), whole(client.law)
    if isinstance(client, Hashing):
        return _hashed(client)
    if isinstance(client, Sketch):
        return _sketched(client)
    if isinstance(client, Unary):
        told = list(product((False, True), repeat=d))
        chances = tuple(
            tuple(prod(p if heads else 1 - p for heads, p in zip(one, row, strict=True)) for one in told)
            for row in law.heads
        )
        return Every(client, _bits(np.array(told), client.report_type), chances)
    if isinstance(client, SubsetSelection):
        told = [[value in chosen for value in range(d)] for chosen in combinations(range(d), client.size)]
        return Every(client, _bits(np.array(told), client.report_type), law.rows)
    if isinstance(client, Hadamard):
        places = law.outcomes
        chances = tuple(
            tuple(chance / len(places) for place in places for chance in reversed(place.rows[value]))
            for value in range(d)
        )
        return Every(client, pa.array(np.arange(client.kept), client.report_type), chances)
    assert isinstance(law, laws.Matrix)
    return Every(client, pa.array(np.arange(len(law.rows[0])), client.report_type), law.rows)


def _bits(told: NDArray[np.bool_], report_type: pa.DataType) -> pa.Array[Any]:
    return pa.array([row.tobytes() for row in np.packbits(told, axis=1, bitorder="little")], report_type)


def _hashed(client: Hashing) -> Every:
    """Every function, and every bucket that can be told; buckets are looked up as a person would."""
    field, buckets = client.field, client.buckets
    lie = (1 - client.own) / (buckets - 1)
    told = list(product(range(field), range(field), range(buckets)))
    reports = [a.to_bytes(4, "little") + b.to_bytes(4, "little") + bytes([bucket]) for a, b, bucket in told]

    def bucket_of(place: int) -> int:
        return max(bucket for bucket in range(buckets) if bucket * field <= place * buckets)

    chances = tuple(
        tuple((client.own if bucket_of((a * value + b) % field) == bucket else lie) / field**2 for a, b, bucket in told)
        for value in range(len(client.domain))
    )
    return Every(client, pa.array(reports, client.report_type), chances)


def _sketched(client: Sketch) -> Every:
    """Every function, and every report of the protocol over its buckets."""
    inner = every(client.inner)
    rows = rows_of(inner.reports)
    reports, chances = [], [[] for _ in client.domain.values]
    for function, (a, b, c) in enumerate(client.coefficients.T.tolist()):
        reports += [function.to_bytes(2, "little") + row.tobytes() for row in rows]
        for value, row in enumerate(chances):
            place = (a * value * value + b * value + c) % client.field
            row += [chance / client.functions for chance in inner.chances[place * client.buckets // client.field]]
    return Every(client, pa.array(reports, client.report_type), tuple(map(tuple, chances)))
