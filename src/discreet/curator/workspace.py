"""A workspace: the folder in which a curator keeps what it needs to answer, made all at once or not at all.

    workspace.toml              the tables, where the ledger is, and what a question may take
    tables/visits/card.toml     the card a table was registered with, as far as questions need it
    tables/visits/source.toml   all of that card, for anyone who publishes the table
    tables/visits/twin.parquet  the bounded table (that of a database's table is in the database)
    tables/visits/synthetic.json    which release is its synthetic stand-in, if it has one
    ledger.db                   what was spent, by whom, on what; unless it is in PostgreSQL
    ledger.db-head, -sums       how far the ledger had come, and what it added up to (``budget/store.py``)
    register.db                 what was released of the tables; unless the ledger is in PostgreSQL: then there, too
    streams.db                  the streams that were started; unless the ledger is in PostgreSQL: then there, too
    releases/                   every answer that was given
    .synthetic/                 the last answers that synthetic stand-ins gave, which cost nothing and can be made again

Who may ask what is not in these files but in the ledger: an account ``visits/ann`` lets ann ask visits.
``workspace.toml`` is written once, and holds no password; tables that are added or revised later have a record of their
own (``tables.py``). Its holder may add what one question may take of the engine::

    [limits]
    seconds = 60
    memory = 2000    # megabytes

and what a release may give away together with earlier ones (``ExposurePolicy``)::

    [exposure]
    smallest_group = 3
    override = ["steward"]

The ledger is opened only if it knows of every answer in the workspace. ``budget/verify.py`` checks what a ledger says
of itself, and how far it had come. The answers are a second witness, which no one has to keep: each has the receipts of
its charges. An answer that the ledger has sealed was charged in that ledger. One without a seal is what a crash between
keeping and sealing leaves, and then its charge is there; or the ledger is an older copy than the answer, and then it
is not.
"""

from __future__ import annotations

import os
import threading
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sqlglot import exp

from discreet.budget.ledger import POSTGRES_SCHEMA, SqlLedger, open_ledger
from discreet.budget.store import POSTGRES, REMEDY, Home
from discreet.core import sql, toml
from discreet.core.card import Card, ExposurePolicy
from discreet.core.cardfile import load_card
from discreet.core.document import FILE, Format, fields, give_name, settle
from discreet.core.engine import Engine
from discreet.core.release import Receipt
from discreet.core.table import Table
from discreet.curator.tables import (
    IN_MEMORY,
    Given,
    Public,
    Registered,
    digest_of,
    file_digest,
    inheritance,
    public_table,
    record_times,
    records,
    register_table,
    require_names,
    require_no_secret,
)
from discreet.engines.duckdb import DuckDB, memory_settings
from discreet.engines.limits import Limits
from discreet.engines.read import Address, database, parse_address, read, written_source
from discreet.errors import BadInput, Damaged, DiscreetError, NotFound, Unsound
from discreet.releases.store import SEAL, Store

FORMAT: Format[dict[str, Any]] = Format("workspace")
LEDGER, REGISTER = "ledger.db", "register.db"
_FILE = "workspace.toml"
_SMALL = 2**24
"""Largest size of all bounded tables' files to be held in memory, bytes; questions then take half the time."""


