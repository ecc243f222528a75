"""Upgrades: nothing by the way, a backup before, a way back, and two versions beside each other."""

import shutil
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from tests.curator.clinics import COUNT, clinic
from tests.formats.fixtures import DUMP, FOLDER, QUESTION, SCHEMA

from discreet.budget.filter import Budget
from discreet.budget.ledger import LEDGER, POSTGRES_SCHEMA, open_ledger, open_postgres
from discreet.budget.sqlite import stored_version
from discreet.budget.tables import add_periods
from discreet.core.document import make_private
from discreet.core.loss import Pure
from discreet.curator import upgrading
from discreet.curator.backup import restore
from discreet.curator.curator import Curator
from discreet.curator.moving import move_ledger
from discreet.curator.upgrading import outdated, rehearse, take_back, upgrade
from discreet.errors import BadInput, LedgerError, Refused


@pytest.fixture
def old(tmp_path):
    """A workspace that discreet 0.1.0 wrote: it answered two questions."""
    shutil.unpack_archive(FOLDER / "v1" / "workspace.zip", tmp_path)
    make_private(tmp_path / "clinic")
    return tmp_path / "clinic"


def contents(folder):
    """Every file but those that say who reads, and how far."""
    return {
        path: path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and not path.name.endswith(("-lock", "-shm", "-wal"))
    }


def test_nothing_is_migrated_by_the_way(old):
    before = contents(old)
    with pytest.raises(LedgerError, match=r"has format 1, which an earlier discreet wrote") as refusal:
        Curator(old)
    assert refusal.value.hint.endswith(f"discreet workspace upgrade {old}")
    assert contents(old) == before


def test_a_rehearsal_changes_nothing(old):
    before = contents(old)
    [one] = rehearse(old)
    assert str(one) == f"ledger: format 1, becomes {LEDGER.format.version}"
    assert contents(old) == before
    assert [path.name for path in old.parent.iterdir()] == ["clinic"]


def test_an_upgrade_keeps_all_of_it_and_can_be_taken_back(old):
    before = contents(old)
    file = upgrade(old)
    assert file.stat().st_mode & 0o077 == 0
    assert upgrade(old) is None and outdated(old) == []
    assert stored_version(old / "ledger.db") == LEDGER.format.version
    with pytest.raises(BadInput, match="has the formats that"):
        take_back(old, upgrade_again(old))
    take_back(old, file)
    after = contents(old)
    assert stored_version(old / "ledger.db") == 1
    with closing(sqlite3.connect(old / "ledger.db")) as ledger:
        columns = [row[1] for row in ledger.execute("PRAGMA table_info(accounts)")]
    assert columns == ["name", "budget", "partition", "whole", "peak"]
    assert {path.name for path in after} >= {path.name for path in before if not path.name.endswith("-sums")}
    upgrade(old)
    with Curator(old) as curator:
        assert curator.verify().sound
        assert curator.ask(QUESTION, epsilon="0.5").free
        curator.ledger.set_limit("visits", Budget.parse("epsilon=1, delta=1e-6 per month"), why="")


def upgrade_again(folder):
    """A backup of the formats that are there now."""
    from discreet.curator.backup import back_up

    back_up(folder, folder.parent / "now.tar")
    return folder.parent / "now.tar"


def test_the_way_back_is_closed_once_something_was_spent(old):
    file = upgrade(old)
    with Curator(old) as curator:
        curator.ask("SELECT COUNT(*) AS people FROM visits", epsilon="0.5")
        lines = curator.verify().lines
    with pytest.raises(Refused, match="was written to after"):
        take_back(old, file)
    with Curator(old) as curator:  # which goes on as it was
        assert curator.verify().lines == lines
        assert not curator.ask("SELECT COUNT(*) AS n FROM visits WHERE sex = 'M'", epsilon="0.25").free


def test_who_has_it_open_while_it_is_taken_back_writes_no_more(old):
    file = upgrade(old)
    with Curator(old) as curator:
        take_back(old, file)
        with pytest.raises(LedgerError):
            curator.ask("SELECT COUNT(*) AS people FROM visits", epsilon="0.5")
    assert stored_version(old / "ledger.db") == 1


