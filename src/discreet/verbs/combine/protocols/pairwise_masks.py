"""Pairwise masks, and the total that an adder broadcasts; for *masks* with and without dropouts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

from discreet.errors import Aborted, BadInput
from discreet.verbs.combine.crypto import Public, Secret
from discreet.verbs.combine.effects import Broadcast, Gather, Play, Receive
from discreet.verbs.combine.group import Vector
from discreet.verbs.combine.protocols.protocol import Party


def masks_with(me: Party, owner: str, key: Secret, keys: Mapping[str, Public], *, later: bool) -> Iterator[Vector]:
    """Masks of ``owner``, whose key this is, with the parties ``later`` (or earlier) in the manifest.

    Of two parties the earlier adds their mask and the later subtracts it, so that in the sum of both it is gone.
    """
    here = me.parties.index(owner)
    for other in me.parties[here + 1 :] if later else me.parties[:here]:
        if other not in keys:
            continue
        try:
            seed = me.crypto.agree(key, keys[other])
        except BadInput as error:
            raise Aborted(f"What {other} told as its public key is none.", culprits=(other,)) from error
        yield me.mask(seed, "mask")


def mask_vector(
    me: Party, value: Vector, key: Secret, keys: Mapping[str, Public], own: Iterable[Vector] = ()
) -> Vector:
    """Mask the own vector with all parties whose public ``keys`` are given, and by the masks in ``own``."""
    later = masks_with(me, me.name, key, keys, later=True)
    earlier = masks_with(me, me.name, key, keys, later=False)
    return me.sum(value, chain(own, later), earlier)


def agree_on_total(me: Party, total: Vector | None, parties: tuple[str, ...]) -> Play[Vector]:
    """Agree on the total: with an adder, it broadcasts the total, and all compare a digest before they accept it."""
    others = tuple(party for party in parties if party != me.name)
    if total is None:
        total = me.vector_from(me.adder, (yield Receive(me.adder, me.kind("total"), told=True)))
    elif me.adder:
        yield Broadcast(me.others, me.kind("total"), {"vector": total})
    if me.adder:
        mine = me.crypto.digest(me.group, total)
        yield Broadcast(me.others, me.kind("heard"), {"digest": mine})
        heard = yield Gather(others, me.kind("heard"), me.least - 1, told=True)
        require_same(me, (mine,), {other: (body.get("digest"),) for other, body in heard.items()}, "another total")
    return total


def require_same(me: Party, mine: tuple[Any, ...], heard: Mapping[str, tuple[Any, ...]], what: str) -> None:
    """Abort unless all say the same; names those who differ from most, or, of two halves, from this party."""
    said = {party: answer for party, answer in heard.items() if _types(answer) == _types(mine)} | {me.name: mine}
    counts = Counter(said.values())
    usual = max(counts, key=lambda answer: (counts[answer], answer == mine))
    if odd := [party for party in (me.name, *heard) if said.get(party) != usual]:
        raise Aborted(
            f"{', '.join(odd)} had {what} than most of the parties.",
            culprits=odd,
            hint="Somebody told them something else, or they lie: the signed messages that all kept show which.",
        )


def _types(answer: tuple[Any, ...]) -> list[type]:
    """Types of what is compared: whoever breaks the rules may say anything."""
    return [type(one) for one in answer]
