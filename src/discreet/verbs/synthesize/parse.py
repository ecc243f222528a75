"""Ways to synthesize as people write them: ``synthesize epsilon=1 delta=1e-9 by=aim``, ``synthesize cart``."""

from __future__ import annotations

import re
from typing import Any

from discreet.core.card import Card
from discreet.core.spelled import require_options, spelled
from discreet.core.text import meant
from discreet.errors import BadInput
from discreet.verbs.synthesize.non_private.parse import FORMS, is_plain, plain
from discreet.verbs.synthesize.non_private.synthesizer import Synthesizer
from discreet.verbs.synthesize.private import Synthesize

EXAMPLE = "synthesize epsilon=1 delta=1e-9 (by=aim rows=1000 bins=32 quantiles=income on COLUMNS)"
_LISTS = ("columns", "quantiles", "person")


def parse(text: str, card: Card) -> Synthesize | Synthesizer:
    """The method that ``text`` names: with a privacy loss, or one that promises nothing.

    ``on COLUMNS``, with commas between them, says which leave; ``bins=age:10,income:32`` has a number for each.
    """
    if is_plain(text):
        return plain(text, card)
    head, *tail = re.split(r"\s+on\s+", " ".join(text.split()), maxsplit=1)
    _, said = spelled(re.sub(r",\s+(?=[\w-]+\s*=)", " ", head))
    if "given" in said:
        raise BadInput(
            "given is for ways that promise nothing, which keep columns as they are; with a loss all columns are made.",
            hint=f"Leave it out, or write: synthesize cart given COLUMNS. With a loss: {EXAMPLE}",
        )
    if isinstance(said.get("rows"), float) and said["rows"].is_integer():
        said["rows"] = int(said["rows"])
    stray = next((name for name, value in said.items() if value is True), None)
    if stray is not None:
        raise BadInput(
            f"There is no way to synthesize called {stray!r}{meant(stray, FORMS)}.",
            hint=f"Write: {EXAMPLE}; or, without a promise, synthesize {', synthesize '.join(FORMS)}.",
        )
    if tail:
        said["columns"] = tail[0]
    for name in _LISTS:
        if name in said:
            said[name] = tuple(card[one.strip().strip("\"'")].name for one in str(said[name]).split(","))
    if isinstance(said.get("bins"), str):
        said["bins"] = bins_of(said["bins"], card)
    require_options("synthesize", Synthesize, said, EXAMPLE)
    return Synthesize(**said)


def bins_of(text: str, card: Card) -> int | dict[str, int]:
    """How many bins: ``32`` for every column with bounds, or ``age:10,income:32``."""
    if text.strip().isdecimal():
        return int(text)
    found: dict[str, Any] = {}
    for one in text.split(","):
        name, _, many = one.rpartition(":")
        if not many.isdecimal():
            raise BadInput(f"{one!r} is no number of bins.", hint="Write bins=32, or bins=age:10,income:32.")
        found[card[name].name] = int(many)
    return found
