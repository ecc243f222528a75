"""Key-value data: share of people with each key, and the mean of its values (PCKV; Gu, Li, Xiong, Cao 2020).

Keys with values, of which each person has some: films and how they are rated, illnesses and how bad they are. A
person's keys are padded and sampled to one pair of a key and a sign which is then reported by GRR (``KeyValueGRR``) or
by two bits a key (``KeyValueUE``).

Of s+ and s-, the shares of reports that tell a key with either sign, both the sum and the difference come back by a
straight line: the first to how many have the key, unbiased; the second to how many times what mean. The mean is their
quotient; its interval is Fieller's (1954), which knows that the key's frequency is uncertain too.

A device *pads and samples*: it draws one of its pairs, or, if it has fewer than ``length``, one of them or of as many
made-up keys as are missing. A value becomes the highest or the lowest possible, the nearer the likelier, so that it is
right on average. People with more than ``length`` pairs are counted too little: declare a length that most stay below.

*By randomised response:* a pair of a key and a sign, or any other. Why this is private. The d keys and ``length``
made-up ones, each with either sign, are 2 (d + length) pairs. The truth is reported with odds of t' = 1 + length (e**ε
- 1) to any other pair. A report is the truth of at most one of the at least ``length`` keys that are drawn from, so its
probability is at most (t' + length - 1) / length = e**ε times what it has at least for everyone. Keys differ from each
other, or this would not hold; so the sampling earns a larger loss inside.

*By two bits a key:* for each key nothing, minus or plus. Why this is private. The own key is reported with probability
1/2, and then with its true sign with p; any other is reported with b, and a fair sign. Two pairs of different keys
differ in two positions, by at most 2 p (1 - b) / b; two signs of one key by p / (1 - p); a made-up key leaves all d
positions alike. b is rounded up and p down such that all of these are at most e**ε. A person is a mixture of the pairs
that may be drawn, and no mixture is worse. What would be reported of made-up keys is not reported.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from discreet.core.exact import Number, exp_lower
from discreet.errors import BadInput, DataError
from discreet.noise.entropy import Entropy
from discreet.noise.expand import BULK
from discreet.noise.packed import packed_flips
from discreet.verbs.collect.confidence_intervals import normal_quantile, share_error_bound
from discreet.verbs.collect.domain import Codes, Counts, Domain, Floats, set_fields
from discreet.verbs.collect.frequency.randomized_response import randomized_response
from discreet.verbs.collect.numbers.grid import NumberGrid
from discreet.verbs.collect.protocol import CountingProtocol
from discreet.verbs.collect.report_arrays import (
    Reports,
    bit_report_type,
    bits_to_reports,
    chunks_of,
    count_bits,
    count_integer_reports,
    in_batches,
    integer_type,
    reports_to_rows,
    require_reports,
    rows_to_reports,
    to_integer_reports,
    word_count,
)
from discreet.verbs.collect.report_distribution import (
    Matrix,
    Ratio,
    largest_ratio,
    product_of_ratios,
    require_epsilon,
    round_down,
    round_up,
)


@dataclass(frozen=True)
class ResponseRates:
    """Linear relation between the shares of reports and the shares of sampled pairs."""

    level: float
    """Share of reports that name a key no one has, with either sign."""
    rise: float
    """Increase of that share if everyone's sampled key is this one."""
    tilt: float
    """Surplus of plus over minus if everyone's sampled pair is this key with a plus."""


@dataclass(frozen=True, init=False)
class KeyValue(CountingProtocol["KeyValueEstimate"]):
    """A local protocol for key-value pairs."""

    keys: Domain
    epsilon: Fraction
    grid: NumberGrid
    length: int

    def __init__(
        self,
        keys: Domain | int | Iterable[Any],
        epsilon: Number,
        *,
        low: Number = -1,
        high: Number = 1,
        length: int = 1,
    ) -> None:
        """Values go from ``low`` to ``high``; ``length`` is the number of pairs that most people stay within."""
        grid = NumberGrid(low, high, 1)
        set_fields(self, keys=Domain.of(keys), epsilon=require_epsilon(epsilon), grid=grid, length=length)
        if length < 1:
            raise BadInput(f"The number of pairs per person (length) must be at least 1, got {length}.")

    @property
    def parameters(self) -> dict[str, Any]:
        bounds = {"low": str(self.grid.low), "high": str(self.grid.high)}
        return {"keys": list(self.keys.values), **bounds, "length": self.length}

    @property
    @abstractmethod
    def response_rates(self) -> ResponseRates:
        """Response of reports to sampled pairs, which estimates invert."""

    @abstractmethod
    def draw(self, pairs: SampledPairs, entropy: Entropy) -> pa.Array[Any]:
        """Draw a report for each drawn pair."""

    @property
    def counter_length(self) -> int:
        return 1 + 2 * len(self.keys)

    @abstractmethod
    def count(self, reports: Reports) -> Counts:
        """Count reports: all, then those naming each key with a minus, then with a plus."""

    def randomize(self, people: People, *, entropy: Entropy = BULK) -> pa.Array[Any]:
        """Randomise the pairs of each person into a report."""
        return self.draw(sample_pairs(people, self.keys, self.grid, self.length, entropy), entropy)

    def estimate_counts(self, counts: Counts, *, confidence: float = 0.95) -> KeyValueEstimate:
        n, (minus, plus) = int(counts[0]), counts[1:].reshape(2, -1)
        require_reports(n, confidence)
        return KeyValueEstimate(self, n, plus / n, minus / n, confidence)


