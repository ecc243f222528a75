"""What is particular to Spark: whose session it is, where it may be, which files it opens."""

from __future__ import annotations

import datetime as dt
import gzip
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sqlglot import exp
from tests.engines.values import assert_same

from discreet.core import sql
from discreet.core.card import Card, Column
from discreet.core.kind import Kind
from discreet.core.sql import recast_table
from discreet.core.table import Table
from discreet.engines.bounded_table import bounded
from discreet.engines.files import open_file
from discreet.engines.read import read
from discreet.engines.spark import Spark
from discreet.errors import BadInput, DataError, EngineError, LoginFailed, MissingPart, NotFound, Unreachable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Names = Callable[[], str]

PEOPLE = pa.table(
    {
        "zip": ["00123", "a,b", None, 'say "hi"\nyou'],
        "age": [1, 2, None, 4],
        "paid": [Decimal("1.500000000"), None, Decimal("0.000000001"), Decimal("-3.000000000")],
        "born": [dt.date(2000, 1, 31), None, dt.date(1, 1, 1), dt.date(9999, 12, 31)],
        "seen": [dt.datetime(2024, 1, 31, 23, 30), None, dt.datetime(1999, 1, 1, 0, 0, 0, 5), dt.datetime(1, 1, 1)],
        "well": [True, None, False, True],
        "size": [0.1, None, -1e-7, 1e300],
    }
)
KINDS = {
    **{"zip": Kind.TEXT, "age": Kind.INTEGER, "paid": Kind.DECIMAL, "born": Kind.DATE, "seen": Kind.TIMESTAMP},
    **{"well": Kind.BOOLEAN, "size": Kind.REAL},
}


@pytest.fixture
def not_spark() -> Iterator[int]:
    """The port of a server that is something else."""

    def answer() -> None:
        while True:
            try:
                caller, _ = server.accept()
            except OSError:
                return
            with caller:
                caller.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=answer)
        thread.start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)
        thread.join()


def rows(engine: Spark, query: exp.Query) -> list[dict[str, object]]:
    """The rows of a query, in some fixed order."""
    return sorted(engine.fetch(query).to_pylist(), key=repr)


def test_the_session_given_keeps_its_settings(spark: Spark, spark_session: SparkSession) -> None:
    midnight = dt.datetime(2024, 1, 31, 23, 30, tzinfo=dt.UTC)
    day = exp.select(sql.named(exp.cast(sql.literal(midnight), "DATE"), "day"))
    assert rows(spark, day) == [{"day": dt.date(2024, 1, 31)}]
    assert spark_session.sql(day.sql("spark")).collect()[0].day == dt.date(2024, 2, 1)
    assert spark_session.conf.get("spark.sql.session.timeZone") == "Asia/Tokyo"
    assert spark_session.conf.get("spark.sql.ansi.enabled") == "false"


def test_data_frames_are_seen_until_the_engine_is_closed(spark_session: SparkSession) -> None:
    engine = Spark(spark_session)
    views = spark_session.sql("SHOW TABLES").collect()
    first = engine.view_of(spark_session.range(3).withColumnRenamed("id", "n"))
    assert rows(engine, first) == [{"n": 0}, {"n": 1}, {"n": 2}]
    second = engine.view_of(spark_session.range(1))
    both = exp.select(exp.Star()).from_(first.subquery("a")).join(second.subquery("b"), join_type="cross")
    assert len(rows(engine, both)) == 3
    engine.close()
    engine.close()
    assert spark_session.sql("SHOW TABLES").collect() == views
    assert spark_session.range(2).count() == 2


def test_temporary_views_of_the_session_are_seen(spark_session: SparkSession) -> None:
    spark_session.range(2).createOrReplaceTempView("its_own")
    engine = Spark(spark_session)
    assert rows(engine, exp.select("*").from_(sql.table("its_own"))) == [{"id": 0}, {"id": 1}]
    spark_session.catalog.dropTempView("its_own")


def test_a_session_that_runs_here_is_used_and_not_stopped(spark_session: SparkSession) -> None:
    engine = Spark.at("local[2]")
    assert rows(engine, exp.select(sql.named(sql.literal(1), "n"))) == [{"n": 1}]
    engine.close()
    assert spark_session.range(2).count() == 2


@pytest.mark.usefixtures("spark_session")
def test_there_is_one_spark_in_a_process() -> None:
    with pytest.raises(EngineError, match=r"already running in this process, at local\[2\]"):
        Spark.at("local[1]")


def test_data_frames_of_a_connect_session_are_seen(connect_address: str) -> None:
    from pyspark.sql.connect.session import SparkSession as Connect

    session = Connect.builder.remote(connect_address).create()
    engine = Spark(session)
    assert rows(engine, engine.view_of(session.range(2))) == [{"id": 0}, {"id": 1}]
    engine.close()
    assert session.range(2).count() == 2
    session.stop()


