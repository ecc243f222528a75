"""`discreet workspace` check, backup, restore, move-ledger, trim and upgrade: the upkeep of a workspace."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from discreet.cli.options import Folder, Json
from discreet.cli.output import print_checks, print_json, working
from discreet.core.text import number

app = typer.Typer(rich_markup_mode=None)


@app.command("check")
def check(folder: Folder) -> None:
    """Check a workspace: who can read it, its tables, and the ledger entry by entry.

    \b
    Example:
      discreet workspace check clinic

    The exit status is 1 if something is wrong. `discreet serve --check` also checks people, certificate and address.
    """
    from discreet.service.check import workspace_checks

    print_checks(workspace_checks(folder, served=False))


@app.command("backup")
def backup(
    folder: Folder,
    file: Annotated[Path, Argument(help="A new file.", metavar="COPY")],
) -> None:
    """Back up a workspace to one file, while it stays in use.

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
        typer.echo("The ledger is in PostgreSQL and not in the backup: back up that database now, after the folder.")


@app.command("restore")
def restore(
    file: Annotated[Path, Argument(help="What `backup` made.", metavar="COPY")],
    folder: Annotated[Path, Argument(help="A new folder.", metavar="WORKSPACE")],
    receipts: Annotated[
        Path | None, Option(help="Folder of the newest releases: all must be in the backup.", metavar="FOLDER")
    ] = None,
    to: Annotated[
        str | None,
        Option(help="Database of the restored workspace, if its ledger is in PostgreSQL.", metavar="ADDRESS"),
    ] = None,
    forget: Annotated[
        bool, Option("--yes-spent-is-forgotten", help="Restore even though charges made since the backup are lost.")
    ] = False,
) -> None:
    """Restore a workspace from a backup.

    \b
    Examples:
      discreet workspace restore clinic.tar clinic --receipts old-clinic/releases
      discreet workspace restore clinic.tar clinic --to postgresql://discreet@db2/budget --receipts old-clinic/releases

    Dangerous: what was spent after the copy was made is forgotten, and could be spent again.
    """
    from discreet.curator.backup import receipts_in
    from discreet.curator.backup import restore as put_back

    with working("Restoring"):
        newest = None if receipts is None else receipts_in(receipts)
        copy = put_back(file, folder, newest=newest, forget=forget, ledger=to)
    typer.echo(f"{folder} is as the workspace was on {copy.made}, and sound: {number(copy.releases, 'answer')}.")
    typer.echo("Never use the original workspace again: both would spend the same budget.")
    if receipts is None and forget:
        typer.echo(
            "Charges made since the backup are lost: before anyone asks again, lower the limits by what it may "
            f'have been: discreet budget limit {folder} TABLE --budget "…" --why "restored from a copy"'
        )


@app.command("move-ledger")
def move_ledger(
    folder: Folder,
    to: Annotated[str, Option(help="A PostgreSQL database without a ledger.", metavar="ADDRESS")],
) -> None:
    """Move the ledger, people, register and streams of a workspace into PostgreSQL, for several services to share.

    \b
    Example:
      discreet workspace move-ledger clinic --to postgresql://discreet@db/budget

    Restart the services of the workspace afterwards: until then they answer nothing. If the command is interrupted, run
    it again. The old files stay, unused.
    """
    from discreet.curator.moving import move_ledger as move

    with working("Moving"):
        lines = move(folder, to)
    typer.echo(f"The ledger of {folder} is in the database: {number(lines, 'entry', 'entries')}, all valid.")
    typer.echo("Restart services that have the workspace open. Delete the old files once the database is backed up:")
    typer.echo(f"{folder}/ledger.db, service.db, register.db and streams.db")


