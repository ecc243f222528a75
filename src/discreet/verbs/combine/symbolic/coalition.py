"""What some of the parties learn when they put together all they saw: the protocol runs on symbols, and it is computed.

Whoever is in a coalition follows the protocol and remembers everything: its value, all it drew, all it sent and got.
The result counts as known to every coalition, and is no leak. Each sum is looked at alone: what several sums of one
session tell together is for the function that asks for them to say.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from typing import TypedDict, Unpack, cast

from discreet.errors import BadInput
from discreet.verbs.combine import bus
from discreet.verbs.combine.effects import Body, Effect, Send, Tell
from discreet.verbs.combine.group import Group, Vector
from discreet.verbs.combine.party import Seat
from discreet.verbs.combine.protocols.dining import Dining
from discreet.verbs.combine.protocols.parse import protocol as parsed
from discreet.verbs.combine.protocols.protocol import Protocol
from discreet.verbs.combine.symbolic.forms import Form, Value
from discreet.verbs.combine.symbolic.knowledge import learnt
from discreet.verbs.combine.symbolic.learnt import Learnt, listed
from discreet.verbs.combine.symbolic.tools import Symbolic
from discreet.verbs.combine.terms import Terms

_MOST = 10


class Case(TypedDict, total=False):
    """What happens, besides who plays."""

    threshold: int
    """How many must stay to the end; all, unless said otherwise."""
    adder: str
    """Who adds up; each for itself, unless said otherwise."""
    drops: Mapping[str, str]
    """Which party dies before its message of which kind."""
    late: Mapping[str, str]
    """The same, and that message comes after all, when nobody waits for it any more."""
    group: Group
    """64-bit integers, or bits for the dining cryptographers, unless said otherwise."""


def learns(
    what: Protocol | Terms | str,
    parties: Sequence[str],
    coalition: Iterable[str],
    **case: Unpack[Case],
) -> Learnt:
    """What a coalition learns from a sum by a protocol, or by a session's terms, which say threshold and adder."""
    return run(what, parties, **case).learns(coalition)


def every(
    what: Protocol | Terms | str,
    parties: Sequence[str],
    **case: Unpack[Case],
) -> dict[tuple[str, ...], Learnt]:
    """What each coalition learns, the small ones first."""
    if len(parties) > _MOST:
        raise BadInput(
            f"All coalitions are looked at among up to {_MOST} parties, and these are {len(parties)}.",
            hint="Ask for one coalition.",
        )
    ran = run(what, parties, **case)
    sizes = range(1, len(parties))
    some = chain.from_iterable(combinations(parties, size) for size in sizes)
    return {coalition: ran.learns(coalition) for coalition in some}


def withstands(
    what: Protocol | Terms | str,
    parties: Sequence[str],
    **case: Unpack[Case],
) -> tuple[tuple[str, ...], ...]:
    """The largest coalitions of which neither all nor some learn more than their own values and the result.

    All but one are left out where there are more than two: to them the result itself gives the last value away.
    """
    found = every(what, parties, **case)
    most = max(len(parties) - 2, 1)
    safe: list[tuple[str, ...]] = []
    for some, saw in found.items():
        parts = combinations(some, len(some) - 1) if len(some) > 1 else ()
        if len(some) <= most and saw.nothing and all(part in safe for part in parts):
            safe.append(some)
    return tuple(some for some in safe if not any(set(some) < set(other) for other in safe))


@dataclass(frozen=True)
class Run:
    """A protocol that was run on symbols: what each party saw, and whose values are in the result."""

    parties: tuple[str, ...]
    bits: int
    seen: Mapping[str, Sequence[Body]]
    result: tuple[str, ...]
    totals: tuple[Vector, ...]

    def learns(self, coalition: Iterable[str]) -> Learnt:
        """What these parties learn together."""
        members = set(coalition)
        if not members or not members < set(self.parties):
            raise BadInput(
                f"A coalition is some of {listed(self.parties)}, not all; got {listed(sorted(members) or ['nobody'])}."
            )
        of = tuple(party for party in self.parties if party in members)
        told = [Form.sum(map(Value, self.result)), *self.totals]
        view = chain(told, *(self.seen[party] for party in of))
        honest = tuple(party for party in self.parties if party not in members)
        return Learnt.from_module(of, learnt(view, members, honest, self.bits), self.result)


def run(
    what: Protocol | Terms | str,
    parties: Sequence[str],
    **case: Unpack[Case],
) -> Run:
    """Run a protocol on symbols.

    Where parties end with different results, the one with most values is the result and the others are leaks.
    """
    if isinstance(what, Terms):
        case = {**case, "threshold": what.threshold, "adder": what.adder}
        what = what.protocol
    protocol = parsed(what) if isinstance(what, str) else what
    order = tuple(parties)
    group = case.get("group", Group(1 if isinstance(protocol, Dining) else 64))
    late = case.get("late", {})
    leave = {**case.get("drops", {}), **late}
    left: dict[str, Send | Tell] = {}

    def leaves(party: str, effect: Effect) -> bool:
        if isinstance(effect, Send | Tell) and leave.get(party) == effect.kind:
            left[party] = effect
        return party in left

    plays = {}
    for party in order:
        tools, value = Symbolic(party), cast("Vector", Form.sum([Value(party)]))
        seat = Seat(party, order, group, 1, tools, threshold=case.get("threshold", 0), adder=case.get("adder", ""))
        plays[party] = protocol.play(seat, value)
    played = bus.play(plays, leaves=leaves)
    if never := [party for party in leave if party not in left]:
        raise BadInput(f"{listed(never)} never came to the message to die before.")
    seen = {party: [message.body for message in played.seen(party)] for party in order}
    for party in late:
        to = left[party].to
        for other in (to,) if isinstance(to, str) else to:
            seen[other].append(left[party].body)
    results = sorted(played.results.values(), key=lambda total: -len(total.parties))
    return Run(order, group.bits, seen, results[0].parties if results else (), tuple(each.vector for each in results))
