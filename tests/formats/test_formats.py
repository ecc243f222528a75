"""What earlier commits wrote is opened; what later ones write is refused; migrations run once, in order, as a whole."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import sqlite3
import tomllib
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from zipfile import ZipFile

import psycopg
import pytest
from tests.formats.fixtures import (
    CHECKS,
    DUMP,
    FOLDER,
    SCHEMA,
    WRITERS,
    formats,
    require_ledger,
    require_register,
    require_service,
)

from discreet.budget.ledger import LEDGER, SqlLedger
from discreet.budget.postgres import PostgresStore
from discreet.budget.sqlite import create_store, open_store
from discreet.budget.store import Home
from discreet.core import release as release_module
from discreet.core.document import Format, Migration, make_private
from discreet.core.loss import Pure
from discreet.core.release import Release
from discreet.core.toml import dump
from discreet.curator.people.state import SERVICE, State
from discreet.errors import BadInput, Damaged, LedgerError
from discreet.releases.register import Register
from discreet.verbs.combine.net import journal as journals
from discreet.verbs.combine.net.journal import JOURNAL, Journal
from discreet.verbs.combine.net.manifest import load

FIXTURES = sorted(FOLDER.glob("v*/*.zip"))
DUMPS = [path for path in FIXTURES if DUMP in ZipFile(path).namelist()]
FORMATS = formats()
NOW = LEDGER.format.version


def named(path):
    return str(path.relative_to(FOLDER))


@pytest.fixture
def opened(tmp_path):
    """A copy of a fixture, for its owner alone, as it was written."""

    def copied(path):
        shutil.unpack_archive(path, tmp_path / "copy")
        make_private(tmp_path / "copy")
        return tmp_path / "copy"

    return copied


@pytest.mark.parametrize("path", FIXTURES, ids=named)
def test_what_was_written_is_opened(path, opened):
    CHECKS[path.stem](opened(path))


@pytest.mark.parametrize("path", DUMPS, ids=named)
def test_what_was_written_to_postgres_is_opened(path, postgres_address, tmp_path):
    schema = restored(path, postgres_address)
    if path.stem == "ledger":
        with opened_ledger(postgres_address, schema) as ledger:
            require_ledger(ledger)
    elif path.stem == "register":
        with Register(str(Home(tmp_path / "register.db", postgres_address, schema))) as register:
            require_register(register)
    else:
        store = PostgresStore(postgres_address, schema, SERVICE)
        store.open()
        with closing(State(store)) as state:
            require_service(state)


@pytest.mark.parametrize("name", FORMATS)
def test_every_version_has_a_fixture_and_a_line_in_the_docs(name):
    format = FORMATS[name]
    for version in range(1, format.version + 1):
        assert (FOLDER / f"v{version}" / f"{name}.zip").is_file(), "python -m tests.formats.fixtures"
    pages = (FOLDER.parents[2] / "docs" / "formats.md").read_text()
    assert re.search(rf"^\| {format.name} \| {format.version} \|", pages, re.MULTILINE)


def test_all_formats_are_found():
    databases, documents = {"ledger", "service_database", "register", "streams"}, {"workspace", "release", "survey"}
    assert set(FORMATS) == databases | documents | {"answer", "reports", "journal"}
    assert set(WRITERS) == set(CHECKS) == set(FORMATS)


@pytest.mark.parametrize("name", [name for name in WRITERS if name != "release"])
def test_what_is_written_now_passes_the_same_checks(name, tmp_path):
    WRITERS[name](tmp_path)
    CHECKS[name](tmp_path)


def newer_database(path, version):
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {version}")
        connection.execute("CREATE TABLE IF NOT EXISTS formats (number integer PRIMARY KEY, discreet text NOT NULL)")
        connection.execute("INSERT INTO formats VALUES (?, '9.9')", (version,))
        connection.commit()


def newer_toml(path, version):
    path.write_text(dump(tomllib.loads(path.read_text()) | {"format": version, "discreet": "9.9"}))


def newer_json(path, version):
    first, end, rest = path.read_text().partition("}\n" if path.suffix == ".jsonl" else "\0")
    path.write_text(json.dumps(json.loads(first + end.strip()) | {"format": version, "discreet": "9.9"}) + "\n" + rest)


def newer_line(path, version):
    first, rest = path.read_bytes().split(b"\n", 1)
    path.write_bytes(json.dumps(json.loads(first) | {"format": version, "discreet": "9.9"}).encode() + b"\n" + rest)


def newer_journal(folder, version):
    path, session = folder / JOURNAL, load(folder / "manifest.toml")
    path.unlink()
    (folder / "secret").unlink()
    with pytest.MonkeyPatch.context() as later:
        steps = {number: Migration("9.9", lambda value: None) for number in range(2, version + 1)}
        later.setattr(journals, "FORMAT", replace(journals.FORMAT, migrations=steps))
        Journal(folder, session, "north", "None").close()


NEWER = {
    "ledger": lambda folder, version: newer_database(folder / "ledger.db", version),
    "service_database": lambda folder, version: newer_database(folder / "service.db", version),
    "register": lambda folder, version: newer_database(folder / "register.db", version),
    "streams": lambda folder, version: newer_database(folder / "clinic" / "streams.db", version),
    "workspace": lambda folder, version: newer_toml(folder / "clinic" / "workspace.toml", version),
    "release": lambda folder, version: [newer_json(one / "manifest.json", version) for one in folder.iterdir()],
    "answer": lambda folder, version: newer_line(folder / "answer", version),
    "survey": lambda folder, version: newer_toml(folder / "music.toml", version),
    "reports": lambda folder, version: newer_json(folder / "music.reports.jsonl", version),
    "journal": newer_journal,
}


@pytest.mark.parametrize("name", NEWER)
def test_a_newer_version_is_refused_and_says_which_discreet_it_needs(name, opened):
    format = FORMATS[name]
    folder = opened(FOLDER / f"v{format.version}" / f"{name}.zip")
    NEWER[name](folder, format.version + 1)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.suffix != ".db"}
    with pytest.raises((BadInput, LedgerError), match=f"has format {format.version + 1}; discreet .* up to") as refusal:
        CHECKS[name](folder)
    assert refusal.value.hint == "Install discreet 9.9 or later."
    assert all(path.read_bytes() == data for path, data in before.items())


def test_a_session_is_gone_on_with_by_the_discreet_that_began_it(opened, monkeypatch):
    folder = opened(FOLDER / "v1" / "journal.zip")
    monkeypatch.setattr(journals, "__version__", "0.0.1")
    with pytest.raises(BadInput, match="another version of discreet"):
        Journal(folder, load(folder / "manifest.toml"), "north", "None")


@pytest.mark.parametrize("format", [0, -1, "1", True, None, 1.0])
def test_a_version_that_is_none_is_not_guessed_at(format, opened):
    with pytest.raises(Damaged, match="does not state its format"):
        Format("made-up").migrate({}, format, "here")
    with pytest.raises(Damaged, match="does not state its format"):
        Format("made-up").read({"format": format}, "here")
    with pytest.raises(Damaged, match="does not state its format"):
        Format("made-up").read({}, "here")
    folder = opened(FOLDER / "v1" / "release.zip") / "publish"
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps(manifest | {"format": format}))
    with pytest.raises(Damaged, match=r"does not state its format|is not the manifest of a release"):
        Release.load(folder)


def noting(done, number):
    def step(value):
        done.append(number)
        if isinstance(value, dict):
            value[f"step {number}"] = len(done)

    return Migration(f"0.{number}", step)


def test_migrations_of_a_document_run_once_and_in_order():
    done: list[int] = []
    steps = {number: noting(done, number) for number in (2, 3, 4)}
    format = Format("made-up", steps, unmarked=True)
    assert (format.version, format.needs) == (4, "0.4")
    assert format.mark() == {"format": 4, "discreet": "0.4"}
    old = {"format": 2, "discreet": "0.2", "name": "x"}
    assert format.read(old, "here") == {"name": "x", "step 3": 1, "step 4": 2}
    assert done == [3, 4]
    assert old == {"format": 2, "discreet": "0.2", "name": "x"}, "what was read stays as it was"
    assert format.read({"name": "x"}, "here") == {"name": "x", "step 2": 3, "step 3": 4, "step 4": 5}
    assert format.read(format.mark() | {"name": "x"}, "here") == {"name": "x"}
    assert done == [3, 4, 2, 3, 4]
    with pytest.raises(BadInput, match="made-up here has format 5") as refusal:
        format.read({"format": 5}, "here")
    assert refusal.value.hint == "Install a later version of discreet."
    for strange in ("9.9 from somewhere else", ["9.9"], ""):
        with pytest.raises(BadInput) as refusal:
            format.read({"format": 5, "discreet": strange}, "here")
        assert refusal.value.hint == "Install a later version of discreet."


def test_the_first_version_needs_no_discreet_and_takes_no_field_of_that_name():
    assert Format("made-up").mark() == {"format": 1}
    assert Format("made-up").read({"format": 1, "discreet": "x"}, "here") == {"discreet": "x"}


@pytest.mark.parametrize("numbers", [(3,), (1, 2), (2, 4), (3, 2)])
def test_migrations_are_numbered_without_a_gap(numbers):
    with pytest.raises(ValueError, match="not numbered"):
        Format("made-up", {number: Migration("0.2", lambda value: None) for number in numbers})


def test_a_release_is_migrated_file_by_file_and_not_written_over(opened, monkeypatch):
    seen: list[str] = []

    def retitle(files):
        [name] = files
        seen.append(name)
        if name == "presentation.json":
            files[name]["title"] = "Another title"

    folder = opened(FOLDER / "v1" / "release.zip") / "publish"
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    later = Format("release", {2: Migration("9.9", retitle)})
    monkeypatch.setattr(release_module, "FORMAT", later)
    assert Release.load(folder).title == "Another title"
    assert set(seen) == {"manifest.json", "presentation.json", "statement.json", "recipe.json"}
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


_NUMBERS = count()


def restored(path, address):
    """The schema of a fixture's dump, under a name of its own."""
    schema = f"formats_{os.getpid()}_{next(_NUMBERS)}"
    with psycopg.connect(address) as connection:
        connection.execute(re.sub(rf"\b{SCHEMA}\b", schema, ZipFile(path).read(DUMP).decode()))
    return schema


