"""*paths*: each party cuts its vector into random pieces, one for each of several rings with other neighbours.

Why a coalition must surround its victim on every ring: the pieces are uniform but for their sum, so that whoever
lacks one knows nothing of the value, and the two neighbours on a ring learn the piece of that ring only.
``around.py`` has the exact statement: a coalition learns the sums of the groups into which the others fall when
neighbours on any ring belong together. All but one together learn the last one's value from the total itself,
whatever the protocol.

The rings have as few neighbours in common as can be (Walecki 1892): with n parties there are (n - 1) // 2 rings in
which nobody meets a neighbour again, and one more, for an even n, after which everybody has been everybody's
neighbour; then nothing short of all but one learns anything. Further rings are the first ones again, and add nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from typing import ClassVar

from discreet.errors import BadInput
from discreet.verbs.combine.effects import Play
from discreet.verbs.combine.group import Vector
from discreet.verbs.combine.party import Seat, Total
from discreet.verbs.combine.protocols.protocol import Protocol
from discreet.verbs.combine.protocols.ring_pass import around, unbroken

_MOST = 1000


@dataclass(frozen=True)
class Paths(Protocol):
    """Pieces along ``count`` rings."""

    name: ClassVar[str] = "paths"
    title: ClassVar[str] = "random pieces go round several rings; only neighbours on all of them can expose a party"
    count: int = 2
    """How many rings."""

    def __post_init__(self) -> None:
        if not 1 <= self.count <= _MOST:
            raise BadInput(f"paths: count is between 1 and {_MOST:,}, got {self.count}.", hint="Write: paths count=2")

    def play(self, seat: Seat, value: Vector) -> Play[Total]:
        """A piece of the own vector on each ring."""
        pieces = [seat.draw(f"piece {at}") for at in range(2, self.count + 1)]
        total = yield from around(seat, rings(seat.parties, self.count), [seat.sum(value, (), pieces), *pieces])
        return Total(total, seat.parties)

    def withstands(self, parties: tuple[str, ...], threshold: int) -> Iterable[tuple[str, ...]]:
        """Those who surround nobody, on all rings together, and of whom no part does."""
        return unbroken(rings(parties, self.count), parties)

    def adversary(self) -> str:
        """Everybody follows the protocol; who is surrounded on every ring is exposed."""
        return (
            "Every party follows the protocol, and may put together with others all that it saw (semi-honest); those "
            "who surround others on every ring learn what those add up to, and nobody can check the totals."
        )


def rings(parties: tuple[str, ...], count: int) -> list[tuple[str, ...]]:
    """``count`` orders of the parties: the first as they are; neighbours meet again only when there are no others left.

    Every ring begins with another party, so that no one party knows all totals first.
    """
    found = _circles(len(parties))
    place = {number: at for at, number in enumerate(found[0])}
    orders = []
    for at in range(count):
        order = [parties[place[number]] for number in found[at % len(found)]]
        first = order.index(parties[at % len(parties)])
        orders.append(tuple(order[first:] + order[:first]))
    return orders


def _circles(count: int) -> list[list[int]]:
    """Circles through 0, …, count - 1 that share no neighbours; for an even count one more, with the pairs left over.

    One number is the hub; the others, an even number of them, stand round it and are joined in a zigzag, which is
    turned by one step for each circle: so its edges never fall on each other. For an even count there is one number
    more, which is put between the two that stand opposite each other in the middle of the zigzag.
    """
    if count < 4:
        return [list(range(count))]
    wide = (count - 1) // 2 * 2
    half, hub, extra = wide // 2, wide, wide + 1
    circles = []
    for turn in range(half):
        zigzag = [(turn + (-(step // 2) if step % 2 == 0 else step // 2 + 1)) % wide for step in range(wide)]
        if count % 2 == 0:
            zigzag.insert(half, extra)
        circles.append([hub, *zigzag])
    if count % 2 == 0:
        circles.append([hub, extra, *chain.from_iterable((number, number + half) for number in range(half))])
    return circles
