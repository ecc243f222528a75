"""The register: which releases of the same people have left, so that no release is taken for the first.

Privacy models speak of one release: two tables, each safe, may not be safe together. So the pipeline writes down what
it releases where the next one will pass: beside the card that the rows are published by (``patients.toml`` has
``patients.register.db``; cards that declare a population share that of the population) and, if there is one, in the
workspace. Releases that no one wrote down are found if they lie beside the new one.

A line says what was made of which table, and where it was put. With it are kept the facts that the release tells, and
the group of every person in it: for the holder's eyes, as the rows are.

It is kept with the ledger's care (``budget/store.py``): a line is durable before a release leaves, and carries the
digest of the line before it, of its own content and of what is kept with it. How far the register had come is noted
outside of it, too. One that was edited, damaged, cut short, or put back from an older copy is an error before
anything leaves, since whatever it forgot would be left out of what is checked.

Who is in a table is not compared: tomorrow's table has a few people more, and yesterday's release still tells of all
others. So whatever was made of the same population, by the same card's table, or of the same source, is of the same
people.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from discreet.budget.entries import START
from discreet.budget.store import Contents, Home, Session, Store, digest, lines_after, require_head
from discreet.core.document import Format, fields, loads
from discreet.core.statement import Recipe
from discreet.core.table import REGISTER_SUFFIX, Table
from discreet.errors import BadInput, DiscreetError, LedgerError, NotFound, Taken, Unsound

FORMAT: Format[Session] = Format("register", error=LedgerError)
_KINDS = {
    "publish": "published",
    "hide": "hidden",
    "synthesize": "synthetic",
    "learn": "learnt",
    "tabulate": "tabulated",
    "restore": "not registered",
}
_NAMED = 3
"""Number of earlier releases that are named, the last ones."""
_TEXTS = dict.fromkeys(("population", "table", "source", "release", "method", "at", "title", "facts", "note"), str)
_FIELDS: dict[str, type] = {"number": int, "rows": int, "told": dict, "sums": dict, **_TEXTS}
RECIPIENT = "recipient"
"""What a line tells of who holds a table that did not leave from here (``holdings.py``)."""
_FACTS, _PEOPLE = "facts", "people"
"""What is kept with a line."""

REGISTER = Contents(
    format=FORMAT,
    application=0x64635267,  # "dcRg"
    schema=(
        "CREATE TABLE lines (number integer PRIMARY KEY, content text NOT NULL, digest text NOT NULL)",
        "CREATE TABLE attachments (number integer NOT NULL, kind text NOT NULL, data bytea NOT NULL, "
        "PRIMARY KEY (number, kind))",
    ),
    lines="lines",
    begin=lambda session: None,
    again="Try again: at worst, the release is listed twice.",
    remedy="Nothing can be released until it is repaired, or earlier releases would be missed in checks: "
    "restore the newest copy, or a backup. docs/publish.md, “A damaged or outdated register”, says what to do "
    "without one.",
)
"""What a store of a register holds."""


@dataclass(frozen=True)
class Entry:
    """A release that has left."""

    number: int
    """Its line in the register; 0 if it is in none, and was found in a folder."""
    population: str
    """Which people it is of: what the card says, or the card's name."""
    table: str
    """What the card calls the rows."""
    source: str
    """Where they came from; empty if no one wrote it down."""
    release: str
    """The folder it was put in; empty if it was handed out in memory."""
    method: str
    """The recipe's method."""
    rows: int
    """How many rows the table had then."""
    at: str = ""
    """When, by UTC, to the second; empty if no one wrote it down."""
    title: str = ""
    facts: str = "opaque"
    """What is known of what it tells: ``figures``, ``loss`` or ``opaque``."""
    told: Mapping[str, Any] = field(default_factory=dict)
    """More about that: why it is opaque, the loss, what the figures are of."""
    note: str = ""
    """Why it was released although something spoke against it."""

    @property
    def kind(self) -> str:
        """How it was made, in a word; only what was ``published`` can be checked together with others."""
        return kind_of(self.method)

    def __str__(self) -> str:
        gone = "" if not self.release or Path(self.release).is_dir() else ", no longer there"
        when = f" on {self.at[:10]}" if self.at else ""
        rows = f", of {self.rows:,} rows" if self.rows else ""
        return f"{self.release or 'in memory'} ({self.kind}{when}{rows}{gone})"


