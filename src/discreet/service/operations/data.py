"""Operations on data that a steward brings: uploads, drafted cards, whether rows fit a card, and tables made of them.

A file that is uploaded lies in ``uploads/`` of the workspace, under a name of ours, for its owner alone; nothing in it
is run. Rows, and values that are counted or do not fit, are for stewards; that someone looked is written to the audit
log.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import AsyncIterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from discreet.budget.filter import Budget
from discreet.core.card import Card
from discreet.core.document import owned
from discreet.core.draft import Draft
from discreet.core.loss import Loss
from discreet.core.table import Table, violations
from discreet.curator.curator import Curator
from discreet.curator.people.person import Person
from discreet.curator.tables import card_changes, require_no_secret
from discreet.engines.files import format_of
from discreet.engines.limits import limited
from discreet.engines.read import draft, parse_address, read, shown
from discreet.errors import BadInput, DataError, NotFound
from discreet.service.operations.permissions import Permissions

FOLDER = "uploads"
MOST_BYTES = 1 << 30
"""Largest file that can be uploaded, bytes."""
_KEPT = re.compile(r"[0-9a-f]{12}-[A-Za-z0-9_.-]{1,80}")
_SHOWN = 50
"""Largest number of rows in a preview."""


@dataclass(frozen=True)
class Level:
    """One level of a column's hierarchy on the rows: its groups, the smallest of them, and the first few."""

    level: int
    groups: int
    smallest: int
    examples: tuple[tuple[str, int], ...]


class DataOperations:
    """From a file to a table of the workspace."""

    def __init__(self, curator: Curator, may: Permissions) -> None:
        self._curator, self._may = curator, may

    async def upload(self, who: Person, name: str, chunks: AsyncIterable[bytes]) -> str:
        """Keep a file, as it comes; what to call it from then on. Nothing is left of one that is too large."""
        with self._may.noted(who.name, "upload") as about:
            self._may.require_steward(who)
            folder = self._curator.workspace.folder / FOLDER
            folder.mkdir(mode=0o700, exist_ok=True)
            plain = re.sub(r"[^A-Za-z0-9_.-]+", "_", Path(name).name).lstrip(".")[-80:]
            scratch = folder / f".{os.urandom(8).hex()}"
            digest, size = hashlib.sha256(), 0
            try:
                with open(scratch, "xb", opener=owned) as file:
                    async for chunk in chunks:
                        size += len(chunk)
                        if size > MOST_BYTES:
                            raise BadInput(f"A file may have {MOST_BYTES:,} bytes at most.", hint="Connect a database.")
                        digest.update(chunk)
                        file.write(chunk)
                kept = f"{digest.hexdigest()[:12]}-{plain}"
                named = scratch.with_name(f"{scratch.name}-{plain}")
                scratch.rename(named)
                scratch = named
                format_of(scratch)
                scratch.replace(folder / kept)
            finally:
                scratch.unlink(missing_ok=True)
            about |= {"upload": kept, "bytes": str(size)}
            return kept

    def uploads(self, who: Person) -> list[str]:
        """The files that were uploaded, newest first."""
        self._may.require_steward(who)
        files = (self._curator.workspace.folder / FOLDER).glob("[0-9a-f]*")
        return [file.name for file in sorted(files, key=lambda file: -file.stat().st_mtime)]

    def draft(self, who: Person, source: str) -> Draft:
        """Draft a card by a look at the rows: for the steward's eyes."""
        with self._may.noted(who.name, "draft a card", source=shown(source)):
            self._may.require_steward(who)
            with limited(self._curator.workspace.limits):
                return draft(self.source(source), name=_table_name(source))

    def misfits(self, who: Person, source: str, card: Card) -> Mapping[str, tuple[str, ...]]:
        """How the rows do not fit a card, by column; under an empty name what is about all of them."""
        found: dict[str, tuple[str, ...]] = {}
        try:
            with self._rows(who, "check rows", source, card) as table:
                for one in violations(table):
                    found[one.column] = (*found.get(one.column, ()), str(one).partition(": ")[2])
        except DataError as error:
            return {"": (str(error),)}
        return found

    def preview(self, who: Person, source: str, card: Card) -> pa.Table:
        """Some rows as the card reads them."""
        with self._rows(who, "look at rows", source, card) as table:
            return table.head(_SHOWN)

    def levels(self, who: Person, source: str, card: Card, column: str) -> list[Level]:
        """What each level of a column's hierarchy makes of the rows."""
        found, hierarchy = [], card[column].hierarchy
        with self._rows(who, "look at levels", source, card) as table:
            for level in range(0 if hierarchy is None else hierarchy.height + 1):
                counted = table.histogram(column, levels={column: level})
                pairs = sorted(zip(*(one.to_pylist() for one in counted.columns), strict=True), key=lambda one: -one[1])
                examples = tuple((str(value), int(count)) for value, count in pairs[:5])
                found.append(Level(level, len(pairs), min((count for _, count in pairs), default=0), examples))
        return found

    def add(self, who: Person, name: str, source: str, card: Card, budget: Budget | Loss) -> None:
        """Make a table of the workspace."""
        with self._may.noted(who.name, "add table", table=name, source=shown(source), budget=str(budget)):
            self._may.require_steward(who)
            self._curator.add_table(name, str(self.source(source)), card, budget)

    def changes(self, who: Person, name: str, card: Card) -> tuple[str, ...]:
        """What a revised card of a table would change."""
        self._may.require_steward(who)
        return card_changes(self._curator.workspace.full_card(name), card)

    def revise(self, who: Person, name: str, card: Card) -> tuple[str, ...]:
        """Register a table again under a revised card: what changed."""
        with self._may.noted(who.name, "revise card", table=name) as about:
            self._may.require_steward(who)
            changes = self._curator.revise_card(name, card)
            about["changes"] = str(len(changes))
            return changes

    def source(self, source: str) -> str:
        """Where the rows are: an upload by its name, a table of the workspace (``table:visits``), or an address."""
        if source.startswith("table:"):
            name = source.removeprefix("table:")
            if name not in self._curator.workspace.tables:
                raise NotFound(f"There is no table {name!r} here.")
            return self._curator.workspace.source(name)
        if "://" in source:
            require_no_secret(source)
            parse_address(source)
            return source
        place = self._curator.workspace.folder / FOLDER / source
        if not _KEPT.fullmatch(source) or not place.is_file() or place.is_symlink():
            raise NotFound("There is no such upload here.", hint="Upload the file again.")
        return str(place)

    @contextmanager
    def _rows(self, who: Person, action: str, source: str, card: Card) -> Iterator[Table]:
        """The rows as a card reads them, within limits: for the steward's eyes, and written down."""
        with self._may.noted(who.name, action, source=shown(source)):
            self._may.require_steward(who)
            with limited(self._curator.workspace.limits):
                table = read(self.source(source), card)
                try:
                    yield table
                finally:
                    table.engine.close()


def _table_name(source: str) -> str:
    """A name for the table of a file: that of the file, as SQL takes it."""
    name: Any = source.rpartition("#")[2] if "://" in source else source.partition("-")[2].partition(".")[0]
    plain = re.sub(r"\W+", "_", name.rpartition(".")[2] if "://" in source else name)[:40].strip("_")
    return plain if re.match(r"[A-Za-z_]", plain) else f"table_{plain}"[:40]
