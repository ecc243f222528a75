"""Whom several holders share: private set intersection by keys that are blinded twice.

The idea is Meadows's (1986) and Huberman, Franklin and Hogg's (1999).

The *hub* is one of the holders. With every other holder it does the same, under secrets of its own for each:

1. the hub blinds its keys and sends them, in the order of the blinded bytes, which has nothing to do with its rows;
2. the other blinds these a second time and sends them back, and with them its own keys, blinded once, in the order of
   the bytes;
3. the hub blinds the latter a second time too. What is the same now is the same key.

``members``: the second list of step 2 keeps its order, so the hub sees which of its keys the other has; when it knows
this of all, it tells each which of the blinded keys *it* sent belong to people whom all share. ``size``, for two
holders: the other sends the list back in the order of the new bytes, so that the hub can count what is the same and
cannot say whose it is.

Why nothing else is learnt: every list that leaves a holder is blinded by a secret that its reader lacks, and cannot
be told from random points (``keys.py``), so it tells how many keys there are. Of the twice blinded lists the hub sees
which points are in both; the rest are random to it. The last message names people whom its reader has, and
whom all have.

Semi-honest: a holder who follows the steps but puts in keys of people it only guesses learns whether the others have
them. No protocol prevents that. So the session says how many keys a holder may bring, and each counts the others'.
A bare hash protects no key, since all possible keys can be tried out. Nothing that leaves a holder here is one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet.errors import Aborted, BadInput
from discreet.verbs.combine.effects import Body, Play, Receive, Send, Tell
from discreet.verbs.combine.tools import Tools
from discreet.verbs.combine.vertical import keys

_PLACE = np.dtype("<u4")


@dataclass(frozen=True)
class Circle:
    """A party's place where people are found: who it is, who holds keys (the first is the hub), who else listens."""

    name: str
    holders: tuple[str, ...]
    tools: Tools
    most: int
    """How many keys a holder may bring."""
    listeners: tuple[str, ...] = ()
    """Parties without keys, who are told only how many people are shared."""

    @property
    def hub(self) -> str:
        """The holder that compares."""
        return self.holders[0]

    @property
    def others(self) -> tuple[str, ...]:
        """The holders but the hub."""
        return self.holders[1:]


def members(circle: Circle, hashed: Sequence[bytes]) -> Play[list[int]]:
    """Which of this holder's keys (by ``keys.digests``) all holders have, in an order that is the same for all."""
    if circle.name != circle.hub:
        return (yield from _answer_members(circle, hashed))
    sent, found = keys.points(hashed), {}
    rows = {}
    for other in circle.others:
        mine = _in_order(keys.blinded(_secret(circle, other), sent))
        rows[other] = [row for _, row in mine]
        yield Send(other, "keys", {"points": b"".join(point for point, _ in mine)})
    for other in circle.others:
        again, theirs = yield from _answered(circle, other, len(hashed))
        place = {point: number for number, point in enumerate(theirs)}
        found[other] = {row: place[point] for row, point in zip(rows[other], again, strict=True) if point in place}
    common = [row for row in range(len(hashed)) if all(row in places for places in found.values())]
    common.sort(key=lambda row: hashed[row])
    for other, places in found.items():
        told = np.array([places[row] for row in common], _PLACE).tobytes()
        yield Send(other, "people", {"places": told})
    if circle.listeners:
        yield Tell((*circle.others, *circle.listeners), "count", {"count": str(len(common))})
    return common


def size(circle: Circle, hashed: Sequence[bytes]) -> Play[int]:
    """How many keys two holders share; nobody learns which."""
    if len(circle.holders) != 2:
        raise BadInput("Only two holders can learn how many people they share without learning whom.")
    other = circle.others[0]
    if circle.name == other:
        yield from _answer(circle, hashed, in_order=False)
        return (yield from count(circle))
    mine = keys.blinded(_secret(circle, other), keys.points(hashed))
    yield Send(other, "keys", {"points": b"".join(sorted(mine))})
    again, theirs = yield from _answered(circle, other, len(hashed))
    found = len(set(again) & set(theirs))
    yield Tell((other, *circle.listeners), "count", {"count": str(found)})
    return found


