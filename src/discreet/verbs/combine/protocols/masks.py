"""Secure sums by pairwise masks, which cancel in the sum, with recovery from dropouts (*masks*, *dining*).

**When all must stay** (the default), two rounds are enough: each party tells a public key, makes a mask of the seed
that it agrees on with each other party, and tells its vector under all its masks. Why nothing but the total is learnt:
a mask of two honest parties looks uniform to all others, and every two honest parties have one. Given what their
vectors add up to, the masked vectors of the honest parties are therefore uniform, whatever the vectors. A coalition
learns this sum, which it can compute from the total and its own vectors, and nothing else. All but one together learn
the last one's value from the total itself, whatever the protocol. This needs no one's good will: whatever keys or
vectors the coalition tells, to whomever, the masks of the honest are not touched.

**With dropouts**, masks with those who are gone have to be taken out (Bonawitz and others 2017, in the version against
active adversaries, here without a server). Each party draws two secrets, a key for masks with others and the seed of a
mask of its own, tells the public keys of both, and gives every other party a share of each; ``threshold`` shares give a
secret. Then all tell their masked vectors, agree on who stays, and for each party who stays give away the share of its
seed, for each who is gone the share of its key. Why nothing but the total of those who stay is learnt:

- *Never both.* With a party's key and seed together its masked vector is bare; with either alone it is uniform. A party
  gives away one of the two for each, once, and only after ``threshold`` parties, itself included, signed the same list
  of who stays. To get both of someone, a coalition of c that also rules the network and tells two groups two lists
  needs ``threshold`` - c honest parties in each; with n parties there are n - c honest ones, so this takes 2·threshold
  <= n + c. Hence the threshold must be more than half of the parties, or the network alone could do it, and coalitions
  of fewer than 2·threshold - n are withstood even if they lie.
- *Masks between all who stay.* A party gives nothing away unless it has masked its vector with everyone on the list.
  So every two honest parties who stay have their mask on, and the argument above holds among them.
- *Fewer than the threshold* have too few shares of anything, if they follow the protocol. That many or more have all
  secrets.

What a dropout reveals: nothing of its value. Its key becomes known, but not the seed of its own mask, so that even a
vector that arrives too late stays hidden. But the total is then of fewer parties: if enough leave that all who stay
but one are in league, the total itself gives that one away. Below the threshold the session ends, and at most one of
the two secrets of anyone is known. Even against malicious parties nothing is revealed before this party itself has
checked the list of survivors and ``threshold`` parties have signed the same one.

**With an adder** vectors go to one party, which adds up and tells the total: that costs n vectors each way instead of
n·n. It learns nothing more, since everyone may see masked vectors. Everyone compares a digest of the total with all
others before accepting it, so an adder cannot tell different totals; the same wrong one it can.

**dining**: the dining cryptographers (Chaum 1988) are masks modulo two. Every two parties share a random bit for each
place of the message; each party broadcasts the parity of its bits, and anyone who has something to say adds its
message. The parity of all broadcasts is the message, and no one knows whose it is; if several speak at once it is the
parity of their messages. Why the speaker stays hidden: the parity is the sum modulo two, so the argument above
applies. Given the message, every other choice of honest speakers that gives it is equally likely. All but one
together know whether the last one spoke, from the message itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, combinations, islice
from typing import Any, ClassVar

from discreet.core.catalogue import declare
from discreet.core.families import SUM_PROTOCOLS
from discreet.errors import Aborted, BadInput
from discreet.verbs.combine.crypto import Public, Secret, Share
from discreet.verbs.combine.effects import Body, Broadcast, Gather, MessagePart, Play, Receive, Send
from discreet.verbs.combine.group import Vector
from discreet.verbs.combine.protocols.protocol import Party, SumProtocol, Total

_MAX_SHARE_CHOICES = 256


@declare(SUM_PROTOCOLS, "masks", rank=0)
class Masks(SumProtocol):
    """Pairwise masks, with dropouts down to the threshold."""

    title: ClassVar[str] = "every two parties share a mask that cancels out; parties may drop out"
    drops: ClassVar[bool] = True

    def play(self, me: Party, value: Vector) -> Play[Total]:
        """Keys, then masked vectors; with dropouts, shares before and unmasking after."""
        _require_majority(me.parties, me.least)
        if me.least < len(me.parties):
            return (yield from play_with_dropout(me, value))
        key = me.crypto.secret(me.kind("mask key"))
        yield Broadcast(me.others, me.kind("key"), {"key": me.crypto.public(key)}, keys_only=True)
        key_messages = yield Gather(me.others, me.kind("key"), len(me.others), broadcast=True)
        mine = mask_vector(me, value, key, {other: body.get("key") for other, body in key_messages.items()})
        total = None
        if not me.adder:
            yield Broadcast(me.others, me.kind("masked"), {"vector": mine})
        elif me.name != me.adder:
            yield Send(me.adder, me.kind("masked"), {"vector": mine})
        if me.adder in ("", me.name):
            vectors = yield Gather(me.others, me.kind("masked"), len(me.others), broadcast=not me.adder)
            total = me.sum(mine, (me.vector_from(other, body) for other, body in vectors.items()))
        return Total((yield from agree_on_total(me, total, me.parties)), me.parties)

    def withstands(self, parties: tuple[str, ...], threshold: int) -> Iterable[tuple[str, ...]]:
        """Coalitions below the threshold, of all but two at most: to all but one the total gives a value away."""
        least = threshold or len(parties)
        _require_majority(parties, least)
        return combinations(parties, max(min(least - 1, len(parties) - 2), 1))

    def adversary(self) -> str:
        return (
            "Values stay secret from parties that follow the protocol and pool all they saw (semi-honest), "
            "and also from those that do not follow it (malicious), as long as these are fewer than twice the "
            "threshold less the number of parties, which is any number when all must stay; but such a party can "
            "falsify the total, choose its value after it has seen what the others told, or end the session, and "
            "an adder can send all the same wrong total."
        )


@declare(SUM_PROTOCOLS, "dining", rank=4)
class Dining(Masks):
    """Masks of single bits: an anonymous message, or a parity."""

    title: ClassVar[str] = "an anonymous message: masks modulo two"

    def play(self, me: Party, value: Vector) -> Play[Total]:
        if me.group.bits != 1:
            raise BadInput(f"The dining cryptographers add single bits, not {me.group}.", hint="Use masks for numbers.")
        return (yield from super().play(me, value))


def _require_majority(parties: tuple[str, ...], least: int) -> None:
    if 2 * least <= len(parties):
        raise BadInput(
            f"With masks more than half of the {len(parties)} parties must stay, got a threshold of {least}.",
            hint="Otherwise each half could be told that the other dropped out, and together they would "
            "reveal everything.",
        )


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
            raise Aborted(f"What {other} sent as its public key is not a public key.", culprits=(other,)) from error
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
        total = me.vector_from(me.adder, (yield Receive(me.adder, me.kind("total"), broadcast=True)))
    elif me.adder:
        yield Broadcast(me.others, me.kind("total"), {"vector": total})
    if me.adder:
        mine = me.crypto.digest(me.group, total)
        yield Broadcast(me.others, me.kind("heard"), {"digest": mine})
        heard = yield Gather(others, me.kind("heard"), me.least - 1, broadcast=True)
        require_same(me, (mine,), {other: (body.get("digest"),) for other, body in heard.items()}, "another total")
    return total


def require_same(me: Party, mine: tuple[Any, ...], heard: Mapping[str, tuple[Any, ...]], what: str) -> None:
    """Abort unless all say the same; names those who differ from most, or, of two halves, from this party."""
    answers = {party: answer for party, answer in heard.items() if _types(answer) == _types(mine)} | {me.name: mine}
    counts = Counter(answers.values())
    usual = max(counts, key=lambda answer: (counts[answer], answer == mine))
    if odd := [party for party in (me.name, *heard) if answers.get(party) != usual]:
        raise Aborted(
            f"{', '.join(odd)} had {what} than most of the parties.",
            culprits=odd,
            hint="They received something else, or they lie: the signed messages that all parties keep show which.",
        )


def _types(answer: tuple[Any, ...]) -> list[type]:
    """Types of what is compared: anyone who breaks the rules may say anything."""
    return [type(one) for one in answer]


@dataclass(frozen=True)
class _Survivors:
    """Parties that stay, and dropouts with whom they masked; both in the manifest's order."""

    stay: tuple[str, ...]
    gone: tuple[str, ...]


