"""*ring*: a sum that goes from party to party, hidden by a random vector of the first.

The first party adds a uniform vector to its own and sends it to the second, each adds its own and sends it on, sealed
for the next one alone, and the first takes its vector away again and tells everybody the total.

Why one party alone learns only the total: what it gets is hidden by the first one's uniform vector, and the first
gets the total plus what it knows. Two who stand on both sides of a third subtract what went in from what came out,
and have its value; in general a coalition learns what every run of others between its members adds up to
(``around.py``). So two neighbours learn nothing more than the total, and three in a row learn no other's value, but
two of them learn the third one's: a smaller coalition may learn more. All but one together learn the last one's value
from the total itself, whatever the protocol. Nobody may leave: the sum so far would be lost.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from discreet.verbs.combine.effects import Play
from discreet.verbs.combine.group import Vector
from discreet.verbs.combine.party import Seat, Total
from discreet.verbs.combine.protocols.protocol import Protocol
from discreet.verbs.combine.protocols.ring_pass import around, unbroken


@dataclass(frozen=True)
class Ring(Protocol):
    """A sum that goes round once."""

    name: ClassVar[str] = "ring"
    title: ClassVar[str] = (
        "the sum goes round, hidden by a random number of the first; two neighbours can expose a party"
    )

    def play(self, seat: Seat, value: Vector) -> Play[Total]:
        """Add the own vector to what comes and send it on."""
        total = yield from around(seat, [seat.parties], [value])
        return Total(total, seat.parties)

    def withstands(self, parties: tuple[str, ...], threshold: int) -> Iterable[tuple[str, ...]]:
        """Two who are neighbours; a larger one has two in it with somebody between them."""
        return unbroken([parties], parties)

    def adversary(self) -> str:
        """Everybody follows the protocol; neighbours can expose who is between them."""
        return (
            "Every party follows the protocol, and may put together with others all that it saw (semi-honest); "
            "those on both sides of others learn what those add up to, and nobody can check the total."
        )