def opened_ledger(address, schema, contents=LEDGER):
    store = PostgresStore(address, schema, contents)
    try:
        store.open()
    except BaseException:
        store.close()
        raise
    return SqlLedger(store)


@dataclass
class Database:
    """A ledger of the current version, in a file or in PostgreSQL."""

    path: Path | None
    address: str = ""
    schema: str = ""

    def open(self, contents=LEDGER):
        if self.path:
            return SqlLedger(open_store(self.path, contents))
        return opened_ledger(self.address, self.schema, contents)

    def rows(self, sql):
        if self.path:
            with closing(sqlite3.connect(self.path)) as connection:
                return connection.execute(sql).fetchall()
        with psycopg.connect(self.address, options=f"-c search_path={self.schema}") as connection:
            return connection.execute(sql).fetchall()

    def version(self):
        """What it says itself; ``None`` if it says nothing."""
        if self.path:
            assert self.rows("PRAGMA user_version") == [(1 if self.recorded() is None else self.recorded(),)]
        return self.recorded()

    def recorded(self):
        where = "FROM sqlite_master" if self.path else "FROM pg_tables WHERE tablename = 'formats' AND schemaname"
        where += " WHERE name = 'formats'" if self.path else f" = '{self.schema}'"
        return self.rows("SELECT MAX(number) FROM formats")[0][0] if self.rows(f"SELECT 1 {where}") else None


