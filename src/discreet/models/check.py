"""Does a table keep what models ask? And without a question: which models does it keep, and how far?"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from discreet.core.card import Card, Role
from discreet.core.markup import tag
from discreet.core.report import Picture, heading, listing, section, styled
from discreet.core.table import Table
from discreet.core.text import number
from discreet.models.classes import Classes, by_size, classes_of
from discreet.models.closeness import TCloseness
from discreet.models.diversity import EntropyLDiversity, LDiversity
from discreet.models.k_anonymity import KAnonymity
from discreet.models.model import Model, Verdict, population_of, require_sound, shown
from discreet.models.risk import MarketerRisk, ProsecutorRisk
from discreet.models.row_sets import has_several_rows, row_sets

_DECIMALS = 10_000
_NOBODY = "none (k = 1)"
"""What is said of 1-anonymity, which every table has: someone is alone."""


@dataclass(frozen=True)
class Verdicts(Sequence[Verdict]):
    """Verdicts of several models on one table, and the sizes of its classes."""

    table: str
    verdicts: tuple[Verdict, ...]
    quasi: tuple[str, ...]
    rows: int
    sizes: Mapping[int, int]
    """How many classes there are of each size."""
    assumes: tuple[str, ...] = ()
    """What the card says that the verdicts lean on, as full sentences."""
    known: Mapping[str, int | None] = field(default_factory=dict)
    """Where people have several rows: the smallest number of people who match any 1, 2 or all rows of anyone."""

    @property
    def holds(self) -> bool:
        """Whether all models hold."""
        return all(verdict.holds for verdict in self.verdicts)

    @property
    def counted(self) -> str:
        """What is counted: rows, or people where some have several rows."""
        return "people" if self.known else "rows"

    @property
    def classes(self) -> int:
        """How many classes there are."""
        return sum(self.sizes.values())

    @property
    def unique(self) -> int:
        """Number of unique rows."""
        return self.sizes.get(1, 0)

    @property
    def caveats(self) -> tuple[str, ...]:
        """What must be said of the verdicts, as full sentences."""
        return tuple(dict.fromkeys(caveat for verdict in self.verdicts for caveat in verdict.caveats))

    def picture(self) -> Picture:
        """How many rows are in classes of what size."""
        caption = self.summary.removeprefix(f"{self.table}: ")
        return by_size(f"{self.table}: {self.counted} by size of their equivalence class", self.sizes, caption)

    def to_dict(self) -> dict[str, Any]:
        """This as plain data, for JSON."""
        return {
            "table": self.table,
            "holds": self.holds,
            self.counted: self.rows,
            "quasi": list(self.quasi),
            "classes": self.classes,
            "unique": self.unique,
            "models": [verdict.to_dict() for verdict in self.verdicts],
            "assumes": list(self.assumes),
            **({"known_rows": dict(self.known)} if self.known else {}),
        }

    def __getitem__(self, place: Any) -> Any:
        return self.verdicts[place]

    def __len__(self) -> int:
        return len(self.verdicts)

    def __iter__(self) -> Iterator[Verdict]:
        return iter(self.verdicts)

    @property
    def summary(self) -> str:
        """The classes in one sentence."""
        members = f"{self.rows:,} people with several rows" if self.known else number(self.rows, "row")
        return (
            f"{self.table}: {members} in {number(self.classes, 'class', 'classes')} on "
            f"{', '.join(self.quasi)}; {self.unique:,} unique."
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """What is assumed and to be noted, in a line each."""
        several = (f"{known_rows(self.known)} {SET_OF_ROWS}",) if self.known else ()
        return (*several, *(f"Assumed: {one}" for one in self.assumes), *(f"Note: {one}" for one in self.caveats))

    def __str__(self) -> str:
        return "\n  ".join([self.summary, *map(str, self.verdicts), *self.notes])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        models = listing(
            ("model", "holds", "figure", "what it is", "worst class", f"{self.counted} exposed"),
            ("text", "text", "number", "prose", "prose", "number"),
            map(cells, self.verdicts),
        )
        word, colour = ("holds", "good") if self.holds else ("does not hold", "bad")
        notes = (tag("p", note) for note in self.notes)
        sections = [
            heading(self.table, word if self.verdicts else "", colour),
            section("Models", tag("p", self.summary), models, notes),
        ]
        if self.rows:
            drawn = self.picture()
            sections.append(section(drawn.title, drawn.figure))
        return styled(sections)


def check(table: Table, *models: Model, levels: Mapping[str, int] | None = None) -> Verdicts:
    """Whether ``models`` hold for a table, by aggregates on its engine; without models, which of the usual ones do.

    The usual ones are named with the figures that they just hold with: k-anonymity, distinct and entropy diversity and
    closeness of each sensitive column, highest and average risk. ``levels`` says how a table was recoded, for models
    that compare it with a population: that is then recoded in the same way.

    Where people have several rows, people are counted, and classes are those who share all their rows. Then it also
    says how many people match at least, if an intruder knows 1, 2 or all rows of someone.
    """
    declared = [column.name for column in table.card.having(Role.SENSITIVE)]
    sensitive = sorted({name for model in models for name in model.sensitive}) if models else declared
    sets = row_sets(table, sensitive) if has_several_rows(table) else None
    if sets is not None:
        classes = sets.classes
        require_sound(classes, models)
    else:
        classes = classes_of(table, sensitive=sensitive, population=population_of(models), levels=levels, ordered=False)
    asked = models or usual(classes, declared)
    sizes, counts = np.unique(classes.sizes, return_counts=True)
    return Verdicts(
        table.card.name,
        tuple(model.verdict(classes) for model in asked),
        table.quasi(),
        classes.rows,
        dict(zip(sizes.tolist(), counts.tolist(), strict=True)),
        (*((table.card.whose,) if table.card.rows_are_people else ()), *_unknown(table.card)),
        {} if sets is None else sets.fewest_people(),
    )


def _unknown(card: Card) -> tuple[str, ...]:
    """What is assumed of columns whose role no one has decided."""
    names = ", ".join(column.name for column in card.having(Role.UNDECIDED))
    return (f"Not counted: {names}, whose role is undecided. Decide it before a release.",) if names else ()


def usual(classes: Classes, sensitive: Sequence[str]) -> tuple[Model, ...]:
    """The usual models, with the figures that they just hold with; none of a table without rows."""
    if not classes.rows:
        return ()
    least = int(classes.sizes.min())
    found: list[Model] = [KAnonymity(least)]
    for name in sensitive:
        found.append(LDiversity(int(LDiversity(1, name).figures(classes).min()), name))
        if classes.several:
            continue
        worth = EntropyLDiversity(1, name).figures(classes).min()
        found.append(_just(partial(EntropyLDiversity, on=name), math.ceil(worth * _DECIMALS), -1, classes))
        distance = TCloseness(1, name).figures(classes).max()
        found.append(_just(partial(TCloseness, on=name), math.floor(distance * _DECIMALS), 1, classes))
    risk = max(math.floor(MarketerRisk(1).figure(classes) * _DECIMALS), 1)
    return (*found, ProsecutorRisk(Fraction(1, least)), _just(MarketerRisk, risk, 1, classes))


SET_OF_ROWS = "Two people are in one class if they have the same rows, equally often."


def known_rows(fewest: Mapping[str, int | None]) -> str:
    """What an intruder can do who knows some rows of a person, as a sentence."""
    said = [f"{_KNOWN[rows]}, at least {people:,}" for rows, people in fewest.items() if people is not None]
    return f"People who match what an intruder knows about a person: by {'; '.join(said)}."


_KNOWN = {"1": "one row", "2": "two rows", "all": "all of a person's rows"}


def cells(verdict: Verdict) -> tuple[str, str, str, str, str, str]:
    """A verdict as the cells of a table."""
    worst = "" if verdict.worst is None else ", ".join(f"{name} = {value}" for name, value in verdict.worst.items())
    figure = "" if math.isnan(verdict.figure) else shown(verdict.figure)
    exposed = f"{verdict.exposed:,}" if verdict.exposed else ""
    holds = "NO" if not verdict.holds else _NOBODY if verdict.claim == KAnonymity(1).claim else "yes"
    return verdict.claim.text, holds, figure, verdict.meaning, worst, exposed


def _just(make: Callable[[Fraction], Model], near: int, step: int, classes: Classes) -> Model:
    """The first model that holds, from a parameter in ten-thousandths on; ``step`` leads to laxer ones."""
    while (model := make(Fraction(near, _DECIMALS))).breaking(classes).any():
        near += step
    return model
