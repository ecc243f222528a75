"""Synthetic rows under differential privacy as a release of a table that no ledger is kept of."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from discreet.budget.dp_statement import rows_per_unit
from discreet.core.card import Card
from discreet.core.recipe import Recipe, versions
from discreet.core.release import Release
from discreet.core.release_folder import Rows
from discreet.core.table import Table
from discreet.engines.bounded_table import bounded
from discreet.noise.entropy import SYSTEM
from discreet.verbs.publish.recoding import Progress
from discreet.verbs.synthesize.distances import Near, distances
from discreet.verbs.synthesize.synthesize import Synthesize

NO_LEDGER = (
    "No ledger knows of this release: whatever else is released of the same people adds to its loss, and nobody counts."
)
_USELESS = 0.5
"""Counts that may be off by so many of all rows tell nearly nothing."""


def release_private(
    table: Table, method: Synthesize, *, to: str | Path | None = None, csv: bool = False, progress: Progress
) -> Release[Any]:
    """Rows drawn for a table, with what is promised to the people in it.

    Why this is private: the table is made to keep to its card first (``engines/bounded_table.py``), so that the promise of the
    method holds for it. Nothing is charged to anybody, and the statement says so.
    """
    twin = bounded(table)
    promise = method.promise(twin.card)
    payload = method.run(twin, SYSTEM, progress)
    near = distances(payload)
    told = warning(near, twin.card)
    release: Release[Any] = Release(
        payload,
        replace(promise, caveats=(*promise.caveats, *([told] if told else ()), NO_LEDGER)),
        Recipe(
            method.name,
            {**method.parameters, "table": table.card.name, "rows": near.rows},
            method.steps(twin.card),
            versions=versions(twin.engine),
        ),
        pictures=method.pictures(payload),
        title=f"{table.card.name}, synthetic",
    )
    if to is None:
        return release
    folder = release.save(to, csv=csv)
    return replace(release, payload=Rows(folder / "payload.parquet"))


def warning(near: Near, card: Card) -> str:
    """That synthetic rows are little more than noise, and what would help, if even their columns taken alone may be
    far off; else nothing. It looks at what was measured privately alone."""
    alone = sorted(far for columns, far in near.distance.items() if len(columns) == 1)
    if not alone or alone[len(alone) // 2] < _USELESS:
        return ""
    most = rows_per_unit(card)
    fewer = f", or a rows_per_unit below {most} (the noise is as many times as large)" if most > 1 else ""
    return (
        "These rows are little more than noise: for most columns even simple counts may be off by half of all rows or "
        f"more. What helps: more rows, fewer columns, a larger loss{fewer}."
    )
