"""`discreet workspace backup` and `restore`: a workspace as one file, and back."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.output import working
from discreet.cli.workspace import Folder
from discreet.core.text import number


def backup(
    folder: Folder,
    file: Annotated[Path, typer.Argument(help="A new file.", metavar="COPY")],
) -> None:
    """Copy a workspace to one file; people may go on asking meanwhile.

    \b
    Example:
      discreet workspace backup clinic clinic.tar

    The copy holds rows of people, answers, and hashes of passwords: keep it as safe as the workspace.
    """
    from discreet.curator.backup import back_up

    with working("Copying"):
        copy = back_up(folder, file)
    typer.echo(f"{file} has {number(copy.releases, 'answer')}, each with its charge, as of {copy.made}.")
    if not copy.lines:
        typer.echo("The ledger is in PostgreSQL, and not in the copy: back up that database now, after the folder.")


def restore(
    file: Annotated[Path, typer.Argument(help="What `backup` made.", metavar="COPY")],
    folder: Annotated[Path, typer.Argument(help="A new folder.", metavar="WORKSPACE")],
    receipts: Annotated[
        Path | None,
        typer.Option("--receipts", help="The newest releases there are: all must be in the copy.", metavar="FOLDER"),
    ] = None,
    forget: Annotated[
        bool, typer.Option("--yes-spent-is-forgotten", help="Restore although what was spent since is forgotten.")
    ] = False,
) -> None:
    """Make a workspace of a copy.

    \b
    Example:
      discreet workspace restore clinic.tar clinic --receipts old-clinic/releases

    Dangerous: what was spent after the copy was made is forgotten, and could be spent again.
    """
    from discreet.curator.backup import receipts_in, restore

    with working("Restoring"):
        copy = restore(file, folder, newest=None if receipts is None else receipts_in(receipts), forget=forget)
    typer.echo(f"{folder} is as the workspace was on {copy.made}, and sound: {number(copy.releases, 'answer')}.")
    typer.echo("Never ask the one that it was copied from again: both would spend the same budget.")
    if receipts is None and copy.lines:
        typer.echo(
            "What was spent since the copy was made is forgotten: before anybody asks, lower the limits by what it may "
            f'have been: discreet budget limit {folder} TABLE --budget "…" --why "restored from a copy"'
        )
