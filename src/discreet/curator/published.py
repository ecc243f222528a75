"""Which releases of the same people are out already, so that a new one is never proposed as if it were the first.

Privacy models speak of one release: two tables, each safe, may not be safe together. So what is published is written
down where the next person who publishes will pass: beside the card that the rows are published by
(``patients.toml`` has ``patients.published.jsonl``) and, if there is one, in the workspace. The list holds no data,
only what was made of which table, and where it was put. Releases that nobody wrote down are found if they lie beside
the new one.

Who is in a table is not compared: tomorrow's table has a few people more, and yesterday's release still tells of all
others. So whatever was made by the same card's table, or of the same source, is of the same people.
"""

from __future__ import annotations

import datetime as dt
import json
import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from discreet.core.atomic_files import owned
from discreet.core.document import fields, loads
from discreet.core.recipe import Recipe
from discreet.curator.workspace import open_workspace
from discreet.engines.address import parse_address, shown
from discreet.errors import BadInput, Damaged, DiscreetError, NotFound

_WORDS = {"publish": "published", "hide": "hidden", "synthesize": "synthetic", "learn": "learnt"}
_NAMED = 3
"""So many earlier releases are named, the last ones."""
_FIELDS = {"table": str, "source": str, "release": str, "method": str, "rows": int, "at": str}


@dataclass(frozen=True)
class Published:
    """A release that was made."""

    table: str
    """What the card calls the rows."""
    source: str
    """Where they came from; empty if nobody wrote it down."""
    release: str
    """The folder it was put in."""
    method: str
    """``publish``, a masking method, ``hide``, or how rows were synthesized or a model learnt."""
    rows: int
    """How many rows there were then."""
    at: str = ""
    """The day; empty if nobody wrote it down."""

    @property
    def how(self) -> str:
        """How it was made, in a word; only what was ``published`` can be checked together with others."""
        return made_by(self.method)

    def __str__(self) -> str:
        gone = "" if Path(self.release).is_dir() else ", no longer there"
        when = f" on {self.at}" if self.at else ""
        return f"{self.release} ({self.how}{when}, of {self.rows:,} rows{gone})"


class Register:
    """The list of what was published, a line each. Lines are added and never changed."""

    def __init__(self, file: Path, *, private: bool = False) -> None:
        self.file = file
        self._opener = owned if private else None

    @classmethod
    def beside(cls, card: str | Path) -> Register:
        """The list of a card."""
        return cls(Path(card).with_suffix(".published.jsonl"))

    @classmethod
    def within(cls, workspace: str | Path, table: str) -> Register:
        """The list of a workspace, which must have the table."""
        found = open_workspace(Path(workspace))
        if table not in found.tables:
            raise NotFound(f"There is no table {table} in {workspace}; it has {', '.join(found.tables)}.")
        return cls(found.folder / "published.jsonl", private=True)

    def read(self) -> list[Published]:
        """All that was published, the oldest first; an error if the list was tampered with."""
        if not self.file.exists():
            return []
        found = []
        try:
            for line in self.file.read_text(encoding="utf-8").splitlines():
                said = fields(json.loads(line), "a line", **_FIELDS)
                place = os.path.normpath(self.file.absolute().parent / said["release"])
                found.append(Published(**(said | {"release": place})))
        except (ValueError, BadInput) as error:
            raise Damaged(
                f"Line {len(found) + 1} of {self.file} does not say what was published: {error}",
                hint="Mend that line; whoever publishes must know what is out.",
            ) from error
        return found

    def add(self, one: Published) -> None:
        """Write down a release; its folder is noted as seen from the list, so that both can move together."""
        place = os.path.relpath(Path(one.release).absolute(), self.file.absolute().parent)
        line = json.dumps(asdict(one) | {"release": place}, ensure_ascii=False)
        with open(self.file, "a", encoding="utf-8", newline="\n", opener=self._opener) as file:
            file.write(line + "\n")
            file.flush()
            os.fsync(file.fileno())


def earlier(table: str, source: str, registers: Iterable[Register], beside: Path) -> list[Published]:
    """What was made of the same people: by the registers, and by the recipes of releases in the folder ``beside``."""
    place = placed(source)
    listed = [one for register in registers for one in register.read()]
    found = {one.release: one for one in listed if table == one.table or place == one.source}
    for recipe in sorted(beside.absolute().glob("*/recipe.json")):
        with suppress(DiscreetError, OSError, UnicodeDecodeError):  # whatever it is, it is no release
            made = Recipe.from_dict(loads(recipe.read_text(encoding="utf-8")))
            folder = os.path.normpath(recipe.parent)
            if made.parameters.get("table") == table and folder not in found:
                found[folder] = Published(table, "", folder, made.method, int(made.parameters.get("rows", 0)))
    return list(found.values())


def made_by(method: str) -> str:
    """A method in a word: published, synthetic, learnt, hidden (secrets in transactions) or masked."""
    return _WORDS.get(method.lower().split()[0], "masked")


def told_of(others: Iterable[Published]) -> str:
    """What whoever publishes must know of releases of the same people, of which there are some."""
    known = [str(one) for one in others]
    before = f"; and {len(known) - _NAMED:,} before these" if len(known) > _NAMED else ""
    said = f"Earlier releases of the same people are out: {'; '.join(known[-_NAMED:])}{before}."
    return f"{said} Whoever has them and this one may learn more than each alone tells."


def now(table: str, source: str, folder: Path, method: str, rows: int) -> Published:
    """A release that was made just now."""
    today = dt.datetime.now(dt.UTC).date().isoformat()
    return Published(table, placed(source), os.path.normpath(folder.absolute()), method, rows, today)


def placed(source: str) -> str:
    """A source as it is written down: a full path, or an address without its password."""
    return shown(source) if parse_address(source) else os.path.normpath(Path(source).absolute())
