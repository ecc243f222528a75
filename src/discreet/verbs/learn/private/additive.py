"""Boosted additive models under differential privacy: log odds of each value, weighed against each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import ClassVar

import numpy as np

from discreet.core.catalogue import declare, parameter
from discreet.core.families import PRIVATE_LEARNERS
from discreet.verbs.learn.frame import Figures
from discreet.verbs.learn.private.coding import Codes
from discreet.verbs.learn.private.learner import REPORT, Fitted, PrivateLearner
from discreet.verbs.learn.private.log_odds import LogOdds, log_odds
from discreet.verbs.learn.private.meter import Lesson, Slots
from discreet.verbs.learn.private.model import AdditiveModel, Term
from discreet.verbs.learn.private.scoring import Scorer, classification_report

_PASSES = 6
_WEIGHING = Fraction(1, 5)
"""Share of the allowance for weighing columns against each other."""
_LENGTH = 2.5
"""Maximum length of a row's gradient."""
_FIRST_WEIGHT = 0.55
"""Initial weight of each column: columns say much of the same, so that each counts for about half."""
_STEP, _MOMENTUM = 0.3, 0.7
_CURVATURE = 0.65
"""Curvature of the loss at certain predictions, as a share of that at the shares of the classes."""
_LEAST_SQUARE = 0.02


@declare(
    PRIVATE_LEARNERS,
    "additive",
    rank=0,
    kw_only=True,
    example="learn additive target=COLUMN epsilon=1 delta=1e-6",
    paper="Nori, Caruana, Bu, Shen, Kulkarni 2021",
)
class Additive(PrivateLearner):
    """Learn an additive model: how much each value of each column speaks for each class; the most accurate learner.

    Four fifths of the loss count every column by the target, with noise. Of that follow log odds of values and of
    intervals, which are joined where noise hides their difference (weights of evidence, as in credit scores). Then a
    few passes with noisy gradients weigh the columns against each other, since they say much of the same.
    """

    name: ClassVar[str]
    target: str = parameter("Column to predict: one of a few declared values.", column="any")
    bins: int = parameter("Intervals of a column with bounds.", default=16, least=2, most=1000)
    by: str | None = parameter("Column by whose values the report lists errors.", default=None, column="any")

    def fit(self, lesson: Lesson) -> Fitted:
        odds = measured_odds(lesson, 1 - _WEIGHING - REPORT)
        if odds.says_nothing:
            model, scorer = nothing_known(lesson, odds)
        else:
            base, weights = _weigh(lesson, odds)
            tables = [weight * table for weight, table in zip(weights, odds.tables, strict=True)]
            model, scorer = additive_model(lesson, base, tables), Scorer.of(base, tables)
        report = classification_report(lesson, scorer, REPORT, self.by)
        return Fitted(model, report, odds.says_nothing)

    def how(self) -> tuple[str, ...]:
        """The steps of learning."""
        return (
            "every column was counted by the target with exact noise; intervals that the noise cannot "
            "distinguish were merged, and log odds were shrunk towards those of all rows as far as noise explains them",
            f"columns were weighed against each other in {_PASSES} passes with noisy gradients",
        )


def measured_odds(lesson: Lesson, share: Fraction, *, normal: bool = False) -> LogOdds:
    """Log odds from a noisy histogram of each column by the target."""
    rows, codings, classes = lesson.rows, lesson.codings, len(lesson.classes)
    sizes = [one.size for one in codings]

    def cell(place: int) -> Callable[[slice], Codes]:
        return lambda part: rows.target[part] * sizes[place] + rows.columns[place][part]

    found = lesson.meter.histograms(list(map(cell, range(len(sizes)))), [classes * size for size in sizes], share)
    parts = np.split(found.sums, np.cumsum([classes * size for size in sizes])[:-1])
    histograms = [one.reshape(classes, size) for one, size in zip(parts, sizes, strict=True)]
    return log_odds(codings, histograms, found.deviation, normal=normal)


def nothing_known(lesson: Lesson, odds: LogOdds) -> tuple[AdditiveModel, Scorer]:
    """The model that predicts the same for everyone."""
    base = np.zeros(len(odds.prior))
    return AdditiveModel(lesson.aim, tuple(base.tolist()), ()), Scorer.of(base, [one * 0.0 for one in odds.tables])


def additive_model(lesson: Lesson, base: Figures, tables: Sequence[Figures]) -> AdditiveModel:
    """The model of these tables; columns that say nothing are left out."""
    terms = []
    for coding, table in zip(lesson.codings, tables, strict=True):
        whole = table if coding.size > coding.values else np.append(table, np.zeros((1, table.shape[1])), axis=0)
        if np.any(whole):
            weights = tuple(tuple(round(float(one), 12) for one in line) for line in whole)
            terms.append(Term(coding.feature, coding.edges, weights))
    return AdditiveModel(lesson.aim, tuple(map(float, base)), tuple(terms))


def _weigh(lesson: Lesson, odds: LogOdds) -> tuple[Figures, Figures]:
    """Base scores and a weight for each column, by noisy gradient steps with momentum; the later ones are averaged.

    A row adds the gradient of its own log-likelihood: for each class the truth less the probability, and for each
    column that times its log odds.
    """
    rows, scores, many = lesson.rows, len(odds.prior), len(odds.tables)
    place = np.exp(odds.prior) / (1 + np.exp(odds.prior).sum())
    curved = _CURVATURE * place * (1 - place)
    spread = np.array([float((curved * np.maximum(one, _LEAST_SQUARE)).sum()) for one in odds.squares])
    base, weights = odds.prior.copy(), np.full(many, _FIRST_WEIGHT)
    moved = np.zeros(scores + many)
    kept: list[Figures] = []
    for _ in range(_PASSES):
        scorer = Scorer.of(base, [weight * table for weight, table in zip(weights, odds.tables, strict=True)])

        def slots(part: slice, scorer: Scorer = scorer) -> Slots:
            wrong = scorer.wrong(rows, part)
            at = np.zeros(len(wrong[0]), np.int64)
            entries: list[tuple[Codes, Figures]] = [(at + place, one) for place, one in enumerate(wrong)]
            for column, table in enumerate(odds.tables):
                told = table[rows.columns[column][part]]
                value = wrong[0] * told[:, 0]
                for place in range(1, scores):
                    value = value + wrong[place] * told[:, place]
                entries.append((at + scores + column, value))
            return entries

        found = lesson.meter.sums(slots, scores + many, _LENGTH, _WEIGHING / _PASSES)
        scale = odds.rows * np.concatenate([curved, spread]) + 2 * found.deviation
        moved = _MOMENTUM * moved + _STEP * found.sums / scale
        base, weights = base + moved[:scores], weights + moved[scores:]
        kept.append(np.concatenate([base, weights]))
    middle = np.mean(kept[_PASSES // 2 :], axis=0)
    return middle[:scores], middle[scores:]
