"""Protocols that leak, each in its own way, for the analysis to find."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from discreet.verbs.combine.effects import Broadcast, Gather, Play, Send
from discreet.verbs.combine.group import Vector
from discreet.verbs.combine.protocols.protocol import Party, SumProtocol, Total


class Toy(SumProtocol):
    """What all of them have: nothing is promised."""

    name: ClassVar[str] = "toy"
    title: ClassVar[str] = "for tests"

    def withstands(self, parties: tuple[str, ...], threshold: int) -> Iterable[tuple[str, ...]]:
        return ()


@dataclass(frozen=True)
class Told(Toy):
    """Each tells its value with a random vector added ``times`` times, and nothing comes of it."""

    times: int

    def play(self, me: Party, value: Vector) -> Play[Total]:
        hidden = sum((me.draw("r") for _ in range(self.times)), start=value)
        yield Broadcast(me.others, "told", {"vector": hidden})
        yield Gather(me.others, "told", len(me.others))
        return Total(value - value, ())


@dataclass(frozen=True)
class Pairs(Toy):
    """Pairwise masks; where the sign is wrong, both of a pair add theirs."""

    wrong: bool

    def play(self, me: Party, value: Vector) -> Play[Total]:
        mine = me.crypto.secret("key")
        yield Broadcast(me.others, "key", {"key": me.crypto.public(mine)})
        keys = yield Gather(me.others, "key", len(me.others))
        for other in me.others:
            mask = me.mask(me.crypto.agree(mine, keys[other]["key"]), "mask")
            value = value + mask if self.wrong or me.name < other else value - mask
        value = me.group.reduce(value)
        yield Broadcast(me.others, "vector", {"vector": value})
        vectors = yield Gather(me.others, "vector", len(me.others))
        total = sum((each["vector"] for each in vectors.values()), start=value)
        return Total(me.group.reduce(total), me.parties)


@dataclass(frozen=True)
class Pieces(Toy):
    """Additive shares; the first of the others gets, beside its own piece, all that are for the others as well."""

    def play(self, me: Party, value: Vector) -> Play[Total]:
        kept = value
        for other in me.others:
            piece = me.draw(f"piece for {other}")
            kept = kept - piece
            yield Send(other, "piece", {"vector": piece})
            yield Send(me.others[0], f"again for {other}", {"vector": piece})
        pieces = yield Gather(me.others, "piece", len(me.others))
        mine = me.group.reduce(sum((piece["vector"] for piece in pieces.values()), start=kept))
        yield Broadcast(me.others, "part", {"vector": mine})
        parts = yield Gather(me.others, "part", len(me.others))
        total = sum((part["vector"] for part in parts.values()), start=mine)
        return Total(me.group.reduce(total), me.parties)


@dataclass(frozen=True)
class Escrow(Toy):
    """Each tells its value behind a mask, and sends shares of the seed; perhaps two of them to the next party."""

    threshold: int
    twice: bool

    def play(self, me: Party, value: Vector) -> Play[Total]:
        seed = me.crypto.secret("seed")
        shares = me.crypto.split(seed, "shares", me.others, self.threshold)
        yield Broadcast(me.others, "told", {"vector": me.group.reduce(value + me.mask(seed, "mask"))})
        for other in me.others:
            yield Send(other, "share", {"share": shares[other]})
        if self.twice:
            last = me.others[-1]
            yield Send(me.others[0], "another", {"share": shares[last]})
        yield Gather(me.others, "share", len(me.others))
        return Total(value - value, ())


@dataclass(frozen=True)
class Unshielded(Toy):
    """Masks whose keys are told when their owner drops out, without a mask of its own: a late vector is naked."""

    def play(self, me: Party, value: Vector) -> Play[Total]:
        keys = {other: me.crypto.secret(f"key for {other}") for other in me.others}
        for other, key in keys.items():
            yield Send(other, "key", {"key": me.crypto.public(key)})
        theirs = yield Gather(me.others, "key", len(me.others))
        seeds = {other: me.crypto.agree(key, theirs[other]["key"]) for other, key in keys.items()}
        for other, seed in seeds.items():
            value = value + me.mask(seed, "mask") if me.name < other else value - me.mask(seed, "mask")
        value = me.group.reduce(value)
        yield Broadcast(me.others, "vector", {"vector": value})
        vectors = yield Gather(me.others, "vector", 1)
        gone = [other for other in me.others if other not in vectors]
        yield Broadcast(me.others, "seeds", {other: seeds[other] for other in gone})
        told = yield Gather(tuple(vectors), "seeds", len(vectors))
        total = sum((each["vector"] for each in vectors.values()), start=value)
        for name, known in [(me.name, seeds), *told.items()]:
            for other in gone:
                mask = me.mask(known[other], "mask")
                total = total - mask if name < other else total + mask
        stayed = tuple(party for party in me.parties if party not in gone)
        return Total(me.group.reduce(total), stayed)
