"""The service's database: made once, shared by all, and changed by one at a time."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest
from tests.curator.people.places import Place, forget, schema_of

from discreet.budget.store import Session
from discreet.curator.people.people import People
from discreet.curator.people.person import Role
from discreet.curator.people.state import State
from discreet.curator.tables import Registered
from discreet.curator.workspace import Workspace
from discreet.errors import BadInput, LedgerError


def add(number: int) -> object:
    return lambda session: session.run("INSERT INTO numbers (n) VALUES (?)", [(number,)])


def numbers(state: State) -> list[int]:
    with state.reading() as session:
        return [n for (n,) in session.rows("SELECT n FROM numbers ORDER BY n")]


def test_all_who_open_it_first_at_once_find_the_same(place: Place) -> None:
    with ThreadPoolExecutor(4) as pool:
        states = list(pool.map(lambda _: place.open(), range(4)))
    for state in states:
        state.ensure("CREATE TABLE IF NOT EXISTS numbers (n integer)")
    for number, state in enumerate(states):
        state.change(add(number))  # type: ignore[arg-type]
    assert [numbers(state) for state in states] == [[0, 1, 2, 3]] * 4
    for state in states:
        state.close()


def test_changes_that_wait_together_are_written_together_and_a_refused_one_alone_is_not(state: State) -> None:
    state.ensure("CREATE TABLE IF NOT EXISTS numbers (n integer)")

    def change(number: int) -> int:
        def work(session: Session) -> int:
            session.run("INSERT INTO numbers (n) VALUES (?)", [(number,)])
            if number % 5 == 0:
                raise BadInput(f"{number} is not wanted.")
            return number

        try:
            return state.change(work)
        except BadInput as error:
            assert str(number) in error.message
            return -1

    with ThreadPoolExecutor(16) as pool:
        done = list(pool.map(change, range(60)))
    assert done == [-1 if n % 5 == 0 else n for n in range(60)]
    assert numbers(state) == [n for n in range(60) if n % 5]


def test_writers_of_several_threads_take_turns(state: State) -> None:
    state.ensure("CREATE TABLE IF NOT EXISTS numbers (n integer)")

    def count(_: int) -> None:
        with state.writing() as session:
            [(most,)] = session.rows("SELECT COALESCE(MAX(n), 0) FROM numbers")
            session.run("INSERT INTO numbers (n) VALUES (?)", [(most + 1,)])

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(count, range(40)))
    assert numbers(state) == list(range(1, 41))


def test_a_newer_format_is_not_guessed_at(place: Place) -> None:
    place.open().close()
    with place.outside() as run:
        run("CREATE TABLE formats AS SELECT 2 AS number, '9.9' AS discreet")
        if place.address is None:
            run("PRAGMA user_version = 2")
    with pytest.raises(LedgerError, match=r"service database .* has format 2; discreet .* Install discreet 9\.9"):
        place.open()


def test_a_forked_process_must_open_it_itself(state: State) -> None:
    child = os.fork()
    if child == 0:
        try:
            state.change(lambda session: None)
        except LedgerError:
            os._exit(7)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    state.change(lambda session: None)


def test_what_was_closed_is_closed(place: Place) -> None:
    state = place.open()
    state.close()
    state.close()
    with pytest.raises(LedgerError, match="service database has been closed"):
        state.change(lambda session: None)


def test_the_file_is_its_owners_alone_and_nothing_else_is_taken_for_it(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.open().close()
    assert (tmp_path / "service.db").stat().st_mode & 0o077 == 0
    (tmp_path / "service.db").write_text("name,age\n" * 1000)
    with pytest.raises(LedgerError, match="is not a service database"):
        place.open()


def test_who_may_not_make_it_in_postgres_is_told_why(postgres_address: str, tmp_path: Path) -> None:
    with psycopg.connect(postgres_address, autocommit=True) as server:
        forget(server)
        server.execute("CREATE ROLE visitor LOGIN")
    with pytest.raises(LedgerError, match="permission denied"):
        Place(tmp_path, postgres_address.replace("postgres:@", "visitor:@")).open()


def test_two_workspaces_on_one_ledger_know_nothing_of_each_other_in_postgres(
    postgres_address: str, tmp_path: Path
) -> None:
    """Their tables have twins of their own, and so each has people, an audit log and jobs of its own."""
    one, other = (
        Workspace(tmp_path, postgres_address, {"t": Registered("t.csv", "twin", identity, "", "")})
        for identity in ("0" * 16, "1" * 16)
    )
    assert schema_of(one) != schema_of(other) == schema_of(replace(other, folder=tmp_path / "elsewhere"))
    for workspace in (one, other):
        with psycopg.connect(postgres_address, autocommit=True) as server:
            server.execute(f"SET client_min_messages = error; DROP SCHEMA IF EXISTS {schema_of(workspace)} CASCADE")
    with closing(State.open(one)) as here, closing(State.open(other)) as there:
        People(here).add("ann", Role.STEWARD)
        assert People(there).all() == ()
