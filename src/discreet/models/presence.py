"""δ-presence: no one can tell whether a person of the population is in the table."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from discreet.core.catalogue import check_parameters, declare, parameter
from discreet.core.exact import Number
from discreet.core.families import MODELS
from discreet.core.table import Table
from discreet.errors import BadInput
from discreet.models.classes import Classes, Flags
from discreet.models.exact_compare import Floats, at_most, below, plain, quotient
from discreet.models.model import Model


@declare(
    MODELS,
    "δ-presence",
    example="presence=0.1..0.7 in population.csv",
    spelled="presence={low}..{high} in {population}",
    paper="Nergiz, Atzori and Clifton 2007",
    init=False,
)
class DeltaPresence(Model):
    """In each class of the population, the share of people who are in the table is between ``low`` and ``high``.

    By Nergiz, Atzori and Clifton (2007): the intruder knows the whole population, and the released classes. People of
    the population in no class of the table are surely not in it, which a ``low`` above 0 forbids; no suppression can
    mend that, so then every class breaks it.

    Why this is private: where being in the table is the secret (patients of a clinic), no one can be surer than
    ``high`` that a person is, or than 1 - ``low`` that she is not.

    Monotone: the share in merged classes lies between their shares.
    """

    low: Fraction = parameter("Minimum share of a class of the population in the table.", least=0, most=1)
    high: Fraction = parameter("Maximum share of a class of the population in the table.", least=0, most=1)
    population: Table = parameter("File or table of the population that the rows were drawn from.")

    meaning = "share of the population present"

    def __init__(self, low: Number, high: Number, population: Table) -> None:
        check_parameters(self, low=low, high=high, population=population)
        if self.low > self.high:
            raise BadInput(f"low must not be above high, got {low} and {high}.")

    @property
    def claim_text(self) -> str:
        return f"({plain(self.low)}, {plain(self.high)})-present in {self.population.card.name}"

    def figures(self, classes: Classes) -> Floats:
        return quotient(classes.sizes, classes.people())

    def breaking(self, classes: Classes) -> Flags:
        people = classes.people()
        if self.low > 0 and classes.outside:
            return np.ones(len(people), np.bool_)
        return ~at_most(classes.sizes, people, self.high) | below(classes.sizes, people, self.low)

    def badness(self, figures: Floats) -> Floats:
        """How far a share is outside of its bounds; below 0: how far inside."""
        return np.maximum(figures - float(self.high), float(self.low) - figures)

    def explained(self, classes: Classes) -> str:
        if self.low > 0 and classes.outside:
            return f"{classes.outside:,} certainly absent; {self.meaning}"
        return self.meaning
