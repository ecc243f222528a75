"""What a release promises, to whom, on what evidence (statement); and how it was made (recipe)."""

from __future__ import annotations

import math
import platform
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeAlias, TypeVar

import pyarrow as pa

from discreet._version import __version__
from discreet.core import loss as losses
from discreet.core.document import dumps, fields, loads, texts
from discreet.core.engine import Engine
from discreet.core.exact import exp_upper, rounded
from discreet.core.loss import Approximate, Concentrated, Loss, Pure, Renyi
from discreet.errors import BadInput, NoPromise

_WEAK = 20
"""An epsilon, or a rho, above this protects next to no one: exp(20) is five hundred million."""
_WEAK_DELTA = Fraction(1, 1000)
_T = TypeVar("_T")
Parameter: TypeAlias = bool | int | float | str | tuple["Parameter", ...] | None


class Evidence(Enum):
    """Why a promise may be believed, the strongest first."""

    PROVED = "proved"
    """It follows from a theorem about the method, whatever the data."""
    CALCULATED = "calculated"
    """It follows from a theorem, with figures worked out in floating point: their rounding errors are not proved."""
    CHECKED = "checked"
    """It was tested on what is released, before it left."""
    ESTIMATED = "estimated"
    """It was estimated from a sample by a statistical model, which may not fit."""
    ARGUED = "argued"
    """There is a reason, and neither a proof nor a test."""


_STRONGEST_FIRST = tuple(Evidence)


@dataclass(frozen=True, init=False)
class Claim:
    """A privacy model as data: its name, its parameters, and what it says, such as "5-anonymous on zip"."""

    name: str
    parameters: tuple[tuple[str, Parameter], ...]
    """By name."""
    text: str

    def __init__(self, name: str, text: str, parameters: Mapping[str, Any] | None = None) -> None:
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "text", text)
        pairs = sorted((parameters or {}).items(), key=lambda pair: pair[0])
        object.__setattr__(self, "parameters", tuple((key, _parameter(key, value)) for key, value in pairs))

    def __str__(self) -> str:
        return self.text

    def to_dict(self) -> dict[str, Any]:
        """This as plain data, for JSON."""
        parameters = {key: _as_lists(value) for key, value in self.parameters}
        return {"name": self.name, "parameters": parameters, "text": self.text}

    @classmethod
    def from_dict(cls, data: object) -> Claim:
        """What ``to_dict`` gave, read back strictly."""
        read = fields(data, "a claim", name=str, parameters=dict, text=str)
        return cls(read["name"], read["text"], read["parameters"])


@dataclass(frozen=True)
class Secrecy:
    """What several parties keep from each other while they compute together."""

    parties: tuple[str, ...]
    withstands: tuple[tuple[str, ...], ...]
    """Coalitions that, putting together all they saw, learn no more than their own inputs and the result."""

    def __post_init__(self) -> None:
        known = set(self.parties)
        if len(known) < 2 or len(known) < len(self.parties):
            raise BadInput("Secrecy is between two or more different parties.")
        for coalition in self.withstands:
            if not coalition or not set(coalition) < known:
                named = _listed(coalition) if coalition else "no one"
                raise BadInput(f"A coalition is some of {_listed(self.parties)}, not all; got {named}.")

    def __str__(self) -> str:
        if not self.withstands:
            return f"{_listed(self.parties)} have no secrets from each other."
        coalitions = "; ".join(
            f"{_listed(coalition)} {'together' if len(coalition) > 1 else 'alone'}" for coalition in self.withstands
        )
        return f"Of {_listed(self.parties)}, these learn no more than their own inputs and the result: {coalitions}."

    def to_dict(self) -> dict[str, Any]:
        """This as plain data, for JSON."""
        return {"parties": list(self.parties), "withstands": [list(some) for some in self.withstands]}

    @classmethod
    def from_dict(cls, data: object) -> Secrecy:
        """What ``to_dict`` gave, read back strictly."""
        read = fields(data, "secrecy", parties=list, withstands=list)
        if not all(isinstance(some, list) for some in read["withstands"]):
            raise BadInput("secrecy: withstands must be a list of lists.")
        return cls(texts(read["parties"], "parties"), tuple(texts(some, "withstands") for some in read["withstands"]))


