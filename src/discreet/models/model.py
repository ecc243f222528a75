"""Privacy models: what each can do, the verdict it gives, several as one; from texts (``k=5``) and from claims."""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from enum import Enum
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from discreet.core.card import Card, Role
from discreet.core.catalogue import Checked
from discreet.core.families import MODELS
from discreet.core.statement import Claim, Evidence
from discreet.core.table import Table
from discreet.engines.read import parse_address, read
from discreet.errors import BadInput
from discreet.models.classes import Classes, Flags, taken
from discreet.models.exact_compare import Floats, plain
from discreet.models.row_sets import judged_classes


@dataclass(frozen=True)
class Verdict:
    """Whether a model holds, the figure that decides it, and the worst equivalence class."""

    claim: Claim
    holds: bool
    figure: float
    """The worst there is, such as the size of the smallest class; NaN if there are no rows."""
    worst: Mapping[str, Any] | None
    """What the members of the worst class share; ``None``: there is no class, or the model looks at all together."""
    exposed: int
    """How many rows are in classes that break it."""
    rows: int
    meaning: str = ""
    """What the figure is."""
    caveats: tuple[str, ...] = ()
    """What must be said wherever this verdict is, as full sentences."""
    counted: str = "rows"
    """What was counted: rows, or people where some have several rows."""

    def __str__(self) -> str:
        said = f"{self.claim}: {'holds' if self.holds else 'does not hold'}"
        if not math.isnan(self.figure):
            said += f"; {self.meaning}: {shown(self.figure)}"
        if not self.holds:
            said += f"; {self.exposed:,} of {self.rows:,} {self.counted} are exposed"
        return said

    def to_dict(self) -> dict[str, Any]:
        """This as plain data, for JSON: a figure that is no finite number is ``None``."""
        return {
            "claim": self.claim.to_dict(),
            "holds": self.holds,
            "figure": self.figure if math.isfinite(self.figure) else None,
            "meaning": self.meaning,
            "worst": None if self.worst is None else dict(self.worst),
            "exposed": self.exposed,
            self.counted: self.rows,
            "caveats": list(self.caveats),
        }


class Model(Checked, ABC):
    """A privacy model: small, frozen, comparable by value. It gives a verdict from figures and breaking classes."""

    name: ClassVar[str]
    """What the literature calls it."""
    meaning: ClassVar[str]
    """What its figure is, in a few words."""
    lowest: ClassVar[bool] = False
    """Whether a small figure is a bad one."""
    several_rows: ClassVar[bool] = False
    """Whether it is sound where classes are of people with several rows each (``row_sets.py``)."""
    on: str = ""
    population: Table | None = None

    @property
    @abstractmethod
    def claim_text(self) -> str:
        """What it says, in a few words that follow "the table is"."""

    @property
    def claim(self) -> Claim:
        """What it says, as data: its name and text, and its parameters as they are written."""
        declared = {one.name: getattr(self, one.name) for one in fields(self) if one.init}  # type: ignore[arg-type]
        return Claim(self.name, self.claim_text, {name: _written(value) for name, value in declared.items()})

    @property
    def sensitive(self) -> tuple[str, ...]:
        """The columns it looks at besides the quasi-identifiers."""
        return (self.on,) if self.on else ()

    @property
    def evidence(self) -> Evidence:
        """Why it may be believed when it holds: it was checked, or estimated."""
        return Evidence.CHECKED

    @property
    def reference(self) -> Table | None:
        """The population it compares classes with; ``None``: it needs none."""
        return self.population

    @property
    def monotone(self) -> bool:
        """Whether merging classes of a table for which it holds never breaks it: searches prune by this."""
        return True

    @abstractmethod
    def figures(self, classes: Classes) -> Floats:
        """For each class the figure that the model bounds."""

    @abstractmethod
    def breaking(self, classes: Classes) -> Flags:
        """The classes that must go for it to hold; none, exactly if it holds.

        A model that looks at all classes together names those whose suppression helps most.
        """

    def verdict(self, classes: Classes) -> Verdict:
        """Whether it holds, and where not."""
        broken = self.breaking(classes)
        figures = self.figures(classes)
        badness = self.badness(figures)
        worst = _worst(badness, broken, classes)
        figure = float(figures[badness.argmax()]) if len(figures) else math.nan
        return self._said(classes, broken, figure, _label(classes, worst))

    def badness(self, figures: Floats) -> Floats:
        """How bad figures are: the worst class is where this is largest."""
        return -figures if self.lowest else figures

    def explained(self, classes: Classes) -> str:
        """What the figure of these classes is, in a few words."""
        return self.meaning

    def caveats(self, classes: Classes) -> tuple[str, ...]:
        """What must be said of its verdict on these classes, as full sentences."""
        return ()

    def check(self, table: Table) -> Verdict:
        """Whether it holds for a table, by aggregates on its engine."""
        return check_all(table, [self])[0]

    def __and__(self, other: Model) -> All:
        return All((self, other))

    def __str__(self) -> str:
        return self.claim.text

    def _said(self, classes: Classes, broken: Flags, figure: float, worst: Mapping[str, Any] | None) -> Verdict:
        exposed = int(classes.sizes[broken].sum())
        holds, meaning, counted = not broken.any(), self.explained(classes), "people" if classes.several else "rows"
        return Verdict(self.claim, holds, figure, worst, exposed, classes.rows, meaning, self.caveats(classes), counted)


