"""Connections kept for reading, and group commit."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from discreet.budget.postgres import create_postgres
from discreet.budget.store import Group, Readers
from discreet.core.loss import Pure
from discreet.errors import LedgerError


@pytest.fixture
def made() -> list[sqlite3.Connection]:
    """All connections that there ever were."""
    return []


@pytest.fixture
def readers(made: list[sqlite3.Connection]) -> Readers[sqlite3.Connection]:
    def connect() -> sqlite3.Connection:
        made.append(sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False))
        return made[-1]

    return Readers(connect, "BEGIN")


def test_one_after_the_other_gets_the_same_connection_and_two_at_once_two(
    readers: Readers[sqlite3.Connection], made: list[sqlite3.Connection]
) -> None:
    for _ in range(5):
        with readers.snapshot() as connection:
            assert connection.in_transaction
        assert not connection.in_transaction
    assert len(made) == 1
    with readers.snapshot() as one, readers.snapshot() as other:
        assert one is not other
    assert len(made) == 2


def test_however_many_read_at_once_there_are_few_connections(
    readers: Readers[sqlite3.Connection], made: list[sqlite3.Connection]
) -> None:
    def read(_: int) -> int:
        with readers.snapshot() as connection:
            found: int = connection.execute("SELECT 7").fetchone()[0]
        return found

    with ThreadPoolExecutor(40) as pool:
        assert set(pool.map(read, range(400))) == {7}
    assert len(made) <= 8


def test_a_connection_on_which_something_failed_is_not_used_again(
    readers: Readers[sqlite3.Connection], made: list[sqlite3.Connection]
) -> None:
    with pytest.raises(ZeroDivisionError), readers.snapshot():
        1 / 0  # noqa: B018
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        made[0].execute("SELECT 1")
    with readers.snapshot() as connection:
        assert connection is made[1]


def test_one_that_was_lost_meanwhile_is_replaced(
    readers: Readers[sqlite3.Connection], made: list[sqlite3.Connection]
) -> None:
    with readers.snapshot():
        pass
    made[0].close()
    with readers.snapshot() as connection:
        assert connection is made[1]


def test_a_single_query_uses_the_same_connections_and_is_asked_again_when_one_was_lost(
    readers: Readers[sqlite3.Connection], made: list[sqlite3.Connection]
) -> None:
    def seven() -> object:
        return readers.once(lambda connection: connection.execute("SELECT 7").fetchone()[0])

    assert [seven(), seven()] == [7, 7]
    assert len(made) == 1
    made[0].close()
    assert [seven(), seven()] == [7, 7]
    assert len(made) == 2
    with pytest.raises(sqlite3.OperationalError, match="no such table"):
        readers.once(lambda connection: connection.execute("SELECT 7 FROM nowhere"))
    assert seven() == 7


def test_closing_closes_all_of_them(readers: Readers[sqlite3.Connection], made: list[sqlite3.Connection]) -> None:
    with readers.snapshot(), readers.snapshot():
        pass
    with readers.snapshot():
        readers.close()
    assert len(made) == 2
    for connection in made:
        with pytest.raises(sqlite3.ProgrammingError, match="closed"):
            connection.execute("SELECT 1")


def test_a_ledger_in_postgres_reads_on_after_its_connections_were_cut(
    postgres_address: str, fresh: Callable[[], str]
) -> None:
    with create_postgres(postgres_address, schema=fresh()) as ledger:
        ledger.open_account("t", Pure(1))
        with psycopg.connect(postgres_address, autocommit=True) as connection:
            connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
        assert ledger.account("t").left == Pure(1)


def test_everybody_gets_the_answer_to_their_own_request() -> None:
    group: Group[int, int] = Group(lambda numbers: [number * number for number in numbers])
    with ThreadPoolExecutor(16) as pool:
        assert list(pool.map(group.submit, range(500))) == [n * n for n in range(500)]
    group.close()


def test_those_who_wait_together_are_written_together() -> None:
    batches: list[int] = []
    first, go_on = threading.Event(), threading.Event()

    def work(numbers: Sequence[int]) -> list[int]:
        batches.append(len(numbers))
        first.set()
        go_on.wait()
        return list(numbers)

    group: Group[int, int] = Group(work)
    with ThreadPoolExecutor(9) as pool:
        lone = pool.submit(group.submit, 0)
        first.wait()
        crowd = [pool.submit(group.submit, n) for n in range(1, 9)]
        while group._waiting.qsize() < 8:
            pass
        go_on.set()
        assert lone.result() == 0
        assert [one.result() for one in crowd] == list(range(1, 9))
    assert batches == [1, 8]
    group.close()


def test_an_error_for_one_is_not_one_for_all() -> None:
    group: Group[int, int] = Group(lambda ns: [LedgerError("odd") if n % 2 else n for n in ns])
    assert group.submit(2) == 2
    with pytest.raises(LedgerError, match="odd"):
        group.submit(3)
    group.close()


def test_when_writing_fails_all_who_waited_hear_of_it_and_the_next_are_served() -> None:
    def work(numbers: Sequence[int]) -> list[int]:
        return [10 // number for number in numbers]

    group: Group[int, int] = Group(work)
    with pytest.raises(ZeroDivisionError):
        group.submit(0)
    assert group.submit(5) == 2
    group.close()


def test_a_closed_group_serves_nobody_and_closes_twice() -> None:
    group: Group[int, int] = Group(list)
    group.close()
    group.close()
    with pytest.raises(LedgerError, match="closed"):
        group.submit(1)


def test_a_forked_process_is_told_and_does_not_wait_for_a_thread_it_does_not_have() -> None:
    group: Group[int, int] = Group(list)
    child = os.fork()
    if child == 0:
        try:
            group.submit(1)
        except LedgerError as error:
            os._exit(7 if "another process" in error.message else 1)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert group.submit(1) == 1
    group.close()
