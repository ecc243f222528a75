"""Jobs in processes of their own, while the database is cut off, the disk is full, or the workspace is upgraded."""

import os
import sqlite3
import subprocess
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import psycopg
import pytest
from bench.soak import Line

from discreet.budget.ledger import LEDGER
from discreet.core.loss import Approximate
from discreet.curator.curator import Curator
from discreet.curator.people.state import State
from discreet.curator.workspace import open_workspace
from discreet.service.jobs.jobs import Jobs
from discreet.service.jobs.order import JobLimits
from discreet.service.jobs.runner import disk_is_full
from discreet.service.jobs.specs import Publish

SPEC = Publish("stays", (), "noise alpha=0.1 on age", title="Stays")


def runs_of(jobs, job):
    """Number of runs that count, of which a job may have two."""
    [(runs,)] = jobs._queue._state.rows("SELECT runs FROM jobs WHERE id = ?", (job.id,))
    return runs


def ends(caplog):
    """How runs ended, in the words of the log."""
    said = [record.getMessage() for record in caplog.records]
    return [one.partition(" ends: ")[2] for one in said if " ends: " in one]


@pytest.fixture
def line(postgres_address):
    """A line to a database that is made for one test."""
    with psycopg.connect(postgres_address, autocommit=True) as server:
        server.execute("CREATE DATABASE cut_off")
        yield Line(parse_qs(urlsplit(postgres_address).query)["host"][0])
        server.execute("DROP DATABASE cut_off WITH (FORCE)")


@pytest.fixture
def remote(bare, line, tmp_path):
    """A workspace whose ledger is at the other end of the line."""
    address = f"postgresql://postgres@127.0.0.1:{line.port}/cut_off"
    tables = {"stays": (bare / "stays.csv", bare / "stays.toml")}
    Curator.create(tmp_path / "clinic", tables, Approximate(1, "1e-6"), ledger=address).close()
    return tmp_path / "clinic"


def test_a_job_whose_database_is_cut_off_begins_again_and_that_run_does_not_count(remote, line, until, caplog):
    caplog.set_level("INFO")
    with closing(State.open(open_workspace(remote))) as state:
        jobs = Jobs(state, remote, limits=JobLimits(1))
        job = jobs.submit(SPEC, "steward")
        jobs.start()
        until(lambda: jobs._runners[0].child)
        with line.cut():
            until(lambda: ends(caplog))
        until(lambda: jobs.find(job.id).over)
        found = jobs.find(job.id)
        assert (found.state, found.error, runs_of(jobs, job)) == ("done", "", 1)
        assert ends(caplog) == ["away", "made"]
        jobs.stop(0)


@pytest.mark.slow
def test_a_job_that_alone_does_not_reach_its_database_begins_again_once(remote, line, postgres_address, until, caplog):
    caplog.set_level("INFO")
    address = postgres_address.replace("/postgres?", "/cut_off?")
    with closing(State.open(replace(open_workspace(remote), ledger=address))) as state:
        jobs = Jobs(state, remote, limits=JobLimits(1))
        job = jobs.submit(SPEC, "steward")
        with line.cut():
            jobs.start()
            until(lambda: jobs.find(job.id).over)
        found = jobs.find(job.id)
        assert (found.state, runs_of(jobs, job), ends(caplog)) == ("failed", 2, ["away", "away"])
        assert found.error.startswith(f"No answer from 127.0.0.1:{line.port}")
        jobs.stop(0)


@contextmanager
def full_disk(folder):
    """A disk without room at ``folder``, while the block runs; skips where none may be mounted."""
    tried = ["mount", "-t", "tmpfs", "-o", "size=4k", "tmpfs", folder]
    if os.geteuid() != 0 or subprocess.run(tried, capture_output=True, check=False).returncode:
        pytest.skip("a full disk: nothing may be mounted here")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def test_a_job_that_meets_a_full_disk_says_so_and_can_be_submitted_again(jobs, folder, until):
    job = jobs.submit(SPEC, "steward", key="stays")
    jobs._places.prepare()
    with full_disk(folder / "papers"):
        jobs.start()
        until(lambda: jobs.find(job.id).over)
        assert list((folder / "papers").iterdir()) == []
    found = jobs.find(job.id)
    assert (found.state, found.error.partition(".")[0]) == ("failed", "The disk is full")
    again = jobs.submit(SPEC, "steward", key="stays")
    assert again.id != job.id
    until(lambda: jobs.find(again.id).over)
    assert jobs.find(again.id).state == "done"


def test_a_full_disk_is_recognised_in_whatever_it_causes():
    with pytest.raises(ValueError, match="odd") as caught, Path("/dev/full").open("wb", 0) as file:
        try:
            file.write(b"x")
        except OSError as error:
            raise ValueError("odd") from error
    assert disk_is_full(caught.value) and not disk_is_full(ValueError("odd"))
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("PRAGMA max_page_count = 2")
        with pytest.raises(sqlite3.OperationalError) as told:
            connection.execute("CREATE TABLE rows AS SELECT zeroblob(100000)")
    assert disk_is_full(told.value)
    assert disk_is_full(RuntimeError('IO Error: Could not write file "a.parquet": No space left on device'))


def test_a_job_of_the_earlier_version_waits_for_the_later_one_after_an_upgrade(jobs, folder, until, caplog):
    job = jobs.submit(SPEC, "steward")
    with closing(sqlite3.connect(folder / "ledger.db")) as ledger:
        ledger.execute(f"PRAGMA user_version = {LEDGER.format.version + 1}")
        jobs.start()
        until(lambda: not jobs.alive)
        assert (jobs.find(job.id).state, runs_of(jobs, job)) == ("waiting", 0)
        assert "restarts with the new service" in jobs.find(job.id).said
        assert "a later discreet has upgraded" in caplog.text
        ledger.execute(f"PRAGMA user_version = {LEDGER.format.version}")
    later = Jobs(jobs._queue._state, folder, limits=JobLimits(1))
    later.start()
    until(lambda: later.find(job.id).over)
    assert later.find(job.id).state == "done"
    later.stop(0)
