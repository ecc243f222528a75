"""The register: which releases of the same people have left, so that no release is taken for the first.

Privacy models speak of one release: two tables, each safe, may not be safe together. So the pipeline writes down what
it releases where the next one will pass: beside the card that the rows are published by (``patients.toml`` has
``patients.published.jsonl``) and, if there is one, in the workspace. The register holds no data, only what was made of
which table, and where it was put. Releases that nobody wrote down are found if they lie beside the new one.

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

from discreet.core.document import fields, loads, owned
from discreet.core.statement import Recipe
from discreet.core.table import Table
from discreet.errors import BadInput, Damaged, DiscreetError

_KINDS = {"publish": "published", "hide": "hidden", "synthesize": "synthetic", "learn": "learnt", "tabulate": "printed"}
_NAMED = 3
"""Number of earlier releases that are named, the last ones."""
_FIELDS = {"table": str, "source": str, "release": str, "method": str, "rows": int, "at": str}


@dataclass(frozen=True)
class Entry:
    """A release that has left."""

    table: str
    """What the card calls the rows."""
    source: str
    """Where they came from; empty if nobody wrote it down."""
    release: str
    """The folder it was put in; empty if it was handed out in memory."""
    method: str
    """The recipe's method."""
    rows: int
    """How many rows the table had then."""
    at: str = ""
    """The day; empty if nobody wrote it down."""

    @property
    def kind(self) -> str:
        """How it was made, in a word; only what was ``published`` can be checked together with others."""
        return kind_of(self.method)

    def __str__(self) -> str:
        gone = "" if not self.release or Path(self.release).is_dir() else ", no longer there"
        when = f" on {self.at}" if self.at else ""
        return f"{self.release or 'in memory'} ({self.kind}{when}, of {self.rows:,} rows{gone})"


class Register:
    """A file with a line for each release. Lines are added and never changed."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def read(self) -> list[Entry]:
        """All that was released, the oldest first; an error if the register was tampered with."""
        if not self.file.exists():
            return []
        found = []
        try:
            for line in self.file.read_text(encoding="utf-8").splitlines():
                said = fields(json.loads(line), "a line", **_FIELDS)
                folder = said["release"] and os.path.normpath(self.file.absolute().parent / said["release"])
                found.append(Entry(**(said | {"release": folder})))
        except (ValueError, BadInput) as error:
            raise Damaged(
                f"Line {len(found) + 1} of {self.file} does not say what was released: {error}",
                hint="Mend that line; whoever publishes must know what is out.",
            ) from error
        return found

    def add(self, entry: Entry) -> None:
        """Write down a release, durably; its folder is noted as seen from the register, so that both can move."""
        folder = entry.release and os.path.relpath(Path(entry.release).absolute(), self.file.absolute().parent)
        line = json.dumps(asdict(entry) | {"release": folder}, ensure_ascii=False)
        private = not self.file.absolute().parent.stat().st_mode & 0o077
        with open(self.file, "a", encoding="utf-8", newline="\n", opener=owned if private else None) as file:
            file.write(line + "\n")
            file.flush()
            os.fsync(file.fileno())


def earlier_releases(table: Table, beside: Path | None = None) -> list[Entry]:
    """What was released of the same people, by the table's registers and by releases in the folder ``beside``."""
    name = table.card.name
    listed = [entry for file in table.registers for entry in Register(file).read()]
    mine = [entry for entry in listed if name == entry.table or (table.source and table.source == entry.source)]
    found = {entry.release or str(place): entry for place, entry in enumerate(mine)}
    for file in sorted(beside.absolute().glob("*/recipe.json")) if beside is not None else ():
        if file.parent.name.startswith(".discreet-"):  # of a process that was stopped: it never got its name
            continue
        with suppress(DiscreetError, OSError, UnicodeDecodeError):  # whatever it is, it is no release
            made = Recipe.from_dict(loads(file.read_text(encoding="utf-8")))
            folder = os.path.normpath(file.parent)
            if made.parameters.get("table") == name and folder not in found:
                found[folder] = Entry(name, "", folder, made.method, int(made.parameters.get("rows") or 0))
    return list(found.values())


def kind_of(method: str) -> str:
    """A method in a word: published, synthetic, learnt, hidden, printed or masked."""
    return _KINDS.get(method.partition(" ")[0], "masked")


def notice(earlier: Iterable[Entry]) -> str:
    """What whoever releases must know of earlier releases of the same people; empty without any."""
    known = [str(entry) for entry in earlier]
    if not known:
        return ""
    before = f"; and {len(known) - _NAMED:,} before these" if len(known) > _NAMED else ""
    said = f"Earlier releases of the same people are out: {'; '.join(known[-_NAMED:])}{before}."
    return f"{said} Whoever has them and this one may learn more than each alone tells."


def register(table: Table, folder: Path | None, method: str, rows: int) -> None:
    """Write a release of a table down in all its registers."""
    today = dt.datetime.now(dt.UTC).date().isoformat()
    place = "" if folder is None else os.path.normpath(folder.absolute())
    for file in table.registers:
        Register(file).add(Entry(table.card.name, table.source, place, method, rows, today))
