"""A standalone cluster on loopback: a master, a worker, and discreet as its client, each in a process of its own."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.engines.parts import java, require_part

CLIENT = """
import sys
import pyarrow as pa
from pyspark.sql import SparkSession
from discreet.core.card import Card, Column, Role
from discreet.core.kind import Kind
from discreet.engines.read import read
from discreet.engines.spark import Spark

settings = {"spark.driver.host": "127.0.0.1", "spark.ui.enabled": "false", "spark.log.level": "OFF",
            "spark.sql.warehouse.dir": sys.argv[2]}
session = SparkSession.builder.master(sys.argv[1]).config(map=settings).getOrCreate()
Spark(session).load("people", pa.table({"zip": ["13053", "13068", "13068"]}))
card = Card("people", (Column("zip", Kind.TEXT, Role.QUASI),))
table = read(sys.argv[1] + "#people", card)
rows = sorted(table.histogram().to_pylist(), key=str)
print(rows, table.stream().read_all().num_rows)
session.stop()
"""


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


@pytest.fixture
def spark_master(tmp_path: Path) -> Iterator[str]:
    """The address of a master that has a worker."""
    require_part(java(), "Java", "install a headless JRE, version 17 or later, for the tests on Spark")
    import pyspark

    home, port = Path(pyspark.__file__).parent, free_port()
    env = {**os.environ, "SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_DAEMON_MEMORY": "512m"}
    env["SPARK_DAEMON_JAVA_OPTS"] = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"

    def start(name: str, *words: str) -> subprocess.Popen[str]:
        command = [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}", "--host", "127.0.0.1", *words]
        pipe, joined = subprocess.PIPE, subprocess.STDOUT
        return subprocess.Popen(command, env=env, cwd=tmp_path, stdout=pipe, stderr=joined, text=True)

    address = f"spark://127.0.0.1:{port}"
    master = start("master.Master", "--port", str(port), "--webui-port", "0")
    await_line(master, "elected leader")
    worker = start("worker.Worker", "--webui-port", "0", "--cores", "2", "--memory", "1g", address)
    await_line(worker, "Successfully registered")
    yield address
    for process in (worker, master):
        process.terminate()
        process.communicate()


def await_line(process: "subprocess.Popen[str]", text: str) -> None:
    """Read what a process says until it says this."""
    assert process.stdout is not None
    said = []
    for line in process.stdout:
        said.append(line)
        if text in line:
            return
    pytest.fail("".join(said))


@pytest.mark.slow
def test_a_spark_cluster_answers(spark_master: str, tmp_path: Path) -> None:
    env = {**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    command = [sys.executable, "-c", CLIENT, spark_master, str(tmp_path / "warehouse")]
    run = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False, timeout=180)
    assert run.stdout.splitlines()[-1:] == ["[{'zip': '13053', 'n': 1}, {'zip': '13068', 'n': 2}] 3"], run.stderr
