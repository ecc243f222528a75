"""The verb synthesize: release synthetic rows, with a privacy loss or without a promise."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from discreet.core.card import Card
from discreet.core.identifiers import require_rows_of_people
from discreet.core.release import Release
from discreet.core.table import Table
from discreet.errors import BadInput
from discreet.releases.method import Progress, rows_per_unit, silent
from discreet.releases.pipeline import release, require_places
from discreet.releases.uncharged import Uncharged
from discreet.verbs.publish.recoding import prepare, require_table
from discreet.verbs.synthesize.distances import CountBounds, distances
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
    anyone."""
    require_table(table, "synthesize")
    chosen = parse_synthesizer(method, table.card) if isinstance(method, str) else method
    require_places(to, csv=csv, holder=holder)
    if isinstance(chosen, Synthesize):
        require_rows_of_people(table)
        for said, why in (
            (seed, "Anyone who knows the seed can remove the noise."),
            (holder, "Synthetic rows belong to no one: there is no holder's copy."),
            (control, "A control group is for synthesizers without a privacy loss, which are attacked before release."),
        ):
            if said is not None:
                raise BadInput(why, hint="Leave it out.")
        return release(_uncharged_method(chosen, table), table, to=to, csv=csv, progress=progress)
    if not isinstance(chosen, Synthesizer):
        raise BadInput(f"{type(chosen).__name__} is not a synthesizer.", hint="Such as dc.Cart() or dc.Synthesize(1).")
    own = getattr(chosen, "method", chosen)  # of several copies, that of each
    named = {name for name in (*getattr(own, "columns", ()), *getattr(own, "given", ())) if isinstance(name, str)}
    table = prepare(table, named, quasi=False)
    return release(NonPrivate(chosen, control, seed), table, to=to, csv=csv, holder=holder, progress=progress)


def _uncharged_method(method: Synthesize, table: Table) -> Uncharged:
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


def warning(near: CountBounds, card: Card) -> str:
    """Warning that synthetic rows are little more than noise, and what would help, if even single columns may be
    far off; else nothing. It looks at what was measured privately alone."""
    alone = sorted(far for columns, far in near.distance.items() if len(columns) == 1)
    if not alone or alone[len(alone) // 2] < _USELESS_SHARE:
        return ""
    most = rows_per_unit(card)
    fewer = f", or a rows_per_unit below {most} (the noise grows with it)" if most > 1 else ""
    return (
        "These rows are little more than noise: for most columns even simple counts may be off by half of "
        f"all rows or more. To improve them: more rows, fewer columns, a larger loss{fewer}."
    )
