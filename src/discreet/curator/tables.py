"""Tables of a workspace: registered with a card, when the workspace is made or later, and registered again under a
revised card.

    tables/visits/               card.toml, source.toml and twin.parquet of a table that the workspace began with
    tables/visits/1f0c…/         the same of a table that was added later, or of a further version of one
    tables/visits/table.toml     the record of the current version, if it is not the one in workspace.toml

A version is made in a folder of its own, and counts once its record has its name: a crash before that leaves the
workspace as it was, with a folder that nothing refers to.

Why a revised card loses nothing: every version is cut from the rows of the same people, by the same unit, and every
charge on any version goes to the account of the table. Losses of one person add up there whatever card an answer was
given under, and the register of releases is the workspace's. So the unit, and whether a table is public, cannot change.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
import tomllib
from collections.abc import Collection, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias
from urllib.parse import unquote

import pyarrow.parquet as pq

from discreet.core import toml
from discreet.core.card import Card, Role
from discreet.core.cardfile import card_fields, dump_cards, load_card, load_cards
from discreet.core.document import fields, flush_name, private_folder, settle
from discreet.core.identifiers import require_rows_of_people
from discreet.core.table import Table
from discreet.engines.bounded_table import bounded, require_narrow, write_parquet
from discreet.engines.read import draft, parse_address, read, registers_of, shown, written_source
from discreet.errors import BadInput, Damaged, EngineError
from discreet.releases.adoption import Chain, adopt, read_chains
from discreet.releases.register import registers_beside
from discreet.verbs.ask.source import described

Given: TypeAlias = tuple[Any, Card | str | Path]
"""A source, as ``read`` takes it, and its card."""
Public: TypeAlias = Any
"""A source, or a source and its card."""
IN_MEMORY = " in memory"
"""How the place of rows ends that came from no file and no database."""
_RECORD = "table.toml"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,39}")
_SECRET = re.compile(r"://[^/?@]*:[^@]+@|[?&;/](password|sslpassword|token|oauth_client_secret)=", re.IGNORECASE)


@dataclass(frozen=True)
class Registered:
    """A table of a workspace: where its bounded table is, and what it was cut from."""

    source: str
    """Where the rows came from, for people."""
    twin: str
    """Place of the bounded table: a file in the workspace, or the address of a database table."""
    id: str
    """Unique identity of the bounded table; answers are stored under it."""
    card: str
    """The SHA-256 of the card it was cut by."""
    rows: str
    """SHA-256 of the bounded table's file; empty if it is in a database."""
    public: bool = False
    """Whether it is about no one: then asking it costs nothing, and it has no account."""
    left_out: int = -1
    """How many rows of a source in memory are not in the bounded table; -1: count the source, which is still there."""
    version: int = 1
    """How often it was registered: more than once if its card was revised."""
    folder: str = ""
    """Folder below that of the table with its card; empty for one that the workspace began with."""

    @classmethod
    def from_dict(cls, name: str, said: dict[str, Any]) -> Registered:
        """The record of a table, as it is written."""
        kinds: dict[str, type] = dict.fromkeys(("source", "twin", "id", "card", "rows"), str)
        kinds |= {"public": bool, "left_out": int, "version": int, "folder": str}
        return cls(**fields({"left_out": -1, "version": 1, "folder": ""} | said, name, **kinds))


def register_table(name: str, given: Given, made: Path, beside: Path) -> Registered:
    """Make the bounded table of a source, with its card, below a folder; paths are recorded as seen from ``beside``."""
    source, card = given
    if isinstance(source, str):
        require_no_secret(source)
    table = read(source, card_for(name, source, card))
    try:
        return _cut(name, source, table, made, beside)
    finally:
        table.engine.close()


def add_version(folder: Path, name: str, given: Given, earlier: tuple[Registered, Card] | None) -> Registered:
    """Register a table in a workspace that is there already: a new one, or a further version of an ``earlier`` one."""
    require_names([name])
    with TemporaryDirectory(prefix=".discreet-", dir=folder) as scratch:
        made = Path(scratch)
        if earlier is not None:
            require_same_people(earlier[1], card_for(name, *given))
        record = register_table(name, given, made, folder.parent)
        own, kept = f"tables/{name}/{record.id}", record.twin.replace(f"tables/{name}/", f"tables/{name}/{record.id}/")
        private_folder((folder / own).parent)
        settle(made / f"tables/{name}", folder / own)
    version = 1 if earlier is None else earlier[0].version + 1
    return replace(record, version=version, folder=record.id, twin=kept if record.rows else record.twin)