_INIT = """
import sys
from sqlglot import parse_one
from discreet.cli.main import run
from discreet.engines.spark import Spark

left_open = Spark.at(sys.argv.pop(1))
left_open.schema(parse_one("SELECT 1 AS one"))
run()
"""


def test_a_process_ends_that_registered_a_table_over_connect(
    connect: Spark, connect_address: str, fresh: Names, tmp_path: Path
) -> None:
    connect.load(name := fresh(), pa.table({"age": pa.array([1, 2, 3], pa.int64())}))
    (tmp_path / "people.toml").write_text('[tables.people.columns]\nage = { kind = "integer", bounds = [0, 9] }\n')
    address, _, token = connect_address.partition("/;token=")
    options = ["--table", f"people={address}#{name}", "--card", "people.toml", "--budget", "epsilon=1"]
    ended = subprocess.run(
        [sys.executable, "-c", _INIT, connect_address, "workspace", "init", "clinic", *options],
        cwd=tmp_path,
        env={**os.environ, "SPARK_CONNECT_AUTHENTICATE_TOKEN": token},
        timeout=120,  # it took for ever
        check=False,
    )
    assert ended.returncode == 0
    assert (tmp_path / "clinic" / "workspace.toml").is_file()


@pytest.mark.parametrize("token", ["", "/;token=t0p-secret"])
def test_a_connect_server_turns_strangers_away(connect_address: str, token: str) -> None:
    with pytest.raises(LoginFailed) as caught:
        Spark.at(connect_address.partition("/;")[0] + token)
    assert "t0p-secret" not in f"{caught.value} {caught.value.__cause__}"


@pytest.mark.parametrize("scheme", ["sc", "spark"])
def test_nobody_listens(scheme: str) -> None:
    with pytest.raises(Unreachable, match=r"://127\.0\.0\.1:1") as caught:
        Spark.at(f"{scheme}://127.0.0.1:1/;token=t0p-secret")
    assert "t0p-secret" not in str(caught.value)


def test_somebody_else_listens(not_spark: int) -> None:
    with pytest.raises(Unreachable, match="Spark does not answer"):
        Spark.at(f"sc://127.0.0.1:{not_spark}")


@pytest.mark.parametrize("address", ["sc://", "sc://host:s3cret@x", "spark://:7077"])
def test_an_address_that_is_none(address: str) -> None:
    with pytest.raises(BadInput, match="not the address of a Spark server") as caught:
        Spark.at(address)
    assert "s3cret" not in str(caught.value)


def test_without_pyspark_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(MissingPart, match=r"pip install 'discreet\[spark\]'"):
        Spark.at("local[2]")


def test_without_java_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(EngineError, match="Install Java"):
        Spark.at("local[2]")


def test_a_name_spark_cannot_use_is_refused_before_anything_is_written(
    spark: Spark, spark_session: SparkSession
) -> None:
    warehouse = Path(spark_session.conf.get("spark.sql.warehouse.dir").removeprefix("file:"))
    with pytest.raises(EngineError, match="cannot call a table 'a b'"):
        spark.load("a b", PEOPLE)
    assert not (warehouse / "a b").exists()


def test_a_query_that_fails_leaves_no_file(spark: Spark, spark_session: SparkSession, fresh: Names) -> None:
    warehouse = Path(spark_session.conf.get("spark.sql.warehouse.dir").removeprefix("file:"))
    source, name = fresh(), fresh()
    spark.load(source, PEOPLE)
    failing = exp.select(sql.named(exp.cast(sql.column("zip"), "BIGINT"), "n")).from_(sql.table(source))
    with pytest.raises(EngineError):
        spark.store(name, failing)
    assert (warehouse / source).exists()
    assert not (warehouse / name).exists()


def test_parquet_is_read_where_it_lies(spark: Spark, tmp_path: Path) -> None:
    for path in (tmp_path / "odd [1] {name}*.parquet", tmp_path / "folder" / "part-0.parquet"):
        path.parent.mkdir(exist_ok=True)
        pq.write_table(PEOPLE, path)
        opened = open_file(path if path.parent == tmp_path else path.parent, None, spark).relation
        assert_same(spark.fetch(opened).sort_by("size"), recast_table(PEOPLE).sort_by("size"))


