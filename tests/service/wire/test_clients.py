"""Clients that people use: they connect, list tables, are refused a preview kindly, and chart."""

import importlib.util
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.engines.parts import java, require_part

CHART = "SELECT sex, COUNT(*) AS n FROM patients GROUP BY sex ORDER BY sex"
TABLES = {"patients", "visits"}
KEYWORDS = "ilike,limit,offset"
DRIVERS = ("/usr/share/java/postgresql.jar", "/usr/share/java/postgresql-jdbc/postgresql.jar")


@pytest.fixture(scope="module")
def psql(endpoint):
    require_part(shutil.which("psql"), "psql", "install postgresql-client for the tests of the endpoint")

    def run(*commands, status=0):
        words = [part for one in commands for part in ("-c", one)]
        given = {"PGHOST": "127.0.0.1", "PGPORT": str(endpoint.port), "PGUSER": "ann", "PGDATABASE": "clinic"}
        given |= {"PGPASSWORD": endpoint.tokens["ann"], "PGOPTIONS": "-c discreet.epsilon=0.001", "LC_ALL": "C.UTF-8"}
        made = subprocess.run(
            ["psql", "-X", "-A", "-t", *words], env=os.environ | given, capture_output=True, text=True, check=False
        )
        assert made.returncode == status, made.stderr
        return made.stdout, made.stderr

    return run


COMMANDS = (
    "d", "d visits", "d+ patients", "dt", "dt+", "l", "dn+", "du", "df+", "di", "dv", "dm", "ds", "dT+", "dx", "dp",
    "dC", "do", "db+", "dF", "dy", "des", "dconfig", "dL", "dD", "dPt", "dRp", "drds", "conninfo", "dO", "dc",
)  # fmt: skip


def test_psql_looks_around_previews_and_charts(psql):
    said, wrong = psql(*(f"\\{one}" for one in COMMANDS))
    assert "ERROR" not in wrong, wrong
    assert "public|visits|table|discreet" in said
    assert "cost|numeric|||" in said
    said, wrong = psql(CHART, f"EXPLAIN {CHART}", "\\timing on", "SHOW discreet.budget")
    assert [line.split("|")[0] for line in said.splitlines()[:2]] == ["F", "M"]
    assert "This would cost" in said or "Answered before" in said
    _, wrong = psql("SELECT * FROM visits LIMIT 10", status=1)
    assert "ERROR:  Rows of people are not shown" in wrong
    assert "HINT:  Such as: SELECT" in wrong


@pytest.fixture(scope="module")
def address(endpoint):
    require_part(importlib.util.find_spec("sqlalchemy"), "SQLAlchemy", "pip install sqlalchemy, for the tests")
    return f"postgresql+psycopg://ann:{endpoint.tokens['ann']}@127.0.0.1:{endpoint.port}/clinic"


def test_pandas_and_sqlalchemy_reflect_and_chart(address):
    import pandas as pd
    import sqlalchemy as sa

    engine = sa.create_engine(address, connect_args={"options": "-c discreet.epsilon=0.001"})
    with engine.connect() as connection:
        inspector = sa.inspect(connection)
        assert set(inspector.get_table_names()) == TABLES
        assert "public" in inspector.get_schema_names()
        columns = {one["name"]: one for one in inspector.get_columns("visits")}
        assert str(columns["cost"]["type"]) == "NUMERIC"
        assert columns["length_of_stay"]["comment"] == "Nights. From 0 to 60."
        for look in ("pk_constraint", "foreign_keys", "indexes", "unique_constraints", "check_constraints"):
            assert getattr(inspector, f"get_{look}")("visits") in ([], {"constrained_columns": [], "name": None})
        assert inspector.get_view_names() == inspector.get_sequence_names() == []
        metadata = sa.MetaData()
        metadata.reflect(connection)
        patients = metadata.tables["patients"]
        asked = sa.select(patients.c.sex, sa.func.count().label("n")).where(patients.c.sex == "F")
        [row] = connection.execute(asked.group_by(patients.c.sex).order_by(sa.desc("n")).limit(1)).all()
        assert row.sex in ("F", "M")
        assert isinstance(row.n_error, int)
        frame = pd.read_sql(sa.text(CHART), connection)
        assert list(frame.columns) == ["sex", "n", "n_error"]
        assert list(frame.dtypes.astype(str))[1:] == ["int64", "int64"]
        with pytest.raises(pd.errors.DatabaseError, match="Rows of people are not shown"):
            pd.read_sql_table("visits", connection)
    engine.dispose()


