"""Two signed headers that contradict each other: proof, to anybody and for ever, that their signer broke the rules.

An honest party numbers its messages, never uses a number twice, and tells each party each kind once; what it tells all
has places, of which it uses each once. After a crash it says exactly the same again. So two different headers of one
session with the same number, or in the same place, or of the same kind for the same receiver, are signed by nobody
honest. Two parties who were told different things always hold such a pair: in the first place where they differ.

Hellos are the exception: a hello says by which fresh key a party is sealed for, and one that lost its folder says
another when it begins again. That ends the session, and names the party; it convicts nobody.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from pathlib import Path

from discreet.core import document
from discreet.errors import BadInput
from discreet.verbs.combine.net.frames import HELLO, Header, Signed
from discreet.verbs.combine.net.manifest import Manifest


@dataclass(frozen=True)
class Evidence:
    """Two headers that one party signed and that cannot both be honest."""

    first: Signed
    second: Signed

    def dump(self) -> str:
        """This as JSON."""
        return document.dumps(
            {
                name: {"header": _text(signed.raw), "signature": _text(signed.signature)}
                for name, signed in (("first", self.first), ("second", self.second))
            }
        )


def load_evidence(path: Path | str) -> Evidence:
    """The evidence that a party kept."""
    data = document.fields(document.loads(Path(path).read_text()), "Evidence", first=dict, second=dict)
    return Evidence(_signed(data["first"]), _signed(data["second"]))


def check_evidence(manifest: Manifest, evidence: Evidence) -> str:
    """Who is convicted; BadInput if nobody is."""
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
    found = document.fields(data, "Evidence", header=str, signature=str)
    try:
        return Signed(base64.b64decode(found["header"]), base64.b64decode(found["signature"]))
    except ValueError:
        raise BadInput("The evidence cannot be read.") from None
