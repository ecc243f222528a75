"""Frequent strings that nobody knew beforehand: both methods find them, with error bars that hold."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import binom
from tests.noise.bits import Repeatable

from discreet.errors import BadInput, DataError
from discreet.verbs.collect.heavy_hitters import PEM, HeavyHitters, PrefixSearch, PrefixTree
from discreet.verbs.collect.protocol import audit

PEOPLE = {"anna": 9000, "anne": 6000, "bo": 5000, "bob": 4000, "çelik": 3000, "dominique-marie": 3000}
VALUES = [name for name, count in PEOPLE.items() for _ in range(count)] + [f"rare{number}" for number in range(2000)]
METHODS: list[PrefixSearch] = [PEM(6, 4, k=6), PrefixTree(6, 4), PEM(6, 4, k=6, step=5), PrefixTree(6, 4, step=3)]


def true(result: HeavyHitters) -> np.ndarray:
    """How many people really have what was found."""
    cut = [value.encode()[:6] for value in VALUES]
    return np.array([cut.count(string) for string in result.strings])


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_frequent_strings_are_found_with_bars_that_hold(method: PrefixSearch) -> None:
    result = method.estimate(method.randomize(VALUES, entropy=Repeatable(1)), confidence=1 - 1e-6)
    assert {b"anna", b"anne", b"bo", b"bob", "çelik".encode()} <= set(result.strings)
    assert b"domini" in result.strings  # cut off at six bytes
    assert (np.abs(result.counts - true(result)) <= result.error_bars_together).all()
    assert result.table().num_rows == len(result.strings)


def test_bars_cover_at_the_stated_rate() -> None:
    """All strings tried on the last level together, at 80 %: the number of runs in which one bar fails is binomial.

    With a chance of 1e-6 a right method fails this; the seed is fixed.
    """
    method, entropy, runs = PEM(1, 2, k=4), Repeatable(7), 300
    values = ["a"] * 300 + ["b"] * 150 + ["c"] * 50
    missed = 0
    for _ in range(runs):
        result = method.estimate(method.randomize(values, entropy=entropy), confidence=0.8)
        held = np.array([values.count(string.decode("latin-1")) for string in result.strings])
        missed += bool((np.abs(result.counts - held) > result.error_bars_together).any())
    assert missed <= binom.isf(1e-6, runs, 0.2)


def test_the_tree_finds_nothing_that_is_not_there() -> None:
    method = PrefixTree(4, 1)
    result = method.estimate(method.randomize([f"{number:04x}" for number in range(20_000)], entropy=Repeatable(2)))
    assert result.strings == ()
    assert result.table().num_rows == 0


def test_few_reports_and_a_large_loss_find_nothing_that_is_not_there() -> None:
    """Everybody has one string; at 80 %, the number of runs in which another is found is binomial at most."""
    method, entropy, runs = PrefixTree(2, 5), Repeatable(5), 200
    wrong = 0
    for _ in range(runs):
        result = method.estimate(method.randomize(["ab"] * 500, entropy=entropy), confidence=0.8)
        assert b"ab" in result.strings
        wrong += len(result.strings) > 1
    assert wrong <= binom.isf(1e-6, runs, 0.2)


def test_whoever_is_within_reach_is_found() -> None:
    """Just at the reach, on twenty runs at 95 %: fewer than 14 would be seen with a chance below 1e-5."""
    method, n, entropy = PrefixTree(2, 2, most=16), 6000, Repeatable(3)
    reach = int(method.detectable_count(n)) + 1
    values = ["zz"] * reach + [f"{number % 50:02d}" for number in range(n - reach)]
    runs = [method.estimate(method.randomize(values, entropy=entropy)) for _ in range(20)]
    assert sum(b"zz" in result.strings for result in runs) >= 14
    assert method.detectable_count(100 * n) < 11 * reach


@pytest.mark.parametrize("method", [PEM(3, 1), PrefixTree(3, 1)], ids=repr)
def test_a_person_loses_epsilon(method: PrefixSearch) -> None:
    assert audit(method).holds
    assert method.loss.epsilon == method.epsilon == 1
    assert method.parameters["length"] == 3


def test_what_cannot_be_used_is_refused() -> None:
    method = PEM(4, 1)
    reports = method.randomize(["a"] * 100)
    with pytest.raises(DataError, match="zero byte"):
        method.randomize([b"a\0b"])
    with pytest.raises(DataError, match="are fixed_size_binary"):
        method.estimate(pa.array([1, 2]))
    with pytest.raises(DataError, match="a level or a bucket"):
        method.estimate(pa.array([b"\xff" * 19], reports.type))
    with pytest.raises(BadInput, match="no reports"):
        method.estimate(reports[:1])
    with pytest.raises(BadInput, match="Confidence"):
        method.estimate(reports, confidence=1)
    for wrong in ({"length": 0}, {"length": 65}, {"step": 9}, {"k": 0}):
        with pytest.raises(BadInput):
            PEM(**{"length": 4, "epsilon": 1, **wrong})
    with pytest.raises(BadInput):
        PrefixTree(4, 1, most=0)


def test_chunks_of_reports_are_one() -> None:
    method = PEM(2, 3, k=2)
    reports = method.randomize(["ab"] * 500 + ["cd"] * 300, entropy=Repeatable(4))
    chunked = pa.chunked_array([reports[:100], reports[100:]])
    assert method.estimate(chunked).strings == method.estimate(reports).strings == (b"ab", b"cd")
