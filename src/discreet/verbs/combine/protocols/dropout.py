"""*masks* when some parties may leave: shares of everybody's secrets, agreement on who stays, and unmasking.

The argument for its secrecy is in ``masks.py``. What follows holds without good will: nothing is given away before this
party itself has checked the list of who stays and ``threshold`` parties have signed the same one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, combinations, islice

from discreet.errors import Aborted, BadInput
from discreet.verbs.combine.effects import Body, Gather, Part, Play, Receive, Send, Tell
from discreet.verbs.combine.group import Vector
from discreet.verbs.combine.party import Seat, Total
from discreet.verbs.combine.protocols.pairs import masked, masks_with, require_same, settled
from discreet.verbs.combine.tools import Public, Secret, Share

_TRIES = 256


@dataclass(frozen=True)
class _Roll:
    """Who stays, and who is gone of those with whom they masked; both in the manifest's order."""

    stay: tuple[str, ...]
    gone: tuple[str, ...]


def play_with_leaving(seat: Seat, value: Vector) -> Play[Total]:
    """Keys, shares, masked vectors, who stays, unmasking."""
    keys, held, secrets = yield from _shared(seat)
    peers = _in_order(seat, held)
    own = seat.mask(secrets["seed"], "own mask")
    mine = masked(seat, value, secrets["key"], {peer: keys[peer]["key"] for peer in peers}, (own,))
    others = tuple(peer for peer in peers if peer != seat.name)
    came = yield from _brought(seat, "masked", {"vector": mine, "with": peers}, others)
    roll = yield from _roll(seat, came, peers, tuple(keys))
    whole = _added(seat, came, roll) if came else None
    yield from _agreed(seat, roll, keys, [] if seat.adder else [*_lists(roll, came), whole])
    answers = yield from _answers(seat, roll, held)
    total = None if whole is None else _unmasked(seat, whole, roll, keys, came=came, answers=answers)
    return Total((yield from settled(seat, total, roll.stay)), roll.stay)


def _shared(seat: Seat) -> Play[tuple[dict[str, Body], dict[str, Body], dict[str, Secret]]]:
    """The public keys everybody told, the shares of everybody's secrets that this party holds, and its own secrets."""
    tools = seat.tools
    secrets = {word: tools.secret(seat.kind(f"{word} of masks")) for word in ("seed", "key")}
    told = {word: tools.public(secret) for word, secret in secrets.items()}
    yield Tell(seat.others, seat.kind("keys"), told)
    keys = yield Gather(seat.others, seat.kind("keys"), seat.least - 1, told=True)
    shares = {
        word: tools.split(secret, seat.kind(f"shares of {word}"), seat.parties, seat.least)
        for word, secret in secrets.items()
    }
    given = {party: {word: shares[word][party] for word in shares} for party in seat.parties}
    for other in keys:
        yield Send(other, seat.kind("shares"), given[other])
    held = yield Gather(tuple(keys), seat.kind("shares"), seat.least - 1)
    for of, body in keys.items():
        if not all(tools.is_public(body.get(word)) for word in secrets):
            raise Aborted(f"What {of} told as its public keys are none.", culprits=(of,))
    for of, body in held.items():
        if not all(tools.is_share(body.get(word)) for word in secrets):
            raise Aborted(f"What {of} gave as shares of its secrets are none.", culprits=(of,))
    return {seat.name: told, **keys}, {seat.name: given[seat.name], **held}, secrets


def _brought(seat: Seat, word: str, mine: Body, others: tuple[str, ...]) -> Play[dict[str, Body]]:
    """What ``others`` bring, by party, for whoever adds up; nothing for the rest, who give theirs to the adder."""
    if not seat.adder:
        yield Tell(seat.others, seat.kind(word), mine)
    elif seat.name != seat.adder:
        yield Send(seat.adder, seat.kind(word), mine)
        return {}
    came = yield Gather(others, seat.kind(word), seat.least - 1, told=not seat.adder)
    return {seat.name: mine, **came}


