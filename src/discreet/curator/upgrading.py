"""Upgrades of a workspace: its databases in this version's formats, with a backup before and a way back.

Nothing is migrated by the way: to open a workspace that an earlier discreet wrote is an error, until someone says
``discreet workspace upgrade``. So two versions of the service may run beside each other:

* they have the same formats: both go on, whatever else differs between them;
* the later one has a later format: it does not start, and the earlier one goes on, until the workspace is upgraded;
* from that moment the earlier one writes nothing any more. Its every transaction checks the version of the database,
  in the same transaction, so no charge of it comes after the migration, and none is lost before it.

Before anything is changed, a file beside the workspace has all of it as it was, for the discreet that wrote it. That is
the way back (``take_back``) as long as nothing was written since: the files are retired first, so that no one can write
to them, and compared with the backup line by line. Once something was charged, going back would forget it; then only
``restore`` is left, which asks for the newest receipts.

A database in PostgreSQL is migrated in one transaction, and backed up by its own means, which someone has to confirm.
"""

from __future__ import annotations

import datetime as dt
import os
import shutil
import sqlite3
import tarfile
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote

from discreet.budget.ledger import LEDGER as LEDGER_CONTENTS
from discreet.budget.ledger import open_ledger
from discreet.budget.sqlite import is_retired, open_store, revive, stored_version
from discreet.budget.store import Contents, Home
from discreet.budget.verify import Verdict
from discreet.core.document import FILE, flush_name
from discreet.curator.backup import Copy, about, back_up
from discreet.curator.people.state import FILE as STATE
from discreet.curator.people.state import SERVICE
from discreet.curator.streams import FILE as STREAMS
from discreet.curator.streams import STREAMS as STREAMS_CONTENTS
from discreet.curator.workspace import LEDGER, REGISTER, Workspace, open_books, open_workspace
from discreet.errors import BadInput, Damaged, LedgerError, Refused
from discreet.releases.register import REGISTER as REGISTER_CONTENTS
from discreet.releases.store import Store


@dataclass(frozen=True)
class Database:
    """A database of a workspace, and the version of its format that is stored."""

    home: Home
    contents: Contents
    stored: int

    @property
    def current(self) -> bool:
        """Whether it has the version that this discreet writes."""
        return self.stored == self.contents.format.version

    @property
    def superseded(self) -> bool:
        """Whether a later discreet has written it."""
        return self.stored > self.contents.format.version

    def __str__(self) -> str:
        return f"{self.contents.what}: format {self.stored}, becomes {self.contents.format.version}"


def databases(workspace: Workspace) -> list[Database]:
    """The databases of a workspace that there are. The ledger comes last: what else is written belongs to it."""
    places = [
        (workspace.home(STATE), SERVICE),
        (workspace.home(REGISTER), REGISTER_CONTENTS),
        (workspace.home(STREAMS), STREAMS_CONTENTS),
        (workspace.ledger_home, LEDGER_CONTENTS),
    ]
    found = ((home, contents, home.version(contents)) for home, contents in places)
    return [Database(home, contents, stored) for home, contents, stored in found if stored is not None]


def require_current(workspace: Workspace) -> None:
    """An error if an earlier discreet wrote a database of this workspace."""
    older = [one for one in databases(workspace) if one.stored < one.contents.format.version]
    if older:
        first = older[0]
        raise LedgerError(
            f"The {first.contents.what} of {workspace.folder} has format {first.stored}, which an earlier discreet "
            f"wrote; this one writes {first.contents.format.version}. Nothing was changed.",
            hint=f"Stop services of the earlier version, then run: discreet workspace upgrade {workspace.folder}",
        )


def outdated(folder: str | Path) -> list[Database]:
    """What an upgrade would change; an error if a later discreet wrote it."""
    found = databases(open_workspace(Path(folder)))
    for one in found:
        if one.superseded:
            one.home.find(one.contents)  # which says what it needs
    return [one for one in found if not one.current]


def rehearse(folder: str | Path) -> list[Database]:
    """Migrate copies of all databases that are older, and check them; nothing of the workspace is changed."""
    workspace, due = open_workspace(Path(folder)), outdated(folder)
    with TemporaryDirectory(prefix=".discreet-", dir=workspace.folder.parent) as scratch:
        for one in due:
            if one.home.address:
                from discreet.budget.postgres import PostgresStore

                with closing(PostgresStore(one.home.address, one.home.schema, one.contents)) as there:
                    there.rehearse()
                continue
            copy = Path(scratch) / one.home.path.name
            copy.touch(mode=FILE)
            with closing(_read_only(one.home.path)) as old, closing(sqlite3.connect(copy)) as new:
                old.backup(new)
            open_store(copy, one.contents).close()
            if one.contents is LEDGER_CONTENTS:
                with open_ledger(copy) as ledger:
                    _require_sound(ledger.verify(), workspace)
    return due


