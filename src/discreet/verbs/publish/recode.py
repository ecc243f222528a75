"""Recoding as a release: rows are generalised, suppressed or partitioned until privacy models hold.

Why this is private. The models are checked on the very rows that leave, after they were written, by the same
aggregates anyone can repeat: nothing a search believed about them counts. If one does not hold, nothing leaves.
What the models mean is theirs to say (see ``models/``); what they do not protect from is in the statement.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import pyarrow as pa
from sqlglot import exp

from discreet.core import sql
from discreet.core.card import Card, Role
from discreet.core.holder_copy import HolderCopy
from discreet.core.identifiers import said_of_withheld
from discreet.core.release import Release, Rows
from discreet.core.report import Picture, bars, grouped_bars
from discreet.core.statement import Statement
from discreet.core.table import Table
from discreet.engines.read import read
from discreet.errors import DiscreetError, NoPromise
from discreet.models.classes import Sizes, by_size, require_people
from discreet.models.k_anonymity import KAnonymity
from discreet.models.model import Model, check_all, checked_alone, evidence_of, parts_of
from discreet.models.uniqueness import PopulationUniqueness
from discreet.releases.facts import Choice, Facts, Opaque, class_figures
from discreet.releases.method import Alternative, Bench, Made, Method
from discreet.releases.register import Entry
from discreet.verbs.publish.earlier_releases import Earlier, check_together
from discreet.verbs.publish.generalize import Generalize
from discreet.verbs.publish.recoding import Labelled, Recoder, Recoding, published_columns, recode_rows

_LOST = "loss of "


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
        require_people(table)
        found = self.recoder.recode(table, self.models, bench.progress)
        together = check_together(table, found, self.earlier, self.models) if self.earlier else None
        if together is not None:
            together.require()
        before = Sizes.of(table)
        parameters = recipe_parameters(table, found, before.rows)
        holder = None
        if self.recoder.own_labels and found.mapping is not None:
            holder = HolderCopy("recoding", found.mapping)
        out = recode_rows(table, found)
        return Made(
            out,
            parameters,
            found.steps,
            assumes=assumptions(table, self.models),
            caveats=caveats_of(table, self.models, found, None if together is None else str(together)),
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
            wrong = f"is not {' and not '.join(broken)}" if broken else "does not have the expected rows"
            raise NoPromise(
                f"The recoded {out.card.name} {wrong}. Nothing was released.",
                hint="This is a bug of the method, or the table changed meanwhile: try again, or try another method.",
            )
        counted = {"released": after.rows, "classes": after.count, "smallest_class": after.smallest}
        first, *rest = made.caveats
        caveats = (first, *(caveat for verdict in verdicts for caveat in verdict.caveats), *rest)
        drawn = pictures(before, after, column_losses(found))
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
            return Opaque("its dummies cannot be distinguished")
        if (hidden := Choice.hidden(table)) is not None:
            return hidden
        labelled = Labelled.of(table, found, "discreet_")
        labels = {name: sql.column(label.name) for name, label in labelled.labels.items()}
        rows = exp.select(exp.Star()).from_(labelled.relation.subquery("r")).where(sql.column(labelled.kept))
        told = [one.name for one in card.columns if one.name not in labels]
        out = read(made.payload.path if isinstance(made.payload, Rows) else made.payload, card)
        kept = replace(table, relation=rows, whole=table.whole or table.relation)
        return class_figures(kept, labels, out, told)


def recipe_parameters(table: Table, found: Recoding, rows: int) -> dict[str, Any]:
    """What the recipe says of a recoding of that many rows."""
    return {
        "table": table.card.name,
        **found.parameters,
        "quasi_identifiers": list(table.quasi()),
        "rows": rows,
        "suppressed": found.suppressed,
        "loss": float(f"{found.loss:.3g}"),  # all digits could tell what was suppressed
        "optimal": found.optimal,
        **({"levels": dict(found.levels)} if found.levels is not None else {}),
        **({"dummies": found.added.num_rows} if found.added is not None else {}),
        **({"gap": found.gap} if found.gap is not None else {}),
        "quality": {name: value for name, value in found.quality.items() if not name.startswith(_LOST)},
        "lost": column_losses(found),
    }


def assumptions(table: Table, models: Sequence[Model]) -> tuple[str, ...]:
    card = table.card
    others = [c.name for c in published_columns(card) if c.role is Role.OTHER]
    assumes = [f"An intruder knows nothing about a person except the quasi-identifiers: {', '.join(table.quasi())}."]
    if others:
        assumes.append(f"Columns marked “other” cannot identify anyone: {', '.join(others)}.")
    for model in parts_of(models):
        if model.reference is not None:
            assumes.append(f"{model.reference.card.name} is the population: it contains everyone in the table.")
        if isinstance(model, PopulationUniqueness):
            assumes.append(f"The rows are a random sample of {model.people:,} people.")
    assumes += [
        card.whose,
        "A missing value counts as a separate value, equal only to other missing values.",
    ]
    return tuple(dict.fromkeys(assumes))


def caveats_of(table: Table, models: Sequence[Model], recoding: Recoding, together: str | None) -> tuple[str, ...]:
    caveats = ["This is not differential privacy: it limits re-identification, not inference."]
    caveats += [*recoding.caveats, *checked_alone(models), *said_of_withheld(table)]
    named = {name for model in models for name in model.sensitive}
    if unnamed := sorted({column.name for column in table.card.having(Role.SENSITIVE)} - named):
        names = ", ".join(unnamed)
        caveats.append(f"Nothing is promised about {names}: all rows of an equivalence class may have the same value.")
    if named:
        caveats.append("A missing sensitive value counts as a value: of two different values, one may be missing.")
    return (*caveats, *([together] if together else ()))


def column_losses(recoding: Recoding) -> Mapping[str, float]:
    """Loss of each column, as the recoder measured it."""
    return {n.removeprefix(_LOST): float(v) for n, v in recoding.quality.items() if n.startswith(_LOST)}


def pictures(before: Sizes, after: Sizes, lost: Mapping[str, float], noun: str = "rows") -> tuple[Picture, ...]:
    """The drawings of a report, made of sizes and losses alone; ``noun``: what the classes are of."""
    found = []
    if after.rows:
        caption = f"{after.count:,} classes; the smallest has {after.smallest:,} {noun}."
        found.append(by_size(f"{noun.capitalize()} by size of their equivalence class", after.classes, caption))
        found.append(_risk(before, after, noun))
    if lost:
        caption = "0: unchanged; 100: the column is fully suppressed. A suppressed row counts as 100."
        values = [*(100 * share for share in lost.values()), 100.0]
        found.append(bars("Information loss per column, per cent", [*lost, "(all columns)"], values, caption=caption))
    return tuple(found)


def _risk(before: Sizes, after: Sizes, noun: str) -> Picture:
    """Re-identification risk from the quasi-identifiers before and after, in per cent."""
    measured = {
        "unique": (before.unique, after.unique),
        "highest risk": (before.highest_risk, after.highest_risk),
        "average risk": (before.average_risk, after.average_risk),
    }
    series = {when: [100 * pair[place] for pair in measured.values()] for place, when in enumerate(("before", "after"))}
    caption = f"Share of {noun} that are unique, and the probability that a guess within an equivalence class is right."
    return grouped_bars("Risk before and after, per cent", [*measured], series, caption=caption)
