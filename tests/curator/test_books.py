"""The books of a workspace: an old, edited or damaged ledger is noticed before anything is answered; a crash is not."""

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from tests.curator.clinics import COUNT, clinic

from discreet.curator.backup import back_up, receipts_in, restore
from discreet.curator.curator import Curator
from discreet.errors import Unsound

OTHER = "SELECT COUNT(*) AS n FROM visits WHERE income > 30"
TABLES = ("lines", "accounts", "parts")


@pytest.fixture
def shared_ledger(postgres_address):
    """A PostgreSQL database without a ledger, now and afterwards."""
    yield postgres_address
    with psycopg.connect(postgres_address) as connection:
        connection.execute("DROP SCHEMA IF EXISTS discreet_ledger CASCADE")


@pytest.fixture(params=["sqlite", "postgres"])
def place(request, tmp_path):
    """A clinic that was asked once, and after that its ledger was copied."""
    address = request.getfixturevalue("shared_ledger") if request.param == "postgres" else None
    with clinic(tmp_path / "clinic", ledger=address) as curator:
        curator.ask(COUNT, epsilon="0.5")
    with _outside(tmp_path / "clinic", address) as run:
        for table in TABLES:
            run(f"CREATE TABLE old_{table} AS SELECT * FROM {table}")
    return tmp_path / "clinic", address


def _outside(folder, address):
    if address is None:
        return _File(folder / "ledger.db")
    return _Server(address)


class _File:
    def __init__(self, path):
        self._file = sqlite3.connect(path, isolation_level=None)

    def __enter__(self):
        for verb in ("update", "delete"):
            self._file.execute(f"DROP TRIGGER IF EXISTS no_{verb}")
        return self._file.execute

    def __exit__(self, *_):
        self._file.close()


class _Server:
    def __init__(self, address):
        self._server = psycopg.connect(address, autocommit=True)

    def __enter__(self):
        self._server.execute("SET search_path = discreet_ledger; DROP TRIGGER IF EXISTS append_only ON lines")
        return self._server.execute

    def __exit__(self, *_):
        self._server.close()


def _put_back(folder, address):
    with _outside(folder, address) as run:
        for table in TABLES:
            run(f"DELETE FROM {table}")
            run(f"INSERT INTO {table} SELECT * FROM old_{table}")


def test_an_old_ledger_is_noticed_when_the_workspace_is_opened(place):
    folder, address = place
    with Curator(folder) as curator:
        curator.ask(OTHER, epsilon="0.5")
    _put_back(folder, address)
    with pytest.raises(Unsound, match="older copy, or was truncated: entry 7 had been written"):
        Curator(folder)
    with pytest.raises(Unsound):
        back_up(folder, folder.parent / "copy.tar")


def test_an_old_ledger_is_shown_by_an_answer_even_without_a_witness(place):
    """As after all of a folder's files were put back, and the answers given since were left there."""
    folder, address = place
    with Curator(folder) as curator:
        identity = curator.ask(OTHER, epsilon="0.5").identity
    _put_back(folder, address)
    (folder / "ledger.db-head").unlink()
    with pytest.raises(Unsound, match=f"older copy than the answer {identity}.* visits/analyst in entry 6"):
        Curator(folder)
    (folder / "releases" / identity).unlink()
    Curator(folder).close()  # nothing is left that could show it


def test_an_old_ledger_under_a_curator_that_is_open_answers_nothing(place):
    folder, address = place
    with Curator(folder) as curator:
        curator.ask(OTHER, epsilon="0.5")
        _put_back(folder, address)
        with pytest.raises(Unsound, match="Entry 7 of the ledger is gone"):
            curator.ask("SELECT COUNT(*) AS n FROM visits WHERE income > 40", epsilon="0.5")
    assert len(list((folder / "releases").iterdir())) == 2


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ("UPDATE accounts SET whole = peak", "visits does not match the sum of its entries"),
        ("UPDATE lines SET content = replace(content, '1/2', '1/9') WHERE number = 4", "entry 4"),
        ("DELETE FROM lines WHERE number = 4", "an entry before it is missing"),
    ],
)
def test_an_edited_ledger_is_noticed_when_the_workspace_is_opened(place, statement, problem):
    folder, address = place
    with _outside(folder, address) as run:
        run(statement)
    with pytest.raises(Unsound, match=f"edited or damaged: .*{problem}"):
        Curator(folder)


def test_an_edited_line_under_a_curator_that_is_open_answers_nothing(place):
    folder, address = place
    with Curator(folder) as curator, _outside(folder, address) as run:
        run("UPDATE lines SET content = replace(content, '1/2', '1/9') WHERE number = 4")
        with pytest.raises(Unsound, match="Entry 4 of the ledger was edited"):
            curator.ask(OTHER, epsilon="0.5")
    assert len(list((folder / "releases").iterdir())) == 1


def test_a_damaged_ledger_is_noticed_when_the_workspace_is_opened(tmp_path):
    with clinic(tmp_path / "clinic") as curator:
        curator.ask(COUNT, epsilon="0.5")
    file = tmp_path / "clinic" / "ledger.db"
    data = bytearray(file.read_bytes())
    data[-4096:] = b"\xff" * 4096
    file.write_bytes(data)
    with pytest.raises(Unsound, match="damaged"):
        Curator(tmp_path / "clinic")


@pytest.mark.parametrize("where", ["charge", "keep"])
def test_a_process_that_was_killed_on_the_way_raises_no_alarm(place, where):
    folder, address = place
    with _outside(folder, address) as run:
        [(before,)] = run("SELECT MAX(number) FROM lines").fetchall()
    question = ["die", where]
    for path in (folder / "releases").iterdir():
        path.unlink()  # so that the worker's question is another
    with _outside(folder, address) as run:
        run("DELETE FROM lines WHERE number = 5")  # its seal
    (folder / "ledger.db-head").unlink()
    command = [sys.executable, "-m", "tests.curator.worker", str(folder), *question]
    assert subprocess.run(command, check=False, cwd=Path(__file__).parents[2]).returncode == -9
    assert before == 5
    assert len(list((folder / "releases").iterdir())) == (where == "keep")
    with Curator(folder) as curator:
        assert curator.ask(COUNT, epsilon="0.5").release.receipt.line == 4
        assert curator.verify().sound


def test_a_restored_copy_is_taken_as_it_is(tmp_path):
    with clinic(tmp_path / "clinic") as curator:
        curator.ask(COUNT, epsilon="0.5")
    back_up(tmp_path / "clinic", tmp_path / "copy.tar")
    receipts = receipts_in(tmp_path / "clinic")
    with Curator(tmp_path / "clinic") as curator:
        curator.ask(OTHER, epsilon="0.5")
    restore(tmp_path / "copy.tar", tmp_path / "again", newest=receipts)
    with Curator(tmp_path / "again") as curator:
        curator.ask("SELECT COUNT(*) AS n FROM visits WHERE income > 40", epsilon="0.5")
        assert curator.verify().sound
    with closing(sqlite3.connect(tmp_path / "again" / "ledger.db")) as file:
        assert file.execute("SELECT MAX(number) FROM lines").fetchall() == [(8,)]  # one says that it was restored
