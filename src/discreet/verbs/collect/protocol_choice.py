"""Choice of a protocol by accuracy, bytes or speed, for a question, an epsilon and a number of people.

Oracles are compared by figures that are known before anyone answers: the standard deviation of a count if answers are
spread evenly (from the probabilities that are really drawn by), the bytes of a report, and about how many steps it
takes on the device and where it is counted.

dBitFlip is not among them: a report of it supports a value only if it speaks of it, so that its probabilities and
variances depend on how many did, and not on p and q alone. It has a tally of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import pyarrow as pa

from discreet.core.exact import Number, equation
from discreet.core.families import FREQUENCY_ORACLES, MEAN_PROTOCOLS
from discreet.errors import BadInput, NotFound
from discreet.verbs.collect.domain import Domain
from discreet.verbs.collect.frequency_oracle import FrequencyOracle
from discreet.verbs.collect.longitudinal.memoization import MemoizedOracle
from discreet.verbs.collect.numbers.grid import NumberGrid
from discreet.verbs.collect.numbers.mean import MeanProtocol
from discreet.verbs.collect.report_distribution import require_epsilon

Priority: TypeAlias = Literal["accuracy", "bytes", "speed"]

ONE_TIME_ORACLES = tuple(
    entry.name
    for entry in FREQUENCY_ORACLES.entries()
    if not issubclass(entry.kind, MemoizedOracle) and any(one.name == "epsilon" for one in entry.parameters)
)
"""Names of the oracles to choose from: made for a given epsilon, and for being asked once."""
_ACCURACY_MARGIN = 1.01
"""Largest error, relative to the smallest, of oracles that count as equally accurate."""
_ERROR_FACTOR = 2
"""Largest error, relative to the smallest, that is traded for shorter or quicker reports."""


@dataclass(frozen=True)
class ProtocolChoice:
    """The chosen oracle, the reason, and the comparison."""

    oracle: FrequencyOracle
    reason: str
    comparison: pa.Table
    """Protocol, standard deviation of a count, bytes a report, operations; the chosen one first, then by accuracy."""

    def __str__(self) -> str:
        return self.reason


@dataclass(frozen=True)
class _Candidate:
    """An oracle, and the figures that it is chosen by."""

    oracle: FrequencyOracle
    deviation: float
    bytes: int
    operations: int


def choose(
    domain: Domain | int | Iterable[Any],
    epsilon: Number,
    n: int,
    priority: Priority = "accuracy",
    *,
    among: Iterable[str] = ONE_TIME_ORACLES,
) -> ProtocolChoice:
    """Choose the best frequency oracle for ``n`` people, each of whom may lose ``epsilon``.

    By *accuracy* it is the one with the smallest error, or the shortest of those that come within a hundredth of it. By
    *bytes* or *speed* it is the shortest or quickest of those whose error is at most twice the smallest.
    """
    if priority not in get_args(Priority):
        raise BadInput(f"Priority must be {', '.join(get_args(Priority))}, not {priority!r}.")
    if n < 1:
        raise BadInput(f"The number of people must be at least 1, got {n}.")
    values, claim, candidates = Domain.of(domain), require_epsilon(epsilon), list[_Candidate]()
    for name in among:
        oracle_class = frequency_oracle(name)
        with suppress(BadInput):  # not made for this number of values
            oracle = oracle_class(values, claim)
            deviation = math.sqrt(oracle.variance(n, 1 / len(values)))
            candidates.append(_Candidate(oracle, deviation, oracle.report_type.bit_width // 8, oracle.operations))
    if not candidates:
        raise BadInput("There is no protocol to choose from.")
    least = min(candidate.deviation for candidate in candidates)
    bound, order = _ORDERS[priority]
    best = min((candidate for candidate in candidates if candidate.deviation <= least * bound), key=order)
    others = sorted((each for each in candidates if each is not best), key=lambda candidate: candidate.deviation)
    figures = ("deviation", "bytes", "operations")
    rows = [{"protocol": one.oracle.name} | {name: getattr(one, name) for name in figures} for one in (best, *others)]
    return ProtocolChoice(best.oracle, _reason(best, others, least, n, priority), pa.Table.from_pylist(rows))


def choose_mean_protocol(grid: NumberGrid, epsilon: Number) -> MeanProtocol:
    """Choose the mean protocol with the smallest worst-case variance."""
    protocols: list[MeanProtocol] = [entry.kind(grid, epsilon) for entry in MEAN_PROTOCOLS.entries()]
    return min(protocols, key=lambda protocol: float(protocol.variances.max()))


def frequency_oracle(name: str) -> type[FrequencyOracle]:
    """Look up a frequency oracle by its name."""
    known: dict[str, type[FrequencyOracle]] = {entry.name: entry.kind for entry in FREQUENCY_ORACLES.entries()}
    if name not in known:
        raise NotFound(f"There is no protocol {name!r}.", hint=f"Choose from {', '.join(known)}.")
    return known[name]


_ORDERS: dict[Priority, tuple[float, Callable[[_Candidate], tuple[float, ...]]]] = {
    "accuracy": (_ACCURACY_MARGIN, lambda candidate: (candidate.bytes, candidate.operations)),
    "bytes": (_ERROR_FACTOR, lambda candidate: (candidate.bytes, candidate.deviation)),
    "speed": (_ERROR_FACTOR, lambda candidate: (candidate.operations, candidate.deviation)),
}


def _reason(best: _Candidate, others: list[_Candidate], least: float, n: int, priority: Priority) -> str:
    oracle = best.oracle
    summary = (
        f"{oracle.name}: with {equation('ε', oracle.epsilon)}, {len(oracle.domain):,} values and {n:,} people the "
        f"standard error of a count is about {best.deviation:,.0f} ({best.deviation / n:.2%}), "
        f"at {_bytes(best)} per report"
    )
    if not others:
        return f"{summary}; there was no other to choose from."
    reasons: dict[Priority, str] = {
        "accuracy": "of the protocols within 1 % of the smallest error it has the shortest reports",
        "bytes": f"of the protocols within twice the smallest error, {least:,.0f}, it has the shortest reports",
        "speed": f"of the protocols within twice the smallest error, {least:,.0f}, it takes the fewest steps",
    }
    second = f"{others[0].oracle.name}: {others[0].deviation:,.0f}, at {_bytes(others[0])}"
    return f"{summary}; {reasons[priority]}. The most accurate of the others is {second}."


def _bytes(candidate: _Candidate) -> str:
    return f"{candidate.bytes:,} byte{'s' * (candidate.bytes != 1)}"
