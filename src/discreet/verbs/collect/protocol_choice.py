"""Which protocol? The most accurate, the shortest or the quickest, for a question, a loss and a number of people.

All are compared by figures that are known before anybody answers: the standard deviation of a count if answers are
spread evenly (from the chances that are really flipped by), the bytes of a report, and about how many steps it takes
on the device and where it is counted.

All pure frequency protocols by their names, and how one is written down and read again.

dBitFlip is not among them: a report of it supports a value only if it speaks of it, so that its chances and variances
hang on how many did, and not on p and q alone. It has a tally of its own.

All protocols for means by their names, and which of them is the most accurate.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from inspect import signature
from typing import Any, Literal, TypeAlias, get_args

import pyarrow as pa

from discreet.core.document import fields
from discreet.core.exact import Number, equation
from discreet.errors import BadInput, NotFound
from discreet.verbs.collect.domain import Domain
from discreet.verbs.collect.frequency.coins import Coins
from discreet.verbs.collect.frequency.count_mean_sketch import CMS, HCMS
from discreet.verbs.collect.frequency.grr import GRR
from discreet.verbs.collect.frequency.hadamard import Hadamard
from discreet.verbs.collect.frequency.local_hashing import BLH, OLH
from discreet.verbs.collect.frequency.projective_geometry import PGR
from discreet.verbs.collect.frequency.subset_selection import SubsetSelection
from discreet.verbs.collect.frequency.unary_encoding import OUE, SUE
from discreet.verbs.collect.frequency_oracle import Client
from discreet.verbs.collect.longitudinal.l_grr import LGRR
from discreet.verbs.collect.longitudinal.loloha import LOLOHA
from discreet.verbs.collect.longitudinal.rappor import LOSUE, RAPPOR
from discreet.verbs.collect.numbers.duchi import Duchi
from discreet.verbs.collect.numbers.grid import Grid
from discreet.verbs.collect.numbers.hybrid import Hybrid
from discreet.verbs.collect.numbers.laplace import Laplace
from discreet.verbs.collect.numbers.mean import MeanProtocol
from discreet.verbs.collect.numbers.window import Piecewise, SquareWave
from discreet.verbs.collect.probability import epsilon_of

Priority: TypeAlias = Literal["accuracy", "bytes", "speed"]

PRIVATE = ("grr", "sue", "oue", "blh", "olh", "subset", "hadamard", "hcms", "cms", "pgr")
"""What is chosen from: protocols that are made for a given loss, and for being asked once."""
_MARGIN = 1.01
_BEARABLE = 2


@dataclass(frozen=True)
class Choice:
    """A protocol, why it was chosen, and what it was compared with."""

    client: Client
    why: str
    compared: pa.Table
    """Protocol, standard deviation of a count, bytes a report, operations; the chosen one first, then by accuracy."""

    def __str__(self) -> str:
        return self.why


@dataclass(frozen=True)
class _Candidate:
    client: Client
    deviation: float
    bytes: int

    @property
    def operations(self) -> int:
        return self.client.operations


def choose(
    domain: Domain | int | Iterable[Any],
    epsilon: Number,
    n: int,
    priority: Priority = "accuracy",
    *,
    among: Iterable[str] = PRIVATE,
) -> Choice:
    """The best protocol for ``n`` people, each of whom may lose ``epsilon``.

    By *accuracy* it is the one with the smallest error, or the shortest of those that come within a hundredth of it. By
    *bytes* or *speed* it is the shortest or quickest of those whose error is at most twice the smallest.
    """
    if priority not in get_args(Priority):
        raise BadInput(f"Priority is {', '.join(get_args(Priority))}, not {priority!r}.")
    if n < 1:
        raise BadInput(f"A choice is for one person or more, got {n}.")
    values = domain if isinstance(domain, Domain) else Domain(domain)
    claimed, compared = epsilon_of(epsilon), []
    for name in among:
        made = named(name)
        with suppress(BadInput):  # not made for so many values
            compared.append(_candidate(made(values, claimed), n))
    if not compared:
        raise BadInput("There is no protocol to choose from.")
    least = min(one.deviation for one in compared)
    bound, order = _ORDERS[priority]
    best = min((one for one in compared if one.deviation <= least * bound), key=order)
    rows = [best, *sorted((one for one in compared if one is not best), key=lambda one: one.deviation)]
    return Choice(best.client, _why(best, rows[1:], least, n, priority), _table(rows))


_ORDERS: dict[Priority, tuple[float, Callable[[_Candidate], tuple[float, ...]]]] = {
    "accuracy": (_MARGIN, lambda one: (one.bytes, one.operations)),
    "bytes": (_BEARABLE, lambda one: (one.bytes, one.deviation)),
    "speed": (_BEARABLE, lambda one: (one.operations, one.deviation)),
}


def _candidate(client: Client, n: int) -> _Candidate:
    deviation = math.sqrt(client.variance(n, 1 / len(client.domain)))
    return _Candidate(client, deviation, client.report_type.bit_width // 8)


def _why(best: _Candidate, rest: list[_Candidate], least: float, n: int, priority: Priority) -> str:
    client = best.client
    loss = equation("ε", client.epsilon)
    what = (
        f"{client.name}: with {loss}, {len(client.domain):,} values and {n:,} people a count is off by about "
        f"{best.deviation:,.0f} ({best.deviation / n:.2%}), in {_bytes(best)} a report"
    )
    if not rest:
        return f"{what}; there was no other to choose from."
    reasons: dict[Priority, str] = {
        "accuracy": "none is off by less than 99 % of that, and of those that come as near it has the shortest reports",
        "bytes": f"of those that are off by at most twice the least of all, {least:,.0f}, it has the shortest reports",
        "speed": f"of those that are off by at most twice the least of all, {least:,.0f}, it takes the fewest steps",
    }
    beside = f"{rest[0].client.name}, would be off by {rest[0].deviation:,.0f}, in {_bytes(rest[0])}"
    return f"{what}; {reasons[priority]}. The most accurate of the others, {beside}."


def _bytes(one: _Candidate) -> str:
    return f"{one.bytes:,} byte{'s' * (one.bytes != 1)}"


def _table(rows: list[_Candidate]) -> pa.Table:
    columns: dict[str, list[Any]] = {
        "protocol": [one.client.name for one in rows],
        "deviation": [one.deviation for one in rows],
        "bytes": [one.bytes for one in rows],
        "operations": [one.operations for one in rows],
    }
    return pa.table(columns)


_ALL: tuple[type[Client], ...] = (
    Coins, GRR, SUE, OUE, RAPPOR, BLH, OLH, SubsetSelection, Hadamard, CMS, HCMS, PGR, LGRR, LOSUE, LOLOHA
)  # fmt: skip
PROTOCOLS: Mapping[str, type[Client]] = {client.name: client for client in _ALL}


def to_dict(client: Client) -> dict[str, Any]:
    """A protocol as plain data: its name, its values and what it is made with."""
    known = {"epsilon": str(client.epsilon), **client.parameters}
    taken = _taken(type(client))
    given = {name: value for name, value in known.items() if name in taken}
    return {"protocol": client.name, "values": list(client.domain.values), "with": given}


def from_dict(data: object) -> Client:
    """What ``to_dict`` gave, read back strictly."""
    said = fields(data, "a protocol", protocol=str, values=list, **{"with": dict})
    made = named(said["protocol"])
    if wrong := set(said["with"]) ^ _taken(made):
        raise BadInput(f"The protocol {made.name} is made with {', '.join(sorted(_taken(made)))}, not {min(wrong)!r}.")
    for name, value in said["with"].items():
        if type(value) is not (int if name in _WHOLE else str):
            raise BadInput(f"{name} of the protocol {made.name} is not what it should be, got {value!r}.")
    return made(Domain(said["values"]), **said["with"])


def named(name: str) -> type[Client]:
    """The protocol of that name."""
    if name not in PROTOCOLS:
        raise NotFound(f"There is no protocol {name!r}.", hint=f"Known are {', '.join(PROTOCOLS)}.")
    return PROTOCOLS[name]


_WHOLE = frozenset({"functions", "buckets", "seed"})


def _taken(made: type[Client]) -> set[str]:
    """What a protocol is made with beside its domain."""
    return set(signature(made).parameters) - {"domain"}


_ALL: tuple[type[MeanProtocol], ...] = (Laplace, Duchi, Piecewise, Hybrid, SquareWave)
MEANS: Mapping[str, type[MeanProtocol]] = {protocol.name: protocol for protocol in _ALL}


def most_accurate(grid: Grid, epsilon: Number) -> MeanProtocol:
    """The protocol whose error is least for the number that it is worst for: known before anybody answers."""
    return min((made(grid, epsilon) for made in _ALL), key=lambda protocol: float(protocol.variances.max()))
