"""Naive Bayes under differential privacy: counts of each column by the target, all in one pass."""

from __future__ import annotations

from typing import ClassVar, Literal

from discreet.core.catalogue import declare, parameter
from discreet.core.families import PRIVATE_LEARNERS
from discreet.verbs.learn.private.additive import additive_model, measured_odds, nothing_known
from discreet.verbs.learn.private.learner import REPORT, Fitted, PrivateLearner
from discreet.verbs.learn.private.meter import Lesson
from discreet.verbs.learn.private.scoring import Scorer, classification_report


@declare(
    PRIVATE_LEARNERS,
    "naive-bayes",
    kw_only=True,
    example="learn naive-bayes target=COLUMN epsilon=1",
    paper="Vaidya, Shafiq, Basu, Hong 2013",
)
class NaiveBayes(PrivateLearner):
    """Learn naive Bayes: columns are taken to be independent within each class; one pass, and hardly any noise.

    Columns with values are counted by the target. Numbers are cut into ``bins``, or, with ``numbers=gaussian``, are
    taken to be normal within each class.
    """

    name: ClassVar[str]
    target: str = parameter("Column to predict: one of a few declared values.", column="any")
    numbers: Literal["binned", "gaussian"] = parameter("How numbers are distributed in a class.", default="binned")
    bins: int = parameter("Intervals of a column with bounds.", default=16, least=2, most=1000)
    by: str | None = parameter("Column by whose values the report lists errors.", default=None, column="any")

    def fit(self, lesson: Lesson) -> Fitted:
        odds = measured_odds(lesson, 1 - REPORT, normal=self.numbers == "gaussian")
        if odds.says_nothing:
            model, scorer = nothing_known(lesson, odds)
        else:
            model = additive_model(lesson, odds.prior, odds.tables)
            scorer = Scorer.of(odds.prior, odds.tables)
        return Fitted(model, classification_report(lesson, scorer, REPORT, self.by), odds.says_nothing)

    def how(self) -> tuple[str, ...]:
        """The steps of learning."""
        counted = "every column was counted by the target with exact noise"
        if self.numbers == "gaussian":
            counted += "; of numbers, a normal distribution was fitted to the noisy counts of each class"
        return (f"{counted}; log odds were shrunk towards those of all rows as far as noise explains them",)
