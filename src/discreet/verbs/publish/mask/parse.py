"""Masking methods as people write them on a command line: ``noise alpha=0.1 on age, income``."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from discreet.core.card import Card
from discreet.core.spelled import require_options, spelled
from discreet.core.text import meant
from discreet.errors import BadInput
from discreet.verbs.publish.mask.coding import Code
from discreet.verbs.publish.mask.ipso import Ipso
from discreet.verbs.publish.mask.microaggregate import Microaggregate
from discreet.verbs.publish.mask.multiply import Multiply
from discreet.verbs.publish.mask.noise import Noise
from discreet.verbs.publish.mask.pram import Pram
from discreet.verbs.publish.mask.resample import Resample
from discreet.verbs.publish.mask.rounding import Round
from discreet.verbs.publish.mask.shuffle import Shuffle
from discreet.verbs.publish.mask.swap import DataSwap, RankSwap
from discreet.verbs.publish.mask.uniques import SuppressUniques
from discreet.verbs.publish.masking import Masker

_CLAUSES = {"on": "columns", "given": "given", "within": "within"}


@dataclass(frozen=True)
class Form:
    """A method: an example, and what it is made of."""

    example: str
    kind: Any
    make: Callable[[Mapping[str, Any]], Masker] | None = None


def _code(said: Mapping[str, Any]) -> Masker:
    """``code top=90 on age``: the borders are those of every column named."""
    names = said.get("columns")
    if not names:
        raise BadInput("Which columns are to be coded?", hint="Write: code top=90 on age")
    borders = {side: dict.fromkeys(names, said[side]) for side in ("top", "bottom") if side in said}
    return Code(**borders, by_mean=said.get("by_mean", False))


FORMS: Mapping[str, Form] = {
    "noise": Form("noise alpha=0.1 (correlated)", Noise),
    "multiply": Form("multiply alpha=0.1 (law=log-normal or uniform)", Multiply),
    "microaggregate": Form("microaggregate k=5 (algorithm=mdav, v-mdav, cbfs or optimal)", Microaggregate),
    "rank-swap": Form("rank-swap p=5 (law=window, normal or buckets)", RankSwap),
    "data-swap": Form("data-swap share=10% (within COLUMNS)", DataSwap),
    "pram": Form("pram keep=0.8 (how=even, invariant or optimal)", Pram),
    "round": Form("round base=5 (at-random)", Round),
    "resample": Form("resample samples=3", Resample),
    "code": Form("code top=90 bottom=5 on COLUMNS (by-mean)", Code, _code),
    "ipso": Form("ipso version=C (given COLUMNS)", Ipso),
    "shuffle": Form("shuffle (given COLUMNS)", Shuffle),
    "suppress-uniques": Form("suppress-uniques size=3", SuppressUniques),
}


def is_mask(text: str) -> bool:
    """Whether ``text`` begins with the name of a masking method."""
    return text.strip().lower().partition(" ")[0] in FORMS


def parse(text: str, card: Card) -> Masker:
    """The method that ``text`` names. ``on COLUMNS``, with commas between them, says what is masked."""
    head, *tail = re.split(r"\s+(on|given|within)\s+", " ".join(text.split()))
    name, said = spelled(head)
    form = FORMS.get(name)
    if form is None:
        listed = "\n  ".join(f"{known.example}" for known in FORMS.values())
        raise BadInput(
            f"{text!r} is no masking method{meant(name, FORMS)}.",
            hint=f"\nKnown are:\n  {listed}\neach with: on COLUMNS",
        )
    for clause, names in zip(tail[::2], tail[1::2], strict=True):
        said[_CLAUSES[clause]] = tuple(card[one.strip().strip("\"'")].name for one in names.split(","))
    require_options(name, form.kind, said, form.example, *(("columns",) if form.make else ()))
    made: Masker = form.make(said) if form.make else form.kind(**said)
    return made
