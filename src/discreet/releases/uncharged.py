"""Releases with a privacy loss outside of a workspace: the loss is promised, and charged to no ledger."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from discreet.core.card import Card
from discreet.core.statement import Claim, Statement
from discreet.core.table import Table
from discreet.engines.bounded_table import bounded, bounded_card
from discreet.releases.method import Bench, Made, Method
from discreet.releases.pipeline import require_finite

NO_LEDGER = (
    "This release is in no ledger: every further release about the same people adds to its loss, and the "
    "total is not tracked."
)


@dataclass(frozen=True)
class Uncharged(Method[Any]):
    """A method that promises a privacy loss, on a table that no ledger is kept of: the statement says so.

    Why this is private: the table is made to keep to its card first (``engines/bounded_table.py``), so that what the
    method promises holds for it.
    """

    method: Method[Any]
    title: str
    make_rows: Callable[[Table, Bench], Any] | None = None
    """How the method is run, if not by its ``run``: one that reports progress."""
    also: Callable[[Any, Card], tuple[Mapping[str, Any], tuple[str, ...]]] = lambda payload, card: ({}, ())
    """What the recipe and the caveats say besides, from the payload."""

    @property
    def name(self) -> str:  # type: ignore[override]
        """That of the method."""
        return self.method.name

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Those of the method."""
        return self.method.parameters

    def promise(self, card: Card) -> Statement:
        """What the method promises for the bounded table."""
        return self.method.promise(bounded_card(card))

    def make(self, table: Table, bench: Bench) -> Made[Any]:
        """Run the method on the bounded table."""
        limited_table = bounded(table)
        if self.make_rows is None:
            made = self.method.make(limited_table, bench)
        else:
            payload = self.make_rows(limited_table, bench)
            steps, pictures = self.method.steps(limited_table.card), self.method.pictures(payload)
            made = Made(payload, steps=steps, pictures=pictures)
        require_finite(made.payload)
        parameters, caveats = self.also(made.payload, limited_table.card)
        return replace(
            made,
            parameters={"table": table.card.name, **made.parameters, **parameters},
            caveats=(*made.caveats, *caveats, NO_LEDGER),
            title=self.title,
        )

    def holds(self, claim: Claim, payload: Any) -> bool:
        """As the method checks it."""
        return self.method.holds(claim, payload)