@pytest.fixture(scope="module")
def jdbc(endpoint):
    """A connection of the JDBC driver, and its virtual machine."""
    require_part(java(), "Java", "install a headless JRE, version 17 or later, for the tests of the endpoint")
    driver = next((one for one in DRIVERS if Path(one).exists()), os.environ.get("POSTGRES_JDBC", ""))
    require_part(driver, "PostgreSQL's JDBC driver", "install libpostgresql-jdbc-java for the tests of the endpoint")
    import pyspark
    from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

    [bridge] = Path(pyspark.__file__).parent.glob("jars/py4j-*.jar")
    beside = ":".join([driver, *map(str, Path(driver).parent.glob("*s*.jar"))])
    port, process = launch_gateway(jarpath=str(bridge), classpath=beside, die_on_exit=True, return_proc=True)
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port, auto_convert=True))
    properties = gateway.jvm.java.util.Properties()
    given = {"user": "ann", "password": endpoint.tokens["ann"], "options": "-c discreet.epsilon=0.001"}
    for name, value in given.items():
        properties.setProperty(name, value)
    url = f"jdbc:postgresql://127.0.0.1:{endpoint.port}/clinic"
    try:
        yield gateway.jvm, gateway.jvm.java.sql.DriverManager.getConnection(url, properties)
    finally:
        gateway.shutdown()
        process.stdin.close()
        process.kill()
        process.wait()


def py4j_error():
    from py4j.protocol import Py4JJavaError

    return Py4JJavaError


def rows(found):
    count = found.getMetaData().getColumnCount()
    made = []
    while found.next():
        made.append([found.getString(place + 1) for place in range(count)])
    return made


def test_the_jdbc_driver_looks_around_prepares_and_charts(jdbc):
    jvm, connection = jdbc
    told = connection.getMetaData()
    assert {row[2] for row in rows(told.getTables(None, "public", "%", None))} == TABLES
    columns = {row[3]: row[5] for row in rows(told.getColumns(None, "public", "visits", "%"))}
    assert columns["cost"] == "numeric"
    assert "public" in {row[0] for row in rows(told.getSchemas())}
    assert [*map(rows, (told.getPrimaryKeys(None, "public", "visits"), told.getImportedKeys(None, "public", "visits")))]
    assert rows(told.getIndexInfo(None, "public", "visits", False, False)) == []
    assert len(rows(told.getTypeInfo())) > 20
    assert told.getSQLKeywords() == KEYWORDS
    chart = rows(connection.createStatement().executeQuery(CHART))
    assert [row[0] for row in chart] == ["F", "M"]
    text = (
        "SELECT ward, COUNT(*) AS n, AVG(cost) AS c FROM visits WHERE cost > ? AND admitted > ? GROUP BY ward LIMIT ?"
    )
    prepared = connection.prepareStatement(text)
    prepared.setInt(1, 100)
    prepared.setTimestamp(2, jvm.java.sql.Timestamp.valueOf("2024-02-01 00:00:00"))
    prepared.setInt(3, 5)
    found = [rows(prepared.executeQuery()) for _ in range(7)]  # from the fifth on it is prepared by name, and binary
    assert found[0] == found[1]
    assert [[row[0] for row in one] for one in found] == [[row[0] for row in found[0]]] * 7
    assert float(found[-1][0][2]) == float(found[0][0][2])
    connection.setAutoCommit(False)
    statement = connection.createStatement()
    statement.setFetchSize(4)
    assert len(rows(statement.executeQuery("SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"))) == 13
    with pytest.raises(py4j_error()) as caught:
        statement.executeQuery("SELECT * FROM visits")
    assert caught.value.java_exception.getSQLState() == "42501"
    connection.rollback()
    assert connection.isValid(60)
