"""Decision trees under differential privacy, grown from noisy counts level by level."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from typing import Any, ClassVar

import numpy as np

from discreet.core.catalogue import declare, parameter
from discreet.core.families import PRIVATE_LEARNERS
from discreet.verbs.learn.frame import CategoryFeature, Figures, NumberFeature
from discreet.verbs.learn.private.coding import CodedRows, Codes, Coding
from discreet.verbs.learn.private.learner import REPORT, Fitted, PrivateLearner
from discreet.verbs.learn.private.meter import Lesson
from discreet.verbs.learn.private.scoring import Scorer, classification_report
from discreet.verbs.learn.tree import Branch, Leaf, Node, Tree

_TOLD_APART = 3.0
"""A test must bring the impurity down by this many deviations of the noise."""
_CERTAIN = 8 * 1024


@dataclass
class _Place:
    """A leaf while the tree grows: its answer, and its test once it has one."""

    answer: int
    """Place of the answer among the classes."""
    column: int = -1
    passes: Codes | None = None
    """For each code of the column whether it passes."""
    yes: int = -1
    no: int = -1


@declare(
    PRIVATE_LEARNERS,
    "noisy-tree",
    kw_only=True,
    example="learn noisy-tree target=COLUMN epsilon=1 delta=1e-6",
    paper="Blum, Dwork, McSherry, Nissim 2005",
)
class NoisyTree(PrivateLearner):
    """Learn a decision tree that people can read: every level is chosen by counts with noise.

    At each level all columns are counted by the target in all leaves at once. A leaf gets the test that brings the
    Gini impurity down most, if that is more than noise could; a missing value passes no test.
    """

    name: ClassVar[str]
    target: str = parameter("Column to predict: one of a few declared values.", column="any")
    depth: int = parameter("Maximum number of tests per path.", default=4, least=1, most=10)
    bins: int = parameter("Intervals of a column with bounds.", default=16, least=2, most=1000)
    by: str | None = parameter("Column by whose values the report lists errors.", default=None, column="any")

    @property
    def least_share(self) -> Fraction:
        """The smallest share of the allowance that a measurement has."""
        return min(REPORT, (1 - REPORT) / self.depth)

    def fit(self, lesson: Lesson) -> Fitted:
        places = [_Place(0)]
        growing, says_nothing = [0], False
        for level in range(self.depth):
            histograms, deviation = _counts(lesson, places, growing, (1 - REPORT) / self.depth)
            if level == 0:
                held = np.mean([one[0].sum(axis=1) for one in histograms], axis=0)
                places[0].answer = int(held.argmax())
                noise = deviation * sqrt(sum(one[0].size for one in histograms)) / len(histograms)
                says_nothing = bool(held.sum() < _TOLD_APART * noise)
            below = []
            for at, leaf in enumerate(growing):
                if (found := _best(lesson.codings, [one[at] for one in histograms], deviation)) is None:
                    continue
                column, passes, inside, outside = found
                places[leaf].column, places[leaf].passes = column, passes
                places[leaf].yes, places[leaf].no = len(places), len(places) + 1
                below += [len(places), len(places) + 1]
                noise = deviation * sqrt(histograms[column].shape[2])
                places += [_Place(_answer(one, places[leaf].answer, noise)) for one in (inside, outside)]
            growing = below
        if says_nothing:
            places = places[:1]
            places[0].column = -1
        answers = _Answers.of(lesson.classes, places)
        report = classification_report(lesson, answers, REPORT, self.by)
        return Fitted(Tree(self.target, _node(lesson, places, 0)), report, says_nothing)

    def how(self) -> tuple[str, ...]:
        """The steps of learning."""
        return (
            f"at each of {self.depth} levels all columns were counted by the target in all leaves, with exact noise; a "
            "leaf got the test that brings the impurity down most, if noise could not explain it",
        )


@dataclass(frozen=True)
class _Answers(Scorer):
    """The answer of a tree as scores: certain, one way or the other."""

    places: tuple[_Place, ...] = ()

    @classmethod
    def of(cls, classes: Sequence[Any], places: Sequence[_Place]) -> _Answers:  # type: ignore[override]
        """Of a tree that is grown."""
        return cls(np.zeros(len(classes) - 1, np.int64), (), tuple(places))

    def scores(self, rows: CodedRows, part: slice) -> Codes:
        """A high score for the class that is the answer; for the first, low ones for all others."""
        told = np.array([one.answer for one in self.places])[_leaves(rows, self.places, part)]
        return np.where(told[:, None] == np.arange(1, len(self.base) + 1), _CERTAIN, -_CERTAIN)


def _leaves(rows: CodedRows, places: Sequence[_Place], part: slice) -> Codes:
    """The leaf of each row: a function of its own codes."""
    at = np.zeros(len(rows.target[part]), np.int64)
    for place, one in enumerate(places):  # what follows a test comes behind it
        if one.passes is not None and one.column >= 0:
            passed = one.passes[rows.columns[one.column][part]] > 0
            at = np.where(at == place, np.where(passed, one.yes, one.no), at)
    return at


def _counts(
    lesson: Lesson, places: Sequence[_Place], growing: Sequence[int], share: Fraction
) -> tuple[list[Figures], float]:
    """For each column, counts of leaves × classes × codes, with noise; rows in other leaves are counted nowhere."""
    rows, classes, many = lesson.rows, len(lesson.classes), max(len(growing), 1)
    number = np.full(len(places), -1)
    number[list(growing)] = np.arange(len(growing))
    sizes = [one.size for one in lesson.codings]

    def cell(column: int) -> Callable[[slice], Codes]:
        def of(part: slice) -> Codes:
            leaf = number[_leaves(rows, places, part)]
            at = (leaf * classes + rows.target[part]) * sizes[column] + rows.columns[column][part]
            return np.where(leaf < 0, -1, at)

        return of

    wide = [many * classes * size for size in sizes]
    found = lesson.meter.histograms(list(map(cell, range(len(sizes)))), wide, share)
    parts = np.split(found.sums, np.cumsum(wide)[:-1])
    return [one.reshape(many, classes, size) for one, size in zip(parts, sizes, strict=True)], found.deviation


def _best(
    codings: Sequence[Coding], histograms: Sequence[Figures], deviation: float
) -> tuple[int, Codes, Figures, Figures] | None:
    """The test that brings the impurity down most: its column, the codes that pass, and the counts on both sides."""
    best, chosen = 0.0, None
    for column, (coding, counts) in enumerate(zip(codings, histograms, strict=True)):
        for passes in _tests(coding):
            inside, outside = counts @ passes, counts @ (1 - passes)
            fewer = min(passes.sum(), len(passes) - passes.sum())
            noise = deviation * sqrt(max(fewer, 1))
            if min(inside.sum(), outside.sum()) < _TOLD_APART * deviation * sqrt(len(passes)):
                continue
            gain = _pure(inside) + _pure(outside) - _pure(inside + outside) - _TOLD_APART * noise
            if gain > best:
                best, chosen = gain, (column, passes, inside, outside)
    return chosen


def _answer(counts: Figures, above: int, noise: float) -> int:
    """The class with the highest count; the answer above it, unless it has more than noise explains."""
    best = int(counts.argmax())
    return best if counts[best] - counts[above] > _TOLD_APART * noise else above


def _tests(coding: Coding) -> list[Codes]:
    """The tests of a column: whether a number is below a border, or whether a value is the one."""
    codes = np.arange(coding.size)
    if isinstance(coding.feature, CategoryFeature):
        return [(codes == value).astype(np.int64) for value in range(coding.values)]
    return [(codes < value).astype(np.int64) for value in range(1, coding.values)]


def _pure(counts: Figures) -> float:
    known = np.maximum(counts, 0.0)
    return float((known**2).sum() / max(float(known.sum()), 1.0))


def _node(lesson: Lesson, places: Sequence[_Place], at: int) -> Node:
    """The tree below a place; a test whose sides agree is left out."""
    here = places[at]
    if here.passes is None or here.column < 0:
        return Leaf(lesson.classes[here.answer])
    yes, no = _node(lesson, places, here.yes), _node(lesson, places, here.no)
    if yes == no and isinstance(yes, Leaf):
        return yes
    coding = lesson.codings[here.column]
    feature, codes = coding.feature, np.flatnonzero(here.passes)
    if isinstance(feature, NumberFeature):
        return Branch(feature.name, "<", feature.shown(coding.edges[int(codes[-1])]), yes, no)
    return Branch(feature.name, "=", feature.values[int(codes[0])], yes, no)
