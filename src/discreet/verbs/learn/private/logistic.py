"""Logistic regression under differential privacy: a few passes with noisy gradients, in steps that noise allows."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import sqrt
from typing import ClassVar

import numpy as np

from discreet.core.catalogue import declare, parameter
from discreet.core.families import PRIVATE_LEARNERS
from discreet.verbs.learn.frame import Figures
from discreet.verbs.learn.private.coding import Coding
from discreet.verbs.learn.private.design import Design, require_terms
from discreet.verbs.learn.private.learner import REPORT, Fitted, PrivateLearner
from discreet.verbs.learn.private.meter import Lesson, Slots
from discreet.verbs.learn.private.model import AdditiveModel
from discreet.verbs.learn.private.scoring import Scorer, classification_report

_PASSES = 8
_PRODUCTS = Fraction(1, 4)
"""Share of the allowance for the products, which say how long a step may be in each direction."""
_LENGTH = 2.0
"""Maximum length of a row's gradient."""
_CURVATURE = 0.15
"""Average contribution of a row to the curvature: p (1 - p)."""
_STEP = 0.7
_FEWEST = 4.0
"""Least number of rows for a model, in deviations of the noise."""
_EDGE = 0.3
"""Curvature that is assumed in every direction, in units of the noise."""


@declare(
    PRIVATE_LEARNERS,
    "logistic",
    kw_only=True,
    example="learn logistic target=COLUMN epsilon=1 delta=1e-6",
    paper="Song, Chaudhuri, Sarwate 2013",
)
class Logistic(PrivateLearner):
    """Learn a logistic regression, also of several classes: one coefficient for a number, one for each value.

    Sums of products of all pairs of columns are measured once, with noise. They say how far to go in each direction
    along noisy gradients, of which a few are measured; a row's part of a gradient is cut to a declared length.
    """

    name: ClassVar[str]
    target: str = parameter("Column to predict: one of a few declared values.", column="any")
    by: str | None = parameter("Column by whose values the report lists errors.", default=None, column="any")

    def require_columns(self, codings: Sequence[Coding]) -> None:
        require_terms(codings)

    def fit(self, lesson: Lesson) -> Fitted:
        design, scores = Design.of(lesson.codings), len(lesson.classes) - 1
        size, share = design.size, (1 - _PRODUCTS - REPORT) / _PASSES
        matrix, inner = design.measured_products(lesson, _PRODUCTS)
        values, vectors = np.linalg.eigh(_CURVATURE * matrix)
        wide = 2 * inner.deviation * sqrt(size)
        coefficients = np.zeros((size, scores))
        says_nothing = bool(matrix[0, 0] < _FEWEST * inner.deviation)
        later: list[Figures] = []
        for _ in range(_PASSES):
            scorer = Scorer.of(coefficients[0], design.tables(coefficients))

            def slots(part: slice, scorer: Scorer = scorer) -> Slots:
                wrong = scorer.wrong(lesson.rows, part)
                every = zip(*(design.slots(lesson.rows, part, one) for one in wrong), strict=True)
                return [(at * scores + place, value) for own in every for place, (at, value) in enumerate(own)]

            found = lesson.meter.sums(slots, size * scores, _LENGTH, share)
            floor = _EDGE * (_CURVATURE * wide + 2 * found.deviation)
            step = vectors @ (
                (vectors.T @ found.sums.reshape(size, scores)) / (np.maximum(values, 0.0)[:, None] + floor)
            )
            coefficients = coefficients + _STEP * step
            later.append(coefficients)
        coefficients = np.mean(later[_PASSES // 2 :], axis=0) * (not says_nothing)
        model = AdditiveModel(lesson.aim, tuple(coefficients[0].tolist()), design.terms(coefficients))
        scorer = Scorer.of(coefficients[0], design.tables(coefficients))
        return Fitted(model, classification_report(lesson, scorer, REPORT, self.by), says_nothing)

    def how(self) -> tuple[str, ...]:
        """The steps of learning."""
        return (
            "sums of products of all pairs of columns were measured with exact noise",
            f"{_PASSES} gradients were measured with exact noise, each row's part clipped to {_LENGTH:g}; the "
            "later coefficients were averaged",
        )
