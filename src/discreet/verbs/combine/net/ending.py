"""How a session ends without a result, and whom a party may name for it.

A party names others for what it saw itself: they broke the rules towards it, or were not there when it asked. Of what
somebody else says it believes only what is proved, by two messages that one party signed and that contradict each
other (``evidence.py``). So no liar can make honest parties accuse an honest one: where there is no proof, they say who
ended the session and why that one says it did, and name nobody.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from discreet.errors import Aborted, BadInput
from discreet.verbs.combine.net.frames import SIGNATURE, Signed

_LONGEST = 500
_MOST_PROOF = 5000
_SIZE = 2


class Ended(Aborted):
    """Another party ended the session. Whom it accuses, the ``suspects``, is its word alone, unless that is itself."""

    def __init__(self, by: str, suspects: tuple[str, ...], why: str) -> None:
        said = f" It says: {printable(why)}" if why else ""
        super().__init__(f"{by} ended the session.{said}", culprits=suspects if suspects == (by,) else ())
        self.suspects = suspects


class Disputed(Aborted):
    """A witness says that it heard something else of a party than was heard here: one of the two lies."""

    def __init__(self, suspect: str, witness: str, here: str) -> None:
        super().__init__(f"What {witness} says it heard of {suspect} is not what {here} heard.")
        self.suspects, self.witness = (suspect,), witness


def printable(text: str) -> str:
    """What another party wrote, cut and without anything that a terminal would obey."""
    cut = "".join(letter if letter.isprintable() else " " for letter in text[:_LONGEST])
    return cut + "…" if len(text) > _LONGEST else cut


def shown(told: Iterable[Signed]) -> bytes:
    """Signed headers as they are shown to others, who may have been told something else."""
    some = list(told)[:_MOST_PROOF]
    return b"".join(len(one.raw).to_bytes(_SIZE, "big") + one.raw + one.signature for one in some)


def read_shown(proof: bytes) -> Iterator[Signed]:
    """The signed headers that somebody shows; BadInput if they cannot be read."""
    at = 0
    while at < len(proof):
        start = at + _SIZE
        end = start + int.from_bytes(proof[at:start], "big")
        at = end + SIGNATURE
        if at > len(proof):
            raise BadInput("What it shows as proof cannot be read.")
        yield Signed(proof[start:end], proof[end:at])
