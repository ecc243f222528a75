"""The verb publish: recode or mask a table, check the models on what was written, and release it.

Why this is private. The models are checked on the very rows that leave, after they were written, by the same
aggregates anybody can repeat: nothing a search believed about them counts. If one does not hold, nothing leaves.
What the models mean is theirs to say (see ``models/``); what they do not protect from is in the statement.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa
from sqlglot import exp

from discreet.core import sql
from discreet.core.card import Card, Role
from discreet.core.families import MASKING, RECODERS
from discreet.core.holder_copy import HolderCopy
from discreet.core.identifiers import said_of_withheld
from discreet.core.release import Release, Rows
from discreet.core.report import Picture, bars
from discreet.core.statement import Statement
from discreet.core.table import Table
from discreet.core.text import meant
from discreet.engines.read import read
from discreet.errors import BadInput, DiscreetError, NoPromise
from discreet.models.classes import Sizes, by_size
from discreet.models.k_anonymity import KAnonymity
from discreet.models.model import Model, check_all, checked_alone, evidence_of, parse_all, parts_of
from discreet.models.uniqueness import PopulationUniqueness
from discreet.releases.facts import Choice, Facts, Opaque, class_figures
from discreet.releases.method import Alternative, Bench, Made, Method, Progress, silent
from discreet.releases.pipeline import release, require_places
from discreet.releases.register import Entry
from discreet.verbs.publish.earlier_releases import Earlier, check_together
from discreet.verbs.publish.generalize import Generalize
from discreet.verbs.publish.mask.masker import Masker
from discreet.verbs.publish.mask.method import Masking
from discreet.verbs.publish.recoding import (
    Labelled,
    Recoder,
    Recoding,
    prepare,
    published_columns,
    recode_rows,
    require_table,
)

if TYPE_CHECKING:
    from discreet.core.card import Card
    from discreet.verbs.publish.mask.masker import Masker
    from discreet.verbs.publish.recoding import prepare, require_table

_LOST = "loss of "


def publish(
    table: Table,
    method: str | Recoder | Masker | Model | Sequence[Model] = "generalize",
    require: str | Model | Sequence[str | Model] = (),
    *,
    earlier: Sequence[Earlier] = (),
    seed: int | None = None,
    to: str | Path | None = None,
    csv: bool = False,
    holder: str | Path | None = None,
    progress: Progress = silent,
) -> Release[Any]:
    """Make a release of ``table`` for which every privacy model in ``require`` holds, recoded or masked by ``method``.

    Methods and models are objects, or texts as on the command line: ``publish(table, "local", ["k=5", "l=3 on
    disease"])``, ``publish(table, "rank-swap p=5 on age")``. Models alone are reached by generalisation:
    ``publish(table, "k=5")``.

    ``earlier`` are earlier releases of the same table: the models must hold for what all of them show together, or it
    is refused. With ``to``, a new folder, the release is written there (``csv``: also as CSV) and its rows are never
    held in memory. Identifiers and the unit stay behind; the order of rows tells nothing.

    ``holder`` is a new file for the holder's copy, which must never leave: where each class gets labels of its own,
    what became of whom, for ``earlier=[(release, file)]``; of a masked release, which released row is whose. A masked
    release needs no model. With a ``seed`` the masking can be repeated, by anybody.
    """
    require_table(table, "publish")
    chosen, models = _method_and_models(table.card, method, require)
    require_places(to, csv=csv, holder=holder)
    require_usable(chosen, earlier=earlier, seed=seed, holder=holder)
    table = prepare(table, _named_columns(chosen, models), quasi=not isinstance(chosen, Masker))
    maker: Method[Any] = (
        Masking(chosen, models, seed) if isinstance(chosen, Masker) else Recode(chosen, models, earlier)
    )
    return release(maker, table, to=to, csv=csv, holder=holder, progress=progress)


def require_usable(
    method: Recoder | Masker, *, earlier: Sequence[Earlier], seed: int | None, holder: str | Path | None
) -> None:
    """An error before any work is done, if an option means nothing to the method."""
    if earlier and isinstance(method, Masker):
        raise BadInput("What a masked release adds to others cannot be checked.", hint="Attack them together.")
    if seed is not None and not isinstance(method, Masker):
        raise BadInput("A seed is for masking: nothing here is random.", hint="Leave it out.")
    if holder is not None and not isinstance(method, Masker) and not method.own_labels:
        raise BadInput(
            f"{type(method).__name__} leaves nothing for a holder's copy: the release itself tells what became of "
            "whom.",
            hint="Leave holder out; earlier takes the release alone.",
        )


def _method_and_models(
    card: Card,
    method: str | Recoder | Masker | Model | Sequence[Model],
    require: str | Model | Sequence[str | Model],
) -> tuple[Recoder | Masker, tuple[Model, ...]]:
    """The method and the models; where models stand in the method's place, they are reached by generalisation."""
    if isinstance(method, Model | list | tuple) or (isinstance(method, str) and "=" in method.split(" ")[0]):
        require, method = [*_as_list(method), *_as_list(require)], Generalize()
    models = tuple(one if isinstance(one, Model) else parse_all([one], card)[0] for one in _as_list(require))
    if isinstance(method, str):
        refuse_other_verbs(method)
    chosen: Any = parse_method(method, card) if isinstance(method, str) else method
    if not isinstance(chosen, Masker) and not hasattr(chosen, "recode"):
        raise BadInput(
            f"{type(chosen).__name__} makes no table to publish.",
            hint="dc.synthesize makes synthetic rows, dc.learn a model.",
        )
    if not models and not isinstance(chosen, Masker):
        raise BadInput("No privacy model given.", hint="Add one, for example require=[KAnonymity(5)] or --model k=5.")
    return chosen, models


def refuse_other_verbs(method: str) -> None:
    """An error that says where to go, if a method's text begins with a verb of its own."""
    verb = method.split(" ", maxsplit=1)[0]
    if verb in ("synthesize", "learn"):
        raise BadInput(
            f"{verb} is a verb of its own, not a method of publish.",
            hint=f"dc.{verb}(table, method), or discreet {verb} --method METHOD.",
        )


def _as_list(models: Any) -> list[Any]:
    return list(models) if isinstance(models, list | tuple) else [models]


def _named_columns(method: object, models: Sequence[Model]) -> set[str]:
    """The columns that the method and the models name."""
    named = [*getattr(method, "columns", ()), *getattr(method, "given", ()), *(n for m in models for n in m.sensitive)]
    return {name for name in named if isinstance(name, str)}


@dataclass(frozen=True)
class Recode(Method[Any]):
    """Rows recoded until privacy models hold: generalised, suppressed, partitioned, or with dummies among them."""

    name: ClassVar[str] = "publish"
    recoder: Recoder
    models: Sequence[Model]
    earlier: Sequence[Earlier] = ()

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Which recoder it is; what it found comes with what it makes."""
        return {"recoder": type(self.recoder).__name__, "models": [model.claim.text for model in self.models]}

    def promise(self, card: Card) -> Statement:
        """The claims of the models."""
        claims = tuple(model.claim for model in self.models)
        return Statement(card.unit or "person", None, claims, None, evidence_of(self.models))

    def make(self, table: Table, bench: Bench) -> Made[Any]:
        """Search on the histogram of quasi-identifiers; the rows are recoded when they are written."""
        found = self.recoder.recode(table, self.models, bench.progress)
        together = check_together(table, found, self.earlier, self.models) if self.earlier else None
        if together is not None:
            together.require()
        before = Sizes.of(table)
        parameters: dict[str, Any] = {
            "table": table.card.name,
            **found.parameters,
            "quasi_identifiers": list(table.quasi()),
            "rows": before.rows,
            "suppressed": found.suppressed,
            "loss": float(f"{found.loss:.3g}"),  # all digits could tell what was suppressed
            "optimal": found.optimal,
            **({"levels": dict(found.levels)} if found.levels is not None else {}),
            **({"dummies": found.added.num_rows} if found.added is not None else {}),
            **({"gap": found.gap} if found.gap is not None else {}),
            "quality": {name: value for name, value in found.quality.items() if not name.startswith(_LOST)},
            "lost": _column_losses(found),
        }
        holder = None
        if self.recoder.own_labels and found.mapping is not None:
            holder = HolderCopy("recoding", found.mapping)
        out = recode_rows(table, found)
        return Made(
            out,
            parameters,
            found.steps,
            assumes=_assumes(table, self.models),
            caveats=_caveats(table, self.models, found, None if together is None else str(together)),
            holder=holder,
            title=f"{table.card.name}, published",
            context=(out.card, before, found),
        )

    def recheck(self, made: Made[Any], written: pa.Table | Rows, promised: Statement) -> Made[Any]:
        """Check the models, and that no row is lost, on the rows as they were written."""
        card, before, found = made.context
        out = read(written.path if isinstance(written, Rows) else written, card)
        after = Sizes.of(out)
        added = found.added.num_rows if found.added is not None else 0
        verdicts = check_all(out, self.models, levels=found.levels)
        broken = [verdict.claim.text for verdict in verdicts if not verdict.holds]
        if broken or after.rows != before.rows - found.suppressed + added:
            wrong = f"is not {' and not '.join(broken)}" if broken else "has not the rows it should have"
            raise NoPromise(
                f"What was made of {out.card.name} {wrong}. Nothing was released.",
                hint="This is a fault of the method, or the table changed meanwhile: try again, or try another method.",
            )
        counted = {"released": after.rows, "classes": after.count, "smallest_class": after.smallest}
        first, *rest = made.caveats
        caveats = (first, *(caveat for verdict in verdicts for caveat in verdict.caveats), *rest)
        drawn = pictures(before, after, _column_losses(found))
        return replace(made, parameters={**made.parameters, **counted}, caveats=caveats, pictures=drawn)

    def alternatives(self, made: Made[Any], table: Table, clashing: Sequence[Entry]) -> Iterator[Alternative[Any]]:
        """The levels of an earlier release, one column at a coarser level, or larger classes."""
        levels = made.context[2].levels
        if isinstance(self.recoder, Generalize) and levels is not None:
            for entry in clashing:
                with suppress(DiscreetError, OSError):
                    theirs = Release.load(entry.release).recipe.parameters.get("levels")
                    if theirs is not None and dict(theirs) != dict(levels):
                        said = ", ".join(f"{name}={level}" for name, level in theirs.items())
                        yield f"the levels of release {entry.number} ({said})", self._at_levels(theirs), table
            for name, level in levels.items():
                hierarchy = table.card[name].hierarchy
                if level < (hierarchy.height if hierarchy else 1):
                    coarser = self._at_levels({**self.recoder.levels, name: level + 1})
                    yield f"the same with {name} at level {level + 1}", coarser, table
        for model in self.models:
            if isinstance(model, KAnonymity):
                larger = tuple(replace(one, k=2 * one.k) if one is model else one for one in self.models)
                yield f"the same with k={2 * model.k}", partial(replace, self, models=larger), table

    def _at_levels(self, levels: Mapping[str, Any]) -> Callable[[], Recode]:
        return lambda: replace(self, recoder=replace(self.recoder, levels=dict(levels)))  # type: ignore[type-var]

    def facts(self, made: Made[Any], table: Table) -> Facts:
        """How many rows of each equivalence class have each combination of the other values."""
        card, _, found = made.context
        if found.added is not None and found.added.num_rows:
            return Opaque("nobody can tell which of its rows are dummies")
        choice = Choice.of(table)
        if isinstance(choice, Opaque) or choice.condition is not None:
            return (
                choice
                if isinstance(choice, Opaque)
                else Opaque(f"its rows were chosen by {' and '.join(choice.tells)}")
            )
        labelled = Labelled.of(table, found, "discreet_")
        labels = {name: sql.column(label.name) for name, label in labelled.labels.items()}
        rows = exp.select(exp.Star()).from_(labelled.relation.subquery("r")).where(sql.column(labelled.kept))
        told = [one.name for one in card.columns if one.name not in labels]
        out = read(made.payload.path if isinstance(made.payload, Rows) else made.payload, card)
        kept = replace(table, relation=rows, whole=table.whole or table.relation)
        return class_figures(kept, labels, out, told)


def _assumes(table: Table, models: Sequence[Model]) -> tuple[str, ...]:
    card = table.card
    others = [c.name for c in published_columns(card) if c.role is Role.OTHER]
    assumes = [f"An intruder knows nothing of a person but the quasi-identifiers: {', '.join(table.quasi())}."]
    if others:
        assumes.append(f"Columns marked “other” cannot identify anyone: {', '.join(others)}.")
    for model in parts_of(models):
        if model.reference is not None:
            assumes.append(f"{model.reference.card.name} is the population: everybody in the table is in it.")
        if isinstance(model, PopulationUniqueness):
            assumes.append(f"The rows are a random sample of {model.people:,} people.")
    assumes += [
        card.whose,
        "A missing value is a value of its own: it is like other missing values, and like nothing else.",
    ]
    return tuple(dict.fromkeys(assumes))


def _caveats(table: Table, models: Sequence[Model], recoding: Recoding, together: str | None) -> tuple[str, ...]:
    caveats = ["This is not differential privacy: it says whom rows may belong to, not how much can be inferred."]
    caveats += [*recoding.caveats, *checked_alone(models), *said_of_withheld(table)]
    named = {name for model in models for name in model.sensitive}
    if unnamed := sorted({column.name for column in table.card.having(Role.SENSITIVE)} - named):
        names = ", ".join(unnamed)
        caveats.append(f"Nothing is promised about {names}: all rows of a class may have the same value.")
    if named:
        caveats.append("That a sensitive value is missing counts as a value: among two of them, one may be missing.")
    return (*caveats, *([together] if together else ()))


def _column_losses(recoding: Recoding) -> Mapping[str, float]:
    """Loss of each column, as the recoder measured it."""
    return {n.removeprefix(_LOST): float(v) for n, v in recoding.quality.items() if n.startswith(_LOST)}


def pictures(before: Sizes, after: Sizes, lost: Mapping[str, float]) -> tuple[Picture, ...]:
    """The drawings of a report, made of sizes and losses alone."""
    found = []
    if after.rows:
        caption = f"{after.count:,} classes; the smallest has {after.smallest:,} rows."
        found.append(by_size("Rows by the size of their class", after.classes, caption))
        found.append(_risk(before, after))
    if lost:
        caption = "0: every value is as it was; 100: nothing is left of the column. A suppressed row counts as 100."
        values = [*(100 * share for share in lost.values()), 100.0]
        found.append(bars("What each column lost, in per cent", [*lost, "(all there is)"], values, caption=caption))
    return tuple(found)


def _risk(before: Sizes, after: Sizes) -> Picture:
    """Re-identification risk from the quasi-identifiers before and after, in per cent."""
    measured = {
        "unique": (before.unique, after.unique),
        "highest risk": (before.highest_risk, after.highest_risk),
        "average risk": (before.average_risk, after.average_risk),
    }
    labels = [f"{name}, {when}" for name in measured for when in ("before", "after")]
    values = [100 * figure for pair in measured.values() for figure in pair]
    caption = "Of the rows, how many are alone in their class; and the chance that a guess within a class is right."
    return bars("Risk before and after, in per cent", labels, values, caption=caption)


_FLAGS = {"levels": "level", "weights": "weight", "time_limit": "time-limit"}


def parse_method(
    text: str, card: Card, options: Mapping[str, Any] | None = None, *, dashes: str = ""
) -> Recoder | Masker:
    """The method that ``text`` names, with additional ``options``; ``dashes`` are the prefix of options where
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