def _roll(seat: Seat, came: Mapping[str, Body], peers: tuple[str, ...], keyed: tuple[str, ...]) -> Play[_Roll]:
    """Who stays, by the vectors that came or by what the adder says; nobody is both there and gone.

    ``keyed`` are those whose keys came: with others nobody can have masked.
    """
    if came:
        stay = _in_order(seat, came)
        met = {party: _names(seat, party, body.get("with")) for party, body in came.items()}
        for party, some in met.items():
            if not set(stay) <= set(some):
                missed = ", ".join(other for other in stay if other not in some)
                raise Aborted(f"{party} did not mask its vector with {missed}, who stayed.", culprits=(party,))
            _require_keyed(seat, party, some, keyed)
        roll = _Roll(stay, _in_order(seat, set().union(*met.values()) - set(stay)))
        if seat.adder:
            yield Tell(seat.others, seat.kind("arrived"), {"stay": roll.stay, "gone": roll.gone})
    else:
        body = yield Receive(seat.adder, seat.kind("arrived"), told=True)
        roll = _Roll(*(_names(seat, seat.adder, body.get(word)) for word in ("stay", "gone")))
        _require_keyed(seat, seat.adder, roll.stay + roll.gone, keyed)
    require_sound(seat, roll.stay, roll.gone, peers)
    return roll


def require_sound(seat: Seat, stay: tuple[str, ...], gone: tuple[str, ...], peers: tuple[str, ...]) -> None:
    """End the session unless it is safe to give away the seeds of those who stay and the keys of those who are gone."""
    if both := set(stay) & set(gone):
        named = ", ".join(_in_order(seat, both))
        raise Aborted(f"Both secrets of {named} were asked for; neither is given.", culprits=(seat.adder,))
    if seat.name not in stay:
        raise Aborted(f"{seat.name} was too late; the others go on without it.", culprits=(seat.name,))
    if len(stay) < seat.least:
        raise Aborted(f"{len(stay)} parties stay, and {seat.least} are needed.", culprits=gone)
    if strangers := set(stay) - set(peers):
        named = ", ".join(_in_order(seat, strangers))
        raise Aborted(f"{named} should stay, with whom {seat.name} has no mask.", culprits=_in_order(seat, strangers))


def _require_keyed(seat: Seat, of: str, named: Iterable[str], keyed: tuple[str, ...]) -> None:
    """End the session if somebody lists parties whose keys this party never got: it could not take their masks out.

    Nobody is named: either the list is a lie, or those on it reached the one and not the other.
    """
    if strangers := set(named) - set(keyed):
        said = ", ".join(_in_order(seat, strangers))
        raise Aborted(
            f"{of} lists {said}, whose keys never reached {seat.name}.",
            hint=f"Either {of} lies, or {said} told it and not {seat.name}: the messages {of} kept show which.",
        )


def _lists(roll: _Roll, came: Mapping[str, Body]) -> Iterator[str]:
    """With whom everybody who stays says that it masked, which decides what is taken out for those who are gone."""
    for party in roll.stay:
        yield f"{party} and {len(came[party]['with'])}"
        yield from came[party]["with"]


def _agreed(seat: Seat, roll: _Roll, keys: Mapping[str, Body], seen: Iterable[Part]) -> Play[None]:
    """Tell this list, and a digest of the keys and, where all add up, of what came; all who stay must say the same.

    It is told to those who are gone, too: if they are not, they see that there is another list than theirs.
    Of what came, ``seen`` has all that the total follows from: the lists of masks, and the sum of the masked vectors.
    Whoever told these differently, with the same sum, changed nothing.
    """
    parts: list[Part] = []
    for party in roll.stay + roll.gone:
        parts += [party, keys[party]["key"], keys[party]["seed"]]
    parts += seen
    mine = {"stay": roll.stay, "gone": roll.gone, "digest": seat.tools.digest(seat.group, *parts)}
    yield Tell(seat.others, seat.kind("survivors"), mine)
    heard = yield Gather(_others(seat, roll), seat.kind("survivors"), seat.least - 1, told=True)
    said = {other: tuple(body.get(word) for word in mine) for other, body in heard.items()}
    require_same(seat, tuple(mine.values()), said, "other parties who stay, or other keys or vectors,")