@dataclass(frozen=True)
class Statement:
    """What a release promises to each ``unit``; nothing, when it has no loss, no model and no secrecy."""

    unit: str
    """Who is protected: a person, a patient, a household."""
    loss: Loss | None = None
    models: tuple[Claim, ...] = ()
    secrecy: Secrecy | None = None
    evidence: Evidence = Evidence.ARGUED
    assumes: tuple[str, ...] = ()
    """What must be true for the promise to hold, as full sentences."""
    caveats: tuple[str, ...] = ()
    """What was given up on the way here, as full sentences."""
    replaces: bool = False
    """Whether the loss compares one answer of someone with another, and not being there with not being there."""
    of_holder: bool = False
    """Whether the models keep secrets of anyone who holds the data, which protects no one in it."""

    def __post_init__(self) -> None:
        wrong = [
            name
            for name, fits in {
                "unit": isinstance(self.unit, str) and bool(self.unit.strip()),
                "loss": self.loss is None or isinstance(self.loss, Loss),
                "models": all(isinstance(claim, Claim) for claim in self.models),
                "secrecy": self.secrecy is None or isinstance(self.secrecy, Secrecy),
                "evidence": isinstance(self.evidence, Evidence),
            }.items()
            if not fits
        ]
        if wrong:
            raise BadInput(f"A statement's {_listed(wrong)} {'is' if len(wrong) == 1 else 'are'} of the wrong type.")

    @property
    def private(self) -> bool:
        """Whether anything is promised to those whose data it is, or between parties."""
        return self.loss is not None or self.secrecy is not None or (bool(self.models) and not self.of_holder)

    @property
    def promises(self) -> bool:
        """Whether anything is promised to anyone."""
        return self.private or bool(self.models)

    def for_group(self, k: int) -> Statement:
        """What is promised to any ``k`` units together. Privacy models speak of one unit, and are dropped."""
        if self.loss is None:
            losses.for_group(Pure(0), k)  # a bad k is an error whatever is promised
        if k == 1:
            return self
        return replace(
            self,
            unit=f"group of {k} × {self.unit}",
            loss=None if self.loss is None else losses.for_group(self.loss, k),
            models=(),
            caveats=self.caveats + _dropped(self.models, "protects one unit at a time, not groups"),
        )

    def noted(self, notes: tuple[str, ...]) -> Statement:
        """The same promise with further caveats."""
        return replace(self, caveats=self.caveats + notes) if notes else self

    @property
    def lines(self) -> tuple[str, ...]:
        """What is promised in a line, and what is assumed and to be noted in a line each."""
        notes = [f"Assumed: {sentence}" for sentence in self.assumes]
        return (self._promised, *notes, *(f"Note: {sentence}" for sentence in self.caveats))

    def __str__(self) -> str:
        return " ".join(self.lines)

    @property
    def _promised(self) -> str:
        said = []
        if self.loss is not None:
            said.append(f"For each {self.unit}: {self.loss}. {_meaning(self.loss, self._compared)}")
        if self.models:
            same = "of the same data" if self.of_holder else "about the same people"
            said.append(
                f"For each {self.unit}, the release is {_listed([claim.text for claim in self.models])}. "
                f"This holds for this release alone: combined with another release {same}, it may not hold."
            )
        if self.secrecy is not None:
            said.append(str(self.secrecy))
        if said:
            said.append(_EVIDENCE[self.evidence])
        else:
            said.append("This release makes no privacy promise.")
        return " ".join(said)

    @property
    def _compared(self) -> str:
        if self.replaces:
            return f"Whatever any one {self.unit} answers,"
        return f"With or without the data of any one {self.unit},"

    def to_dict(self) -> dict[str, Any]:
        """This as plain data, for JSON."""
        return {
            "unit": self.unit,
            "loss": None if self.loss is None else self.loss.to_dict(),
            "models": [claim.to_dict() for claim in self.models],
            "secrecy": None if self.secrecy is None else self.secrecy.to_dict(),
            "evidence": self.evidence.value,
            "assumes": list(self.assumes),
            "caveats": list(self.caveats),
            **{name: True for name in _SELDOM if getattr(self, name)},
        }

    @classmethod
    def from_dict(cls, data: object) -> Statement:
        """What ``to_dict`` gave, read back strictly."""
        seldom = [name for name in _SELDOM if isinstance(data, Mapping) and name in data]
        read = fields(
            data,
            "a statement",
            **dict.fromkeys(seldom, bool),
            unit=str,
            loss=dict | None,
            models=list,
            secrecy=dict | None,
            evidence=str,
            assumes=list,
            caveats=list,
        )
        if read["evidence"] not in {evidence.value for evidence in Evidence}:
            *most, last = (evidence.value for evidence in Evidence)
            raise BadInput(f"Evidence is {', '.join(most)} or {last}, not {read['evidence']!r}.")
        return cls(
            read["unit"],
            None if read["loss"] is None else losses.from_dict(read["loss"]),
            tuple(Claim.from_dict(claim) for claim in read["models"]),
            None if read["secrecy"] is None else Secrecy.from_dict(read["secrecy"]),
            Evidence(read["evidence"]),
            texts(read["assumes"], "assumes"),
            texts(read["caveats"], "caveats"),
            **{name: read[name] for name in seldom},
        )


