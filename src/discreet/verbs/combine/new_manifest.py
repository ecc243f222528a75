"""A session as somebody asks for it in words: from names, bounds and addresses to a manifest."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from discreet.errors import BadInput, NotFound
from discreet.verbs.combine import horizontal_or_vertical
from discreet.verbs.combine.functions.parse import FUNCTIONS
from discreet.verbs.combine.net.keys import checked_name, read_public
from discreet.verbs.combine.net.manifest import DEADLINE, START_WITHIN, Manifest, Party
from discreet.verbs.combine.protocols.parse import PROTOCOLS
from discreet.verbs.combine.terms import Terms
from discreet.verbs.combine.vertical.functions import FUNCTIONS as ACROSS

FIRST_PORT = 8650


def new_terms(
    parties: str,
    protocol: str,
    function: str,
    *,
    bounds: str | None = None,
    decimals: int = 0,
    threshold: int = 0,
    adder: str = "",
    epsilon: str | None = None,
    delta: str = "0",
    honest: int = 0,
    unit: str = "person",
) -> Terms:
    """Terms as words on a command line say them; whatever is wrong with them is an error."""
    names = [checked_name(name.strip()) for name in parties.split(",") if name.strip()]
    return horizontal_or_vertical.agreed(
        names,
        protocol,
        function,
        bounds=None if bounds is None else _bounds(bounds),
        decimals=decimals,
        threshold=threshold,
        adder=adder,
        epsilon=epsilon,
        delta=delta,
        honest=honest,
        unit=unit,
    )


def new_manifest(
    name: str,
    terms: Terms,
    keys: Path,
    at: Sequence[str] = (),
    *,
    deadline: int = DEADLINE,
    start_within: int = START_WITHIN,
) -> Manifest:
    """A session's manifest, with the public keys from NAME.pub files; parties that ``at`` does not place are here."""
    places = _places(at, terms.parties)
    if missing := [party for party in terms.parties if not (keys / f"{party}.pub").is_file()]:
        raise NotFound(
            f"In {keys.resolve()} there is no {', '.join(f'{party}.pub' for party in missing)}.",
            hint=f"Each makes its own with: discreet combine keys {missing[0]}. Put the .pub file here.",
        )
    parties = []
    for number, party in enumerate(terms.parties):
        called, key = read_public(keys / f"{party}.pub")
        if called != party:
            raise BadInput(f"{keys / f'{party}.pub'} is the key of {called}.", hint=f"Ask {party} for its own.")
        parties.append(Party(party, places.get(party, f"127.0.0.1:{FIRST_PORT + number}"), key))
    return Manifest(terms, tuple(parties), name, deadline=deadline, start_within=start_within)


def functions() -> list[tuple[str, str, str]]:
    """What can be computed: the name, how it is written, and what it gives."""
    known = [(kind.name, kind.example, kind.title) for kind in FUNCTIONS.values()]
    return [
        *known,
        *(
            (kind.name, kind.example, f"{kind.title} (protocol {horizontal_or_vertical.JOIN})")
            for kind in ACROSS.values()
        ),
    ]


def protocols() -> list[tuple[str, str, bool]]:
    """How it can be kept secret: the name, how it goes, and whether parties may leave on the way."""
    known = [(kind.name, kind.title, kind.drops) for kind in PROTOCOLS.values()]
    return [
        *known,
        (horizontal_or_vertical.JOIN, "different columns about the same people: who is shared, then products", False),
    ]


def _bounds(text: str) -> tuple[str, str]:
    low, colon, high = text.partition(":")
    if not colon:
        raise BadInput(f"{text!r} are no bounds.", hint="Write --bounds 0:100000")
    return low.strip(), high.strip()


def _places(at: Sequence[str], parties: Sequence[str]) -> dict[str, str]:
    found = {}
    for text in at:
        party, equals, address = text.partition("=")
        if not equals or party not in parties:
            raise BadInput(f"{text!r} does not say where a party is.", hint=f"Write --at {parties[0]}=host:port")
        found[party] = address
    return found
