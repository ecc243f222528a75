"""Dropout recovery of *masks*: Shamir shares of all secrets, agreement on the survivors, and unmasking.

The argument for its secrecy is in ``masks.py``. Even against malicious parties nothing is given away before this party
itself has checked the list of survivors and ``threshold`` parties have signed the same one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, combinations, islice

from discreet.errors import Aborted, BadInput
from discreet.verbs.combine.crypto import Public, Secret, Share
from discreet.verbs.combine.effects import Body, Broadcast, Gather, MessagePart, Play, Receive, Send
from discreet.verbs.combine.group import Vector
from discreet.verbs.combine.protocols.pairwise_masks import agree_on_total, mask_vector, masks_with, require_same
from discreet.verbs.combine.protocols.protocol import Party, Total

_MAX_SHARE_CHOICES = 256


@dataclass(frozen=True)
class _Survivors:
    """Parties that stay, and dropouts with whom they masked; both in the manifest's order."""

    stay: tuple[str, ...]
    gone: tuple[str, ...]


def play_with_dropout(me: Party, value: Vector) -> Play[Total]:
    """Run masks with dropouts: keys, shares, masked vectors, survivors, unmasking."""
    keys, held, secrets = yield from _share_secrets(me)
    peers = _in_order(me, held)
    own = me.mask(secrets["seed"], "own mask")
    mine = mask_vector(me, value, secrets["key"], {peer: keys[peer]["key"] for peer in peers}, (own,))
    others = tuple(peer for peer in peers if peer != me.name)
    came = yield from _collect(me, "masked", {"vector": mine, "with": peers}, others)
    survivors = yield from _find_survivors(me, came, peers, tuple(keys))
    whole = _sum_masked(me, came, survivors) if came else None
    yield from _agree(me, survivors, keys, [] if me.adder else [*_mask_lists(survivors, came), whole])
    answers = yield from _reveal_shares(me, survivors, held)
    total = None if whole is None else _unmask(me, whole, survivors, keys, came=came, answers=answers)
    return Total((yield from agree_on_total(me, total, survivors.stay)), survivors.stay)


def _share_secrets(me: Party) -> Play[tuple[dict[str, Body], dict[str, Body], dict[str, Secret]]]:
    """Exchange keys and shares: public keys of all, shares that this party holds, and its own secrets."""
    crypto = me.crypto
    secrets = {word: crypto.secret(me.kind(f"{word} of masks")) for word in ("seed", "key")}
    told = {word: crypto.public(secret) for word, secret in secrets.items()}
    yield Broadcast(me.others, me.kind("keys"), told)
    keys = yield Gather(me.others, me.kind("keys"), me.least - 1, told=True)
    shares = {
        word: crypto.split(secret, me.kind(f"shares of {word}"), me.parties, me.least)
        for word, secret in secrets.items()
    }
    given = {party: {word: shares[word][party] for word in shares} for party in me.parties}
    for other in keys:
        yield Send(other, me.kind("shares"), given[other])
    held = yield Gather(tuple(keys), me.kind("shares"), me.least - 1)
    for of, body in keys.items():
        if not all(crypto.is_public(body.get(word)) for word in secrets):
            raise Aborted(f"What {of} told as its public keys are none.", culprits=(of,))
    for of, body in held.items():
        if not all(crypto.is_share(body.get(word)) for word in secrets):
            raise Aborted(f"What {of} gave as shares of its secrets are none.", culprits=(of,))
    return {me.name: told, **keys}, {me.name: given[me.name], **held}, secrets


def _collect(me: Party, word: str, mine: Body, others: tuple[str, ...]) -> Play[dict[str, Body]]:
    """Messages of ``others``, by party, for whoever adds up; empty for the rest, who send theirs to the adder."""
    if not me.adder:
        yield Broadcast(me.others, me.kind(word), mine)
    elif me.name != me.adder:
        yield Send(me.adder, me.kind(word), mine)
        return {}
    came = yield Gather(others, me.kind(word), me.least - 1, told=not me.adder)
    return {me.name: mine, **came}


