"""What a coalition learns by counting: every input and every random choice is tried, and the views are compared.

The protocol runs once for all cases: vectors are only added and subtracted, so element i of every vector is what the
protocol does in case i. Two choices of the honest inputs are told apart when the views do not have the same
distribution. Shares are counted as well, as Shamir's over seven numbers. Nothing here uses the code it checks.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from typing import Any

import numpy as np

from discreet.verbs.combine import bus
from discreet.verbs.combine.effects import Broadcast, Effect, Send
from discreet.verbs.combine.group import ModularGroup
from discreet.verbs.combine.protocols.protocol import Party, SumProtocol
from discreet.verbs.combine.symbolic.leakage import Leakage
from discreet.verbs.combine.symbolic.symbols import LinearForm, Value

_CASES = 1 << 13
"""Where there are more, what the coalition knows itself is not tried but fixed."""


class Small(ModularGroup):
    """Integers modulo 2 or 4, of which all can be tried."""

    def __post_init__(self) -> None:
        assert self.bits <= 2


@dataclass(frozen=True)
class Told:
    """A digest, which is taken to say all that it is of."""

    parts: tuple[Any, ...] = field(compare=False)
    same: tuple[Any, ...]


@dataclass
class World:
    """The variables of all parties; each is an array with an element for every case."""

    length: int = 1
    variables: dict[Any, Any] = field(default_factory=dict)

    def variable(self, name: Any) -> Any:
        return self.variables.setdefault(name, np.zeros(self.length, np.uint64))


@dataclass
class Enumerated:
    """A party's tools in the world; secrets are handles that say what they are of."""

    party: str
    world: World

    def draw(self, label: str, group: ModularGroup, length: int) -> Any:
        return self.world.variable(("draw", self.party, label)).copy()

    def secret(self, label: str) -> Any:
        return ("secret", self.party, label)

    def public(self, secret: Any) -> Any:
        return ("public", secret)

    def agree(self, mine: Any, theirs: Any) -> Any:
        return ("seed", *sorted((mine, theirs[1])))

    def mask(self, seed: Any, label: str, group: ModularGroup, length: int) -> Any:
        return self.world.variable(("mask", seed, label)).copy()

    def split(self, secret: Any, label: str, holders: Sequence[str], threshold: int) -> dict[str, Any]:
        return {holder: ("share", secret, label, threshold, at) for at, holder in enumerate(holders, 1)}

    def join(self, shares: Mapping[str, Any], threshold: int) -> Any:
        (secret,) = {share[1] for share in shares.values()}
        assert _determined(threshold, frozenset(share[4] for share in shares.values()))
        return secret

    def digest(self, group: ModularGroup, *parts: Any) -> Any:
        return Told(parts, tuple(part.tobytes() if isinstance(part, np.ndarray) else part for part in parts))

    def fits(self, part: Any, group: ModularGroup, length: int) -> bool:
        return isinstance(part, np.ndarray)

    def is_public(self, part: Any) -> bool:
        return part is not None

    def is_share(self, part: Any) -> bool:
        return part is not None


def agrees(protocol: SumProtocol, parties: Sequence[str], bits: int, found: Leakage, **case: Any) -> bool:
    """Whether what was found tells the same honest inputs apart as the views do."""
    honest = [party for party in parties if party not in found.coalition]
    forms = [*found.beyond, LinearForm.sum(Value(party) for party in found.result)]
    told = {
        inputs: tuple(_evaluated(form, dict(zip(honest, inputs, strict=True))) % (1 << bits) for form in forms)
        for inputs in product(range(1 << bits), repeat=len(honest))
    }
    return _classes(told) == _classes(views(protocol, parties, bits, found.coalition, **case))


def views(
    protocol: SumProtocol, parties: Sequence[str], bits: int, coalition: Sequence[str], **case: Any
) -> dict[tuple[int, ...], Any]:
    """For all inputs of the honest parties, how often each view of the coalition occurs."""
    world = World()
    known = _known(_view(world, protocol, parties, bits, coalition, **case))
    honest = [("value", party) for party in parties if party not in coalition]
    rest = [name for name in world.variables if name not in honest]
    tried = [*honest, *(name for name in rest if not _knows(name, coalition, known))]
    fixed = [name for name in rest if name not in tried]
    if (1 << bits * (len(tried) + len(fixed))) <= _CASES:
        tried, fixed = [*tried, *fixed], []
    length = 1 << bits * len(tried)
    places = np.arange(length, dtype=np.uint64)
    cases = {name: places >> np.uint64(bits * at) & np.uint64((1 << bits) - 1) for at, name in enumerate(tried)}
    cases |= {name: np.full(length, at % (1 << bits), np.uint64) for at, name in enumerate(fixed)}
    view = _view(World(length, cases), protocol, parties, bits, coalition, **case)
    columns = [part for part in view if isinstance(part, np.ndarray)]
    columns += [cases[name] for name in rest if _knows(name, coalition, known)]
    which = places & np.uint64((1 << bits * len(honest)) - 1)
    inputs = list(product(range(1 << bits), repeat=len(honest)))
    counted = _counted(which, columns, bits)
    return {each[::-1]: counted[at] for at, each in enumerate(inputs)}


