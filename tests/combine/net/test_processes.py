"""Real processes on one machine: over loopback, between network namespaces, killed and started again."""

import json
import random
import signal
import subprocess
import sys
import time
from contextlib import ExitStack
from itertools import combinations

import pytest
from tests.combine.net.sessions import NAMES, manifest, total
from tests.hosts import hosts

from discreet.verbs.combine.net.journal import SECRET
from discreet.verbs.combine.net.manifest import dump
from discreet.verbs.combine.net.transcript_log import read_transcript, read_view

LENGTH = 4


class Host:
    """A process that plays a party, perhaps inside a network namespace."""

    def __init__(self, folder, name, *, prefix=()):
        command = [*prefix, sys.executable, "-m", "tests.combine.net.party"]
        arguments = [str(folder / "pay.toml"), name, str(folder / name), str(LENGTH)]
        self.process = subprocess.Popen([*command, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()

    def said(self):
        """What the process printed at its end."""
        out, err = self.process.communicate(timeout=60)
        assert self.process.returncode == 0, err.decode()
        return json.loads(out)


def written(tmp_path, **also):
    session = manifest(**also)
    (tmp_path / "pay.toml").write_text(dump(session))
    return session


def expect_total(said, names=NAMES):
    assert said == {"total": [int(item) for item in total(names, LENGTH)], "parties": list(names)}


def test_parties_on_one_machine(tmp_path):
    session = written(tmp_path, text="masks")
    with ExitStack() as stack:
        hosts = {name: stack.enter_context(Host(tmp_path, name)) for name in NAMES}
        for host in hosts.values():
            expect_total(host.said())
    for name in NAMES:
        lines = list(read_transcript(tmp_path / name, session.digest))
        for line in lines:
            line.signed.check(session)
        assert {line.kind for line in lines} == {"hello", "sum 1/key", "sum 1/masked", "settled"}
        assert len(read_view(tmp_path / name, NAMES)) == len(lines)
        assert (tmp_path / name / SECRET).stat().st_mode & 0o777 == 0o600


def test_killed_at_any_time_and_started_again_a_party_says_the_same_again(tmp_path):
    """South is killed again and again, at moments nobody chose, and in the end all have the right result."""
    chance = random.Random(9)  # noqa: S311
    session = written(tmp_path, text="shares", deadline=30)
    with ExitStack() as stack:
        others = [stack.enter_context(Host(tmp_path, name)) for name in NAMES if name != "south"]
        for _ in range(4):
            with Host(tmp_path, "south") as south:
                time.sleep(chance.uniform(0.15, 0.5))  # a real process, killed at a real moment
                south.process.send_signal(signal.SIGKILL)
        with Host(tmp_path, "south") as south:
            expect_total(south.said())
        for host in others:
            expect_total(host.said())
    sent = {line.number: line.header for line in read_transcript(tmp_path / "south", session.digest) if line.sent}
    for name in ("north", "east", "west"):
        lines = read_transcript(tmp_path / name, session.digest)
        got = [line for line in lines if not line.sent and line.peer == "south"]
        assert got
        assert all(sent[line.number] == line.header for line in got)


def test_parties_on_hosts_of_their_own(tmp_path):
    names = NAMES[:3]
    with hosts(*names) as lan, ExitStack() as stack:
        written(tmp_path, names=names, text="masks", at=[f"{lan.addresses[name]}:7000" for name in names])
        for host in [stack.enter_context(Host(tmp_path, name, prefix=lan.run(name))) for name in names]:
            expect_total(host.said(), names)


@pytest.mark.slow
def test_parties_on_a_bad_line_that_is_cut_for_a_while(tmp_path):
    """60 ms there and back, one packet in twenty lost, and nothing at all for three seconds."""
    names = NAMES[:3]
    with hosts(*names, delay=0.03, loss=0.05) as wan, ExitStack() as stack:
        places = [f"{wan.addresses[name]}:7000" for name in names]
        written(tmp_path, names=names, text="masks", at=places, deadline=60, start_within=60)
        running = [stack.enter_context(Host(tmp_path, name, prefix=wan.run(name))) for name in names]
        time.sleep(1)  # they start, and connect
        with wan.cut("north", "south"), wan.cut("north", "east"):
            time.sleep(3)
        for host in running:
            expect_total(host.said(), names)
        assert wan.lost > 0


@pytest.mark.slow
def test_parties_behind_firewalls_meet_at_a_relay(tmp_path):
    """No two parties reach each other; each reaches the relay, by the command, over a bad line."""
    names = NAMES[:3]
    with hosts(*names, "relay", delay=0.02, loss=0.02) as wan, ExitStack() as stack:
        for one, other in combinations(names, 2):
            stack.enter_context(wan.cut(one, other))
        place = f"relay:{wan.addresses['relay']}:8700"
        written(tmp_path, names=names, text="masks", at=[place] * 3, deadline=60, start_within=60)
        running = [stack.enter_context(Host(tmp_path, name, prefix=wan.run(name))) for name in names]
        command = [sys.executable, "-m", "discreet.cli", "combine", "relay", str(tmp_path / "pay.toml")]
        relay = subprocess.Popen(wan.run("relay", *command), stderr=subprocess.PIPE, text=True)
        for host in running:
            expect_total(host.said(), names)
        relay.send_signal(signal.SIGINT)
        _, said = relay.communicate(timeout=20)
        assert said.count(": joined") >= 3
        assert "The relay has ended." in said
