"""Release index: every release of a workspace, answers and published ones, and who may have each.

The releases themselves are folders and files; the list is in the service's database, so that it can be searched.
Nothing on it is about rows: what was released, of which tables, by whom, for which loss, and where it is.
"""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Self

from discreet.budget.entries import require_name
from discreet.budget.store import Session
from discreet.core import loss as losses
from discreet.core.loss import Loss, Pure
from discreet.core.release import Receipt, Release, load_papers
from discreet.curator.answer import KEPT, is_synthetic
from discreet.curator.people.state import State
from discreet.curator.workspace import Workspace
from discreet.errors import BadInput, DiscreetError, NotFound
from discreet.releases.store import ALSO_CHARGED

ANSWER = "answer"
SYNTHETIC = "synthetic"
"""Kind of a table's synthetic stand-in in the release index."""
LEARNT = "learnt"
"""Kind of a model in the release index, whether with a privacy loss or with integral privacy."""
HOLDER = "the holder"
"""Author of releases charged to a table itself; no user can have this name."""
_ID = re.compile(r"[0-9a-f]{64}|[0-9a-z-]{8,40}")
_ANSWER_ID = re.compile(r"[0-9a-f]{64}")
_PAGE = 500
_TABLES = (
    "CREATE TABLE IF NOT EXISTS shelf (id text PRIMARY KEY, kind text NOT NULL, title text NOT NULL, "
    "tables text NOT NULL, author text NOT NULL, at text NOT NULL, method text NOT NULL, loss text, "
    "private integer NOT NULL, shared integer NOT NULL, place text NOT NULL)",
    "CREATE INDEX IF NOT EXISTS shelf_at ON shelf (at)",
    "CREATE TABLE IF NOT EXISTS shelf_tables (name text, release text, PRIMARY KEY (name, release))",
    "CREATE TABLE IF NOT EXISTS shelf_holders (name text, release text, PRIMARY KEY (name, release))",
)
_ALL = "SELECT id, kind, title, tables, author, at, method, loss, private, shared, place FROM shelf"
_ADD = (
    "INSERT INTO shelf (id, kind, title, tables, author, at, method, loss, private, shared, place) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
)
_ADD_TABLE = "INSERT INTO shelf_tables (name, release) VALUES (?, ?) ON CONFLICT DO NOTHING"
_ADD_HOLDER = "INSERT INTO shelf_holders (name, release) VALUES (?, ?) ON CONFLICT DO NOTHING"
_OF_TABLES = "id IN (SELECT release FROM shelf_tables WHERE name IN"


@dataclass(frozen=True)
class Shelved:
    """Entry of the release index."""

    id: str
    """Identity of the question, or an identifier of its own."""
    kind: str
    """Verb that made it: ``answer``, ``published``, ``tabulated``, …."""
    title: str
    tables: tuple[str, ...]
    """Tables about people that it was made from."""
    by: str
    at: dt.datetime
    method: str
    loss: Loss | None
    private: bool
    """Whether the release may be called private (``Release.private``)."""
    shared: bool
    """Whether the analysts of its tables may have it."""
    place: str
    """Its folder, or its file, relative to the workspace."""

    @classmethod
    def answer(cls, id: str, release: Release[Any], tables: tuple[str, ...], *, by: str) -> Self:
        """Entry of an answer given to an analyst; it was charged, so it has a receipt.

        A synthetic answer has the older receipt of its stand-in: the answer itself was made now, free of charge.
        """
        if release.receipt is None:
            raise BadInput("An answer has a receipt.")
        made_now = is_synthetic(release)
        return cls(
            id=id,
            kind=ANSWER,
            title=release.title,
            tables=tables,
            by=by,
            at=dt.datetime.now(dt.UTC) if made_now else release.receipt.at,
            method=release.recipe.method,
            loss=Pure(0) if made_now else release.statement.loss,
            private=release.private,
            shared=False,
            place=f"{KEPT if made_now else 'releases'}/{id}",
        )

    @classmethod
    def synthetic(cls, id: str, release: Release[Any], table: str, *, by: str) -> Self:
        """Entry of a table's synthetic stand-in, which the table's analysts may have."""
        return replace(cls.answer(id, release, (table,), by=by), kind=SYNTHETIC, shared=True)

    @classmethod
    def learnt(cls, id: str, release: Release[Any], table: str, *, by: str) -> Self:
        """Entry of a model that was charged to a table, which is its holder's until they share it."""
        return replace(cls.answer(id, release, (table,), by=by), kind=LEARNT)


