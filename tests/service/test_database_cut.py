"""The service on one host and its database on another, with a line between them that is bad, and cut for a while."""

import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from urllib.parse import parse_qs, urlsplit

import httpx
import psycopg
import pytest
from tests.hosts import hosts
from tests.service.conftest import ANNS, new_workspace
from tests.service.test_condition import SCHEMAS
from tests.service.test_killed import PRICE, Crowd, Killable

from discreet.budget.entries import Charged
from discreet.core.loss import Pure, sequential
from discreet.core.release import Release
from discreet.curator.curator import Curator

PORT, CUT_SECONDS = 8600, 20
DOOR = """
import socket, sys, threading

def pass_on(one, other):
    try:
        while block := one.recv(1 << 16):
            other.sendall(block)
    except OSError:
        pass
    for end in (one, other):
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

listening = socket.create_server((sys.argv[1], 5432))
print("open", flush=True)
while True:
    caller = listening.accept()[0]
    inside = socket.socket(socket.AF_UNIX)
    inside.connect(sys.argv[2])
    for pair in ((caller, inside), (inside, caller)):
        threading.Thread(target=pass_on, args=pair, daemon=True).start()
"""
"""Lets callers from the network in to a server that listens at a Unix socket."""


class Patient(Crowd):
    """Analysts on the service's host, who ask again what could not be answered."""

    def __init__(self, wan, token):
        super().__init__(f"http://127.0.0.1:{PORT}", token)
        self._wan = wan
        self.turned_away = 0

    def _work(self, number):
        self._wan.enter("service")
        super()._work(number)

    def _sent(self, client, asked):
        while not self._over.is_set():
            reply = super()._sent(client, asked)
            if reply is None or reply.status_code != 503:
                return reply
            self.turned_away += 1
            self._over.wait(0.2)
        return None


class Remote(Killable):
    """The service on its host."""

    def __init__(self, wan, folder):
        command = [sys.executable, "-m", "tests.service.killable", str(folder), str(PORT)]
        self._process = subprocess.Popen(
            wan.run("service", *command), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._service = None


@contextmanager
def database(wan, address):
    """The tests' PostgreSQL on a host of its own: its address there."""
    parts = urlsplit(address)
    [folder] = parse_qs(parts.query)["host"]
    command = [sys.executable, "-c", DOOR, wan.addresses["database"], f"{folder}/.s.PGSQL.5432"]
    with subprocess.Popen(wan.run("database", *command), stdout=subprocess.PIPE, text=True) as door:
        try:
            assert door.stdout.readline() == "open\n"
            yield f"postgresql://{parts.username}@{wan.addresses['database']}{parts.path}"
        finally:
            door.kill()


@pytest.fixture
def clean(postgres_address):
    """What the test makes in the database goes again."""
    with psycopg.connect(postgres_address, autocommit=True) as server:
        before = set(server.execute(SCHEMAS))
        yield
        for (name,) in set(server.execute(SCHEMAS)) - before:
            server.execute(f"DROP SCHEMA {name} CASCADE")


def said(wan, path):
    """What the service answers to somebody on its host who asks how it is."""

    def ask():
        wan.enter("service")
        return httpx.get(f"http://127.0.0.1:{PORT}{path}", timeout=60, trust_env=False)

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(ask).result()


def until(holds, seconds=60):
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.2)


def in_service(wan, work):
    """Do this in a thread on the service's host."""

    def there():
        wan.enter("service")
        return work()

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(there).result()


@pytest.mark.slow
def test_a_database_that_is_cut_off_for_a_while_costs_no_charge_and_doubles_none(postgres_address, clean, tmp_path):
    folder = tmp_path / "clinic"
    with hosts("service", "database", delay=0.002, loss=0.005) as wan, database(wan, postgres_address) as address:
        tokens = in_service(wan, lambda: new_workspace(folder, address))
        with Remote(wan, folder) as service, Patient(wan, tokens["ann"]) as crowd:
            service.start()
            crowd.wait()
            before = len(crowd.given)
            with wan.cut("service", "database"):
                began = time.monotonic()
                until(lambda: said(wan, "/v1/health").status_code == 503)
                assert said(wan, "/v1/health").json()["problems"]["database"] == "The database does not answer."
                assert said(wan, "/v1/live").status_code == 200
                time.sleep(max(0.0, began + CUT_SECONDS - time.monotonic()))
            until(lambda: said(wan, "/v1/health").status_code == 200)
            crowd.wait()
        assert not crowd.problems
        assert len(crowd.given) > before
        in_service(wan, lambda: check(folder, crowd.given))


def check(folder, given):
    """Every answer that somebody has was charged once, and nothing else was."""
    with Curator(folder) as curator:
        entries = [line.entry for line in curator.ledger.lines("patients")]
        paid = [one for one in entries if isinstance(one, Charged) and one.loss == Pure(PRICE)]
        keys = [one.key for one in paid]
        assert len(set(keys)) == len(keys)
        for question, answer in given.items():
            assert Release.load(curator.workspace.releases / answer["id"]).receipt.key in keys
            assert curator.ask(question, epsilon=PRICE, analyst="ann").free
        assert (
            curator.left("patients", "ann").analyst.epsilon
            == ANNS.epsilon - sequential(one.loss for one in paid).epsilon
        )
        assert curator.verify().sound
