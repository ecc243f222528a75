"""The service killed while people ask: whoever has an answer, it was charged, and it is the only one."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

import httpx
import pytest
from tests.service.conftest import ANNS

from discreet.budget.entries import Charged
from discreet.core.loss import Pure, sequential
from discreet.core.release import Release
from discreet.curator.curator import Curator
from discreet.releases.store import SEAL

PRICE = "0.001"
ANALYSTS = 6
SOME = 8
"""How many answers are awaited before the next blow."""
PATIENCE = 60


class Crowd:
    """Analysts who ask new questions, and whoever is cut off the same again."""

    def __init__(self, url, token):
        self._url = url
        self._headers = {"Authorization": f"Bearer {token}"}
        self._news = threading.Condition()
        self._over = threading.Event()
        self.given = {}
        """Question to answer."""
        self.problems = []
        self._threads = [threading.Thread(target=self._work, args=(number,)) for number in range(ANALYSTS)]

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        for thread in self._threads:
            thread.join()

    def wait(self):
        """Until some more have been answered."""
        with self._news:
            enough = len(self.given) + SOME
            assert self._news.wait_for(lambda: len(self.given) >= enough, PATIENCE), self.problems

    def _work(self, number):
        count = 0
        with httpx.Client(base_url=self._url, headers=self._headers, timeout=PATIENCE, trust_env=False) as client:
            while not self._over.is_set():
                count += 1
                question = f"SELECT COUNT(*) AS n FROM patients WHERE sex <> '{number} {count}'"
                reply = self._sent(client, {"questions": [question], "epsilon": PRICE})
                with self._news:
                    if reply is None or reply.status_code != 200:
                        self.problems.append("no answer" if reply is None else reply.text)
                        return
                    [self.given[question]] = reply.json()["answers"]
                    self._news.notify_all()

    def _sent(self, client, asked):
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            try:
                return client.post("/v1/ask", json=asked)
            except httpx.TransportError:
                self._over.wait(0.02)
        return None


class Killable:
    """A service that can be started again quickly."""

    def __init__(self, folder, port):
        command = [sys.executable, "-m", "tests.service.killable", str(folder), str(port)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._service = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()
        self._process.communicate()

    def start(self):
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        self._service = int(self._process.stdout.readline())

    def kill(self):
        if self._service is not None:
            os.kill(self._service, signal.SIGKILL)
            self._service = None


@pytest.fixture
def place(template, tmp_path):
    folder, tokens = template
    shutil.copytree(folder, tmp_path / "home")
    return tmp_path / "home" / "clinic", tokens["ann"]


def test_killed_while_people_ask_no_answer_was_uncharged(place):
    folder, token = place
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with Killable(folder, port) as service, Crowd(f"http://127.0.0.1:{port}", token) as crowd:
        for _ in range(2):
            service.start()
            crowd.wait()
            service.kill()
        service.start()
        crowd.wait()
    assert not crowd.problems
    with Curator(folder) as curator:
        entries = [line.entry for line in curator.ledger.lines("patients")]
        paid = {one.key: one.loss for one in entries if isinstance(one, Charged) and not one.key.startswith(SEAL)}
        for question, answer in crowd.given.items():
            receipt = Release.load(curator.workspace.releases / answer["id"]).receipt
            assert paid[receipt.key] == Pure(PRICE)
            assert curator.ledger.find(SEAL + answer["id"]) is not None
            again = curator.ask(question, epsilon=PRICE, analyst="ann")
            assert again.free
            assert [list(row.values()) for row in again.table.to_pylist()] == answer["answer"]["rows"]
        assert curator.left("patients", "ann").analyst.epsilon == ANNS.epsilon - sequential(paid.values()).epsilon
        assert curator.verify().sound
