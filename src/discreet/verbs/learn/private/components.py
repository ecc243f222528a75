"""Principal components under differential privacy: the directions in which numbers vary most, from noisy products."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from discreet.core.catalogue import declare, parameter
from discreet.core.document import fields
from discreet.core.families import PRIVATE_LEARNERS
from discreet.core.report import Picture, bars, stacked
from discreet.errors import BadInput
from discreet.verbs.learn.frame import Figures, NumberFeature, as_arrow, cells_of, plain, read_feature
from discreet.verbs.learn.private.coding import FINE, Codes
from discreet.verbs.learn.private.learner import Fitted, PrivateLearner
from discreet.verbs.learn.private.meter import Lesson

_FEWEST = 4.0
"""Least number of rows for a model, in deviations of the noise."""


@dataclass(frozen=True)
class Components:
    """Principal components, as plain data: numbers go from -1 to 1 between their declared bounds."""

    kind: ClassVar[str] = "components"
    features: tuple[NumberFeature, ...]
    means: tuple[float, ...]
    components: tuple[tuple[float, ...], ...]
    """Directions of length 1, that of the largest variance first."""
    shares: tuple[float, ...]
    """Share of the variance in each direction."""

    def transform(self, rows: Any) -> pa.Table:
        """The coordinates of each row, a column a component; NULL where a value is missing."""
        table = as_arrow(rows)
        numbers = [2 * one.scaled(one.figures(cells_of(table, one.name))) - 1 for one in self.features]
        found = (np.stack(numbers, axis=1) - np.array(self.means)) @ np.array(self.components).T
        names = [f"component {place}" for place in range(1, len(self.components) + 1)]
        return pa.table([pa.array(one, from_pandas=True) for one in found.T], names=names)

    def to_dict(self) -> dict[str, Any]:
        """This as plain data that ``core/document.py`` can write."""
        names = ("features", "means", "components", "shares")
        return {"kind": self.kind, **{name: plain(getattr(self, name)) for name in names}}

    @classmethod
    def from_dict(cls, data: object) -> Components:
        """The model that ``to_dict`` wrote, read back strictly."""
        read = fields(data, "components", kind=str, features=list, means=list, components=list, shares=list)
        made = tuple(one for one in map(read_feature, read["features"]) if isinstance(one, NumberFeature))
        lines = [read["means"], *read["components"]]
        sizes = {len(one) if isinstance(one, list) else -1 for one in lines}
        if sizes != {len(made)} or len(made) < len(read["features"]) or len(read["shares"]) != len(read["components"]):
            raise BadInput(
                "These are not components: columns need bounds, and each component a number for every column."
            )
        means, *components = (tuple(float(value) for value in one) for one in lines)
        return cls(made, means, tuple(components), tuple(float(one) for one in read["shares"]))

    def picture(self) -> Picture:
        """A bar for each column of each component."""
        names = [one.name for one in self.features]
        drawn = [
            bars(f"Component {place}: {share:.0%} of the variance", names, one)
            for place, (one, share) in enumerate(zip(self.components, self.shares, strict=True), 1)
        ]
        return stacked("Principal components", drawn, caption="Weights of columns from -1 to 1 between their bounds.")

    def __str__(self) -> str:
        said = []
        for place, (one, share) in enumerate(zip(self.components, self.shares, strict=True), 1):
            parts = ", ".join(f"{value:+.3f} {f.name}" for f, value in zip(self.features, one, strict=True))
            said.append(f"component {place} ({share:.0%} of the variance): {parts}")
        return "\n".join(said)


@declare(
    PRIVATE_LEARNERS,
    "pca",
    kw_only=True,
    example="learn pca count=2 epsilon=1",
    paper="Dwork, Talwar, Thakurta, Zhang 2014",
)
class PrincipalComponents(PrivateLearner):
    """Learn the ``count`` principal components of columns with numbers; rows with a missing value are left out.

    Numbers go from -1 to 1 between their declared bounds. Sums of products of all pairs are measured with noise; the
    covariance and its largest directions follow from them.
    """

    name: ClassVar[str]
    only_numbers: ClassVar[bool] = True
    count: int = parameter("Number of components.", default=2, least=1, most=100)

    def fit(self, lesson: Lesson) -> Fitted:
        many, rows = len(lesson.codings), lesson.rows

        def entries(part: slice) -> Codes:
            codes = np.stack([one[part].astype(np.int64) for one in rows.columns], axis=1)
            values = np.array([one.values for one in lesson.codings])
            known = np.asarray((codes < values).all(axis=1), np.int64)
            numbers = np.concatenate([np.full((len(codes), 1), FINE), 2 * codes - FINE], axis=1)
            return np.asarray(numbers * known[:, None], np.int64)

        pairs = np.stack(np.triu_indices(many + 1))
        noisy = lesson.meter.products(entries, pairs, FINE, many + 1, Fraction(1))
        matrix = np.zeros((many + 1, many + 1))
        matrix[pairs[0], pairs[1]] = noisy.sums
        matrix = np.triu(matrix) + np.triu(matrix, 1).T
        held = max(float(matrix[0, 0]), 1.0)
        means = np.clip(matrix[0, 1:] / held, -1.0, 1.0)
        values, vectors = np.linalg.eigh(matrix[1:, 1:] / held - np.outer(means, means))
        order = np.argsort(-values, kind="stable")[: self.count]
        total = max(float(np.maximum(values, 0.0).sum()), 1e-12)
        directions = vectors[:, order].T
        signs = np.where(directions[np.arange(len(order)), np.abs(directions).argmax(axis=1)] < 0, -1.0, 1.0)
        features = tuple(one.feature for one in lesson.codings if isinstance(one.feature, NumberFeature))
        model = Components(
            features,
            _numbers(means),
            tuple(_numbers(one) for one in directions * signs[:, None]),
            _numbers(np.maximum(values[order], 0.0) / total),
        )
        return Fitted(model, {}, bool(matrix[0, 0] < _FEWEST * noisy.deviation))

    def how(self) -> tuple[str, ...]:
        """The steps of learning."""
        return ("sums of products of all pairs of columns were measured with exact noise; components follow from them",)


def _numbers(figures: Figures) -> tuple[float, ...]:
    return tuple(round(float(one), 12) for one in figures)
