"""Linear regression under differential privacy: noisy sums of products, with as much ridge as the noise needs.

Intervals of coefficients. With A and b the sums without noise, E and e their noise, and β the coefficients, the
solution of the noisy equations is off by about A⁻¹ (u + e - E β), where u are the sums of columns times residuals.
All three are independent: u has the covariance σ² A, e that of its noise, and of E β the covariances follow from β,
since E is symmetric. What is left out is of the second order in A⁻¹ E, so that intervals are told only where the
smallest direction of A stands out by far. They are made of noisy figures alone, and cost nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Any, ClassVar

import numpy as np

from discreet.core.catalogue import declare, parameter
from discreet.core.families import PRIVATE_LEARNERS
from discreet.verbs.learn.frame import Figures, NumberFeature
from discreet.verbs.learn.private.coding import FINE, Codes, Coding
from discreet.verbs.learn.private.design import Design, require_terms
from discreet.verbs.learn.private.learner import REPORT, Fitted, PrivateLearner
from discreet.verbs.learn.private.meter import Lesson, Noisy, Slots
from discreet.verbs.learn.private.model import AdditiveModel
from discreet.verbs.learn.private.scoring import CONFIDENCE, MEASURED_ON

_CLEAR = 2.0
"""Intervals are told if the smallest direction is this many times what it needs to be without a ridge."""
_EDGE = 2.0
"""Deviations of the noise that a direction must stand out by, as a multiple of the noise's own largest eigenvalue."""


@declare(
    PRIVATE_LEARNERS,
    "ridge",
    kw_only=True,
    example="learn ridge target=COLUMN epsilon=1",
    paper="Wang 2018",
)
class Ridge(PrivateLearner):
    """Learn a linear regression from noisy sums of products (AdaSSP): one pass, and the coefficients can be read.

    Numbers go from -1 to 1 between their declared bounds; a column with values has a coefficient for each of them.
    ``penalty`` is a ridge, as a share of the rows; more is added where noise would make the solution unstable, and no
    more than that.
    """

    name: ClassVar[str]
    classes: ClassVar[bool] = False
    target: str = parameter("Column to predict: a number with declared bounds.", column="any")
    penalty: float = parameter("Ridge, as a share of the rows.", default=0.0, least=0, most=1)

    def require_columns(self, codings: Sequence[Coding]) -> None:
        require_terms(codings)

    def fit(self, lesson: Lesson) -> Fitted:
        rows, aim = lesson.rows, lesson.aim
        assert isinstance(aim, NumberFeature)  # noqa: S101  # promise looked
        design = Design.of(lesson.codings)
        size, half = design.size, (1 - REPORT) / 2

        def with_target(part: slice) -> Slots:
            return design.slots(rows, part, (2 * rows.target[part] - FINE) / FINE)

        matrix, inner = design.measured_products(lesson, half)
        outer = lesson.meter.sums(with_target, size, sqrt(1 + len(lesson.codings)), half)
        found = solve(matrix, outer.sums, inner.deviation, self.penalty)
        says_nothing = matrix[0, 0] < 2 * _EDGE * inner.deviation
        if says_nothing:
            found = np.zeros(size)
        model = AdditiveModel(aim, (float(found[0]),), design.terms(found[:, None]))
        report, variance = _report(lesson, design, found, float(matrix[0, 0]))
        half_range, measured = (aim.high - aim.low) / 2, Noisy(matrix, inner.deviation)
        told = None if says_nothing else intervals(design, half_range, measured, outer, variance)
        report["coefficients"] = told
        return Fitted(model, report, bool(says_nothing))

    def how(self) -> tuple[str, ...]:
        """The steps of learning."""
        return (
            "sums of products of all pairs of columns were measured with exact noise; the normal equations were solved "
            "with a ridge that follows from the noise",
        )


def solve(matrix: Figures, vector: Figures, deviation: float, penalty: float) -> Figures:
    """The coefficients, with a ridge so that no direction is smaller than the noise may make it.

    The largest eigenvalue of the noise is about 2 √p times its deviation. The intercept is not shrunk more than others
    are: it is a direction with all rows in it.
    """
    size = len(vector)
    floor = _EDGE * deviation * sqrt(size)
    values, vectors = np.linalg.eigh(matrix)
    ridge = max(0.0, floor - float(values.min())) + penalty * max(float(matrix[0, 0]), 1.0)
    return np.asarray(vectors @ ((vectors.T @ vector) / np.maximum(values + ridge, max(floor, 1e-9))))