def sequential(*statements: Statement) -> Statement:
    """What is promised to each unit by several releases about the same data, taken together.

    Losses add up. Privacy models do not compose: two tables, each 2-anonymous, can single out a person
    between them; so all models are dropped, and the statement says so.
    """
    if len(statements) == 1:
        return statements[0]
    models = _once(claim for statement in statements for claim in statement.models)
    why = "does not survive a second release about the same people"
    return _composed(statements, losses.sequential, (), (), _dropped(models, why))


def parallel(*statements: Statement) -> Statement:
    """What is promised to each unit by several releases, each about a part of the data.

    Every unit is in one part only, and in which depends on no one else: a split at the median is none.

    The largest loss counts. A privacy model that every part has holds for each unit still, because nothing
    else is published about it; others are dropped, and the statement says so.
    """
    if len(statements) == 1:
        return statements[0]
    models = _once(claim for statement in statements for claim in statement.models)
    shared = tuple(claim for claim in models if all(claim in statement.models for statement in statements))
    missing = _dropped([claim for claim in models if claim not in shared], "does not hold in every part")
    disjoint = tuple(
        f"Which one part a {statement.unit} is in depends on that {statement.unit} alone."
        for statement in statements[:1]
    )
    return _composed(statements, losses.parallel, shared, disjoint, missing)


_SELDOM = ("replaces", "of_holder")
"""What is written down only where it is so."""
_EVIDENCE = {
    Evidence.PROVED: "This is proved: it follows from the method, whatever the data.",
    Evidence.CALCULATED: "This is calculated: it follows from the method, with figures computed in floating point.",
    Evidence.CHECKED: "This was checked on the released data.",
    Evidence.ESTIMATED: "This is estimated by a statistical model, and neither proved nor checked.",
    Evidence.ARGUED: "This is argued, and neither proved nor checked.",
}


def _composed(
    statements: tuple[Statement, ...],
    compose: Callable[[Iterable[Loss]], Loss],
    models: tuple[Claim, ...],
    assumes: tuple[str, ...],
    caveats: tuple[str, ...],
) -> Statement:
    if not statements:
        raise BadInput("There is no statement to compose.")
    units = _once(statement.unit for statement in statements)
    if len(units) > 1:
        raise NoPromise(
            f"Statements about different units ({_listed(units)}) do not compose.",
            hint="Restate them for the same unit first.",
        )
    compared = _once(statement.replaces for statement in statements if statement.loss is not None)
    if len(compared) > 1:
        raise NoPromise(
            "A loss for a person's answer (local) and a loss for a person's presence (central) do not compose.",
            hint="Hiding an answer does not hide who took part. State them separately.",
        )
    if len({statement.of_holder for statement in statements}) > 1:
        raise NoPromise(
            "Promises to a data holder and promises to people do not compose.",
            hint="Consider each release separately.",
        )
    known = [statement.loss for statement in statements if statement.loss is not None]
    bounded = len(known) == len(statements)
    if known and not bounded:
        caveats += ("Part of what is released has no bound on its loss, so there is none for the whole.",)
    secrecies = {statement.secrecy for statement in statements}
    if len(secrecies) > 1:
        caveats += ("The parts have different secrecy between parties, so none is promised for the whole.",)
    return Statement(
        units[0],
        compose(known) if bounded else None,
        models,
        secrecies.pop() if len(secrecies) == 1 else None,
        max((statement.evidence for statement in statements), key=_STRONGEST_FIRST.index),
        _once(sentence for statement in statements for sentence in statement.assumes) + assumes,
        _once(sentence for statement in statements for sentence in statement.caveats) + caveats,
        compared == (True,),
        statements[0].of_holder,
    )


def _dropped(claims: Iterable[Claim], why: str) -> tuple[str, ...]:
    return tuple(f"“{claim.text}” is no longer promised: {claim.name} {why}." for claim in claims)