def write_record(folder: Path, name: str, record: Registered) -> None:
    """Make a version the one that counts."""
    place = folder / "tables" / name / _RECORD
    draft_file = place.with_name(f".{_RECORD}-{os.urandom(8).hex()}")
    draft_file.write_text(toml.dump(asdict(record)), encoding="utf-8", newline="\n")
    draft_file.chmod(0o600)
    with draft_file.open("rb") as file:
        os.fsync(file.fileno())
    draft_file.replace(place)
    flush_name(place)


def records(folder: Path) -> Iterator[tuple[str, Registered]]:
    """The tables that were added to a workspace, and those with a revised card."""
    for file in sorted(folder.glob(f"tables/*/{_RECORD}")):
        name = file.parent.name
        try:
            yield name, Registered.from_dict(name, tomllib.loads(file.read_text(encoding="utf-8")))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError, BadInput) as error:
            raise Damaged(f"{file} was changed: {error}", hint="Restore it from a backup.") from error


def record_times(folder: Path) -> tuple[int, ...]:
    """When each record was written last: another value if a table was added or revised."""
    return tuple(file.stat().st_mtime_ns for file in sorted(folder.glob(f"tables/*/{_RECORD}")))


def card_changes(earlier: Card, later: Card) -> tuple[str, ...]:
    """What a revised card says differently, one line each."""
    was, now = (_flat(card_fields([replace(one, name="t")])["tables"]["t"]) for one in (earlier, later))
    return tuple(
        f"{'.'.join(path)}: {_shown(was.get(path))} → {_shown(now.get(path))}"
        for path in dict.fromkeys([*was, *now])
        if was.get(path) != now.get(path)
    )


def require_same_people(earlier: Card, later: Card) -> None:
    """An error if a revised card is about other people than before, so that losses would not add up."""
    if earlier.unit != later.unit:
        raise BadInput(
            f"The unit of {later.name} was {earlier.unit or 'a row'} and would be {later.unit or 'a row'}: "
            "charges so far protect a different unit.",
            hint="Keep the unit, or register the rows as another table with its own budget.",
        )
    if earlier.public != later.public:
        raise BadInput(f"{later.name} cannot become {'public' if later.public else 'private'}.")
    if _read_as(earlier) != _read_as(later):
        raise BadInput(
            f"{later.unit} of {later.name} would be read differently (7 and 007 are one number but two "
            "texts), so rows would belong to other people.",
            hint=f"Keep its kind and format: declare them on the column {later.unit} itself.",
        )
    if earlier.population != later.population:
        raise BadInput(
            f"The population of {later.name} cannot change: its releases are registered under "
            f"{earlier.population or 'its own name'}.",
            hint="Keep it, or register the rows as a table with another name.",
        )


def _read_as(card: Card) -> object:
    """How the unit is read. What is taken for missing may change: rows without a unit are no one's."""
    if card.unit is None:
        return None
    text = card.text_format(card.unit)
    return card[card.unit].kind, replace(text, missing=None, misfit=None, trim=bool(text.trim))


def _flat(said: Any, path: tuple[str, ...] = ()) -> dict[tuple[str, ...], Any]:
    if not isinstance(said, dict):
        return {path: said}
    return {place: value for key, one in said.items() for place, value in _flat(one, (*path, str(key))).items()}


def _shown(value: Any) -> str:
    if value is None:
        return "nothing"
    text = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    return text if len(text) <= 80 else f"{text[:79]}…"