def intervals(
    design: Design, half: float, matrix: Noisy, outer: Noisy, variance: float
) -> list[dict[str, float | str]] | None:
    """For each column what one more of it adds to the target, with a 95 % interval for the noise and for the sample.

    Of a column with values each is compared with the first; values that hardly anyone has are left out with the rows
    of few. Errors are taken to vary alike everywhere (``variance``, where ``half`` the range of the target is 1). None:
    the noise is too large for intervals that hold.
    """
    deviation = matrix.deviation
    kept, named = _identified(design, matrix)
    inner = matrix.sums[np.ix_(kept, kept)]
    if len(kept) < 2 or np.linalg.eigvalsh(inner).min() < _CLEAR * _EDGE * deviation * sqrt(len(kept)):
        return None
    inverse = np.linalg.inv(inner)
    found = inverse @ outer.sums[kept]
    noisy = ~design.apart(*np.meshgrid(kept, kept, indexing="ij"))
    moved = deviation**2 * np.where(noisy, np.outer(found, found), 0.0)
    np.fill_diagonal(moved, deviation**2 * (noisy @ found**2))
    spread = variance * inner + moved + outer.deviation**2 * np.eye(len(kept))
    errors = CONFIDENCE * np.sqrt(np.diag(inverse @ spread @ inverse))
    return [
        {
            "column": name,
            "adds": float(half * found[place] * factor),
            "low": float(half * (found[place] - errors[place]) * factor),
            "high": float(half * (found[place] + errors[place]) * factor),
        }
        for place, (name, factor) in enumerate(named)
        if name
    ]


def _identified(design: Design, matrix: Noisy) -> tuple[Codes, list[tuple[str, float]]]:
    """Places of coefficients that the rows tell apart: with their names, and how many of each are one in its column."""
    kept, named, at = [0], [("", 1.0)], 1
    for coding, size in zip(design.codings, design.sizes, strict=True):
        feature = coding.feature
        for place in range(size):
            here = at + place
            if isinstance(feature, NumberFeature) and place == 0:
                name, factor = feature.name, 2 / (feature.high - feature.low)
            else:
                code = coding.values if coding.fine else place
                name, factor = f"{feature.name} = {coding.label(code)}", 1.0
                if (not coding.fine and place == 0) or matrix.sums[here, here] < 2 * _EDGE * matrix.deviation:
                    continue
            kept.append(here)
            named.append((name, factor))
        at += size
    return np.array(kept), named


def _report(lesson: Lesson, design: Design, found: Figures, many: float) -> tuple[dict[str, Any], float]:
    """The squared error, and that of the mean alone, on the rows that were learnt from, with noise.

    Then the variance of errors, in units of half the range of the target.
    """
    rows, aim = lesson.rows, lesson.aim
    assert isinstance(aim, NumberFeature)  # noqa: S101  # promise looked
    steps = np.clip(np.rint(found * FINE), -64 * FINE, 64 * FINE).astype(np.int64)

    def slots(part: slice) -> Slots:
        y = 2 * rows.target[part] - FINE
        said = np.clip((design.entries(rows, part) @ steps) // FINE, -FINE, FINE)
        off = (y - said) / (2 * FINE)
        mine = y / FINE
        at = np.zeros(len(y), np.int64)
        return [(at, off * off), (at + 1, mine), (at + 2, mine * mine)]

    measured = lesson.meter.sums(slots, 3, sqrt(3), REPORT)
    squared, total, squares = measured.sums
    where: dict[str, Any] = {"measured_on": MEASURED_ON, "rows": many}
    variance = squares / max(many, 1.0) - (total / max(many, 1.0)) ** 2
    wrong = max(float(4 * squared / max(many, 1.0)), 0.0)
    error = CONFIDENCE * 4 * measured.deviation / max(many * variance, 1e-9)
    if many < 4 * measured.deviation or variance <= 0 or error > 1:
        return {**where, "r2": None, "r2_error": None, "rmse": None}, min(wrong, 1.0)
    told = {
        **where,
        "r2": float(max(min(1 - wrong / variance, 1.0), -1.0)),
        "r2_error": float(error),
        "rmse": sqrt(wrong) / 2 * (aim.high - aim.low),
    }
    return told, min(wrong, 1.0)