@pytest.mark.parametrize("at", ["retire", "replace"])
def test_a_way_back_that_was_interrupted_is_gone_on_with(old, at, monkeypatch):
    file = upgrade(old)
    with monkeypatch.context() as crash:
        if at == "retire":
            crash.setattr(upgrading, "_require_same", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
            crash.setattr(upgrading, "revive", lambda *_: None)
        else:
            crash.setattr(Path, "replace", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            take_back(old, file)
    with pytest.raises(LedgerError):
        open_ledger(old / "ledger.db")
    take_back(old, file)
    assert stored_version(old / "ledger.db") == 1


def test_the_backup_is_for_the_version_that_was_there_and_for_this_one(old, tmp_path):
    file = upgrade(old)
    restore(file, tmp_path / "again", forget=True)  # which brings it up to date
    with Curator(tmp_path / "again") as curator:
        assert curator.verify().sound
        assert curator.ask(QUESTION, epsilon="0.5").free


def test_an_upgrade_that_fails_half_way_is_begun_again(old, monkeypatch):
    def fail(session):
        add_periods(session)
        if "clinic" in str(session.rows("PRAGMA database_list")[0][2]) and not fail.rehearsing(session):
            raise LedgerError("on purpose")

    fail.rehearsing = lambda session: ".discreet-" in session.rows("PRAGMA database_list")[0][2]
    with monkeypatch.context() as broken:
        object.__setattr__(LEDGER.format.migrations[2], "step", fail)
        try:
            with pytest.raises(LedgerError, match="on purpose"):
                upgrade(old, old.parent / "first.tar")
        finally:
            object.__setattr__(LEDGER.format.migrations[2], "step", add_periods)
        del broken
    assert stored_version(old / "ledger.db") == 1
    upgrade(old, old.parent / "second.tar")
    with Curator(old) as curator:
        assert curator.verify().sound


# PostgreSQL: two versions of the service beside each other


@pytest.fixture
def shared(tmp_path, postgres_address):
    """A workspace whose ledger is in PostgreSQL, and went back to the tables that discreet 0.1.0 had."""
    with clinic(tmp_path / "clinic") as curator:
        curator.ask(COUNT, epsilon="0.5")
    move_ledger(tmp_path / "clinic", postgres_address)
    yield tmp_path / "clinic", postgres_address
    with psycopg.connect(postgres_address, autocommit=True) as server:
        for (name,) in server.execute("SELECT nspname FROM pg_namespace WHERE nspname LIKE 'discreet_%'").fetchall():
            server.execute(f"SET client_min_messages = error; DROP SCHEMA {name} CASCADE")


def as_before(address):
    """The ledger as the version before would have it: without what the last migration added."""
    with psycopg.connect(address) as server:
        server.execute(f"SET search_path = {POSTGRES_SCHEMA}")
        server.execute("ALTER TABLE accounts DROP COLUMN period, DROP COLUMN past")
        server.execute("DROP TABLE formats")


def test_the_later_version_waits_until_the_shared_ledger_is_upgraded(shared):
    folder, address = shared
    as_before(address)
    with pytest.raises(LedgerError, match="has format 1, which an earlier discreet wrote"):
        Curator(folder)
    [one] = rehearse(folder)
    assert one.stored == 1 and outdated(folder)[0].stored == 1  # rehearsed, and undone
    with pytest.raises(Refused, match="in PostgreSQL") as refusal:
        upgrade(folder)
    assert "pg_dump" in refusal.value.hint
    assert upgrade(folder, database_backed_up=True) is None
    with Curator(folder) as curator:
        assert curator.ask(COUNT, epsilon="0.5").free
        assert curator.verify().sound
    with pytest.raises(Refused, match="in PostgreSQL"):
        take_back(folder, folder.parent / "clinic.tar")


def test_an_earlier_version_writes_until_the_upgrade_and_not_after_it(shared):
    """Its transactions check the version: charges of many threads are all there, and all before the migration."""
    _, address = shared
    with open_postgres(address) as earlier:
        earlier.set_limit("visits", Pure(1000), why="")
        earlier.set_limit("visits/analyst", Pure(1000), why="")
        charged, refused, begun = [], [], threading.Event()

        def charge(who):
            for number in range(10_000):
                key = f"{who} {number}"
                try:
                    charged.append(earlier.charge("visits/analyst", Pure("0.01"), key=key, what=""))
                except LedgerError as error:
                    refused.append(str(error))
                    return
                if len(charged) > 20:
                    begun.set()

        threads = [threading.Thread(target=charge, args=(who,)) for who in range(3)]
        for thread in threads:
            thread.start()
        begun.wait(60)
        with psycopg.connect(address) as server:  # what the migration of a later version does
            server.execute(f"SET search_path = {POSTGRES_SCHEMA}")
            server.execute("LOCK TABLE lines IN EXCLUSIVE MODE")
            server.execute("ALTER TABLE accounts ADD COLUMN later text")
            server.execute("INSERT INTO formats VALUES (9, '9.9')")
            [(last,)] = server.execute("SELECT MAX(number) FROM lines").fetchall()
        for thread in threads:
            thread.join(60)
        assert len(refused) == 3 and all("another format" in one for one in refused)
        assert max(one.line for one in charged) == last  # all that was told is there, and nothing came after
        assert earlier.account("visits").left  # it still reads, and so can say what is the matter
    with psycopg.connect(address) as server:
        server.execute(f"SET search_path = {POSTGRES_SCHEMA}")
        server.execute("ALTER TABLE accounts DROP COLUMN later")
        server.execute("DELETE FROM formats WHERE number = 9")
    with open_postgres(address) as again:
        assert again.verify(charged).sound


def test_versions_with_the_same_formats_share_one_ledger(shared):
    """Two that have the database open charge in turn, as a service and the one that takes its place do."""
    folder, _ = shared
    with Curator(folder) as earlier, Curator(folder) as later:
        for number in range(6):
            one = (earlier, later)[number % 2]
            one.ask(f"SELECT COUNT(*) AS n FROM visits WHERE street <> '{number}'", epsilon="0.01")
        assert earlier.verify() == later.verify()
        assert earlier.left("visits") == later.left("visits")


def test_a_schema_of_the_first_version_is_migrated(postgres_address):
    from zipfile import ZipFile

    dump = ZipFile(FOLDER / "v1" / "ledger.zip").read(DUMP).decode()
    name = "upgrading_v1"
    with psycopg.connect(postgres_address) as server:
        server.execute(dump.replace(SCHEMA, name))
    with open_postgres(postgres_address, schema=name) as ledger:
        ledger.set_limit("visits/ann", Budget.parse("epsilon=1 per month; epsilon=3 in total"), why="")
        assert ledger.verify().sound
    with open_postgres(postgres_address, schema=name) as ledger:
        assert ledger.account("visits/ann").spent_ever == Pure("0.25")
