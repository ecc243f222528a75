"""A session as somebody asks for it in words: from names, bounds and addresses to a manifest."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

from discreet.combine import either
from discreet.combine.functions.parse import FUNCTIONS
from discreet.combine.net.keys import checked_name, read_public
from discreet.combine.net.manifest import DEADLINE, START_WITHIN, Manifest, Party
from discreet.combine.terms import Terms
from discreet.core.exact import exact
from discreet.errors import BadInput, NotFound
from discreet.noise.parameters import signed

FIRST_PORT = 8650
_ACROSS = (
    ("overlap", "overlap key=id between=north,south", "how many people two holders share (protocol join)"),
    ("covariance", "covariance key=id of=north/age:0:120,south/visits:0:50", "across columns (protocol join)"),
    ("correlation", "correlation key=id of=north/age:0:120,south/visits:0:50", "across columns (protocol join)"),
    ("regression", "regression key=id y=south/visits:0:50 x=north/age:0:120", "across columns (protocol join)"),
)


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
    low, high = (None, None) if bounds is None else _bounds(bounds)
    terms = Terms(
        parties=tuple(checked_name(name.strip()) for name in parties.split(",") if name.strip()),
        protocol=protocol,
        function=function,
        low=low,
        high=high,
        decimals=decimals,
        threshold=threshold,
        adder=adder,
        epsilon=None if epsilon is None else exact(epsilon, "epsilon"),
        delta=exact(delta, "delta"),
        honest=honest,
        unit=unit,
    )
    either.statement(terms)
    return terms


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
    return [*((kind.name, kind.example, kind.title) for kind in FUNCTIONS.values()), *_ACROSS]


def _bounds(text: str) -> tuple[Fraction, Fraction]:
    low, colon, high = text.partition(":")
    if not colon:
        raise BadInput(f"{text!r} are no bounds.", hint="Write --bounds 0:100000")
    return signed(low.strip(), "the lower bound"), signed(high.strip(), "the upper bound")


def _places(at: Sequence[str], parties: Sequence[str]) -> dict[str, str]:
    found = {}
    for text in at:
        party, equals, address = text.partition("=")
        if not equals or party not in parties:
            raise BadInput(f"{text!r} does not say where a party is.", hint=f"Write --at {parties[0]}=host:port")
        found[party] = address
    return found
