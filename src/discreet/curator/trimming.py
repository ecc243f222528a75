"""Retention: delete by age what a workspace need not keep for ever.

May be deleted: answers to questions, results of jobs that are over, holder's copies, uploaded files, and the bounded
tables of versions that a revision replaced. Never deleted: the ledger, the register of releases, the audit log, cards,
what was published, synthetic stand-ins, and the releases that streams began with.

Why this is private: a charge pays for one answer, and a second one to the same question would average the noise away.
The charge of a deleted answer and the fingerprint of the answer (its seal) stay in the ledger, and so does, before
anything is deleted, a line that says that it was. So the same question at the same price is refused from then on,
rather than answered anew for nothing. At another price it is another question, and charged in full. What answers
told together is decided by losses in the ledger and facts in the register, which both stay. A crash after the line
and before the deletion leaves an answer that is still given, as it was; the next run deletes it. An answer that a crash
left without a seal is sealed before it is deleted, or it would count as one that was lost and given to no one.
"""

from __future__ import annotations

import datetime as dt
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

from discreet.budget.ledger import SqlLedger
from discreet.core.document import flush_name
from discreet.core.loss import Pure
from discreet.core.release import Receipt
from discreet.curator.people.audit import Audit
from discreet.curator.people.state import State
from discreet.curator.release_index import Shelf
from discreet.curator.workspace import Workspace, open_books, open_workspace
from discreet.errors import BadInput, DiscreetError
from discreet.releases.store import TRIMMED, Store

_QUESTIONS = ("ask ", "batch ", "release ")
"""How the keys of charges begin that paid for what an analyst asked; not for streams and stand-ins."""
_ANSWER = re.compile(r"[0-9a-f]{64}")
_JOB = re.compile(r"[0-9]{8}-[0-9a-z-]+")
_TWIN = "twin.parquet"


@dataclass(frozen=True)
class RetentionRule:
    """Age from which each kind of thing is deleted, days; ``None``: never."""

    answers: int | None = None
    jobs: int | None = None
    holder_copies: int | None = None
    uploads: int | None = None
    versions: int | None = None

    def __post_init__(self) -> None:
        days = [one for one in vars(self).values() if one is not None]
        if not days:
            raise BadInput("Nothing to delete was named.", hint="Say after how many days: --answers 365, --jobs 90, …")
        if min(days) < 1:
            raise BadInput("The retention period must be at least one day.", hint="Give a number of days from 1 on.")


@dataclass(frozen=True)
class Expired:
    """A file or folder that may be deleted."""

    kind: str
    """The field of ``RetentionRule`` that names it."""
    place: Path
    bytes: int


def find_expired(
    workspace: Workspace, ledger: SqlLedger, rule: RetentionRule, *, now: dt.datetime | None = None
) -> list[Expired]:
    """The files and folders that a rule allows to delete, as of ``now``."""
    found = []
    for kind, days in vars(rule).items():
        if days is not None:
            before = (now or dt.datetime.now(dt.UTC)) - dt.timedelta(days=days)
            places = _answers(workspace, ledger, before) if kind == "answers" else _files(workspace, kind, before)
            found += [Expired(kind, place, _size(place)) for place in places]
    return found


def trim(
    folder: str | Path, rule: RetentionRule, *, by: str, dry_run: bool = False, now: dt.datetime | None = None
) -> list[Expired]:
    """Delete what a rule allows to delete, and write the numbers to the audit log; with ``dry_run``, only list it."""
    workspace = open_workspace(Path(folder))
    with open_books(workspace) as ledger:
        found = find_expired(workspace, ledger, rule, now=now)
        if dry_run or not found:
            return found
        answers = [one.place.name for one in found if one.kind == "answers"]
        store = Store(workspace.releases, ledger)
        for identity in answers:
            table = store.receipts_at(identity)[0].account.partition("/")[0]
            store.find_folder(identity, table)  # which seals it, if a crash came before that: it may have been seen
            ledger.charge(table, Pure(0), key=TRIMMED + identity, what="The answer was deleted by a retention rule.")
    with closing(State.open(workspace)) as state:
        Audit(state).write(by, "trim", {kind: str(sum(one.kind == kind for one in found)) for kind in vars(rule)})
        Shelf(state, workspace).forget(answers)
        for one in found:
            _delete(one.place)
    return found


def _answers(workspace: Workspace, ledger: SqlLedger, before: dt.datetime) -> Iterator[Path]:
    """Answers to what analysts asked, given before a time."""
    store = Store(workspace.releases, ledger)
    for place in sorted(workspace.releases.iterdir()):
        if _ANSWER.fullmatch(place.name):
            with suppress(DiscreetError, OSError):  # one that cannot be read is for ``verify`` to report
                receipts = store.receipts_at(place.name)
                if receipts and all(_was_asked(one) and one.at < before for one in receipts):
                    yield place


def _was_asked(receipt: Receipt) -> bool:
    return "/" in receipt.account and receipt.key.startswith(_QUESTIONS)


def _files(workspace: Workspace, kind: str, before: dt.datetime) -> Iterator[Path]:
    """Files and folders of a kind that were last written before a time."""
    used = {(workspace.folder / one.twin).resolve() for one in workspace.tables.values()}
    for name in workspace.private:
        with suppress(DiscreetError):
            used.add(Path(workspace.source(name)).resolve())
    places, right = _KINDS[kind]
    for place in sorted(workspace.folder.glob(places)):
        if right(place) and place.resolve() not in used and place.stat().st_mtime < before.timestamp():
            yield place


_KINDS: dict[str, tuple[str, Callable[[Path], bool]]] = {
    "jobs": ("papers/*", lambda place: place.is_dir() and bool(_JOB.fullmatch(place.name))),
    "holder_copies": ("published/*.holder.*", lambda place: place.is_file() and not place.name.startswith(".")),
    "uploads": ("uploads/*", lambda place: place.is_file() and not place.name.startswith(".")),
    "versions": ("tables/**/" + _TWIN, lambda place: place.is_file()),
}
"""Where things of a kind are, and which of them."""


def _size(place: Path) -> int:
    files = [place] if place.is_file() else [one for one in place.rglob("*") if one.is_file()]
    return sum(one.stat().st_size for one in files)


def _delete(place: Path) -> None:
    """Delete a file or a folder; of a folder nothing keeps its name for a moment, so none is seen half."""
    gone = place.with_name(f".trimmed-{place.name}")
    place.rename(gone)
    flush_name(place)
    shutil.rmtree(gone) if gone.is_dir() else gone.unlink()