def _counted(which: Any, columns: Sequence[Any], bits: int) -> dict[int, Any]:
    """For each value of ``which``, the distribution of the columns."""
    key = np.zeros(len(which), np.uint64)
    distinct = {column.tobytes(): column & np.uint64((1 << bits) - 1) for column in columns}
    used = 0
    for column in distinct.values():
        if used + bits > 40:
            key = np.unique(key, return_inverse=True)[1].astype(np.uint64)
            used = 20
        key = key << np.uint64(bits) | column
        used += bits
    key = np.unique(key, return_inverse=True)[1].astype(np.uint64)
    pairs, counts = np.unique(which << np.uint64(32) | key, return_counts=True)
    found = defaultdict(list)
    for pair, count in zip(pairs.tolist(), counts.tolist(), strict=True):
        found[pair >> 32].append((pair & 0xFFFFFFFF, count))
    return {at: tuple(each) for at, each in found.items()}


def _view(
    world: World,
    protocol: SumProtocol,
    parties: Sequence[str],
    bits: int,
    coalition: Sequence[str],
    *,
    drops: Mapping[str, str] | None = None,
    late: Mapping[str, str] | None = None,
    threshold: int = 0,
    adder: str = "",
) -> list[Any]:
    """All that the coalition sees, and what comes out."""
    leave = {**(drops or {}), **(late or {})}
    after: list[Any] = []

    def leaves(party: str, effect: Effect) -> bool:
        gone = isinstance(effect, Send | Broadcast) and leave.get(party) == effect.kind
        if gone and party in (late or {}):
            to = (effect.to,) if isinstance(effect, Send) else effect.to
            after.extend(_parts(effect.body) if set(to) & set(coalition) else ())
        return gone

    plays = {}
    for party in parties:
        me = Party(party, tuple(parties), Small(bits), world.length, Enumerated(party, world), "", threshold, adder)
        plays[party] = protocol.play(me, world.variable(("value", party)).copy())
    played = bus.play(plays, leaves=leaves)
    seen = [part for party in coalition for message in played.view(party) for part in _parts(message.body)]
    totals = list(played.results.values())
    whose = max((total.parties for total in totals), key=len, default=())
    result = sum((world.variable(("value", party)) for party in whose), start=np.zeros(world.length, np.uint64))
    return [*seen, *after, result, *(total.vector for total in totals)]


def _parts(whole: Any) -> Iterator[Any]:
    if isinstance(whole, Mapping):
        for part in whole.values():
            yield from _parts(part)
    elif isinstance(whole, Told):
        for part in whole.parts:
            yield from _parts(part)
    else:
        yield whole


def _known(view: Sequence[Any]) -> set[Any]:
    """The secrets in the view, and those that the shares in it determine."""
    handles = {part for part in view if isinstance(part, tuple) and part and part[0] in {"secret", "seed", "share"}}
    points = defaultdict(set)
    for handle in handles:
        if handle[0] == "share":
            points[handle[1:4]].add(handle[4])
    joined = {sharing[0] for sharing, at in points.items() if _determined(sharing[2], frozenset(at))}
    return handles | joined


def _knows(name: Any, coalition: Sequence[str], known: set[Any]) -> bool:
    if name in known:
        return True
    if name[0] == "mask":
        return _knows(name[1], coalition, known)
    if name[0] == "seed":
        return any(_knows(secret, coalition, known) for secret in name[1:])
    return name[1] in coalition


@cache
def _determined(threshold: int, points: frozenset[int]) -> bool:
    """Whether Shamir's shares at these points determine the secret, by counting; they must tell all or nothing."""
    seen = defaultdict(Counter)
    for polynomial in product(range(7), repeat=threshold):
        shares = tuple(sum(c * at**power for power, c in enumerate(polynomial)) % 7 for at in sorted(points))
        seen[polynomial[0]][shares] += 1
    apart = len({frozenset(shares.items()) for shares in seen.values()})
    assert apart in {1, 7}
    return apart == 7


def _evaluated(form: LinearForm, values: Mapping[str, int]) -> int:
    return sum(factor * values.get(variable.party, 0) for variable, factor in form)


def _classes(told: Mapping[tuple[int, ...], Any]) -> set[frozenset[tuple[int, ...]]]:
    """Which inputs look alike."""
    alike = defaultdict(set)
    for inputs, seen in told.items():
        alike[seen].add(inputs)
    return {frozenset(each) for each in alike.values()}
