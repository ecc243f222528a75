"""What *ring* and *paths* share: a sum that goes round a circle of parties, and how neighbours expose who stands
between them.

What a coalition learns from circles: on each circle a member knows what it sent on and another what came out of the
run of honest parties between them, so they know what this run added together; the run with the first party in it
follows from the circle's total, and nothing else is told, since the first party's random vector hides all that went
round. If each honest party adds a piece of its value on each circle, and the pieces are uniform but for their sum,
then a combination of runs says something of values only if it counts all pieces of a party alike. So two honest
parties that are next to each other on some circle are always counted together. Hence: **a coalition learns exactly
the sums of the groups into which the honest parties fall, where those belong together who are joined by neighbours on
any of the circles**, and nothing beyond the total if that is one group. A part of a coalition may learn more than all
of it, namely another member's value; so only coalitions are promised of which no part learns anything either.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from discreet.verbs.combine.effects import Play, Receive, Send, Tell
from discreet.verbs.combine.group import Vector
from discreet.verbs.combine.party import Seat

_MANY = 20_000
"""So many coalitions of one size are looked at."""


def around(seat: Seat, orders: Sequence[tuple[str, ...]], pieces: Sequence[Vector]) -> Play[Vector]:
    """Add up one piece of everybody's on each circle; gives the total of all circles.

    Whoever is the first on some circle starts it before it waits for any other, so all circles turn at the same time.
    """
    totals = []
    for at, (order, piece) in enumerate(zip(orders, pieces, strict=True), 1):
        if order[0] == seat.name:
            yield Send(order[1], _word(seat, "so far", at), {"vector": seat.sum(piece, [_start(seat, at)])})
    for at, (order, piece) in enumerate(zip(orders, pieces, strict=True), 1):
        here = order.index(seat.name)
        body = yield Receive(order[here - 1], _word(seat, "so far", at))
        so_far = seat.got(order[here - 1], body)
        if here == 0:
            totals.append(seat.sum(so_far, (), [_start(seat, at)]))
            yield Tell(seat.others, _word(seat, "total", at), {"vector": totals[-1]})
        else:
            following = order[(here + 1) % len(order)]
            yield Send(following, _word(seat, "so far", at), {"vector": seat.sum(so_far, [piece])})
    for at, order in enumerate(orders, 1):
        if order[0] != seat.name:
            totals.append(seat.got(order[0], (yield Receive(order[0], _word(seat, "total", at), told=True))))
    return seat.sum(totals[0], totals[1:])


def unbroken(orders: Iterable[tuple[str, ...]], parties: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """The largest coalitions of which neither all nor some learn more than the total; of two parties, each one.

    They are grown by one member at a time. Where there would be thousands, growing ends: larger ones are not promised.
    """
    near = {frozenset((order[at - 1], party)) for order in orders for at, party in enumerate(order)}
    safe = found = {frozenset((party,)) for party in parties}
    for _ in range(2, len(parties) - 1):
        tried = {some | {party} for some in safe for party in parties if party not in some}
        if len(tried) > _MANY:
            break
        grown = {some for some in tried if all(some - {one} in safe for one in some) and _joined(parties, some, near)}
        found = {some for some in found if not any(some < larger for larger in grown)} | grown
        safe = grown
    ordered = (tuple(party for party in parties if party in some) for some in found)
    return tuple(sorted(ordered, key=lambda coalition: [parties.index(party) for party in coalition]))


def _joined(parties: tuple[str, ...], some: frozenset[str], near: set[frozenset[str]]) -> bool:
    """Whether those who are not in the coalition are joined by neighbours."""
    waiting = {party for party in parties if party not in some}
    reached = [waiting.pop()]
    for party in reached:
        found = {other for other in waiting if frozenset((party, other)) in near}
        waiting -= found
        reached += found
    return not waiting


def _start(seat: Seat, at: int) -> Vector:
    return seat.draw(f"start {at}")


def _word(seat: Seat, word: str, at: int) -> str:
    return seat.kind(f"{word} {at}")
