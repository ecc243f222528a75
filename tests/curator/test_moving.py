"""A ledger that moves into a database: all of it, once, and never charged in two places."""

import threading
from contextlib import closing

import psycopg
import pytest
from tests.curator.clinics import COUNT, clinic, visits

from discreet.budget.ledger import open_ledger
from discreet.budget.sqlite import SqliteStore
from discreet.core.loss import Pure
from discreet.curator import moving
from discreet.curator.backup import back_up, restore
from discreet.curator.curator import Curator
from discreet.curator.moving import move_ledger
from discreet.curator.people.audit import Audit
from discreet.curator.people.people import People
from discreet.curator.people.person import Role
from discreet.curator.people.state import State
from discreet.errors import BadInput, LedgerError, NotFound, Refused
from discreet.releases.register import Entry, Register
from discreet.verbs.ask.stream import Stream

OTHER = "SELECT COUNT(*) AS m FROM visits WHERE city = 'Rome'"
STREAM = Stream("admissions", 300, by=["city"], epsilon="0.5")
ENTRY = Entry(0, "people", "visits", "", "/published/r", "publish", 9)


@pytest.fixture
def database(postgres_address):
    """A database without schemas of ours."""
    yield postgres_address
    with psycopg.connect(postgres_address, autocommit=True) as server:
        for (name,) in server.execute("SELECT nspname FROM pg_namespace WHERE nspname LIKE 'discreet_%'").fetchall():
            server.execute(f"SET client_min_messages = error; DROP SCHEMA {name} CASCADE")


@pytest.fixture
def asked(tmp_path):
    """A clinic with people and a register, which was asked once, and the receipt; its limits were set by hand."""
    with clinic(tmp_path / "clinic") as curator:
        answer = curator.ask(COUNT, epsilon="0.5")
        with closing(State.open(curator.workspace)) as state:
            People(state).add("ann", Role.STEWARD)
            Audit(state).write("ann", "look", {"table": "visits"})
            state.ensure("CREATE TABLE IF NOT EXISTS notes (id text PRIMARY KEY, share double precision, data bytea)")
            state.change(lambda session: session.run("INSERT INTO notes VALUES (?, ?, ?)", [("a\tb\n", 0.5, b"\0\n")]))
        with Register(curator.workspace.register) as register:
            register.add(ENTRY, b"facts", b"people")
    file = tmp_path / "clinic" / "workspace.toml"
    file.write_text(f"# ours\n{file.read_text()}\n[limits]\nseconds = 7  # short\n")
    return tmp_path / "clinic", answer


def test_all_of_it_is_moved_and_the_files_are_used_no_more(asked, database, tmp_path):
    folder, before = asked
    with Curator(folder) as curator:
        lines = curator.verify().lines
        assert move_ledger(folder, database) == lines
        for question in (COUNT, OTHER):
            with pytest.raises(LedgerError, match="was moved to a database"):
                curator.ask(question, epsilon="0.5")
    with pytest.raises(LedgerError, match="was moved to a database"):
        open_ledger(folder / "ledger.db")
    assert "# ours" in (folder / "workspace.toml").read_text() and "# short" in (folder / "workspace.toml").read_text()
    assert (folder / "workspace.toml").stat().st_mode & 0o077 == 0
    with Curator(folder) as curator:
        assert (curator.workspace.ledger, curator.workspace.limits.seconds) == (database, 7)
        assert curator.verify().sound
        after = curator.ask(COUNT, epsilon="0.5")
        assert after.free and after.left == before.left and after.release.receipt == before.release.receipt
        assert not curator.ask(OTHER, epsilon="0.5").free
        with closing(State.open(curator.workspace)) as state:
            assert [one.name for one in People(state).all()] == ["ann"]
            Audit(state).write("ann", "look", {})
            assert Audit(state).verify().sound and Audit(state).lines()[-2].action == "look"
            assert state.rows("SELECT * FROM notes") == [("a\tb\n", 0.5, b"\0\n")]
        with Register(curator.workspace.register) as register:
            register.verify()
            [entry] = register.entries()
            assert (entry.release, register.facts(1)) == ("/published/r", b"facts")
            register.add(ENTRY)
    with psycopg.connect(database) as server, pytest.raises(psycopg.Error, match="append-only"):
        server.execute("DELETE FROM discreet_ledger.lines")
    with pytest.raises(BadInput, match="in a database already"):
        move_ledger(folder, database)


def test_what_is_charged_meanwhile_is_moved_too_or_refused(tmp_path, database):
    with clinic(tmp_path / "clinic", Pure(100)) as curator:
        receipts, refused, some = [], threading.Event(), threading.Event()

        def ask():
            for number in range(10_000):
                try:
                    said = curator.ask(f"SELECT COUNT(*) AS n FROM visits WHERE street <> '{number}'", epsilon="0.01")
                except LedgerError:
                    refused.set()
                    return
                receipts.append(said.release.receipt)
                if number == 3:
                    some.set()

        thread = threading.Thread(target=ask)
        thread.start()
        assert some.wait(60)
        move_ledger(tmp_path / "clinic", database)
        thread.join()
    assert refused.is_set() and len(receipts) > 3
    with Curator(tmp_path / "clinic") as curator:
        assert curator.ledger.verify(receipts).sound


def test_a_database_that_cannot_take_it_leaves_it_as_it_was(asked, database, tmp_path):
    folder, _ = asked
    with psycopg.connect(database, autocommit=True) as server:
        server.execute("CREATE SCHEMA discreet_ledger")
    with pytest.raises(BadInput, match="discreet_ledger in that database already"):
        move_ledger(folder, database)
    with pytest.raises(BadInput, match="holds a password"):
        move_ledger(folder, "postgresql://ann:secret@localhost/x")
    with Curator(folder) as curator:
        assert curator.workspace.ledger == "ledger.db"
        assert not curator.ask(OTHER, epsilon="0.5").free


