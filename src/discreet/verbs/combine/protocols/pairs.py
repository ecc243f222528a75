"""What *masks* is made of, whether or not parties may leave: masks of two, and a total that one party tells."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

from discreet.errors import Aborted, BadInput
from discreet.verbs.combine.effects import Gather, Play, Receive, Tell
from discreet.verbs.combine.group import Vector
from discreet.verbs.combine.party import Seat
from discreet.verbs.combine.tools import Public, Secret


def masks_with(seat: Seat, owner: str, key: Secret, keys: Mapping[str, Public], *, later: bool) -> Iterator[Vector]:
    """The masks of ``owner``, whose key this is, with those who stand ``later`` (or earlier) than it in the manifest.

    Of two parties the earlier adds their mask and the later subtracts it, so that in the sum of both it is gone.
    """
    here = seat.parties.index(owner)
    for other in seat.parties[here + 1 :] if later else seat.parties[:here]:
        if other not in keys:
            continue
        try:
            seed = seat.tools.agree(key, keys[other])
        except BadInput as error:
            raise Aborted(f"What {other} told as its public key is none.", culprits=(other,)) from error
        yield seat.mask(seed, "mask")


def masked(seat: Seat, value: Vector, key: Secret, keys: Mapping[str, Public], own: Iterable[Vector] = ()) -> Vector:
    """The own vector under the masks with all others whose public ``keys`` are given, and under those in ``own``."""
    later = masks_with(seat, seat.name, key, keys, later=True)
    earlier = masks_with(seat, seat.name, key, keys, later=False)
    return seat.sum(value, chain(own, later), earlier)


def settled(seat: Seat, total: Vector | None, parties: tuple[str, ...]) -> Play[Vector]:
    """The total, which everybody brings who adds up. The adder, if there is one, tells the others.

    Then nobody accepts it before it knows that the others have heard the same.
    """
    others = tuple(party for party in parties if party != seat.name)
    if total is None:
        total = seat.got(seat.adder, (yield Receive(seat.adder, seat.kind("total"), told=True)))
    elif seat.adder:
        yield Tell(seat.others, seat.kind("total"), {"vector": total})
    if seat.adder:
        mine = seat.tools.digest(seat.group, total)
        yield Tell(seat.others, seat.kind("heard"), {"digest": mine})
        heard = yield Gather(others, seat.kind("heard"), seat.least - 1, told=True)
        require_same(seat, (mine,), {other: (body.get("digest"),) for other, body in heard.items()}, "another total")
    return total


def require_same(seat: Seat, mine: tuple[Any, ...], heard: Mapping[str, tuple[Any, ...]], what: str) -> None:
    """End the session unless all say the same; names those who differ from most, or, of two halves, from this one."""
    said = {party: answer for party, answer in heard.items() if _kinds(answer) == _kinds(mine)} | {seat.name: mine}
    counts = Counter(said.values())
    usual = max(counts, key=lambda answer: (counts[answer], answer == mine))
    if odd := [party for party in (seat.name, *heard) if said.get(party) != usual]:
        raise Aborted(
            f"{', '.join(odd)} had {what} than most of the parties.",
            culprits=odd,
            hint="Somebody told them something else, or they lie: the signed messages that all kept show which.",
        )


def _kinds(answer: tuple[Any, ...]) -> list[type]:
    """What is compared must be of the kind that is expected: whoever breaks the rules may say anything."""
    return [type(one) for one in answer]