@dataclass(frozen=True, eq=False)
class KeyValueEstimate:
    """Estimated share of people with each key, and mean of its values."""

    protocol: KeyValue
    n: int
    plus: Floats
    minus: Floats
    confidence: float

    @property
    def shares(self) -> Floats:
        """Estimated share of people with each key: unbiased if no one has more than ``length`` pairs."""
        response_rates = self.protocol.response_rates
        return (self._named - response_rates.level) * self.protocol.length / response_rates.rise

    @property
    def error_bars(self) -> Floats:
        """Largest error of each share, each by itself with the stated confidence."""
        reached = share_error_bound(1 - self.confidence, self._named, self.n)
        return reached * self.protocol.length / self.protocol.response_rates.rise

    @property
    def means(self) -> Floats:
        """Estimated mean of each key's values; missing where the estimated share is close to 0."""
        shares = np.where(self.shares > 0, self.shares, np.nan)
        return self._value(self._tilt / shares)

    @property
    def mean_intervals(self) -> tuple[Floats, Floats]:
        """Bounds of each mean, each by itself with the stated confidence.

        Fieller: those m for which share times m and the tilt do not differ by more than z of their deviations. Where
        the share itself may be 0, that is everything.
        """
        response_rates, wide = self.protocol.response_rates, self.protocol.length
        by_share, by_tilt, z2 = (
            wide / response_rates.rise,
            wide / response_rates.tilt,
            normal_quantile(1 - self.confidence) ** 2 / self.n,
        )
        named, tilt = self._named, self.plus - self.minus
        square = self.shares**2 - z2 * by_share**2 * named * (1 - named)
        cross = self.shares * self._tilt - z2 * by_share * by_tilt * tilt * (1 - named)
        rest = self._tilt**2 - z2 * by_tilt**2 * (named - tilt**2)
        known = (square > 0) & (self.shares > 0)
        root = np.sqrt(np.maximum(cross**2 - square * rest, 0))
        over = np.where(known, square, 1)
        low = np.where(known, np.clip((cross - root) / over, -1, 1), -1)
        high = np.where(known, np.clip((cross + root) / over, -1, 1), 1)
        return self._value(low), self._value(high)

    def table(self) -> pa.Table:
        """Keys, shares and means, with their errors."""
        low, high = self.mean_intervals
        figures: dict[str, Any] = {
            "key": list(self.protocol.keys.values),
            "share": self.shares,
            "share_error": self.error_bars,
        }
        return pa.table(figures | {"mean": self.means, "mean_low": low, "mean_high": high})

    @property
    def _named(self) -> Floats:
        return self.plus + self.minus

    @property
    def _tilt(self) -> Floats:
        """Share of people with each key, times the mean of its values from -1 to 1."""
        return (self.plus - self.minus) * self.protocol.length / self.protocol.response_rates.tilt

    def _value(self, mean: Floats) -> Floats:
        value: Floats = self.protocol.grid.value((mean + 1) / 2)
        return value


People: TypeAlias = "pa.MapArray[Any, Any] | pa.ChunkedArray[Any] | Iterable[Mapping[Any, float]]"
"""Key-value pairs of each person: mappings, or an Arrow array of maps."""


@dataclass(frozen=True)
class SampledPairs:
    """One sampled pair per person: the key's index (past the last: a dummy) and whether its value is high."""

    keys: Codes
    high: Codes


