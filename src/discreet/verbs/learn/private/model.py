"""Additive models as readable data: a table or a slope for each column, whose contributions are summed.

Naive Bayes, logistic regression, linear regression and boosted additive models are all of this form, so one model
predicts for all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from discreet.core.document import fields
from discreet.core.report import Picture, bars
from discreet.errors import BadInput
from discreet.verbs.learn.frame import (
    CategoryFeature,
    Feature,
    Figures,
    NumberFeature,
    as_arrow,
    cells_of,
    plain,
    read_feature,
)
from discreet.verbs.learn.private.coding import Coding

_SHOWN = 30


@dataclass(frozen=True)
class Term:
    """Contribution of one column to the score of each class but the first, or to a predicted number."""

    feature: Feature
    edges: tuple[float, ...] = ()
    weights: tuple[tuple[float, ...], ...] = ()
    """For each code (value or interval, the last for a missing value), the contribution to each score."""
    slope: tuple[float, ...] = ()
    """For each score, the coefficient of a number, which goes from -1 to 1 between its bounds."""

    @property
    def coding(self) -> Coding:
        """The coding that maps values to weights."""
        return Coding(self.feature, self.edges)

    def added(self, rows: pa.Table, scores: int) -> Figures:
        """The contributions to each row's scores: rows × scores."""
        cells = cells_of(rows, self.feature.name)
        found = np.zeros((rows.num_rows, scores))
        if self.weights:
            found += np.array(self.weights)[self.coding.codes(cells)]
        if self.slope:
            assert isinstance(self.feature, NumberFeature)  # noqa: S101  # checked when it was made
            number = np.nan_to_num(2 * self.feature.scaled(self.feature.figures(cells)) - 1)
            found += number[:, None] * np.array(self.slope)
        return found

    def lines(self) -> list[tuple[str, tuple[float, ...]]]:
        """Each weight with the value that it belongs to."""
        name, coding = self.feature.name, self.coding
        found = [(f"{name} = {coding.label(code)}", one) for code, one in enumerate(self.weights)]
        return [*found, *([(f"{name}, from -1 to 1", self.slope)] if self.slope else [])]

    def to_dict(self) -> dict[str, Any]:
        """This as plain data."""
        return {
            "feature": plain(self.feature),
            "edges": list(self.edges),
            "weights": plain(self.weights),
            "slope": list(self.slope),
        }

    @classmethod
    def from_dict(cls, data: object, scores: int) -> Term:
        """The term that ``to_dict`` wrote, read back strictly."""
        read = fields(data, "a term", feature=dict, edges=list, weights=list, slope=list)
        made = cls(
            read_feature(read["feature"]),
            _numbers(read["edges"]),
            tuple(map(_numbers, read["weights"])),
            _numbers(read["slope"]),
        )
        sizes = {len(one) for one in (*made.weights, *([made.slope] if made.slope else []))}
        numbers = isinstance(made.feature, NumberFeature)
        if sizes - {scores} or (made.weights and len(made.weights) != made.coding.size):
            raise BadInput(f"The term of {made.feature.name!r} needs one weight per value.")
        if (not numbers and (made.slope or made.edges)) or list(made.edges) != sorted(set(made.edges)):
            raise BadInput(f"The term of {made.feature.name!r} is not a valid function of its values.")
        return made


