"""Streams of a curator: charged once, each step durable before it is told, and told once, whatever dies or comes."""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import psycopg
import pyarrow as pa
import pytest
from tests.curator.clinics import clinic, visits
from tests.curator.streaming import PLACES

from discreet.budget.entries import Charged
from discreet.core.loss import Concentrated, Pure
from discreet.core.release import Release
from discreet.curator.backup import back_up, receipts_in, restore
from discreet.curator.curator import Curator
from discreet.errors import BadInput, BudgetExceeded, Damaged, NoPromise, NotFound, Refused, Unsound
from discreet.verbs.ask.stream import Stream

ROOT = Path(__file__).parents[2]
ADMISSIONS = Stream("admissions", 300, by=["city"], epsilon="0.5")
RHO = Stream("admissions", 100, by=["city"], sums=["income"], rho="1/4")


def charges(curator):
    return [one.entry for one in curator.ledger.lines() if isinstance(one.entry, Charged) and one.entry.loss != Pure(0)]


def seals(curator):
    return [key for key in curator.ledger.keys("step ") if key.startswith("step ")]


@pytest.fixture(scope="module")
def begun(tmp_path_factory):
    """A clinic with a stream of three steps."""
    folder = tmp_path_factory.mktemp("streams") / "clinic"
    with clinic(folder) as curator:
        running = curator.stream(ADMISSIONS, "visits")
        for step in (1, 2, 3):
            running.advance(visits(20 * step))
    return folder


@pytest.fixture
def place(begun, tmp_path):
    """A copy of it."""
    return Path(shutil.copytree(begun, tmp_path / "clinic"))


def test_a_stream_is_charged_once_for_all_its_steps_before_the_first_row(tmp_path):
    with clinic(tmp_path / "clinic") as curator:
        running = curator.stream(ADMISSIONS, "visits")
        assert [one.loss for one in charges(curator)] == [Pure("0.5")]
        told = [running.advance(visits(20)), running.advance(None), running.advance(visits(3))]
        assert [one.loss for one in charges(curator)] == [Pure("0.5")]
        assert running.step == 3
        assert told[0].payload.column_names == ["city", "n", "n_error"]
        assert told[0].statement.loss == Pure("0.5")
        assert told[0].receipt.loss == Pure("0.5")
        with pytest.raises(BadInput, match="already, with other settings"):
            curator.stream(Stream("admissions", 300, epsilon="0.5"), "visits")
        with pytest.raises(BudgetExceeded):
            curator.stream(Stream("dear", 100, epsilon=9), "visits")
        with pytest.raises(NotFound, match=r"no stream 'dear' of visits; there are 'admissions'"):
            curator.find_stream("visits", "dear")
        assert len(curator.streams()) == 1
        assert curator.verify().sound


def test_a_stream_by_rho_is_charged_to_a_budget_that_is_kept_as_rho(tmp_path):
    with clinic(tmp_path / "clinic", budget=Concentrated(1)) as curator:
        running = curator.stream(RHO, "visits")
        assert curator.left("visits").table == Concentrated("3/4")
        rows = running.advance(visits(200)).payload.to_pylist()
        assert [one["city"] for one in rows] == ["Rome", "Milan", "Turin"]
        for one in rows:  # two visits each count; wrong once in a million runs
            assert abs(one["n"] - 400 / 3) < 3 * one["n_error"]
            assert 0 < one["income_sum_error"] < 1000 * one["n_error"] * 1.01


def test_a_step_asked_again_is_the_same_and_its_rows_are_not_counted_again(place):
    with Curator(place) as curator:
        running = curator.find_stream("visits", "admissions")
        told = [running.release(step) for step in (1, 2, 3)]
        again = running.advance(visits(400), step=2)
        assert (again.payload, again.recipe, again.receipt) == (told[1].payload, told[1].recipe, told[1].receipt)
        assert running.step == 3
        assert curator.stream(ADMISSIONS, "visits").release(3).payload == told[2].payload
        assert running.history().num_rows == 9
        assert running.history().slice(3, 3).drop_columns("step") == told[1].payload
        for wrong in (5, 0, -1, True, "4"):
            with pytest.raises(BadInput, match="next step of the stream is 4"):
                running.advance(None, step=wrong)
        with pytest.raises(NotFound, match="has taken 3 steps"):
            running.release(4)
        assert running.release(3).payload == told[2].payload
        assert curator.verify().sound


def test_windows_are_differences_of_what_was_told(place):
    with Curator(place) as curator:
        running = curator.find_stream("visits", "admissions")
        totals = {step: running.release(step).payload["n"].to_pylist() for step in (1, 3)}
        over_two = running.release(3, window=2)
        assert over_two.payload["n"].to_pylist() == [b - a for a, b in zip(totals[1], totals[3], strict=True)]
        assert running.release(3, window=3).payload == running.release(3).payload
        assert running.history(window=1).num_rows == 9
        with pytest.raises(BadInput):
            running.release(3, window=0)
        assert len(charges(curator)) == 1


