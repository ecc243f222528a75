"""Poisoning: how many made-up reports an estimate tolerates, and tests that detect crude attacks.

No one can tell from one report whether a device drew it. What it can do is limited: a report either supports a value or
does not, and is worth (1 - q) / (p - q) people if it does and -q / (p - q) if it does not. Every protocol here has
reports of either kind for every value, so the most that m made-up reports can add to a figure is exactly m (1 - q) / (p
- q), and the most they can take from it m q / (p - q) (the maximal gain attack: Cao, Jia, Gong 2021).
``poisoning_tolerance`` compares that with the figure's own error bar. The better the privacy, the less it takes.

Two tests notice attacks that are crude. Neither supposes anything about people's answers, and both keep the stated rate
of false alarms exactly, at any number of reports, since the bound that they use (Hoeffding 1963, Theorem 1) holds for
sums of any independent coins:

* *invariant*: some part of a report has the same distribution whatever the answer is: how many bits of a row are 1,
  which position or function was drawn. Each of its values is a coin of known probability.
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
from discreet.verbs.collect.confidence_intervals import log_tail_bounds
from discreet.verbs.collect.domain import Counts, Floats
from discreet.verbs.collect.frequency.count_mean_sketch import CountMeanSketch
from discreet.verbs.collect.frequency.hadamard import Hadamard
from discreet.verbs.collect.frequency.local_hashing import LocalHashing, bucket_edges
from discreet.verbs.collect.frequency.unary_encoding import UnaryEncoding
from discreet.verbs.collect.frequency_oracle import FrequencyEstimate, FrequencyOracle, ReportTally
from discreet.verbs.collect.longitudinal.dbitflip import DBitFlip
from discreet.verbs.collect.numbers.mean import MeanProtocol
from discreet.verbs.collect.report_arrays import Reports, reports_to_rows

FALSE_ALARM = 1e-6
"""Default bound on the probability that honest reports raise an alarm."""
_FIELD_PARTS = 256
"""Number of parts of the field by which hash functions are counted."""
_DEPENDENT_REPORTS = (CountMeanSketch, DBitFlip)
"""Oracles whose counts are no sums of independent reports: they share functions, or count who spoke of a value."""


@dataclass(frozen=True)
class PoisoningTolerance:
    """Number of made-up reports that each count tolerates before it moves by more than its error bar."""

    reports: Counts
    n: int

    @property
    def worst(self) -> float:
        """Share that the most easily moved count tolerates."""
        return float(self.reports.min() / self.n)

    def __str__(self) -> str:
        return (
            f"Of {self.n:,} reports, {int(self.reports.min()):,} ({self.worst:.3%}) may be forged before a "
            "figure moves by more than its error bar."
        )


def poisoning_tolerance(estimate: FrequencyEstimate) -> PoisoningTolerance:
    """Compute how many made-up reports each count tolerates, however well they are made up."""
    if isinstance(estimate.oracle, DBitFlip):
        raise BadInput("In dBitFlip a report's influence depends on the number of reports on the value.")
    p, q = estimate.oracle.probabilities
    gain = np.maximum(1 - q, q) / (p - q)
    return PoisoningTolerance(np.minimum(estimate.error_bars / gain, estimate.n).astype(np.int64), estimate.n)


@dataclass(frozen=True)
class PoisoningAlarm:
    """A failed test: no answers explain the reports."""

    test: str
    message: str
    p_value: float
    """Upper bound of the p-value under honest reporting, Bonferroni-corrected over the positions tested."""

    def __str__(self) -> str:
        return f"{self.message} p-value under honest reporting: at most {self.p_value:.1e}."


def detect_poisoning(
    oracle: FrequencyOracle, reports: Reports, *, false_alarm: float = FALSE_ALARM
) -> tuple[PoisoningAlarm, ...]:
    """Test reports for poisoning; honest reports raise an alarm with probability ``false_alarm`` at most."""
    tally = oracle.tally().add(reports)  # what no device can have made is an error, not an alarm
    return PoisoningDetector(oracle).add(reports).alarms(tally, false_alarm=false_alarm)


class PoisoningDetector:
    """Running counts of a fixed size, for tests of reports that come in batches."""

    def __init__(self, oracle: FrequencyOracle) -> None:
        self._oracle = oracle
        self._invariant = invariant_part(oracle)
        self._seen = np.zeros(0 if self._invariant is None else self._invariant.probabilities.size, dtype=np.int64)

    def add(self, reports: Reports) -> Self:
        """Count further reports, which a tally has accepted."""
        if self._invariant is not None:
            for chunk in reports.chunks if isinstance(reports, pa.ChunkedArray) else [reports]:
                self._seen = self._seen + self._invariant.count(chunk)
        return self

    def alarms(self, tally: ReportTally, *, false_alarm: float = FALSE_ALARM) -> tuple[PoisoningAlarm, ...]:
        """Run the tests on all reports, given their tally."""
        if not 0 < false_alarm < 1:
            raise BadInput(f"The false-alarm rate must be between 0 and 1, got {false_alarm}.")
        if not tally.reports:
            raise BadInput("There are no reports to test.")
        raised = [_test_supports(self._oracle, tally, false_alarm / 2)]
        if self._invariant is not None:
            raised.insert(0, _test_invariant(self._invariant, self._seen, tally.reports, false_alarm / 2))
        return tuple(alarm for alarm in raised if alarm is not None)


def detect_poisoning_of_numbers(
    protocol: MeanProtocol, counts: Counts, *, false_alarm: float = FALSE_ALARM
) -> tuple[PoisoningAlarm, ...]:
    """Test reports of a number for poisoning, by how often each occurs.

    The probability of each lies between that of the number which makes it least likely and of the one which makes it
    most likely.
    """
    n = int(counts.sum())
    seen = counts / n
    least, most = protocol.probabilities.min(axis=0), protocol.probabilities.max(axis=0)
    logs = np.where((seen < least) | (seen > most), log_tail_bounds(seen, np.clip(seen, least, most), n), 0.0)
    worst = int(logs.argmin())
    log_p_value = logs[worst] + log(2 * seen.size)
    if log_p_value > log(false_alarm):
        return ()
    between = f"between {n * least[worst]:,.1f} and {n * most[worst]:,.1f} are expected under honest reporting"
    return (
        PoisoningAlarm("numbers", f"Report {worst} was made {counts[worst]:,} times; {between}.", exp(log_p_value)),
    )


@dataclass(frozen=True)
class InvariantPart:
    """A part of a report with the same distribution for every answer, and how to count it."""

    name: str
    probabilities: Floats
    count: Callable[[pa.Array[Any]], Counts]


def _categorical(name: str, probabilities: Floats, codes: Callable[[NDArray[np.uint8]], NDArray[Any]]) -> InvariantPart:
    """An invariant part that is one of several categories, by the rows of bytes of reports."""
    return InvariantPart(
        name, probabilities, lambda reports: np.bincount(codes(reports_to_rows(reports)), minlength=probabilities.size)
    )


@singledispatch
def invariant_part(oracle: FrequencyOracle) -> InvariantPart | None:
    """The part of an oracle's reports that depends on no answer; ``None`` if there is none."""
    return None


