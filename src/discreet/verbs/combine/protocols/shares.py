"""Secure sums by additive secret sharing (*shares*), and the baseline of a trusted party (*trusted*).

**shares**: a random piece of each vector for every party, and all add up what they got. Why nothing but the total is
learnt: the pieces a party gives away are uniform and independent, and the one it keeps is the vector minus all others.
A coalition of all but two parties or fewer lacks at least the piece that an honest party kept, and those that honest
parties exchanged; given the total, every choice of honest inputs with that total is equally likely. All but one
together learn the last one's value from the total itself, whatever the protocol.

**trusted**: one trusted party adds up everyone's vectors. The baseline to compare with, not a protection. What is
learnt: the trusted party sees everyone's vector. The others see the total only, so that a coalition without the
trusted party learns nothing beyond it; all but the trusted one learn its value from the total itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from typing import ClassVar

from discreet.core.catalogue import declare, parameter
from discreet.core.families import SUM_PROTOCOLS
from discreet.errors import BadInput
from discreet.verbs.combine.effects import Broadcast, Gather, Play, Receive, Send
from discreet.verbs.combine.group import Vector
from discreet.verbs.combine.protocols.protocol import Party, SumProtocol, Total


@declare(SUM_PROTOCOLS, "shares", rank=1)
class Shares(SumProtocol):
    """Additive secret sharing: every party gets a piece of every vector."""

    title: ClassVar[str] = "every party gets a random piece of every value"

    def play(self, me: Party, value: Vector) -> Play[Total]:
        """Send pieces to all others, then broadcast the sum of the pieces received."""
        own_piece = value
        for other in me.others:
            piece = me.draw(f"piece for {other}")
            own_piece = own_piece - piece
            yield Send(other, me.kind("piece"), {"vector": piece})
        pieces = yield Gather(me.others, me.kind("piece"), len(me.others))
        mine = me.sum(own_piece, (me.vector_from(other, piece) for other, piece in pieces.items()))
        yield Broadcast(me.others, me.kind("part"), {"vector": mine})
        parts = yield Gather(me.others, me.kind("part"), len(me.others), broadcast=True)
        return Total(me.sum(mine, (me.vector_from(other, part) for other, part in parts.items())), me.parties)

    def withstands(self, parties: tuple[str, ...], threshold: int) -> Iterable[tuple[str, ...]]:
        """Coalitions of all but two: with all but one the total itself gives the last value away."""
        return combinations(parties, max(len(parties) - 2, 1))


@declare(SUM_PROTOCOLS, "trusted", rank=5)
class Trusted(SumProtocol):
    """A trusted party that sees every vector."""

    title: ClassVar[str] = "one party is trusted with all values and sees them"
    party: str = parameter("Party that is trusted; by default the first.", default="")

    def play(self, me: Party, value: Vector) -> Play[Total]:
        """Send the vector to the trusted party, and receive the total."""
        trusted = self._trusted(me.parties)
        if me.name != trusted:
            yield Send(trusted, me.kind("value"), {"vector": value})
            return Total(
                me.vector_from(trusted, (yield Receive(trusted, me.kind("total"), broadcast=True))), me.parties
            )
        values = yield Gather(me.others, me.kind("value"), len(me.others))
        total = me.sum(value, (me.vector_from(other, body) for other, body in values.items()))
        yield Broadcast(me.others, me.kind("total"), {"vector": total})
        return Total(total, me.parties)

    def withstands(self, parties: tuple[str, ...], threshold: int) -> Iterable[tuple[str, ...]]:
        """Coalitions that lack the trusted party and one other: to all others the total gives its value away."""
        others = [party for party in parties if party != self._trusted(parties)]
        return combinations(others, max(len(others) - 1, 1))

    def adversary(self) -> str:
        return "The trusted party sees every value, reveals none, and reports the true total."

    def _trusted(self, parties: tuple[str, ...]) -> str:
        if self.party and self.party not in parties:
            raise BadInput(f"{self.party} is trusted and is not one of the parties.")
        return self.party or parties[0]
