"""Learners, trainers and models, and the parameters of learning with integral privacy.

A model is integrally private when many sets of people give the very same one. No two samples give the same mean, to
all digits; so whatever is learnt is put on a public grid: thresholds at declared steps, coefficients and centres
rounded, everything in one order. What is coarser recurs more often and says less. Models are plain data, so that equal
models are equal values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol, TypeAlias

import numpy as np
import pyarrow as pa

from discreet.core.catalogue import Checked, check_parameters, parameter, parameters_of
from discreet.core.document import dumps
from discreet.core.exact import Number, whole
from discreet.core.families import LEARNERS
from discreet.core.report import Picture
from discreet.core.table import Table
from discreet.core.text import number
from discreet.errors import BadInput, DataError
from discreet.noise.laplace import DiscreteLaplace
from discreet.verbs.learn.frame import Figures, Frame, NumberFeature, Rows

Tell: TypeAlias = Callable[[Figures, float], Figures]
"""Gives sums over rows to anyone who learns: as they are, or with noise. The number says how much one row moves them,
all changes added up."""
_UNIT = 1 << 20
FINEST = 1e-12
"""Smallest step that figures are rounded to: they are written with 12 digits."""


class Model(Protocol):
    """Interface of what is learnt."""

    def to_dict(self) -> dict[str, Any]:
        """This as plain data that ``core/document.py`` can write; equal models give equal data."""

    def predict(self, rows: pa.Table) -> pa.Array[Any]:
        """Prediction for each row; NULL where the model says nothing."""

    @classmethod
    def from_dict(cls, data: object) -> Model:
        """The model that ``to_dict`` wrote, read back strictly."""

    def picture(self) -> Picture:
        """A drawing of it."""


@dataclass(frozen=True)
class Trainer:
    """A frame made ready to be learnt from again and again."""

    learner: Any
    frame: Frame

    @cached_property
    def graded(self) -> tuple[NumberFeature, ...]:
        """The features that are numbers."""
        return tuple(one for one in self.frame.features if isinstance(one, NumberFeature))

    def train(self, rows: Rows, tell: Tell) -> Model:
        """The model of these rows: a function of them and of what the card declares, and of nothing else."""
        raise NotImplementedError

    def score(self, model: Any, rows: Rows) -> float:
        """Score of a model on these rows; larger is better."""
        raise NotImplementedError


class Learner(Checked):
    """Base of learners, which are declared; the model of a learner has its name as ``kind``."""

    name: ClassVar[str]
    """Its name on the command line."""
    measure: ClassVar[str]
    """The measure of ``Trainer.score``."""
    model: ClassVar[type[Model]]

    @property
    def queries(self) -> int:
        """Number of times that sums are asked for in learning one model."""
        return 1

    def frame(self, table: Table) -> Frame:
        """The rows to learn from."""
        raise NotImplementedError

    def trainer(self, frame: Frame) -> Trainer:
        """The trainer of a frame."""
        raise NotImplementedError

    def steps(self) -> tuple[str, ...]:
        """The steps of learning, as sentences."""
        raise NotImplementedError

    def parameters(self) -> Mapping[str, Any]:
        """All that the result depends on but the rows, as plain data; columns only if they are named."""
        kind: Any = type(self)
        said = {one.name: getattr(self, one.name) for one in parameters_of(kind)}
        columns = said.pop("columns")
        return said | ({"columns": list(columns)} if columns else {})


def exact_sums(sums: Figures, moved: float) -> Figures:
    """Sums as they are."""
    return sums


@dataclass(frozen=True)
class NoisySums:
    """Sums with Laplace noise: learning one model loses ``epsilon`` for each person.

    Why this is private: sums are counted in 2**-20, and rounding moves each by less than one more; noise of scale
    sensitivity / share is ``share``-differentially private (``noise/laplace.py``), and shares add up to epsilon.
    """

    epsilon: Fraction
    queries: int
    rows: int
    """Number of rows that a person may have."""

    def __call__(self, sums: Figures, moved: float) -> Figures:
        """The sums with noise."""
        sensitivity = self.rows * Fraction(moved) * _UNIT + sums.size
        noise = DiscreteLaplace(sensitivity * self.queries / self.epsilon)
        return np.asarray(noise.add_all(np.rint(sums * _UNIT).astype(np.int64)) / _UNIT)


def digest_of(model: Model) -> str:
    """Digest of a model."""
    return sha256(dumps(model.to_dict()).encode()).hexdigest()


def round_to_step(value: float, step: float) -> float:
    """``value`` rounded to a multiple of ``step``, and never minus zero."""
    return float(f"{round(value / step) * step:.12g}") + 0.0


Choose = Literal["accurate", "recurrent", "first"]
_LEAST = 2
SEARCHED = ("integral", "sample", "tries", "choose", "test")
"""Parameters of the search in a recipe, besides those of the learner."""


@dataclass(frozen=True)
class Learn:
    """A model that is integrally private: at least ``integral`` different sets of people give it, and no one is in all
    of them.

    ``tries`` samples are drawn, of a share ``sample`` of the people (of several shares in turn), and a model is learnt
    from each. Of those that recur often enough, with no one in all of their samples, the most ``accurate`` on the
    people learnt from is released, or the most ``recurrent``; ``first`` stops as soon as there is one.

    A share ``test`` of the people is set aside, for the models to be compared on: with the one that is learnt from all
    others at once, and with one that is differentially private with ``epsilon``. These figures are for the holder.

    With a ``journal``, a file, a search that was stopped goes on where it was, and one that found nothing goes on with
    more ``tries``. It must never leave.
    """

    learner: Learner
    integral: int = parameter(
        "Number of different sets of people that give the same model.", default=20, least=2, spoken=True
    )
    sample: float | tuple[float, ...] = parameter("Share of people in a sample, or several.", default=0.5)
    tries: int = parameter("Number of samples drawn, at least integral.", default=1000, least=2)
    choose: Choose = parameter("Which of the models that recur is released.", default="accurate")
    test: float = parameter("Share of people set aside to compare models on.", default=0.2, above=0, below=1)
    epsilon: Number = parameter("Privacy loss of the model compared with.", default=1, above=0)
    processes: int = parameter("Number of processes that learn at the same time.", default=1, least=1)
    journal: str | Path | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.learner, Learner):
            raise BadInput(f"{self.learner!r} is not a learner.", hint='Such as DecisionTree("income").')
        check_parameters(self)
        whole(self.tries, "tries", self.integral)
        if not self.shares or not all(isinstance(one, float) and 0 < one < 1 for one in self.shares):
            raise BadInput(
                f"sample must be a share of the people between 0 and 1, or a list of them, got {self.sample!r}."
            )

    @property
    def name(self) -> str:
        """Its name in the recipe."""
        return f"learn {self.learner.name}"

    @property
    def shares(self) -> tuple[float, ...]:
        """The sizes of samples, which take turns."""
        return self.sample if isinstance(self.sample, tuple) else (self.sample,)

    def sizes(self, people: int) -> tuple[int, ...]:
        """Sizes of samples, given the number of people; an error if there are too few different samples."""
        made = tuple(max(1, round(share * people)) for share in self.shares)
        if people < _LEAST or any(size >= people or not _ways(people, size, self.integral) for size in made):
            raise DataError(
                f"{number(people, 'person has', 'people have')} fewer than {self.integral} different samples.",
                hint="Learn from more people, or ask for fewer samples (integral).",
            )
        return made

    def parameters(self) -> Mapping[str, Any]:
        """For the recipe: all parameters that determine the result, except rows and samples."""
        said = {name: getattr(self, name) for name in SEARCHED}
        return {**self.learner.parameters(), **said, "sample": list(self.shares)}


def learner_of(name: str, parameters: Mapping[str, Any]) -> Learner:
    """The learner that has these ``Learner.parameters``."""
    known = {one.name for one in parameters_of(LEARNERS.entry(name).kind)} if name in LEARNERS.names() else set()
    if not set(parameters) <= known:
        raise BadInput(f"There is no learner {name!r} with the parameters {', '.join(parameters)}.")
    made: Learner = LEARNERS.entry(name).kind(
        **{key: tuple(value) if isinstance(value, list) else value for key, value in parameters.items()}
    )
    return made


def _ways(people: int, size: int, least: int) -> bool:
    """Whether ``size`` of ``people`` can be drawn in at least ``least`` ways, counting no further than needed."""
    found = 1
    for place in range(min(size, people - size)):
        if found >= least:
            break
        found = found * (people - place) // (place + 1)
    return found >= least