@dataclass(frozen=True)
class Workspace:
    """What ``workspace.toml`` says, and where it is."""

    folder: Path
    ledger: str
    """``ledger.db`` in the folder, or an address."""
    tables: Mapping[str, Registered]
    limits: Limits = field(default_factory=Limits)
    """What one question may take."""
    policy: ExposurePolicy = field(default_factory=ExposurePolicy)
    """What a release may give away together with earlier ones."""
    identity: str = field(init=False, compare=False)
    """Digest of the bounded tables it began with: no other workspace has the same."""
    _times: list[tuple[int, ...]] = field(default_factory=list, repr=False, compare=False)
    """When the records of tables had been written that were read last."""
    _engines: dict[str, Engine] = field(default_factory=dict, repr=False, compare=False)
    """By the place that rows are in: what is in one place is opened on one engine, so that it can be joined."""
    _opened: dict[str, Table] = field(default_factory=dict, repr=False, compare=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)

    def __post_init__(self) -> None:
        began = "\n".join(sorted(one.id for one in self.tables.values()))
        object.__setattr__(self, "identity", digest_of(began.encode())[:16])

    @property
    def private(self) -> tuple[str, ...]:
        """The names of the tables about people, as of now: those with an account."""
        self.refresh()
        return tuple(name for name, one in self.tables.items() if not one.public)

    @property
    def releases(self) -> Path:
        """Where answers are kept."""
        return self.folder / "releases"

    @property
    def ledger_place(self) -> str:
        """Where the ledger is, to open it."""
        return self.ledger if self.ledger.startswith(POSTGRES) else str(self.folder / self.ledger)

    def place(self, name: str) -> Path:
        """The folder with the card and the bounded table of a table."""
        return self.folder / "tables" / name / self.tables[name].folder

    def refresh(self) -> None:
        """Take note of tables that were added or revised meanwhile, here or by another process."""
        times = record_times(self.folder)
        if [times] == self._times:
            return
        with self._lock:
            changed = {name: one for name, one in records(self.folder) if self.tables.get(name) != one}
            for name in changed:
                self._opened.pop(name, None)
            object.__setattr__(self, "tables", {**self.tables, **changed})  # others may be going through the old one
            self._times[:] = [times]

    def card(self, name: str) -> Card:
        """The card a table was registered with; an error if it is not the same any more."""
        path = self.place(name) / "card.toml"
        if not path.is_file():
            raise _missing(name, path)
        if digest_of(path.read_bytes()) != self.tables[name].card:
            raise Damaged(
                f"The card of {name} in {self.folder} is not the one its bounded table was made with.",
                hint="Restore it. To use another card: discreet workspace revise.",
            )
        return load_card(path, name)

    def open(self, name: str) -> Table:
        """The bounded table of that name, opened when it is first needed. Threads may share it.

        One that is missing or damaged concerns anyone who asks about it, and no one else.
        """
        with self._lock:
            if name not in self._opened:
                self._opened[name] = self._open(name)
            return self._opened[name]

    def among(self, names: Sequence[str]) -> Mapping[str, Table]:
        """Some bounded tables by name; none is opened before it is looked up."""
        return _Among(self, names)

    def close(self) -> None:
        """Let go of the engines."""
        for table in self._opened.values():
            table.engine.close()

    def _open(self, name: str) -> Table:
        """It has the card's columns, since it was cut by that card."""
        twin = self.tables[name].twin
        address = parse_address(twin)
        engine, card = self._engine(address), self.card(name)
        rows = sql.table(address.place) if address else exp.Table(this=_parquet(self.folder / twin, name))
        table = Table(card, engine, exp.select(*(sql.column(column.name) for column in card.columns)).from_(rows))
        try:
            engine.schema(table.relation)
        except DiscreetError as error:
            if address is not None:
                raise
            raise Damaged(f"The bounded table of {name} was changed.", hint="Restore it from a backup.") from error
        return table.store(engine.new_name(name)) if engine.embedded and self._small else table

    def open_rows(self, card: Card, path: Path) -> Table:
        """Rows of a release in a file, on the engine of the bounded tables, so that they can be joined."""
        engine = self._engine(None)
        rows = exp.Table(this=_parquet(path, card.name))
        table = Table(card, engine, exp.select(*(sql.column(column.name) for column in card.columns)).from_(rows))
        return table.store(engine.new_name(card.name)) if path.stat().st_size <= _SMALL else table

    def original(self, name: str) -> Table:
        """A table as it was registered, with all of its card, read from where it came from: for its holder alone.

        What is released of it is checked with all audited answers so far.
        """
        from discreet.curator.audited import register_answers

        register_answers(self)
        source, card = self.source(name), self.full_card(name)
        if not parse_address(source) and not Path(source).exists():
            raise NotFound(
                f"The rows of {name} are no longer at {source}, where they were when it was registered.",
                hint="Move them back, or register them in a new workspace.",
            )
        return replace(read(source, card), registers=(self.register,), policy=self.policy)

    @property
    def register(self) -> str:
        """Where the register of what was released of the tables is."""
        return str(self.home(REGISTER))

    def home(self, name: str) -> Home:
        """The place of a database of this workspace: a file of that name, or a schema in the ledger's PostgreSQL.

        The schema has its name from the bounded tables that the workspace began with: no other has the same.
        """
        file = self.folder / name
        if self.ledger_place == str(self.folder / self.ledger):
            return Home(file)
        return Home(file, self.ledger_place, f"discreet_{file.stem}_{self.identity}")

    @property
    def ledger_home(self) -> Home:
        """The place of the ledger."""
        file = self.folder / LEDGER
        return Home(file) if self.ledger == LEDGER else Home(file, self.ledger_place, POSTGRES_SCHEMA)

    def source(self, name: str) -> str:
        """Where the rows of a table came from: a full path, or an address."""
        said = self.tables[name].source
        if said.endswith(IN_MEMORY):
            raise NotFound(
                f"{name} was registered from memory, so its rows cannot be read again.",
                hint="Register it from a file or a database table.",
            )
        return said if parse_address(said) else os.path.normpath(self.folder.parent / said)

    def lineage(self, name: str) -> str:
        """Where the rows of a table came from, as a register has it; empty for rows in memory."""
        return "" if self.tables[name].source.endswith(IN_MEMORY) else written_source(self.source(name))

    def full_card(self, name: str) -> Card:
        """The card a table was registered with, hierarchies and all."""
        path = self.place(name) / "source.toml"
        if not path.is_file():
            raise NotFound(
                f"{self.folder} does not have the full card of {name}: an earlier version of discreet made it.",
                hint="Register the table in a new workspace.",
            )
        return load_card(path, name)

    def _engine(self, address: Address | None) -> Engine:
        place = address.database if address else ""
        if place not in self._engines:
            settings = memory_settings(int(self.limits.memory)) | ({"threads": "1"} if self._small else {})
            self._engines[place] = database(address) if address else DuckDB(settings=settings, questions=True)
        return self._engines[place]

    @cached_property
    def _small(self) -> bool:
        """Whether all bounded tables are small enough to be held in memory, where threads do not help."""
        twins = [self.folder / one.twin for one in self.tables.values() if parse_address(one.twin) is None]
        return sum(path.stat().st_size for path in twins if path.is_file()) <= _SMALL

    def require_files(self) -> None:
        """An error if a card or a bounded table is missing from the folder."""
        for name, one in self.tables.items():
            for file in (self.place(name) / "card.toml", *([self.folder / one.twin] if one.rows else [])):
                if not file.is_file():
                    raise _missing(name, file)

    def require_twins(self) -> None:
        """An error if a bounded table in the folder is missing or was changed."""
        self.require_files()
        for name, one in self.tables.items():
            if one.rows and file_digest(self.folder / one.twin) != one.rows:
                raise Damaged(f"The bounded table of {name} was changed.", hint="Restore it from a backup.")


