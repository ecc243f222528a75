"""Synthesizers that promise nothing, as people write them: ``synthesize cart given sex, age copies=5``."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from discreet.core.card import Card
from discreet.core.spelled import require_options, spelled
from discreet.core.text import meant
from discreet.errors import BadInput
from discreet.verbs.publish.mask.ipso import Ipso
from discreet.verbs.publish.mask.resample import Resample
from discreet.verbs.synthesize.non_private.cart import Cart
from discreet.verbs.synthesize.non_private.copies import Copies
from discreet.verbs.synthesize.non_private.copula import Copula
from discreet.verbs.synthesize.non_private.redrawn import Redrawn
from discreet.verbs.synthesize.non_private.synthesizer import Synthesizer

_EACH = "on COLUMNS, given COLUMNS, copies=5"
_CLAUSES = {"on": "columns", "given": "given"}
_ONE = r"(?:\"[^\"]*\"|'[^']*'|[^\s,=]+)"
_NAME = re.compile(_ONE)
_CLAUSE = re.compile(rf"\s(on|given)(?:\s*=\s*|\s+)({_ONE}(?:\s*,\s*{_ONE})*)")


@dataclass(frozen=True)
class Form:
    """A synthesizer: an example, and what it is made of."""

    example: str
    kind: Any
    make: Callable[[Any], Synthesizer] = lambda made: made
    also: str = _EACH
    """What else can be said."""


FORMS: Mapping[str, Form] = {
    "cart": Form("synthesize cart (leaf=5 proper smooth=true rows=1000)", Cart),
    "copula": Form("synthesize copula (margins=empirical or parametric rows=1000)", Copula),
    "ipso": Form("synthesize ipso (version=C)", Ipso, Redrawn),
    "resample": Form("synthesize resample (samples=3)", Resample, Redrawn, "on COLUMNS, copies=5"),
}


def is_plain(text: str) -> bool:
    """Whether ``text`` is ``synthesize`` and the name of a method that promises nothing."""
    words = text.lower().split()
    return len(words) > 1 and words[0] == "synthesize" and words[1] in FORMS


def plain(text: str, card: Card) -> Synthesizer:
    """The synthesizer that ``text`` names. ``on COLUMNS`` says what is made, ``given COLUMNS`` what is kept and looked
    at, ``copies=5`` how many tables there are to be."""
    found = dict(_clause(match, card) for match in _CLAUSE.finditer(text))
    head, said = spelled(_CLAUSE.sub(" ", text).strip().partition(" ")[2])
    form = FORMS.get(head)
    if form is None:
        listed = "\n  ".join(known.example for known in FORMS.values())
        raise BadInput(
            f"{text!r} is no way to synthesize{meant(head, FORMS)}.",
            hint=f"\nKnown are:\n  {listed}\neach with: {_EACH}",
        )
    copies = said.pop("copies", 1)
    said |= found
    require_options(f"synthesize {head}", form.kind, said, f"{form.example}, with: {form.also}")
    made = form.make(form.kind(**said))
    return made if copies == 1 else Copies(made, copies)


def _clause(match: re.Match[str], card: Card) -> tuple[str, tuple[str, ...]]:
    names = tuple(card[one.strip("\"'")].name for one in _NAME.findall(match[2]))
    return _CLAUSES[match[1]], names