def _cut(name: str, source: Any, table: Table, folder: Path, beside: Path) -> Registered:
    where = where_from(source, beside)
    if table.card.public:
        table = described(table)
    require_rows_of_people(table)
    twin = bounded(table)
    text = dump_cards([twin.card])
    identity = digest_of(f"{name}\n{where}\n{text}\n{time.time_ns()}".encode())[:16]
    place = folder / "tables" / name
    place.mkdir(parents=True)
    (place / "card.toml").write_text(text, encoding="utf-8", newline="\n")
    (place / "source.toml").write_text(dump_cards([table.card]), encoding="utf-8", newline="\n")
    kept, print_, left_out = f"tables/{name}/twin.parquet", "", -1
    if table.engine.embedded:
        try:
            write_parquet(twin, folder / kept)
        except EngineError:
            require_narrow(table)  # which can say it better, and without anyone's value
            raise
        print_ = file_digest(folder / kept)
        if where.endswith(IN_MEMORY):  # no one can count them tomorrow
            left_out = table.count() - pq.read_metadata(folder / kept).num_rows
    else:
        address = parse_address(source) if isinstance(source, str) else None
        if address is None:
            raise BadInput(
                f"{name} is a Spark data frame, which cannot be opened again later.",
                hint="Save it as a table and give its address, or as Parquet and give the file.",
            )
        stored = f"discreet_{name}_{identity}".lower()
        table.engine.store(stored, twin.relation)
        kept = f"{address.database}#{stored}"
    return Registered(where, kept, identity, digest_of(text.encode()), print_, twin.card.public, left_out)


def public_table(name: str, source: Any, card: Card | str | Path | None = None) -> Given:
    """A table with a card that says it is public; without one, that is drafted by a look at it."""
    known = draft(source, name=name).card if card is None else card_for(name, source, card)
    columns = tuple(replace(column, role=Role.OTHER) if card is None else column for column in known.columns)
    return source, replace(known.without_unit(columns), public=True)


def card_for(name: str, source: Any, given: Card | str | Path) -> Card:
    """The card for a table: of several in a file the one that has the table's name, or its source's."""
    return replace(_card_in_file(name, source, given) if isinstance(given, str | Path) else given, name=name)


def _card_in_file(name: str, source: Any, path: str | Path) -> Card:
    """The card for a table, as its file has it."""
    file = "" if not isinstance(source, str | Path) else Path(str(source)).name.partition(".")[0]
    return load_card(path, name if name in load_cards(path) else None, default=file)


@dataclass(frozen=True)
class Inheritance:
    """What left beside the card file that a table is registered with, read and checked before anything is made."""

    was: Card
    """The card as the file has it: its table may have another name there."""
    chains: tuple[Chain, ...] = ()

    def adopt(self, card: Card, place: str, folder: Path | None = None) -> int:
        """Have it count in the register of a workspace; how many lines are new there."""
        return adopt(self.chains, self.was, card, place, folder)


def inheritance(name: str, given: Given) -> Inheritance | None:
    """What the registers beside a card file list of a table's people; ``None`` if there is nothing."""
    source, card = given
    if not isinstance(card, str | Path):
        return None
    was = _card_in_file(name, source, card)
    lineage = written_source(source)
    places = registers_beside(registers_of(Path(card), was), lineage)
    chains = () if was.public else read_chains(places, was, lineage)
    return Inheritance(was, chains) if chains else None


def file_digest(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def digest_of(data: bytes) -> str:
    """SHA-256 of some bytes."""
    return hashlib.sha256(data).hexdigest()


def where_from(source: Any, beside: Path) -> str:
    """Where rows came from: an address without its password, or a path as seen from the folder of the workspace."""
    if not isinstance(source, str | Path):
        return f"{type(source).__name__}{IN_MEMORY}"
    return shown(str(source)) if parse_address(str(source)) else os.path.relpath(Path(source).absolute(), beside)


def require_names(tables: Collection[str]) -> None:
    """An error unless SQL can tell these names apart, and there is one."""
    if not tables:
        raise BadInput("A workspace needs a table.")
    for name in tables:
        if not _NAME.fullmatch(name):
            raise BadInput(
                f"{name!r} is not a valid table name.",
                hint="Use up to 40 letters, digits and underscores, no digit first.",
            )
    if len({name.lower() for name in tables}) < len(tables):
        raise BadInput("Two tables have the same name; SQL ignores case.")


def require_no_secret(address: str) -> None:
    """An error if an address says more than where something is."""
    found = parse_address(address)
    if found is not None and any(map(_SECRET.search, (found.database, unquote(found.database)))):
        raise BadInput(
            f"The address {shown(address)} holds a password or a token, which would be written to workspace.toml.",
            hint="Leave it out; for PostgreSQL set PGPASSWORD, or put it into a .pgpass file.",
        )
