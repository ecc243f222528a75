"""`discreet workspace audit` and `discreet ask --audited`: exact answers, or denials."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.output import Json, console, figures, print_json, working
from discreet.cli.workspace import Folder
from discreet.errors import BadInput

if TYPE_CHECKING:
    from discreet.curator.workspace import Workspace
    from discreet.releases.register import Entry


def audit(
    folder: Folder,
    table: Annotated[str, typer.Argument(help="The table.", metavar="TABLE")],
    *,
    columns: Annotated[
        str,
        typer.Option(
            "--columns",
            help="What is audited, each with sum (SUM, AVG; what is meant if nothing is said), extremes (MAX, MIN) or "
            "bounded=WIDTH:look (SUM, AVG of numbers with known bounds; answers are looked at before they are denied).",
            metavar="COLUMN[:HOW],…",
        ),
    ],
    by: Annotated[
        str,
        typer.Option("--by", help="What conditions and groups may use: everybody may know it.", metavar="COLUMN,…"),
    ] = "",
    as_json: Json = False,
) -> None:
    """Answer questions about a table exactly, or deny them, instead of adding noise.

    \b
    Examples:
      discreet workspace audit office staff --columns salary --by city,age
      discreet workspace audit office staff --columns salary,bonus:extremes,ill:bounded=1:look --by city

    A question is denied when it, with all that was answered before, could tell somebody's value. This is decided once,
    before anything was spent on the table, and cannot be taken back. It is no differential privacy.
    """
    from discreet.curator.curator import Curator
    from discreet.releases.register import notice

    pairs = [one.partition(":") for one in _listed(columns)]
    watched = {name.strip(): how.strip() or "sum" for name, _, how in pairs}
    if len(watched) < len(pairs):
        raise BadInput("A column is audited in one way.")
    with Curator(folder) as curator:
        policy = curator.audit(table, watched, by=_listed(by))
        others = _published(curator.workspace, table)
    if others:
        console(stderr=as_json).print(notice(others))
    if as_json:
        print_json({"table": table, **policy.to_dict()})
        return
    out = console()
    out.print(f"{table} is audited from now on: {policy}. Sets may be chosen by {', '.join(policy.by) or 'nothing'}.")
    out.print(f"Ask it with discreet ask {folder} … --audited.")


def answer_audited(folder: Path, question: str, analyst: str, as_json: bool) -> None:
    """Print the exact answer to a question; a denial is an error."""
    from discreet.curator.curator import Curator

    with Curator(folder) as curator, working("Weighing"):
        answer = curator.ask_audited(question, analyst=analyst)
    if as_json:
        print_json(
            {
                "question": answer.release.recipe.parameters["question"],
                "rows": answer.table.to_pylist(),
                "free": answer.free,
                "statement": answer.statement.to_dict(),
            }
        )
        return
    out = console()
    out.print(figures(answer.table))
    out.print("Exact, and audited." + (" It was answered before." if answer.free else ""))
    out.print(str(answer.statement))


def _published(workspace: Workspace, table: str) -> list[Entry]:
    """What is known to have been made of the same people, which auditing does not weigh."""
    from discreet.releases.register import Register

    return [entry for entry in Register(workspace.register).read() if entry.table == table]


def _listed(text: str) -> list[str]:
    return [one.strip() for one in text.split(",") if one.strip()]