@contextmanager
def new_workspace(
    folder: Path, tables: Mapping[str, Given], ledger: str | None, public: Mapping[str, Public] | None = None
) -> Iterator[Workspace]:
    """Register tables in a folder that gets its name when the block ends well; else nothing is left of it.

    What left beside the cards counts in the workspace's register from the start.
    """
    folder = folder.absolute()
    require_free(folder)
    given = dict(tables)
    for name, source in (public or {}).items():
        if name in given:
            raise BadInput(f"{name} cannot be public and about people.")
        given[name] = public_table(name, *source) if isinstance(source, tuple) else public_table(name, source)
    require_names(given)
    if ledger is not None:
        require_no_secret(ledger)
    inherited = {name: some for name, one in tables.items() if (some := inheritance(name, one)) is not None}
    with TemporaryDirectory(prefix=".discreet-", dir=folder.parent) as scratch:
        made = Path(scratch) / folder.name
        (made / "releases").mkdir(parents=True)
        found = {name: register_table(name, source, made, folder.parent) for name, source in given.items()}
        workspace = Workspace(made, ledger or LEDGER, found)
        if not workspace.private:
            raise BadInput("A workspace needs a table about people: public tables need no workspace.")
        said = FORMAT.mark() | {"ledger": workspace.ledger, "tables": {n: asdict(one) for n, one in found.items()}}
        (made / _FILE).write_text(toml.dump(said), encoding="utf-8", newline="\n")
        for name, some in inherited.items():
            some.adopt(workspace.full_card(name), workspace.register, folder)
        yield workspace
        try:
            settle(made, folder)
        except OSError as error:
            raise BadInput(f"The workspace could not be created at {folder}: {error.strerror}.") from error


