"""Reports that are made up: how many of them an estimate can bear, and how crude ones are noticed.

Nobody can tell from one report whether a device drew it. What it can do is limited: a report either supports a value or
does not, and is worth (1 - q) / (p - q) people if it does and -q / (p - q) if it does not. Every protocol here has
reports of either kind for every value, so the most that m made-up reports can add to a figure is exactly m (1 - q) / (p
- q), and the most they can take from it m q / (p - q) (the maximal gain attack: Cao, Jia, Gong 2021). ``bearable``
compares that with the figure's own error bar. The better the privacy, the less it takes.

Two tests notice attacks that are crude. Neither supposes anything about people's answers, and both keep the stated rate
of false alarms exactly, at any number of reports, since the bound that they use (Hoeffding 1963, Theorem 1) holds for
sums of any independent coins:

* *marginal*: some part of a report has the same law whatever the answer is: how many bits of a row are 1, which place
  or function was drawn. Each of its values is a coin of known chance.
* *supports*: each value is supported by as many reports as some share of people explains, and the shares add up to one.
  If no shares explain all of it, no answers do.

An attack that draws its reports as a device would, for answers of its own choice, passes both: that is lying about
one's answer, which no protocol can prevent, and its gain is one person for a report.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import singledispatch
from math import exp, log
from typing import Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.errors import BadInput
from discreet.verbs.collect.bit_reports import rows_of
from discreet.verbs.collect.domain import Counts
from discreet.verbs.collect.estimate import Estimate
from discreet.verbs.collect.frequency.count_mean_sketch import Sketch
from discreet.verbs.collect.frequency.hadamard import Hadamard
from discreet.verbs.collect.frequency.local_hashing import Hashing, stretches
from discreet.verbs.collect.frequency.unary_encoding import Unary
from discreet.verbs.collect.frequency_oracle import Client, Tally
from discreet.verbs.collect.longitudinal.dbitflip import DBitFlip
from discreet.verbs.collect.numbers.mean import MeanProtocol

FALSE_ALARM = 1e-6
"""How often honest reports raise an alarm, at most, unless another rate is asked for."""
_STRETCHES = 256
_HANG_TOGETHER = (Sketch, DBitFlip)
"""Of these, a figure is no sum of independent reports: functions are shared, or it counts who spoke of the value."""


@dataclass(frozen=True)
class Bearable:
    """How many made-up reports each figure can bear before it moves by more than its error bar."""

    reports: Counts
    n: int

    @property
    def fractions(self) -> NDArray[np.float64]:
        """The same as shares of all reports."""
        return self.reports / self.n

    @property
    def worst(self) -> float:
        """The share that the most easily moved figure can bear."""
        return float(self.fractions.min())

    def __str__(self) -> str:
        return (
            f"Of {self.n:,} reports, {int(self.reports.min()):,} ({self.worst:.3%}) may be made up before some figure "
            "moves by more than its error bar."
        )


def bearable(estimate: Estimate) -> Bearable:
    """How many made-up reports each figure can bear, whoever makes them up and however well."""
    if isinstance(estimate.client, DBitFlip):
        raise BadInput("What a report is worth in dBitFlip hangs on how many others spoke of the value.")
    p, q = estimate.client.chances
    gain = np.maximum(1 - q, q) / (p - q)
    return Bearable(np.minimum(estimate.bars / gain, estimate.n).astype(np.int64), estimate.n)


@dataclass(frozen=True)
class Alarm:
    """Something about reports that no answers explain."""

    test: str
    what: str
    chance: float
    """How likely so much is at most, or more, if all reports are honest: with all places that were looked at."""

    def __str__(self) -> str:
        return f"{self.what} Honest reports do that with a chance of {self.chance:.1e} at most."


def alarms(
    client: Client, reports: pa.Array[Any] | pa.ChunkedArray[Any], *, false_alarm: float = FALSE_ALARM
) -> tuple[Alarm, ...]:
    """What is wrong with reports. If all are honest this is empty but with a chance of ``false_alarm`` at most."""
    tally = client.tally().add(reports)  # what no device can have made is an error, not an alarm
    return Watch(client).add(reports).alarms(tally, false_alarm=false_alarm)


class Watch:
    """What the tests need to know of reports that come a part at a time, beside their tally: it never grows."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._part = marginal(client)
        self._seen: Counts = np.zeros(0 if self._part is None else self._part.chances.size, dtype=np.int64)

    def add(self, reports: pa.Array[Any] | pa.ChunkedArray[Any]) -> Self:
        """Look at further reports, which a tally has taken."""
        if self._part is not None:
            for chunk in reports.chunks if isinstance(reports, pa.ChunkedArray) else [reports]:
                self._seen = self._seen + self._part.seen(chunk)
        return self

    def alarms(self, tally: Tally, *, false_alarm: float = FALSE_ALARM) -> tuple[Alarm, ...]:
        """What is wrong with all of them, given their tally."""
        if not 0 < false_alarm < 1:
            raise BadInput(f"A rate of false alarms lies between 0 and 1, got {false_alarm}.")
        if not tally.reports:
            raise BadInput("There are no reports to look at.")
        raised = [_supports(self._client, tally, false_alarm / 2)]
        if self._part is not None:
            raised.insert(0, _marginal(self._part, self._seen, tally.reports, false_alarm / 2))
        return tuple(alarm for alarm in raised if alarm is not None)


