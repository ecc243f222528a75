"""k-anonymity and k-map: lower bounds on the size of equivalence classes."""

from __future__ import annotations

import numpy as np

from discreet.core.catalogue import declare, parameter
from discreet.core.families import MODELS
from discreet.core.table import Table
from discreet.models.classes import Classes, Flags
from discreet.models.exact_compare import Floats
from discreet.models.model import Model


@declare(
    MODELS, "k-anonymity", example="k=5", spelled="k={k}", paper="Samarati and Sweeney 1998; Samarati 2001", rank=0
)
class KAnonymity(Model):
    """Every equivalence class has at least k rows (Samarati and Sweeney 1998; Samarati 2001).

    Why this is private: who knows no more of a person than the quasi-identifiers cannot tell which of at least k rows
    is hers. It says nothing of what those rows have in common. Of people with several rows: at least k people share
    their whole set of rows (``row_sets.py``).

    Monotone: merged classes are at least as large as each of their parts.
    """

    several_rows = True
    k: int = parameter("Minimum number of rows in an equivalence class.", least=1)

    meaning = "smallest class"
    lowest = True

    @property
    def claim_text(self) -> str:
        return f"{self.k}-anonymous"

    def figures(self, classes: Classes) -> Floats:
        return classes.sizes.astype(np.float64)

    def breaking(self, classes: Classes) -> Flags:
        return np.asarray(classes.sizes < self.k, dtype=np.bool_)


@declare(
    MODELS, "k-map", example="k-map=5 in population.csv", spelled="k[-]map={k} in {population}", paper="Sweeney 2002"
)
class KMap(Model):
    """Every equivalence class has at least k people in the population the table was drawn from (Sweeney 2002).

    Why this is private: who does not know that a person is in the table finds at least k people who could be behind a
    row. Weaker than k-anonymity against those who know.

    Monotone: merged classes have the people of both.
    """

    k: int = parameter("Minimum number of people of the population in an equivalence class.", least=1)
    population: Table = parameter("File or table of the population that the rows were drawn from.")

    meaning = "fewest people in a class"
    lowest = True

    @property
    def claim_text(self) -> str:
        return f"{self.k}-mapped to {self.population.card.name}"

    def figures(self, classes: Classes) -> Floats:
        return classes.people().astype(np.float64)

    def breaking(self, classes: Classes) -> Flags:
        return np.asarray(classes.people() < self.k, dtype=np.bool_)
