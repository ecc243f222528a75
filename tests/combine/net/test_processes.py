"""Real processes on one machine: over loopback, between network namespaces, killed and started again."""

import json
import random
import signal
import subprocess
import sys
import time
from contextlib import ExitStack

import pytest
from tests.combine.net.sessions import NAMES, manifest, total

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


def test_parties_in_network_namespaces_of_their_own(tmp_path):
    """Three hosts at a bridge, each with an address of its own."""
    names, bridge = NAMES[:3], "dcbridge"
    addresses = [f"10.213.7.{place}" for place in range(1, 4)]
    commands = [f"ip link add {bridge} type bridge", f"ip link set {bridge} up"]
    for name, address in zip(names, addresses, strict=True):
        commands += [
            f"ip netns add dc{name}",
            f"ip link add dc{name} type veth peer name eth0 netns dc{name}",
            f"ip link set dc{name} master {bridge} up",
            f"ip -n dc{name} addr add {address}/24 dev eth0",
            f"ip -n dc{name} link set eth0 up",
            f"ip -n dc{name} link set lo up",
        ]
    written(tmp_path, names=names, text="masks", at=[f"{address}:7000" for address in addresses])
    try:
        for command in commands:
            made = subprocess.run(command.split(), capture_output=True, text=True, check=False)
            if made.returncode:
                pytest.skip(f"network namespaces cannot be made here: {command}: {made.stderr.strip()}")
        with ExitStack() as stack:
            prefix = {name: ("ip", "netns", "exec", f"dc{name}") for name in names}
            hosts = [stack.enter_context(Host(tmp_path, name, prefix=prefix[name])) for name in names]
            for host in hosts:
                expect_total(host.said(), names)
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "delete", f"dc{name}"], capture_output=True, check=False)
            subprocess.run(["ip", "link", "delete", f"dc{name}"], capture_output=True, check=False)
        subprocess.run(["ip", "link", "delete", bridge], capture_output=True, check=False)
