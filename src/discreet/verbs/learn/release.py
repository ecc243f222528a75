"""A model as a release that is integrally private, and for the holder alone the evidence and a comparison.

What is promised, and what is not (Torra and Navarro-Arribas 2016; Senavirathne and Torra 2019). Whoever sees the model
cannot tell which set of people it was learnt from: at least k different ones give it, and nobody is in all of them, so
nobody's part in it is certain. It is no bound on how likely each set is, and none on what the model tells of everybody.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from discreet.core.card import Card
from discreet.core.exact import exact
from discreet.core.holder_copy import kept
from discreet.core.markup import Markup, markup, tag
from discreet.core.recipe import Recipe, versions
from discreet.core.release import Release
from discreet.core.report import listing, page, section, styled
from discreet.core.statement import Claim, Evidence, Statement
from discreet.core.table import Table
from discreet.core.withheld import said_of_withheld
from discreet.errors import BadInput, NoPromise
from discreet.models.model import Model as PrivacyModel
from discreet.verbs.learn.evidence import CLAIM, NOTE, Generators, verify_integral
from discreet.verbs.learn.frame import Frame
from discreet.verbs.learn.learn import Learn
from discreet.verbs.learn.learner import Model, Noisily, Trainer, exactly
from discreet.verbs.learn.models import read_model
from discreet.verbs.learn.search import Found, search
from discreet.verbs.publish.recoding import Progress

T = TypeVar("T")


@dataclass(frozen=True)
class Compared:
    """How well models do on people who were set aside. For the holder alone."""

    measure: str
    people: int
    """How many were set aside."""
    scores: tuple[tuple[str, float], ...]

    @property
    def heading(self) -> str:
        """On whom."""
        return f"On {self.people:,} people who were set aside"

    def __str__(self) -> str:
        said = "\n".join(f"  {name}: {score:.4f}" for name, score in self.scores)
        return f"{self.heading}, {self.measure}:\n{said}"


@dataclass(frozen=True, repr=False)
class Learnt(Release[T]):
    """A model in its holder's hands: who gives it, and how it compares, is never saved with it."""

    evidence: Generators | None = field(default=None, compare=False)
    compared: Compared | None = field(default=None, compare=False)

    @property
    def model(self) -> Any:
        """The model: it can predict, be printed and be drawn."""
        return read_model(self.payload)

    def laid_out(self) -> Markup:
        """The model in words."""
        return tag("pre", str(self.model))

    def page(self) -> str:
        """How the model compares, as HTML that opens offline. It must never leave."""
        return page(f"{self.title} (for its holder alone)", (self._beside(), super()._repr_html_()))

    def __str__(self) -> str:
        beside = [str(one) for one in (self.evidence, self.compared) if one is not None]
        told = ["For the holder alone:", *beside] if beside else []
        return "\n".join([super().__str__(), str(self.model), *told])

    def _repr_html_(self) -> str:
        return markup(self._beside(), super()._repr_html_())

    def _beside(self) -> Markup:
        if self.compared is None or self.evidence is None:
            return Markup()
        rows = [(name, f"{score:.4f}") for name, score in self.compared.scores]
        told = tag("p", self.evidence.told), tag("p", f"{self.compared.heading}:")
        scores = listing(["model", self.compared.measure], ["text", "number"], rows)
        return styled([section("For the holder alone", told, scores)])


def refuse_beside(models: Sequence[PrivacyModel], *, csv: bool) -> None:
    """An error for what means nothing to a model."""
    if models:
        raise BadInput(
            f"{models[0].claim.text} says whose rows may be whose, and a model has no rows.",
            hint="Leave the models out: integral says how many sets of people are to give it.",
        )
    if csv:
        raise BadInput("A model is no table, and is not written as CSV.", hint="Leave csv out.")