@dataclass(frozen=True)
class AdditiveModel:
    """A model whose score is a sum over columns: it predicts one of several classes, or a number."""

    kind: ClassVar[str] = "additive"
    target: Feature
    base: tuple[float, ...]
    """The score of each class but the first, or the number, without any contribution."""
    terms: tuple[Term, ...]

    @property
    def classes(self) -> tuple[Any, ...]:
        """The values that it predicts, in the order of ``predict_proba``; none: it predicts a number."""
        return self.target.values if isinstance(self.target, CategoryFeature) else ()

    def predict(self, rows: Any) -> pa.Array[Any]:
        """The most likely class for each row, or the number, within its bounds; rows as Arrow or a data frame."""
        scores = self.scores(rows)
        if isinstance(self.target, NumberFeature):
            low, high = self.target.low, self.target.high
            return pa.array(low + (np.clip(scores[:, 0], -1, 1) + 1) / 2 * (high - low))
        best = np.argmax(np.concatenate([np.zeros((len(scores), 1)), scores], axis=1), axis=1)
        found: pa.Array[Any] = pa.array([self.classes[place] for place in best.tolist()])
        return found

    def predict_proba(self, rows: Any) -> pa.Table:
        """The probability of each class for each row, a column a class."""
        if not self.classes:
            raise BadInput(f"{self.target.name!r} is a number, which has no probabilities.", hint="Use predict.")
        scores = self.scores(rows)
        scores = np.concatenate([np.zeros((len(scores), 1)), scores], axis=1)
        odds = np.exp(scores - scores.max(axis=1, keepdims=True))
        shares = odds / odds.sum(axis=1, keepdims=True)
        return pa.table({str(name): shares[:, place] for place, name in enumerate(self.classes)})

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns that it predicts from."""
        return tuple(term.feature.name for term in self.terms)

    def score(self, rows: Any) -> float:
        """Share of rows whose class it predicts; of a number, the share of the variance that it explains (R²).

        The rows have the target, too; those without a declared value of it are left out.
        """
        table = as_arrow(rows)
        truth = self.target.figures(cells_of(table, self.target.name))
        known = ~np.isnan(truth)
        told, truth = self.predict(table.filter(pa.array(known))), truth[known]
        if not len(truth):
            raise BadInput(f"No row has a declared value of {self.target.name!r}.", hint="Give other rows.")
        if isinstance(self.target, CategoryFeature):
            return float((self.target.figures(pa.chunked_array([told])) == truth).mean())
        wrong, spread = ((truth - told.to_numpy()) ** 2).sum(), ((truth - truth.mean()) ** 2).sum()
        return float(1 - wrong / spread) if spread else float(wrong == 0)

    def scores(self, rows: Any) -> Figures:
        """The sums: rows × classes but the first, or rows × 1."""
        table = as_arrow(rows)
        found = np.tile(np.array(self.base), (table.num_rows, 1))
        for term in self.terms:
            found += term.added(table, len(self.base))
        return found

    def to_dict(self) -> dict[str, Any]:
        """This as plain data that ``core/document.py`` can write."""
        terms = [term.to_dict() for term in self.terms]
        return {"kind": self.kind, "target": plain(self.target), "base": list(self.base), "terms": terms}

    @classmethod
    def from_dict(cls, data: object) -> AdditiveModel:
        """The model that ``to_dict`` wrote, read back strictly."""
        read = fields(data, "an additive model", kind=str, target=dict, base=list, terms=list)
        target, base = read_feature(read["target"]), _numbers(read["base"])
        if len(base) != (len(target.values) - 1 if isinstance(target, CategoryFeature) else 1):
            raise BadInput("An additive model needs a base score for each class but the first, or one for a number.")
        return cls(target, base, tuple(Term.from_dict(one, len(base)) for one in read["terms"]))

    def picture(self) -> Picture:
        """The largest weights as bars."""
        lines = sorted(self._lines(), key=lambda one: -abs(one[1]))[:_SHOWN]
        what = f"{self.target.name} = {self.classes[-1]}" if self.classes else self.target.name
        return bars(
            f"What speaks for {what}",
            [name for name, _ in lines] or ["nothing"],
            [round(value, 4) for _, value in lines] or [0.0],
            caption="What each value adds to the score; the largest first.",
        )

    def __str__(self) -> str:
        said = [
            f"  {weights[-1]:+.4g} {'×' if term.slope and weights is term.slope else 'if'} {name}"
            for term in self.terms
            for name, weights in term.lines()
            if weights[-1]
        ]
        what = f"log odds of {self.target.name} = {self.classes[-1]}" if self.classes else self.target.name
        return "\n".join((f"{what}: {self.base[-1]:+.4g}", *said))

    def _lines(self) -> list[tuple[str, float]]:
        return [(name, weights[-1]) for term in self.terms for name, weights in term.lines()]


def _numbers(data: Sequence[object]) -> tuple[float, ...]:
    if not isinstance(data, list | tuple) or not all(
        isinstance(one, int | float) and not isinstance(one, bool) for one in data
    ):
        raise BadInput("Expected a list of finite numbers in a model.")
    return tuple(float(one) for one in data)
