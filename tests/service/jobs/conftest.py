"""A workspace of one small table, and what tests of jobs do with it."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from discreet.core.loss import Approximate
from discreet.curator.curator import Curator
from discreet.curator.people.state import State
from discreet.curator.workspace import open_workspace
from discreet.service.jobs.jobs import Jobs
from discreet.service.jobs.order import JobLimits

CARD = """
[tables.stays]
unit = "person"
rows_per_unit = 1

[tables.stays.columns.person]
kind = "integer"
role = "identifier"

[tables.stays.columns.age]
kind = "integer"
role = "quasi"
bounds = [0, 99]
hierarchy = { type = "intervals", widths = [10, 50] }

[tables.stays.columns.ward]
kind = "text"
role = "quasi"
categories = ["north", "south"]

[tables.stays.columns.disease]
kind = "text"
role = "sensitive"
categories = ["cold", "flu"]
"""
ROWS = "person,age,ward,disease\n" + "".join(
    f"{n},{n % 45 + 30},{'north' if n % 3 else 'south'},{'flu' if n % 7 == 0 else 'cold'}\n" for n in range(200)
)


@pytest.fixture(scope="session")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a workspace that nobody uses, to be copied."""
    folder = tmp_path_factory.mktemp("bare")
    (folder / "stays.csv").write_text(ROWS)
    (folder / "stays.toml").write_text(CARD)
    tables = {"stays": (folder / "stays.csv", folder / "stays.toml")}
    Curator.create(folder / "clinic", tables, Approximate(1, "1e-6")).close()
    return folder


@pytest.fixture
def folder(bare: Path, tmp_path: Path) -> Path:
    """A workspace for one test."""
    shutil.copytree(bare, tmp_path / "home")
    return tmp_path / "home" / "clinic"


@pytest.fixture
def jobs(folder: Path) -> Iterator[Jobs]:
    """Its jobs; nobody works on them before ``start``."""
    state = State.open(open_workspace(folder))
    found = Jobs(state, folder, patience=0.5, limits=JobLimits(1))
    yield found
    found.stop(0)
    state.close()


@pytest.fixture
def until() -> Callable[..., None]:
    """Wait for something to be so; an error after two minutes."""

    def wait(condition: Callable[[], object]) -> None:
        end = time.monotonic() + 120
        while not condition():
            assert time.monotonic() < end, "it takes too long"
            time.sleep(0.02)

    return wait