class Together(Model):
    """A model of all classes together: one figure for the table, and classes to suppress until it is small enough."""

    @abstractmethod
    def figure(self, classes: Classes) -> float:
        """The figure of all classes together; there are some."""

    def verdict(self, classes: Classes) -> Verdict:
        """Whether it holds, and which rows would have to go."""
        figure = self.figure(classes) if len(classes.sizes) else math.nan
        return self._said(classes, self.breaking(classes), figure, None)


@dataclass(frozen=True, init=False)
class All(Model):
    """Several models at once: it holds if all of them do. Written with ``&``."""

    models: tuple[Model, ...]

    name = "all of"
    meaning = "models broken by a class"

    def __init__(self, models: Iterable[Model]) -> None:
        parts = parts_of(models)
        if not all(isinstance(part, Model) for part in parts):
            raise BadInput("Only privacy models can be joined with &.")
        if not parts:
            raise BadInput("No privacy model given.", hint="Add one, for example KAnonymity(5).")
        object.__setattr__(self, "models", parts)

    @property
    def claim_text(self) -> str:
        return " and ".join(model.claim.text for model in self.models)

    @property
    def claim(self) -> Claim:
        claims = [model.claim for model in self.models]
        return Claim(self.name, self.claim_text, {"models": [(one.name, one.text, one.parameters) for one in claims]})

    @property
    def sensitive(self) -> tuple[str, ...]:
        return tuple(sorted({name for model in self.models for name in model.sensitive}))

    @property
    def evidence(self) -> Evidence:
        return evidence_of(self.models)

    @property
    def reference(self) -> Table | None:
        return population_of(self.models)

    @property
    def monotone(self) -> bool:
        return all(model.monotone for model in self.models)

    def figures(self, classes: Classes) -> Floats:
        """For each class the number of models it breaks."""
        found = np.zeros(len(classes.sizes))
        for model in self.models:
            found += model.breaking(classes)
        return found

    def breaking(self, classes: Classes) -> Flags:
        return self.figures(classes) > 0

    def caveats(self, classes: Classes) -> tuple[str, ...]:
        return tuple(caveat for model in self.models for caveat in model.verdict(classes).caveats)


def evidence_of(models: Iterable[Model]) -> Evidence:
    """Why models that hold may be believed: they were checked, unless one of them is an estimate."""
    found = {part.evidence for part in parts_of(models)}
    return Evidence.ESTIMATED if Evidence.ESTIMATED in found else Evidence.CHECKED


def parts_of(models: Iterable[Model]) -> tuple[Model, ...]:
    """Models one by one, each once: those that are several at once are taken apart."""
    parts = [part for model in models for part in (model.models if isinstance(model, All) else (model,))]
    return tuple(dict.fromkeys(parts))


def checked_alone(models: Iterable[Model]) -> list[str]:
    """What a statement must say of models that look at several sensitive columns."""
    names = list(dict.fromkeys(name for model in models for name in model.sensitive))
    if len(names) < 2:
        return []
    listed = f"{', '.join(names[:-1])} and {names[-1]}"
    return [
        f"Each of {listed} was checked separately: an intruder who knows one of them about a person may "
        "learn the others."
    ]


def settled(classes: Classes, models: Iterable[Model]) -> npt.NDArray[np.bool_]:
    """Which classes stay when those that break a model are suppressed until none does.

    What a class is compared with may change when others go (the whole table's distribution), so this is repeated;
    each round takes classes away, so it ends.
    """
    models = tuple(models)
    kept = np.ones(len(classes.sizes), dtype=np.bool_)
    left = classes
    while True:
        gone = np.zeros(len(left.sizes), dtype=np.bool_)
        for model in models:
            gone |= model.breaking(left)
        if not gone.any():
            return kept
        kept[np.flatnonzero(kept)[gone]] = False
        left = left.keeping(~gone)


def check_all(table: Table, models: Iterable[Model], *, levels: Mapping[str, int] | None = None) -> list[Verdict]:
    """The verdict of each model, with the classes formed once.

    ``levels``: how the table was recoded, so that a population can be recoded in the same way.
    """
    models = tuple(models)
    sensitive = sorted({name for model in models for name in model.sensitive})
    classes = judged_classes(table, sensitive, population_of(models), levels=levels, ordered=False)
    require_sound(classes, models)
    return [model.verdict(classes) for model in models]


