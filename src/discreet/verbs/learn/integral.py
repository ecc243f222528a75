"""Parameters of learning a model with integral privacy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from discreet.core.catalogue import check_parameters, parameter, parameters_of
from discreet.core.exact import Number
from discreet.core.families import LEARNERS
from discreet.core.text import number
from discreet.errors import BadInput, DataError
from discreet.noise.parameters import whole
from discreet.verbs.learn.learner import Learner

Choose = Literal["accurate", "recurrent", "first"]
_LEAST = 2
SEARCHED = ("integral", "sample", "tries", "choose", "test")
"""What a recipe tells of the search, beside the way of learning."""


@dataclass(frozen=True)
class Learn:
    """A model that is integrally private: at least ``integral`` different sets of people give it, and nobody is in all
    of them.

    ``tries`` samples are drawn, of a share ``sample`` of the people (of several shares in turn), and a model is learnt
    from each. Of those that recur often enough, with nobody in all of their samples, the most ``accurate`` on the
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
            raise BadInput(f"{self.learner!r} is no way of learning.", hint='Such as DecisionTree("income").')
        check_parameters(self)
        whole(self.tries, "tries", self.integral)
        if not self.shares or not all(isinstance(one, float) and 0 < one < 1 for one in self.shares):
            raise BadInput(f"sample is a share of the people between 0 and 1, or several, got {self.sample!r}.")

    @property
    def name(self) -> str:
        """What the recipe calls it."""
        return f"learn {self.learner.name}"

    @property
    def shares(self) -> tuple[float, ...]:
        """The sizes of samples, which take turns."""
        return self.sample if isinstance(self.sample, tuple) else (self.sample,)

    def sizes(self, people: int) -> tuple[int, ...]:
        """How many of so many people are in a sample; an error if there are not enough different samples of them."""
        made = tuple(max(1, round(share * people)) for share in self.shares)
        if people < _LEAST or any(size >= people or not _ways(people, size, self.integral) for size in made):
            raise DataError(
                f"Of {number(people, 'person', 'people')} there are not {self.integral} different samples.",
                hint="Learn from more people, or ask for fewer: integral.",
            )
        return made

    def parameters(self) -> Mapping[str, Any]:
        """For the recipe: all that the result hangs on but the rows and the samples."""
        said = {name: getattr(self, name) for name in SEARCHED}
        return {**self.learner.parameters(), **said, "sample": list(self.shares)}


def learner_of(name: str, parameters: Mapping[str, Any]) -> Learner:
    """The learner that has these ``Learner.parameters``."""
    known = {one.name for one in parameters_of(LEARNERS.entry(name).kind)} if name in LEARNERS.names() else set()
    if not set(parameters) <= known:
        raise BadInput(f"{name!r} with {', '.join(parameters)} is no learner.")
    made: Learner = LEARNERS.entry(name).kind(
        **{key: tuple(value) if isinstance(value, list) else value for key, value in parameters.items()}
    )
    return made


def _ways(people: int, size: int, least: int) -> bool:
    """Whether ``size`` of ``people`` can be drawn in at least so many ways: as far as it takes to know, no further."""
    found = 1
    for place in range(min(size, people - size)):
        if found >= least:
            break
        found = found * (people - place) // (place + 1)
    return found >= least
