"""Copies of a workspace: one file that a workspace can be made of again.

Anyone who restores a copy must never give an answer that was not charged, nor two answers for one charge. So a copy is
the workspace as it was at one moment, that of its ledger, also if people ask while it is made:

* the ledger is copied first, by SQLite's own means: all of it as of one commit;
* then those answers of which every charge is in that copy. A charge is written before its answer, so no answer is in
  the copy without its charge; an answer is on the disk before its seal is written, so every answer that had been given
  by then is in the copy, and one that is missing is an error. An answer that was charged later is left out with its
  charge;
* people, the audit log and the list of releases are copied before either: what they list is in the copy, and what they
  do not list yet is listed when the service starts;
* streams are copied after the ledger: a step is in their database before its seal is in the ledger, so no seal is in
  the copy without its step. A step whose seal is not in it is sealed when it is asked again, as it was;
* the register of what has left is copied last: a release is in it before it has its place, so none is in the copy that
  is not in its register.

Why restoring is dangerous: whatever was spent after the copy was made is forgotten. The same budget could be spent
twice, and what had been answered since would be answered again, with other noise. So ``restore`` wants the newest
receipts, all of which must be in the copy, or someone to say that they know. Releases without a loss have no receipt:
that some may be missing from the register becomes a line of it, so that whatever is released from then on says that it
was not checked together with them.

A ledger in PostgreSQL, with the register beside it, is not copied: a database is backed up by its own means, *after*
the folder. Then it has the charge of every answer in the copy, and the line of every release; what it has beyond that
is refused, not answered again. Who restores the folder says which database it uses from then on: the archive names
the one that was in use, and a restored workspace must not charge that by accident.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import shutil
import sqlite3
import tarfile
from collections.abc import Iterable
from contextlib import closing, suppress
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from urllib.parse import quote

from discreet._version import __version__
from discreet.budget.entries import Charged
from discreet.budget.ledger import SqlLedger, open_ledger
from discreet.core.document import fields, give_name, settle
from discreet.core.loss import Pure
from discreet.core.release import Receipt, Release, is_release
from discreet.curator.people.state import FILE as STATE
from discreet.curator.people.state import State
from discreet.curator.streams import FILE as STREAMS
from discreet.curator.workspace import LEDGER, REGISTER, Workspace, open_books, open_workspace, require_free, set_ledger
from discreet.errors import BadInput, Damaged, LedgerError, NotFound, Refused
from discreet.noise.entropy import token
from discreet.releases.register import Entry, Register
from discreet.releases.store import RESTORED, SEAL, TRIMMED, Store, is_failure, receipts_of

FORMAT = 1
_ABOUT = "backup.json"
_RELEASES = "releases"


@dataclass(frozen=True)
class Copy:
    """What a copy says of itself."""

    made: str
    """When, by UTC."""
    releases: int
    """How many answers are in it."""
    lines: int
    """How many lines its ledger has; 0 if the ledger is in PostgreSQL."""
    discreet: str = __version__
    format: int = FORMAT


def back_up(folder: str | Path, file: str | Path, *, as_stored: bool = False) -> Copy:
    """Copy the workspace in ``folder`` to a new file. People may go on asking meanwhile.

    One that an earlier discreet wrote is copied ``as_stored``: for that discreet to restore. It is checked all the
    same, on a second copy, which this one migrates.
    """
    workspace, file = open_workspace(Path(folder)), Path(file).absolute()
    _require_new(file, workspace)
    workspace.require_twins()
    made = dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
    with TemporaryDirectory(prefix=".discreet-", dir=file.parent) as scratch:
        here = Path(scratch)
        with _copied_ledger(workspace, here, as_stored=as_stored) as book:
            charged = _charged(workspace, book)
            verdict = book.verify(one for receipts in charged.values() for one in receipts)
        if not verdict.sound:
            raise Damaged(f"{workspace.folder} failed its check: {verdict}", hint="Restore an older backup.")
        copied = [name for name in (LEDGER, STATE) if (here / name).is_file()]
        copy = Copy(made, len(charged), verdict.lines if LEDGER in copied else 0)
        (here / _ABOUT).write_text(json.dumps(asdict(copy)), encoding="utf-8")
        draft = here / "copy.tar"
        draft.touch(mode=0o600)  # it has rows of people in it
        with tarfile.open(draft, "w") as tar:
            for name in (_ABOUT, *copied):
                tar.add(here / name, name)
            tar.add(workspace.releases, _RELEASES, recursive=False)
            for place in charged:
                tar.add(place, f"{_RELEASES}/{place.name}")
            _add_rest(tar, workspace)
            if workspace.ledger == LEDGER and (workspace.folder / STREAMS).is_file():
                _copy_database(workspace.folder / STREAMS, here / STREAMS)
                tar.add(here / STREAMS, STREAMS)
            if _copied_register(workspace, here, as_stored=as_stored):
                tar.add(here / REGISTER, REGISTER)
        give_name(draft, file)
    return copy


def restore(
    file: str | Path,
    folder: str | Path,
    *,
    newest: Iterable[Receipt] | None = None,
    forget: bool = False,
    ledger: str | None = None,
) -> Copy:
    """Make a workspace in a new folder of a copy, all of which is checked, or on any failure nothing.

    ``newest`` are the receipts of the last answers that were given: if one is missing, the copy is too old and is
    refused. Without them, ``forget`` says that what was spent since the copy was made may be forgotten. ``ledger`` is
    the database of a workspace whose ledger is in PostgreSQL; one that the original did not have may be an older copy,
    and needs one or the other, too.
    """
    file, folder = Path(file), Path(folder).absolute()
    require_free(folder)
    with TemporaryDirectory(prefix=".discreet-", dir=folder.parent) as scratch:
        made = Path(scratch) / folder.name
        copy = _extracted(file, made)
        original = open_workspace(made).ledger
        _name_ledger(made, original, ledger)
        workspace = open_workspace(made)
        workspace.require_twins()
        with Register(workspace.register) as register:
            register.verify()
        with open_books(workspace, upgrade=True) as book:
            verdict = book.verify(Store(workspace.releases, book).receipts())
            if not verdict.sound:
                raise Damaged(f"{file} failed its check: {verdict}", hint="Restore another backup.")
            if newest is not None:
                _require_all_in(book, newest, copy)
            elif workspace.ledger != original and not forget:
                raise Refused(
                    "Whether the named database has every charge is not known: if it is an older copy, or if the "
                    "original goes on with its own, one budget could be spent twice.",
                    hint="Give the newest releases (--receipts FOLDER) to check that it has them, or confirm with "
                    "--yes-spent-is-forgotten.",
                )
            elif copy.lines and not forget:
                raise Refused(
                    f"Charges after {copy.made}, when this backup was made, would be lost: that budget could "
                    "be spent again, and repeated questions would get new noise.",
                    hint="Give the newest releases (--receipts FOLDER) to check that the backup has them, or "
                    "confirm with --yes-spent-is-forgotten.",
                )
            said = f"Restored from the backup of {copy.made}."
            book.charge(workspace.private[0], Pure(0), key=f"{RESTORED}{token(8)}", what=said)
        if workspace.ledger == LEDGER:
            _note_gap(workspace, copy)
        settle(made, folder)
    return copy


def _name_ledger(made: Path, inside: str, ledger: str | None) -> None:
    """Have an extracted workspace use the database that was named, and none that was not."""
    if inside == LEDGER and ledger is not None:
        raise BadInput(
            "The ledger of this backup is in the archive, not in a database.",
            hint="Restore it without --to, then: discreet workspace move-ledger",
        )
    if inside != LEDGER:
        if ledger is None:
            raise Refused(
                "The ledger of this workspace is in a database, which is not in the backup. The restored workspace "
                "would charge the database of the original.",
                hint="Restore the database, too, and name it: --to postgresql://…. If the original workspace is gone, "
                "that may be the database it had.",
            )
        set_ledger(made, ledger)


def _note_gap(workspace: Workspace, copy: Copy) -> None:
    """Register that releases may be missing, for the people of every table."""
    people = {}
    for name in workspace.private:
        with suppress(NotFound):  # an earlier discreet kept less of the card, and released nothing from here
            people[workspace.full_card(name).people] = name
    title, why = f"releases after the backup of {copy.made}", "releases made after the backup are not in the register"
    with Register(workspace.register) as register:
        for population, name in people.items():
            source = workspace.lineage(name)
            register.add(Entry(0, population, name, source, "", "restore", 0, title=title, told={"why": why}))


def receipts_in(folder: str | Path) -> list[Receipt]:
    """The receipts of all releases in a folder, or below it."""
    inside = sorted(Path(folder).rglob("*"))
    places = [place.parent for place in inside if place.name == "receipt.json"]
    places += [place for place in inside if place.is_file() and is_release(place)]
    found = [one for place in places for one in receipts_of(Release.load(place))]
    if not found:
        raise NotFound(f"There is no release with a receipt in {folder}.")
    return found


def _copied_ledger(workspace: Workspace, here: Path, *, as_stored: bool) -> SqlLedger:
    """The ledger that the copy will have: a copy of the file, or the database."""
    if workspace.ledger != LEDGER:
        return open_books(workspace)
    if as_stored:
        for name in (STATE, LEDGER):
            if (workspace.folder / name).is_file():
                _copy_database(workspace.folder / name, here / name)
        return open_ledger(shutil.copy(here / LEDGER, str(here / f"checked-{LEDGER}")))
    # both are held open meanwhile, so that the copying reader never is the last one, who would tidy up out of turn
    if (workspace.folder / STATE).is_file():
        with closing(State.open(workspace)):
            _copy_database(workspace.folder / STATE, here / STATE)
    with open_books(workspace):
        _copy_database(workspace.folder / LEDGER, here / LEDGER)
    return open_ledger(here / LEDGER)


def _copied_register(workspace: Workspace, here: Path, *, as_stored: bool) -> bool:
    """Whether there is a register to be copied, all of which was found as it was written."""
    if workspace.ledger != LEDGER or not (workspace.folder / REGISTER).is_file():
        return False
    if as_stored:
        _copy_database(workspace.folder / REGISTER, here / REGISTER)
        with Register(shutil.copy(here / REGISTER, str(here / f"checked-{REGISTER}"))) as register:
            register.verify()
        return True
    with Register(workspace.register) as register:
        register.verify()
        _copy_database(workspace.folder / REGISTER, here / REGISTER)
    return True


def _copy_database(source: Path, target: Path) -> None:
    target.touch(mode=0o600)
    try:
        with (
            closing(sqlite3.connect(f"file:{quote(str(source))}?mode=ro", uri=True)) as old,
            closing(sqlite3.connect(target)) as new,
        ):
            old.backup(new)
    except sqlite3.Error as error:
        raise LedgerError(f"{source} could not be copied: {error}.") from None


def _charged(workspace: Workspace, book: SqlLedger) -> dict[Path, list[Receipt]]:
    """Every answer of which all charges are in the copied ledger: where it is, and its receipts."""
    answers = {
        place: list(receipts_of(Release.load(place)))
        for place in sorted(workspace.releases.iterdir())
        if not place.name.startswith(".")
    }
    found = {place: charged for place, charged in answers.items() if all(book.find(one.key) == one for one in charged)}
    if workspace.ledger == LEDGER:  # one in PostgreSQL may have seals of other workspaces, too
        keys = [line.entry.key for line in book.lines() if isinstance(line.entry, Charged) and not is_failure(line)]
        trimmed = {key.removeprefix(TRIMMED) for key in keys if key.startswith(TRIMMED)}
        for identity in (key.removeprefix(SEAL) for key in keys if key.startswith(SEAL)):
            if workspace.releases / identity not in found and identity not in trimmed:
                raise Damaged(
                    f"The answer {identity} is missing from {workspace.releases}.",
                    hint="Restore it from an older backup: without it, that question cannot be asked again.",
                )
    return found


def _add_rest(tar: tarfile.TarFile, workspace: Workspace) -> None:
    """Add what is neither a database nor an answer: tables, published releases, holder's copies."""
    for path in sorted(workspace.folder.iterdir()):
        if path.name != _RELEASES and not path.name.startswith((".", LEDGER, STATE, STREAMS, REGISTER)):
            _add(tar, path, path.name)


