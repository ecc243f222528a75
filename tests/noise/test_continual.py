"""Counters of a stream: exact without noise, within the declared change, with the error known beforehand."""

from __future__ import annotations

import hashlib
import math
from dataclasses import replace
from fractions import Fraction
from random import Random

import numpy as np
import pytest
from tests.ask.recording import RecordingGaussian, RecordingLaplace, apart, apart_squared
from tests.noise.bits import Repeatable

from discreet.core.loss import Concentrated, Pure
from discreet.errors import BadInput, NoPromise
from discreet.noise import continual as module
from discreet.noise.continual import BufferedCounter, Counter, TreeCounter, counter_for
from discreet.noise.entropy import SYSTEM, Entropy
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.laplace import DiscreteLaplace

EVENTS = [1, 0, 0, 3, 1, 1, 0, 2, 5, 0, 0, 1, 1, 0, 7, 2, -1]
STEPS = [1, 2, 3, 7, 8, 17]
SILENT = [TreeCounter(17, DiscreteLaplace("1/1000")), BufferedCounter(17, DiscreteGaussian("1/1000"))]
SCALE = 2**48


class Scripted(DiscreteGaussian):
    """Noise that was chosen beforehand: the first draw is a unit, all others are nothing."""

    drawn = False

    def add(self, value: int, entropy: Entropy = SYSTEM) -> int:
        first, self.__dict__["drawn"] = not self.drawn, True
        return value + (SCALE if first else 0)


def run(counter: Counter, values: list[int]) -> list[Fraction]:
    """The total after every step."""
    state, told = counter.start(), []
    for value in values:
        state = counter.advance(state, value, Repeatable(1))
        told.append(state[1] * counter.unit)
    return told


def measured(counter: Counter, values: list[int]) -> list[int]:
    """What noise was added to."""
    counter.noise.seen.clear()
    run(counter, values)
    return list(counter.noise.seen)


def square_root(steps: int) -> np.ndarray:
    """The series of 1 / √(1 - x)."""
    return np.concatenate(([1.0], np.cumprod(1 - 1 / (2 * np.arange(1, steps)))))


def coefficients(steps: int) -> tuple[list[Fraction], list[Fraction]]:
    """The first columns of C and B, exactly, by their definition."""
    fading = [(Fraction(share, SCALE), Fraction(weight, SCALE)) for share, weight in module._fading(steps)]
    c = [Fraction(1)] + [sum(weight * share ** (k - 1) for share, weight in fading) for k in range(1, steps)]
    b: list[Fraction] = []
    for k in range(steps):
        b.append(1 - sum((c[k - i] * b[i] for i in range(k)), Fraction(0)))
    return c, b


@pytest.mark.parametrize("counter", SILENT, ids=str)
def test_without_noise_the_counts_are_right(counter: Counter) -> None:
    assert run(counter, EVENTS) == pytest.approx(np.cumsum(EVENTS), abs=1e-9)


def test_the_buffers_of_streams_that_have_begun_stay_as_they_are() -> None:
    """They are part of the format of streams: other ones need a migration, and a version."""
    numbers = [module._fading(steps) for steps in (1, 2, 365, 10_000, 2**20)]
    assert hashlib.sha256(repr(numbers).encode()).hexdigest()[:16] == "96e3b5262a4eef5a"


def test_what_gets_noise_and_what_is_told_are_the_two_factors() -> None:
    """The covariance of what is told is σ² B Bᵀ: each noise enters by a column of B, which is checked exactly."""
    steps = 24
    c, b = coefficients(steps)
    seen = measured(BufferedCounter(steps, RecordingGaussian("1/1000")), [1] + [0] * (steps - 1))
    assert [Fraction(one, SCALE) for one in seen] == pytest.approx(c, abs=2.0**-40)
    totals = run(BufferedCounter(steps, Scripted(1)), [0] * steps)
    assert totals == pytest.approx(b, abs=2.0**-40)
    assert list(module._totals(steps)) == pytest.approx([float(one) for one in b], abs=1e-12)


@pytest.mark.parametrize("steps", [*STEPS, 40])
def test_the_squared_change_is_that_of_the_series_and_hardly_more(steps: int) -> None:
    c, _ = coefficients(steps)
    norm = sum(one**2 for one in c)
    for most in (1, 3):
        found = module._squared_change(steps, most) / (most * SCALE) ** 2
        assert norm < found < norm * (1 + Fraction(1, 10**9))


@pytest.mark.parametrize("steps", STEPS)
def test_a_value_changes_the_trees_counts_by_its_levels_at_most(steps: int) -> None:
    counter, without = TreeCounter(steps, RecordingLaplace(3)), EVENTS[:steps]
    changes = [
        apart(measured(counter, without), measured(counter, [x + (i == j) for j, x in enumerate(without)]))
        for i in range(len(without))
    ]
    assert max(changes) == counter.steps.bit_length()