@dataclass(frozen=True)
class _Line:
    """A line as it was read: what left, and the SHA-256 of what is kept with it, by its kind."""

    entry: Entry
    sums: Mapping[str, str]


@dataclass(frozen=True)
class Addition:
    """A release that is to be registered, and what is kept with its line."""

    entry: Entry
    facts: bytes | None = None
    people: bytes | None = None


class Register:
    """A register, at a place as ``Home`` writes it; opened and checked when it is first needed. One thread's own.

    Lines are added and never changed. One that was never written to is empty, and reading does not make it. ``folder``
    is where the register will lie, if it is being made elsewhere: folders of releases are noted as seen from there.
    """

    def __init__(self, place: str, *, folder: Path | None = None) -> None:
        self._home = Home.parse(place)
        self._folder = self._home.path.absolute().parent if folder is None else folder.absolute()
        self._store: Store | None = None
        self._lines: list[_Line] = []
        self._last = (0, START)
        self._digests: list[str] = []

    def digests(self) -> list[str]:
        """The digest of every line, the oldest first: no other line of any register has the same."""
        self.entries()
        return list(self._digests)

    def entries(self, population: str | None = None) -> list[Entry]:
        """All that was released, or all of one population, the oldest first."""
        if (store := self._found()) is not None:
            with store.reading() as session:
                self._catch_up(session)
        return [line.entry for line in self._lines if population in (None, line.entry.population)]

    def facts(self, number: int) -> bytes | None:
        """The facts that were kept with a line; ``None`` if there were none."""
        if not 1 <= number <= len(self.entries()) or (store := self._found()) is None:
            raise NotFound(f"The register {self._home.path} has no entry {number}.")
        with store.reading() as session:
            line = self._lines[number - 1]
            return self._attached(session, line, _FACTS) if _FACTS in line.sums else None

    def people(self, population: str) -> tuple[int, bytes] | None:
        """The groups of a population's people as they were kept last, and the line they were kept with."""
        if (store := self._found()) is None:
            return None
        with store.reading() as session:  # one state: another may be writing newer ones, and dropping these
            self._catch_up(session)
            newest = self._with_people(population)[-1:]
            return next(((line.entry.number, self._attached(session, line, _PEOPLE)) for line in newest), None)

    def add(
        self, entry: Entry, facts: bytes | None = None, people: bytes | None = None, *, after: int | None = None
    ) -> Entry:
        """Write down a release, durably; its folder is noted as seen from the register, so that both can move.

        ``after`` is the last line of the same people that it was checked against: if there is a later one by now,
        ``Taken`` is raised, and it has to be checked again. Of a population, the last two ``people`` are kept.
        """
        return self.add_all([Addition(entry, facts, people)], after=after)[0]

    def add_all(
        self, additions: Sequence[Addition], *, after: int | None = None, lines: int | None = None
    ) -> list[Entry]:
        """Write down several releases, all or none, as ``add`` does; the first of them is compared with ``after``.

        ``lines`` is how many lines the register must have: if it has more by now, ``Taken`` is raised.
        """
        store = self._found(create=True)
        assert store is not None  # noqa: S101  # just made, if it was not there
        written: list[tuple[_Line, str]] = []
        with store.writing() as session:
            self._catch_up(session)
            mine = [one.entry.number for one in self._lines if same_people(additions[0].entry, one.entry)]
            if lines not in (None, len(self._lines)) or (after is not None and mine and mine[-1] > after):
                raise Taken(
                    f"Another release of {additions[0].entry.population} was registered meanwhile, as entry "
                    f"{mine[-1] if mine else len(self._lines):,}.",
                    hint="Check this one together with it, and try again.",
                )
            before = self._last[1]
            for number, one in enumerate(additions, self._last[0] + 1):
                written.append(self._insert(session, one, number, before, [line for line, _ in written]))
                before = written[-1][1]
        self._lines += [line for line, _ in written]
        self._digests += [found for _, found in written]
        self._last = (len(self._lines), self._digests[-1])
        if store.witness:
            store.witness.write(*self._last)
        return [line.entry for line, _ in written]

    def _insert(
        self, session: Session, addition: Addition, number: int, before: str, earlier: Sequence[_Line]
    ) -> tuple[_Line, str]:
        """Write a line and what is kept with it; ``earlier`` are those of the same transaction. Gives its digest."""
        kinds = ((_FACTS, addition.facts), (_PEOPLE, addition.people))
        attached = {kind: data for kind, data in kinds if data is not None}
        at = addition.entry.at or dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
        entry = replace(addition.entry, number=number, at=at)
        line = _Line(entry, {kind: hashlib.sha256(data).hexdigest() for kind, data in attached.items()})
        content = self._written(line)
        found = digest(before, content)
        session.run("INSERT INTO lines (number, content, digest) VALUES (?, ?, ?)", [(number, content, found)])
        rows = [(number, kind, data) for kind, data in attached.items()]
        session.run("INSERT INTO attachments (number, kind, data) VALUES (?, ?, ?)", rows)
        if addition.people is not None:
            known = [*self._with_people(entry.population), *_with_people(earlier, entry.population)]
            old = [(one.entry.number, _PEOPLE) for one in known[:-1]][-1:]
            session.run("DELETE FROM attachments WHERE number = ? AND kind = ?", old)
        return line, found

    def verify(self) -> None:
        """Go through all lines and all that is kept with them again; ``Unsound`` if anything is not as it was."""
        if (store := self._found()) is None:
            return
        self._lines, self._last, self._digests = [], (0, START), []
        with store.reading() as session:
            self._catch_up(session)
            for problem in store.problems(session):
                raise Unsound(f"The file of the register {store.place} is damaged: {problem}.", hint=REGISTER.remedy)
            kept = set(session.rows("SELECT number, kind FROM attachments"))
            populations = {line.entry.population for line in self._lines}
            newest = {line.entry.number for one in populations for line in self._with_people(one)[-2:]}
            for line in self._lines:
                for kind in line.sums:
                    number = line.entry.number
                    if kind == _FACTS or number in newest or (number, kind) in kept:
                        self._attached(session, line, kind)
                        kept.discard((number, kind))
        if kept:
            raise self._unsound(f"no entry describes the attachment of entry {min(kept)[0]:,}")

    def close(self) -> None:
        """Let go of it; it is opened again when it is needed."""
        if self._store is not None:
            self._store.close()
        self._store = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _found(self, *, create: bool = False) -> Store | None:
        """The store, opened and checked; ``None`` if it was never made."""
        if self._store is None:
            store = self._home.find_or_create(REGISTER) if create else self._home.find(REGISTER)
            if store is None:
                return None
            head = store.witness.head() if store.witness else None  # before it is read: others may add lines any time
            try:
                with store.reading() as session:
                    self._catch_up(session)
                    require_head(session, "lines", head, f"The register {store.place}", REGISTER.remedy)
                if store.witness and self._last[0]:
                    store.witness.write(*self._last)
            except BaseException:
                store.close()
                raise
            self._store = store
        return self._store

    def _catch_up(self, session: Session) -> None:
        """Read the lines that came since, each checked against the one before it."""
        what = f"The register {self._home.path}"
        require_head(session, "lines", self._last if self._last[0] else None, what, REGISTER.remedy)
        for number, content, found in lines_after(session, REGISTER, self._last, what):
            self._lines.append(self._read(number, content))
            self._digests.append(found)
            self._last = (number, found)

    def _with_people(self, population: str) -> list[_Line]:
        return _with_people(self._lines, population)

    def _attached(self, session: Session, line: _Line, kind: str) -> bytes:
        """What was kept with a line; an error if it is not what the line says."""
        number = line.entry.number
        rows = session.rows("SELECT data FROM attachments WHERE number = ? AND kind = ?", (number, kind))
        if not rows:
            raise self._unsound(f"the {kind} of entry {number:,} are gone")
        data = bytes(rows[0][0]) if isinstance(rows[0][0], bytes | memoryview) else b""
        if hashlib.sha256(data).hexdigest() != line.sums[kind]:
            raise self._unsound(f"the {kind} of entry {number:,} were changed")
        return data

    def _written(self, line: _Line) -> str:
        """A line's content: JSON in one spelling only."""
        folder = line.entry.release and os.path.relpath(Path(line.entry.release).absolute(), self._folder)
        said = {**vars(line.entry), "release": folder, "told": dict(line.entry.told), "sums": line.sums}
        try:
            return json.dumps(said, sort_keys=True, separators=(",", ":"), allow_nan=False)
        except (TypeError, ValueError) as error:
            raise BadInput(f"The facts of a release cannot be written as JSON: {error}.") from None

    def _read(self, number: int, content: str) -> _Line:
        try:
            said = fields(json.loads(content), "it", **_FIELDS)
        except (ValueError, BadInput) as error:
            problem = str(error).rstrip(".")
            raise self._unsound(f"entry {number:,} does not describe a release: {problem}") from None
        sums, release = said.pop("sums"), said["release"]
        said["release"] = release and os.path.normpath(self._folder / release)
        return _Line(Entry(**said | {"number": number}), sums)

    def _unsound(self, problem: str) -> Unsound:
        return Unsound(f"The register {self._home.path} was edited or damaged: {problem}.", hint=REGISTER.remedy)


