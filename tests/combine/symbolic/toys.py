"""Protocols that leak, each in its own way, for the analysis to find."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from discreet.verbs.combine.effects import Gather, Play, Send, Tell
from discreet.verbs.combine.group import Vector
from discreet.verbs.combine.party import Seat, Total
from discreet.verbs.combine.protocols.protocol import Protocol


class Toy(Protocol):
    """What all of them have: nothing is promised."""

    name: ClassVar[str] = "toy"
    title: ClassVar[str] = "for tests"

    def withstands(self, parties: tuple[str, ...], threshold: int) -> Iterable[tuple[str, ...]]:
        return ()


@dataclass(frozen=True)
class Told(Toy):
    """Each tells its value with a random vector added ``times`` times, and nothing comes of it."""

    times: int

    def play(self, seat: Seat, value: Vector) -> Play[Total]:
        hidden = sum((seat.draw("r") for _ in range(self.times)), start=value)
        yield Tell(seat.others, "told", {"vector": hidden})
        yield Gather(seat.others, "told", len(seat.others))
        return Total(value - value, ())


@dataclass(frozen=True)
class Pairs(Toy):
    """Pairwise masks; where the sign is wrong, both of a pair add theirs."""

    wrong: bool

    def play(self, seat: Seat, value: Vector) -> Play[Total]:
        mine = seat.tools.secret("key")
        yield Tell(seat.others, "key", {"key": seat.tools.public(mine)})
        keys = yield Gather(seat.others, "key", len(seat.others))
        for other in seat.others:
            mask = seat.mask(seat.tools.agree(mine, keys[other]["key"]), "mask")
            value = value + mask if self.wrong or seat.name < other else value - mask
        value = seat.group.reduced(value)
        yield Tell(seat.others, "vector", {"vector": value})
        vectors = yield Gather(seat.others, "vector", len(seat.others))
        total = sum((each["vector"] for each in vectors.values()), start=value)
        return Total(seat.group.reduced(total), seat.parties)


@dataclass(frozen=True)
class Pieces(Toy):
    """Additive shares; the first of the others gets, beside its own piece, all that are for the others as well."""

    def play(self, seat: Seat, value: Vector) -> Play[Total]:
        kept = value
        for other in seat.others:
            piece = seat.draw(f"piece for {other}")
            kept = kept - piece
            yield Send(other, "piece", {"vector": piece})
            yield Send(seat.others[0], f"again for {other}", {"vector": piece})
        pieces = yield Gather(seat.others, "piece", len(seat.others))
        mine = seat.group.reduced(sum((piece["vector"] for piece in pieces.values()), start=kept))
        yield Tell(seat.others, "part", {"vector": mine})
        parts = yield Gather(seat.others, "part", len(seat.others))
        total = sum((part["vector"] for part in parts.values()), start=mine)
        return Total(seat.group.reduced(total), seat.parties)


@dataclass(frozen=True)
class Escrow(Toy):
    """Each tells its value behind a mask, and sends shares of the seed; perhaps two of them to the next party."""

    threshold: int
    twice: bool

    def play(self, seat: Seat, value: Vector) -> Play[Total]:
        seed = seat.tools.secret("seed")
        shares = seat.tools.split(seed, "shares", seat.others, self.threshold)
        yield Tell(seat.others, "told", {"vector": seat.group.reduced(value + seat.mask(seed, "mask"))})
        for other in seat.others:
            yield Send(other, "share", {"share": shares[other]})
        if self.twice:
            last = seat.others[-1]
            yield Send(seat.others[0], "another", {"share": shares[last]})
        yield Gather(seat.others, "share", len(seat.others))
        return Total(value - value, ())


@dataclass(frozen=True)
class Unshielded(Toy):
    """Masks whose keys are told when their owner drops out, without a mask of its own: a late vector is naked."""

    def play(self, seat: Seat, value: Vector) -> Play[Total]:
        keys = {other: seat.tools.secret(f"key for {other}") for other in seat.others}
        for other, key in keys.items():
            yield Send(other, "key", {"key": seat.tools.public(key)})
        theirs = yield Gather(seat.others, "key", len(seat.others))
        seeds = {other: seat.tools.agree(key, theirs[other]["key"]) for other, key in keys.items()}
        for other, seed in seeds.items():
            value = value + seat.mask(seed, "mask") if seat.name < other else value - seat.mask(seed, "mask")
        value = seat.group.reduced(value)
        yield Tell(seat.others, "vector", {"vector": value})
        vectors = yield Gather(seat.others, "vector", 1)
        gone = [other for other in seat.others if other not in vectors]
        yield Tell(seat.others, "seeds", {other: seeds[other] for other in gone})
        told = yield Gather(tuple(vectors), "seeds", len(vectors))
        total = sum((each["vector"] for each in vectors.values()), start=value)
        for name, known in [(seat.name, seeds), *told.items()]:
            for other in gone:
                mask = seat.mask(known[other], "mask")
                total = total - mask if name < other else total + mask
        stayed = tuple(party for party in seat.parties if party not in gone)
        return Total(seat.group.reduced(total), stayed)
