"""Key-value data: how many people have a key, and the mean of its value (PCKV; Gu, Li, Xiong, Cao 2020).

A person's keys are padded and sampled to one pair of a key and a sign (see below), which is then reported by GRR
(``KeyValueGRR``) or by two bits a key (``KeyValueUE``).

Of s+ and s-, the shares of reports that tell a key with either sign, both the sum and the difference come back by a
straight line: the first to how many have the key, unbiased; the second to how many times what mean. The mean is their
quotient; its interval is Fieller's (1954), which knows that the key's frequency is uncertain too.

Keys with values, of which each person has some: films and how they are rated, illnesses and how bad they are.

A device *pads and samples*: it draws one of its pairs, or, if it has fewer than ``length``, one of them or of as many
made-up keys as are missing. A value becomes the highest or the lowest possible, the nearer the likelier, so that it is
right on average. People with more than ``length`` pairs are counted too little: declare a length that most stay below.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from discreet.core.exact import Number
from discreet.errors import BadInput, DataError
from discreet.noise.entropy import Entropy
from discreet.noise.expand import BULK
from discreet.verbs.collect.domain import Codes, Counts, Domain, Floats, set_fields
from discreet.verbs.collect.numbers.grid import NumberGrid
from discreet.verbs.collect.probability import require_epsilon
from discreet.verbs.collect.protocol import CountingProtocol
from discreet.verbs.collect.report_arrays import Reports, require_reports
from discreet.verbs.collect.score_intervals import normal_quantile, share_error_bound


@dataclass(frozen=True)
class ResponseRates:
    """Response of the shares of reports to the shares of drawn pairs."""

    level: float
    """Share of reports that name a key that nobody has, with either sign."""
    rise: float
    """Increase of that share if everybody's drawn key is it."""
    tilt: float
    """Surplus of plus over minus if everybody's drawn pair is it with a plus."""


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
        set_fields(
            self,
            keys=keys if isinstance(keys, Domain) else Domain(keys),
            epsilon=require_epsilon(epsilon),
            grid=NumberGrid(low, high, 1),
            length=length,
        )
        if length < 1:
            raise BadInput(f"People have one pair or more, got a length of {length}.")

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameters beside the name and epsilon, as plain data."""
        bounds = {"low": str(self.grid.low), "high": str(self.grid.high)}
        return {"keys": list(self.keys.values), **bounds, "length": self.length}

    @property
    @abstractmethod
    def response_rates(self) -> ResponseRates:
        """Response of reports to drawn pairs, which estimates invert."""

    @abstractmethod
    def draw(self, pairs: SampledPairs, entropy: Entropy) -> pa.Array[Any]:
        """Draw a report for each drawn pair."""

    @property
    def counter_length(self) -> int:
        """Number of counts that a collector keeps."""
        return 1 + 2 * len(self.keys)

    @abstractmethod
    def count(self, reports: Reports) -> Counts:
        """Count reports: all, then those that name each key with a minus, then those with a plus."""

    def randomize(self, people: People, *, entropy: Entropy = BULK) -> pa.Array[Any]:
        """Randomise the pairs of each person into a report."""
        return self.draw(sample_pairs(people, self.keys, self.grid, self.length, entropy), entropy)

    def estimate_counts(self, counts: Counts, *, confidence: float = 0.95) -> KeyValueEstimate:
        """Estimate from counts, with error bars."""
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
        """Estimated share of people with each key: unbiased, if nobody has more pairs than ``length``."""
        response_rates = self.protocol.response_rates
        return (self._named - response_rates.level) * self.protocol.length / response_rates.rise

    @property
    def error_bars(self) -> Floats:
        """Largest error of each share, each by itself with the stated confidence."""
        reached = share_error_bound(1 - self.confidence, self._named, self.n)
        return reached * self.protocol.length / self.protocol.response_rates.rise

    @property
    def means(self) -> Floats:
        """Estimated mean of each key's values; missing where hardly anybody seems to have it."""
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
    """One pair of each person: the index of a key (after the last: a made-up one) and whether its value is high."""

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
            raise DataError("A person's pairs are missing.", hint="Who has none has an empty map.")
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
    """Refuse a key twice: it would be drawn more often than the claim allows for."""
    person = np.repeat(np.arange(starts.size - 1), np.diff(starts))
    pairs = pa.table({"person": pa.array(person), "key": keys})
    if pairs.group_by(["person", "key"]).aggregate([]).num_rows < pairs.num_rows:
        raise DataError("A person has a key twice.", hint="Give each key one value, their mean perhaps.")
