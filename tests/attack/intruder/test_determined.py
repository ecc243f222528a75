"""Which counts are the same in every possible database, against going through all of them."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy.sparse import csr_array

from discreet.core.programs import Program, Status
from discreet.verbs.attack.intruder import determined as module
from discreet.verbs.attack.intruder.determined import LinearSystem, Seen, Verdict, determined


@pytest.mark.parametrize("seed", range(30))
def test_against_all_databases(seed):
    rng = np.random.default_rng(seed)
    count = int(rng.integers(3, 7))
    relations = rng.integers(-1, 2, (int(rng.integers(1, 4)), count))
    fall, rise = rng.integers(0, 3, count), rng.integers(0, 3, count)
    ranges = [range(-low, high + 1) for low, high in zip(fall.tolist(), rise.tolist(), strict=True)]
    possible = np.array([one for one in product(*ranges) if not (relations @ np.array(one)).any()])
    asked = np.concatenate([np.arange(count), rng.integers(0, count, 3)])  # some of them twice
    seen = Seen()
    system = LinearSystem(csr_array(relations.astype(float)), fall.astype(float), rise.astype(float), np.arange(count))
    found = determined(system, asked, seen=seen)
    wanted = np.where((possible == 0).all(axis=0), Verdict.DETERMINED, Verdict.FREE)
    assert found.tolist() == wanted[asked].tolist()
    marks = seen.marks[:, None] + seen.marks  # alike in all databases that there are: certainly in those that were seen
    opposite = (possible[:, :, None] == -possible[:, None, :]).all(axis=0)
    assert not marks[opposite].any()
    assert (seen.marks[asked] != 0)[found == Verdict.FREE].all()


def swapping(rng, atoms: int, groups: int) -> tuple[csr_array, np.ndarray, np.ndarray]:
    """Counts of three values in atoms of one to four people, by several ways to group the atoms."""
    truth = rng.multinomial(1, [0.5, 0.3, 0.2], (atoms, 4)) * (rng.random((atoms, 4)) < 0.5)[:, :, None]
    truth = truth.sum(axis=1)
    rows = [np.kron(np.eye(atoms), np.ones((1, 3)))]
    for _ in range(groups):
        which = rng.integers(0, 4, atoms)
        rows += [np.kron(which == group, np.eye(3)) for group in range(4)]
    most = np.repeat(truth.sum(axis=1), 3)
    return csr_array(np.concatenate(rows)), truth.ravel().astype(float), (most - truth.ravel()).astype(float)


@pytest.mark.parametrize("seed", range(8))
def test_small_changes_say_what_all_programs_say(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    relations, fall, rise = swapping(rng, 30, 2 + seed % 3)
    system = LinearSystem(relations, fall, rise, np.tile(np.arange(3), 30))
    wanted = determined(system, np.arange(90), seconds=600.0)
    assert {Verdict.FREE, Verdict.DETERMINED} <= set(wanted.tolist())
    monkeypatch.setattr(module, "LARGE", 10)
    found = determined(system, np.arange(90), seconds=600.0)
    assert ((found == wanted) | (found == Verdict.UNDECIDED)).all()
    assert (found == Verdict.UNDECIDED).sum() <= 2


def test_time_is_what_this_thread_worked(monkeypatch):
    relations, fall, rise = swapping(np.random.default_rng(1), 30, 3)
    system = LinearSystem(relations, fall, rise, np.tile(np.arange(3), 30))
    open_ = determined(system, np.arange(90), seconds=600.0) == Verdict.FREE
    for large in (10, 1_000):
        monkeypatch.setattr(module, "LARGE", large)
        found = determined(system, np.arange(90)[open_], seconds=-1.0)
        assert (found == Verdict.UNDECIDED).all()


@pytest.mark.parametrize("failing", [("ipm",), ("ipm", "simplex")])
def test_a_program_that_fails_proves_nothing(monkeypatch, failing):
    relations, fall, rise = swapping(np.random.default_rng(1), 30, 3)
    system = LinearSystem(relations, fall, rise, np.tile(np.arange(3), 30))
    before = determined(system, np.arange(90), seconds=600.0, reals=True)
    monkeypatch.setattr(module, "LARGE", 10)
    assert (determined(system, np.arange(90), seconds=600.0, reals=True) == before).all()
    solve = Program.solve

    def fail(self, *given, solver="choose", **more):
        found = solve(self, *given, **more)
        return replace(found, status=Status.FAILED, x=None) if solver in failing else found

    monkeypatch.setattr(Program, "solve", fail)
    found = determined(system, np.arange(90), seconds=600.0, reals=True)
    open_ = before == Verdict.UNDECIDED
    assert open_.any()
    assert (found[open_] == Verdict.UNDECIDED).all()
