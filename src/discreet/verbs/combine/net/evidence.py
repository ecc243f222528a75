"""Evidence of cheating and its limits: contradictory signatures, and whom a party may blame for an abort.

Two signed headers that contradict each other prove to anyone, for ever, that their signer broke the rules.

An honest party numbers its messages, never uses a number twice, and tells each party each kind once; what it tells all
has places, of which it uses each once. After a crash it says exactly the same again. So two different headers of one
session with the same number, or in the same place, or of the same kind for the same receiver, are signed by no one
honest. Two parties who were told different things always hold such a pair: in the first place where they differ.

Hellos are the exception: a hello says by which fresh key a party is sealed for, and one that lost its folder says
another when it begins again. That ends the session, and names the party; it convicts no one.

A party names others for what it saw itself: they broke the rules towards it, or were not there when it asked. Of what
another says it believes only what such evidence proves. So no liar can make honest parties accuse an honest one: where
there is no proof, they say who ended the session and why that one says it did, and name no one.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from discreet.core import document
from discreet.errors import Aborted, BadInput
from discreet.verbs.combine.net.frames import HELLO, SIGNATURE_BYTES, Header, Signed
from discreet.verbs.combine.net.manifest import Manifest

_MAX_LETTERS = 500
_MAX_PROOF_HEADERS = 5000
_LENGTH_BYTES = 2


@dataclass(frozen=True)
class Evidence:
    """Two headers that one party signed and that cannot both be honest."""

    first: Signed
    second: Signed

    def dump(self) -> str:
        return document.dumps(
            {
                name: {"header": _text(signed.raw), "signature": _text(signed.signature)}
                for name, signed in (("first", self.first), ("second", self.second))
            }
        )


def load_evidence(path: Path | str) -> Evidence:
    """Load the evidence that a party kept."""
    data = document.fields(document.loads(Path(path).read_text()), "Evidence", first=dict, second=dict)
    return Evidence(_signed(data["first"]), _signed(data["second"]))


def check_evidence(manifest: Manifest, evidence: Evidence) -> str:
    """Check evidence and give the convicted party; BadInput if it convicts no one."""
    first, second = evidence.first, evidence.second
    for signed in (first, second):
        signed.check(manifest)
    if not contradict(manifest, first.header, second.header):
        raise BadInput("These two messages do not contradict each other.")
    return first.header.of


def contradict(manifest: Manifest, first: Header, second: Header) -> bool:
    """Whether no honest party signs both."""
    if first.of != second.of or first == second or first.kind == second.kind == HELLO:
        return False
    both = set(_receivers(manifest, first)) & set(_receivers(manifest, second))
    same_place = not first.to and not second.to and first.place == second.place
    return first.number == second.number or same_place or (first.kind == second.kind and bool(both))


def _receivers(manifest: Manifest, header: Header) -> tuple[str, ...]:
    return header.to or tuple(party.name for party in manifest.others(header.of))


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _signed(data: object) -> Signed:
    texts = document.fields(data, "Evidence", header=str, signature=str)
    try:
        return Signed(base64.b64decode(texts["header"]), base64.b64decode(texts["signature"]))
    except ValueError:
        raise BadInput("The evidence cannot be read.") from None


class SessionEnded(Aborted):
    """Another party ended the session. Its accusation of the ``suspects`` is unproved, unless it names itself."""

    def __init__(self, by: str, suspects: tuple[str, ...], why: str) -> None:
        reason = f" It says: {printable_excerpt(why)}" if why else ""
        super().__init__(f"{by} ended the session.{reason}", culprits=suspects if suspects == (by,) else ())
        self.suspects = suspects


class DisputedBroadcast(Aborted):
    """A witness heard another broadcast of a party than this party did: one of the two lies."""

    def __init__(self, suspect: str, witness: str, here: str) -> None:
        super().__init__(f"{witness} and {here} received different messages from {suspect}.")
        self.suspects, self.witness = (suspect,), witness


def printable_excerpt(text: str) -> str:
    """Excerpt of another party's text, without control characters for the terminal."""
    cut = "".join(letter if letter.isprintable() else " " for letter in text[:_MAX_LETTERS])
    return cut + "…" if len(text) > _MAX_LETTERS else cut


def pack_proof(headers: Iterable[Signed]) -> bytes:
    """Pack signed headers to show them to others, who may have been told something else."""
    some = list(headers)[:_MAX_PROOF_HEADERS]
    return b"".join(len(one.raw).to_bytes(_LENGTH_BYTES, "big") + one.raw + one.signature for one in some)


def unpack_proof(proof: bytes) -> Iterator[Signed]:
    """Unpack signed headers that a party shows; BadInput if they cannot be read."""
    at = 0
    while at < len(proof):
        start = at + _LENGTH_BYTES
        end = start + int.from_bytes(proof[at:start], "big")
        at = end + SIGNATURE_BYTES
        if at > len(proof):
            raise BadInput("Its proof cannot be read.")
        yield Signed(proof[start:end], proof[end:at])
