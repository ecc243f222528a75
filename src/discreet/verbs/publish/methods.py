"""Recoding and masking methods from what people write, and from options beside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from discreet.core.families import MASKING, RECODERS
from discreet.core.text import meant
from discreet.errors import BadInput

if TYPE_CHECKING:
    from discreet.core.card import Card
    from discreet.verbs.publish.masking import Masker
    from discreet.verbs.publish.recoding import Recoder

_FLAGS = {"levels": "level", "weights": "weight", "time_limit": "time-limit"}


def parse_method(
    text: str, card: Card, options: Mapping[str, Any] | None = None, *, dashes: str = ""
) -> Recoder | Masker:
    """The method that ``text`` names, with the ``options`` said beside it; ``dashes`` are what options begin with where
    an error will be read."""
    family = MASKING if MASKING.has(text) else RECODERS
    if not family.has(text):
        known = (*(one.name for one in RECODERS.entries()), *MASKING.names(), "synthesize", "learn")
        near = meant(text.lower().partition(" ")[0], known)
        raise BadInput(f"There is no method {text!r}{near}.", hint=f"Known are {', '.join(known)}.")
    entry, rest = family.find(text)
    takes = {one.name for one in entry.parameters}
    for name in options or ():
        if name not in takes:
            flag = f"{dashes}{_FLAGS.get(name, name)}"
            raise BadInput(f"{flag} means nothing to {dashes}method {entry.name}.", hint="Leave it out.")
    made: Recoder | Masker = entry.parse(rest, card, options=options)
    return made
