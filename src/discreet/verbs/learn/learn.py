"""The verb learn: release a model, with a privacy loss (``private/``) or with integral privacy.

Integral privacy: many different sets of people would have given the same model. What is promised, and what is not
(Torra and Navarro-Arribas 2016; Senavirathne and Torra 2019). Anyone who sees the model cannot tell which set of people
it was learnt from: at least k different ones give it, and no one is in all of them, so no one's part in it is certain.
It is no bound on how likely each set is, and none on what the model tells of everyone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from discreet.core.card import Card
from discreet.core.exact import exact
from discreet.core.families import LEARNERS, PRIVATE_LEARNERS
from discreet.core.holder_copy import HolderCopy
from discreet.core.identifiers import require_rows_of_people, said_of_withheld
from discreet.core.markup import Markup, tag
from discreet.core.release import Release
from discreet.core.report import listing, section, styled
from discreet.core.statement import Claim, Evidence, Statement
from discreet.core.table import Table
from discreet.errors import BadInput, NoPromise
from discreet.releases.method import Bench, Made, Method, Progress, silent
from discreet.releases.pipeline import release, require_places
from discreet.releases.uncharged import Uncharged
from discreet.verbs.learn.evidence import CLAIM, NOTE, Generators, verify_integral
from discreet.verbs.learn.learner import Learn, Learner, Model, NoisySums, Trainer, exact_sums
from discreet.verbs.learn.private.learner import PrivateLearner
from discreet.verbs.learn.private.load import is_private_model
from discreet.verbs.learn.private.load import load_model as load_private
from discreet.verbs.learn.search import Found, search
from discreet.verbs.publish.recoding import prepare, require_table


def learn(
    table: Table,
    method: str | Learn | PrivateLearner,
    *,
    seed: int | None = None,
    to: str | Path | None = None,
    holder: str | Path | None = None,
    progress: Progress = silent,
    **parameters: Any,
) -> Release[Any]:
    """Learn a model of ``table`` that can be released: ``learn(table, "additive", target="income", epsilon=1)`` with a
    privacy loss, or ``learn(table, "tree target=income integral=20")`` with integral privacy.

    The payload is the model as plain data (``dc.load_model`` gives one that predicts). With a privacy loss no ledger
    is charged, which the statement says; a ``Curator`` does that (``release``). Of integral privacy the holder's copy
    (``holder``, a new file) has the sets of people that give the model, and how it compares with others.
    """
    require_table(table, "learn")
    chosen = parse_learner(method, table.card, parameters) if isinstance(method, str) else method
    if parameters and not isinstance(method, str):
        raise BadInput(f"{type(chosen).__name__} has its parameters already.", hint="Leave the others out.")
    if isinstance(chosen, PrivateLearner):
        return _learn_privately(table, chosen, seed=seed, to=to, holder=holder, progress=progress)
    if not isinstance(chosen, Learn):
        raise BadInput(
            f"{type(chosen).__name__} is not a learner.",
            hint='Such as dc.Additive(target="income", epsilon=1) or dc.Learn(dc.DecisionTree("income"), integral=20).',
        )
    require_places(to, holder=holder)
    table = prepare(table, set(), quasi=False)
    learnt = release(_Learning(chosen, seed), table, to=to, holder=holder, progress=progress)
    if chosen.journal is not None:
        Path(chosen.journal).unlink(missing_ok=True)
    return learnt


def parse_learner(text: str, card: Card | None, parameters: Mapping[str, Any] | None = None) -> Learn | PrivateLearner:
    """The learner that ``text`` names: with a privacy loss, or with integral privacy."""
    family = PRIVATE_LEARNERS if names_private(text) else LEARNERS
    found: Learn | PrivateLearner = family.parse(" ".join(("learn", *_words(text))), card, options=parameters)
    return found


def parse_private(text: str, card: Card | None = None) -> PrivateLearner:
    """The learner that ``text`` names; an error unless it has a privacy loss."""
    found = parse_learner(text, card) if names_private(text) else None
    if not isinstance(found, PrivateLearner):
        raise BadInput(
            f"{text!r} has no privacy loss, which a workspace requires.",
            hint=f"Use a learner with an epsilon: {', '.join(PRIVATE_LEARNERS.names())}.",
        )
    return found


def names_private(text: str) -> bool:
    """Whether a text names a learner with a privacy loss."""
    return "".join(_words(text)[:1]).lower() in PRIVATE_LEARNERS.names()


def _words(text: str) -> list[str]:
    """The words of a learner, without the verb."""
    words = text.split()
    return words[1:] if words[:1] and words[0].lower() == "learn" else words


def _learn_privately(
    table: Table,
    method: PrivateLearner,
    *,
    seed: int | None,
    to: str | Path | None,
    holder: str | Path | None,
    progress: Progress,
) -> Release[Any]:
    """A model with a privacy loss, which no ledger is charged."""
    require_rows_of_people(table)
    for said, why in (
        (seed, "Anyone who knows the seed can remove the noise."),
        (holder, "A model with a privacy loss has no holder's copy: everything is in the release."),
    ):
        if said is not None:
            raise BadInput(why, hint="Leave it out.")
    title = f"{table.card.name}, {method.name}"
    return release(Uncharged(method, title), table, to=to, progress=progress)


@dataclass(frozen=True)
class _Learning(Method[Any]):
    """Find a model that recurs, and check that it does."""

    learn: Learn
    seed: int | None = None

    @property
    def name(self) -> str:  # type: ignore[override]
        return self.learn.name

    @property
    def parameters(self) -> Mapping[str, Any]:
        return self.learn.parameters()

    def promise(self, card: Card) -> Statement:
        """The claim that many sets of people give the model."""
        k = self.learn.integral
        claim = Claim(
            CLAIM,
            f"integrally private with k = {k}: at least {k} different sets of people yield this very model, "
            "and no one is in all of them",
            {"generators": k},
        )
        assumes = (
            "An intruder does not know of any person that they are in the training data.",
            "The grid and the steps that the model is rounded to follow from what the card declares.",
            card.whose,
        )
        caveats = (
            "This is not differential privacy: it says that other sets of people give the same model, and not how "
            "likely each of them is.",
            "Which model is released depends on the rows of all people: it is "
            f"{_CHOSEN[self.learn.choose].rstrip(',')}.",
            "What a model reveals in general it also reveals about its training data: if a person's other values are "
            "known, the target may be predicted as accurately as the model allows.",
        )
        return Statement(card.unit or "person", None, (claim,), None, Evidence.CHECKED, assumes, caveats)

    def make(self, table: Table, bench: Bench) -> Made[Any]:
        """The model, and for the holder the sets of people and a comparison with other models."""
        learn = self.learn
        bench.progress(0.0, "reading")
        frame = learn.learner.frame(table)
        found = search(learn, frame, self.seed, lambda share, what: bench.progress(0.8 * share, what))
        bench.progress(0.8, "comparing")
        evidence = Generators(
            learn.learner.name,
            dict(learn.learner.parameters()),
            found.model.to_dict(),
            frame.digest,
            frame.people,
            learn.integral,
            np.stack([np.packbits(found.pool.sample(draw)) for draw in found.draws]),
        )
        comparison = _compare_models(learn, learn.learner.trainer(frame), found, table.card)
        used = {one.name for one in frame.features}
        columns = tuple(column for column in table.card.columns if column.name in used)
        grid = table.card.without_unit(columns)
        tried = f"at most {learn.tries:,} samples of the people, and a model of each"
        return Made(
            evidence.model,
            {"table": table.card.name},
            (*learn.learner.steps(), f"{tried}; {_CHOSEN[learn.choose]} is released."),
            caveats=said_of_withheld(table),
            pictures=(found.model.picture(),),
            layout=tag("pre", str(load_model(evidence.model))),
            seed=found.journal.seed,
            from_data=grid.from_data,
            holder=HolderCopy(
                "generators",
                evidence.rows(),
                {NOTE: evidence.note(), "found": str(evidence), "compared": str(comparison)},
                draw=lambda: _comparison_page(evidence, comparison),
                details=(evidence, comparison),
            ),
            title=f"{table.card.name}, {learn.learner.name}",
            context=(table, evidence, found),
        )

    def recheck(self, made: Made[Any], written: Any, promised: Statement) -> Made[Any]:
        """Learn from every set again: each must give the model, and no one may be in all of them."""
        table, evidence, found = made.context
        if not verify_integral(evidence, table).holds or written != evidence.model:
            found.journal.done()
            raise NoPromise(
                f"The sets of people that were found in {table.card.name} no longer yield the model. Nothing was "
                "released.",
                hint="The table changed meanwhile, or the journal was of another search: try again.",
            )
        return made


@dataclass(frozen=True)
class Compared:
    """Scores of models on people who were set aside. For the holder alone."""

    measure: str
    people: int
    """Number of people set aside."""
    scores: tuple[tuple[str, float], ...]

    @property
    def heading(self) -> str:
        """Heading of the comparison."""
        return f"On {self.people:,} people who were set aside"

    def __str__(self) -> str:
        said = "\n".join(f"  {name}: {score:.4f}" for name, score in self.scores)
        return f"{self.heading}, {self.measure}:\n{said}"


def _comparison_page(evidence: Generators, comparison: Compared) -> Markup:
    """The comparison as HTML. It must never leave."""
    rows = [(name, f"{score:.4f}") for name, score in comparison.scores]
    told = tag("p", str(evidence)), tag("p", f"{comparison.heading}:")
    return styled(
        [section("For the holder alone", told, listing(["model", comparison.measure], ["text", "number"], rows))]
    )


_CHOSEN = {
    "accurate": "the one that fits the people learnt from best, of all that recur often enough,",
    "recurrent": "the one that recurs most often",
    "first": "the first that recurs often enough",
}


def _compare_models(learn: Learn, trainer: Trainer, found: Found, card: Card) -> Compared:
    """The model compared with one learnt from all people, and one with noise."""
    frame, inside = trainer.frame, found.pool.everybody
    rows, aside = frame.rows_of(inside), frame.rows_of(~inside)
    models: dict[str, Model] = {
        f"integral, k = {learn.integral}": found.model,
        "plain": trainer.train(rows, exact_sums),
    }
    per_person = 1 if card.unit is None else card.rows_per_unit
    if per_person is not None and np.bincount(frame.person).max() <= per_person:  # or the noise is not enough
        epsilon: Fraction = exact(learn.epsilon, "epsilon")
        noise = NoisySums(epsilon, learn.learner.queries, per_person)
        models[f"differentially private, ε = {float(epsilon):g}"] = trainer.train(rows, noise)
    scores = tuple((name, trainer.score(model, aside)) for name, model in models.items())
    return Compared(learn.learner.measure, int((~inside).sum()), scores)


def load_model(source: Any) -> Any:
    """The model in a release, in its payload or in its folder: it can predict, be printed and be drawn."""
    payload = Release.load(source).payload if isinstance(source, str | Path) else getattr(source, "payload", source)
    if is_private_model(payload):
        return load_private(payload)
    kind = payload.get("kind") if isinstance(payload, Mapping) else None
    if kind not in LEARNERS.names():
        raise BadInput("This is not a model that discreet released.", hint="Give a release, its payload or its folder.")
    learner: type[Learner] = LEARNERS.entry(str(kind)).kind
    return learner.model.from_dict(payload)