def _find_survivors(
    me: Party, came: Mapping[str, Body], peers: tuple[str, ...], keyed: tuple[str, ...]
) -> Play[_Survivors]:
    """Find the survivors, by the vectors that came or by the adder's list; nobody is both there and gone.

    ``keyed`` are those whose keys came: nobody can have masked with others.
    """
    if came:
        stay = _in_order(me, came)
        met = {party: _party_list(me, party, body.get("with")) for party, body in came.items()}
        for party, some in met.items():
            if not set(stay) <= set(some):
                missed = ", ".join(other for other in stay if other not in some)
                raise Aborted(f"{party} did not mask its vector with {missed}, who stayed.", culprits=(party,))
            _require_keyed(me, party, some, keyed)
        survivors = _Survivors(stay, _in_order(me, set().union(*met.values()) - set(stay)))
        if me.adder:
            yield Broadcast(me.others, me.kind("arrived"), {"stay": survivors.stay, "gone": survivors.gone})
    else:
        body = yield Receive(me.adder, me.kind("arrived"), told=True)
        survivors = _Survivors(*(_party_list(me, me.adder, body.get(word)) for word in ("stay", "gone")))
        _require_keyed(me, me.adder, survivors.stay + survivors.gone, keyed)
    require_safe_survivors(me, survivors.stay, survivors.gone, peers)
    return survivors


def require_safe_survivors(me: Party, stay: tuple[str, ...], gone: tuple[str, ...], peers: tuple[str, ...]) -> None:
    """Abort unless it is safe to reveal the seeds of the survivors and the keys of the dropouts."""
    if both := set(stay) & set(gone):
        named = ", ".join(_in_order(me, both))
        raise Aborted(f"Both secrets of {named} were asked for; neither is given.", culprits=(me.adder,))
    if me.name not in stay:
        raise Aborted(f"{me.name} was too late; the others go on without it.", culprits=(me.name,))
    if len(stay) < me.least:
        raise Aborted(f"{len(stay)} parties stay, and {me.least} are needed.", culprits=gone)
    if strangers := set(stay) - set(peers):
        named = ", ".join(_in_order(me, strangers))
        raise Aborted(f"{named} should stay, with whom {me.name} has no mask.", culprits=_in_order(me, strangers))


def _require_keyed(me: Party, of: str, named: Iterable[str], keyed: tuple[str, ...]) -> None:
    """Abort if a list has parties whose keys this party never got: it could not remove their masks.

    Nobody is accused: either the list is a lie, or those on it reached one party and not the other.
    """
    if strangers := set(named) - set(keyed):
        said = ", ".join(_in_order(me, strangers))
        raise Aborted(
            f"{of} lists {said}, whose keys never reached {me.name}.",
            hint=f"Either {of} lies, or {said} told it and not {me.name}: the messages {of} kept show which.",
        )


def _mask_lists(survivors: _Survivors, came: Mapping[str, Body]) -> Iterator[str]:
    """With whom each survivor masked, which decides what is removed for the dropouts."""
    for party in survivors.stay:
        yield f"{party} and {len(came[party]['with'])}"
        yield from came[party]["with"]


def _agree(me: Party, survivors: _Survivors, keys: Mapping[str, Body], seen: Iterable[MessagePart]) -> Play[None]:
    """Broadcast this list and a digest of the keys and, where all add up, of what came; all survivors must agree.

    It goes to the dropouts, too: if they are still there, they see that there is another list than theirs.
    ``seen`` has all that the total follows from: the lists of masks, and the sum of the masked vectors. Whoever told
    these differently, with the same sum, changed nothing.
    """
    parts: list[MessagePart] = []
    for party in survivors.stay + survivors.gone:
        parts += [party, keys[party]["key"], keys[party]["seed"]]
    parts += seen
    mine = {"stay": survivors.stay, "gone": survivors.gone, "digest": me.crypto.digest(me.group, *parts)}
    yield Broadcast(me.others, me.kind("survivors"), mine)
    heard = yield Gather(_others(me, survivors), me.kind("survivors"), me.least - 1, told=True)
    said = {other: tuple(body.get(word) for word in mine) for other, body in heard.items()}
    require_same(me, tuple(mine.values()), said, "other parties who stay, or other keys or vectors,")


