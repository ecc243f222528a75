"""Synthetic rows that promise nothing, in an order that tells nothing, attacked before they leave."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from discreet.core.card import Card, Column
from discreet.core.holder_copy import HolderCopy
from discreet.core.identifiers import said_of_withheld
from discreet.core.kind import Kind
from discreet.core.release import Release
from discreet.core.report import notes
from discreet.core.sql import content_order
from discreet.core.statement import Evidence, Statement
from discreet.core.table import Table
from discreet.engines.read import read
from discreet.releases.method import Bench, Made, Method
from discreet.releases.pipeline import draft
from discreet.verbs.publish.mask.bounds import limits_of, said
from discreet.verbs.publish.mask.report import pictures
from discreet.verbs.publish.recode import published_columns
from discreet.verbs.synthesize.non_private.attacked import alarms, attacked
from discreet.verbs.synthesize.non_private.copies import COPY
from discreet.verbs.synthesize.non_private.edit_rules import possible
from discreet.verbs.synthesize.non_private.synthesizer import Synthesizer


@dataclass(frozen=True)
class NonPrivate(Method[Any]):
    """Rows drawn from what was learnt of people, which nothing bounds; the holder is told what attackers find."""

    synthesizer: Synthesizer
    control: Table | None = None
    seed: int | None = None

    @property
    def name(self) -> str:  # type: ignore[override]
        """That of the synthesizer."""
        return self.synthesizer.name

    @property
    def parameters(self) -> Mapping[str, Any]:
        """None: those of the synthesizer come with what it makes."""
        return {}

    def promise(self, card: Card) -> Statement:
        """Nothing."""
        caveats = (
            "Synthetic does not mean safe: these rows were learnt from people, and nothing bounds what can be learnt "
            "of them.",
            "This is not differential privacy: with or without one person the release may be very different.",
        )
        return Statement(card.unit or "person", None, (), None, Evidence.ARGUED, (), caveats)

    def make(self, table: Table, bench: Bench) -> Made[Any]:
        """The rows, and for the holder what attackers find in them."""
        bench.progress(0.0, "learning and drawing")
        made = self._rows(table)
        report = attacked(
            self._draft(table, made),
            table,
            lambda people: self._draft(people, self._rows(people)),
            control=self.control,
            seed=self.seed,
            progress=lambda share, what: bench.progress(0.4 + 0.6 * share, f"attack: {what}"),
        )
        found = pa.Table.from_pylist(
            [{"attack": one.attack, "outcome": one.outcome.value, "meaning": one.meaning} for one in report.findings],
            pa.schema([("attack", pa.string()), ("outcome", pa.string()), ("meaning", pa.string())]),
        )
        warnings = alarms(report)
        holder = HolderCopy("findings", found, draw=lambda: notes(warnings) + report._repr_html_(), details=report)
        return replace(made, holder=holder, notices=warnings)

    def _rows(self, table: Table) -> Made[Any]:
        made = possible(table, self.synthesizer, self.seed)
        rows = made.rows.take(content_order(made.rows))
        shown = read(rows, _card(table.card, rows.column_names))
        return Made(
            rows,
            {**made.parameters, "table": table.card.name, "rows": table.count()},
            (*made.steps, *said(limits_of(table.card, made.parameters))),
            caveats=_caveats(table, made.not_promised),
            pictures=pictures(shown, made.parameters["columns"]),
            seed=self.seed,
            title=f"{table.card.name}, synthetic",
        )

    def _draft(self, table: Table, made: Made[Any]) -> Release[Any]:
        return draft(self, table, self.promise(table.card), made, None)


def _card(card: Card, names: Sequence[str]) -> Card:
    """The card of what leaves: no identifiers, no unit, and which copy a row is of."""
    columns = published_columns(card)
    own = (Column(COPY, Kind.INTEGER),) if COPY in names and COPY not in card else ()
    return card.without_unit((*columns, *own))


def _caveats(table: Table, not_promised: Sequence[str]) -> tuple[str, ...]:
    card, caveats = table.card, list(not_promised)
    if card.unit is not None and card.rows_per_unit != 1:
        caveats.append(
            f"Rows are made one by one: which of them belong to the same {card.unit} is lost, and whoever has several "
            "is drawn from as often."
        )
    caveats += said_of_withheld(table)
    return (*caveats, "It was attacked before it left; attacks that find nothing prove nothing.")
