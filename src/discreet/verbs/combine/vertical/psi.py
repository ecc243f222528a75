"""Private set intersection: the people several holders share, by keys that are blinded twice.

The protocol is Meadows's (1986) and Huberman, Franklin and Hogg's (1999). The *hub* is one of the holders. With every
other holder it does the same, under secrets of its own for each:

1. the hub blinds its keys and sends them, in the order of the blinded bytes, which has nothing to do with its rows;
2. the other blinds these a second time and sends them back, and with them its own keys, blinded once, in the order of
   the bytes;
3. the hub blinds the latter a second time too. What is the same now is the same key.

``intersect``: the second list of step 2 keeps its order, so the hub sees which of its keys the other has; when it knows
this of all, it tells each which of the blinded keys *it* sent belong to people whom all share. ``intersection_size``,
for two holders: the other sends the list back in the order of the new bytes, so that the hub can count what is the same
and cannot say whose it is.

Why nothing else is learnt: every list that leaves a holder is blinded by a secret that its reader lacks, and cannot be
told from random points, so it tells how many keys there are. Of the twice blinded lists the hub sees which points are
in both; the rest are random to it. The last message names people whom its reader has, and whom all have.

Semi-honest: a holder who follows the steps but puts in keys of people it only guesses learns whether the others have
them. No protocol prevents that. So the session says how many keys a holder may bring, and each counts the others'. A
bare hash protects no key, since all possible keys can be tried out. Nothing that leaves a holder here is one.

**Blinded keys: people's keys as points of Curve25519, multiplied by secrets, to be compared and not read.** Two holders
blind the same point one after the other, in either order, and get the same bytes: X25519(a, X25519(b, P)) = X25519(b,
X25519(a, P)). Why a blinded key tells nothing to anyone who does not know the secret:

- A key's point is found by hashing and trying again until the number is the coordinate of a point *on the curve*. A
  number that is none lies on the curve's twist, multiplication keeps it there, and anyone who saw it could rule out
  half of all keys.
- A secret is a multiple of 8 (X25519 clears the low bits itself), so the product lies in the subgroup of prime order
  and tells nothing of the part of the point that lies outside it.
- There, with the hash taken as a random function, blinded points cannot be told from random ones (decisional
  Diffie-Hellman).

How long the search for a point takes depends on the key; no one but its holder sees that clock.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from discreet.core.optional import extra
from discreet.errors import Aborted, BadInput
from discreet.verbs.combine.crypto import Crypto
from discreet.verbs.combine.effects import Body, Broadcast, Play, Receive, Send

_PLACE_TYPE = np.dtype("<u4")
POINT_BYTES = 32
"""Size of a point."""
_PRIME = 2**255 - 19
_A = 486662
_COORDINATE_MASK = (1 << 255) - 1


@dataclass(frozen=True)
class IntersectionParty:
    """A party of the intersection: its name, the holders of keys (the first is the hub), and the listeners."""

    name: str
    holders: tuple[str, ...]
    crypto: Crypto
    most: int
    """Maximum number of keys of a holder."""
    listeners: tuple[str, ...] = ()
    """Parties without keys, who learn only the number of people shared."""

    @property
    def hub(self) -> str:
        """The holder that compares keys."""
        return self.holders[0]

    @property
    def others(self) -> tuple[str, ...]:
        """The holders but the hub."""
        return self.holders[1:]


def intersect(party: IntersectionParty, hashed: Sequence[bytes]) -> Play[list[int]]:
    """Rows of this holder's keys (by ``key_digests``) that all holders have, in an order common to all."""
    if party.name != party.hub:
        return (yield from _answer_members(party, hashed))
    sent, places_by_holder = key_points(hashed), {}
    rows = {}
    for other in party.others:
        mine = _sorted_points(blind(_secret(party, other), sent))
        rows[other] = [row for _, row in mine]
        yield Send(other, "keys", {"points": b"".join(point for point, _ in mine)})
    for other in party.others:
        again, theirs = yield from _receive_answer(party, other, len(hashed))
        place = {point: number for number, point in enumerate(theirs)}
        places_by_holder[other] = {
            row: place[point] for row, point in zip(rows[other], again, strict=True) if point in place
        }
    common = [row for row in range(len(hashed)) if all(row in places for places in places_by_holder.values())]
    common.sort(key=lambda row: hashed[row])
    for other, places in places_by_holder.items():
        shared_places = np.array([places[row] for row in common], _PLACE_TYPE).tobytes()
        yield Send(other, "people", {"places": shared_places})
    if party.listeners:
        yield Broadcast((*party.others, *party.listeners), "count", {"count": str(len(common))})
    return common


def intersection_size(party: IntersectionParty, hashed: Sequence[bytes]) -> Play[int]:
    """Number of keys two holders share; none learns which."""
    if len(party.holders) != 2:
        raise BadInput("Only two holders can learn how many people they share without learning whom.")
    other = party.others[0]
    if party.name == other:
        yield from _answer(party, hashed, in_order=False)
        return (yield from receive_size(party))
    mine = blind(_secret(party, other), key_points(hashed))
    yield Send(other, "keys", {"points": b"".join(sorted(mine))})
    again, theirs = yield from _receive_answer(party, other, len(hashed))
    size = len(set(again) & set(theirs))
    yield Broadcast((other, *party.listeners), "count", {"count": str(size)})
    return size


def receive_size(party: IntersectionParty) -> Play[int]:
    """Number of people shared, as the hub broadcasts it."""
    message: Body = yield Receive(party.hub, "count", broadcast=True)
    text = message.get("count")
    if not isinstance(text, str) or not (text.isascii() and text.isdigit()) or len(text) > len(str(party.most)):
        raise _malformed(party.hub)
    _require(int(text) <= party.most, party.hub)
    return int(text)


