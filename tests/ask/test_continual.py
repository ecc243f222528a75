"""Counting a stream: exact without noise, within the declared change, with the error known beforehand."""

from __future__ import annotations

import os
from fractions import Fraction

import numpy as np
import pytest
from tests.ask.recording import RecordingGaussian, RecordingLaplace, apart, apart_squared
from tests.noise.bits import Repeatable

from discreet.core.loss import Concentrated, Pure
from discreet.errors import BadInput, NoPromise
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.laplace import DiscreteLaplace
from discreet.verbs.ask import continual as module
from discreet.verbs.ask.continual import SquareRootCounter, TreeCounter

EVENTS = [1, 0, 0, 3, 1, 1, 0, 2, 5, 0, 0, 1, 1, 0, 7, 2, 1]
STEPS = [1, 2, 3, 7, 8, 17]
SILENT = [
    TreeCounter(17, DiscreteLaplace("1/1000")),
    TreeCounter(17, DiscreteGaussian("1/1000")),
    SquareRootCounter(17, DiscreteGaussian("1/1000")),
]


@pytest.mark.parametrize("counter", SILENT, ids=str)
def test_without_noise_the_counts_are_right(counter: TreeCounter | SquareRootCounter) -> None:
    stream = counter.start()
    told = [stream.add(x) for x in EVENTS]
    assert told == pytest.approx(np.cumsum(EVENTS), abs=1e-9)
    assert stream.step == 17


@pytest.mark.parametrize("steps", STEPS)
def test_an_event_changes_the_trees_counts_by_its_levels_at_most(steps: int) -> None:
    def record(events: list[int]) -> list[int]:
        noise = RecordingLaplace(3)
        stream = TreeCounter(steps, noise).start(Repeatable(1))
        for x in events:
            stream.add(x)
        return noise.seen

    without = EVENTS[:steps]
    changes = [
        apart(record(without), record([x + (i == j) for j, x in enumerate(without)])) for i in range(len(without))
    ]
    assert max(changes) == TreeCounter(steps, DiscreteLaplace(1)).levels


@pytest.mark.parametrize("steps", STEPS)
def test_an_event_changes_the_weighted_sums_by_the_declared_distance_at_most(steps: int) -> None:
    def record(events: list[int]) -> list[int]:
        noise = RecordingGaussian(9)
        stream = SquareRootCounter(steps, noise).start(Repeatable(1))
        for x in events:
            stream.add(x)
        return noise.seen

    without = EVENTS[:steps]
    claim = 2 * SquareRootCounter(steps, DiscreteGaussian(1)).loss().rho
    changes = [
        apart_squared(record(without), record([x + (i == j) for j, x in enumerate(without)]))
        for i in range(len(without))
    ]
    assert max(changes) == changes[0] == claim
    twice = [x + (i in (0, 1)) for i, x in enumerate(without)]
    assert apart_squared(record(without), record(twice)) <= 4 * claim


UNITS = ["ann", "bea", 7]
HOSTILE = [
    {0: +1, 512: -1},
    {step: (-1) ** step for step in range(600)},
    {0: 10**30},
    {0: 2, 1: -5, 599: 10**30},
    dict.fromkeys(range(600), 1),
]
COUNTERS = [
    TreeCounter(600, RecordingLaplace(3)),
    TreeCounter(600, RecordingGaussian(9)),
    SquareRootCounter(600, RecordingGaussian(9)),
]


@pytest.mark.parametrize("most", [1, 3])
@pytest.mark.parametrize("person", HOSTILE, ids=range(len(HOSTILE)))
@pytest.mark.parametrize("counter", COUNTERS, ids=str)
def test_whatever_a_persons_events_are_the_stream_loses_no_more_than_was_charged(
    counter: TreeCounter | SquareRootCounter, person: dict[int, int], most: int
) -> None:
    """Events that take each other back: their sum is small while their absolute sizes are not."""

    def record(person: dict[int, int]) -> list[int]:
        counter.noise.seen.clear()
        stream = counter.start(Repeatable(1), most=most)
        for step in range(counter.steps):
            stream.add(dict.fromkeys(UNITS[: step % 4], 1) | ({"eve": person[step]} if step in person else {}))
        return list(counter.noise.seen)

    with_her, without = record(person), record({})
    assert with_her != without
    charged = counter.loss(most)
    if isinstance(charged, Pure):
        assert apart(with_her, without) / counter.noise.scale <= charged.epsilon
    else:
        assert apart_squared(with_her, without) / (2 * counter.noise.sigma_squared) <= charged.rho


def test_a_unit_is_cut_where_its_events_come_in_and_others_are_not() -> None:
    stream = SILENT[0].start(most=2)
    assert stream.add({"ann": 1, "bea": 5}) == 3
    assert stream.add({"ann": -1, "bea": -5}) == 2
    assert stream.add({"ann": -1, 8: np.int64(2)}) == 4
    assert stream.add({}) == 4


@pytest.mark.parametrize("wrong", [3, {"ann": 0.5}, {"ann": True}, {None: 1}, {float("nan"): 1}, {("a",): 1}])
def test_a_stream_by_unit_takes_whole_numbers_of_units_alone(wrong: object) -> None:
    stream = SILENT[0].start(most=2)
    with pytest.raises(BadInput, match="whole number"):
        stream.add(wrong)  # type: ignore[arg-type]
    assert stream.step == 0