def test_a_csv_file_is_read_as_its_card_says(spark: Spark, tmp_path: Path) -> None:
    path = tmp_path / "people.csv.gz"
    lines = [
        "zip;age;paid;born;seen;well;size",
        "00123;1;1.5;2000-01-31;2024-01-31 23:30:00;true;0.1",
        "a,b;2;;;;;",
        '"";;0.000000001;0001-01-01;1999-01-01T00:00:00.000005;false;-1e-7',
        '"say ""hi""\nyou";4;-3;9999-12-31;0001-01-01 00:00;true;1e300',
    ]
    path.write_bytes(gzip.compress("\n".join(lines).encode()))
    assert_same(spark.fetch(open_file(path, KINDS, spark).relation), recast_table(PEOPLE))


def test_a_csv_file_needs_its_card(spark: Spark, tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("zip\n00123\n")
    with pytest.raises(BadInput, match="by its card only"):
        open_file(path, None, spark)


@pytest.mark.parametrize("line", ["1", "1,2,3", "x,2"])
def test_a_csv_line_that_does_not_fit_is_an_error(spark: Spark, tmp_path: Path, line: str) -> None:
    path = tmp_path / "people.csv"
    path.write_text(f"age,zip\n1,2\n{line}\n")
    with pytest.raises(DataError):
        open_file(path, {"age": Kind.INTEGER, "zip": Kind.TEXT}, spark)


@pytest.mark.parametrize("ending", ["json", "jsonl", "json.gz"])
def test_json_is_read_as_its_card_says(spark: Spark, tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"people.{ending}"
    lines = [json.dumps(row, default=str) for row in PEOPLE.drop_columns("paid").to_pylist()]
    text = "\n".join(lines) if ending == "jsonl" else f"[{', '.join(lines)}]"
    path.write_bytes(gzip.compress(text.encode()) if ending.endswith("gz") else text.encode())
    kinds = {name: kind for name, kind in KINDS.items() if name != "paid"}
    found = spark.fetch(open_file(path, kinds, spark).relation).select(list(kinds))
    assert_same(found, recast_table(PEOPLE.select(list(kinds))))


def test_a_value_is_of_its_kind_or_an_error_on_spark_too(spark: Spark, tmp_path: Path) -> None:
    for kind, text in ((Kind.INTEGER, "1.7"), (Kind.DATE, "2020"), (Kind.REAL, "1e400"), (Kind.BOOLEAN, "ja")):
        path = tmp_path / f"{kind.value}.csv"
        path.write_text(f"a,b\n{text},x\n")
        with pytest.raises(DataError, match=f"a: 1 value is not {kind.value}"):
            open_file(path, {"a": kind, "b": Kind.TEXT}, spark)


def test_a_json_file_without_a_declared_column_says_so(spark: Spark, tmp_path: Path) -> None:
    (tmp_path / "people.json").write_text('{"n": 1}\n')
    card = Card("people", (Column("n", Kind.INTEGER), Column("gone", Kind.TEXT)))
    with pytest.raises(NotFound, match="not in the data: gone"):
        read(tmp_path / "people.json", card, engine=spark)


def test_json_without_a_card_is_read_as_it_looks(spark: Spark, tmp_path: Path) -> None:
    path = tmp_path / "people.json"
    path.write_text('{"n": 1, "t": "00123"}\n{"n": 2, "t": null}\n')
    assert rows(spark, open_file(path, None, spark).relation) == [{"n": 1, "t": "00123"}, {"n": 2, "t": None}]


def test_a_damaged_file_is_bad_data(spark: Spark, tmp_path: Path) -> None:
    path = tmp_path / "people.parquet"
    path.write_bytes(b"PAR1 and nothing else PAR1")
    with pytest.raises(DataError, match=r"people\.parquet could not be read"):
        open_file(path, None, spark)


def test_a_table_elsewhere_is_not_found(spark: Spark) -> None:
    with pytest.raises(NotFound):
        spark.schema(exp.select("*").from_(exp.table_("t", db="no_such_schema", quoted=True)))


def test_texts_of_a_bounded_table_are_equal_only_if_they_are_the_same(spark: Spark, fresh: Names) -> None:
    """Else one row would speak for a group of equal texts, and be seen in its name."""
    name = fresh()
    spark.load(f"{name}_plain", pa.table({"u": [1, 2, 3], "c": ["a", "a", "A"]}))
    plain = sql.table(f"{name}_plain").sql("spark")
    spark._session().sql(f"CREATE TABLE {name} AS SELECT u, c COLLATE UTF8_LCASE AS c FROM {plain}")
    card = Card("t", (Column("u", Kind.INTEGER), Column("c", Kind.TEXT)), unit="u", rows_per_unit=1)
    cut = bounded(Table(card, spark, exp.select("u", "c").from_(sql.table(name))))
    groups = spark.fetch(cut.query(sql.column("c"), sql.named(sql.count_rows(), "n")).group_by(sql.column("c")))
    assert {row["c"]: row["n"] for row in groups.to_pylist()} == {"a": 2, "A": 1}