def test_an_error_before_the_copy_is_there_has_the_files_used_again(asked, database, monkeypatch):
    folder, _ = asked
    whole = moving.copied

    def failing(address, files):
        broken = [*files, files[-1]]  # the same schema twice
        return whole(address, broken)

    monkeypatch.setattr(moving, "copied", failing)
    with pytest.raises(LedgerError, match="There is a schema"):
        move_ledger(folder, database)
    with Curator(folder) as curator:
        assert curator.ask(COUNT, epsilon="0.5").free
        assert not curator.ask(OTHER, epsilon="0.5").free
    monkeypatch.undo()
    assert move_ledger(folder, database) > 0


@pytest.mark.parametrize("step", ["copied", "_require_same", "set_ledger"])
def test_after_a_crash_the_same_again_goes_on(asked, database, monkeypatch, step):
    """Killed before a step: no handler of errors runs then, so that what puts things back does nothing."""
    folder, _ = asked

    class Killed(BaseException):
        pass

    def killed(*_):
        raise Killed

    monkeypatch.setattr(moving, step, killed)
    monkeypatch.setattr(moving, "revive", lambda *_: None)
    with pytest.raises(Killed):
        move_ledger(folder, database)
    with pytest.raises(LedgerError, match="was moved to a database, or is being moved"):
        Curator(folder)
    monkeypatch.undo()
    move_ledger(folder, database)
    with Curator(folder) as curator:
        assert curator.verify().sound
        assert curator.ask(COUNT, epsilon="0.5").free


@pytest.mark.parametrize("files", [1, 3])
def test_after_a_crash_before_the_ledgers_turn_all_of_it_begins_anew(asked, database, monkeypatch, files):
    """Killed when so many files were retired, and the ledger was not; it is charged until the next attempt."""
    folder, _ = asked
    with Curator(folder) as curator:
        curator.stream(STREAM, "visits").advance(visits(20))
    retire, left = SqliteStore.retire, [files]

    class Killed(BaseException):
        pass

    def killed(store):
        if not left[0]:
            raise Killed
        left[0] -= 1
        retire(store)

    monkeypatch.setattr(SqliteStore, "retire", killed)
    monkeypatch.setattr(moving, "revive", lambda *_: None)
    with pytest.raises(Killed):
        move_ledger(folder, database)
    monkeypatch.undo()
    with Curator(folder) as curator:
        assert not curator.ask(OTHER, epsilon="0.5").free
    move_ledger(folder, database)
    with Curator(folder) as curator:
        assert curator.verify().sound
        assert curator.ask(OTHER, epsilon="0.5").free
        with Register(curator.workspace.register) as register:
            assert len(register.entries()) == 1


def test_a_stream_goes_on_in_the_database_and_no_step_is_taken_twice(asked, database):
    folder, _ = asked
    with Curator(folder) as curator:
        running = curator.stream(STREAM, "visits")
        told = [running.advance(visits(20)).payload, running.advance(visits(30)).payload]
        move_ledger(folder, database)
        with pytest.raises(LedgerError, match="was moved to a database"):
            running.advance(visits(40))
    with Curator(folder) as curator:
        assert curator.verify().sound
        running = curator.find_stream("visits", STREAM.called)
        assert [running.release(step).payload for step in (1, 2)] == told
        assert running.advance(visits(40), step=2).payload == told[1]
        assert running.advance(visits(40)).payload != told[1] and running.step == 3
        assert curator.verify().sound


def test_a_copy_that_is_another_ledger_is_not_taken_for_ours(asked, database, monkeypatch, tmp_path):
    folder, _ = asked
    clinic(tmp_path / "other", ledger=database).close()
    monkeypatch.setattr(moving, "is_retired", lambda _: True)  # as if a crash had come before the copy
    with pytest.raises(LedgerError):
        move_ledger(folder, database)
    assert 'ledger = "ledger.db"' in (folder / "workspace.toml").read_text()


def test_a_restored_workspace_uses_the_database_that_is_named_and_no_other(tmp_path, database):
    with clinic(tmp_path / "clinic", ledger=database) as curator:
        receipt = curator.ask(COUNT, epsilon="0.5").release.receipt
    back_up(tmp_path / "clinic", tmp_path / "clinic.tar")
    with pytest.raises(Refused, match="would charge the database of the original"):
        restore(tmp_path / "clinic.tar", tmp_path / "again")
    with pytest.raises(NotFound, match="no ledger at"):
        restore(
            tmp_path / "clinic.tar", tmp_path / "again", ledger=f"{database}&application_name=other&dbname=template1"
        )
    again = f"{database}&application_name=again"
    with pytest.raises(Refused, match="one budget could be spent twice"):  # it may be an older copy
        restore(tmp_path / "clinic.tar", tmp_path / "again", ledger=again)
    assert not (tmp_path / "again").exists()
    restore(tmp_path / "clinic.tar", tmp_path / "again", ledger=again, newest=[receipt])
    with Curator(tmp_path / "again") as curator:
        assert curator.workspace.ledger.endswith("=again")
        assert curator.ask(COUNT, epsilon="0.5").free


def test_a_ledger_in_the_archive_is_not_put_into_a_database_by_the_way(asked, tmp_path, database):
    folder, _ = asked
    back_up(folder, tmp_path / "clinic.tar")
    with pytest.raises(BadInput, match="is in the archive"):
        restore(tmp_path / "clinic.tar", tmp_path / "again", forget=True, ledger=database)