def _add(tar: tarfile.TarFile, path: Path, name: str) -> None:
    """Add a file or a folder, but nothing that is still being made: that has a dot before its name, and may vanish."""
    tar.add(path, name, recursive=False)
    if path.is_dir():
        for inner in sorted(path.iterdir()):
            if not inner.name.startswith("."):
                _add(tar, inner, f"{name}/{inner.name}")


def _extracted(file: Path, place: Path) -> Copy:
    try:
        if not tarfile.is_tarfile(file):
            raise Damaged(f"{file} is not a backup of a workspace.", hint="`discreet workspace backup` makes them.")
        with tarfile.open(file) as tar:
            _extract(tar, place)
        copy = _about((place / _ABOUT).read_bytes())
        (place / _ABOUT).unlink()
    except FileNotFoundError:
        what = f"There is no file {file}." if not file.exists() else f"{file} is not a backup of a workspace."
        raise NotFound(what) from None
    except (tarfile.TarError, ValueError, BadInput, OSError) as error:
        raise Damaged(f"{file} is not a complete backup of a workspace: {error}") from None
    return _known(file, copy)


def about(file: Path) -> Copy:
    """What a backup says of itself."""
    try:
        with tarfile.open(file) as tar:
            member = tar.extractfile(_ABOUT)
            copy = _about(member.read() if member else b"")
    except FileNotFoundError:
        raise NotFound(f"There is no file {file}.") from None
    except (tarfile.TarError, KeyError, ValueError, BadInput, OSError) as error:
        raise Damaged(f"{file} is not a backup of a workspace: {error}") from None
    return _known(file, copy)


