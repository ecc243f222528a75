"""Secure matrix products Xᵀ·Y, where one holder has X and another Y of the same people.

A third party, the *dealer* of the pair, helps with random numbers and sees none of the data (after Beaver 1997; Du
and Atallah 2001). All is in a group of integers modulo 2**bits that holds every product's bounds, so nothing wraps
and nothing is rounded.

1. The dealer sends each holder h a secret seed. It stretches into a matrix R_h of the shape of h's rows, and into a
   matrix r for every pair in which h is the first. To the second, b, of a pair (a, b) the dealer sends
   s = R_aᵀ·R_b - r.
2. Each sends the other its rows plus its R: A = X + R_a, and B = Y + R_b.
3. The first computes u = r - R_aᵀ·B, the second v = Aᵀ·Y + s. They exchange u and v.
   u + v = r - R_aᵀY - R_aᵀR_b + XᵀY + R_aᵀY + R_aᵀR_b - r = XᵀY.

Why no one learns more than the product (each side's view can be made up from its own input and the product alone):

- The second sees A, which is X plus a uniform matrix it does not know; s, which is uniform because r is, independent
  of A; and u = XᵀY - v, which follows from the product and from what it computed itself.
- The first sees its own seed, B, which is uniform, and v = XᵀY - u likewise.
- The dealer sees nothing of the pair's: the messages of steps 2 and 3 are sealed between the two. It must not be told
  u or v: with R_a known, u would tell R_aᵀY. It is told the product only.
- One R_h serves all pairs of h with the same dealer: all who see h's rows see the same sum of rows and R_h, and every
  pair has an r of its own.

So a coalition learns more exactly when it has the dealer of a pair and one of the pair, without the other: it takes R
away and reads the other's rows. ``withstands`` lists the coalitions that do not. Two parties alone have no dealer,
and get no promise. Everyone follows the protocol (semi-honest); a dealer that deals wrong numbers makes the result
wrong, and no one would notice.

MPyC does the same by Shamir's shares in a prime field; ``docs/decisions/0007-vertical.md`` says why it is not used
here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import TypeAlias

from discreet.errors import Aborted, BadInput, NoPromise
from discreet.verbs.combine.crypto import Crypto
from discreet.verbs.combine.effects import Body, Broadcast, Play, Receive, Send
from discreet.verbs.combine.group import ModularGroup, Vector

Pair: TypeAlias = tuple[str, str]
_SEED_BYTES = 32
_MAX_ENUMERATED_PARTIES = 10
"""Number of parties up to which all coalitions are examined."""


@dataclass(frozen=True)
class ProductParty:
    """A party of the products: its name, each holder's number of columns, and the number of people."""

    name: str
    parties: tuple[str, ...]
    widths: Mapping[str, int]
    """Number of columns of each holder; parties that are missing have none."""
    rows: int
    group: ModularGroup
    crypto: Crypto

    @property
    def holders(self) -> tuple[str, ...]:
        """Parties with columns, in the manifest's order."""
        return tuple(party for party in self.parties if self.widths.get(party))

    @property
    def pairs(self) -> tuple[Pair, ...]:
        return tuple(combinations(self.holders, 2))

    @property
    def others(self) -> tuple[str, ...]:
        return tuple(party for party in self.parties if party != self.name)

    def dealer(self, pair: Pair) -> str:
        return dealer(self.parties, self.holders, pair)


def dealer(parties: tuple[str, ...], holders: tuple[str, ...], pair: Pair) -> str:
    """Dealer of a pair of holders: a party without data if possible, else the first outside the pair."""
    rest = [party for party in parties if party not in pair]
    if not rest:
        raise NoPromise(
            "Two holders alone cannot multiply in secret: each could work out the other's rows.",
            hint="Ask a third party to take part, who need not bring any data.",
        )
    return next((party for party in rest if party not in holders), rest[0])


def assumes(parties: tuple[str, ...], holders: tuple[str, ...]) -> str:
    """Who must not collude, as a full sentence."""
    deals = dealer(parties, holders, (holders[0], holders[1]))
    if deals in holders:
        return "No two parties pool what they saw: they deal random numbers for each other."
    return f"{deals} deals random numbers to the holders, and colludes with none of them."