@invariant_part.register(UnaryEncoding)
def _ones(oracle: UnaryEncoding) -> InvariantPart:
    """Number of bits that are 1: the own one with p, every other with q, whichever is the own."""
    d, p, q = len(oracle.domain), float(oracle.p_own), float(oracle.q_other)
    distribution = np.ones(1)
    for probability in [p] + [q] * (d - 1):
        distribution = np.convolve(distribution, [1 - probability, probability])
    return _categorical(
        "bits that are 1", distribution, lambda rows: np.bitwise_count(rows).sum(axis=1, dtype=np.int64)
    )


@invariant_part.register(Hadamard)
def _positions(oracle: Hadamard) -> InvariantPart:
    positions = oracle.positions
    return InvariantPart(
        "the position",
        np.full(positions, 1 / positions),
        lambda reports: np.bincount(reports.to_numpy() >> 1, minlength=positions),
    )


@invariant_part.register(LocalHashing)
def _functions(oracle: LocalHashing) -> InvariantPart:
    """Hash function, by the part of the field in which its a lies."""
    edges = bucket_edges(oracle.field, min(_FIELD_PARTS, oracle.field))
    return _categorical(
        "the function",
        np.diff(edges) / oracle.field,
        lambda rows: np.searchsorted(edges, rows[:, :4].copy().view("<u4")[:, 0].astype(np.int64), side="right") - 1,
    )


@invariant_part.register(CountMeanSketch)
def _sketch_functions(oracle: CountMeanSketch) -> InvariantPart:
    even = np.full(oracle.functions, 1 / oracle.functions)
    return _categorical("the function", even, lambda rows: rows[:, :2].copy().view("<u2")[:, 0])


@invariant_part.register(DBitFlip)
def _spoken(oracle: DBitFlip) -> InvariantPart:
    """Values that a report speaks of."""
    d = len(oracle.domain)
    return InvariantPart("the values spoken of", np.full(d, oracle.bits / d), lambda reports: oracle.count(reports)[d:])


def _test_invariant(part: InvariantPart, seen: Counts, n: int, rate: float) -> PoisoningAlarm | None:
    logs = log_tail_bounds(seen / n, part.probabilities, n) + log(2 * seen.size)
    worst = int(logs.argmin())
    if logs[worst] > log(rate):
        return None
    expected = f"{n * part.probabilities[worst]:,.1f} are expected"
    message = f"In {part.name}, {seen[worst]:,} reports have {worst}, where {expected}."
    return PoisoningAlarm("invariant", message, exp(min(logs[worst], 0.0)))


def _test_supports(oracle: FrequencyOracle, tally: ReportTally, rate: float) -> PoisoningAlarm | None:
    """Test whether shares that explain each value's supports, all at once, can add up to one."""
    if isinstance(oracle, _DEPENDENT_REPORTS):
        return None
    n, d = tally.reports, len(oracle.domain)
    (p, q), seen = oracle.probabilities, tally.supports / n
    low, high = ((edge - q) / (p - q) for edge in _mean_interval(seen, n, log(2 * d / rate)))
    if (low > 1).any() or (high < 0).any():
        index = int(np.argmax(np.maximum(low - 1, -high)))
        value = oracle.domain.values[index]
        few = high[index] < 0
        extreme = "fewer reports than if no one" if few else "more reports than if everyone"
        return PoisoningAlarm("supports", f"The value {value} has {extreme} had it.", rate)
    if np.maximum(low, 0).sum() > 1:
        return PoisoningAlarm("supports", "All values together are supported by more people than there are.", rate)
    if np.minimum(high, 1).sum() < 1:
        return PoisoningAlarm("supports", "All values together are supported by fewer people than there are.", rate)
    return None


def _mean_interval(seen: Floats, n: int, limit: float) -> tuple[Floats, Floats]:
    """Smallest and largest mean probability that ``seen`` does not refute: n times the divergence is ``limit``."""
    ends = []
    for far in (np.zeros_like(seen), np.ones_like(seen)):
        near, refuted = seen.copy(), far
        for _ in range(60):
            middle = (near + refuted) / 2
            out = -log_tail_bounds(seen, middle, n) > limit
            refuted, near = np.where(out, middle, refuted), np.where(out, near, middle)
        ends.append(refuted)
    return ends[0], ends[1]