def _with_people(lines: Sequence[_Line], population: str) -> list[_Line]:
    """The lines of a population with which the groups of its people were kept."""
    return [line for line in lines if line.entry.population == population and _PEOPLE in line.sums]


def earlier_releases(table: Table, beside: Path | None = None) -> list[Entry]:
    """What was released of the same people, by the table's registers and by releases in the folder ``beside``."""
    found: dict[str, Entry] = {}
    for place in table.registers:
        with Register(place) as register:
            mine = (entry for entry in register.entries() if is_of(table, entry) and RECIPIENT not in entry.told)
            found |= {entry.release or f"{place} {entry.number}": entry for entry in mine}
    for file in sorted(beside.absolute().glob("*/recipe.json")) if beside is not None else ():
        if file.parent.name.startswith(".discreet-"):  # of a process that was stopped: it never got its name
            continue
        with suppress(DiscreetError, OSError, UnicodeDecodeError):  # whatever it is, it is no release
            made = Recipe.from_dict(loads(file.read_text(encoding="utf-8")))
            folder = os.path.normpath(file.parent)
            if made.parameters.get("table") == table.card.name and folder not in found:
                rows = int(made.parameters.get("rows") or 0)
                method = f"tabulate {made.method}" if "tables" in made.parameters else made.method
                found[folder] = replace(entry_of(table, file.parent, method, rows), source="")
    return list(found.values())


