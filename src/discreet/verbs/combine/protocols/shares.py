"""*shares*: each party cuts its vector into random pieces, one for everybody, and all add up what they got (additive
sharing).

Why nothing but the total is learnt: the pieces a party gives away are uniform and independent, and the one it keeps
is the vector minus all others. A coalition of all but two parties or fewer lacks at least the piece that an honest
party kept, and those that honest parties exchanged; given the total, every choice of honest inputs with that total is
equally likely. All but one together learn the last one's value from the total itself, whatever the protocol.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar

from discreet.verbs.combine.effects import Gather, Play, Send, Tell
from discreet.verbs.combine.group import Vector
from discreet.verbs.combine.party import Seat, Total
from discreet.verbs.combine.protocols.protocol import Protocol


@dataclass(frozen=True)
class Shares(Protocol):
    """Additive shares: everybody gets a piece of everybody's vector."""

    name: ClassVar[str] = "shares"
    title: ClassVar[str] = "everybody gets a random piece of everybody's value"

    def play(self, seat: Seat, value: Vector) -> Play[Total]:
        """Pieces to all others, then the sums of the pieces told to all."""
        kept = value
        for other in seat.others:
            piece = seat.draw(f"piece for {other}")
            kept = kept - piece
            yield Send(other, seat.kind("piece"), {"vector": piece})
        pieces = yield Gather(seat.others, seat.kind("piece"), len(seat.others))
        mine = seat.sum(kept, (seat.got(other, piece) for other, piece in pieces.items()))
        yield Tell(seat.others, seat.kind("part"), {"vector": mine})
        parts = yield Gather(seat.others, seat.kind("part"), len(seat.others), told=True)
        return Total(seat.sum(mine, (seat.got(other, part) for other, part in parts.items())), seat.parties)

    def withstands(self, parties: tuple[str, ...], threshold: int) -> Iterable[tuple[str, ...]]:
        """All but two of them: with all but one the total itself gives the last value away."""
        return combinations(parties, max(len(parties) - 2, 1))
