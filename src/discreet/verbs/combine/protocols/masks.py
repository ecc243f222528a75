"""*masks*: pairwise masks, one of two parties adds and the other subtracts, so that all masks cancel in the sum.

**When all must stay** (the default), two rounds are enough: each party tells a public key, makes a mask of the seed
that it agrees on with each other party, and tells its vector under all its masks. Why nothing but the total is
learnt: a mask of two honest parties looks uniform to all others, and every two honest parties have one. Given what
their vectors add up to, the masked vectors of the honest parties are therefore uniform, whatever the vectors. A
coalition learns this sum, which it can compute from the total and its own vectors, and nothing else. All but one
together learn the last one's value from the total itself, whatever the protocol. This needs nobody's good will:
whatever keys or vectors the coalition tells, to whomever, the masks of the honest are not touched.

**With dropouts**, masks with those who are gone have to be taken out (Bonawitz and others 2017, in the version
against active adversaries, here without a server). Each party draws two secrets, a key for masks with others and the
seed of a mask of its own, tells the public keys of both, and gives every other party a share of each; ``threshold``
shares give a secret. Then all tell their masked vectors, agree on who stays, and for each party who stays give away
the share of its seed, for each who is gone the share of its key. Why nothing but the total of those who stay is
learnt:

- *Never both.* With a party's key and seed together its masked vector is bare; with either alone it is uniform. A
  party gives away one of the two for each, once, and only after ``threshold`` parties, itself included, signed the
  same list of who stays. To get both of somebody, a coalition of c that also rules the network and tells two groups
  two lists needs ``threshold`` - c honest parties in each; with n parties there are n - c honest ones, so this takes
  2·threshold <= n + c. Hence the threshold must be more than half of the parties, or the network alone could do it,
  and coalitions of fewer than 2·threshold - n are withstood even if they lie.
- *Masks between all who stay.* A party gives nothing away unless it has masked its vector with everybody on the list.
  So every two honest parties who stay have their mask on, and the argument above holds among them.
- *Fewer than the threshold* have too few shares of anything, if they follow the protocol. That many or more have all
  secrets.

What a dropout reveals: nothing of its value. Its key becomes known, but not the seed of its own mask, so that
even a vector that arrives too late stays hidden. But the total is then of fewer parties: if so many leave that all
who stay but one are in league, the total itself gives that one away. Below the threshold the session ends, and at
most one of the two secrets of anybody is known.

**With an adder** vectors go to one party, which adds up and tells the total: that costs n vectors each way instead of
n·n. It learns nothing more, since everybody may see masked vectors. Everybody compares a digest of the total with all
others before accepting it, so an adder cannot tell different totals; the same wrong one it can.

**dining**: the dining cryptographers (Chaum 1988) are masks modulo two. Every two parties share a random bit for each
place of the message; each party broadcasts the parity of its bits, and whoever has something to say adds its message.
The parity of all broadcasts is the message, and nobody knows whose it is; if several speak at once it is the parity of
their messages. Why the speaker stays hidden: the parity is the sum modulo two, so the argument above applies. Given the
message, every other choice of honest speakers that gives it is equally likely. All but one together know whether the
last one spoke, from the message itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from typing import ClassVar

from discreet.core.catalogue import declare
from discreet.core.families import SUM_PROTOCOLS
from discreet.errors import BadInput
from discreet.verbs.combine.effects import Broadcast, Gather, Play, Send
from discreet.verbs.combine.group import Vector
from discreet.verbs.combine.protocols.dropout import play_with_dropout
from discreet.verbs.combine.protocols.pairwise_masks import agree_on_total, mask_vector
from discreet.verbs.combine.protocols.protocol import Party, SumProtocol, Total


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
        yield Broadcast(me.others, me.kind("key"), {"key": me.crypto.public(key)})
        told = yield Gather(me.others, me.kind("key"), len(me.others), told=True)
        mine = mask_vector(me, value, key, {other: body.get("key") for other, body in told.items()})
        total = None
        if not me.adder:
            yield Broadcast(me.others, me.kind("masked"), {"vector": mine})
        elif me.name != me.adder:
            yield Send(me.adder, me.kind("masked"), {"vector": mine})
        if me.adder in ("", me.name):
            vectors = yield Gather(me.others, me.kind("masked"), len(me.others), told=not me.adder)
            total = me.sum(mine, (me.vector_from(other, body) for other, body in vectors.items()))
        return Total((yield from agree_on_total(me, total, me.parties)), me.parties)

    def withstands(self, parties: tuple[str, ...], threshold: int) -> Iterable[tuple[str, ...]]:
        """Fewer than the threshold, and all but two: with all but one the total itself gives the last value away."""
        least = threshold or len(parties)
        _require_majority(parties, least)
        return combinations(parties, max(min(least - 1, len(parties) - 2), 1))

    def adversary(self) -> str:
        """Malicious parties learn nothing while they are few; what they can do to the total."""
        return (
            "Values stay secret from parties that follow the protocol and put together all they saw (semi-honest), "
            "and also from those that do not follow it (malicious), as long as these are fewer than twice the "
            "threshold less the number of parties, which is any number when all must stay; but such a party can "
            "falsify the total, choose its value after it has seen what the others told, or end the session, and "
            "an adder can tell everybody the same wrong total."
        )


@declare(SUM_PROTOCOLS, "dining", rank=4)
class Dining(Masks):
    """Masks of single bits: an anonymous message, or a parity."""

    title: ClassVar[str] = "an anonymous message: masks modulo two"

    def play(self, me: Party, value: Vector) -> Play[Total]:
        """Masks over bits."""
        if me.group.bits != 1:
            raise BadInput(f"The dining cryptographers add single bits, not {me.group}.", hint="Use masks for numbers.")
        return (yield from super().play(me, value))


def _require_majority(parties: tuple[str, ...], least: int) -> None:
    if 2 * least <= len(parties):
        raise BadInput(
            f"With masks more than half of the {len(parties)} parties must stay, got a threshold of {least}.",
            hint="Otherwise each half could be told that the other is gone, and together they would give all away.",
        )