def _meaning(loss: Loss, compared: str) -> str:
    """What a loss means to someone who has to decide."""
    match loss:
        case Pure(epsilon=epsilon) | Approximate(epsilon=epsilon) if epsilon > 100:
            return f"{compared} an outcome may be likelier by a factor too large to protect anyone."
        case Pure(epsilon=epsilon):
            return f"{compared} no outcome is more than {_factor(epsilon)} times as likely."
        case Approximate(epsilon=epsilon, delta=delta):
            return (
                f"{compared} no outcome is more than {_factor(epsilon)} times as likely, "
                f"plus a chance of {rounded(delta)}."
            )
        case Concentrated():
            return (
                f"{compared} the odds of an outcome shift no more than under Gaussian noise of that strength "
                "(zero-concentrated differential privacy)."
            )
        case Renyi():
            return f"{compared} outcomes differ by no more than this Rényi divergence, order by order."


def weakness(loss: Loss) -> str:
    """Why a loss protects next to no one, if it does not; else nothing."""
    epsilon = loss.epsilon if isinstance(loss, Pure | Approximate) else Fraction(0)
    if epsilon > _WEAK or (isinstance(loss, Concentrated) and loss.rho > _WEAK):
        return f"{loss} promises almost nothing: any outcome may reveal whether a person is in the data."
    if isinstance(loss, Approximate) and loss.delta > _WEAK_DELTA:
        return (
            f"δ = {rounded(loss.delta)} promises almost nothing: with that probability a person's whole "
            "record may be revealed. Choose δ far below 1 / number of people, such as 1e-9."
        )
    return ""


@lru_cache(maxsize=256)
def _factor(epsilon: Fraction) -> str:
    """How many times as likely; remembered, since most questions are asked for one of a few epsilons."""
    return rounded(exp_upper(epsilon), 3)


def _listed(words: Iterable[str]) -> str:
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last


def _once(items: Iterable[_T]) -> tuple[_T, ...]:
    return tuple(dict.fromkeys(items))


def _parameter(key: str, value: object) -> Parameter:
    if isinstance(value, list | tuple):
        return tuple(_parameter(key, item) for item in value)
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    raise BadInput(f"The parameter {key} of a claim must be plain data, got {value!r}.")


def _as_lists(value: Parameter) -> object:
    return [_as_lists(item) for item in value] if isinstance(value, tuple) else value


# -- how a release was made


def versions(engine: Engine | None = None) -> dict[str, str]:
    """What made a release, each with its version."""
    made = {"discreet": __version__, "python": platform.python_version(), "pyarrow": pa.__version__}
    return made if engine is None else made | {"engine": engine.title}


@dataclass(frozen=True)
class Recipe:
    """A method, its parameters and what it ran on. Transparency is safe: privacy never depends on a secret
    method, only on secret randomness; so a recipe with a ``seed`` discloses the randomness, and says so."""

    method: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Anything ``core/document.py`` can write exactly."""
    steps: tuple[str, ...] = ()
    seed: int | None = None
    """For plainly non-private masking research: anyone who knows it can repeat every random choice."""
    versions: Mapping[str, str] = field(default_factory=versions)
    from_data: tuple[str, ...] = ()
    """What was taken from the data although a person should have declared it, such as "bounds of age"."""

    def __post_init__(self) -> None:
        if self.seed is not None and type(self.seed) is not int:
            raise BadInput(f"A seed is an integer, got {self.seed!r}.")
        for name in ("parameters", "versions"):  # a copy no one else holds, and known to be writable
            object.__setattr__(self, name, loads(dumps(dict(getattr(self, name)))))

    def __str__(self) -> str:
        lines = [f"method: {self.method}"]
        lines += [f"{name}: {value}" for name, value in self.parameters.items() if value not in (None, "", [], {})]
        lines += [f"step {number}: {step}" for number, step in enumerate(self.steps, 1)]
        if self.seed is not None:
            lines.append(f"seed: {self.seed} (every random choice can be repeated)")
        if self.from_data:
            lines.append(f"taken from the data: {', '.join(self.from_data)}")
        lines.append("with " + ", ".join(f"{name} {value}" for name, value in self.versions.items()))
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """This as plain data, for JSON."""
        return {
            "method": self.method,
            "parameters": dict(self.parameters),
            "steps": list(self.steps),
            "seed": self.seed,
            "versions": dict(self.versions),
            "from_data": list(self.from_data),
        }

    @classmethod
    def from_dict(cls, data: object) -> Recipe:
        """What ``to_dict`` gave, read back strictly."""
        read = fields(
            data, "a recipe", method=str, parameters=dict, steps=list, seed=int | None, versions=dict, from_data=list
        )
        texts(list(read["versions"].values()), "versions")
        return cls(**(read | {name: texts(read[name], name) for name in ("steps", "from_data")}))