@pytest.mark.parametrize("wrong", [-1, {"ann": 1}, True])
def test_without_units_nothing_is_taken_back(wrong: object) -> None:
    with pytest.raises(BadInput, match="whole number of events"):
        SILENT[0].start().add(wrong)  # type: ignore[arg-type]


def test_the_loss_is_known_beforehand() -> None:
    assert TreeCounter.for_loss(Pure(1), 1000).loss() == Pure(1)
    assert TreeCounter.for_loss(Pure(1), 1000, 3).loss(3) == Pure(1)
    assert TreeCounter.for_loss(Pure(1), 1000).noise == DiscreteLaplace(10)
    assert TreeCounter.for_loss(Concentrated("1/2"), 1000, 3).loss(3) == Concentrated("1/2")
    assert SquareRootCounter.for_loss(Concentrated("1/2"), 1000, 3).loss(3) == Concentrated("1/2")
    assert SquareRootCounter.for_loss(Concentrated("1/2"), 1000).loss(2) == Concentrated(2)


def test_the_weights_square_to_prefix_sums() -> None:
    weights = module._weights(200) / 2**20
    assert np.convolve(weights, weights)[:200] == pytest.approx(np.ones(200), rel=1e-3)
    assert weights[:4] == pytest.approx([1, 1 / 2, 3 / 8, 5 / 16])


@pytest.mark.parametrize("step", [1, 2, 3, 50, 63, 64])
def test_the_variance_is_that_of_the_linear_map_from_noise_to_counts(step: int) -> None:
    square = SquareRootCounter.for_loss(Concentrated(1), 64)
    weights = module._weights(64).astype(float)
    g = np.array([[weights[i - j] if i >= j else 0.0 for j in range(64)] for i in range(64)])
    to_counts = np.tril(np.ones((64, 64))) @ np.linalg.inv(g)
    assert square.variance(step) == pytest.approx((to_counts[step - 1] ** 2).sum() * square.noise.variance, rel=1e-3)
    tree = TreeCounter.for_loss(Pure(1), 64)
    assert tree.variance(step) == pytest.approx(bin(step).count("1") * tree.noise.variance)


@pytest.mark.parametrize("steps", [16, 1000, 20_000])
def test_the_square_root_has_less_noise_than_the_tree(steps: int) -> None:
    square = SquareRootCounter.for_loss(Concentrated("1/2"), steps)
    tree = TreeCounter.for_loss(Concentrated("1/2"), steps)
    most = 2 ** (steps.bit_length() - 1) - 1
    assert square.variance(steps) < tree.variance(most) / 2
    assert square.error("1/20", steps) < tree.error("1/20", most) / 1.4


def test_the_error_holds_where_the_law_is_known() -> None:
    tree = TreeCounter.for_loss(Pure(1), 7)
    assert tree.noise.tail(int(tree.error("1/100", 4))) <= Fraction(1, 100)
    square = SquareRootCounter.for_loss(Concentrated(1), 7)
    assert square.noise.tail(int(square.error("1/100", 1) * 2**20)) <= Fraction(1, 100)


def test_a_step_too_large_for_the_sums_is_cut() -> None:
    stream = SquareRootCounter(4, DiscreteGaussian("1/1000")).start()
    assert [stream.add(10**30) for _ in range(4)] == pytest.approx(np.arange(1, 5) * (2**62 // (2**20 * 35 // 16)))


def test_the_tree_remembers_little() -> None:
    stream = TreeCounter.for_loss(Pure(1), 5000).start(Repeatable(1))
    for _ in range(4095):
        stream.add(1)
    assert isinstance(stream, module._TreeStream)
    assert len(stream._stretches) == 12


@pytest.mark.parametrize("counter", SILENT, ids=str)
def test_a_stream_ends_when_it_was_declared_to(counter: TreeCounter | SquareRootCounter) -> None:
    stream = counter.start()
    for x in EVENTS:
        stream.add(x)
    with pytest.raises(NoPromise, match="declared to have 17 steps"):
        stream.add(1)
    with pytest.raises(BadInput, match="no step 18"):
        counter.variance(18)


@pytest.mark.parametrize("counter", SILENT, ids=str)
def test_a_stream_copied_to_another_process_tells_nothing(counter: TreeCounter | SquareRootCounter) -> None:
    stream = counter.start()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            stream.add(1)
        except NoPromise:
            os.write(writing, b"refused")
        os._exit(0)
    os.waitpid(child, 0)
    os.close(writing)
    assert os.read(reading, 100) == b"refused"
    os.close(reading)
    stream.add(1)


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(BadInput, match="whole number of events"):
        SILENT[0].start().add(0.5)  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="more than 1,048,576"):
        SquareRootCounter(2**21, DiscreteGaussian(1))
    for steps in (0, -1, 1.5):
        with pytest.raises(BadInput):
            TreeCounter.for_loss(Pure(1), steps)  # type: ignore[arg-type]
    with pytest.raises(BadInput):
        TreeCounter.for_loss(Pure(1), 5, 0)