def withstands(parties: tuple[str, ...], holders: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """Largest coalitions that learn no more than their inputs and the result; single parties if there are many."""
    dealers = {pair: dealer(parties, holders, pair) for pair in combinations(holders, 2)}
    if len(parties) > _MAX_ENUMERATED_PARTIES:
        return tuple((party,) for party in parties)

    def safe(some: tuple[str, ...]) -> bool:
        return not any(deals in some and (a in some) != (b in some) for (a, b), deals in dealers.items())

    largest: list[tuple[str, ...]] = []
    for many in range(len(parties) - 1, 0, -1):
        largest += [
            some
            for some in combinations(parties, many)
            if safe(some) and not any(set(some) < set(more) for more in largest)
        ]
    return tuple(sorted(largest, key=lambda some: (-len(some), some)))


def products(party: ProductParty, mine: Vector | None) -> Play[dict[Pair, Vector]]:
    """Compute the products of every pair of holders, for all parties; ``mine`` are this party's rows in the group."""
    if (mine is not None) != (party.name in party.holders):
        raise BadInput(f"{party.name} must bring rows if it holds columns, and only then.")
    yield from _deal(party)
    own = {} if mine is None else (yield from _multiply(party, mine))
    for pair, block in own.items():
        if pair[0] == party.name:
            yield Broadcast(party.others, f"block {pair[0]} {pair[1]}", {"block": party.group.pack(block.reshape(-1))})
    blocks: dict[Pair, Vector] = {}
    for pair in party.pairs:
        if pair[0] == party.name:
            blocks[pair] = own[pair]
            continue
        message: Body = yield Receive(pair[0], f"block {pair[0]} {pair[1]}", broadcast=True)
        blocks[pair] = _matrix(party, message.get("block"), party.widths[pair[0]], party.widths[pair[1]], pair[0])
        if pair in own and (blocks[pair] != own[pair]).any():
            raise Aborted(
                f"{pair[0]} reported a different product from the one it computed with {pair[1]}.", culprits=(pair[0],)
            )
    return blocks


def _deal(party: ProductParty) -> Play[None]:
    """Deal random numbers for the pairs whose dealer this party is."""
    pairs = [pair for pair in party.pairs if party.dealer(pair) == party.name]
    seeds = {}
    for holder in dict.fromkeys(holder for pair in pairs for holder in pair):
        seeds[holder] = party.crypto.secret(f"seed for {holder}")
        yield Send(holder, "seed", {"seed": seeds[holder]})
    hides = {holder: _row_mask(party, seed, holder) for holder, seed in seeds.items()}
    for a, b in pairs:
        rest = party.group.reduce(hides[a].T @ hides[b] - _pair_mask(party, seeds[a], (a, b)))
        yield Send(b, f"rest {a}", {"rest": party.group.pack(rest.reshape(-1))})


def _multiply(party: ProductParty, mine: Vector) -> Play[dict[Pair, Vector]]:
    """Compute this holder's products with every other holder."""
    me, group, widths = party.name, party.group, party.widths
    partners: dict[str, list[Pair]] = {}
    for pair in party.pairs:
        if me in pair:
            partners.setdefault(party.dealer(pair), []).append(pair)
    seeds, hides = {}, {}
    for deals, pairs in partners.items():
        dealt: Body = yield Receive(deals, "seed")
        seed = dealt.get("seed")
        if not isinstance(seed, bytes) or len(seed) != _SEED_BYTES:
            raise Aborted(f"{deals} sent a seed of the wrong size.", culprits=(deals,))
        seeds[deals], hides[deals] = seed, _row_mask(party, seed, me)
        sent = group.pack(group.reduce(mine + hides[deals]).reshape(-1))
        for pair in pairs:
            yield Send(_partner(pair, me), "rows", {"rows": sent})
    parts: dict[Pair, Vector] = {}
    for deals, pairs in partners.items():
        for pair in pairs:
            other = _partner(pair, me)
            hidden: Body = yield Receive(other, "rows")
            theirs = _matrix(party, hidden.get("rows"), party.rows, widths[other], other)
            if me == pair[0]:
                part = _pair_mask(party, seeds[deals], pair) - hides[deals].T @ theirs
            else:
                dealt = yield Receive(deals, f"rest {other}")
                part = theirs.T @ mine + _matrix(party, dealt.get("rest"), widths[other], widths[me], deals)
            parts[pair] = group.reduce(part)
            yield Send(other, "part", {"part": group.pack(parts[pair].reshape(-1))})
    whole: dict[Pair, Vector] = {}
    for pair, part in parts.items():
        message: Body = yield Receive(_partner(pair, me), "part")
        theirs = _matrix(party, message.get("part"), widths[pair[0]], widths[pair[1]], _partner(pair, me))
        whole[pair] = group.reduce(part + theirs)
    return whole


def _row_mask(party: ProductParty, seed: bytes, holder: str) -> Vector:
    """Mask of a holder's rows: the matrix R."""
    width = party.widths[holder]
    return party.crypto.mask(seed, "rows", party.group, party.rows * width).reshape(party.rows, width)


def _pair_mask(party: ProductParty, seed: bytes, pair: Pair) -> Vector:
    """Mask of a pair's product: the matrix r, from the seed of its first."""
    shape = party.widths[pair[0]], party.widths[pair[1]]
    return party.crypto.mask(seed, f"product with {pair[1]}", party.group, shape[0] * shape[1]).reshape(shape)


def _matrix(party: ProductParty, data: object, height: int, width: int, of: str) -> Vector:
    """A received matrix, if it has the right size."""
    if not isinstance(data, bytes) or len(data) != party.group.size(height * width):
        raise Aborted(f"{of} sent a matrix of the wrong size.", culprits=(of,))
    return party.group.unpack(data, height * width).reshape(height, width)


def _partner(pair: Pair, me: str) -> str:
    return pair[1] if me == pair[0] else pair[0]


def product_group(rows: int, largest: Iterable[int]) -> ModularGroup:
    """Group that fits the sum over all rows of any product of two values, none above its ``largest``."""
    most = max(largest)
    return ModularGroup.fitting(max(rows * most * most, rows, 255))
