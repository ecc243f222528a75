"""Scores of private rows in whole numbers, and the error report that is measured of them.

A score is a sum of table entries in steps of 1/1024, so it is the same for a row wherever that row stands, and
probabilities come from a table of exponentials: what one row adds to a measurement depends on that row alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import log, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.verbs.learn.frame import Figures
from discreet.verbs.learn.private.coding import CodedRows, Codes
from discreet.verbs.learn.private.meter import Lesson

STEPS = 1024
"""Steps of a score of 1."""
_MOST_SCORE = 20
_EXP = np.exp(-np.arange(2 * _MOST_SCORE * STEPS + 1) / STEPS)
"""Exponentials of 0, -1/1024, …: as many as two scores can be apart."""
_BINS = 20
"""Intervals of probability in which predictions are compared with the truth."""
CONFIDENCE = 1.96
"""Half-width of a 95 % interval, in deviations."""


MEASURED_ON = "the rows that the model was learnt from"


@dataclass(frozen=True)
class Scorer:
    """Scores of coded rows, by a table for each column."""

    base: Codes
    tables: tuple[Codes, ...]

    @classmethod
    def of(cls, base: Figures, tables: Sequence[Figures]) -> Scorer:
        """With scores put on the grid."""
        most = _MOST_SCORE * STEPS
        steps = [np.clip(np.rint(one * STEPS), -most, most).astype(np.int64) for one in (base, *tables)]
        return cls(steps[0], tuple(steps[1:]))

    def scores(self, rows: CodedRows, part: slice) -> Codes:
        """Scores in steps: rows × classes but the first."""
        found = np.repeat(self.base[None, :], len(rows.target[part]), axis=0)
        for table, codes in zip(self.tables, rows.columns, strict=True):
            found += table[codes[part]]
        return np.asarray(np.clip(found, -_MOST_SCORE * STEPS, _MOST_SCORE * STEPS), np.int64)

    def probabilities(self, rows: CodedRows, part: slice) -> list[Figures]:
        """The probability of each class."""
        scores = self.scores(rows, part)
        every = [np.zeros(len(scores), np.int64), *scores.T]
        largest = every[0]
        for one in every[1:]:
            largest = np.maximum(largest, one)
        odds = [_EXP[np.minimum(largest - one, len(_EXP) - 1)] for one in every]
        total = odds[0]
        for one in odds[1:]:
            total = total + one
        return [one / total for one in odds]

    def wrong(self, rows: CodedRows, part: slice) -> list[Figures]:
        """For each class but the first, the truth (0 or 1) less the probability."""
        shares = self.probabilities(rows, part)
        return [(rows.target[part] == place) - shares[place] for place in range(1, len(shares))]


def classification_report(lesson: Lesson, scorer: Scorer, share: Fraction, by: str | None) -> dict[str, Any]:
    """How the predictions compare with the truth on the rows that were learnt from, from one noisy histogram.

    Figures have error bars at 95 % confidence, for the noise. A model with a privacy loss fits the rows it was learnt
    from little better than others. With ``by``, a column that was learnt from, errors are told apart by its values.
    """
    rows, many = lesson.rows, len(lesson.classes)
    bins = _BINS if many == 2 else many
    group = next((place for place, one in enumerate(lesson.codings) if one.feature.name == by), None)
    groups = 1 if group is None else lesson.codings[group].size

    def cell(part: slice) -> Codes:
        if many == 2:
            at = np.searchsorted(_EDGES, scorer.scores(rows, part)[:, 0], side="right")
        else:
            at = np.argmax(np.stack(scorer.probabilities(rows, part)), axis=0)
        whose = 0 if group is None else rows.columns[group][part].astype(np.int64)
        return np.asarray((whose * many + rows.target[part]) * bins + at, np.int64)

    found = lesson.meter.histograms([cell], [groups * many * bins], share)
    counts = found.sums.reshape(groups, many, bins)
    report: dict[str, Any] = {"measured_on": MEASURED_ON, **_figures(counts.sum(axis=0), found.deviation, groups)}
    if many == 2:
        totals = counts.sum(axis=0)
        report["calibration"] = [
            {"probability": (place + 0.5) / _BINS, "share": _ratio(totals[1, place], totals[:, place].sum())}
            for place in range(_BINS)
        ]
    if group is not None:
        coding = lesson.codings[group]
        report["by"] = {
            f"{by} = {coding.label(code)}": _figures(counts[code], found.deviation, 1) for code in range(groups)
        }
    return report


def _figures(counts: Figures, deviation: float, groups: int) -> dict[str, float | None]:
    """Accuracy and, of two classes, the area under the ROC curve; None where noise leaves nothing to divide by."""
    many, bins = counts.shape
    rows = float(counts.sum())
    noise = deviation * sqrt(groups)
    if many == 2:
        right = float(counts[0, : bins // 2].sum() + counts[1, bins // 2 :].sum())
        of_class = counts.sum(axis=1)
        below = np.cumsum(counts[0]) - counts[0] / 2
        area = _ratio(float((counts[1] * below).sum()), float(of_class[0] * of_class[1])) if min(of_class) > 0 else None
        figures = {"auc": area}
    else:
        right, figures = float(np.trace(counts)), {}
    told = rows > CONFIDENCE * noise * sqrt(many * bins)
    error = CONFIDENCE * noise * sqrt(many * bins / 2) / rows if told else None
    accuracy = _ratio(right, rows) if told else None
    return {"rows": rows, "accuracy": accuracy, "accuracy_error": error, **(figures if told else {})}


def report_sentence(report: Mapping[str, Any]) -> str:
    """A report in a sentence."""
    if report.get("r2") is not None:
        return f"R² is {report['r2']:.3f} ± {report['r2_error']:.3f} on {MEASURED_ON}, measured with noise."
    if report.get("accuracy") is None:
        return "The noise is too large to say how good the model is."
    area = f", and the area under the ROC curve {report['auc']:.3f}" if report.get("auc") is not None else ""
    return (
        f"Accuracy is {report['accuracy']:.3f} ± {report['accuracy_error']:.3f}{area}, "
        f"on {MEASURED_ON}, measured with noise."
    )


def _ratio(part: float, whole: float) -> float | None:
    return float(min(max(part / whole, 0.0), 1.0)) if whole > 0 else None


_EDGES: NDArray[np.int64] = np.array(
    [round(STEPS * log(place / (_BINS - place))) for place in range(1, _BINS)], np.int64
)
