"""Products across holders: Xᵀ·Y where one has X and another Y, row by row about the same people.

A third party, the *dealer* of the pair, helps with random numbers and sees none of the data (after Beaver 1997; Du
and Atallah 2001). All is in a group of integers modulo 2**bits that holds every product's bounds, so nothing wraps
and nothing is rounded.

1. The dealer sends each holder h a secret seed. It stretches into a matrix R_h of the shape of h's rows, and into a
   matrix r for every pair in which h is the first. To the second, b, of a pair (a, b) the dealer sends
   s = R_aᵀ·R_b - r.
2. Each sends the other its rows plus its R: A = X + R_a, and B = Y + R_b.
3. The first computes u = r - R_aᵀ·B, the second v = Aᵀ·Y + s. They exchange u and v.
   u + v = r - R_aᵀY - R_aᵀR_b + XᵀY + R_aᵀY + R_aᵀR_b - r = XᵀY.

Why nobody learns more than the product (each side's view can be made up from its own input and the product alone):

- The second sees A, which is X plus a uniform matrix it does not know; s, which is uniform because r is, independent
  of A; and u = XᵀY - v, which follows from the product and from what it computed itself.
- The first sees its own seed, B, which is uniform, and v = XᵀY - u likewise.
- The dealer sees nothing of the pair's: the messages of steps 2 and 3 are sealed between the two. It must not be told
  u or v: with R_a known, u would tell R_aᵀY. It is told the product only.
- One R_h serves all pairs of h with the same dealer: all who see h's rows see the same sum of rows and R_h, and every
  pair has an r of its own.

So a coalition learns more exactly when it has the dealer of a pair and one of the pair, without the other: it takes R
away and reads the other's rows. ``withstands`` lists the coalitions that do not. Two parties alone have no dealer,
and get no promise. Everybody follows the protocol (semi-honest); a dealer that deals wrong numbers makes the result
wrong, and nobody would notice.

MPyC does the same by Shamir's shares in a prime field; ``docs/decisions/0007-vertical.md`` says why it is not used
here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import TypeAlias

from discreet.errors import Aborted, BadInput, NoPromise
from discreet.verbs.combine.effects import Body, Play, Receive, Send, Tell
from discreet.verbs.combine.group import Group, Vector
from discreet.verbs.combine.tools import Tools

Pair: TypeAlias = tuple[str, str]
_SEED = 32
_EXACT = 10
"""Up to so many parties all coalitions are looked at."""


@dataclass(frozen=True)
class Bench:
    """A party's place at the products: who it is, who holds how many columns, and how many people there are."""

    name: str
    parties: tuple[str, ...]
    widths: Mapping[str, int]
    """How many columns each holder has; whoever is not named has none."""
    rows: int
    group: Group
    tools: Tools

    @property
    def holders(self) -> tuple[str, ...]:
        """Who has columns, in the manifest's order."""
        return tuple(party for party in self.parties if self.widths.get(party))

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """All pairs of holders."""
        return tuple(combinations(self.holders, 2))

    @property
    def others(self) -> tuple[str, ...]:
        """Everybody else."""
        return tuple(party for party in self.parties if party != self.name)

    def dealer(self, pair: Pair) -> str:
        """Who deals for a pair."""
        return dealer(self.parties, self.holders, pair)


def dealer(parties: tuple[str, ...], holders: tuple[str, ...], pair: Pair) -> str:
    """Who deals for a pair of holders: somebody who has no data if possible, else the first who is not of the pair."""
    rest = [party for party in parties if party not in pair]
    if not rest:
        raise NoPromise(
            "Two holders alone cannot multiply in secret: each could work out the other's rows.",
            hint="Ask a third party to take part, who need not bring any data.",
        )
    return next((party for party in rest if party not in holders), rest[0])


def assumes(parties: tuple[str, ...], holders: tuple[str, ...]) -> str:
    """Who must not put together what they saw, as a full sentence."""
    deals = dealer(parties, holders, (holders[0], holders[1]))
    if deals in holders:
        return "No two parties put together what they saw: they deal random numbers for each other."
    return f"{deals} deals random numbers to the holders, and puts nothing together with any of them."