def _about(data: bytes) -> Copy:
    kinds: dict[str, type] = {"made": str, "releases": int, "lines": int, "discreet": str, "format": int}
    return Copy(**fields(json.loads(data), _ABOUT, **kinds))


def _known(file: Path, copy: Copy) -> Copy:
    if copy.format > FORMAT:
        raise BadInput(f"{file} was made by discreet {copy.discreet}.", hint="Install a later version of discreet.")
    return copy


def _extract(tar: tarfile.TarFile, place: Path) -> None:
    """Write the files and folders of an archive below a new folder, readable by their owner alone.

    Links and devices are refused, and every name is one below the folder, so nothing is written or read elsewhere. (The
    filters of ``extractall`` came with Python 3.11.4.)
    """
    place.mkdir(mode=0o700)
    for member in tar:
        name = PurePosixPath(member.name)
        if name.is_absolute() or ".." in name.parts or not (member.isdir() or member.isreg()):
            raise tarfile.TarError(f"{member.name!r} is not part of a workspace.")
        target = place.joinpath(*name.parts)
        if member.isdir():
            target.mkdir(mode=0o700, exist_ok=True)
        elif content := tar.extractfile(member):
            with content, os.fdopen(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                shutil.copyfileobj(content, file)


def _require_all_in(book: SqlLedger, newest: Iterable[Receipt], copy: Copy) -> None:
    for one in newest:
        if book.find(one.key) != one:
            raise Refused(
                f"The backup was made on {copy.made}, and the charge on {one.at.isoformat(timespec='seconds')} "
                f"to {one.account} is not in it. Later charges would be lost.",
                hint="Restore a later backup; or, if there is none, confirm with --yes-spent-is-forgotten.",
            )


def _require_new(file: Path, workspace: Workspace) -> None:
    if file.exists():
        raise BadInput(f"{file} already exists.", hint="Name a new file: backups are never overwritten.")
    if not file.parent.is_dir():
        raise NotFound(f"There is no folder {file.parent} to put {file.name} in.")
    if file.is_relative_to(workspace.folder):
        raise BadInput("A backup inside the workspace would be lost with it.", hint="Choose another folder.")