def sample_pairs(people: People, domain: Domain, grid: NumberGrid, length: int, entropy: Entropy) -> SampledPairs:
    """Pad each person's pairs to ``length`` and sample one; ``grid`` has one step."""
    starts, keys, values = _flat(people)
    codes, sizes = domain.codes(keys) if len(keys) else np.zeros(0, dtype=np.int64), np.diff(starts)
    among = np.maximum(sizes, length)
    picked = np.empty(sizes.size, dtype=np.int64)
    for size in np.unique(among):
        alike = np.flatnonzero(among == size)
        picked[alike] = entropy.many_below(int(size), alike.size)
    drawn_keys = len(domain) + picked - sizes
    high = entropy.coins(sizes.size).astype(np.int64)
    own = np.flatnonzero(picked < sizes)
    at = starts[own] + picked[own]
    drawn_keys[own] = codes[at]
    high[own] = grid.round_randomly(values[at], entropy)
    return SampledPairs(drawn_keys, high)


def _flat(people: People) -> tuple[Codes, pa.Array[Any], Any]:
    """Start of each person's pairs, and the keys and values of all."""
    if isinstance(people, pa.ChunkedArray):
        people = pa.concat_arrays(people.chunks or [pa.array([], people.type)])
    if isinstance(people, pa.MapArray):
        if people.null_count:
            raise DataError("A person's pairs are missing.", hint="Use an empty map for people without pairs.")
        starts = people.offsets.to_numpy().astype(np.int64)
        first, last = int(starts[0]), int(starts[-1])
        keys, values = people.keys.slice(first, last - first), people.items.slice(first, last - first)
        flat = starts - first, keys, np.asarray(values, dtype=np.float64)
    else:
        each = [list(pairs.items()) for pairs in people]
        starts = np.cumsum([0, *map(len, each)])
        keys = pa.array([key for pairs in each for key, _ in pairs])
        flat = starts, keys, np.array([value for pairs in each for _, value in pairs], dtype=np.float64)
    _require_once(*flat[:2])
    return flat


def _require_once(starts: Codes, keys: pa.Array[Any]) -> None:
    """Refuse duplicate keys: they would be sampled more often than the claim allows."""
    person = np.repeat(np.arange(starts.size - 1), np.diff(starts))
    pairs = pa.table({"person": pa.array(person), "key": keys})
    if pairs.group_by(["person", "key"]).aggregate([]).num_rows < pairs.num_rows:
        raise DataError("A person has a key twice.", hint="Give each key one value, for example the mean.")


