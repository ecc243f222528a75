"""Whole sessions on the bus, for tests: all parties, fixed secrets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from discreet.verbs.combine import bus, session
from discreet.verbs.combine.crypto import NumericCrypto
from discreet.verbs.combine.data import Data
from discreet.verbs.combine.effects import Effect
from discreet.verbs.combine.terms import Result, Terms

SESSION = bytes(32)


def crypto(place: int, run: int = 0) -> NumericCrypto:
    """Tools of a party, with a secret that only tests may use."""
    return NumericCrypto(bytes([place, run]) * 16, SESSION)


def played(
    terms: Terms, held: Mapping[str, Any], *, leaves: Callable[[str, Effect], bool] | None = None, run: int = 0
) -> bus.BusRun[Result]:
    """What happens when all parties play."""
    plays = {
        name: session.play(terms, name, crypto(place, run), Data.from_value(held[name]))
        for place, name in enumerate(terms.parties)
    }
    return bus.play(plays, leaves=leaves)


def result(function: str, held: Mapping[str, Any], protocol: str = "masks", **more: Any) -> Result:
    """The result, which is the same for everybody."""
    found = played(Terms(tuple(held), protocol, function, **more), held)
    assert not found.aborted
    first, *others = (found.results[name] for name in held)
    assert all(other == first for other in others)
    return first
