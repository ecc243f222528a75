"""A workspace copied and restored as a person does it."""

import psycopg
import pytest
from tests.curator.clinics import COUNT, clinic


def test_a_workspace_is_copied_and_restored(command, tmp_path):
    clinic(tmp_path / "clinic").close()
    asked = ("ask", "clinic", COUNT, "--epsilon", "0.5")
    command(*asked)
    assert "1 answer, each with its charge" in command("workspace", "backup", "clinic", "clinic.tar")
    assert "already exists" in command("workspace", "backup", "clinic", "clinic.tar", code=1)
    assert "forgotten" in command("workspace", "restore", "clinic.tar", "again", code=3)
    said = command("workspace", "restore", "clinic.tar", "again", "--receipts", "clinic/releases")
    assert "Never use the original workspace again" in said
    assert "Answered before" in command("ask", "again", COUNT, "--epsilon", "0.5")
    assert "lower the limits" not in said
    assert "lower the limits" in command("workspace", "restore", "clinic.tar", "third", "--yes-spent-is-forgotten")
    (tmp_path / "other.tar").write_text("no tar")
    assert "other.tar is not a backup of a workspace." in command("workspace", "restore", "other.tar", "fourth", code=1)
    assert "all valid" in command("budget", "verify", "third")


@pytest.fixture
def database(postgres_address):
    yield postgres_address
    with psycopg.connect(postgres_address, autocommit=True) as server:
        for (name,) in server.execute("SELECT nspname FROM pg_namespace WHERE nspname LIKE 'discreet_%'").fetchall():
            server.execute(f"SET client_min_messages = error; DROP SCHEMA {name} CASCADE")


def test_a_ledger_is_moved_and_the_workspace_restored_with_the_database_that_is_named(command, tmp_path, database):
    clinic(tmp_path / "clinic").close()
    asked = ("ask", "clinic", COUNT, "--epsilon", "0.5")
    command(*asked)
    assert "all valid" in command("workspace", "move-ledger", "clinic", "--to", database)
    assert "Answered before" in command(*asked)
    assert "in a database already" in command("workspace", "move-ledger", "clinic", "--to", database, code=1)
    command("workspace", "backup", "clinic", "clinic.tar")
    refused = command("workspace", "restore", "clinic.tar", "again", code=3)
    assert "would charge the database of the original" in " ".join(refused.split())
    command("workspace", "restore", "clinic.tar", "again", "--to", database)
    assert "Answered before" in command("ask", "again", COUNT, "--epsilon", "0.5")