def alarms_of_numbers(protocol: MeanProtocol, counts: Counts, *, false_alarm: float = FALSE_ALARM) -> tuple[Alarm, ...]:
    """The same for reports of a number, by how often each was made: each has a chance between that of the number which
    makes it least likely and that of the one which makes it most."""
    n = int(counts.sum())
    seen = counts / n
    least, most = protocol.chances.min(axis=0), protocol.chances.max(axis=0)
    logs = np.where((seen < least) | (seen > most), _log_chance(seen, np.clip(seen, least, most), n), 0.0)
    worst = int(logs.argmin())
    chance = logs[worst] + log(2 * seen.size)
    if chance > log(false_alarm):
        return ()
    between = f"between {n * least[worst]:,.1f} and {n * most[worst]:,.1f} are expected, whatever the numbers are"
    return (Alarm("numbers", f"Report {worst} was made {counts[worst]:,} times, where {between}.", exp(chance)),)


@dataclass(frozen=True)
class Marginal:
    """A part of a report with the same law for every answer: the chance of each of its values, and how often reports
    have each."""

    part: str
    chances: NDArray[np.float64]
    seen: Callable[[pa.Array[Any]], Counts]


@singledispatch
def marginal(client: Client) -> Marginal | None:
    """The part of a protocol's reports that hangs on no answer; ``None`` if there is none."""
    return None


@marginal.register(Unary)
def _ones(client: Unary) -> Marginal:
    """How many bits are 1: the own one by p, every other by q, whichever is the own."""
    d, p, q = len(client.domain), float(client.own), float(client.other)
    law = np.ones(1)
    for chance in [p] + [q] * (d - 1):
        law = np.convolve(law, [1 - chance, chance])
    return Marginal(
        "bits that are 1",
        law,
        lambda reports: np.bincount(np.bitwise_count(rows_of(reports)).sum(axis=1, dtype=np.int64), minlength=d + 1),
    )


@marginal.register(Hadamard)
def _places(client: Hadamard) -> Marginal:
    """The place."""
    places = client.places
    return Marginal(
        "the place",
        np.full(places, 1 / places),
        lambda reports: np.bincount(reports.to_numpy() >> 1, minlength=places),
    )


@marginal.register(Hashing)
def _functions(client: Hashing) -> Marginal:
    """The function, by the stretch of the field in which its a lies."""
    edges = stretches(client.field, min(_STRETCHES, client.field))

    def seen(reports: pa.Array[Any]) -> Counts:
        a = np.ascontiguousarray(rows_of(reports)[:, :4]).view("<u4")[:, 0].astype(np.int64)
        return np.bincount(np.searchsorted(edges, a, side="right") - 1, minlength=edges.size - 1)

    return Marginal("the function", np.diff(edges) / client.field, seen)


@marginal.register(Sketch)
def _sketch_functions(client: Sketch) -> Marginal:
    """The function."""
    many = client.functions

    def seen(reports: pa.Array[Any]) -> Counts:
        return np.bincount(np.ascontiguousarray(rows_of(reports)[:, :2]).view("<u2")[:, 0], minlength=many)

    return Marginal("the function", np.full(many, 1 / many), seen)


@marginal.register(DBitFlip)
def _spoken(client: DBitFlip) -> Marginal:
    """The values that are spoken of."""
    d = len(client.domain)
    return Marginal("the values spoken of", np.full(d, client.bits / d), lambda reports: client.count(reports)[d:])


def _marginal(part: Marginal, seen: Counts, n: int, rate: float) -> Alarm | None:
    logs = _log_chance(seen / n, part.chances, n) + log(2 * seen.size)
    worst = int(logs.argmin())
    if logs[worst] > log(rate):
        return None
    expected = f"{n * part.chances[worst]:,.1f} are expected"
    what = f"In {part.part}, {seen[worst]:,} reports have {worst}, where {expected}."
    return Alarm("marginal", what, exp(min(logs[worst], 0.0)))


def _supports(client: Client, tally: Tally, rate: float) -> Alarm | None:
    """Shares between ``low`` and ``high`` explain each value's supports, all at once; can they add up to one?"""
    if isinstance(client, _HANG_TOGETHER):
        return None
    n, d = tally.reports, len(client.domain)
    (p, q), seen = client.chances, tally.supports / n
    low, high = ((edge - q) / (p - q) for edge in _range(seen, n, log(2 * d / rate)))
    if (low > 1).any() or (high < 0).any():
        place = int(np.argmax(np.maximum(low - 1, -high)))
        value = client.domain.values[place]
        few = high[place] < 0
        said = "fewer reports than if nobody" if few else "more reports than if everybody"
        return Alarm("supports", f"The value {value} is supported by {said} had it.", rate)
    if np.maximum(low, 0).sum() > 1:
        return Alarm("supports", "All values together are supported by more people than there are.", rate)
    if np.minimum(high, 1).sum() < 1:
        return Alarm("supports", "All values together are supported by fewer people than there are.", rate)
    return None


def _range(seen: NDArray[np.float64], n: int, limit: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The least and the largest mean chance that ``seen`` does not refute: n times the divergence is ``limit``."""
    ends = []
    for far in (np.zeros_like(seen), np.ones_like(seen)):
        near, refuted = seen.copy(), far
        for _ in range(60):
            middle = (near + refuted) / 2
            out = -_log_chance(seen, middle, n) > limit
            refuted, near = np.where(out, middle, refuted), np.where(out, near, middle)
        ends.append(refuted)
    return ends[0], ends[1]


def _log_chance(seen: NDArray[np.float64], chances: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    """The logarithm of how likely n coins of these mean chances are as far off, on that side: at most (Hoeffding)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        heads = np.where(seen > 0, seen * np.log(seen / chances), 0.0)
        tails = np.where(seen < 1, (1 - seen) * np.log((1 - seen) / (1 - chances)), 0.0)
    logs: NDArray[np.float64] = -n * (heads + tails)
    return logs