@pytest.mark.parametrize("most", [1, 2, 5, 1000])
@pytest.mark.parametrize("steps", [1, 9, 60])
def test_whatever_a_unit_changes_moves_the_figures_by_no_more_than_declared(steps: int, most: int) -> None:
    """Random and hostile changes of that absolute sum, on random streams: rounding included."""
    random = Random(steps * most)  # noqa: S311  # it makes examples
    counter = BufferedCounter(steps, RecordingGaussian("1/1000"))
    largest = Fraction(0)
    for trial in range(12):
        values = [random.choice((0, 1, -7, 10**12)) for _ in range(steps)]
        change = [0] * steps
        for part in [most] if trial < 3 else [1] * min(most, 40):
            change[random.randrange(steps) if trial else 0] += part * (random.choice((1, -1)) if trial > 6 else 1)
        moved = measured(counter, [one + other for one, other in zip(values, change, strict=True)])
        largest = max(largest, Fraction(apart_squared(measured(counter, values), moved)))
    declared = module._squared_change(steps, most)
    assert Fraction(9, 10) * declared < largest <= declared


def test_the_loss_is_known_beforehand() -> None:
    assert TreeCounter.for_loss(Pure(1), 1000).noise == DiscreteLaplace(10)
    assert TreeCounter.for_loss(Pure(1), 1000, 3).loss(3) == Pure(1)
    assert BufferedCounter.for_loss(Concentrated("1/2"), 1000, 3).loss(3) == Concentrated("1/2")
    twice = BufferedCounter.for_loss(Concentrated("1/2"), 1000).loss(2)
    assert 2 * (1 - 1e-9) < float(twice.rho) <= 2
    assert isinstance(counter_for(Pure(1), 9, 2), TreeCounter)
    assert counter_for(Concentrated(1), 9, 2).loss(2) == Concentrated(1)


@pytest.mark.parametrize("steps", [2, 10, 64, 365, 1000, 10_000])
def test_the_largest_error_is_that_of_the_best_toeplitz_factorisation(steps: int) -> None:
    """That of the square root, whose product of norms is Σ g², at the same loss: Δ² = σ² at ρ = 1/2."""
    counter = BufferedCounter.for_loss(Concentrated("1/2"), steps)
    best = float((square_root(steps) ** 2).sum())
    assert best < math.sqrt(counter.variance(steps)) < best * 1.003
    variances = np.cumsum(module._totals(steps) ** 2)
    assert counter.variance(steps) == pytest.approx(counter.noise.variance * variances.max() / SCALE**2)


def test_at_ten_thousand_steps_it_is_within_a_thousandth_and_remembers_little() -> None:
    counter = BufferedCounter.for_loss(Concentrated("1/2"), 10_000)
    assert math.sqrt(counter.variance(10_000)) < 1.001 * float((square_root(10_000) ** 2).sum())
    assert (counter.buffers, len(counter.start())) == (8, 18)
    assert BufferedCounter(2**20, DiscreteGaussian(1)).buffers == 10


def test_the_trees_memory_is_that_of_its_digits() -> None:
    counter = TreeCounter.for_loss(Pure(1), 5000)
    state = counter.start()
    for _ in range(1023):
        state = counter.advance(state, 1, Repeatable(1))
    assert len(state) == 2 + 2 * 10


@pytest.mark.parametrize(("step", "window"), [(1, None), (7, None), (17, None), (17, 1), (13, 6), (16, 8), (5, 9)])
def test_the_variance_is_that_of_the_linear_map_from_noise_to_figures(step: int, window: int | None) -> None:
    buffered = BufferedCounter.for_loss(Concentrated(1), 17)
    _, b = coefficients(17)
    start = 0 if window is None or window >= step else step - window
    rows = [(b[step - 1 - i] if i < step else 0) - (b[start - 1 - i] if i < start else 0) for i in range(17)]
    expected = float(sum(one**2 for one in rows)) * buffered.noise.variance / SCALE**2
    assert buffered.variance(step, window) == pytest.approx(expected)
    assert buffered.error("1/20", step, window) == pytest.approx(1.9774 * math.sqrt(expected), rel=1e-4), "95.2 %"
    narrow = replace(buffered, noise=DiscreteGaussian(4))
    assert narrow.error("1/20", step, window) >= 2 * math.sqrt(narrow.variance(step, window))
    tree = TreeCounter.for_loss(Pure(1), 17)
    noises = {(step, None): step.bit_count(), (17, 1): 1, (13, 6): 6, (16, 8): 2, (5, 9): 2}
    found = noises.get((step, window), step.bit_count())
    assert tree.variance(step, window) == pytest.approx(found * tree.noise.variance)


@pytest.mark.parametrize("counter", SILENT, ids=str)
def test_a_stream_ends_when_it_was_declared_to(counter: Counter) -> None:
    with pytest.raises(NoPromise, match="declared to have 17 steps"):
        run(counter, [*EVENTS, 1])
    with pytest.raises(BadInput, match="no step 18"):
        counter.variance(18)


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(BadInput, match="more than 1,048,576"):
        BufferedCounter(2**21, DiscreteGaussian(1))
    for steps in (0, -1, 1.5):
        with pytest.raises(BadInput):
            TreeCounter.for_loss(Pure(1), steps)  # type: ignore[arg-type]
        with pytest.raises(BadInput):
            BufferedCounter.for_loss(Concentrated(1), steps)  # type: ignore[arg-type]
    with pytest.raises(BadInput):
        TreeCounter.for_loss(Pure(1), 5, 0)