def open_workspace(folder: Path) -> Workspace:
    """The workspace in ``folder``."""
    folder = folder.absolute()
    file = folder / _FILE
    if not file.is_file():
        raise NotFound(f"There is no workspace in {folder}.", hint=f"Make one: discreet workspace init {folder} …")
    try:
        said = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Damaged(f"{file} cannot be read: {error}.") from error
    said = FORMAT.read(said, folder)
    policy = _policy(file, said.pop("exposure", {}))
    try:
        limited = said.pop("limits", {})
        whole = fields(said, _FILE, ledger=str, tables=dict)
        tables = {name: Registered.from_dict(name, one) for name, one in whole["tables"].items()}
        limits = Limits(**limited)
    except (BadInput, TypeError) as error:
        raise Damaged(f"{file} was changed: {error}", hint="Restore it from a backup.") from error
    workspace = Workspace(folder, whole["ledger"], tables, limits, policy)
    workspace.refresh()
    if not tables or not workspace.releases.is_dir():
        raise Damaged(f"{folder} is incomplete: tables or releases are missing.", hint="Restore it from a backup.")
    return workspace


def set_ledger(folder: Path, ledger: str) -> None:
    """Write down where the ledger of the workspace in ``folder`` is; all else in its file stays as it is."""
    require_no_secret(ledger)
    file = folder / _FILE
    lines = file.read_text(encoding="utf-8").split("\n")
    place = toml.lines_of("\n".join(lines))["ledger",] - 1
    lines[place] = toml.dump({"ledger": ledger}).rstrip("\n")
    with TemporaryDirectory(prefix=".discreet-", dir=folder) as scratch:
        draft = Path(scratch) / _FILE
        draft.write_text("\n".join(lines), encoding="utf-8", newline="\n")
        draft.chmod(FILE)
        give_name(draft, file)


def _policy(file: Path, said: object) -> ExposurePolicy:
    try:
        return ExposurePolicy.from_dict(said)
    except BadInput as error:
        raise BadInput(f"{file}, [exposure]: {error.message}", hint=error.hint) from None


def _parquet(path: Path, name: str) -> exp.Expr:
    if not path.is_file():
        raise _missing(name, path)
    return exp.Anonymous(this="read_parquet", expressions=[sql.literal(str(path))])


def _missing(name: str, path: Path) -> Damaged:
    what = "The card" if path.suffix == ".toml" else "The bounded table"
    return Damaged(
        f"{what} of {name} is missing: there is no file {path}.",
        hint=f"Restore it from a backup (discreet workspace restore); until then {name} cannot be queried.",
    )


def require_free(folder: Path) -> None:
    """An error if a workspace cannot be put there."""
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise BadInput(f"{folder} exists and is not an empty folder.", hint="Name a new folder for the workspace.")
    if not folder.parent.is_dir():
        raise NotFound(f"There is no folder {folder.parent} to put {folder.name} in.")


def open_books(workspace: Workspace, *, upgrade: bool = False) -> SqlLedger:
    """The ledger of a workspace; ``Unsound`` if it is not what was written, or older than an answer.

    One that an earlier discreet wrote is refused, unless it may be upgraded: other processes may use it as it is, and
    who goes back needs a backup of it (``upgrading.py``).
    """
    if not upgrade:
        from discreet.curator.upgrading import require_current

        require_current(workspace)
    answers = {place.name for place in workspace.releases.iterdir() if not place.name.startswith(".")}
    ledger = open_ledger(workspace.ledger_place, witness=workspace.folder / LEDGER)
    try:
        for identity in answers - {key.removeprefix(SEAL) for key in ledger.keys(SEAL)}:
            with suppress(Damaged):  # which is told to anyone who asks for that answer
                for receipt in Store(workspace.releases, ledger).receipts_at(identity):
                    _require_charge(ledger, receipt, identity)
    except BaseException:
        ledger.close()
        raise
    return ledger


def _require_charge(ledger: SqlLedger, receipt: Receipt, identity: str) -> None:
    if ledger.find(receipt.key) != receipt:
        raise Unsound(
            f"The ledger is an older copy than the answer {identity}, which was charged to {receipt.account} "
            f"in entry {receipt.line:,}: that charge is not in it.",
            hint=REMEDY,
        )


class _Among(Mapping[str, Table]):
    """Bounded tables that are opened when they are looked up."""

    def __init__(self, workspace: Workspace, names: Sequence[str]) -> None:
        self._workspace = workspace
        self._names = dict.fromkeys(names)

    def __getitem__(self, name: str) -> Table:
        if name not in self._names:
            raise KeyError(name)
        return self._workspace.open(name)

    def __contains__(self, name: object) -> bool:
        return name in self._names  # that of a Mapping would open it

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)
