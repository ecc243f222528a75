"""Releases of collected figures: the statement to respondents, and the method that the pipeline makes them by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from discreet.core.card import Card
from discreet.core.loss import Loss
from discreet.core.release import Release
from discreet.core.statement import Evidence, Statement
from discreet.core.table import Table
from discreet.releases.method import Bench, Made, Method
from discreet.releases.pipeline import release


@dataclass(frozen=True)
class CollectedFigures(Method[pa.Table]):
    """Figures that were estimated from reports, which are private already: no table is looked at."""

    name = "collect"
    statement: Statement
    made: Made[pa.Table]

    @property
    def parameters(self) -> Mapping[str, Any]:
        return self.made.parameters

    def promise(self, card: Card) -> Statement:
        return self.statement

    def make(self, table: Table, bench: Bench) -> Made[pa.Table]:
        return self.made


def respondent_statement(
    loss: Loss, assumes: Sequence[str], caveats: Sequence[str] = (), evidence: Evidence = Evidence.PROVED
) -> Statement:
    """Statement of local differential privacy: what each respondent is promised."""
    hidden = "Participation itself is not hidden."
    return Statement(
        "respondent", loss, evidence=evidence, assumes=tuple(assumes), caveats=(hidden, *caveats), replaces=True
    )


def make_release(statement: Statement, made: Made[pa.Table]) -> Release[pa.Table]:
    """Make the release of estimated figures, by the one pipeline."""
    return release(CollectedFigures(statement, made), None)
