"""The sparse vector technique: the law of every pattern of answers, and what neighbours can make of it."""

from __future__ import annotations

import math
import os
from fractions import Fraction
from itertools import product

import pytest
from tests.noise.bits import Repeatable
from tests.noise.laws import distribution

from discreet.core.loss import Pure
from discreet.errors import BadInput, NoPromise
from discreet.noise.laplace import DiscreteLaplace
from discreet.noise.sparse_vector import SparseVector


def patterns(technique: SparseVector, figures: tuple[int, ...]) -> dict[tuple[bool, ...], float]:
    """The probability of every sequence of answers, from the definition."""
    told = {cut(pattern, technique.positives) for pattern in product((False, True), repeat=len(figures))}
    return {pattern: chance(technique, figures, pattern) for pattern in told}


def chance(technique: SparseVector, figures: tuple[int, ...], pattern: tuple[bool, ...]) -> float:
    """The probability of one sequence of answers."""
    q = math.exp(-1 / technique.compare_noise.scale)

    def reaches(distance: int) -> float:
        return q**distance / (1 + q) if distance > 0 else 1 - q ** (1 - distance) / (1 + q)

    def falls_short(distance: int) -> float:
        return reaches(1 - distance)

    return math.fsum(
        p * math.prod((reaches if told else falls_short)(z - f) for f, told in zip(figures, pattern, strict=False))
        for z, p in distribution(technique.threshold_noise).items()
    )


def cut(pattern: tuple[bool, ...], positives: int) -> tuple[bool, ...]:
    """What is told before the session ends."""
    count = 0
    for i, reached in enumerate(pattern):
        count += reached
        if count == positives:
            return pattern[: i + 1]
    return pattern


def told(technique: SparseVector, figures: tuple[int, ...], seed: int) -> tuple[bool, ...]:
    session = technique.start(0, Repeatable(seed))
    answers = []
    for figure in figures:
        if session.left:
            answers.append(session.above(figure))
    return tuple(answers)


@pytest.mark.parametrize("positives", [1, 2])
@pytest.mark.parametrize("monotone", [False, True])
def test_no_pattern_tells_neighbours_apart_by_more_than_the_loss(positives: int, monotone: bool) -> None:
    technique = SparseVector(Fraction(1, 2), Fraction(4), positives=positives, monotone=monotone)
    claim = float(technique.loss().epsilon)
    assert 0.85 * claim < worst_loss(technique) <= claim + 1e-9


def test_a_technique_that_forgets_how_many_positives_it_tells_is_caught() -> None:
    class Forgetful(SparseVector):
        @property
        def compare_noise(self) -> DiscreteLaplace:
            return DiscreteLaplace(2 * self.sensitivity / self.compare_epsilon)

    technique = Forgetful(Fraction(1, 2), Fraction(4), positives=2)
    assert worst_loss(technique) > 1.2 * float(technique.loss().epsilon)


def worst_loss(technique: SparseVector) -> float:
    """The largest logarithm of a ratio between neighbours, of all patterns on few figures and of the worst on more.

    Many figures told as below mean a high threshold; then those told as above have their full price.
    """
    steps = (0, 1) if technique.monotone else (-1, 0, 1)
    worst = 0.0
    for figures in [(0, 0, 0), (3, -1, 2)]:
        here = patterns(technique, figures)
        assert math.fsum(here.values()) == pytest.approx(1)
        for change in product(steps, repeat=3):
            there = patterns(technique, tuple(f + c for f, c in zip(figures, change, strict=True)))
            worst = max(worst, *(abs(math.log(here[pattern] / there[pattern])) for pattern in here))
    pattern = (False,) * 6 + (True,) * technique.positives
    for low, high in product(steps, repeat=2):
        figures = (20,) * 6 + (16,) * technique.positives
        other = (20 + low,) * 6 + (16 + high,) * technique.positives
        worst = max(worst, abs(math.log(chance(technique, figures, pattern) / chance(technique, other, pattern))))
    return worst


def test_a_session_follows_the_law_of_its_patterns() -> None:
    technique = SparseVector(Fraction(1), Fraction(2), positives=2)
    figures = (0, 1, -1)
    true = patterns(technique, figures)
    n = 4000
    found = [told(technique, figures, seed) for seed in range(n)]
    assert set(found) <= set(true)
    for pattern, p in true.items():
        assert abs(found.count(pattern) - n * p) < 6.5 * math.sqrt(n * p * (1 - p)) + 1


def test_a_session_ends_when_its_positives_are_told() -> None:
    session = SparseVector(Fraction(5), Fraction(5), positives=2).start(0, Repeatable(1))
    assert [session.above(figure) for figure in (-1000, 1000, -1000, 1000)] == [False, True, False, True]
    with pytest.raises(NoPromise, match="released all its 2 positives"):
        session.above(-1000)


