"""Ask a question in SQL of a table, and release a differentially private answer."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from discreet.core.exact import Number
from discreet.core.release import Release
from discreet.core.table import Table
from discreet.engines.bounded_table import bounded
from discreet.errors import BadInput
from discreet.releases.pipeline import release
from discreet.releases.uncharged import Uncharged
from discreet.verbs.ask.question import SqlMethod, planned, pose


def ask(
    table: Table,
    sql: str,
    *,
    epsilon: Number | None = None,
    delta: Number = 0,
    rho: Number | None = None,
    to: str | Path | None = None,
) -> Release[pa.Table]:
    """Answer a question about ``table``, which SQL calls by its card's name, for ``epsilon`` (with a ``delta`` where
    groups are not declared on the card) or ``rho``.

    ``ask(visits, "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward", epsilon=1)``. The rows of the answer have the
    figures and their error bars (95 % confidence). No ledger is charged, and asking again draws other noise, which the
    statement says: anyone who answers others' questions uses a ``Curator``, which keeps a durable budget.
    """
    if not isinstance(table, Table):
        raise BadInput(
            f"ask takes a table with its card, not a {type(table).__name__}.",
            hint="Open it first: dc.read(source, card).",
        )
    name, rows = table.card.name, bounded(table)
    question = pose(planned(sql, {name: rows}), {name: "rows"}, epsilon=epsilon, delta=delta, rho=rho)
    method = SqlMethod(question, (rows.card,))
    return release(Uncharged(method, f"An answer about {name}"), table, to=to)