def withstands(parties: tuple[str, ...], holders: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """The largest coalitions that learn no more than their inputs and the result; single parties if there are many."""
    dealers = {pair: dealer(parties, holders, pair) for pair in combinations(holders, 2)}
    if len(parties) > _EXACT:
        return tuple((party,) for party in parties)

    def safe(some: tuple[str, ...]) -> bool:
        return not any(deals in some and (a in some) != (b in some) for (a, b), deals in dealers.items())

    found: list[tuple[str, ...]] = []
    for many in range(len(parties) - 1, 0, -1):
        found += [
            some
            for some in combinations(parties, many)
            if safe(some) and not any(set(some) < set(more) for more in found)
        ]
    return tuple(sorted(found, key=lambda some: (-len(some), some)))


def products(bench: Bench, mine: Vector | None) -> Play[dict[Pair, Vector]]:
    """The products of every pair of holders, known to all parties; ``mine`` are this party's rows in the group."""
    if (mine is not None) != (bench.name in bench.holders):
        raise BadInput(f"{bench.name} must bring rows exactly if it holds columns.")
    yield from _deal(bench)
    own = {} if mine is None else (yield from _multiply(bench, mine))
    for pair, block in own.items():
        if pair[0] == bench.name:
            yield Tell(bench.others, f"block {pair[0]} {pair[1]}", {"block": bench.group.pack(block.reshape(-1))})
    found: dict[Pair, Vector] = {}
    for pair in bench.pairs:
        if pair[0] == bench.name:
            found[pair] = own[pair]
            continue
        told: Body = yield Receive(pair[0], f"block {pair[0]} {pair[1]}", told=True)
        found[pair] = _matrix(bench, told.get("block"), bench.widths[pair[0]], bench.widths[pair[1]], pair[0])
        if pair in own and (found[pair] != own[pair]).any():
            raise Aborted(
                f"{pair[0]} told another product than the one it computed with {pair[1]}.", culprits=(pair[0],)
            )
    return found


def _deal(bench: Bench) -> Play[None]:
    """What this party does as the dealer of others."""
    pairs = [pair for pair in bench.pairs if bench.dealer(pair) == bench.name]
    seeds = {}
    for holder in dict.fromkeys(holder for pair in pairs for holder in pair):
        seeds[holder] = bench.tools.secret(f"seed for {holder}")
        yield Send(holder, "seed", {"seed": seeds[holder]})
    hides = {holder: _hide(bench, seed, holder) for holder, seed in seeds.items()}
    for a, b in pairs:
        rest = bench.group.reduced(hides[a].T @ hides[b] - _apart(bench, seeds[a], (a, b)))
        yield Send(b, f"rest {a}", {"rest": bench.group.pack(rest.reshape(-1))})


def _multiply(bench: Bench, mine: Vector) -> Play[dict[Pair, Vector]]:
    """This holder's products with every other holder."""
    me, group, widths = bench.name, bench.group, bench.widths
    partners: dict[str, list[Pair]] = {}
    for pair in bench.pairs:
        if me in pair:
            partners.setdefault(bench.dealer(pair), []).append(pair)
    seeds, hides = {}, {}
    for deals, pairs in partners.items():
        dealt: Body = yield Receive(deals, "seed")
        seed = dealt.get("seed")
        if not isinstance(seed, bytes) or len(seed) != _SEED:
            raise Aborted(f"{deals} sent a seed of the wrong size.", culprits=(deals,))
        seeds[deals], hides[deals] = seed, _hide(bench, seed, me)
        sent = group.pack(group.reduced(mine + hides[deals]).reshape(-1))
        for pair in pairs:
            yield Send(_partner(pair, me), "rows", {"rows": sent})
    parts: dict[Pair, Vector] = {}
    for deals, pairs in partners.items():
        for pair in pairs:
            other = _partner(pair, me)
            hidden: Body = yield Receive(other, "rows")
            theirs = _matrix(bench, hidden.get("rows"), bench.rows, widths[other], other)
            if me == pair[0]:
                part = _apart(bench, seeds[deals], pair) - hides[deals].T @ theirs
            else:
                dealt = yield Receive(deals, f"rest {other}")
                part = theirs.T @ mine + _matrix(bench, dealt.get("rest"), widths[other], widths[me], deals)
            parts[pair] = group.reduced(part)
            yield Send(other, "part", {"part": group.pack(parts[pair].reshape(-1))})
    whole: dict[Pair, Vector] = {}
    for pair, part in parts.items():
        told: Body = yield Receive(_partner(pair, me), "part")
        theirs = _matrix(bench, told.get("part"), widths[pair[0]], widths[pair[1]], _partner(pair, me))
        whole[pair] = group.reduced(part + theirs)
    return whole


def _hide(bench: Bench, seed: bytes, holder: str) -> Vector:
    """The matrix that hides a holder's rows."""
    width = bench.widths[holder]
    return bench.tools.mask(seed, "rows", bench.group, bench.rows * width).reshape(bench.rows, width)


def _apart(bench: Bench, seed: bytes, pair: Pair) -> Vector:
    """The matrix r of a pair, from the seed of its first."""
    shape = bench.widths[pair[0]], bench.widths[pair[1]]
    return bench.tools.mask(seed, f"product with {pair[1]}", bench.group, shape[0] * shape[1]).reshape(shape)


def _matrix(bench: Bench, data: object, height: int, width: int, of: str) -> Vector:
    """A matrix as it came, if it has the right size."""
    if not isinstance(data, bytes) or len(data) != bench.group.size(height * width):
        raise Aborted(f"{of} sent a matrix of the wrong size.", culprits=(of,))
    return bench.group.unpack(data, height * width).reshape(height, width)


def _partner(pair: Pair, me: str) -> str:
    return pair[1] if me == pair[0] else pair[0]


def holding(rows: int, largest: Iterable[int]) -> Group:
    """The group that holds the sum over all rows of any product of two values, none above its ``largest``."""
    most = max(largest)
    return Group.holding(max(rows * most * most, rows, 255))
