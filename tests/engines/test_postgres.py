"""What is particular to PostgreSQL: its types, its errors, its passwords."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from decimal import Decimal

import psycopg
import pyarrow as pa
import pytest
from sqlglot import exp, parse_one

from discreet.core import sql
from discreet.engines.postgres import Postgres
from discreet.errors import (
    BadInput,
    DataError,
    DiscreetError,
    EngineError,
    LoginFailed,
    MissingPart,
    NotFound,
    Unreachable,
)

ENDLESS = "SELECT generate_series(1, 1000000000) AS i, repeat('x', 1000) AS t"
COPYING = "FROM pg_stat_activity WHERE state = 'active' AND query LIKE 'COPY%'"

Names = Callable[[], str]


def query(text: str) -> exp.Query:
    """A query written in PostgreSQL's words."""
    tree = parse_one(text, dialect="postgres")
    assert isinstance(tree, exp.Query)
    return tree


def everything_said(error: BaseException) -> str:
    """All that a person, a log or a debugger would see of an error."""
    chain = [error, error.__cause__, error.__context__]
    return "\n".join([*traceback.format_exception(error), *(f"{e!r} {e!s} {vars(e)}" for e in chain if e)])


def at(address: str, user: str, password: str = "", database: str = "postgres") -> Postgres:
    """The test server, for somebody else."""
    return Postgres(f"postgresql://{user}:{password}@/{database}?{address.partition('?')[2]}")


def test_nobody_listens() -> None:
    engine = Postgres("postgresql://me:t0p-secret@127.0.0.1:1/people")
    with pytest.raises(Unreachable, match=r"No answer from 127\.0\.0\.1:1/people") as caught:
        engine.fetch(query("SELECT 1 AS n"))
    assert "t0p-secret" not in everything_said(caught.value)


def test_the_right_password_opens(postgres_address: str) -> None:
    engine = at(postgres_address, "guarded", "open%20sesame")
    assert engine.fetch(query("SELECT CAST(CURRENT_USER AS TEXT) AS me")).to_pydict() == {"me": ["guarded"]}


@pytest.mark.parametrize(("user", "password"), [("guarded", "t0p-secret"), ("guarded", ""), ("stranger", "t0p-secret")])
def test_a_wrong_login_is_turned_away_and_not_repeated(postgres_address: str, user: str, password: str) -> None:
    engine = at(postgres_address, user, password)
    with pytest.raises(LoginFailed) as caught:
        engine.schema(query("SELECT 1 AS n"))
    assert "t0p-secret" not in everything_said(caught.value) + repr(engine) + str(engine)


def test_a_database_that_is_not_there_is_not_found(postgres_address: str) -> None:
    with pytest.raises(NotFound, match='database "nowhere" does not exist'):
        at(postgres_address, "postgres", database="nowhere").fetch(query("SELECT 1 AS n"))


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://me:s3/cret@host/people",
        "postgresql://me:s3@cret@host/people",
        "postgresql://me:s3%cret@host/people",
        "postgresql://me:s3cret",
        "postgresql://host:99999/s3cret",
        "s3cret",
    ],
)
def test_an_address_that_is_none_is_not_repeated(address: str) -> None:
    with pytest.raises(BadInput, match="not the address of a PostgreSQL database") as caught:
        Postgres(address)
    shown = str(caught.value) + repr(caught.value)
    assert "s3" not in shown
    assert "cret" not in shown


def test_without_psycopg_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingPart, match=r"pip install 'discreet\[postgres\]'"):
        Postgres("postgresql://host/people")


def test_reading_cannot_write(postgres: Postgres, postgres_address: str, fresh: Names) -> None:
    sequence = fresh()
    with psycopg.connect(postgres_address) as connection:
        connection.execute(f"CREATE SEQUENCE {sequence}")
    for read in (postgres.fetch, lambda q: postgres.stream(q).read_all()):
        with pytest.raises(EngineError, match="read-only transaction"):
            read(query(f"SELECT NEXTVAL('{sequence}') AS n"))


def test_types_that_no_card_has_come_as_text(postgres: Postgres, postgres_address: str, fresh: Names) -> None:
    name = fresh()
    with psycopg.connect(postgres_address) as connection:
        connection.execute(f"CREATE TYPE mood_{name} AS ENUM ('sad', 'glad')")
        connection.execute(
            f"CREATE TABLE {name} AS SELECT 'glad'::mood_{name} AS mood, 'x'::char(3) AS padded,"
            " '[1, 2]'::jsonb AS j, '00000000-0000-0000-0000-000000000001'::uuid AS u, '10:30'::time AS t,"
            " '{1,NULL}'::int[] AS many, 0.1::real AS small"
        )
    found = postgres.fetch(exp.select("*").from_(sql.table(name)))
    assert found.to_pylist() == [
        {
            **{"mood": "glad", "padded": "x", "j": "[1, 2]", "u": "00000000-0000-0000-0000-000000000001"},
            **{"t": "10:30:00", "many": "{1,NULL}", "small": 0.10000000149011612},
        }
    ]
    assert found.schema.types == [*[pa.string()] * 6, pa.float64()]