def disclosures(holders: tuple[str, ...], *, names: bool) -> tuple[str, ...]:
    """What each party learns from the intersection, as full sentences."""
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


def _secret(party: IntersectionParty, other: str) -> bytes:
    """Secret of the hub for one holder."""
    secret: bytes = party.crypto.secret(f"keys for {other}")
    return secret


def _sorted_points(many: Sequence[bytes]) -> list[tuple[bytes, int]]:
    """Points sorted by their bytes, each with its row."""
    return sorted(zip(many, range(len(many)), strict=True))


def _receive_answer(party: IntersectionParty, other: str, sent: int) -> Play[tuple[list[bytes], list[bytes]]]:
    """Keys of the hub and of the other holder, both blinded by both."""
    answer: Body = yield Receive(other, "keys again")
    again, theirs = _points(answer.get("again"), other, sent), _points(answer.get("points"), other, party.most)
    _require(len(again) == sent, other)
    return again, _blind(_secret(party, other), theirs, other)


def _answer(party: IntersectionParty, hashed: Sequence[bytes], *, in_order: bool) -> Play[list[int]]:
    """Answer the hub; gives the rows of the keys sent, in their order."""
    asked: Body = yield Receive(party.hub, "keys")
    secret = party.crypto.secret("keys")
    again = _blind(secret, _points(asked.get("points"), party.hub, party.most), party.hub)
    mine = _sorted_points(blind(secret, key_points(hashed)))
    sent = {"again": b"".join(again if in_order else sorted(again)), "points": b"".join(point for point, _ in mine)}
    yield Send(party.hub, "keys again", sent)
    return [row for _, row in mine]


def _answer_members(party: IntersectionParty, hashed: Sequence[bytes]) -> Play[list[int]]:
    rows = yield from _answer(party, hashed, in_order=True)
    message: Body = yield Receive(party.hub, "people")
    data = message.get("places")
    if not isinstance(data, bytes) or len(data) % _PLACE_TYPE.itemsize:
        raise _malformed(party.hub)
    places = np.frombuffer(data, _PLACE_TYPE)
    _require(len(places) <= len(rows) and len(np.unique(places)) == len(places), party.hub)
    _require(not len(places) or int(places.max()) < len(rows), party.hub)
    return [rows[place] for place in places]


def _points(data: object, of: str, most: int) -> list[bytes]:
    """Received points, all different and not too many."""
    if not isinstance(data, bytes) or len(data) % POINT_BYTES or len(data) > most * POINT_BYTES:
        raise _malformed(of)
    many = [data[place : place + POINT_BYTES] for place in range(0, len(data), POINT_BYTES)]
    _require(len(set(many)) == len(many), of)
    return many


def _blind(secret: bytes, many: Sequence[bytes], of: str) -> list[bytes]:
    try:
        return blind(secret, many)
    except BadInput:
        raise Aborted(f"{of} sent something that is not a blinded key.", culprits=(of,)) from None


def _require(holds: bool, of: str) -> None:
    if not holds:
        raise _malformed(of)


def _malformed(of: str) -> Aborted:
    return Aborted(f"{of} sent lists of keys that do not fit the session, or too many.", culprits=(of,))


def normalise_key(key: object) -> str:
    """Normalise a key for comparison: case, Unicode form and white space."""
    if isinstance(key, bool) or not isinstance(key, str | int):
        raise BadInput(
            f"A key is a text or a whole number, not {type(key).__name__}.",
            hint="Fill in or leave out rows without one.",
        )
    text = " ".join(unicodedata.normalize("NFKC", str(key)).casefold().split())
    if not text:
        raise BadInput("A key is empty.", hint="Fill in or leave out rows without one.")
    return text


def key_digests(keys: Iterable[object], most: int) -> list[bytes]:
    """Hash each normalised key; BadInput if there are more than ``most``, or the same one twice."""
    seen: dict[bytes, object] = {}
    for key in keys:
        digest = hashlib.sha256(b"discreet key\0" + normalise_key(key).encode()).digest()
        if digest in seen:
            raise BadInput(
                f"The keys {seen[digest]!r} and {key!r} are the same.",
                hint="A person may be in one row only; add rows up first.",
            )
        seen[digest] = key
        if len(seen) > most:
            raise BadInput(
                f"There are more than {most:,} keys.", hint="The session allows no more; agree on a larger most=."
            )
    return list(seen)


def key_points(hashed: Sequence[bytes]) -> list[bytes]:
    """Map each hash to a point of the curve."""
    with extra("combine"):
        from gmpy2 import jacobi
    return [_point(digest, jacobi) for digest in hashed]


def blind(secret: bytes, many: Iterable[bytes]) -> list[bytes]:
    """Multiply each point by the secret; BadInput for one that every secret takes to zero."""
    with extra("combine"):
        from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

    key, read = X25519PrivateKey.from_private_bytes(secret), X25519PublicKey.from_public_bytes
    try:
        return [key.exchange(read(point)) for point in many]
    except ValueError:
        raise BadInput("This point does not encode a key.") from None


def _point(digest: bytes, jacobi: Callable[[int, int], int]) -> bytes:
    tried = 0
    while True:
        u = int.from_bytes(hashlib.sha256(tried.to_bytes(4, "big") + digest).digest(), "little") & _COORDINATE_MASK
        if u < _PRIME and jacobi(((u + _A) * u + 1) * u % _PRIME, _PRIME) == 1:
            return u.to_bytes(POINT_BYTES, "little")
        tried += 1