@pytest.fixture(params=["sqlite", "postgres"])
def database(request, opened):
    fixture = FOLDER / f"v{LEDGER.format.version}" / "ledger.zip"
    if request.param == "sqlite":
        return Database(opened(fixture) / "ledger.db")
    address = request.getfixturevalue("postgres_address")
    return Database(None, address, restored(fixture, address))


def with_steps(*steps):
    """A ledger's contents after these further steps, which are SQL or functions."""

    def step(one):
        return one if callable(one) else lambda session: session.run(one, [()])

    numbered = {number: Migration(f"9.{number}", step(one)) for number, one in enumerate(steps, NOW + 1)}
    return replace(LEDGER, format=Format("ledger", {**LEDGER.format.migrations, **numbered}, error=LedgerError))


ADD, FILL = "CREATE TABLE notes (note text)", "INSERT INTO notes SELECT name || '!' FROM accounts"
UNDO = "DROP TABLE notes"


def test_a_database_is_migrated_once_and_in_order(database):
    one, three = with_steps(ADD), with_steps(ADD, FILL, UNDO)
    with database.open() as ledger:
        require_ledger(ledger)
    assert database.version() == NOW
    database.open(with_steps(ADD, FILL)).close()  # fails if FILL came first, and if ADD came again
    assert database.version() == NOW + 2
    assert ("visits/ann!",) in database.rows("SELECT note FROM notes")
    for _ in range(2):
        with database.open(three) as ledger:
            assert ledger.verify().sound
            ledger.charge("visits/ann", Pure("0.25"), key="fourth", what="another count")
        assert database.version() == NOW + 3
    with pytest.raises(LedgerError, match=f"has format {NOW + 3}; discreet") as refusal:
        database.open(one)
    assert refusal.value.hint == f"Install discreet 9.{NOW + 3} or later."
    with pytest.raises(LedgerError, match=f"has format {NOW + 3}; discreet"):
        database.open()
    recorded = [(NOW, LEDGER.format.needs), (NOW + 2, f"9.{NOW + 2}"), (NOW + 3, f"9.{NOW + 3}")]
    assert database.rows("SELECT number, discreet FROM formats ORDER BY number") == recorded


