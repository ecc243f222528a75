"""What a way of learning is, and what it learns: models that are plain data, so that equal models are equal values.

A model is integrally private when many sets of people give the very same one. No two samples give the same mean, to
all digits; so whatever is learnt is put on a public grid: thresholds at declared steps, coefficients and centres
rounded, everything in one order. What is coarser recurs more often and says less.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from hashlib import sha256
from typing import Any, ClassVar, Protocol, TypeAlias, runtime_checkable

import numpy as np
import pyarrow as pa

from discreet.core.document import dumps
from discreet.core.report import Picture
from discreet.core.table import Table
from discreet.noise.laplace import DiscreteLaplace
from discreet.verbs.learn.frame import Figures, Frame, Rows

Tell: TypeAlias = Callable[[Figures, float], Figures]
"""Gives sums over rows to whoever learns: as they are, or with noise. The number says how much one row moves them, all
changes added up."""
_UNIT = 1 << 20
FINEST = 1e-12
"""The smallest step: figures are written with so many digits."""


class Model(Protocol):
    """Something that was learnt."""

    def to_dict(self) -> dict[str, Any]:
        """This as plain data that ``core/document.py`` can write; equal models give equal data."""

    def predict(self, rows: pa.Table) -> pa.Array[Any]:
        """What the model says of each row; NULL where it says nothing."""

    def picture(self) -> Picture:
        """A drawing of it."""


class Trainer(Protocol):
    """A frame made ready to be learnt from again and again."""

    @property
    def frame(self) -> Frame:
        """The rows."""

    def train(self, rows: Rows, tell: Tell) -> Model:
        """What is learnt from these rows: a function of them and of what the card declares, and of nothing else."""

    def score(self, model: Any, rows: Rows) -> float:
        """How well a model does on these rows, the more the better."""


@runtime_checkable
class Learner(Protocol):
    """A way of learning."""

    name: ClassVar[str]
    """What the command line calls it."""
    measure: ClassVar[str]
    """What ``Trainer.score`` measures."""

    @property
    def queries(self) -> int:
        """How often sums are asked for in learning one model."""

    def frame(self, table: Table) -> Frame:
        """The rows to learn from."""

    def trainer(self, frame: Frame) -> Trainer:
        """The same made ready."""

    def parameters(self) -> Mapping[str, Any]:
        """All that the result hangs on but the rows, as plain data."""

    def steps(self) -> tuple[str, ...]:
        """How it learns, as sentences."""


def exactly(sums: Figures, moved: float) -> Figures:
    """Sums as they are."""
    return sums


@dataclass(frozen=True)
class Noisily:
    """Sums with Laplace noise, so that all that is told in learning one model loses ``epsilon`` for each person.

    Why this is private: sums are counted in 2**-20, and rounding moves each by less than one more; noise of scale
    sensitivity / share is ``share``-differentially private (``noise/laplace.py``), and shares add up to epsilon.
    """

    epsilon: Fraction
    queries: int
    rows: int
    """How many rows a person may have."""

    def __call__(self, sums: Figures, moved: float) -> Figures:
        """The sums with noise."""
        sensitivity = self.rows * Fraction(moved) * _UNIT + sums.size
        noise = DiscreteLaplace(sensitivity * self.queries / self.epsilon)
        told: Figures = noise.add_all(np.rint(sums * _UNIT).astype(np.int64)) / _UNIT
        return told


def digest_of(model: Model) -> str:
    """What tells a model from any other."""
    return sha256(dumps(model.to_dict()).encode()).hexdigest()


def on_steps(value: float, step: float) -> float:
    """``value`` rounded to a multiple of ``step``, and never minus zero."""
    return float(f"{round(value / step) * step:.12g}") + 0.0