def with_registers_beside(table: Table) -> Table:
    """The table with all registers beside its own that list releases of the same source."""
    return replace(table, registers=registers_beside(table.registers, table.source))


def registers_beside(places: Sequence[str], source: str) -> tuple[str, ...]:
    """Some registers, and all beside them that list releases of the same source: from when its card had another file
    name, or declared another population."""
    found = []
    for folder in dict.fromkeys(Path(place).parent for place in places if place.endswith(REGISTER_SUFFIX)):
        for file in sorted(folder.glob(f"*{REGISTER_SUFFIX}")):
            if source and str(file) not in places:
                with Register(str(file)) as register:
                    found += [str(file)] if any(one.source == source for one in register.entries()) else []
    return (*places, *found)


def is_of(table: Table, entry: Entry) -> bool:
    """Whether an earlier release is of the same people: of its population, or made of that table or source."""
    return same_people(entry_of(table, None, "", 0), entry)


def same_people(one: Entry, other: Entry) -> bool:
    """Whether two releases are of the same people: of one population, or made of one table or source."""
    if one.population == other.population or one.table == other.table:
        return True
    return bool(one.source) and one.source == other.source


def kind_of(method: str) -> str:
    """A method in a word: published, synthetic, learnt, hidden, tabulated or masked."""
    return _KINDS.get(method.partition(" ")[0], "masked")


def notice(earlier: Iterable[Entry]) -> str:
    """What anyone who releases must know of earlier releases of the same people; empty without any."""
    known = [str(entry) for entry in earlier]
    if not known:
        return ""
    before = f"; and {len(known) - _NAMED:,} before these" if len(known) > _NAMED else ""
    said = f"There are earlier releases about the same people: {'; '.join(known[-_NAMED:])}{before}."
    return f"{said} Together with this one they may reveal more than each does alone."


def entry_of(table: Table, folder: Path | None, method: str, rows: int, **more: Any) -> Entry:
    """The entry of a release of a table that is to be registered; ``more`` are further fields of it."""
    place = "" if folder is None else os.path.normpath(folder.absolute())
    return Entry(0, table.card.people, table.card.name, table.source, place, method, rows, **more)