def test_nobody_counts_more_often_than_the_card_says_in_the_whole_stream(tmp_path):
    with clinic(tmp_path / "clinic", budget=Pure(10**9)) as curator:
        running = curator.stream(Stream("exact", 10, sums=["income"], epsilon=10**8), "visits")
        income = 999.0
        rows = visits(3).set_column(4, "income", pa.array([income] * 9))
        totals = [running.advance(one).payload for one in (rows.slice(0, 1), rows, rows, rows.slice(6, 3))]
        assert [round(one["n"][0].as_py()) for one in totals] == [1, 6, 6, 6]
        assert totals[-1]["income_sum"][0].as_py() == pytest.approx(6 * income, abs=0.1)


def test_a_stream_ends_when_it_was_declared_to(tmp_path):
    with clinic(tmp_path / "clinic") as curator:
        running = curator.stream(Stream("short", 2, epsilon="0.5"), "visits")
        told = [running.advance(None) for _ in range(2)]
        with pytest.raises(NoPromise, match="declared to have 2 steps"):
            running.advance(None)
        assert running.release().payload == told[1].payload


def test_an_older_copy_of_the_streams_is_noticed_before_a_step_is_told_twice(place, tmp_path):
    files = ["streams.db", "streams.db-head"]
    for name in files:
        shutil.copy(place / name, tmp_path / name)
    with Curator(place) as curator:
        curator.find_stream("visits", "admissions").advance(visits(5))
    for name in files:
        shutil.copy(tmp_path / name, place / name)
    with Curator(place) as curator, pytest.raises(Damaged, match="older copy, or was edited"):
        curator.find_stream("visits", "admissions").advance(visits(6))
    for name in files:
        (place / name).unlink()
    with Curator(place) as curator, pytest.raises(Damaged, match="older copy, or was edited"):
        curator.stream(ADMISSIONS, "visits")
    shutil.copy(tmp_path / "streams.db", place / "streams.db")
    (place / "streams.db-head").write_bytes((tmp_path / "streams.db-head").read_bytes())
    with Curator(place) as curator:
        assert curator.find_stream("visits", "admissions").release(3).payload.num_rows == 3


EDITS = {
    "figures": "UPDATE lines SET content = replace(content, '\"step\":3', '\"step\": 3') WHERE step = 3",
    "memory": "UPDATE streams SET state = replace(state, '[3,', '[2,')",
    "step taken back": "UPDATE streams SET step = 2",
}


@pytest.mark.parametrize("edit", EDITS)
def test_an_edited_stream_does_not_go_on(edit, place):
    with closing(sqlite3.connect(place / "streams.db")) as connection:
        connection.execute("DROP TRIGGER no_update")
        assert connection.execute(EDITS[edit]).rowcount == 1
        connection.commit()
    with Curator(place) as curator:
        with pytest.raises(Damaged, match="older copy, or was edited"):
            curator.find_stream("visits", "admissions").advance(visits(5))
        with pytest.raises((Damaged, Unsound)):
            curator.verify()


def test_whose_rows_were_counted_is_part_of_what_is_checked(place):
    with closing(sqlite3.connect(place / "streams.db")) as connection:
        connection.execute("UPDATE contributions SET counted = 1 WHERE unit = '3'")
        connection.commit()
    with Curator(place) as curator, pytest.raises(Damaged, match="older copy, or was edited"):
        curator.verify()


def test_the_seal_of_a_step_does_not_tell_what_the_stream_remembers(tmp_path):
    """The digest that leaves is of the state and a secret: nobody who guesses the counts can check the guess."""
    sealed = []
    for name in ("one", "other"):
        with clinic(tmp_path / name) as curator:
            running = curator.stream(Stream("exact", 10, epsilon="0.5"), "visits")
            running.advance(None)
            with closing(sqlite3.connect(tmp_path / name / "streams.db")) as connection:
                [(state, content)] = connection.execute(
                    "SELECT state, lines.content FROM streams JOIN lines USING (stream)"
                )
            remembered = json.loads(state)
            salt = remembered["salt"]
            assert len(salt) == 64
            assert hashlib.sha256(state.encode()).hexdigest() == json.loads(content)["state"]
            sealed.append(salt)
    assert sealed[0] != sealed[1]


def test_a_stream_keeps_to_the_card_it_was_started_by(tmp_path):
    with clinic(tmp_path / "clinic", budget=Pure(10**9)) as curator:
        running = curator.stream(Stream("exact", 10, sums=["income"], epsilon=10**8), "visits")
        told = running.advance(visits(1))
        card = curator.workspace.full_card("visits")
        wider = [replace(one, bounds=(0.0, 10**7)) if one.name == "income" else one for one in card.columns]
        curator.revise_card("visits", replace(card, columns=tuple(wider), rows_per_unit=90), visits())
        running = curator.find_stream("visits", "exact")
        assert running.release(1).payload == told.payload
        rich = visits(3).set_column(4, "income", pa.array([10.0**6] * 9))
        after = running.advance(rich.slice(3)).payload  # two persons, two rows each, 1000 each
        assert round(after["n"][0].as_py() - told.payload["n"][0].as_py()) == 4
        assert after["income_sum"][0].as_py() - told.payload["income_sum"][0].as_py() == pytest.approx(4000, abs=0.1)
        with pytest.raises(BadInput, match="with other settings"):
            curator.stream(running.declared, "visits")