@pytest.mark.parametrize(
    ("value", "expected", "scale"),
    [
        ("1.50::numeric", "1.500000000000000000", 18),
        ("99999999999999999999.000000000000000001::numeric", "99999999999999999999.000000000000000001", 18),
        ("avg(n) FROM (VALUES (1), (2)) AS v(n)", "1.500000000000000000", 18),
        ("12.34::numeric(50, 2)", "12.34", 2),
        ("1200::numeric(3, -2)", "1200", 0),
        ("(-0.00001)::numeric(3, 5)", "-0.00001", 5),
    ],
)
def test_a_numeric_keeps_all_its_digits(postgres: Postgres, value: str, expected: str, scale: int) -> None:
    found = postgres.fetch(_Raw(f"SELECT {value} AS n" if "FROM" not in value else f"SELECT {value}"))
    assert found.column(0).type == pa.decimal128(38, scale)
    assert found.column(0).to_pylist() == [Decimal(expected)]


@pytest.mark.parametrize(
    "value",
    [
        "1 / 3::numeric",
        "1e20::numeric",
        "-1e37::numeric",
        f"{'1' * 38}::numeric(50, 2)",
        "'NaN'::numeric",
        "'NaN'::numeric(5, 2)",
        "'Infinity'::numeric",
        "'infinity'::date",
        "'0044-03-15 BC'::date",
        "'10000-01-01'::date",
        "'-infinity'::timestamp",
        "'10000-01-01'::timestamptz",
    ],
)
def test_a_value_that_arrow_cannot_hold_is_an_error_and_not_another_value(postgres: Postgres, value: str) -> None:
    with pytest.raises(DataError, match="Column 'odd one' holds a value that does not fit"):
        postgres.fetch(_Raw(f'SELECT 1 AS n, {value} AS "odd one"'))


def test_a_stream_begins_long_before_the_query_ends(postgres: Postgres, postgres_address: str) -> None:
    reader = postgres.stream(_Raw(ENDLESS))
    first = reader.read_next_batch()
    assert first.column("i")[0].as_py() == 1
    assert first.nbytes < 16 << 20
    del reader
    with psycopg.connect(postgres_address, autocommit=True) as connection:
        running = (connection.execute(f"SELECT count(*) {COPYING}").fetchone() for _ in range(10_000))
        assert any(row == (0,) for row in running), "an abandoned stream goes on on the server"


def test_a_connection_that_breaks_is_told(postgres: Postgres, postgres_address: str) -> None:
    reader = postgres.stream(_Raw(ENDLESS))
    reader.read_next_batch()
    with psycopg.connect(postgres_address) as connection:
        connection.execute(f"SELECT pg_terminate_backend(pid) {COPYING}")
    with pytest.raises(Unreachable, match="was lost"):
        for _ in reader:
            pass


def test_rows_larger_than_a_chunk_come_whole(postgres: Postgres) -> None:
    reader = postgres.stream(query("SELECT REPEAT('a,\"\n', 3000000) AS t FROM GENERATE_SERIES(1, 3) AS s(i)"))
    assert [batch.num_rows for batch in reader] == [1, 1, 1]


def test_a_name_too_long_is_an_error_and_not_cut(postgres: Postgres, fresh: Names) -> None:
    long = "é" * 32
    with pytest.raises(DataError, match="cannot store the name"):
        postgres.load(fresh(), pa.table({long: [1]}))
    with pytest.raises(DataError, match="cannot store the name"):
        postgres.store(long, query("SELECT 1 AS n"))
    with pytest.raises(DataError, match="cannot store the name"):
        postgres.fetch(exp.select(sql.named(sql.literal(1), long)))
    assert postgres.fetch(exp.select(sql.named(sql.literal(1), long[1:]))).column_names == [long[1:]]


@pytest.mark.parametrize(
    "data", [pa.table({"t": ["fine", "zero\0"]}), pa.table({"t": pa.array([[1]], pa.list_(pa.int64()))})]
)
def test_what_cannot_be_loaded_leaves_no_table(postgres: Postgres, fresh: Names, data: pa.Table) -> None:
    name = fresh()
    with pytest.raises(DiscreetError):
        postgres.load(name, data)
    with pytest.raises(NotFound):
        postgres.schema(exp.select("*").from_(sql.table(name)))


def test_closing_twice_is_fine(postgres_address: str) -> None:
    engine = Postgres(postgres_address)
    engine.close()
    engine.close()


class _Raw(exp.Select):
    """A query that is text already, for what sqlglot has no words for."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text_ = text

    def sql(self, *_: object, **__: object) -> str:
        return self.text_


def test_decimals_of_no_precision_fail_nowhere_that_they_may_not(postgres: Postgres) -> None:
    """What is computed of a NUMERIC has no precision: by a value that does not fit, a question would tell of it."""
    values = "(VALUES (1.5), (1.0000000000000000019), (99999999999999999999.99), (1e20), (-1e30), ('NaN'::numeric))"
    computed = query(f"SELECT d FROM {values} AS t(d)")
    with pytest.raises(DataError):
        postgres.fetch(computed)
    found = postgres.fetch(computed, forgiving=True).column("d").to_pylist()
    assert found == [Decimal("1.5"), Decimal("1.000000000000000001"), Decimal("99999999999999999999.99"), *[None] * 3]
