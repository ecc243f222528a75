"""What `discreet publish --method "synthesize cart"` says: nothing is promised, and what attackers found."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from discreet.cli.output import bold, console, print_json

if TYPE_CHECKING:
    from discreet.core.release import Release
    from discreet.verbs.synthesize.non_private.attacked import Attacked


def print_attacked(made: Release[Any], folder: Path, page: Path, as_json: bool) -> None:
    """Say what was made and what attackers found in it; what is alarming also where errors are written."""
    release = cast("Attacked[Any]", made)  # as publish makes it of a synthesizer
    for alarm in release.alarms:
        console(stderr=True).print(bold("Warning."), alarm)
    if as_json:
        said = {"statement": release.statement.to_dict(), "recipe": release.recipe.to_dict()}
        found = {} if release.report is None else {"attacked": release.report.to_dict(), "alarms": list(release.alarms)}
        print_json({"release": str(folder), **said, **found})
        return
    out = console()
    out.print(bold(release.title), f"in {folder}")
    out.print(*release.lines, sep="\n")
    out.print(*release.recipe.steps, sep="\n")
    if release.report is not None:
        out.print(f"Attacked before it left. {release.report.summary}")
    out.print(f"The report: {folder / 'report.html'}")
    out.print(f"What attackers found: {page}. This is for you alone; it must never leave.")