def _answers(seat: Seat, roll: _Roll, held: Mapping[str, Body]) -> Play[dict[str, Body]]:
    """Give away a share of each: of the seed of who stays, of the key of who is gone. Nothing else gives any away."""
    mine = {f"seed {party}": held[party]["seed"] for party in roll.stay}
    mine |= {f"key {party}": held[party]["key"] for party in roll.gone if party in held}
    return (yield from _brought(seat, "unmask", mine, _others(seat, roll)))


def _added(seat: Seat, came: Mapping[str, Body], roll: _Roll) -> Vector:
    first, *rest = roll.stay
    return seat.sum(seat.got(first, came[first]), (seat.got(party, came[party]) for party in rest))


def _unmasked(
    seat: Seat,
    whole: Vector,
    roll: _Roll,
    keys: Mapping[str, Body],
    *,
    came: Mapping[str, Body],
    answers: Mapping[str, Body],
) -> Vector:
    """The total: own masks of those who stay are taken away, and so are their masks with those who are gone.

    What somebody who is gone would have added to its masks with those who stay is exactly what is missing.
    """
    seeds = (_recovered(seat, "seed", party, keys[party]["seed"], answers) for party in roll.stay)
    whole = seat.sum(whole, (), (seat.mask(seed, "own mask") for seed in seeds))
    for party in roll.gone:
        key = _recovered(seat, "key", party, keys[party]["key"], answers)
        those = {other: keys[other]["key"] for other in roll.stay if party in came[other]["with"]}
        whole = seat.sum(
            whole,
            masks_with(seat, party, key, those, later=True),
            masks_with(seat, party, key, those, later=False),
        )
    return whole


def _recovered(seat: Seat, word: str, owner: str, public: Public, answers: Mapping[str, Body]) -> Secret:
    """The secret of which the answers hold shares, known to be right by its public key; else the session ends."""
    name, needed = f"{word} {owner}", seat.least
    shares = {holder: answers[holder][name] for holder in _in_order(seat, answers) if name in answers[holder]}
    if len(shares) < needed:
        raise Aborted(
            f"{len(shares)} shares of the {word} of {owner} came, and {needed} are needed.", culprits=(owner,)
        )
    tried = _choices(tuple(shares), needed)
    first = next(tried)
    if (secret := _joined(seat, shares, first, public)) is not None:
        return secret
    good = next((some for some in tried if _joined(seat, shares, some, public) is not None), None)
    if good is None:
        raise Aborted(
            f"The shares of the {word} of {owner} do not fit together.",
            hint=f"{owner} gave out wrong ones, or one of {', '.join(shares)} did not pass on what it got.",
        )
    bad = [one for one in shares if one not in good and _joined(seat, shares, (one, *good[1:]), public) is None]
    raise Aborted(
        f"{', '.join(bad)} gave a wrong share of the {word} of {owner}.",
        culprits=bad,
        hint=f"Or {owner} gave them a wrong one: the signed messages that they kept show which.",
    )


def _joined(seat: Seat, shares: Mapping[str, Share], holders: Iterable[str], public: Public) -> Secret | None:
    """The secret, if these holders' shares give the one whose public key was told."""
    try:
        secret = seat.tools.join({holder: shares[holder] for holder in holders}, seat.least)
    except BadInput:
        return None
    return secret if seat.tools.public(secret) == public else None


def _choices(holders: tuple[str, ...], count: int) -> Iterator[tuple[str, ...]]:
    """Some choices of so many holders: runs of neighbours, which leave out each single one, then a few others."""
    turns = (holders[at:] + holders[:at] for at in range(len(holders)))
    return chain((turn[:count] for turn in turns), islice(combinations(holders, count), _TRIES))


def _names(seat: Seat, of: str, said: Part) -> tuple[str, ...]:
    """A list of parties that somebody told; the session ends unless it is one, in the manifest's order."""
    if not isinstance(said, tuple) or not all(isinstance(name, str) for name in said) or _in_order(seat, said) != said:
        raise Aborted(f"{of} told something else than a list of parties.", culprits=(of,))
    return said


def _in_order(seat: Seat, parties: Iterable[str]) -> tuple[str, ...]:
    some = set(parties)
    return tuple(party for party in seat.parties if party in some)


def _others(seat: Seat, roll: _Roll) -> tuple[str, ...]:
    return tuple(party for party in roll.stay if party != seat.name)
