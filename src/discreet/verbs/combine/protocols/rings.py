"""Secure sums on rings: the sum so far, or random pieces of it, go round the parties (*ring*, *paths*).

**ring.** The first party adds a uniform vector to its own and sends it to the second, each adds its own and sends it
on, sealed for the next one alone; the first subtracts its vector again and broadcasts the total. Why one party alone
learns only the total: what it gets is hidden by the first one's uniform vector, and the first gets the total plus what
it knows. Two who stand on both sides of a third subtract what went in from what came out, and have its value. So two
neighbours learn nothing more than the total, and three in a row learn no other's value, but two of them learn the third
one's: a smaller coalition may learn more. No one may drop out: the sum so far would be lost.

**paths.** Each party splits its vector into random pieces, one for each of several rings with other neighbours. Why a
coalition must surround its victim on every ring: the pieces are uniform but for their sum, so that anyone who lacks one
knows nothing of the value, and the two neighbours on a ring learn the piece of that ring only. The rings have as few
neighbours in common as can be (Walecki 1892): with n parties there are (n - 1) // 2 rings in which no one meets a
neighbour again, and one more, for an even n, after which every two parties have been neighbours; then nothing short of
all but one learns anything. Further rings are the first ones again, and add nothing.

**What a coalition learns from circles.** On each circle a member knows what it sent on and another what came out of the
run of honest parties between them, so they know what this run added together; the run with the first party in it
follows from the circle's total, and nothing else is told, since the first party's random vector hides all that went
round. If each honest party adds a piece of its value on each circle, and the pieces are uniform but for their sum, then
a combination of runs says something of values only if it counts all pieces of a party alike. So two honest parties that
are next to each other on some circle are always counted together. Hence: **a coalition learns exactly the sums of the
groups into which the honest parties fall, where those belong together who are joined by neighbours on any of the
circles**, and nothing beyond the total if that is one group. A part of a coalition may learn more than all of it,
namely another member's value; so only coalitions are promised of which no part learns anything either. All but one
together learn the last one's value from the total itself, whatever the protocol.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import ClassVar

from discreet.core.catalogue import check_parameters, declare, parameter
from discreet.core.families import SUM_PROTOCOLS
from discreet.verbs.combine.effects import Broadcast, Play, Receive, Send
from discreet.verbs.combine.group import Vector
from discreet.verbs.combine.protocols.protocol import Party, SumProtocol, Total

_MAX_RINGS = 1000
_MAX_COALITIONS = 20_000
"""Number of coalitions of one size that are examined."""


@declare(SUM_PROTOCOLS, "ring", rank=3)
class Ring(SumProtocol):
    """One ring: the sum goes round once."""

    title: ClassVar[str] = (
        "a running sum goes round, hidden by the first party's random number; two neighbours can expose a party"
    )

    def play(self, me: Party, value: Vector) -> Play[Total]:
        """Add a piece of the own vector on each ring: all of it where there is one."""
        orders = self.orders(me.parties)
        pieces = [me.draw(f"piece {at}") for at in range(2, len(orders) + 1)]
        total = yield from pass_around(me, orders, [me.sum(value, (), pieces), *pieces])
        return Total(total, me.parties)

    def withstands(self, parties: tuple[str, ...], threshold: int) -> Iterable[tuple[str, ...]]:
        """Coalitions that surround no one on all rings, nor does a part of them: on one ring, two neighbours."""
        return safe_coalitions(self.orders(parties), parties)

    def orders(self, parties: tuple[str, ...]) -> list[tuple[str, ...]]:
        """Order of the parties on each ring."""
        return [parties]

    def adversary(self) -> str:
        return (
            "Every party follows the protocol, and may pool all that it saw with others (semi-honest); "
            "parties on both sides of others learn the sum of these, and no one can check the total."
        )


@declare(SUM_PROTOCOLS, "paths", rank=2)
class Paths(Ring):
    """Several rings: a random piece of each vector goes round each of ``count`` rings."""

    title: ClassVar[str] = "random pieces go round several rings; only neighbours on all of them can expose a party"
    count: int = parameter("Number of rings.", default=2, least=1, most=_MAX_RINGS)

    def __post_init__(self) -> None:
        check_parameters(self)

    def orders(self, parties: tuple[str, ...]) -> list[tuple[str, ...]]:
        return rings(parties, self.count)

    def adversary(self) -> str:
        return (
            "Every party follows the protocol, and may pool all that it saw with others (semi-honest); those "
            "who surround others on every ring learn what those add up to, and no one can check the totals."
        )


def rings(parties: tuple[str, ...], count: int) -> list[tuple[str, ...]]:
    """Orders of the parties on ``count`` rings, with as few repeated neighbours as possible.

    The first ring is the order given. Each begins with another party, so that no one party knows all totals first.
    """
    circles = _circles(len(parties))
    place = {number: at for at, number in enumerate(circles[0])}
    orders = []
    for at in range(count):
        order = [parties[place[number]] for number in circles[at % len(circles)]]
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
    width = (count - 1) // 2 * 2
    half, hub, extra = width // 2, width, width + 1
    circles = []
    for turn in range(half):
        zigzag = [(turn + (-(step // 2) if step % 2 == 0 else step // 2 + 1)) % width for step in range(width)]
        if count % 2 == 0:
            zigzag.insert(half, extra)
        circles.append([hub, *zigzag])
    if count % 2 == 0:
        circles.append([hub, extra, *chain.from_iterable((number, number + half) for number in range(half))])
    return circles


def pass_around(me: Party, orders: Sequence[tuple[str, ...]], pieces: Sequence[Vector]) -> Play[Vector]:
    """Add up one piece of each party on each circle; gives the total of all circles.

    The first party of a circle starts it before it waits for any other, so all circles run at the same time.
    """
    totals = []
    for at, (order, piece) in enumerate(zip(orders, pieces, strict=True), 1):
        if order[0] == me.name:
            yield Send(order[1], _word(me, "so far", at), {"vector": me.sum(piece, [_start(me, at)])})
    for at, (order, piece) in enumerate(zip(orders, pieces, strict=True), 1):
        here = order.index(me.name)
        body = yield Receive(order[here - 1], _word(me, "so far", at))
        so_far = me.vector_from(order[here - 1], body)
        if here == 0:
            totals.append(me.sum(so_far, (), [_start(me, at)]))
            yield Broadcast(me.others, _word(me, "total", at), {"vector": totals[-1]})
        else:
            following = order[(here + 1) % len(order)]
            yield Send(following, _word(me, "so far", at), {"vector": me.sum(so_far, [piece])})
    for at, order in enumerate(orders, 1):
        if order[0] != me.name:
            totals.append(me.vector_from(order[0], (yield Receive(order[0], _word(me, "total", at), broadcast=True))))
    return me.sum(totals[0], totals[1:])


def safe_coalitions(orders: Iterable[tuple[str, ...]], parties: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """Largest coalitions of which no part learns more than the total; with two parties, each one.

    They are grown by one member at a time. Where there would be thousands, growing ends: larger ones are not promised.
    """
    near = {frozenset((order[at - 1], party)) for order in orders for at, party in enumerate(order)}
    safe = largest = {frozenset((party,)) for party in parties}
    for _ in range(2, len(parties) - 1):
        tried = {some | {party} for some in safe for party in parties if party not in some}
        if len(tried) > _MAX_COALITIONS:
            break
        grown = {
            some for some in tried if all(some - {one} in safe for one in some) and _connected(parties, some, near)
        }
        largest = {some for some in largest if not any(some < larger for larger in grown)} | grown
        safe = grown
    ordered = (tuple(party for party in parties if party in some) for some in largest)
    return tuple(sorted(ordered, key=lambda coalition: [parties.index(party) for party in coalition]))


def _connected(parties: tuple[str, ...], some: frozenset[str], near: set[frozenset[str]]) -> bool:
    """Whether the parties outside the coalition are connected by neighbours."""
    waiting = {party for party in parties if party not in some}
    reached = [waiting.pop()]
    for party in reached:
        neighbours = {other for other in waiting if frozenset((party, other)) in near}
        waiting -= neighbours
        reached += neighbours
    return not waiting


def _start(me: Party, at: int) -> Vector:
    return me.draw(f"start {at}")


def _word(me: Party, word: str, at: int) -> str:
    return me.kind(f"{word} {at}")