def upgrade(folder: str | Path, backup: Path | None = None, *, database_backed_up: bool = False) -> Path | None:
    """Bring the databases of a workspace up to date; the file of the backup that was made before, if one was made.

    None is made of what is in PostgreSQL: nothing else of the workspace changes. After a crash it is backed up again,
    and gone on with: each database is migrated as a whole or not at all.
    """
    workspace, due = open_workspace(Path(folder)), rehearse(folder)
    if not due:
        return None
    file = None
    if any(one.home.address for one in due):
        if not database_backed_up:
            raise Refused(
                "The ledger of this workspace is in PostgreSQL, of which no backup is made here.",
                hint="Back up that database (pg_dump), then confirm with --database-is-backed-up.",
            )
    else:
        named = f"{workspace.folder.name}-before-upgrade-{dt.datetime.now(dt.UTC):%Y%m%dT%H%M%S%fZ}.tar"
        file = backup or workspace.folder.with_name(named)
        back_up(workspace.folder, file, as_stored=True)
    for one in due:
        store = one.home.find(one.contents)
        assert store is not None  # noqa: S101  # it was found before
        store.close()
    with open_books(workspace) as ledger:
        _require_sound(ledger.verify(Store(workspace.releases, ledger).receipts()), workspace)
    return file


def take_back(folder: str | Path, file: str | Path) -> Copy:
    """Put back the databases that an upgrade changed, from the backup that it made, if nothing was written since."""
    workspace, file = open_workspace(Path(folder)), Path(file)
    if workspace.ledger != LEDGER:
        raise Refused(
            "The ledger of this workspace is in PostgreSQL, which is not in the backup.",
            hint="Restore the database with its own tools, from the backup made before the upgrade.",
        )
    copy = about(file)
    with TemporaryDirectory(prefix=".discreet-", dir=workspace.folder) as scratch:
        kept = {one.home.path.name: _extracted(file, one.home.path.name, scratch) for one in databases(workspace)}
        changed = [
            (one, place)
            for one in databases(workspace)
            if (place := kept[one.home.path.name]) is not None and stored_version(place) != one.stored
        ]
        if not changed:
            raise BadInput(
                f"{file} has the formats that {workspace.folder} has.", hint="There is nothing to take back."
            )
        for one, _ in changed:  # from here on, no one writes
            if not is_retired(one.home.path):
                with closing(open_store(one.home.path, one.contents)) as store:
                    store.retire()
        try:
            for one, place in changed:
                _require_same(one, place, copy)
        except BaseException:
            for one, _ in changed:
                revive(one.home.path, one.contents)
            raise
        for one, place in changed:
            here = one.home.path
            for suffix in ("-wal", "-shm", "-sums"):
                here.with_name(here.name + suffix).unlink(missing_ok=True)
            place.replace(here)
            flush_name(here)
    return copy


def _require_same(one: Database, kept: Path, copy: Copy) -> None:
    """An error if a database has lines that are not in the backup."""
    last = f"SELECT number, digest FROM {one.contents.lines} ORDER BY number DESC LIMIT 1"  # noqa: S608  # our own table
    heads = []
    for place in (one.home.path, kept):
        with closing(_read_only(place)) as connection:
            heads.append(connection.execute(last).fetchall())
    if heads[0] != heads[1]:
        raise Refused(
            f"The {one.contents.what} was written to after {copy.made}, when the backup was made. Going back would "
            "forget that, and what was spent could be spent again.",
            hint="Stay with this version; or see docs/serve.md, “Backup”.",
        )


def _extracted(file: Path, name: str, scratch: str) -> Path | None:
    """A database of a backup, in a folder of ours; ``None`` if it has none of that name."""
    place = Path(scratch) / name
    with tarfile.open(file) as tar:
        try:
            member = tar.extractfile(name)
        except KeyError:
            return None
        if member is None:
            raise Damaged(f"{file} is not a complete backup of a workspace.")
        with member, os.fdopen(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE), "wb") as written:
            shutil.copyfileobj(member, written)
            written.flush()
            os.fsync(written.fileno())
    return place


def _read_only(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True)


def _require_sound(verdict: Verdict, workspace: Workspace) -> None:
    if not verdict.sound:
        raise Damaged(f"{workspace.folder} failed its check: {verdict}", hint="Restore a backup.")
