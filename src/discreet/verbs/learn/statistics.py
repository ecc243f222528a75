"""Means, medians and standard deviations, rounded to a public step.

A median is the middle of the interval that holds it, of a thousand equal ones from bound to bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args

import numpy as np
import pyarrow as pa

from discreet.core.catalogue import declare, parameter
from discreet.core.document import fields
from discreet.core.families import LEARNERS
from discreet.core.kind import Kind
from discreet.core.report import Picture, bars
from discreet.core.table import Table
from discreet.errors import BadInput, DataError
from discreet.verbs.learn.frame import Figures, Frame, NumberFeature, Rows, features_of, plain, read_feature
from discreet.verbs.learn.learner import FINEST, Learner, Tell, Trainer, exact_sums, round_to_step

Of = Literal["mean", "median", "deviation"]
_BINS = 1000
"""Intervals among which a median is looked for."""


@dataclass(frozen=True)
class Summary:
    """A figure for each column, as plain data; as a share of the way from bound to bound."""

    kind: ClassVar[str] = "statistics"
    of: str
    features: tuple[NumberFeature, ...]
    shares: tuple[float, ...]

    @property
    def figures(self) -> dict[str, float]:
        """The figures in the columns' own units."""
        return {one.name: self._figure(one, share) for one, share in zip(self.features, self.shares, strict=True)}

    def predict(self, rows: pa.Table) -> pa.Array[Any]:
        """The figure of the first column, for every row alike."""
        return pa.array([next(iter(self.figures.values()))] * rows.num_rows)

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, "of": self.of, "features": plain(self.features), "shares": plain(self.shares)}

    @classmethod
    def from_dict(cls, data: object) -> Summary:
        read = fields(data, "statistics", kind=str, of=str, features=list, shares=list)
        made = tuple(one for one in map(read_feature, read["features"]) if isinstance(one, NumberFeature))
        if read["of"] not in get_args(Of) or len(made) != len(read["shares"]) or len(made) < len(read["features"]):
            raise BadInput("Not valid statistics: they need bounds and a figure of each column.")
        return cls(read["of"], made, tuple(float(one) for one in read["shares"]))

    def picture(self) -> Picture:
        """A bar for each column."""
        names = [one.name for one in self.features]
        return bars(f"The {self.of}", names, self.shares, caption="As a share of the range between the bounds.")

    def __str__(self) -> str:
        return "\n".join(f"{self.of} of {one.name}: {self._format_figure(one)}" for one in self.features)

    def _format_figure(self, one: NumberFeature) -> str:
        figure = self.figures[one.name]
        if one.kind is not Kind.DATE:
            return f"{figure:,.12g}"
        return f"{figure:,.12g} days" if self.of == "deviation" else str(one.shown(figure))

    def _figure(self, one: NumberFeature, share: float) -> float:
        return one.unscaled(share) - (one.low if self.of == "deviation" else 0.0)


@declare(LEARNERS, "statistics", example="learn statistics of=mean integral=20")
class Statistics(Learner):
    """Learn the mean, median or standard deviation of the columns with numbers, rounded to ``step``.

    The step is a share of the way from bound to bound; a median is no finer than a thousandth of it. Of a column only
    the rows that have a value count, and sets of people are different only if these are, in every column.
    """

    name: ClassVar[str]
    measure: ClassVar[str] = "closeness, as a share of the range"
    model = Summary
    of: Of = parameter("Statistic of each column.", default="mean")
    columns: tuple[str, ...] = parameter("Columns to learn from; by default all others.", default=(), clause="on")
    step: float = parameter("Step that figures are rounded to, as a share.", default=0.01, least=FINEST, most=1)

    def frame(self, table: Table) -> Frame:
        """The columns with numbers."""
        features = features_of(table.card, self.columns, graded=True)
        made = Frame.of(table, features, apart=True)
        for place, one in enumerate(features):
            if np.isnan(made.figures[:, place]).all():
                raise DataError(f"No value of {one.name!r} is known.", hint="Leave it out: name the other columns.")
        return made

    def trainer(self, frame: Frame) -> StatisticsTrainer:
        return StatisticsTrainer(self, frame)

    def steps(self) -> tuple[str, ...]:
        told = f"The {self.of} of each column, rounded to {self.step:g} of the range between its bounds."
        return (told, f"It is located in {_BINS:,} equal intervals.") if self.of == "median" else (told,)


class StatisticsTrainer(Trainer):
    """A frame to be summed up."""

    def train(self, rows: Rows, tell: Tell) -> Summary:
        """A column of which no value is known is left out."""
        shares = self._shares(rows, tell)
        told = [(one, float(share)) for one, share in zip(self.graded, shares, strict=True) if not np.isnan(share)]
        rounded = tuple(min(round_to_step(share, self.learner.step), 1.0) for _, share in told)
        return Summary(self.learner.of, tuple(one for one, _ in told), rounded)

    def score(self, model: Summary, rows: Rows) -> float:
        """One less the mean distance from what these rows give; who knows nothing of a column guesses the middle."""
        truth = self._shares(rows, exact_sums)
        known = dict(zip(model.features, model.shares, strict=True))
        far = np.abs(np.array([known.get(one, 0.5) for one in self.graded]) - truth)
        return 1 - float(np.mean(far[~np.isnan(far)])) if not np.isnan(far).all() else 0.0

    def _shares(self, rows: Rows, tell: Tell) -> Figures:
        figures = self.frame.figures[rows]
        scaled = np.stack([one.scaled(figures[:, place]) for place, one in enumerate(self.graded)], axis=1)
        known = ~np.isnan(scaled)
        if self.learner.of == "median":
            at = np.minimum((np.nan_to_num(scaled) * _BINS).astype(np.int64), _BINS - 1)
            counts = [np.bincount(at[known[:, place], place], minlength=_BINS) for place in range(scaled.shape[1])]
            told = np.maximum(tell(np.array(counts, np.float64), float(scaled.shape[1])), 0.0)
            up_to = np.cumsum(told, axis=1)
            middle = (np.argmax(up_to * 2 >= up_to[:, -1:], axis=1) + 0.5) / _BINS
            return np.asarray(np.where(up_to[:, -1] > 0, middle, np.nan), np.float64)
        zeroed = np.where(known, scaled, 0.0)
        sums = np.stack([known.sum(axis=0), zeroed.sum(axis=0), (zeroed**2).sum(axis=0)])
        many, first, second = tell(sums, 3.0 * scaled.shape[1])
        mean = np.where(many >= 1, first / np.maximum(many, 1.0), np.nan)
        if self.learner.of == "mean":
            return np.asarray(np.clip(mean, 0.0, 1.0), np.float64)
        spread = np.where(many >= 1, second / np.maximum(many, 1.0) - mean**2, np.nan)
        return np.asarray(np.sqrt(np.clip(spread, 0.0, 1.0)), np.float64)