def _reveal_shares(me: Party, survivors: _Survivors, held: Mapping[str, Body]) -> Play[dict[str, Body]]:
    """Reveal one share each: of a survivor's seed, of a dropout's key. Nothing else reveals any."""
    mine = {f"seed {party}": held[party]["seed"] for party in survivors.stay}
    mine |= {f"key {party}": held[party]["key"] for party in survivors.gone if party in held}
    return (yield from _collect(me, "unmask", mine, _others(me, survivors)))


def _sum_masked(me: Party, came: Mapping[str, Body], survivors: _Survivors) -> Vector:
    first, *rest = survivors.stay
    return me.sum(me.vector_from(first, came[first]), (me.vector_from(party, came[party]) for party in rest))


def _unmask(
    me: Party,
    whole: Vector,
    survivors: _Survivors,
    keys: Mapping[str, Body],
    *,
    came: Mapping[str, Body],
    answers: Mapping[str, Body],
) -> Vector:
    """Remove the survivors' own masks and their masks with dropouts; gives the total.

    What a dropout would have added as its masks with survivors is exactly what is missing.
    """
    seeds = (_recover(me, "seed", party, keys[party]["seed"], answers) for party in survivors.stay)
    whole = me.sum(whole, (), (me.mask(seed, "own mask") for seed in seeds))
    for party in survivors.gone:
        key = _recover(me, "key", party, keys[party]["key"], answers)
        those = {other: keys[other]["key"] for other in survivors.stay if party in came[other]["with"]}
        whole = me.sum(
            whole,
            masks_with(me, party, key, those, later=True),
            masks_with(me, party, key, those, later=False),
        )
    return whole


def _recover(me: Party, word: str, owner: str, public: Public, answers: Mapping[str, Body]) -> Secret:
    """Recover a secret from the revealed shares and check it by its public key; aborts if it does not fit."""
    name, needed = f"{word} {owner}", me.least
    shares = {holder: answers[holder][name] for holder in _in_order(me, answers) if name in answers[holder]}
    if len(shares) < needed:
        raise Aborted(
            f"{len(shares)} shares of the {word} of {owner} came, and {needed} are needed.", culprits=(owner,)
        )
    tried = _choices(tuple(shares), needed)
    first = next(tried)
    if (secret := _reconstruct(me, shares, first, public)) is not None:
        return secret
    good = next((some for some in tried if _reconstruct(me, shares, some, public) is not None), None)
    if good is None:
        raise Aborted(
            f"The shares of the {word} of {owner} do not fit together.",
            hint=f"{owner} gave out wrong ones, or one of {', '.join(shares)} did not pass on what it got.",
        )
    bad = [one for one in shares if one not in good and _reconstruct(me, shares, (one, *good[1:]), public) is None]
    raise Aborted(
        f"{', '.join(bad)} gave a wrong share of the {word} of {owner}.",
        culprits=bad,
        hint=f"Or {owner} gave them a wrong one: the signed messages that they kept show which.",
    )


def _reconstruct(me: Party, shares: Mapping[str, Share], holders: Iterable[str], public: Public) -> Secret | None:
    """The secret of these holders' shares, if its public key is the one that was broadcast; else None."""
    try:
        secret = me.crypto.join({holder: shares[holder] for holder in holders}, me.least)
    except BadInput:
        return None
    return secret if me.crypto.public(secret) == public else None


def _choices(holders: tuple[str, ...], count: int) -> Iterator[tuple[str, ...]]:
    """Some choices of ``count`` holders: runs of neighbours, which leave out each single one, then a few others."""
    turns = (holders[at:] + holders[:at] for at in range(len(holders)))
    return chain((turn[:count] for turn in turns), islice(combinations(holders, count), _MAX_SHARE_CHOICES))


def _party_list(me: Party, of: str, said: MessagePart) -> tuple[str, ...]:
    """A list of parties in a message; aborts unless it is one, in the manifest's order."""
    if not isinstance(said, tuple) or not all(isinstance(name, str) for name in said) or _in_order(me, said) != said:
        raise Aborted(f"{of} told something else than a list of parties.", culprits=(of,))
    return said


def _in_order(me: Party, parties: Iterable[str]) -> tuple[str, ...]:
    some = set(parties)
    return tuple(party for party in me.parties if party in some)


def _others(me: Party, survivors: _Survivors) -> tuple[str, ...]:
    return tuple(party for party in survivors.stay if party != me.name)
