"""Random faults, decided by a seed: every session ends in the right result or in an end that names whom it should."""

import asyncio
import random
import shutil

import pytest
from tests.combine.faults.network import LATENCY, Network, on_clock, read, twisted
from tests.combine.net.sessions import NAMES, manifest, total

from discreet.errors import Aborted
from discreet.verbs.combine.net.evidence import check_evidence, load_evidence
from discreet.verbs.combine.net.manifest import dump
from discreet.verbs.combine.net.mesh import EVIDENCE
from discreet.verbs.combine.participation import MANIFEST
from discreet.verbs.combine.protocols.protocol import Total
from discreet.verbs.combine.transcript_check import verify

PLACES = [f"127.0.0.1:{port}" for port in range(4001, 4006)]
FIVE = (*NAMES, "middle")
FAULTS = ("kill", "restart", "sever", "delay", "duplicate", "swap", "corrupt", "tear", "equivocate", "address")
SESSIONS = (("masks", 0), ("masks", 3), ("ring", 0), ("shares", 0))
FIRST, MORE = range(60), range(60, 300)


class Schedule:
    """What goes wrong in a session, all of it decided by the seed; ``blamed`` are those it is the fault of."""

    def __init__(self, seed):
        self.chance = random.Random(seed)  # noqa: S311
        self.text, self.threshold = SESSIONS[seed % len(SESSIONS)]
        self.names = FIVE if self.threshold else NAMES[: self.chance.choice((3, 4))]
        self.faults = self.chance.choices(FAULTS, k=self.chance.choice((1, 1, 2, 3)))
        self.blamed, self.moves, self.harms, self.slow = set(), [], {}, {}
        for fault in self.faults:
            self.plan(fault)

    def plan(self, fault):
        chance = self.chance
        one, other = chance.sample(self.names, 2)
        at = chance.uniform(0, 12 * LATENCY)
        self.blamed.add(one)
        match fault:
            case "kill":
                self.moves.append((at, "kill", one))
            case "restart":
                self.moves += [(at, "kill", one), (at + chance.choice((0.0, LATENCY, 1.0, 8.0)), "start", one)]
            case "sever":
                self.moves.append((at, "sever", one))
            case "delay":
                self.slow[one] = chance.choice((0.5, 2.0, 6.0, 30.0))
            case "address":  # it tells everybody something of its own, all in different words
                for number, each in enumerate(name for name in self.names if name != one):
                    self.harms.setdefault((one, each), []).append((fault, 1000 + number))
            case _:
                self.harms.setdefault((one, other), []).append((fault, chance.randrange(8)))

    def harm(self):
        """What is done to messages: the n-th piece between two parties is harmed, and only once."""
        counts, held = {}, {}

        def change(of, to, data):
            count = counts[of, to] = counts.get((of, to), -1) + 1
            pieces = [data]
            if (of, to) in held:
                pieces = [data, held.pop((of, to))]
            for fault, place in self.harms.get((of, to), ()):
                if fault == "address" and (found := read(data)) and found[1].kind.startswith("sum 1/"):
                    pieces = [twisted(data, to=(to,), number=place + found[1].number) or data]
                if place != count:
                    continue
                match fault:
                    case "duplicate":
                        pieces = [*pieces, data] if read(data) else pieces
                    case "swap":
                        if read(data) and count:
                            held[of, to] = data
                            return []
                    case "corrupt":
                        spot = self.chance.randrange(len(data))
                        pieces = [data[:spot] + bytes([data[spot] ^ 64]) + data[spot + 1 :]]
                    case "tear":
                        return None
                    case "equivocate":
                        pieces = [twisted(data) or data]
            return pieces

        return change

    async def play(self, folder):
        session = manifest(
            self.names, at=PLACES[: len(self.names)], text=self.text, threshold=self.threshold, deadline=4
        )
        network = Network(session, folder, self.harm(), lambda of, to: LATENCY + self.slow.get(of, 0.0))
        for name in self.names:
            network.start(name)
        clock = asyncio.get_running_loop()
        for at, move, name in sorted(self.moves):
            await asyncio.sleep(at - clock.time())
            match move:
                case "kill" if not network.connector[name].dead:
                    await network.kill(name)
                case "start" if network.connector[name].dead:
                    network.start(name)
                case "sever":
                    network.sever(name)
        return session, await network.outcomes()


