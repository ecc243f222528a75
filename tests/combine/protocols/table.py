"""A secure sum in one process: seats, values, parties that leave and parties that break the rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.core.families import SUM_PROTOCOLS
from discreet.verbs.combine import bus
from discreet.verbs.combine.bus import BusRun
from discreet.verbs.combine.crypto import NumericCrypto
from discreet.verbs.combine.effects import Effect, Play
from discreet.verbs.combine.group import ModularGroup
from discreet.verbs.combine.protocols.protocol import Party, Total

NAMES = ("north", "south", "east", "west", "mid", "far")
Change = Callable[[Effect], Effect | Sequence[Effect]]


@dataclass(frozen=True)
class Case:
    """A sum to be played."""

    text: str
    count: int
    bits: int = 64
    length: int = 3
    threshold: int = 0
    adder: str = ""
    salt: int = 0

    @property
    def parties(self) -> tuple[str, ...]:
        return NAMES[: self.count]

    @property
    def group(self) -> ModularGroup:
        return ModularGroup(self.bits)

    def me(self, name: str) -> Party:
        crypto = NumericCrypto(bytes([NAMES.index(name), self.salt] * 16), b"session".ljust(32))
        return Party(name, self.parties, self.group, self.length, crypto, "sum 1/", self.threshold, self.adder)

    def value(self, name: str) -> Any:
        """Elements that make sums wrap round."""
        top, at = self.group.modulus - 1, NAMES.index(name)
        return self.group.vector([top - at, top // 3 * at, (at + self.salt) ** 20][: self.length])

    def play(
        self,
        *,
        leaves: Callable[[str, Effect], bool] | None = None,
        changes: Mapping[str, Change] | None = None,
    ) -> BusRun[Total]:
        """Everybody plays; some leave, some change what they say."""
        made = SUM_PROTOCOLS.parse(self.text)
        plays = {name: made.play(self.me(name), self.value(name)) for name in self.parties}
        for name, change in (changes or {}).items():
            plays[name] = _changed(plays[name], change)
        return bus.play(plays, leaves=leaves)

    def right(self, total: Total) -> bool:
        """Whether this is exactly the sum of those whose values it says are in it."""
        want = [sum(int(one) for one in column) for column in zip(*map(self.value, total.parties), strict=True)]
        return np.array_equal(total.vector, self.group.vector(want))


def leaving(**at: int) -> Callable[[str, Effect], bool]:
    """Each of these parties dies just before its effect of that number, counted from 0."""
    done = dict.fromkeys(at, -1)

    def leaves(party: str, effect: Effect) -> bool:
        if party not in at:
            return False
        done[party] += 1
        return done[party] == at[party]

    return leaves


def effects(case: Case, party: str) -> list[Effect]:
    """What a party does when nobody leaves."""
    seen: list[Effect] = []

    def note(name: str, effect: Effect) -> bool:
        if name == party:
            seen.append(effect)
        return False

    case.play(leaves=note)
    return seen


def plain(played: BusRun[Total]) -> list[tuple[object, ...]]:
    """All messages, such that they can be compared."""
    return [
        (
            message.number,
            message.of,
            message.to,
            message.kind,
            {name: _plain(part) for name, part in message.body.items()},
        )
        for message in played.messages
    ]


def _plain(part: object) -> object:
    return part.tolist() if isinstance(part, np.ndarray) else part


def _changed(play: Play[Total], change: Change) -> Play[Total]:
    given = None
    while True:
        try:
            effect = play.send(given)
        except StopIteration as ended:
            return ended.value
        for one in found if isinstance(found := change(effect), Sequence) else (found,):
            given = yield one
