"""All pure frequency protocols by their names, and how one is written down and read again.

dBitFlip is not among them: a report of it supports a value only if it speaks of it, so that its chances and variances
hang on how many did, and not on p and q alone. It has a tally of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from inspect import signature
from typing import Any

from discreet.core.document import fields
from discreet.errors import BadInput, NotFound
from discreet.verbs.collect.client import Client
from discreet.verbs.collect.domain import Domain
from discreet.verbs.collect.frequency.coins import Coins
from discreet.verbs.collect.frequency.direct import GRR
from discreet.verbs.collect.frequency.hadamard import Hadamard
from discreet.verbs.collect.frequency.hashing import BLH, OLH
from discreet.verbs.collect.frequency.projective import PGR
from discreet.verbs.collect.frequency.sketch import CMS, HCMS
from discreet.verbs.collect.frequency.subset import SubsetSelection
from discreet.verbs.collect.frequency.unary import OUE, SUE
from discreet.verbs.collect.time.direct import LGRR
from discreet.verbs.collect.time.hashing import LOLOHA
from discreet.verbs.collect.time.unary import LOSUE, RAPPOR

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
