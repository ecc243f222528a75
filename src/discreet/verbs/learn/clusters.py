"""k-means with rounded centres in one order.

Numbers go from 0 to 1 between their declared bounds. The first centres are cells of a public grid: the fullest, and
then those that are full and far from all before; Lloyd's steps follow. Rows with a missing value are left out. Where
rows fill fewer cells than there are to be clusters, there are as few centres.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.core.catalogue import declare, parameter
from discreet.core.document import fields
from discreet.core.families import LEARNERS
from discreet.core.report import Picture, grouped_bars, stacked
from discreet.core.table import Table
from discreet.core.text import number
from discreet.errors import BadInput, DataError
from discreet.verbs.learn.frame import (
    Figures,
    Frame,
    NumberFeature,
    Rows,
    as_arrow,
    cells_of,
    features_of,
    plain,
    read_feature,
)
from discreet.verbs.learn.learner import FINEST, Learner, Tell, Trainer, round_to_step

_CELLS = 4
"""Cells of a column when the first centres are looked for."""
_MOST_CELLS = 1 << 16
_ROUNDS = 10


@dataclass(frozen=True)
class Centres:
    """Centres of clusters, as plain data; each has a number from 0 to 1 for every column."""

    kind: ClassVar[str] = "clusters"
    features: tuple[NumberFeature, ...]
    centres: tuple[tuple[float, ...], ...]

    def predict(self, rows: Any) -> pa.Array[Any]:
        """The number of the nearest centre, from 0; NULL where a value is missing."""
        table = as_arrow(rows)
        figures = np.stack([one.scaled(one.figures(cells_of(table, one.name))) for one in self.features], axis=1)
        missing = np.isnan(figures).any(axis=1)
        return pa.array(_nearest(np.nan_to_num(figures), np.array(self.centres)), mask=missing)

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, "features": plain(self.features), "centres": plain(self.centres)}

    @classmethod
    def from_dict(cls, data: object) -> Centres:
        read = fields(data, "clusters", kind=str, features=list, centres=list)
        made = tuple(one for one in map(read_feature, read["features"]) if isinstance(one, NumberFeature))
        centres = tuple(tuple(float(value) for value in one) for one in read["centres"])
        if len(made) < len(read["features"]) or any(len(one) != len(made) for one in centres) or not centres:
            raise BadInput(
                "Not a valid clustering: it needs bounds of each column, and a number per column for each centre."
            )
        return cls(made, centres)

    def picture(self) -> Picture:
        """A bar for each column of each centre."""
        names = [one.name for one in self.features]
        drawn = [grouped_bars(f"Cluster {place}", names, {"centre": one}) for place, one in enumerate(self.centres)]
        return stacked("Centres of clusters", drawn, caption="From 0, at the lower bound of a column, to 1.")

    def __str__(self) -> str:
        said = []
        for place, centre in enumerate(self.centres):
            parts = (f"{f.name} {f.shown(f.unscaled(v))}" for f, v in zip(self.features, centre, strict=True))
            said.append(f"cluster {place}: {', '.join(parts)}")
        return "\n".join(said)


@declare(LEARNERS, "clusters", example="learn clusters count=3 integral=20")
class Clusters(Learner):
    """Learn the centres of ``count`` clusters of the columns with numbers, rounded to ``step``."""

    name: ClassVar[str]
    measure: ClassVar[str] = "share of the variance that is between clusters"
    model = Centres
    count: int = parameter("Number of clusters.", least=2, most=100)
    columns: tuple[str, ...] = parameter("Columns to learn from; by default all others.", default=(), clause="on")
    step: float = parameter("Step that figures are rounded to, as a share.", default=0.1, least=FINEST, most=1)

    @property
    def queries(self) -> int:
        """The counts of cells, and sums for every round."""
        return 1 + _ROUNDS

    def frame(self, table: Table) -> Frame:
        """Rows with a missing value are left out."""
        features = features_of(table.card, self.columns, graded=True)
        made = Frame.of(table, features, [one.name for one in features])
        if made.people and (full := ClusterTrainer(self, made).full) < self.count:
            raise DataError(
                f"The rows occupy {number(full, 'cell')} of the grid; {self.count} clusters start in a cell each.",
                hint=f"Ask for {full} clusters, or learn from other columns."
                if full > 1
                else "Learn from other columns.",
            )
        return made

    def trainer(self, frame: Frame) -> ClusterTrainer:
        return ClusterTrainer(self, frame)

    def steps(self) -> tuple[str, ...]:
        return (
            "Numbers are scaled to between 0 and 1 by the declared bounds; the first centres are full cells of a grid.",
            f"{_ROUNDS} rounds of Lloyd's algorithm; centres are rounded to {self.step:g}, and sorted.",
        )


class ClusterTrainer(Trainer):
    """A frame as points."""

    @property
    def full(self) -> int:
        """Number of cells with a row."""
        return len(np.unique(self._cell))

    @cached_property
    def _points(self) -> Figures:
        columns = [one.scaled(self.frame.figures[:, place]) for place, one in enumerate(self.graded)]
        return np.stack(columns, axis=1)

    @cached_property
    def _shape(self) -> tuple[int, ...]:
        """The first columns have cells, as many of them as there is room for."""
        columns = self._points.shape[1]
        most = int(np.log(_MOST_CELLS) / np.log(_CELLS))
        return tuple(_CELLS if place < most else 1 for place in range(columns))

    @cached_property
    def _cell(self) -> NDArray[np.int64]:
        shape = np.array(self._shape)
        at = np.minimum((self._points * shape).astype(np.int64), shape - 1)
        return np.asarray(np.ravel_multi_index(tuple(at.T), self._shape), np.int64)

    def train(self, rows: Rows, tell: Tell) -> Centres:
        """Each round moves a centre to the mean of what is nearest to it; one that has nothing stays."""
        points = self._points[rows]
        size = points.shape[1]
        counts = np.bincount(self._cell[rows], minlength=int(np.prod(self._shape))).astype(np.float64)
        centres = self._first(np.maximum(tell(counts, 1.0), 0.0))
        for _ in range(_ROUNDS):
            near = _nearest(points, centres)
            sums = np.zeros((len(centres), size + 1))
            sums[:, 0] = np.bincount(near, minlength=len(centres))
            for place in range(size):
                sums[:, place + 1] = np.bincount(near, points[:, place], len(centres))
            sums = tell(sums, float(size + 1))
            many = sums[:, :1]
            centres = np.where(many >= 1, np.clip(sums[:, 1:] / np.maximum(many, 1.0), 0, 1), centres)
        rounded = sorted(
            tuple(min(round_to_step(float(one), self.learner.step), 1.0) for one in centre) for centre in centres
        )
        return Centres(self.graded, tuple(rounded))

    def score(self, model: Centres, rows: Rows) -> float:
        """One less the squared distances to the nearest centres over those to the mean."""
        points, centres = self._points[rows], np.array(model.centres)
        if not len(rows):
            return 0.0
        spread = float(((points - points.mean(axis=0)) ** 2).sum())
        left = float(((points - centres[_nearest(points, centres)]) ** 2).sum())
        return 1 - left / spread if spread else 0.0

    def _first(self, counts: Figures) -> Figures:
        """Middles of cells: the fullest, and then by count times squared distance to those before."""
        shape = np.array(self._shape)
        full = np.flatnonzero(counts > 0) if (counts > 0).any() else np.arange(len(counts))
        middles = (np.stack(np.unravel_index(full, self._shape), axis=1) + 0.5) / shape
        weights = np.maximum(counts[full], 1e-9)
        chosen = [int(np.argmax(weights))]
        far = ((middles - middles[chosen[0]]) ** 2).sum(axis=1)
        while len(chosen) < min(self.learner.count, len(full)):
            chosen.append(int(np.argmax(weights * far)))
            far = np.minimum(far, ((middles - middles[chosen[-1]]) ** 2).sum(axis=1))
        return np.asarray(middles[chosen], np.float64)


def _nearest(points: Figures, centres: Figures) -> NDArray[np.int64]:
    """The number of the nearest centre, the first of several."""
    far = (centres**2).sum(axis=1) - 2 * points @ centres.T
    return np.asarray(np.argmin(far, axis=1), np.int64)
