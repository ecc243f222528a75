"""Choosing the best of several candidates: exact laws, and no more loss than promised on any neighbours."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import permutations, product

import pytest
from tests.noise.bits import FixedBits, Repeatable, check_law

from discreet.core.loss import Pure
from discreet.errors import BadInput
from discreet.noise.selection import Exponential, PermuteAndFlip, Selection

SELECTIONS = [Exponential, PermuteAndFlip]
each_selection = pytest.mark.parametrize("kind", SELECTIONS)
SCORES = [(0, 0, 0), (3, 1, 0), (0, 2, 2), (5, 0, 1)]


def distribution(selection: Selection, scores: tuple[int, ...]) -> dict[int, float]:
    """From the definition, to floating-point precision."""
    best, scale = max(scores), float(selection.scale)
    coins = [math.exp(-(best - score) / scale) for score in scores]
    match selection:
        case Exponential():
            return {i: coin / math.fsum(coins) for i, coin in enumerate(coins)}
        case PermuteAndFlip():
            chances = dict.fromkeys(range(len(scores)), 0.0)
            for order in permutations(range(len(scores))):
                still = 1 / math.factorial(len(scores))
                for i in order:
                    chances[i] += still * coins[i]
                    still *= 1 - coins[i]
            return chances
    raise AssertionError(selection)


@each_selection
@pytest.mark.parametrize("scores", SCORES)
def test_the_choice_follows_the_law_on_every_path(kind: type[Selection], scores: tuple[int, ...]) -> None:
    selection = kind(2)
    true = distribution(selection, scores)
    assert math.fsum(true.values()) == pytest.approx(1)
    check_law(lambda entropy: selection.choose(scores, entropy), true, rest=1e-3)


def neighbours(scores: tuple[int, ...], monotone: bool) -> Iterator[tuple[int, ...]]:
    for change in product((0, 1) if monotone else (-1, 0, 1), repeat=len(scores)):
        yield tuple(score + step for score, step in zip(scores, change, strict=True))


@each_selection
@pytest.mark.parametrize("monotone", [True, False])
def test_no_neighbours_differ_by_more_than_the_loss_and_some_do_by_as_much(
    kind: type[Selection], monotone: bool
) -> None:
    selection = kind(2)
    claim = float(selection.loss(1, monotone=monotone).epsilon)
    worst = 0.0
    for scores in [*SCORES, (0, 0, 20), (10, 0, 0)]:
        here = distribution(selection, scores)
        for other in neighbours(scores, monotone):
            there = distribution(selection, other)
            worst = max(worst, *(abs(math.log(here[i] / there[i])) for i in here))
    assert worst <= claim + 1e-9
    assert worst >= claim * 0.9


@each_selection
def test_the_scale_for_a_loss_loses_it(kind: type[Selection]) -> None:
    for monotone in (True, False):
        made = kind.for_loss(Pure("1/3"), "1/2", monotone=monotone)
        assert made.loss("1/2", monotone=monotone) == Pure("1/3")
        assert kind.for_loss(Pure("1/3"), monotone=monotone) == kind.for_loss(Pure("1/3"), 1, monotone=monotone)
        assert made.loss(monotone=monotone) == made.loss(1, monotone=monotone)


@each_selection
@pytest.mark.parametrize("beta", [0.5, 0.1, 0.01])
def test_the_error_holds(kind: type[Selection], beta: float) -> None:
    selection = kind(1)
    for gap in range(12):
        scores = (gap, 0, 0)
        if gap > selection.error(beta, 3):
            law = distribution(selection, scores)
            assert law[1] + law[2] <= beta
    assert float(selection.error(beta, 3)) == pytest.approx(math.log(3 / beta))


@pytest.mark.parametrize("kind", [Exponential, PermuteAndFlip])
def test_scores_may_be_fractions(kind: type[Selection]) -> None:
    scores = (Fraction(1, 3), Fraction(1, 7))
    p = math.exp(-4 / 21)
    second = p / (1 + p) if kind is Exponential else p / 2
    check_law(lambda entropy: kind(1).choose(scores, entropy), {0: 1 - second, 1: second}, rest=1e-4)


@each_selection
def test_what_cannot_be_chosen_from_is_refused(kind: type[Selection]) -> None:
    with pytest.raises(BadInput, match="no candidate"):
        kind(1).choose([], FixedBits(b""))
    with pytest.raises(BadInput, match="fractions"):
        kind(1).choose([0.5, 1], FixedBits(b""))  # type: ignore[list-item]
    with pytest.raises(BadInput, match="scale"):
        kind(0)


@each_selection
def test_a_clear_winner_wins_among_many(kind: type[Selection]) -> None:
    scores = [0] * 1000
    scores[617] = 10**6
    assert kind(1).choose(scores, Repeatable(1)) == 617