class Shelf:
    """Index of a workspace's releases."""

    def __init__(self, state: State, workspace: Workspace) -> None:
        self._state = state
        self._workspace = workspace
        state.ensure(*_TABLES)

    def put(self, one: Shelved) -> None:
        """Add a release. An existing entry is not changed, but its author is added to those who may have it."""
        self._require_right(one)
        self._state.change(lambda session: _put(session, [one]))

    def find(self, id: str, *, adopt: bool = True) -> Shelved:
        """Entry of a release by its id; an answer given elsewhere (such as the command line) is added to the index.

        Without ``adopt`` it is not: an answer that is kept and not yet given must show to no one who waits for it.
        """
        if _ID.fullmatch(id):
            rows = self._state.rows(f"{_ALL} WHERE id = ?", (id,))
            if not rows and adopt and _ANSWER_ID.fullmatch(id) and self._list([id]):
                rows = self._state.rows(f"{_ALL} WHERE id = ?", (id,))
            if rows:
                return _shelved(rows[0])
        raise NotFound("There is no such release.")

    def all(
        self,
        *,
        tables: Collection[str] | None = None,
        kind: str | None = None,
        most: int = 100,
        before: dt.datetime | None = None,
        seen_by: str | None = None,
    ) -> list[Shelved]:
        """Entries, newest first, filtered by ``tables``, ``kind`` and time.

        ``seen_by`` leaves those that were given to this person or shared with everyone.
        """
        wanted: list[tuple[str, tuple[object, ...]]] = []
        if tables is not None:
            marks = ", ".join("?" * len(tables)) or "NULL"
            wanted.append((f"{_OF_TABLES} ({marks}))", tuple(tables)))
        if kind is not None:
            wanted.append(("kind = ?", (kind,)))
        if before is not None:
            wanted.append(("at < ?", (_stamp(before),)))
        if seen_by is not None:
            wanted.append(("(shared = 1 OR id IN (SELECT release FROM shelf_holders WHERE name = ?))", (seen_by,)))
        where = f"WHERE {' AND '.join(condition for condition, _ in wanted)}" if wanted else ""
        values = [value for _, some in wanted for value in some]
        rows = self._state.rows(f"{_ALL} {where} ORDER BY at DESC, id LIMIT ?", [*values, most])
        return [_shelved(row) for row in rows]

    def has(self, id: str, name: str) -> bool:
        """Whether a release was given to a user: an analyst who repeats a question gets the same answer."""
        return bool(self._state.rows("SELECT 1 FROM shelf_holders WHERE name = ? AND release = ?", (name, id)))

    def share(self, id: str, shared: bool) -> None:
        """Share a release with the analysts of its tables, or stop sharing it."""
        self.find(id)
        self._state.change(lambda session: session.run("UPDATE shelf SET shared = ? WHERE id = ?", [(int(shared), id)]))

    def forget(self, ids: Sequence[str]) -> None:
        """Take releases that were deleted off the index."""
        gone = [(id,) for id in ids]

        def forget(session: Session) -> None:
            session.run("DELETE FROM shelf WHERE id = ?", gone)
            session.run("DELETE FROM shelf_tables WHERE release = ?", gone)
            session.run("DELETE FROM shelf_holders WHERE release = ?", gone)

        self._state.change(forget)

    def path(self, id: str) -> Path:
        """Folder of a release, or its file, always inside the workspace."""
        one = self.find(id)
        place = self._inside(one.place)
        if not place.exists():
            if one.place.startswith(KEPT):
                raise NotFound(
                    "This answer came from a synthetic stand-in and is no longer stored.", hint="Ask again: it is free."
                )
            raise NotFound("This release is missing from the workspace.", hint="Restore it from a backup.")
        return place

    def adopt(self) -> int:
        """Add answers given elsewhere, such as on the command line; the number added."""
        listed = {id for (id,) in self._state.rows("SELECT id FROM shelf")}
        names = [place.name for place in self._workspace.releases.iterdir() if _ANSWER_ID.fullmatch(place.name)]
        return self._list(sorted(set(names) - listed))

    def _list(self, names: Sequence[str]) -> int:
        """Add some answers; the number that could be read."""
        found = [one for name in names for one in self._answers(name)]
        for start in range(0, len(found), _PAGE):
            self._state.change(partial(_put, some=found[start : start + _PAGE]))
        return len(found)

    def _answers(self, name: str) -> Iterator[Shelved]:
        """Entry of an answer, from its documentation; none if unreadable, which ``verify`` reports."""
        with suppress(DiscreetError, OSError, UnicodeDecodeError):
            release = load_papers(self._workspace.releases / name)
            also = [Receipt.from_dict(one) for one in release.recipe.parameters.get(ALSO_CHARGED, ())]
            receipts = [one for one in (release.receipt, *also) if one is not None]
            tables = tuple(one.account.partition("/")[0] for one in receipts)
            by = receipts[0].account.partition("/")[2]
            if by:
                yield Shelved.answer(name, release, tables, by=by)
            else:  # the holder's: rows are a stand-in, and anything else is a model
                rows = (self._workspace.releases / name / "payload.parquet").is_file()
                yield (Shelved.synthetic if rows else Shelved.learnt)(name, release, tables[0], by=HOLDER)

    def _require_right(self, one: Shelved) -> None:
        require_name(one.title, "A release")
        if not _ID.fullmatch(one.id):
            raise BadInput("The id of a release must be 64 hexadecimal digits, or 8 to 40 letters, digits and dashes.")
        self._inside(one.place)

    def _inside(self, place: str) -> Path:
        workspace = self._workspace.folder.resolve()
        found = (workspace / place).resolve()
        if workspace not in found.parents:
            raise BadInput("The folder of a release must be inside the workspace.")
        return found


def _put(session: Session, some: Sequence[Shelved]) -> None:
    session.run(_ADD, map(_row, some))
    session.run(_ADD_TABLE, [(name, one.id) for one in some for name in one.tables])
    session.run(_ADD_HOLDER, [(one.by, one.id) for one in some])


def _row(one: Shelved) -> tuple[object, ...]:
    loss = None if one.loss is None else json.dumps(one.loss.to_dict())
    tables, flags = json.dumps(one.tables), (int(one.private), int(one.shared))
    return (one.id, one.kind, one.title, tables, one.by, _stamp(one.at), one.method, loss, *flags, one.place)


def _shelved(row: tuple[Any, ...]) -> Shelved:
    id_, kind, title, tables, by, at, method, loss, private, shared, place = row
    when, cost = dt.datetime.fromisoformat(at), None if loss is None else losses.from_dict(json.loads(loss))
    named_ = tuple(json.loads(tables))
    return Shelved(id_, kind, title, named_, by, when, method, cost, bool(private), bool(shared), place)


def _stamp(at: dt.datetime) -> str:
    """Time as text whose order is chronological."""
    return at.astimezone(dt.UTC).isoformat(timespec="microseconds")
