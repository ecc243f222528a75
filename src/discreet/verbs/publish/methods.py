"""Ways to publish as people write them: the name of a recoder and what is said beside it, or a masking method.

Nothing heavy is loaded before a method is made: the command line names them all in its help.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.core.text import meant
from discreet.errors import BadInput

if TYPE_CHECKING:
    from discreet.core.card import Card
    from discreet.utility.quality import Quality
    from discreet.verbs.publish.masking import Masker
    from discreet.verbs.publish.recoding import Recoder

METHODS: Mapping[str, tuple[str, ...]] = {
    "generalize": ("level", "quality", "suppress", "time-limit"),
    "local": ("quality", "suppress", "time-limit"),
    "mondrian": (),
    "suppress-cells": ("suppress", "time-limit", "weight"),
    "dummies": ("level",),
}
"""Each recoder, and what may be said beside it."""
QUALITIES = ("granularity", "geometric", "precision", "entropy", "discernibility", "class-size", "classification on …")
"""What may be asked to suffer least."""


@dataclass(frozen=True)
class Wish:
    """What is said beside the name of a recoder."""

    share: Fraction = Fraction(0)
    """Of the rows, how many may be left out."""
    quality: str = QUALITIES[0]
    levels: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """The finest and the coarsest level a column may have."""
    weights: Mapping[str, str] = field(default_factory=dict)
    time_limit: float | None = None

    def said(self) -> list[str]:
        """The names of what is not as it is when nothing is said."""
        given = {
            "level": bool(self.levels),
            "quality": self.quality != QUALITIES[0],
            "suppress": self.share > 0,
            "time-limit": self.time_limit is not None,
            "weight": bool(self.weights),
        }
        return [name for name, is_given in given.items() if is_given]


def parse_method(text: str, card: Card, wish: Wish, *, dashes: str = "") -> Recoder | Masker:
    """The method that ``text`` names, for the tables of a card; ``dashes`` are what options begin with where the
    error will be read."""
    from discreet.core.card import Role
    from discreet.verbs.publish.cells import SuppressCells
    from discreet.verbs.publish.dummies import AddDummies
    from discreet.verbs.publish.generalize import Generalize
    from discreet.verbs.publish.local import LocalRecode
    from discreet.verbs.publish.mask.parse import FORMS, is_mask, parse
    from discreet.verbs.publish.mondrian import Mondrian
    from discreet.verbs.publish.recoding import require_quasi

    masks = is_mask(text)
    if text not in METHODS and not masks:
        known = (*METHODS, *FORMS, "synthesize", "learn")
        near = meant(text.lower().partition(" ")[0], known)
        raise BadInput(f"There is no method {text!r}{near}.", hint=f"Known are {', '.join(known)}.")
    for option in wish.said():
        if masks or option not in METHODS[text]:
            raise BadInput(f"{dashes}{option} means nothing to {dashes}method {text}.", hint="Leave it out.")
    if masks:
        return parse(text, card)
    require_quasi((*wish.levels, *wish.weights), [column.name for column in card.having(Role.QUASI)])
    measure = _quality(wish.quality, card)
    if text == "generalize":
        return Generalize(wish.share, measure, wish.levels, wish.time_limit)
    if text == "local":
        return LocalRecode(wish.share, measure, time_limit=wish.time_limit)  # type: ignore[arg-type]  # it says so
    if text == "mondrian":
        return Mondrian()
    if text == "suppress-cells":
        return SuppressCells(wish.weights, wish.share, time_limit=wish.time_limit)
    return AddDummies({column: _one_level(column, *ends, dashes) for column, ends in wish.levels.items()})


def _one_level(column: str, low: int, high: int, dashes: str) -> int:
    if low != high:
        raise BadInput(f"Dummies are added at one level of {column}.", hint=f"Write {dashes}level {column}={low}.")
    return low


def _quality(text: str, card: Card) -> Quality:
    from discreet.utility.quality import Classification, ClassSize, Discernibility, Entropy, Granularity, Precision

    if text.startswith("classification on "):
        return Classification(card[text.removeprefix("classification on ").strip()].name)
    known: dict[str, Quality] = {
        "granularity": Granularity(),
        "geometric": Granularity("geometric"),
        "precision": Precision(),
        "entropy": Entropy(),
        "discernibility": Discernibility(),
        "class-size": ClassSize(),
    }
    if text not in known:
        raise BadInput(f"There is no quality {text!r}{meant(text, known)}.", hint=f"Known are {', '.join(QUALITIES)}.")
    return known[text]
