"""Synthesize: give away rows of people who never existed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from discreet.budget.dp_statement import rows_per_unit
from discreet.core.card import Card
from discreet.core.identifiers import hold_back, require_rows_of_people
from discreet.core.release import Release
from discreet.core.table import Table
from discreet.errors import BadInput
from discreet.releases.method import Progress, silent
from discreet.releases.pipeline import Uncharged, release, require_places
from discreet.verbs.publish.recode import at_hand, published_columns
from discreet.verbs.synthesize.distances import Near, distances
from discreet.verbs.synthesize.non_private.method import NonPrivate
from discreet.verbs.synthesize.non_private.synthesizer import Synthesizer
from discreet.verbs.synthesize.private import Synthesize, parse_synthesizer

_USELESS_SHARE = 0.5
"""Counts that may be off by this share of all rows tell nearly nothing."""


def synthesize(
    table: Table,
    method: str | Synthesize | Synthesizer = "epsilon=1 delta=1e-9",
    *,
    control: Table | None = None,
    seed: int | None = None,
    to: str | Path | None = None,
    csv: bool = False,
    holder: str | Path | None = None,
    progress: Progress = silent,
) -> Release[Any]:
    """Make synthetic rows like those of ``table``: ``synthesize(table, "epsilon=1 delta=1e-9")``, or without a promise
    ``synthesize(table, "cart")``.

    With a privacy loss the rows are differentially private. No ledger is charged, which the statement says; a
    ``Curator`` does that (``make_synthetic``). Without one nothing is promised: the rows are attacked before they
    leave, and the holder's copy (``holder``, a new file) has what was found. ``control`` are people of the same kind
    who are not in the table, for the attacks to be compared with. With a ``seed`` such rows can be drawn again by
    anybody."""
    if not isinstance(table, Table):
        raise BadInput(
            f"synthesize takes a table with its card, not a {type(table).__name__}.",
            hint="Open it first: dc.read(source, card).",
        )
    chosen = parse_synthesizer(_spelled(method), table.card) if isinstance(method, str) else method
    require_places(to, csv=csv, holder=holder)
    require_rows_of_people(table)
    if isinstance(chosen, Synthesize):
        _require_private(seed, holder, control)
        return release(_uncharged(chosen, table), table, to=to, csv=csv, progress=progress)
    if not isinstance(chosen, Synthesizer):
        raise BadInput(
            f"{type(chosen).__name__} makes no synthetic rows.", hint="Such as dc.Cart() or dc.Synthesize(1)."
        )
    own = getattr(chosen, "method", chosen)  # of several copies, that of each
    named = {name for name in (*getattr(own, "columns", ()), *getattr(own, "given", ())) if isinstance(name, str)}
    table = at_hand(hold_back(table, named, quasi=False))
    published_columns(table.card)
    return release(NonPrivate(chosen, control, seed), table, to=to, csv=csv, holder=holder, progress=progress)


def _spelled(method: str) -> str:
    return method if method.split(" ", maxsplit=1)[0] == "synthesize" else f"synthesize {method}"


def _require_private(seed: int | None, holder: str | Path | None, control: Table | None) -> None:
    if seed is not None:
        raise BadInput("Whoever knows a seed can take the noise away.", hint="Leave it out.")
    if holder is not None:
        raise BadInput("Synthetic rows are nobody's: there is nothing to keep.", hint="Leave it out.")
    if control is not None:
        raise BadInput(
            "A control is for rows without a privacy loss, which are attacked before they leave.", hint="Leave it out."
        )


def _uncharged(method: Synthesize, table: Table) -> Uncharged:
    def also(payload: Any, card: Card) -> tuple[Mapping[str, Any], tuple[str, ...]]:
        near = distances(payload)
        told = warning(near, card)
        return {"rows": near.rows}, ((told,) if told else ())

    return Uncharged(
        method,
        f"{table.card.name}, synthetic",
        lambda rows, bench: method.run(rows, bench.entropy, bench.progress),
        also,
    )


def warning(near: Near, card: Card) -> str:
    """That synthetic rows are little more than noise, and what would help, if even their columns taken alone may be
    far off; else nothing. It looks at what was measured privately alone."""
    alone = sorted(far for columns, far in near.distance.items() if len(columns) == 1)
    if not alone or alone[len(alone) // 2] < _USELESS_SHARE:
        return ""
    most = rows_per_unit(card)
    fewer = f", or a rows_per_unit below {most} (the noise is as many times as large)" if most > 1 else ""
    return (
        "These rows are little more than noise: for most columns even simple counts may be off by half of all rows or "
        f"more. What helps: more rows, fewer columns, a larger loss{fewer}."
    )