@app.command("trim")
def trim(
    folder: Folder,
    *,
    answers: Annotated[
        int | None, Option(help="Delete answers to questions that are older than this.", metavar="DAYS")
    ] = None,
    jobs: Annotated[int | None, Option(help="Delete results of jobs that are older than this.", metavar="DAYS")] = None,
    holder_copies: Annotated[
        int | None, Option(help="Delete holder's copies that are older than this.", metavar="DAYS")
    ] = None,
    uploads: Annotated[
        int | None,
        Option(help="Delete uploaded files that are older than this and belong to no table.", metavar="DAYS"),
    ] = None,
    versions: Annotated[
        int | None, Option(help="Delete replaced versions of bounded tables that are older than this.", metavar="DAYS")
    ] = None,
    dry_run: Annotated[bool, Option("--dry-run", help="Delete nothing; print what would be deleted.")] = False,
    as_json: Json = False,
) -> None:
    """Delete what a workspace need not keep, by age.

    \b
    Examples:
      discreet workspace trim clinic --answers 365 --jobs 90 --dry-run
      discreet workspace trim clinic --uploads 30 --versions 30 --holder-copies 730

    Ledger, register of releases and audit log stay. A question whose answer was deleted is refused, so that it is not
    answered twice at one price.
    """
    from discreet.curator.trimming import RetentionRule
    from discreet.curator.trimming import trim as delete
    from discreet.service.operations.permissions import HOST

    rule = RetentionRule(answers, jobs, holder_copies, uploads, versions)
    with working("Looking" if dry_run else "Deleting"):
        found = delete(folder, rule, by=HOST.name, dry_run=dry_run)
    kinds = {kind: [one.bytes for one in found if one.kind == kind] for kind, days in vars(rule).items() if days}
    if as_json:
        print_json({kind: {"count": len(sizes), "bytes": sum(sizes)} for kind, sizes in kinds.items()})
        return
    for kind, sizes in kinds.items():
        what = kind.replace("_", " ")
        verb = "would be deleted" if dry_run else "deleted"
        typer.echo(f"{what}: {len(sizes):,} {verb}, {sum(sizes) / 1e6:,.1f} MB")


@app.command("upgrade")
def upgrade(
    folder: Folder,
    *,
    dry_run: Annotated[
        bool, Option("--dry-run", help="Change nothing: migrate copies, and say what would change.")
    ] = False,
    backup: Annotated[
        Path | None, Option(help="New file for the backup; by default beside the workspace.", metavar="FILE")
    ] = None,
    database_backed_up: Annotated[
        bool, Option("--database-is-backed-up", help="Confirm a backup of the ledger's PostgreSQL database.")
    ] = False,
    take_back: Annotated[
        Path | None,
        Option(
            help="Undo an upgrade: put back the databases from its backup, if nothing was spent since.", metavar="FILE"
        ),
    ] = None,
) -> None:
    """Upgrade what an earlier version of discreet wrote, after a backup of all of it.

    \b
    Examples:
      discreet workspace upgrade clinic --dry-run
      discreet workspace upgrade clinic
      discreet workspace upgrade clinic --take-back clinic-before-upgrade-20261201T080000Z.tar

    Once the workspace is upgraded, services of the earlier version can no longer write: stop them first, or restart
    them with this version afterwards. Until the upgrade they keep working, and this version does not open the
    workspace.
    """
    from discreet.curator import upgrading

    if take_back is not None:
        copy = upgrading.take_back(folder, take_back)
        typer.echo(f"{folder} has the formats of {copy.made} again. Start discreet {copy.discreet} on it.")
        return
    with working("Migrating copies" if dry_run else "Upgrading"):
        due = upgrading.rehearse(folder) if dry_run else upgrading.outdated(folder)
        file = None if dry_run else upgrading.upgrade(folder, backup, database_backed_up=database_backed_up)
    if not due:
        typer.echo(f"{folder} is up to date.")
        return
    for one in due:
        typer.echo(str(one))
    if dry_run:
        typer.echo("All of it can be migrated, as was tried on copies. Nothing was changed.")
        return
    typer.echo(f"{folder} is upgraded, and sound.")
    if file is not None:
        typer.echo(f"As it was before, it is in {file}. Until something is spent, this undoes the upgrade:")
        typer.echo(f"discreet workspace upgrade {folder} --take-back {file}")
