"""What can go wrong with a ledger in PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable

import psycopg
import pytest

from discreet.budget.ledger import FORMAT, create_ledger, create_postgres, open_ledger, open_postgres
from discreet.core.loss import Pure
from discreet.errors import BadInput, LedgerError, LoginFailed, NotFound, Unreachable

NEWER = FORMAT.version + 1


@pytest.fixture
def schema(fresh: Callable[[], str]) -> str:
    return fresh()


def test_an_address_is_a_database(postgres_address: str) -> None:
    with create_ledger(postgres_address) as ledger:
        assert ledger.verify().sound
    with open_ledger(postgres_address) as ledger:
        assert len(list(ledger.lines())) == 1
        assert "discreet_ledger" in repr(ledger)
    with psycopg.connect(postgres_address) as connection:
        connection.execute("DROP SCHEMA discreet_ledger CASCADE")


def test_commits_wait_for_the_disk_whatever_the_settings_say(postgres_address: str, schema: str) -> None:
    with psycopg.connect(postgres_address, autocommit=True) as connection:
        connection.execute("CREATE ROLE hasty LOGIN SUPERUSER")
        connection.execute("ALTER ROLE hasty SET synchronous_commit = off")
    hasty = postgres_address.replace("postgres:@", "hasty:@")
    with create_postgres(hasty, schema=schema) as ledger, ledger._store.writing() as session:
        assert session.rows("SELECT current_user::text") == [("hasty",)]
        assert session.rows("SHOW synchronous_commit") == [("on",)]


def test_a_lost_connection_is_reported_and_made_again(postgres_address: str, schema: str) -> None:
    with create_postgres(postgres_address, schema=schema) as ledger:
        ledger.open_account("t", Pure(1))
        with psycopg.connect(postgres_address, autocommit=True) as connection:
            connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
        with pytest.raises(Unreachable, match=r"was lost.*same key"):
            ledger.charge("t", Pure("0.5"), key="k", what="")
        ledger.charge("t", Pure("0.5"), key="k", what="")
        assert ledger.account("t").spent == Pure("0.5")
        assert ledger.verify().sound


def test_a_newer_format_is_not_guessed_at(postgres_address: str, schema: str) -> None:
    create_postgres(postgres_address, schema=schema).close()
    with psycopg.connect(postgres_address) as connection:
        connection.execute(f"INSERT INTO {schema}.formats VALUES ({NEWER}, '9.9')")
    said = rf"format {NEWER}; discreet .* reads formats up to {FORMAT.version}\. Install discreet 9\.9"
    with pytest.raises(LedgerError, match=said):
        open_postgres(postgres_address, schema=schema)


def test_nobody_there_or_nobody_let_in(postgres_address: str) -> None:
    with pytest.raises(Unreachable, match="No answer"):
        open_postgres("postgresql://nobody:secret@localhost:1/none")
    with pytest.raises(LoginFailed, match="refused the connection") as refusal:
        open_postgres(postgres_address.replace("postgres:@", "guarded:wrong@"))
    assert "wrong" not in str(refusal.value)
    with pytest.raises(NotFound, match="no ledger"):
        open_postgres(postgres_address, schema="nothing_here")


@pytest.mark.parametrize("address", ["postgresql://user:sec@ret@host/db", "postgresql://[secret"])
def test_a_wrong_address_is_not_quoted(address: str) -> None:
    with pytest.raises(BadInput) as problem:
        open_ledger(address)
    assert "sec" not in str(problem.value).replace("postgresql://user:password@", "")


@pytest.mark.parametrize("name", ["", "Upper", "a-b", "x; DROP SCHEMA public", "x" * 64])
def test_a_schema_has_a_plain_name(postgres_address: str, name: str) -> None:
    with pytest.raises(BadInput, match="lower-case letters"):
        create_postgres(postgres_address, schema=name)