def test_a_name_is_taken_once_whatever_the_announcement(tmp_path):
    with clinic(tmp_path / "clinic") as curator:
        curator.release(Stream("a", 5, epsilon="0.1"), "visits")
        curator.stream(Stream("a", 6, epsilon="0.1"), "visits")
        with pytest.raises(BadInput, match="with other settings"):
            curator.stream(Stream("a", 5, epsilon="0.1"), "visits")


def test_a_backup_has_every_step_that_was_sealed(place, tmp_path):
    back_up(place, tmp_path / "clinic.tar")
    with Curator(place) as curator:
        running = curator.find_stream("visits", "admissions")
        third, fourth = running.release(3), running.advance(visits(5))
        third.save(tmp_path / "third")
        fourth.save(tmp_path / "fourth")
    restore(tmp_path / "clinic.tar", tmp_path / "again", newest=receipts_in(tmp_path / "third"))
    with Curator(tmp_path / "again") as curator:
        assert curator.find_stream("visits", "admissions").release(3).payload == third.payload
        assert curator.verify().sound
    with pytest.raises(Refused, match="is not in it"):
        restore(tmp_path / "clinic.tar", tmp_path / "older", newest=receipts_in(tmp_path / "fourth"))


def step(folder, *arguments):
    """What a process printed that takes steps."""
    return subprocess.run(
        [sys.executable, "-m", "tests.curator.streaming", str(folder), *map(str, arguments)],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])},
    )


def require_one_figure_a_step(folder, printed, last):
    """Whatever was printed of a step is what is kept of it; the stream goes on and is sound."""
    with Curator(folder) as curator:
        running = curator.find_stream("visits", "admissions")
        assert running.step >= last - 1
        told = {n: str(running.release(n).payload.to_pylist()) for n in range(1, running.step + 1)}
        for line in printed:
            number, _, figures = line.partition(" ")
            assert told[int(number)] == figures
        assert len(charges(curator)) == 1
        assert len(seals(curator)) == running.step
        assert curator.verify().sound
        return running.step


def killed(folder, place, last, draw=1):
    """Kill a process at a place of a step; what it had printed."""
    done = step(folder, last, place, draw)
    assert done.returncode == -signal.SIGKILL, done.stderr[-2000:]
    return done.stdout.splitlines()


@pytest.mark.parametrize("where", ["written", "sealed"])
def test_killed_at_a_step_it_is_told_once_or_not_at_all(where, place):
    printed = killed(place, where, 4)
    taken = require_one_figure_a_step(place, printed, 4)
    assert taken == (3 if where == "written" else 4), "what is durable was not told yet, and is what is told"
    assert not printed


@pytest.mark.slow
def test_200_kills(tmp_path):
    chosen, printed, last = random.Random(1), [], 0  # noqa: S311
    with clinic(tmp_path / "clinic") as curator:
        curator.stream(ADMISSIONS, "visits")
    for _ in range(200):
        last += chosen.randint(1, 2)
        where = chosen.choice(PLACES)
        printed += killed(tmp_path / "clinic", where, last, chosen.randint(1, 3))
        last = require_one_figure_a_step(tmp_path / "clinic", printed[-3:], last)
    require_one_figure_a_step(tmp_path / "clinic", printed, last)


@pytest.fixture
def shared_ledger(postgres_address):
    """A database without a ledger and streams, now and afterwards."""
    yield postgres_address
    with psycopg.connect(postgres_address) as connection:
        named = "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'discreet_streams%'"
        for schema in ("discreet_ledger", *(name for (name,) in connection.execute(named).fetchall())):
            connection.execute(f"DROP SCHEMA IF EXISTS {schema} CASCADE")


def test_two_hosts_that_share_postgresql_never_take_a_step_twice(tmp_path, shared_ledger):
    with clinic(tmp_path / "clinic", ledger=shared_ledger) as one, Curator(tmp_path / "clinic") as other:
        hosts = [one.stream(ADMISSIONS, "visits"), other.stream(ADMISSIONS, "visits")]
        for number in (1, 2):
            with ThreadPoolExecutor(2) as pool:
                rows = [visits(10), visits(30)]
                told = list(pool.map(lambda pair, n=number: pair[0].advance(pair[1], step=n), zip(hosts, rows)))  # noqa: B905
            assert told[0].payload == told[1].payload
            assert [running.step for running in hosts] == [number, number]
        hosts[0].advance(visits(5))
        assert isinstance(hosts[1].release(3), Release)
        assert len(seals(one)) == 3
        assert other.verify().sound
        assert not (tmp_path / "clinic" / "streams.db").exists()


def test_the_columns_of_rows_are_checked_before_a_step_is_taken(place):
    with Curator(place) as curator:
        running = curator.find_stream("visits", "admissions")
        with pytest.raises(NotFound, match="not in the data: city"):
            running.advance(visits(3).drop_columns("city"))
        assert running.step == 3
