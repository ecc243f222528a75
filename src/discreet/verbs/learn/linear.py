"""Linear models by least squares with rounded coefficients.

Numbers go from 0 to 1 between their declared bounds; a column with values is one number for each value but the first.
Coefficients are in these units, so that one step means the same for all of them. Rows with a missing value are left
out.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from discreet.core.catalogue import declare, parameter
from discreet.core.document import fields
from discreet.core.families import LEARNERS
from discreet.core.kind import Kind
from discreet.core.report import Picture, bars
from discreet.core.table import Table
from discreet.errors import BadInput
from discreet.verbs.learn.frame import (
    CategoryFeature,
    Feature,
    Figures,
    Frame,
    NumberFeature,
    Rows,
    as_arrow,
    cells_of,
    features_of,
    plain,
    read_feature,
    target_of,
)
from discreet.verbs.learn.learner import FINEST, Learner, Tell, Trainer, round_to_step

_RIDGE = 1e-6
"""Ridge, as a share of the rows: columns that say the same share their weight."""


@dataclass(frozen=True)
class Linear:
    """A linear model, as plain data."""

    kind: ClassVar[str] = "linear"
    target: NumberFeature
    features: tuple[Feature, ...]
    intercept: float
    coefficients: tuple[float, ...]
    """In the order of ``terms``."""

    def predict(self, rows: Any) -> pa.Array[Any]:
        """The target for each row, within its bounds; NULL where a value is missing."""
        table = as_arrow(rows)
        figures = np.stack([one.figures(cells_of(table, one.name)) for one in self.features], axis=1)
        return pa.array(self.figures(figures), from_pandas=True)

    def figures(self, figures: Figures) -> Figures:
        """Predictions for rows of figures."""
        told = self.intercept + design_matrix(self.features, figures) @ np.array(self.coefficients)
        low, high = self.target.low, self.target.high
        return np.asarray(low + np.clip(told, 0.0, 1.0) * (high - low), np.float64)

    def to_dict(self) -> dict[str, Any]:
        names = ("target", "features", "intercept", "coefficients")
        return {"kind": self.kind, **{name: plain(getattr(self, name)) for name in names}}

    @classmethod
    def from_dict(cls, data: object) -> Linear:
        read = fields(data, "a linear model", kind=str, target=dict, features=list, intercept=float, coefficients=list)
        target = read_feature(read["target"])
        made = tuple(read_feature(one) for one in read["features"])
        told = tuple(float(one) for one in read["coefficients"])
        if not isinstance(target, NumberFeature) or len(told) != len(terms(made)):
            raise BadInput("Not a valid linear model: it needs bounds of the target, and a coefficient for each term.")
        return cls(target, made, read["intercept"], told)

    def picture(self) -> Picture:
        """A bar for each coefficient."""
        caption = f"What is added to {self.target.name}, as a share of its bounds, from the lower bound to the upper."
        return bars(f"A linear model for {self.target.name}", *self._named_coefficients(), caption=caption)

    def __str__(self) -> str:
        said = "\n".join(f"  {value:+g} × {name}" for name, value in zip(*self._named_coefficients(), strict=True))
        return f"{self.target.name}, from 0 to 1 between its bounds =\n{said}"

    def _named_coefficients(self) -> tuple[list[str], list[float]]:
        return ["1", *terms(self.features)], [self.intercept, *self.coefficients]


@declare(LEARNERS, "linear", example="learn linear target=COLUMN integral=20")
class LinearModel(Learner):
    """Learn a linear model of ``target``, a number, from the other columns; coefficients are rounded to ``step``."""

    name: ClassVar[str]
    measure: ClassVar[str] = "R²"
    model = Linear
    target: str = parameter("Column to predict.", column="any")
    columns: tuple[str, ...] = parameter("Columns to learn from; by default all others.", default=(), clause="on")
    step: float = parameter("Step that figures are rounded to, as a share.", default=0.1, least=FINEST, most=1)

    def frame(self, table: Table) -> Frame:
        """The target is the last column; rows with a missing value are left out."""
        target = target_of(table, self.target)
        if not isinstance(target, NumberFeature) or target.kind is Kind.DATE:
            raise BadInput(f"A linear model predicts numbers, and {self.target!r} is not a number.", hint="Use tree.")
        features = (*features_of(table.card, self.columns, but=self.target), target)
        return Frame.of(table, features, [one.name for one in features])

    def trainer(self, frame: Frame) -> LinearTrainer:
        return LinearTrainer(self, frame)

    def steps(self) -> tuple[str, ...]:
        return (
            "Numbers are scaled to between 0 and 1 by the declared bounds; least squares on these.",
            f"Coefficients are rounded to {self.step:g}.",
        )


class LinearTrainer(Trainer):
    """Trains a linear model on a frame, by the normal equations."""

    @cached_property
    def _matrix(self) -> Figures:
        """One, the terms, and the target."""
        features, target = self.frame.features[:-1], self._target
        inside = design_matrix(features, self.frame.figures[:, :-1])
        ones = np.ones((len(inside), 1))
        return np.concatenate([ones, inside, target.scaled(self.frame.figures[:, -1:])], axis=1)

    @property
    def _target(self) -> NumberFeature:
        target = self.frame.features[-1]
        assert isinstance(target, NumberFeature)  # noqa: S101  # LinearModel.frame has looked
        return target

    def train(self, rows: Rows, tell: Tell) -> Linear:
        """Solve the normal equations."""
        matrix = self._matrix[rows]
        size = matrix.shape[1]
        upper = np.triu_indices(size)
        products = np.zeros((size, size))
        products[upper] = tell((matrix.T @ matrix)[upper], float(len(upper[0])))
        products = np.triu(products) + np.triu(products, 1).T
        inner = products[:-1, :-1] + _RIDGE * max(products[0, 0], 1.0) * np.eye(size - 1)
        found = np.linalg.lstsq(inner, products[:-1, -1], rcond=None)[0]
        first, *others = (round_to_step(float(one), self.learner.step) for one in found)
        return Linear(self._target, self.frame.features[:-1], first, tuple(others))

    def score(self, model: Linear, rows: Rows) -> float:
        """Share of the target's variance that is explained."""
        figures = self.frame.figures[rows]
        truth = figures[:, -1]
        spread = float(((truth - truth.mean()) ** 2).sum()) if len(rows) else 0.0
        return 1 - float(((truth - model.figures(figures[:, :-1])) ** 2).sum()) / spread if spread else 0.0


def terms(features: tuple[Feature, ...]) -> list[str]:
    """Names of the terms that the coefficients belong to."""
    found = []
    for one in features:
        found += (
            [f"{one.name} = {value}" for value in one.values[1:]] if isinstance(one, CategoryFeature) else [one.name]
        )
    return found


def design_matrix(features: tuple[Feature, ...], figures: Figures) -> Figures:
    """Rows × terms, from 0 to 1; NaN where a value is missing."""
    columns = []
    for place, one in enumerate(features):
        held = figures[:, place]
        if isinstance(one, NumberFeature):
            columns.append(one.scaled(held))
        else:
            columns += [np.where(np.isnan(held), np.nan, held == code) for code in range(1, len(one.values))]
    return np.stack(columns, axis=1) if columns else np.empty((len(figures), 0))