def play_with_dropout(me: Party, value: Vector) -> Play[Total]:
    """Run masks with dropouts: keys, shares, masked vectors, survivors, unmasking."""
    keys, shares, secrets = yield from _share_secrets(me)
    peers = _in_order(me, shares)
    own = me.mask(secrets["seed"], "own mask")
    mine = mask_vector(me, value, secrets["key"], {peer: keys[peer]["key"] for peer in peers}, (own,))
    others = tuple(peer for peer in peers if peer != me.name)
    came = yield from _collect(me, "masked", {"vector": mine, "with": peers}, others)
    survivors = yield from _find_survivors(me, came, peers, tuple(keys))
    whole = _sum_masked(me, came, survivors) if came else None
    yield from _agree(me, survivors, keys, [] if me.adder else [*_mask_lists(survivors, came), whole])
    answers = yield from _reveal_shares(me, survivors, shares)
    total = None if whole is None else _unmask(me, whole, survivors, keys, came=came, answers=answers)
    return Total((yield from agree_on_total(me, total, survivors.stay)), survivors.stay)


def _share_secrets(me: Party) -> Play[tuple[dict[str, Body], dict[str, Body], dict[str, Secret]]]:
    """Exchange keys and shares: public keys of all, shares that this party holds, and its own secrets."""
    crypto = me.crypto
    secrets = {word: crypto.secret(me.kind(f"{word} of masks")) for word in ("seed", "key")}
    public_keys = {word: crypto.public(secret) for word, secret in secrets.items()}
    yield Broadcast(me.others, me.kind("keys"), public_keys, keys_only=True)
    keys = yield Gather(me.others, me.kind("keys"), me.least - 1, broadcast=True)
    shares = {
        word: crypto.split(secret, me.kind(f"shares of {word}"), me.parties, me.least)
        for word, secret in secrets.items()
    }
    own_shares = {party: {word: shares[word][party] for word in shares} for party in me.parties}
    for other in keys:
        yield Send(other, me.kind("shares"), own_shares[other], keys_only=True)
    received_shares = yield Gather(tuple(keys), me.kind("shares"), me.least - 1)
    for of, body in keys.items():
        if not all(crypto.is_public(body.get(word)) for word in secrets):
            raise Aborted(f"What {of} sent as its public keys are not public keys.", culprits=(of,))
    for of, body in received_shares.items():
        if not all(crypto.is_share(body.get(word)) for word in secrets):
            raise Aborted(f"What {of} sent as shares of its secrets are not shares.", culprits=(of,))
    return {me.name: public_keys, **keys}, {me.name: own_shares[me.name], **received_shares}, secrets