@dataclass(frozen=True, init=False)
class KeyValueGRR(KeyValue):
    """PCKV-GRR: a report is one pair, in a few bytes; for few keys."""

    name = "pckv-grr"

    @property
    def pairs(self) -> int:
        """Number of pairs that can be reported: the d keys and the dummies, each with either sign."""
        return 2 * (len(self.keys) + self.length)

    @cached_property
    def p_own(self) -> Fraction:
        """Probability that the pair is reported truly, rounded down."""
        odds = 1 + self.length * (exp_lower(self.epsilon) - 1)
        return round_down(odds / (odds + self.pairs - 1))

    @cached_property
    def q_other(self) -> Fraction:
        """Probability of any other pair."""
        return (1 - self.p_own) / (self.pairs - 1)

    @cached_property
    def report_distribution(self) -> Matrix:
        """Matrix for people with no pair, with one, and with all keys: the worst are two people with one."""
        d = len(self.keys)
        ones = [[(key, sign)] for key in range(d) for sign in (0, 1)]
        return Matrix(tuple(self.row(pairs) for pairs in [[], *ones, [(key, key % 2) for key in range(d)]]))

    def row(self, pairs: list[tuple[int, int]]) -> tuple[Fraction, ...]:
        """Probability of each report for a person with these pairs of key index and sign."""
        among = max(len(pairs), self.length)
        made_up = range(len(self.keys), len(self.keys) + among - len(pairs))
        weights = dict.fromkeys(((key, sign) for key in made_up for sign in (0, 1)), Fraction(1, 2))
        weights |= dict.fromkeys(pairs, Fraction(1))
        report_codes = ((key, sign) for key in range(self.pairs // 2) for sign in (0, 1))
        return tuple(
            self.q_other + weights.get(pair, Fraction(0)) / among * (self.p_own - self.q_other) for pair in report_codes
        )

    @property
    def report_type(self) -> pa.DataType:
        """Arrow type of a report: twice a key's index, and one more if the sign is plus."""
        return integer_type(self.pairs)

    @cached_property
    def response_rates(self) -> ResponseRates:
        """Response rates: a key is reported truthfully, or by chance."""
        gain = float(self.p_own - self.q_other)
        return ResponseRates(float(2 * self.q_other), gain, gain)

    def draw(self, pairs: SampledPairs, entropy: Entropy) -> pa.Array[Any]:
        codes = randomized_response(2 * pairs.keys + pairs.high, self.p_own, self.pairs, entropy)
        return to_integer_reports(codes, self.pairs)

    def count(self, reports: Reports) -> Counts:
        report_codes = count_integer_reports(reports, self.pairs)
        signs = report_codes[: 2 * len(self.keys)]
        return np.concatenate([[report_codes.sum()], signs[::2], signs[1::2]])


_WORDS_PER_BATCH = 1 << 20


@dataclass(frozen=True)
class IndependentSymbols:
    """Report distribution of independent symbols: for each answer, each position's symbol probabilities."""

    rows: tuple[tuple[tuple[Fraction, ...], ...], ...]

    @property
    def answers(self) -> int:
        return len(self.rows)

    def ratio(self, one: int, other: int) -> Ratio:
        """Product over positions of the largest probability ratio."""
        pairs = zip(self.rows[one], self.rows[other], strict=True)
        return product_of_ratios(largest_ratio(zip(a, b, strict=True)) for a, b in pairs)


@dataclass(frozen=True, init=False)
class KeyValueUE(KeyValue):
    """PCKV-UE: a report has two bits for every key; for many keys."""

    name = "pckv-ue"

    @cached_property
    def truth(self) -> Fraction:
        """p: probability that the sign of the own key is reported truly, rounded down."""
        odds = exp_lower(self.epsilon)
        return round_down(odds / (odds + 1))

    @cached_property
    def q_other(self) -> Fraction:
        """b: probability that a key that is not the own one is reported, rounded up."""
        return round_up(2 * self.truth / (exp_lower(self.epsilon) + 2 * self.truth))

    @cached_property
    def report_distribution(self) -> IndependentSymbols:
        """Independent symbols; keys that neither of two people has are alike, so that two keys stand for all."""
        return self.distribution_of(2)

    def distribution_of(self, d: int) -> IndependentSymbols:
        """Distribution for ``d`` keys: a made-up one, and each with each sign; at each nothing, minus or plus."""
        half = Fraction(1, 2)
        blank = (1 - self.q_other, self.q_other / 2, self.q_other / 2)
        minus = (half, half * self.truth, half * (1 - self.truth))
        own = (minus, (minus[0], minus[2], minus[1]))
        rows = [tuple(sign if index == key else blank for index in range(d)) for key in range(d) for sign in own]
        return IndependentSymbols(((blank,) * d, *rows))

    @property
    def report_type(self) -> pa.DataType:
        """Arrow type of a report: a bit for every key with a minus, then one for every key with a plus."""
        return pa.binary(2 * bit_report_type(len(self.keys)).byte_width)

    @cached_property
    def response_rates(self) -> ResponseRates:
        """Response of reports: the own key is named half of the time."""
        half = Fraction(1, 2)
        return ResponseRates(float(self.q_other), float(half - self.q_other), float(self.truth - half))

    def draw(self, pairs: SampledPairs, entropy: Entropy) -> pa.Array[Any]:
        """Draw a report for each drawn pair, in batches of bounded memory."""
        step = max(1, _WORDS_PER_BATCH // word_count(len(self.keys)))
        return in_batches(pairs.keys.size, lambda part: self._drawn(pairs.keys[part], pairs.high[part], entropy), step)

    def _drawn(self, keys: Any, high: Any, entropy: Entropy) -> pa.Array[Any]:
        """Draw all keys as others, then redraw the own one."""
        n, d = keys.size, len(self.keys)
        words = word_count(d)
        report_codes = packed_flips(self.q_other, n * words, entropy).reshape(n, words)
        plus = report_codes & entropy.words(n * words).reshape(n, words)
        minus = report_codes & ~plus
        own = np.flatnonzero(keys < d)
        word, bit = keys[own] >> 6, np.uint64(1) << (keys[own] & 63).astype(np.uint64)
        truly = entropy.flips(self.truth, own.size)
        is_told, is_plus = entropy.coins(own.size), (high[own] == 1) == truly
        for plane, here in ((minus, is_told & ~is_plus), (plus, is_told & is_plus)):
            plane[own, word] = np.where(here, plane[own, word] | bit, plane[own, word] & ~bit)
        planes = [reports_to_rows(bits_to_reports(plane, d)) for plane in (minus, plus)]
        return rows_to_reports(np.hstack(planes))

    def count(self, reports: Reports) -> Counts:
        counts = np.zeros(1 + 2 * len(self.keys), dtype=np.int64)
        for chunk in chunks_of(reports, self.report_type, self.name):
            minus, plus = np.split(reports_to_rows(chunk), 2, axis=1)
            if (minus & plus).any():
                raise DataError("A report has a key with both signs.")
            report_codes = [count_bits(plane, len(self.keys)) for plane in (minus, plus)]
            counts += np.concatenate([[len(chunk)], *report_codes])
        return counts