def ends_well(seed, folder):
    """Play a schedule and see how it ends."""
    schedule = Schedule(seed)
    session, outcomes = on_clock(lambda: schedule.play(folder))
    for name, outcome in outcomes.items():
        if isinstance(outcome, Total):
            least = schedule.threshold or len(schedule.names)
            assert len(outcome.parties) >= least
            assert (outcome.vector == total(outcome.parties, 2)).all(), f"{name} has a wrong result"
        else:
            assert isinstance(outcome, Aborted), repr(outcome)
            assert outcome.culprits or "ended the session" in outcome.message, outcome
            if name not in schedule.blamed:  # nobody honest names somebody honest
                assert set(outcome.culprits) <= schedule.blamed, (schedule.faults, schedule.blamed, outcome)
    for path in folder.glob(f"*/{EVIDENCE}"):
        assert check_evidence(session, load_evidence(path)) in schedule.blamed
    return schedule, outcomes


def test_the_schedules_are_worth_it(tmp_path):
    faults = {fault for seed in FIRST for fault in Schedule(seed).faults}
    assert faults == set(FAULTS)


@pytest.mark.parametrize("text, threshold, kind", [
    ("shares", 0, "sum 1/part"),
    ("ring", 0, "sum 1/total 1"),
    ("masks", 0, "sum 1/key"),
    ("masks", 0, "sum 1/masked"),
    ("masks", 0, "hello"),
    ("masks", 3, "sum 1/keys"),
    ("masks", 3, "sum 1/masked"),
    ("masks", 3, "sum 1/survivors"),
])  # fmt: skip
def test_who_tells_two_parties_different_things_is_convicted_by_its_own_signatures(text, threshold, kind, tmp_path):
    """North, as the first in every order, tells east something else than the others."""
    session = manifest(NAMES, at=PLACES[:4], text=text, threshold=threshold)
    twists = []

    def harm(of, to, data):
        found = read(data)
        if (of, to) == ("north", "east") and found and found[1].kind == kind:
            twists.append(found[1].kind)
            return [twisted(data)]
        return [data]

    async def play():
        network = Network(session, tmp_path, harm)
        for name in NAMES:
            network.start(name)
        return await network.outcomes()

    outcomes = on_clock(play)
    assert twists
    for name in NAMES[1:]:
        assert isinstance(outcomes[name], Aborted)
        assert outcomes[name].culprits == ("north",)
    evidence = [load_evidence(path) for path in tmp_path.glob(f"*/{EVIDENCE}")]
    if kind == "hello":  # which a party that lost its folder says again, with another key
        assert not evidence
        assert {"started this session twice" in outcomes[name].message for name in NAMES[1:]} == {True}
        return
    assert evidence
    assert {check_evidence(session, one) for one in evidence} == {"north"}


@pytest.mark.parametrize(
    ("text", "messages"), [("masks", 0), ("masks", 1), ("masks", 3), ("shares", 1), ("shares", 3), ("ring", 1)]
)
def test_a_party_that_lost_what_it_kept_is_not_convicted_of_contradicting_itself(text, messages, tmp_path):
    """North is killed after some messages, keeps nothing but its key, and begins again."""
    session = manifest(NAMES, at=PLACES[:4], text=text)
    said = []

    def harm(of, to, data):
        found = read(data)
        if of == "north" and found and found[1].kind not in ("hello", "abort"):
            said.append(found[1].kind)
        return [data]

    async def play():
        network = Network(session, tmp_path, harm)
        for name in NAMES:
            network.start(name)
        while not all(network.connector["north"].ends.get(name) for name in NAMES[1:]) or len(said) < messages:
            await asyncio.sleep(LATENCY / 10)
        await asyncio.sleep(2 * LATENCY)
        await network.kill("north")
        shutil.rmtree(tmp_path / "north")
        network.start("north")
        return await network.outcomes()

    outcomes = on_clock(play)
    for name in NAMES[1:]:
        assert isinstance(outcomes[name], Aborted)
        assert outcomes[name].culprits == ("north",)
        assert "north started this session twice" in outcomes[name].message
    assert not list(tmp_path.glob(f"*/{EVIDENCE}"))
    for name in NAMES:
        (tmp_path / name / MANIFEST).write_text(dump(session))
    checked = verify([tmp_path / name for name in NAMES])
    assert checked.culprits == ("north",)
    assert {"no contradiction" in problem.text for problem in checked.problems} == {True}


@pytest.mark.parametrize("seed", FIRST)
def test_a_session_ends_well(seed, tmp_path):
    ends_well(seed, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("seed", MORE)
def test_more_sessions_end_well(seed, tmp_path):
    ends_well(seed, tmp_path)
