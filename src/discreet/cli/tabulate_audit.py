"""`discreet tabulate audit`: what can be computed from a printed table?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from discreet.cli.output import console, grid, print_json, tracking
from discreet.errors import BadInput

if TYPE_CHECKING:
    import pyarrow as pa

_SHOWN = 40


def audit_release(words: list[str], keep: Path | None, as_json: bool) -> None:
    """Print what an intruder can compute of every hidden cell; a status of 1 if a cell is told too closely."""
    from discreet.core.release import Release
    from discreet.verbs.tabulate.intruder.seen import audit

    if len(words) != 1:
        raise BadInput("Which release? Write: discreet tabulate audit FOLDER")
    folder = Path(words[0])
    release = Release.load(folder)
    if release.recipe.method != "suppress":
        raise BadInput(
            f"In {folder} figures were changed ({release.recipe.method}) and none is hidden: nothing to audit.",
            hint="What is promised of them is in its statement: discreet show FOLDER",
        )
    beside = folder.absolute().with_name(f"{folder.absolute().name}.holder.parquet")
    place = keep or (beside if beside.is_file() else None)
    with tracking("Auditing") as at:
        kept = None if place is None else _kept(place, folder)
        found = audit(release, kept, progress=lambda done, what: at(what, done))
    closely = len(found.recovered if found.short is None else found.short) > 0
    if as_json:
        print_json({"cells": len(found.cells), "hidden": found.rows().to_pylist(), "holds": not closely})
    else:
        out = console()
        out.print(str(found))
        if found.short is None:
            out.print(
                f"What its holder kept is not at {beside}: whether the rules' intervals are kept was not checked."
            )
        listing = grid("cell", "#at least", "#at most", *([] if found.short is None else ["too close"]))
        rows = found.rows().to_pylist()
        for row in rows[:_SHOWN]:
            ends = (f"{row[end]:,.6g}" for end in ("low", "high"))
            listing.add_row(row["cell"], *ends, *([] if found.short is None else ["yes" if row["short"] else "no"]))
        if rows:
            out.print(listing)
        if len(rows) > _SHOWN:
            out.print(f"and {len(rows) - _SHOWN:,} more; --json has all.")
    if closely:
        raise typer.Exit(1)


def _kept(place: Path, folder: Path) -> pa.Table:
    """What the holder kept of this release."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from discreet.core.holder_copy import RELEASE, fingerprint

    try:
        with pq.ParquetFile(place) as file:
            rows, notes = file.read(), file.metadata.metadata or {}
    except (pa.ArrowException, OSError) as error:
        raise BadInput(f"{place} is not what the holder kept: {error}.") from error
    if notes.get(RELEASE.encode(), b"").decode() != fingerprint(folder):
        raise BadInput(f"{place} was not kept of {folder}.", hint="Give the file that was written with it.")
    return rows