def release_learnt(
    table: Table,
    learn: Learn,
    *,
    seed: int | None = None,
    to: str | Path | None = None,
    keep: str | Path | None = None,
    progress: Progress,
) -> Learnt[Any]:
    """Find a model that recurs, check that it does, and let it go.

    ``keep`` is a new file, for its owner alone, for the sets of people that give the model: there if the release is.
    """
    progress(0.0, "reading")
    frame = learn.learner.frame(table)
    found = search(learn, frame, seed, lambda share, what: progress(0.8 * share, what))
    progress(0.8, "checking")
    evidence = _evidence(learn, frame, found)
    if not verify_integral(evidence, table).holds:
        found.journal.done()
        raise NoPromise(
            f"The sets of people that were found in {table.card.name} do not give the model again. Nothing was "
            "released.",
            hint="The table changed meanwhile, or a journal was of another search and is now taken away: try again.",
        )
    progress(0.9, "comparing")
    release = Learnt(
        evidence.model,
        _statement(table, learn),
        Recipe(
            learn.name,
            {"table": table.card.name, **learn.parameters()},
            (
                *learn.learner.steps(),
                f"{learn.tries:,} samples of the people at most, and a model of each; {_CHOSEN[learn.choose]} is "
                "released.",
            ),
            seed=found.journal.seed,
            versions=versions(table.engine),
            from_data=_from_data(table.card, frame),
        ),
        pictures=(found.model.picture(),),
        title=f"{table.card.name}, {learn.learner.name}",
        evidence=evidence,
        compared=_compared(learn, learn.learner.trainer(frame), found, table.card),
    )
    with kept(evidence.rows(), keep) as notes:
        notes[NOTE] = evidence.note()
        if to is not None:
            release.save(to)
    found.journal.done()
    progress(1.0, "done")
    return release


_CHOSEN = {
    "accurate": "the one that fits the people learnt from best, of all that recur often enough,",
    "recurrent": "the one that recurs most often",
    "first": "the first that recurs often enough",
}


def _evidence(learn: Learn, frame: Frame, found: Found) -> Generators:
    return Generators(
        learn.learner.name,
        dict(learn.learner.parameters()),
        found.model.to_dict(),
        frame.digest,
        frame.people,
        learn.integral,
        np.stack([np.packbits(found.pool.sample(draw)) for draw in found.draws]),
    )


def _statement(table: Table, learn: Learn) -> Statement:
    card = table.card
    k = learn.integral
    claim = Claim(
        CLAIM,
        f"integrally private with k = {k}: at least {k} different sets of people give this very model, and nobody is "
        "in all of them",
        {"generators": k},
    )
    assumes = (
        "An intruder knows of nobody that they are among those learnt from.",
        "The grid and the steps that the model is rounded to follow from what the card declares.",
        card.whose,
    )
    caveats = (
        "This is not differential privacy: it says that other sets of people give the same model, and not how likely "
        "each of them is.",
        f"Which model is released hangs on the rows of all people: it is {_CHOSEN[learn.choose].rstrip(',')}.",
        "What a model tells of everybody it tells of those it was learnt from: of somebody whose other values are "
        "known, the target may be guessed as well as it tells it.",
        *said_of_withheld(table),
    )
    return Statement(card.unit or "person", None, (claim,), None, Evidence.CHECKED, assumes, caveats)


def _from_data(card: Card, frame: Frame) -> tuple[str, ...]:
    """What of the grid was read off the data."""
    used = {one.name for one in frame.features}
    columns = [column for column in card.columns if column.name in used]
    return replace(card, columns=tuple(columns), unit=None, rows_per_unit=None, groups_per_unit=None).from_data


def _compared(learn: Learn, trainer: Trainer, found: Found, card: Card) -> Compared:
    """The model beside that of all people at once, and one with noise."""
    frame, inside = trainer.frame, found.pool.everybody
    rows, aside = frame.rows_of(inside), frame.rows_of(~inside)
    models: dict[str, Model] = {f"integral, k = {learn.integral}": found.model, "plain": trainer.train(rows, exactly)}
    per_person = 1 if card.unit is None else card.rows_per_unit
    if per_person is not None and np.bincount(frame.person).max() <= per_person:  # or the noise is not enough
        epsilon: Fraction = exact(learn.epsilon, "epsilon")
        noise = Noisily(epsilon, learn.learner.queries, per_person)
        models[f"differentially private, ε = {float(epsilon):g}"] = trainer.train(rows, noise)
    scores = tuple((name, trainer.score(model, aside)) for name, model in models.items())
    return Compared(learn.learner.measure, int((~inside).sum()), scores)