def count(circle: Circle) -> Play[int]:
    """How many people are shared, as the hub tells a party."""
    told: Body = yield Receive(circle.hub, "count", told=True)
    text = told.get("count")
    if not isinstance(text, str) or not (text.isascii() and text.isdigit()) or len(text) > len(str(circle.most)):
        raise _unfit(circle.hub)
    _exactly(int(text) <= circle.most, circle.hub)
    return int(text)


def learns(holders: tuple[str, ...], *, names: bool) -> tuple[str, ...]:
    """What each party learns about whose people are whose, as full sentences."""
    hub, *others = holders
    listed = " and ".join(others)
    sizes = f"{hub} and each of {listed}" if len(others) > 1 else f"{hub} and {listed}"
    sentences = [f"{sizes} learn how many keys the other has."]
    if not names:
        return (*sentences, "All parties learn how many people are shared, and none learns whom.")
    if len(others) > 1:
        sentences.append(f"{hub} learns which of its people each of {listed} has; the others do not.")
    sentences.append(f"{hub} and {listed} learn which of their people all of them have.")
    return tuple(sentences)


def _secret(circle: Circle, other: str) -> bytes:
    """The hub's secret for one holder."""
    secret: bytes = circle.tools.secret(f"keys for {other}")
    return secret


def _in_order(many: Sequence[bytes]) -> list[tuple[bytes, int]]:
    """Points in the order of their bytes, each with its row."""
    return sorted(zip(many, range(len(many)), strict=True))


def _answered(circle: Circle, other: str, sent: int) -> Play[tuple[list[bytes], list[bytes]]]:
    """The hub's own keys and the other's, both blinded by both."""
    answer: Body = yield Receive(other, "keys again")
    again, theirs = _points(answer.get("again"), other, sent), _points(answer.get("points"), other, circle.most)
    _exactly(len(again) == sent, other)
    return again, _blinded(_secret(circle, other), theirs, other)


def _answer(circle: Circle, hashed: Sequence[bytes], *, in_order: bool) -> Play[list[int]]:
    """What a holder does for the hub; gives the rows of the keys it sent, in their order."""
    asked: Body = yield Receive(circle.hub, "keys")
    secret = circle.tools.secret("keys")
    again = _blinded(secret, _points(asked.get("points"), circle.hub, circle.most), circle.hub)
    mine = _in_order(keys.blinded(secret, keys.points(hashed)))
    sent = {"again": b"".join(again if in_order else sorted(again)), "points": b"".join(point for point, _ in mine)}
    yield Send(circle.hub, "keys again", sent)
    return [row for _, row in mine]


def _answer_members(circle: Circle, hashed: Sequence[bytes]) -> Play[list[int]]:
    rows = yield from _answer(circle, hashed, in_order=True)
    told: Body = yield Receive(circle.hub, "people")
    data = told.get("places")
    if not isinstance(data, bytes) or len(data) % _PLACE.itemsize:
        raise _unfit(circle.hub)
    places = np.frombuffer(data, _PLACE)
    _exactly(len(places) <= len(rows) and len(np.unique(places)) == len(places), circle.hub)
    _exactly(not len(places) or int(places.max()) < len(rows), circle.hub)
    return [rows[place] for place in places]


def _points(data: object, of: str, most: int) -> list[bytes]:
    """Points as they came in one text, all different and not too many."""
    if not isinstance(data, bytes) or len(data) % keys.SIZE or len(data) > most * keys.SIZE:
        raise _unfit(of)
    many = [data[place : place + keys.SIZE] for place in range(0, len(data), keys.SIZE)]
    _exactly(len(set(many)) == len(many), of)
    return many


def _blinded(secret: bytes, many: Sequence[bytes], of: str) -> list[bytes]:
    try:
        return keys.blinded(secret, many)
    except BadInput:
        raise Aborted(f"{of} sent something that is no blinded key.", culprits=(of,)) from None


def _exactly(holds: bool, of: str) -> None:
    if not holds:
        raise _unfit(of)


def _unfit(of: str) -> Aborted:
    return Aborted(f"{of} sent lists of keys that do not fit the session, or too many.", culprits=(of,))
