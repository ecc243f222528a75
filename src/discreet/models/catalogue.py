"""All models there are, and the way back from a claim to the model that made it."""

from __future__ import annotations

from typing import Any

from discreet.core.statement import Claim
from discreet.core.table import Table
from discreet.errors import BadInput
from discreet.models.beta_likeness import BetaLikeness, DeltaDisclosure
from discreet.models.closeness import TCloseness
from discreet.models.diversity import AlphaK, EntropyLDiversity, LDiversity, PSensitivity, RecursiveLDiversity
from discreet.models.k_anonymity import KAnonymity, KMap
from discreet.models.model import All, Model
from discreet.models.presence import DeltaPresence
from discreet.models.risk import AverageRisk, JournalistRisk, MarketerRisk, ProsecutorRisk
from discreet.models.uniqueness import PopulationUniqueness

MODELS: tuple[type[Any], ...] = (
    KAnonymity,
    KMap,
    AlphaK,
    PSensitivity,
    LDiversity,
    EntropyLDiversity,
    RecursiveLDiversity,
    TCloseness,
    BetaLikeness,
    DeltaDisclosure,
    DeltaPresence,
    ProsecutorRisk,
    JournalistRisk,
    MarketerRisk,
    AverageRisk,
    PopulationUniqueness,
)
_BY_NAME = {model.name: model for model in MODELS}


def from_claim(claim: Claim, population: Table | None = None) -> Model:
    """The model that makes ``claim``, such as one in the statement of a release; an error if there is none.

    A claim only has the name of a population: give the table again.
    """
    parameters: dict[str, Any] = dict(claim.parameters)
    if claim.name == All.name and set(parameters) == {"models"}:
        parts = [Claim(name, text, dict(said)) for name, text, said in parameters["models"]]
        return All(from_claim(part, population) for part in parts)
    if claim.name not in _BY_NAME:
        raise BadInput(f"“{claim.name}” is no privacy model that is known here; known are {', '.join(_BY_NAME)}.")
    if parameters.get("population") is not None:
        if population is None:
            raise BadInput(f"“{claim}” is about the population {parameters['population']}: give its table.")
        parameters["population"] = population
    try:
        made: Model = _BY_NAME[claim.name](**parameters)
    except TypeError:
        raise BadInput(f"“{claim}” does not have the parameters of {claim.name}.") from None
    if made.claim != claim:
        raise BadInput(f"“{claim}” is not what {claim.name} says with its parameters, which is “{made.claim}”.")
    return made
