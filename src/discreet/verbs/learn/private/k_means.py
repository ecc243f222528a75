"""k-means under differential privacy: first centres from a noisy grid, then noisy Lloyd steps."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import log, log2, sqrt
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.core.catalogue import declare, parameter
from discreet.core.families import PRIVATE_LEARNERS
from discreet.errors import BadInput
from discreet.verbs.learn.clusters import Centres
from discreet.verbs.learn.frame import Figures, NumberFeature
from discreet.verbs.learn.private.coding import FINE, CodedRows, Codes, Coding
from discreet.verbs.learn.private.learner import Fitted, PrivateLearner
from discreet.verbs.learn.private.meter import Lesson, Slots

_GRID = Fraction(2, 5)
"""Share of the allowance for counting the cells of the grid."""
_ROUNDS = 2
_MOST_CELLS = 1 << 16
_MOST_COLUMNS = 16
_FEWEST = 3.0
"""Deviations of its noise that a cell has at least; more where there are so many cells that noise fills some."""
_MOST_ROWS = 0.8
"""Share of the rows that should be in cells which noise does not hide."""
_SETTLE = 50
_DISTANCES = 1 << 22
"""Distances between cells that a centre may begin in and all others: the fullest cells, and some of all others."""
_MOVES = 20


@declare(
    PRIVATE_LEARNERS,
    "k-means",
    kw_only=True,
    example="learn k-means count=5 epsilon=1",
    paper="Su, Cao, Li, Bertino, Jin 2016",
)
class KMeans(PrivateLearner):
    """Learn the centres of ``count`` clusters of columns with numbers; rows with a missing value are left out.

    The cells of a grid are counted with noise, and clustered as if all rows of a cell were in its middle. Then each
    centre moves to the noisy mean of its rows, twice.
    """

    name: ClassVar[str]
    only_numbers: ClassVar[bool] = True
    count: int = parameter("Number of clusters.", least=2, most=100)

    def require_columns(self, codings: Sequence[Coding]) -> None:
        if len(codings) > _MOST_COLUMNS:
            raise BadInput(
                f"k-means has at most {_MOST_COLUMNS} columns, not {len(codings)}.",
                hint="Name fewer columns (columns=[…], or on COLUMNS).",
            )

    def fit(self, lesson: Lesson) -> Fitted:
        many, rows = len(lesson.codings), lesson.rows
        side = 1 << max(1, min(6, int(log2(_MOST_CELLS) / many)))

        def cell(part: slice) -> Codes:
            numbers, known = _numbers(lesson, rows, part)
            at = np.zeros(len(known), np.int64)
            for one in numbers:
                at = at * side + np.minimum(one * side // FINE, side - 1)
            return np.where(known, at, -1)

        counted = lesson.meter.histograms([cell], [side**many], _GRID)
        points, weights = _occupied(counted.sums.reshape((side,) * many), counted.deviation)
        centres = _first_centres(points, weights, self.count, many)
        share = (1 - _GRID) / (2 * _ROUNDS)
        for _ in range(_ROUNDS):
            steps = np.rint(centres * FINE).astype(np.int64)

            def nearest(part: slice, steps: Codes = steps) -> Codes:
                numbers, known = _numbers(lesson, rows, part)
                return np.where(known, _nearest(numbers, steps), -1)

            def slots(part: slice, steps: Codes = steps) -> Slots:
                numbers, known = _numbers(lesson, rows, part)
                at = _nearest(numbers, steps)
                return [
                    (at * many + column, np.where(known, (one - steps[at, column]) / FINE, 0.0))
                    for column, one in enumerate(numbers)
                ]

            held = lesson.meter.histograms([nearest], [self.count], share)
            moved = lesson.meter.sums(slots, self.count * many, sqrt(many) / 2, share)
            enough = np.maximum(held.sums, 1.0)
            told = held.sums > _FEWEST * (held.deviation + moved.deviation * sqrt(many))
            step = np.where(told[:, None], moved.sums.reshape(self.count, many) / enough[:, None], 0.0)
            centres = np.clip(centres + step, 0.0, 1.0)
        says_nothing = not len(weights) or held.sums.sum() < 2 * _FEWEST * held.deviation * sqrt(self.count)
        features = tuple(one.feature for one in lesson.codings if isinstance(one.feature, NumberFeature))
        ordered = sorted(tuple(round(float(one), 9) for one in line) for line in centres)
        return Fitted(Centres(features, tuple(ordered)), {}, bool(says_nothing))

    def how(self) -> tuple[str, ...]:
        """The steps of learning."""
        return (
            "the cells of a grid were counted with exact noise, and clustered",
            f"{_ROUNDS} times each centre was moved to the mean of its rows, from counts and sums with exact noise",
        )


def _numbers(lesson: Lesson, rows: CodedRows, part: slice) -> tuple[list[Codes], NDArray[np.bool_]]:
    """The numbers of each column in steps of the fine grid, and whether all of a row are known."""
    numbers = [one[part].astype(np.int64) for one in rows.columns]
    known = np.ones(len(numbers[0]), np.bool_)
    for coding, one in zip(lesson.codings, numbers, strict=True):
        known &= one < coding.values
    return [np.minimum(one, FINE) for one in numbers], known


def _nearest(numbers: Sequence[Codes], centres: Codes) -> Codes:
    """The nearest centre, in whole numbers; of several the first."""
    best = np.zeros(len(numbers[0]), np.int64)
    least: Codes | None = None
    for place, centre in enumerate(centres):
        far = np.zeros(len(best), np.int64)
        for one, middle in zip(numbers, centre, strict=True):
            far += (one - middle) ** 2
        closer = np.ones(len(best), np.bool_) if least is None else far < least
        least = far if least is None else np.minimum(least, far)
        best[closer] = place
    return best


def _occupied(cells: Figures, deviation: float) -> tuple[Figures, Figures]:
    """The middles of cells that are fuller than noise explains, and their counts.

    As long as most rows are in cells that noise hides, cells are joined by twos in every direction.
    """
    total, side, many = float(cells.sum()), cells.shape[0], cells.ndim
    while True:
        full = np.where(cells > max(_FEWEST, log(cells.size) / sqrt(2)) * deviation, cells, 0.0)
        if full.sum() >= _MOST_ROWS * total or side == 2:
            places = np.argwhere(full > 0)
            return (places + 0.5) / side, full[full > 0]
        side //= 2
        cells = cells.reshape([length for _ in range(many) for length in (side, 2)])
        cells = cells.sum(axis=tuple(range(1, 2 * many, 2)))
        deviation *= 2 ** (many / 2)


def _first_centres(points: Figures, weights: Figures, count: int, columns: int) -> Figures:
    """Centres of weighted points: each new one where it brings the squared distances down most, then Lloyd steps.

    After that, as long as it helps, the centre that is missed least moves to where one is missed most.
    """
    spread = (np.arange(count) + 0.5) / count
    if not len(points):
        return np.repeat(spread[:, None], columns, axis=1)
    order, many = np.argsort(-weights, kind="stable"), max(2, _DISTANCES // len(points))
    seeds = points[np.unique(np.append(order[: many // 2], order[:: max(1, 2 * len(order) // many)]))]
    apart = _squares(seeds, points)
    centres = np.empty((0, columns))
    for _ in range(count):
        centres = np.append(centres, seeds[[_most_missed(centres, apart, points, weights)]], axis=0)
    centres, total = _lloyd(centres, points, weights)
    for _ in range(_MOVES):
        others = [np.delete(centres, place, axis=0) for place in range(count)]
        fewer = min(others, key=lambda one: _inertia(one, points, weights))
        moved = np.append(fewer, seeds[[_most_missed(fewer, apart, points, weights)]], axis=0)
        moved, reached = _lloyd(moved, points, weights)
        if reached >= total:
            break
        centres, total = moved, reached
    return centres


def _squares(one: Figures, other: Figures) -> Figures:
    """Squared distances of all points of one set to all of another."""
    return np.asarray(sum((a[:, None] - b[None]) ** 2 for a, b in zip(one.T, other.T, strict=True)), np.float64)


def _most_missed(centres: Figures, apart: Figures, points: Figures, weights: Figures) -> int:
    """The seed that brings the squared distances down most as one more centre; ``apart``: its distances to points."""
    far = _squares(centres, points).min(axis=0) if len(centres) else np.full(len(points), float(points.shape[1]))
    return int((np.maximum(far - apart, 0.0) @ weights).argmax())


def _inertia(centres: Figures, points: Figures, weights: Figures) -> float:
    return float(_squares(centres, points).min(axis=0) @ weights)


def _lloyd(centres: Figures, points: Figures, weights: Figures) -> tuple[Figures, float]:
    """Centres moved to the middle of what is nearest to them, and the squared distances that are left."""
    for _ in range(_SETTLE):
        whose = _squares(centres, points).argmin(axis=0)
        held = np.bincount(whose, weights, len(centres))
        sums = np.stack([np.bincount(whose, weights * one, len(centres)) for one in points.T], axis=1)
        moved = np.where(held[:, None] > 0, sums / np.maximum(held, 1e-9)[:, None], centres)
        if np.array_equal(moved, centres):
            break
        centres = moved
    return centres, _inertia(centres, points, weights)
