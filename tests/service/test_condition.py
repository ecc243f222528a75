"""How the service says that it is: its database in PostgreSQL, and away; its disk, and its queues."""

import re
import threading
import time
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest
from tests.loops import run
from tests.service.conftest import new_desk, new_workspace
from tests.service.serving import MANY, serving

from discreet.service.condition import Lookup

DOCS = Path(__file__).parents[2] / "docs" / "serve.md"
SCHEMAS = "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'discreet_%'"


@pytest.fixture(scope="module")
def desk(postgres_address, tmp_path_factory):
    """A desk whose databases are in PostgreSQL, and everyone's tokens."""
    folder = tmp_path_factory.mktemp("condition") / "clinic"
    with psycopg.connect(postgres_address, autocommit=True) as server:
        before = {name for (name,) in server.execute(SCHEMAS)}
        tokens = new_workspace(folder, postgres_address)
        with new_desk(folder) as desk:
            yield desk, tokens
        for (name,) in server.execute(SCHEMAS).fetchall():
            if name not in before:
                server.execute(f"DROP SCHEMA {name} CASCADE")


@contextmanager
def silent(address):
    """Have every table of the databases wait for us: no one gets an answer, and no error either."""
    with psycopg.connect(address) as server:
        tables = "SELECT schemaname || '.' || tablename FROM pg_tables WHERE schemaname LIKE 'discreet_%'"
        for (name,) in server.execute(tables).fetchall():
            server.execute(f"LOCK TABLE {name} IN ACCESS EXCLUSIVE MODE")
        yield
        server.rollback()


def until(holds):
    end = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_metrics_say_what_is_left_and_how_it_goes(desk):
    desk, tokens = desk
    with serving(desk) as service:
        auditor, nobody = service.client(tokens["auditor"]), service.client()
        well = nobody.get("/v1/health")
        assert (well.status_code, well.json()["problems"]) == (200, {"database": "", "disk": "", "queue": ""})
        asked = {"questions": ["SELECT COUNT(*) AS n FROM patients"], "epsilon": "0.1"}
        assert service.client(tokens["ann"]).post("/v1/ask", json=asked).status_code == 200
        text = auditor.get("/v1/metrics").text
        assert nobody.get("/v1/metrics").status_code == 401
    assert 'discreet_ready{check="database"} 1.0' in text
    assert 'discreet_budget_left_epsilon{analyst="ann",table="patients"} ' in text
    assert 'discreet_jobs{state="lost"} 0.0' in text
    assert 'discreet_answers_total{free="no",kind="question"} 1.0' in text
    for step in ("wait", "plan", "charge", "rows", "keep"):
        assert f'discreet_step_seconds_count{{step="{step}"}}' in text


def test_while_the_database_is_away_it_says_so_and_tells_the_rest(desk, postgres_address):
    desk, tokens = desk
    with serving(desk, replace(MANY, health_seconds=0.5)) as service:
        steward, auditor = service.client(tokens["steward"]), service.client(tokens["auditor"])
        nobody = service.client()
        until(lambda: auditor.get("/v1/metrics").status_code == 200)
        with silent(postgres_address):
            until(lambda: nobody.get("/v1/health").status_code == 503)
            said = nobody.get("/v1/health").json()
            assert (said["status"], said["problems"]["database"]) == ("not ready", "The database does not answer.")
            assert nobody.get("/v1/live").json()["status"] == "ok"
            away = auditor.get("/v1/metrics").text
            assert 'discreet_ready{check="database"} 0.0' in away
            assert "discreet_requests_total" in away and "discreet_budget_left_epsilon" not in away
            assert steward.get("/v1/metrics").status_code == 503, "she was not let in before"
        until(lambda: nobody.get("/v1/health").status_code == 200)
        until(lambda: steward.get("/v1/metrics").status_code == 200)


def test_a_reader_who_is_no_longer_one_is_not_let_in(desk):
    desk, tokens = desk
    with serving(desk) as service:
        auditor = service.client(tokens["auditor"])
        assert auditor.get("/v1/metrics").status_code == 200
        ann = service.client(tokens["ann"])
        assert ann.get("/v1/metrics").status_code == 403


def test_a_disk_that_is_almost_full_is_told(clinic):
    with serving(clinic.desk, replace(MANY, free_disk_bytes=10**15)) as service:
        found = service.client().get("/v1/health")
    assert (found.status_code, found.json()["problems"]["disk"]) == (503, "The disk is almost full.")


def test_a_lookup_is_one_at_a_time_and_is_waited_for_no_longer_than_wanted():
    gate, looks = threading.Event(), []

    def look():
        looks.append(1)
        assert gate.wait(60)
        return "found"

    async def act():
        lookup = Lookup(look)
        assert [await lookup.within(0), await lookup.within(0)] == [None, None]
        gate.set()
        assert [await lookup.within(60), await lookup.within(60)] == ["found", "found"]
        assert await Lookup(lambda: 1 // 0).within(60) is None

    run(act())
    assert len(looks) == 1


SAMPLE = re.compile(r"^(discreet_\w+)\{(.*)\} ", re.MULTILINE)


def test_alerts_are_about_metrics_that_there_are(desk):
    desk, tokens = desk
    with serving(desk) as service:
        service.client(tokens["ann"]).post("/v1/ask", json={"questions": []})
        text = service.client(tokens["auditor"]).get("/v1/metrics").text
    example = re.search(r"```yaml\n(groups:.*?)```", DOCS.read_text(), re.DOTALL)[1]
    named = set(re.findall(r"\bdiscreet_\w+", example))
    assert {"discreet_ready", "discreet_jobs", "discreet_budget_left_epsilon"} <= named
    there = set(re.findall(r"^# TYPE (\w+) ", text, re.MULTILINE))
    assert {re.sub(r"_(total|bucket|count)$", "", name) for name in named} <= {
        re.sub(r"_total$", "", name) for name in there
    }
    samples = [(name, dict(re.findall(r'(\w+)="(.*?)"', labels))) for name, labels in SAMPLE.findall(text)]
    for name, chosen in re.findall(r"\b(discreet_\w+)\{(.*?)\}", example):
        for label, sign, value in re.findall(r'(\w+)(=~?)"(.*?)"', chosen):
            values = {labels[label] for other, labels in samples if other == name and label in labels}
            assert values, f"{name} has no {label}"
            assert sign == "=~" or value in values