def require_sound(classes: Classes, models: Iterable[Model]) -> None:
    """An error if people have several rows, and a model says nothing of them that is sound."""
    for model in parts_of(models) if classes.several else ():
        if not model.several_rows or model.reference is not None:
            raise BadInput(
                f"“{model.claim.text}” assumes one row per person, and here people have several.",
                hint='Publish one row of each person (people="one-row"), or choose k, l, alpha or a risk.',
            )


def population_of(models: Iterable[Model]) -> Table | None:
    """The population that models compare with, if one of them does; all of those must mean the same."""
    found = list(dict.fromkeys(model.reference for model in models if model.reference is not None))
    if len(found) > 1:
        names = " and ".join(table.card.name for table in found)
        raise BadInput(f"The models compare with different populations: {names}.", hint="Check them one by one.")
    return found[0] if found else None


def shown(figure: float) -> str:
    """A figure as people write it: counts as they are, others to four digits."""
    if not math.isfinite(figure):
        return "∞" if figure > 0 else "–"
    return f"{figure:,.0f}" if figure == int(figure) else f"{figure:.4g}"


def _written(value: Any) -> Any:
    """A parameter as a claim writes it: a population by its name."""
    match value:
        case Fraction():
            return plain(value)
        case Enum():
            return value.value
        case Table():
            return value.card.name
    return value


def _worst(badness: Floats, broken: Flags, classes: Classes) -> int | None:
    """The place of the worst class (large is bad): of those that break the model, if any do; ties by label."""
    if not len(badness):
        return None
    candidates = np.flatnonzero(broken) if broken.any() else np.arange(len(badness))
    values = badness[candidates]
    candidates = candidates[values == values.max()]
    if classes.labels is None or len(candidates) == 1:
        return int(candidates[0])
    for column in classes.labels.columns:
        if len(candidates) > 1:
            candidates = candidates[_least(taken(column, candidates))]
    return int(candidates[0])


def _least(cells: Any) -> Flags:
    """Where the least of some cells are; NULL comes after all others."""
    if not pa.types.is_dictionary(cells.type):
        same = pc.equal(cells, pc.min(cells)).to_numpy(zero_copy_only=False) == 1
        return np.asarray(same if same.any() else ~same, dtype=np.bool_)  # where none is, all are NULL
    places = cells.indices.to_numpy()
    used = np.flatnonzero(np.bincount(places)) if len(cells.dictionary) <= len(places) else np.unique(places)
    order = pc.array_sort_indices(cells.dictionary.take(pa.array(used)), null_placement="at_end")
    return np.asarray(places == used[order[0].as_py()], dtype=np.bool_)


def _label(classes: Classes, place: int | None) -> Mapping[str, Any] | None:
    if classes.labels is None or place is None:
        return None
    found: dict[str, Any] = classes.labels.slice(place, 1).to_pylist()[0]
    return found


def parse(text: str, card: Card) -> Model:
    """The model that ``text`` names, on the columns of ``card``.

    ``on COLUMN`` may be left out where the card declares a single sensitive column. ``in FILE`` opens a population: a
    table with the card's quasi-identifiers and, if it has that column, the card's unit.
    """
    return parse_all([text], card)[0]


def parse_all(texts: Iterable[str], card: Card) -> list[Model]:
    """The models that ``texts`` name. A population that several of them name is opened once, so that it is the same."""
    populations: dict[str, Table] = {}

    def population(place: str) -> Table:
        key = place if parse_address(place) else str(Path(place).resolve())
        if key not in populations:
            populations[key] = _population(place, card)
        return populations[key]

    return [MODELS.parse(text, card, {Table: population}) for text in texts]


def from_claim(claim: Claim, population: Table | None = None) -> Model:
    """The model that makes ``claim``, such as one in the statement of a release; an error if there is none.

    A claim only has the name of a population: give the table again.
    """
    parameters: dict[str, Any] = dict(claim.parameters)
    if claim.name == All.name and set(parameters) == {"models"}:
        parts = [Claim(name, text, dict(said)) for name, text, said in parameters["models"]]
        return All(from_claim(part, population) for part in parts)
    if parameters.get("population") is not None:
        if population is None:
            raise BadInput(f"“{claim}” needs the population {parameters['population']}: give its table.")
        parameters["population"] = population
    kind = MODELS.entry(claim.name).kind
    try:
        made: Model = kind(**parameters)
    except TypeError:
        raise BadInput(f"“{claim}” does not have the parameters of {claim.name}.") from None
    if made.claim != claim:
        raise BadInput(f"“{claim}” does not match the parameters of {claim.name}, which mean “{made.claim}”.")
    return made


def _population(place: str, card: Card) -> Table:
    name = re.split(r"[/\\#]", place)[-1].partition(".")[0] or "population"
    columns = card.having(Role.QUASI)
    found = read(place, replace(card.without_unit(columns), name=name))
    if card.unit is None or card.unit not in found.unseen:
        return found
    return read(place, replace(found.card, columns=(card[card.unit], *columns), unit=card.unit))
