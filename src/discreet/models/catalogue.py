"""Privacy models from what people write, such as ``k=5`` or ``l=3 on disease``, and from the claims they made."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from discreet.core.card import Card, Role
from discreet.core.families import MODELS
from discreet.core.statement import Claim
from discreet.core.table import Table
from discreet.engines.read import parse_address
from discreet.errors import BadInput
from discreet.models.model import All, Model


def parse(text: str, card: Card) -> Model:
    """The model that ``text`` names, on the columns of ``card``.

    ``on COLUMN`` may be left out where the card declares a single sensitive column. ``in FILE`` opens a population: a
    table with the card's quasi-identifiers and, if it has that column, the card's unit.
    """
    return parse_all([text], card)[0]


def parse_all(texts: Iterable[str], card: Card) -> list[Model]:
    """The models that ``texts`` name. A population that several of them name is opened once, so that it is the same."""
    populations: dict[str, Table] = {}

    def population(place: str) -> Table:
        key = place if parse_address(place) else str(Path(place).resolve())
        if key not in populations:
            populations[key] = _population(place, card)
        return populations[key]

    return [MODELS.parse(text, card, {Table: population}) for text in texts]


def from_claim(claim: Claim, population: Table | None = None) -> Model:
    """The model that makes ``claim``, such as one in the statement of a release; an error if there is none.

    A claim only has the name of a population: give the table again.
    """
    parameters: dict[str, Any] = dict(claim.parameters)
    if claim.name == All.name and set(parameters) == {"models"}:
        parts = [Claim(name, text, dict(said)) for name, text, said in parameters["models"]]
        return All(from_claim(part, population) for part in parts)
    if parameters.get("population") is not None:
        if population is None:
            raise BadInput(f"“{claim}” is about the population {parameters['population']}: give its table.")
        parameters["population"] = population
    kind = MODELS.entry(claim.name).kind
    try:
        made: Model = kind(**parameters)
    except TypeError:
        raise BadInput(f"“{claim}” does not have the parameters of {claim.name}.") from None
    if made.claim != claim:
        raise BadInput(f"“{claim}” is not what {claim.name} says with its parameters, which is “{made.claim}”.")
    return made


def _population(place: str, card: Card) -> Table:
    from discreet.engines.read import read

    name = re.split(r"[/\\#]", place)[-1].partition(".")[0] or "population"
    columns = card.having(Role.QUASI)
    found = read(place, replace(card.without_unit(columns), name=name))
    if card.unit is None or card.unit not in found.unseen:
        return found
    return read(place, replace(found.card, columns=(card[card.unit], *columns), unit=card.unit))
