"""Connections kept for reading, group commit, versions of a database, and the witness outside of it."""

from __future__ import annotations

import os
import re
import sqlite3
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from zlib import crc32

import psycopg
import pytest

from discreet.budget import ledger as ledger_module
from discreet.budget import store as module
from discreet.budget.ledger import Group, create_postgres
from discreet.budget.postgres import PostgresStore, _version
from discreet.budget.store import Contents, Readers, Session, Witness, migrate, record_version, require_head
from discreet.budget.verify import Verdict
from discreet.core.document import Format, Migration
from discreet.core.loss import Pure
from discreet.errors import BadInput, LedgerError, LoginFailed, NotFound, Unreachable, Unsound


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


def test_as_many_read_at_once_as_there_are_connections_and_the_next_waits(
    readers: Readers[sqlite3.Connection], made: list[sqlite3.Connection], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_READER_SECONDS", 0.01)
    with ExitStack() as stack:
        for _ in range(8):
            stack.enter_context(readers.snapshot())
        assert len(made) == 8
        with pytest.raises(LedgerError, match="8 other readers have been active for 0 seconds"), readers.snapshot():
            pass
        with pytest.raises(LedgerError, match="8 other readers"):
            readers.once(lambda connection: 1)
    assert readers.once(lambda connection: 1) == 1


def test_a_forked_process_forgets_the_connections_of_its_parent(
    readers: Readers[sqlite3.Connection], made: list[sqlite3.Connection], monkeypatch: pytest.MonkeyPatch
) -> None:
    readers.once(lambda connection: 1)
    monkeypatch.setattr(module.os, "getpid", lambda: -7)
    readers.once(lambda connection: 1)
    assert len(made) == 2
    readers.once(lambda connection: 1)
    assert len(made) == 2


def gathered(monkeypatch: pytest.MonkeyPatch, waiting: int, expected: int, seconds: float = 0.0) -> list[int]:
    """The batch that a group takes of so many requests that wait, when it expects so many."""
    group: Group[int, int] = Group(list)
    group.close()
    monkeypatch.setattr(ledger_module, "_LARGEST_GROUP", 4)
    for number in range(waiting):
        group._waiting.put((number, None))  # type: ignore[arg-type]
    return [request for request, _ in group._gathered(expected, module.time.monotonic() + seconds)]


@pytest.mark.parametrize("expected", [0, 2, 4, 9])
def test_a_group_takes_what_waits_up_to_its_largest_size(monkeypatch: pytest.MonkeyPatch, expected: int) -> None:
    assert gathered(monkeypatch, 1, expected) == [0]
    assert gathered(monkeypatch, 3, expected) == [0, 1, 2]
    assert gathered(monkeypatch, 4, expected) == [0, 1, 2, 3]
    assert gathered(monkeypatch, 6, expected) == [0, 1, 2, 3]


def test_a_group_waits_for_as_many_as_it_answered_last(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []

    class Queue:
        def __init__(self, *found: object) -> None:
            self.found = list(found)

        def get(self, timeout: float = 0.0) -> object:
            waits.append(timeout)
            return self.get_nowait()

        def get_nowait(self) -> object:
            if not self.found:
                raise ledger_module.queue.Empty
            return self.found.pop(0)

        def put(self, one: object) -> None:
            self.found.append(one)

    group: Group[int, int] = Group(list)
    group.close()
    monkeypatch.setattr(module.time, "monotonic", lambda: 100.0)
    for expected, deadline, waited in (
        (3, 107.0, [0.0, 7.0, 7.0]),
        (2, 107.0, [0.0, 7.0]),
        (3, 100.0, [0.0]),
        (0, 107.0, [0.0]),
    ):
        waits.clear()
        group._waiting = Queue(*((n, None) for n in range(3)))  # type: ignore[assignment]
        assert len(group._gathered(expected, deadline)) == 3
        assert waits == waited
    group._waiting = Queue((1, None), None, (2, None))  # type: ignore[assignment]
    assert [request for request, _ in group._gathered(0, 0.0)] == [1]
    assert group._waiting.found == [(2, None), None]  # type: ignore[attr-defined]
    group._waiting = Queue(None, (2, None))  # type: ignore[assignment]
    assert group._gathered(0, 0.0) == []


class _Noted:
    """A session that notes what it is told to do."""

    def __init__(self, *answers: list[tuple[object, ...]]) -> None:
        self.run_: list[tuple[str, list[tuple[object, ...]]]] = []
        self.answers = list(answers)

    def rows(self, sql: str, parameters: Sequence[object] = ()) -> list[tuple[object, ...]]:
        return self.answers.pop(0)

    def run(self, sql: str, rows: Sequence[tuple[object, ...]]) -> None:
        self.run_.append((sql.split(maxsplit=1)[0], list(rows)))


def contents(version: int) -> Contents:
    steps: dict[int, Migration[Session]] = {
        number: Migration(f"0.{number}", lambda session, number=number: session.run(f"STEP {number}", [()]))
        for number in range(2, version + 1)
    }
    return Contents(Format("thing", steps, error=LedgerError), 1, (), "lines", lambda session: None, "")


@pytest.mark.parametrize(("version", "stored", "done"), [
    (1, 1, []), (3, 3, []), (3, 2, ["STEP", "CREATE", "INSERT"]), (3, 1, ["STEP", "STEP", "CREATE", "INSERT"]),
])  # fmt: skip
def test_an_older_database_is_migrated_and_its_version_recorded(version: int, stored: int, done: list[str]) -> None:
    session = _Noted()
    migrate(session, contents(version), stored, "there")  # type: ignore[arg-type]
    assert [sql for sql, _ in session.run_] == done
    assert not done or session.run_[-1][1] == [(version, f"0.{version}")]
    first = _Noted()
    record_version(first, contents(version).format)  # type: ignore[arg-type]
    assert len(first.run_) == (0 if version == 1 else 2)


def test_a_line_that_was_seen_must_still_be_there() -> None:
    require_head(_Noted(), "lines", None, "It")  # type: ignore[arg-type]
    require_head(_Noted([("d",)]), "lines", (7, "d"), "It")  # type: ignore[arg-type]
    for answers, said in (
        ([[], [(6,)]], "ends at entry 6"),
        ([[], [(None,)]], "ends at entry 0"),
        ([[("e",)], [(7,)]], "another entry is in its place"),
        ([[("e",)], [(9,)]], "another entry is in its place"),
    ):
        with pytest.raises(Unsound, match=f"entry 7 had been written to it, and .*{said}"):
            require_head(_Noted(*answers), "lines", (7, "d"), "It")  # type: ignore[arg-type]


def test_a_verdict_names_the_first_bad_line_or_the_accounts() -> None:
    assert str(Verdict(1200)) == "1,200 entries, all valid."
    assert str(Verdict(3, "it is wrong", 4)) == "3 entries are valid; entry 4: it is wrong."
    assert str(Verdict(3, "t is wrong")) == "3 entries are valid; the accounts: t is wrong."
    assert (
        str(Verdict(0, "the first entry is missing", 0)) == "0 entries are valid; entry 0: the first entry is missing."
    )
    assert (Verdict(1).sound, Verdict(1, "x").sound) == (True, False)


def test_the_record_of_a_witness_has_a_sum_of_its_own(tmp_path: Path) -> None:
    witness = Witness(tmp_path / "x")
    witness.write(12, "ab" * 32)
    said = f"0000000012 {'ab' * 32} "
    assert (tmp_path / "x-head").read_text() == f"{said}{crc32(said.encode()):08x}"
    (tmp_path / "x-head").write_text(f"{said}{crc32(said.encode()) ^ 1:08x}")
    assert Witness(tmp_path / "x").head() is None
    witness.close()


def test_a_witness_writes_once_a_pause_and_the_rest_at_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [50.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    witness, digest = Witness(tmp_path / "x"), "0" * 64

    def head() -> int:
        found = Witness(tmp_path / "x").head()
        return found[0] if found else 0

    for at, number, pause, seen in (
        (50.0, 1, 5, 1),
        (54.9, 2, 5, 1),
        (55.0, 3, 5, 3),
        (55.0, 4, 0, 4),
        (56.0, 5, 5, 4),
    ):
        now[0] = at
        witness.write(number, digest, pause=pause)
        assert head() == seen
    witness.close()
    assert head() == 5
    witness.write(4, digest)
    assert head() == 5
    witness.close()


def test_sums_that_cannot_be_read_are_none(tmp_path: Path) -> None:
    witness = Witness(tmp_path / "x")
    assert witness.sums() is None
    witness.write_sums({"line": 3})
    assert witness.sums() == {"line": 3}
    for broken in (b"{", b"\xff", b"[" * 100_000):
        (tmp_path / "x-sums").write_bytes(broken)
        assert witness.sums() is None
    assert [path.name for path in tmp_path.iterdir()] == ["x-sums"]


def test_a_witness_keeps_what_it_saw_first_of_a_line(tmp_path: Path) -> None:
    witness = Witness(tmp_path / "x")
    for number, digest in ((9, "a" * 64), (9, "b" * 64), (8, "c" * 64)):
        witness.write(number, digest)
        assert witness.head() == (9, "a" * 64)
    witness.close()


# A database on a server, as far as it can be told without one


def server(schema: str = "s") -> PostgresStore:
    return PostgresStore("postgresql://ann@db.example:5433/health", schema, contents(1))


def test_a_server_is_named_without_its_password() -> None:
    assert server().place == "db.example:5433/health (s)"
    plain = PostgresStore("postgresql://ann:secret@localhost/health", "s", contents(1))
    assert plain.place == "localhost:5432/health (s)"


@pytest.mark.parametrize("name", ["a", "_", "a" * 63, "a1_"])
def test_a_schema_has_a_plain_name(name: str) -> None:
    assert name in server(name).place


@pytest.mark.parametrize("name", ["", "A", "1a", "a" * 64, "a-b", "a;", "ä"])
def test_another_name_of_a_schema_is_refused(name: str) -> None:
    with pytest.raises(BadInput, match="63 lower-case letters"):
        server(name)


@pytest.mark.parametrize(
    ("message", "kind", "said"),
    [
        (
            'connection failed: FATAL:  password authentication failed for user "ann"\nmore',
            LoginFailed,
            "password auth",
        ),
        ("connection failed: fe_sendauth: no password supplied", LoginFailed, "refused the connection: fe_sendauth"),
        ("connection failed: FATAL:  no pg_hba.conf entry", LoginFailed, "FATAL:  no pg_hba.conf entry"),
        ("\n\n  connection refused\n", Unreachable, "No answer from db.example:5433/health .s.: connection refused"),
        ("failed: timeout expired", Unreachable, "s.: timeout expired"),
        ("", Unreachable, "no reason given"),
    ],
)
def test_who_is_turned_away_is_told_from_who_finds_nobody(message: str, kind: type[Exception], said: str) -> None:
    refusal = server()._rejection(message)
    assert type(refusal) is kind
    assert re.search(said, str(refusal.message))


@pytest.mark.parametrize(
    ("error", "kind", "said"),
    [
        (psycopg.errors.UndefinedTable("x"), NotFound, "no thing"),
        (psycopg.errors.InvalidSchemaName("x"), NotFound, "no thing"),
        (psycopg.errors.DuplicateSchema("x"), LedgerError, "a schema s at"),
        (psycopg.errors.AdminShutdown("the end.\nmore"), Unreachable, r"was lost: the end\.$"),
        (psycopg.errors.ConnectionFailure("x"), Unreachable, "was lost"),
        (psycopg.OperationalError("gone\nmore"), Unreachable, r"was lost: gone\.$"),
        (psycopg.errors.UniqueViolation("twice\nmore"), LedgerError, r"could not be used: twice\.$"),
    ],
)
def test_errors_of_a_server_have_words(error: psycopg.Error, kind: type[Exception], said: str) -> None:
    with pytest.raises(kind) as raised, server()._errors():
        raise error
    assert re.search(said, raised.value.message)  # type: ignore[attr-defined]


def test_a_database_on_a_server_says_its_version() -> None:
    for answers, found in (
        ([[(None,)]], (1, "")),
        ([[("formats",)], [(3, "0.3")]], (3, "0.3")),
        ([[("formats",)], []], (0, "")),
    ):
        assert _version(_Noted(*answers)) == found  # type: ignore[arg-type]