def _collect(me: Party, word: str, mine: Body, others: tuple[str, ...]) -> Play[dict[str, Body]]:
    """Messages of ``others``, by party, for anyone who adds up; empty for the rest, who send theirs to the adder."""
    if not me.adder:
        yield Broadcast(me.others, me.kind(word), mine)
    elif me.name != me.adder:
        yield Send(me.adder, me.kind(word), mine)
        return {}
    came = yield Gather(others, me.kind(word), me.least - 1, broadcast=not me.adder)
    return {me.name: mine, **came}


def _find_survivors(
    me: Party, came: Mapping[str, Body], peers: tuple[str, ...], keyed: tuple[str, ...]
) -> Play[_Survivors]:
    """Find the survivors, by the vectors that came or by the adder's list; no one is both there and gone.

    ``keyed`` are those whose keys came: no one can have masked with others.
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
        body = yield Receive(me.adder, me.kind("arrived"), broadcast=True)
        survivors = _Survivors(*(_party_list(me, me.adder, body.get(word)) for word in ("stay", "gone")))
        _require_keyed(me, me.adder, survivors.stay + survivors.gone, keyed)
    require_safe_survivors(me, survivors.stay, survivors.gone, peers)
    return survivors


def require_safe_survivors(me: Party, stay: tuple[str, ...], gone: tuple[str, ...], peers: tuple[str, ...]) -> None:
    """Abort unless it is safe to reveal the seeds of the survivors and the keys of the dropouts."""
    if both := set(stay) & set(gone):
        named = ", ".join(_in_order(me, both))
        raise Aborted(f"Both secrets of {named} were requested; neither is revealed.", culprits=(me.adder,))
    if me.name not in stay:
        raise Aborted(f"{me.name} was too late; the others continue without it.", culprits=(me.name,))
    if len(stay) < me.least:
        raise Aborted(f"{len(stay)} parties remain, but {me.least} are needed.", culprits=gone)
    if strangers := set(stay) - set(peers):
        named = ", ".join(_in_order(me, strangers))
        raise Aborted(f"{named} are to stay, but share no mask with {me.name}.", culprits=_in_order(me, strangers))


def _require_keyed(me: Party, of: str, named: Iterable[str], keyed: tuple[str, ...]) -> None:
    """Abort if a list has parties whose keys this party never got: it could not remove their masks.

    No one is accused: either the list is a lie, or those on it reached one party and not the other.
    """
    if strangers := set(named) - set(keyed):
        names = ", ".join(_in_order(me, strangers))
        raise Aborted(
            f"{of} lists {names}, whose keys never reached {me.name}.",
            hint=f"Either {of} lies, or {names} told it and not {me.name}: the messages {of} kept show which.",
        )


def _mask_lists(survivors: _Survivors, came: Mapping[str, Body]) -> Iterator[str]:
    """With whom each survivor masked, which decides what is removed for the dropouts."""
    for party in survivors.stay:
        yield f"{party} and {len(came[party]['with'])}"
        yield from came[party]["with"]


def _agree(me: Party, survivors: _Survivors, keys: Mapping[str, Body], seen: Iterable[MessagePart]) -> Play[None]:
    """Broadcast this list and a digest of the keys and, where all add up, of what came; all survivors must agree.

    It goes to the dropouts, too: if they are still there, they see that there is another list than theirs.
    ``seen`` has all that the total follows from: the lists of masks, and the sum of the masked vectors. Anyone who told
    these differently, with the same sum, changed nothing.
    """
    parts: list[MessagePart] = []
    for party in survivors.stay + survivors.gone:
        parts += [party, keys[party]["key"], keys[party]["seed"]]
    parts += seen
    mine = {"stay": survivors.stay, "gone": survivors.gone, "digest": me.crypto.digest(me.group, *parts)}
    yield Broadcast(me.others, me.kind("survivors"), mine)
    heard = yield Gather(_others(me, survivors), me.kind("survivors"), me.least - 1, broadcast=True)
    lists = {other: tuple(body.get(word) for word in mine) for other, body in heard.items()}
    require_same(me, tuple(mine.values()), lists, "other parties who stay, or other keys or vectors,")


def _reveal_shares(me: Party, survivors: _Survivors, shares: Mapping[str, Body]) -> Play[dict[str, Body]]:
    """Reveal one share each: of a survivor's seed, of a dropout's key. Nothing else reveals any."""
    mine = {f"seed {party}": shares[party]["seed"] for party in survivors.stay}
    mine |= {f"key {party}": shares[party]["key"] for party in survivors.gone if party in shares}
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
            whole, masks_with(me, party, key, those, later=True), masks_with(me, party, key, those, later=False)
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
            f"The shares of the {word} of {owner} contradict each other.",
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


def _party_list(me: Party, of: str, names: MessagePart) -> tuple[str, ...]:
    """A list of parties in a message; aborts unless it is one, in the manifest's order."""
    texts = isinstance(names, tuple) and all(isinstance(name, str) for name in names)
    if not texts or _in_order(me, names) != names:
        raise Aborted(f"{of} did not send a list of parties.", culprits=(of,))
    parties: tuple[str, ...] = names
    return parties


def _in_order(me: Party, parties: Iterable[str]) -> tuple[str, ...]:
    some = set(parties)
    return tuple(party for party in me.parties if party in some)


def _others(me: Party, survivors: _Survivors) -> tuple[str, ...]:
    return tuple(party for party in survivors.stay if party != me.name)