def test_a_migration_that_fails_leaves_what_was_there(database):
    def fail(session):
        assert session.rows("SELECT COUNT(*) FROM notes") == [(5,)]
        raise RuntimeError("on purpose")

    with pytest.raises(RuntimeError, match="on purpose"):
        database.open(with_steps(ADD, FILL, fail))
    with pytest.raises(LedgerError, match="note"):
        database.open(with_steps(ADD, ADD))
    assert database.version() == NOW
    with database.open() as ledger:
        require_ledger(ledger)


def test_a_process_killed_within_a_migration_leaves_what_was_there(database):
    def die(session):
        assert session.rows("SELECT COUNT(*) FROM notes") == [(5,)]
        os.kill(os.getpid(), signal.SIGKILL)

    child = os.fork()
    if child == 0:
        try:
            database.open(with_steps(ADD, FILL, die))
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    assert database.version() == NOW
    with database.open() as ledger:
        require_ledger(ledger)


def test_who_has_it_open_while_another_migrates_it_writes_no_more(database):
    with database.open() as old:
        old.charge("visits", Pure("0.25"), key="before", what="")
        with database.open(with_steps(ADD)) as new:
            with pytest.raises(LedgerError, match="another format while this process had it open"):
                old.charge("visits", Pure("0.25"), key="after", what="")
            new.charge("visits", Pure("0.25"), key="after", what="")
            with database.open(with_steps(ADD, UNDO)), pytest.raises(LedgerError, match="another format"):
                new.charge("visits", Pure("0.25"), key="again", what="")
    assert database.rows("SELECT COUNT(*) FROM lines WHERE key IN ('before', 'after', 'again')") == [(2,)]


def test_a_new_database_has_the_current_version(database, tmp_path):
    contents = with_steps(ADD, UNDO)
    if database.path:
        database = Database(tmp_path / "new.db")
        create_store(database.path, contents)
    else:
        database = Database(None, database.address, f"{database.schema}_new")
        store = PostgresStore(database.address, database.schema, contents)
        store.create()
        store.close()
    assert database.version() == NOW + 2
    database.open(contents).close()
    assert database.rows("SELECT number, discreet FROM formats") == [(NOW + 2, f"9.{NOW + 2}")]
