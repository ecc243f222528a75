"""Heavy hitters: the most frequent strings, without a list of all possible ones.

There are far too many strings to ask about each. So people are split, evenly and by chance, into as many groups as
there are levels. Those of the first report how their string begins, those of the next how it begins a step further,
those of the last all of it. The collector goes through the levels: of the prefixes that it kept it tries every way to
go on, estimates how many people have each, and keeps some.

Why this is private. Everyone makes one report, of one level, that is drawn without regard to the string: so the loss
is that of one report (by local hashing, below), ε, whatever the collector does with it.

What error bars mean. Anyone who is in the last group had no part in which prefixes were kept: so the figures of the
last level are unbiased, and their bars hold, for whichever strings are left to try. ``error_bars_together`` holds for
all that were tried there at once, and so for those that were chosen because they are large. Bounds for all of them at
once need tails that are far out: bars are by the exact binomial distribution of m coins, which those who reported on
a level flip, being drawn of all n (``confidence_intervals``). The variance is that of the reports and of drawing m of
n people,

    n² / m ((f p (1 - p) + (1 - f) q (1 - q)) / (p - q)² + f (1 - f) (1 - m / n))          at a share f.

A string that is not found may be rare, or may have lost on the way; it is not promised that no one has it.

*PEM*, the prefix extending method (Wang, Li, Jha 2018), finds the k most frequent strings. On every level the prefixes
with the largest figures are kept, twice as many as are wanted in the end.

*A pruned tree* (after Bassily, Nissim, Stemmer and Thakurta 2017) finds all strings that are surely there. On every
level those prefixes are kept that would be so large by chance, if no one had them, with less than the stated risk: it
is shared out evenly over all levels and, on each, over all prefixes that are tried. If no one has one, each report
supports it by a coin of known probability, and Chernoff's bound holds for however few of them; the normal approximation
would not, so far out. So with the stated confidence nothing is found that no one has.

**Local hashing by parities.** A device draws a row t of random bits. The j-th parity of its string v is that of the
bits of v at which t, moved by j places, has a 1; the m parities name one of 2**m buckets, and that or another is
reported by randomised response.

Why this is private. The row depends on no one's string, and the bucket is reported by randomised response with a loss
of ε, its probability rounded down: so the report loses ε.

Why it is unbiased. Take two strings that differ, and the last bit at which they do. Whether their j-th parities differ
depends on the bit of t that is j places after it, and on earlier ones: so the m differences are independent and fair,
and the strings share a bucket with probability exactly 2**-m. Randomised response then supports a string that is not
one's own with exactly 2**-m, whatever both are.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import log, sqrt
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.core.compiled import njit
from discreet.core.exact import Number, exp_lower
from discreet.errors import BadInput, DataError
from discreet.noise.entropy import Entropy
from discreet.noise.expand import BULK
from discreet.verbs.collect.confidence_intervals import chernoff_threshold, exact_share_error_bound, normal_quantile
from discreet.verbs.collect.domain import Codes, Counts, Floats, set_fields
from discreet.verbs.collect.frequency.randomized_response import randomized_response
from discreet.verbs.collect.protocol import LocalProtocol
from discreet.verbs.collect.report_arrays import read_only, reports_to_rows, require_confidence, rows_to_reports
from discreet.verbs.collect.report_distribution import (
    PublicChoice,
    randomized_response_distribution,
    require_epsilon,
    round_down,
)

_MAX_BYTES = 64
_STRINGS_PER_BATCH = 1 << 18
_REVERSED_BITS = np.array([int(f"{byte:08b}"[::-1], 2) for byte in range(256)], dtype=np.uint8)
Bits: TypeAlias = NDArray[np.uint64]
"""A row for each string: 64 bits a word, the first bit the lowest."""
_MAX_PARITIES = 8


@dataclass(frozen=True)
class HeavyHitters:
    """The strings found, the most frequent first, and the estimated number of people, of ``n``, with each."""

    strings: tuple[bytes, ...]
    counts: Floats
    deviations: Floats
    n: int
    confidence: float
    tried: int
    """Number of strings tried on the last level."""
    error_bars_together: Floats
    """Largest error of each count, all that were tried at once with the stated confidence."""

    def table(self) -> pa.Table:
        """Strings, counts and error bars."""
        figures: dict[str, Any] = {"string": pa.array(self.strings, pa.binary()), "count": self.counts}
        return pa.table(figures | {"count_error_together": self.error_bars_together})


@dataclass(frozen=True)
class PrefixLevel:
    """Estimates on one level, for every prefix that was tried: a row for each that was kept before."""

    counts: Floats
    deviations: Floats
    people: int
    group: int
    """Number of people who reported on this level."""
    last: bool
    confidence: float


@dataclass(frozen=True, init=False)
class PrefixSearch(LocalProtocol[HeavyHitters]):
    """A search that extends prefixes level by level; methods differ in which prefixes they keep."""

    length: int
    """Length of strings, bytes; longer ones are cut."""
    epsilon: Fraction
    step: int
    """Number of bits by which each level extends prefixes."""

    def __init__(self, length: int, epsilon: Number, step: int) -> None:
        if not 1 <= length <= _MAX_BYTES:
            raise BadInput(f"1 to {_MAX_BYTES} bytes of a string can be found, not {length}.")
        if not 1 <= step <= 8:
            raise BadInput(f"Each level must add 1 to 8 bits, not {step}.")
        set_fields(self, length=length, epsilon=require_epsilon(epsilon), step=step)

    @cached_property
    def reports(self) -> ParityHashing:
        """Local hashing of strings, by which a report is made."""
        return ParityHashing(self.epsilon)

    @abstractmethod
    def keep(self, level: PrefixLevel) -> NDArray[np.int64]:
        """Indices of the prefixes to extend or, on the last level, of the strings found."""

    @property
    def report_distribution(self) -> PublicChoice:
        """Probability of each bucket, given the level and the random row."""
        return self.reports.report_distribution

    @property
    def levels(self) -> int:
        """Number of levels, and of groups of people."""
        return -(-8 * self.length // self.step)

    @cached_property
    def report_type(self) -> pa.DataType:
        """Arrow type of a report: the level, the bucket and the random row."""
        return pa.binary(self._row.itemsize)

    def randomize(self, values: Iterable[str | bytes], *, entropy: Entropy = BULK) -> pa.Array[Any]:
        """Randomise strings into reports, one a person."""
        strings = [value.encode() if isinstance(value, str) else bytes(value) for value in values]
        if any(b"\0" in string for string in strings):
            raise DataError("A string has a zero byte, which marks the end of a string.")
        records = np.empty(len(strings), dtype=self._row)
        for start in range(0, len(strings), _STRINGS_PER_BATCH):
            bits = self._bits(strings[start : start + _STRINGS_PER_BATCH])
            part, level = records[start : start + _STRINGS_PER_BATCH], entropy.many_below(self.levels, len(bits))
            part["level"] = level
            part["row"], part["bucket"] = self.reports.draw(bits & self._masks[level], entropy)
        return rows_to_reports(records)

    def estimate(self, reports: pa.Array[Any] | pa.ChunkedArray[Any], *, confidence: float = 0.95) -> HeavyHitters:
        """Find the frequent strings, with error bars."""
        require_confidence(confidence)
        records = self._reported(reports)
        groups = np.bincount(records["level"], minlength=self.levels)
        if not groups.all():
            raise BadInput(
                f"Some of the {self.levels} groups have no reports.", hint="Shorter strings need fewer groups."
            )
        prefixes = np.zeros((1, self._words), dtype=np.uint64)
        for level in range(self.levels):
            if not len(prefixes):
                break
            start = level * self.step
            width = min(self.step, 8 * self.length - start)
            group = records[records["level"] == level]
            result = self.reports.supports(group["row"], group["bucket"], prefixes, start, width)
            figures = self._level(result, records.size, group.size, level + 1 == self.levels, confidence)
            chosen = self.keep(figures)
            prefix, end = np.divmod(chosen, 1 << width)
            prefixes = prefixes[prefix]
            for bit in range(width):
                word, shift = divmod(start + bit, 64)
                prefixes[:, word] |= (end >> bit & 1).astype(np.uint64) << np.uint64(shift)
        else:
            counts, deviations = figures.counts.reshape(-1)[chosen], figures.deviations.reshape(-1)[chosen]
            rise = float(self.reports.p_own - self.reports.q_other)
            reached = exact_share_error_bound(result.reshape(-1)[chosen], group.size, (1 - confidence) / result.size)
            return HeavyHitters(
                self._strings(prefixes),
                counts,
                deviations,
                records.size,
                confidence,
                result.size,
                records.size * reached / rise,
            )
        return HeavyHitters((), np.zeros(0), np.zeros(0), records.size, confidence, 1, np.zeros(0))

    def _level(self, supports: NDArray[np.int64], n: int, group: int, last: bool, confidence: float) -> PrefixLevel:
        p, q = float(self.reports.p_own), float(self.reports.q_other)
        shares = (supports / group - q) / (p - q)
        near = np.clip(shares, 0, 1)
        drawn = near * (1 - near) * (1 - group / n) * n / group * n
        variances = self.reports.variance(group, near) * (n / group) ** 2
        return PrefixLevel(n * shares, np.sqrt(variances + drawn), n, group, last, confidence)

    def _reported(self, reports: pa.Array[Any] | pa.ChunkedArray[Any]) -> NDArray[Any]:
        if reports.type != self.report_type or reports.null_count:
            raise DataError(f"Reports of {self.name} are {self.report_type}, and none is missing.")
        whole = reports.combine_chunks() if isinstance(reports, pa.ChunkedArray) else reports
        records = reports_to_rows(whole).view(self._row)[:, 0]
        if records.size and (records["level"].max() >= self.levels or records["bucket"].max() >= self.reports.buckets):
            raise DataError("A report names an unknown level or bucket.")
        return records

    @property
    def _words(self) -> int:
        return -(-self.length // 8)

    @cached_property
    def _row(self) -> np.dtype[Any]:
        return np.dtype([("level", "<u2"), ("bucket", "u1"), ("row", "<u8", (self._words + 1,))])

    @cached_property
    def _masks(self) -> Bits:
        """Mask of the bits that each level reports."""
        ends = np.minimum(np.arange(1, self.levels + 1) * self.step, 8 * self.length)
        chosen = np.arange(64 * self._words) < ends[:, None]
        return np.packbits(chosen, axis=1, bitorder="little").view("<u8").astype(np.uint64)

    def _bits(self, strings: list[bytes]) -> Bits:
        """Convert strings to rows of bits, the first bit of the first byte first."""
        rows = np.zeros((len(strings), 8 * self._words), dtype=np.uint8)
        cut = np.array(strings, dtype=f"S{self.length}")
        rows[:, : self.length] = _REVERSED_BITS[cut.view(np.uint8).reshape(len(strings), self.length)]
        return rows.view("<u8").astype(np.uint64, copy=False)

    def _strings(self, bits: Bits) -> tuple[bytes, ...]:
        rows = _REVERSED_BITS[np.ascontiguousarray(bits).astype("<u8").view(np.uint8)]
        return tuple(row.tobytes()[: self.length].rstrip(b"\0") for row in rows)


@dataclass(frozen=True, init=False)
class PEM(PrefixSearch):
    """The prefix extending method (Wang, Li, Jha 2018): always finds ``k`` strings, however uncertain they are."""

    name = "pem"
    k: int

    def __init__(self, length: int, epsilon: Number, k: int = 16, step: int = 8) -> None:
        super().__init__(length, epsilon, step)
        if k < 1:
            raise BadInput(f"The number of strings to find must be at least 1, not {k}.")
        object.__setattr__(self, "k", k)

    def keep(self, level: PrefixLevel) -> NDArray[np.int64]:
        """Indices of the largest counts."""
        figures = level.counts.reshape(-1)
        return np.argsort(-figures, kind="stable")[: self.k if level.last else 2 * self.k]


@dataclass(frozen=True, init=False)
class PrefixTree(PrefixSearch):
    """A tree of prefixes pruned by significance: finds the strings that are surely there, be it none."""

    name = "tree"
    most: int
    """Largest number of prefixes kept on a level, which bounds the work."""

    def __init__(self, length: int, epsilon: Number, most: int = 256, step: int = 8) -> None:
        super().__init__(length, epsilon, step)
        if most < 1:
            raise BadInput(f"The number of prefixes to keep must be at least 1, not {most}.")
        object.__setattr__(self, "most", most)

    def keep(self, level: PrefixLevel) -> NDArray[np.int64]:
        """Indices of the counts above the threshold, the largest first."""
        figures = level.counts.reshape(-1)
        order = np.argsort(-figures, kind="stable")[: self.most]
        least = level.people * self._threshold(level.group, figures.size, level.confidence)
        return order[figures[order] >= least]

    def detectable_count(self, people: int, *, confidence: float = 0.95) -> float:
        """Number of people who must have a string for it to be found with the stated confidence.

        It has to pass the threshold on every level, which is highest where as many prefixes are tried as ever are.
        Groups are taken to be of equal size.
        """
        group = people / self.levels
        sampled = normal_quantile(2 * (1 - confidence) / self.levels)
        highest = people * self._threshold(group, self.most << self.step, confidence)
        count = highest
        for _ in range(50):  # the spread of a figure grows with it
            share = np.array([min(count / people, 1.0)])
            own = float(self.reports.variance(1, share)[0]) / group + float(share[0] * (1 - share[0])) / group
            count = highest + sampled * sqrt(own) * people
        return count

    def _threshold(self, group: float, tried: int, confidence: float) -> float:
        """Smallest share of people at which a prefix is kept."""
        p, q = float(self.reports.p_own), float(self.reports.q_other)
        return (chernoff_threshold(q, group, log(self.levels * tried / (1 - confidence))) - q) / (p - q)


@dataclass(frozen=True)
class ParityHashing:
    """Local hashing by parities."""

    epsilon: Fraction

    @cached_property
    def parities(self) -> int:
        """m: number of parities, from 1 to 8, for which the count of a rare string is most accurate."""

        def spread(m: int) -> Fraction:
            own, other = exp_lower(self.epsilon) / (exp_lower(self.epsilon) + (1 << m) - 1), Fraction(1, 1 << m)
            return other * (1 - other) / (own - other) ** 2

        return min(range(1, _MAX_PARITIES + 1), key=spread)

    @property
    def buckets(self) -> int:
        return 1 << self.parities

    @cached_property
    def p_own(self) -> Fraction:
        """p: probability that the own bucket is reported, rounded down."""
        odds = exp_lower(self.epsilon)
        return round_down(odds / (odds + self.buckets - 1))

    @property
    def q_other(self) -> Fraction:
        """q: probability that another string is supported."""
        return Fraction(1, self.buckets)

    @cached_property
    def report_distribution(self) -> PublicChoice:
        """Randomised response over buckets, given a row that separates two strings."""
        return PublicChoice((randomized_response_distribution(self.p_own, self.buckets),))

    def draw(self, strings: Bits, entropy: Entropy) -> tuple[Bits, NDArray[np.uint8]]:
        """Draw a random row for each string, a word longer than it, and the bucket to report."""
        rows = entropy.words(len(strings) * (strings.shape[1] + 1)).reshape(len(strings), -1)
        bucket = hashed(rows, strings, self.parities)
        return rows, randomized_response(bucket, self.p_own, self.buckets, entropy).astype(np.uint8)

    def supports(self, rows: Bits, report_codes: NDArray[np.uint8], prefixes: Bits, start: int, width: int) -> Counts:
        """Number of reports that support each prefix of ``start`` bits, extended in each of 2**``width`` ways."""
        arrays = read_only(rows), read_only(report_codes), read_only(prefixes)
        return np.asarray(_count_supports(*arrays, (start, width, self.parities)))

    def variance(self, n: int, shares: Floats) -> Floats:
        """Variance of the estimated number of people, of ``n``, by the share that has a string."""
        p, q = float(self.p_own), float(self.q_other)
        return n * (shares * p * (1 - p) + (1 - shares) * q * (1 - q)) / (p - q) ** 2


def hashed(rows: Bits, strings: Bits, parities: int) -> Codes:
    """Bucket of each string under its random row."""
    return np.asarray(_buckets(read_only(rows), read_only(strings), parities))


@njit(cache=True)
def _buckets(rows: Any, strings: Any, parities: int) -> Any:
    result = np.empty(len(strings), dtype=np.int64)
    for index in range(len(strings)):
        result[index] = _bucket(rows[index], strings[index], parities)
    return result


@njit(cache=True)
def _bucket(row: Any, string: Any, parities: int) -> Any:
    bucket = np.int64(0)
    for j in range(parities):
        mixed = np.uint64(0)
        for word in range(string.size):
            moved = row[word] >> np.uint64(j)
            if j:
                moved |= row[word + 1] << np.uint64(64 - j)
            mixed ^= moved & string[word]
        for half in (32, 16, 8, 4, 2, 1):
            mixed ^= mixed >> np.uint64(half)
        bucket |= np.int64(mixed & np.uint64(1)) << j
    return bucket


@njit(cache=True)
def _count_supports(rows: Any, report_codes: Any, prefixes: Any, sizes: tuple[int, int, int]) -> Any:
    """Count supports. Buckets are sums modulo 2 over bits: those of all extensions are computed once a report."""
    start, width, parities = sizes
    counts = np.zeros((len(prefixes), 1 << width), dtype=np.int64)
    ends = np.empty(1 << width, dtype=np.uint8)
    for report in range(report_codes.size):
        ends[0] = 0
        for bit in range(width):
            word, shift = (start + bit) >> 6, (start + bit) & 63
            moved = rows[report, word] >> np.uint64(shift)
            if shift:
                moved |= rows[report, word + 1] << np.uint64(64 - shift)
            column = np.uint8(moved & np.uint64((1 << parities) - 1))
            for end in range(1 << bit):
                ends[end | 1 << bit] = ends[end] ^ column
        for index in range(len(prefixes)):
            wanted = np.uint8(report_codes[report] ^ _bucket(rows[report], prefixes[index], parities))
            for end in range(1 << width):
                counts[index, end] += ends[end] == wanted
    return counts
