"""Limits of time and memory: enforced by every engine, and nobody else's question fails for one that hits them."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pyarrow as pa
import pytest
from sqlglot import exp, parse_one

from discreet.core import sql
from discreet.core.engine import Engine
from discreet.engines.duckdb import DuckDB
from discreet.engines.limits import Limits, fetch, limited, memory_allowed, seconds_left, stopping
from discreet.engines.postgres import Postgres
from discreet.errors import BadInput, EngineError, Refused

SHORT = Limits(seconds=0.2)
MANY = pa.table({"x": pa.array(range(300_000), pa.int64())})
TOTAL = 299_999 * 150_000


def _endless(name: str) -> exp.Query:
    """A query that would take minutes."""
    rows = sql.table(name).sql("duckdb")
    found = parse_one(
        f"SELECT CAST(COUNT(*) AS BIGINT) AS n FROM {rows} AS a CROSS JOIN {rows} AS b WHERE a.x * b.x + a.x <> 7"
    )
    assert isinstance(found, exp.Query)
    return found


def test_a_query_that_takes_too_long_is_stopped_and_the_next_is_not(
    any_engine: Engine, fresh: Callable[[], str]
) -> None:
    name = fresh()
    any_engine.load(name, MANY)
    small = exp.select(sql.named(exp.cast(exp.Sum(this=sql.column("x")), "BIGINT"), "n")).from_(sql.table(name))
    assert any_engine.fetch(small, seconds=600).column(0).to_pylist() == [TOTAL]
    with pytest.raises(EngineError):
        any_engine.fetch(_endless(name), seconds=0.2)
    assert any_engine.fetch(small, seconds=600).column(0).to_pylist() == [TOTAL]


def test_a_stop_that_fails_is_tried_again() -> None:
    tries, stopped = [], Event()

    def stop() -> None:
        tries.append(None)
        if len(tries) < 3:
            raise OSError("The engine is busy.")
        stopped.set()

    with pytest.raises(EngineError), stopping(stop, 0.01):
        assert stopped.wait(60)
    assert len(tries) >= 3


def test_a_question_has_one_end_for_all_its_queries(duckdb: DuckDB, fresh: Callable[[], str]) -> None:
    name = fresh()
    duckdb.load(name, MANY)
    small = exp.select(sql.named(sql.count_rows(), "n")).from_(sql.table(name))
    with limited(SHORT):
        with pytest.raises(Refused) as slow:
            fetch(duckdb, _endless(name))
        with pytest.raises(Refused) as late:
            fetch(duckdb, small)
        with limited(Limits(seconds=600)), pytest.raises(EngineError):
            seconds_left()
    assert str(slow.value) == str(late.value)
    with limited(SHORT, whole=False):
        with pytest.raises(Refused):
            fetch(duckdb, _endless(name))
        assert fetch(duckdb, small).num_rows == 1, "each query of it has its own time"
    assert seconds_left() is None and memory_allowed() is None


def test_of_many_rows_some_are_kept_as_they_come_in(duckdb: DuckDB, fresh: Callable[[], str]) -> None:
    name, seen = fresh(), []

    def each(some: pa.Table) -> pa.Table:
        seen.append(some.num_rows)
        return some.slice(0, 1)

    duckdb.load(name, MANY)
    rows = exp.select("x").from_(sql.table(name))
    found = fetch(duckdb, rows, each=each)
    assert sum(seen) == 300_000 and max(seen) < 30_000
    assert found.num_rows == len(seen) and found.schema == fetch(duckdb, rows).schema
    assert fetch(duckdb, rows.where("FALSE"), each=each).num_rows == 0


def _grouped(rows: exp.Expr) -> exp.Query:
    """A query that holds a long text for each of its groups."""
    found = exp.select("COUNT(*) AS n").from_(rows).group_by("t")
    assert isinstance(found, exp.Query)
    return found


def _written(folder: Path, rows: int) -> exp.Expr:
    with_room = DuckDB()
    made = f"SELECT range AS x, repeat('x', 300) || range AS t FROM range({rows})"
    with_room.run(f"COPY ({made}) TO '{folder}/wide.parquet' (FORMAT parquet)")
    with_room.close()
    return exp.Table(this=exp.Anonymous(this="read_parquet", expressions=[sql.literal(f"{folder}/wide.parquet")]))


def _cramped() -> DuckDB:
    return DuckDB(settings={"memory_limit": "100MB", "max_temp_directory_size": "1MB", "threads": "1"})


def test_a_query_that_needs_too_much_memory_is_an_error(tmp_path: Path) -> None:
    engine, rows = _cramped(), _written(tmp_path, 400_000)
    with pytest.raises(EngineError):
        engine.fetch(_grouped(rows), seconds=600)
    counted = engine.fetch(exp.select(sql.named(sql.count_rows(), "n")).from_(rows.copy()), seconds=600)
    assert counted.column(0).to_pylist() == [400_000]
    engine.close()


def test_a_question_does_not_fail_because_others_hold_the_memory(tmp_path: Path) -> None:
    """Several that fit one by one, and not together, all get their answer."""
    engine = _cramped()
    engine.store("wide", exp.select("*").from_(_written(tmp_path, 40_000)))
    with ThreadPoolExecutor(6) as pool:
        asked = [pool.submit(engine.fetch, _grouped(sql.table("wide")), seconds=600) for _ in range(6)]
    assert [one.result().num_rows for one in asked] == [40_000] * 6
    engine.close()


def test_postgres_limits_the_memory_of_a_step_and_the_disk(postgres: Postgres) -> None:
    asked = parse_one(
        "SELECT CURRENT_SETTING('work_mem') AS a, CURRENT_SETTING('temp_file_limit') AS b, "
        "CURRENT_SETTING('statement_timeout') AS c",
        dialect="postgres",
    )
    assert isinstance(asked, exp.Query)
    with limited(Limits(seconds=30, memory=800), whole=False):
        assert fetch(postgres, asked).to_pylist() == [{"a": "100MB", "b": "3200MB", "c": "30s"}]
    assert postgres.fetch(asked).to_pylist()[0]["c"] == "0"


@pytest.mark.parametrize("wrong", [{"seconds": 0}, {"seconds": "5"}, {"memory": 1}, {"memory": True}])
def test_limits_are_numbers(wrong: dict[str, int]) -> None:
    with pytest.raises(BadInput, match="The limit"):
        Limits(**wrong)