def test_figures_are_given_out_with_noise_of_their_own() -> None:
    technique = SparseVector.for_loss(Pure(4), answers=True)
    assert technique.loss() == Pure(4)
    session = technique.start(100, Repeatable(2))
    assert session.answer(-(10**6)) is None
    answer = session.answer(10**6)
    assert answer is not None
    assert abs(answer - 10**6) <= technique.answer_noise.error(1e-9)
    with pytest.raises(BadInput, match="releases no figures"):
        SparseVector.for_loss(Pure(1)).start(0).answer(1)


@pytest.mark.parametrize("positives", [1, 5])
@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize("answers", [False, True])
def test_the_split_adds_up_and_the_noise_follows_from_it(positives: int, monotone: bool, answers: bool) -> None:
    technique = SparseVector.for_loss(
        Pure("1/2"), positives=positives, sensitivity=3, monotone=monotone, answers=answers
    )
    assert technique.loss() == Pure("1/2")
    assert technique.threshold_noise == DiscreteLaplace(3 / technique.threshold_epsilon)
    shifts = positives * (1 if monotone else 2)
    assert technique.compare_noise == DiscreteLaplace(3 * shifts / technique.compare_epsilon)
    ratio = float(technique.compare_epsilon / technique.threshold_epsilon)
    assert ratio == pytest.approx(shifts ** (2 / 3), rel=1e-3)
    assert (technique.answer_epsilon > 0) == answers


def test_the_error_holds() -> None:
    technique = SparseVector(Fraction(1), Fraction(2))
    far = technique.error("0.05", 3)
    law = patterns(technique, (-far, -far, far))
    assert law[(False, False, True)] >= 0.95


def test_a_session_copied_to_another_process_tells_nothing() -> None:
    session = SparseVector(Fraction(1), Fraction(1)).start(0)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            session.above(0)
        except NoPromise:
            os.write(writing, b"refused")
        os._exit(0)
    os.waitpid(child, 0)
    os.close(writing)
    assert os.read(reading, 100) == b"refused"
    os.close(reading)
    session.above(0)


@pytest.mark.parametrize("wrong", [{"positives": 0}, {"sensitivity": 0}, {"threshold_epsilon": 0}])
def test_wrong_parameters_are_refused(wrong: dict[str, int]) -> None:
    given = {"threshold_epsilon": 1, "compare_epsilon": 1} | wrong
    with pytest.raises(BadInput):
        SparseVector(**given)  # type: ignore[arg-type]


@pytest.mark.parametrize("positives", [1, 3])
@pytest.mark.parametrize("monotone", [False, True])
def test_noises_have_the_scales_of_the_argument(positives: int, monotone: bool) -> None:
    technique = SparseVector(
        Fraction(1, 2), Fraction(4), Fraction(3), positives=positives, sensitivity=Fraction(5), monotone=monotone
    )
    assert technique.loss() == Pure("15/2")
    assert technique.threshold_noise.scale == 10
    assert technique.compare_noise.scale == Fraction(5 * positives * (1 if monotone else 2), 4)
    assert technique.answer_noise.scale == Fraction(5 * positives, 3)
    wanted = technique.threshold_noise.error("0.02") + technique.compare_noise.error(Fraction(2, 700))
    assert technique.error("0.04", 7) == wanted


@pytest.mark.parametrize(("positives", "monotone"), [(1, False), (1, True), (4, False), (4, True)])
def test_the_loss_is_split_as_the_two_thirds_power(positives: int, monotone: bool) -> None:
    made = SparseVector.for_loss(Pure(6), positives=positives, monotone=monotone)
    ratio = (positives * (1 if monotone else 2)) ** (2 / 3)
    assert float(made.compare_epsilon / made.threshold_epsilon) == pytest.approx(ratio, rel=1e-3)
    assert (made.compare_epsilon / made.threshold_epsilon * 1024).denominator == 1
    assert (made.answer_epsilon, made.loss(), made.sensitivity) == (0, Pure(6), 1)
    answering = SparseVector.for_loss(Pure(6), positives=positives, monotone=monotone, answers=True)
    assert (answering.answer_epsilon, answering.loss()) == (3, Pure(6))
    assert answering.compare_epsilon / answering.threshold_epsilon == made.compare_epsilon / made.threshold_epsilon


def test_a_figure_that_just_reaches_the_threshold_is_above(monkeypatch: pytest.MonkeyPatch) -> None:
    noise = [3, 0, -1, 2, 7]
    monkeypatch.setattr(DiscreteLaplace, "draw", lambda self, entropy: noise.pop(0))
    session = SparseVector(Fraction(1), Fraction(1), Fraction(1), positives=3).start(10)
    assert [session.above(13), session.left] == [True, 2]
    assert [session.above(13), session.left] == [False, 2]
    assert [session.answer(11), session.left] == [18, 1]


def test_one_positive_of_sensitivity_1_unless_told_otherwise() -> None:
    technique = SparseVector.for_loss(Pure(1))
    assert (technique.positives, technique.sensitivity, technique.monotone, technique.answer_epsilon) == (
        1,
        1,
        False,
        0,
    )
