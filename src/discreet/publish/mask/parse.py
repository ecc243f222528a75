"""Masking methods as people write them on a command line: ``noise alpha=0.1 on age, income``."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Any

from discreet.core.card import Card
from discreet.core.words import meant
from discreet.errors import BadInput
from discreet.publish.mask.coding import Code
from discreet.publish.mask.ipso import Ipso
from discreet.publish.mask.microaggregate import Microaggregate
from discreet.publish.mask.multiply import Multiply
from discreet.publish.mask.noise import Noise
from discreet.publish.mask.pram import Pram
from discreet.publish.mask.resample import Resample
from discreet.publish.mask.rounding import Round
from discreet.publish.mask.shuffle import Shuffle
from discreet.publish.mask.swap import DataSwap, RankSwap
from discreet.publish.mask.uniques import SuppressUniques
from discreet.publish.masking import Masker

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
    head, *tail = re.split(r"\s+(on|given|within)\s+", re.sub(r"\s*=\s*", "=", " ".join(text.split())))
    name, *words = head.split() or [""]
    form = FORMS.get(name.lower())
    if form is None:
        listed = "\n  ".join(f"{known.example}" for known in FORMS.values())
        raise BadInput(
            f"{text!r} is no masking method{meant(name.lower(), FORMS)}.",
            hint=f"\nKnown are:\n  {listed}\neach with: on COLUMNS",
        )
    said: dict[str, Any] = {}
    for word in words:
        key, equals, value = word.partition("=")
        said[key.replace("-", "_").lower()] = _value(value) if equals else True
    for clause, names in zip(tail[::2], tail[1::2], strict=True):
        said[_CLAUSES[clause]] = tuple(card[one.strip().strip("\"'")].name for one in names.split(","))
    _require_options(name, form, said)
    made: Masker = form.make(said) if form.make else form.kind(**said)
    return made


def _require_options(name: str, form: Form, said: Mapping[str, Any]) -> None:
    known = {option.name: option for option in fields(form.kind)} | ({"columns": None} if form.make else {})
    for option in said:
        if option not in known:
            raise BadInput(f"{option!r} means nothing to {name}.", hint=f"Write: {form.example}")
    for option, about in known.items():
        needed = about is not None and about.default is MISSING and about.default_factory is MISSING
        if needed and option not in said:
            raise BadInput(f"{name} needs {option}.", hint=f"Write: {form.example}")


def _value(text: str) -> int | float | str:
    try:
        return float(text[:-1]) / 100 if text.endswith("%") else int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return text
