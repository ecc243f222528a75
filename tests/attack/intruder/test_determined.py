"""Which counts are the same in every possible database, against going through all of them."""

from itertools import product

import numpy as np
import pytest
from scipy.sparse import csr_array

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
    system = LinearSystem(csr_array(relations.astype(float)), fall.astype(float), rise.astype(float))
    found = determined(system, asked, seen=seen)
    wanted = np.where((possible == 0).all(axis=0), Verdict.DETERMINED, Verdict.FREE)
    assert found.tolist() == wanted[asked].tolist()
    every = {tuple(one) for one in possible.tolist()}
    assert all(tuple(one) in every for one in seen.changes.tolist())
