"""*trusted*: everybody gives its vector to one party, who adds up and tells the total. The reference, not a
protection.

What is learnt: the trusted party sees everybody's vector. The others see the total only, so that a coalition without
the trusted party learns nothing beyond it; all but the trusted one learn its value from the total itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar

from discreet.errors import BadInput
from discreet.verbs.combine.effects import Gather, Play, Receive, Send, Tell
from discreet.verbs.combine.group import Vector
from discreet.verbs.combine.party import Seat, Total
from discreet.verbs.combine.protocols.protocol import Protocol


@dataclass(frozen=True)
class Trusted(Protocol):
    """One party sees everything."""

    name: ClassVar[str] = "trusted"
    title: ClassVar[str] = "one party is trusted with everybody's value: it sees all"
    party: str = ""
    """Who is trusted; nobody named means the first."""

    def play(self, seat: Seat, value: Vector) -> Play[Total]:
        """Give the vector away, and hear the total."""
        trusted = self._trusted(seat.parties)
        if seat.name != trusted:
            yield Send(trusted, seat.kind("value"), {"vector": value})
            return Total(seat.got(trusted, (yield Receive(trusted, seat.kind("total"), told=True))), seat.parties)
        values = yield Gather(seat.others, seat.kind("value"), len(seat.others))
        total = seat.sum(value, (seat.got(other, body) for other, body in values.items()))
        yield Tell(seat.others, seat.kind("total"), {"vector": total})
        return Total(total, seat.parties)

    def withstands(self, parties: tuple[str, ...], threshold: int) -> Iterable[tuple[str, ...]]:
        """Those without the trusted party, all but one of them: with all of them the total gives its value away."""
        others = [party for party in parties if party != self._trusted(parties)]
        return combinations(others, max(len(others) - 1, 1))

    def adversary(self) -> str:
        """The trusted party sees everything and is believed."""
        return "The trusted party sees everybody's value, tells nobody, and tells the true total."

    def _trusted(self, parties: tuple[str, ...]) -> str:
        if self.party and self.party not in parties:
            raise BadInput(f"{self.party} is trusted and is not one of the parties.")
        return self.party or parties[0]
