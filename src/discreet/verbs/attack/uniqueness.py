"""Matching by quasi-identifiers (prosecutor's attack), sample uniqueness and population uniqueness."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from discreet.core.catalogue import declare, parameter
from discreet.core.families import ATTACKS
from discreet.core.release import Release
from discreet.core.table import Table
from discreet.errors import DataError
from discreet.models.estimators import estimates
from discreet.verbs.attack.finding import Array, Finding, Outcome
from discreet.verbs.attack.matching import Candidates, Matching, certainty_finding, chance_finding

_BORDERS = (0, 1, 2, 5, 10, 100)
"""Numbers of candidate rows at which the classes of the histogram begin."""


@declare(ATTACKS, "matching by quasi-identifiers", rank=1)
class QuasiMatching(Matching):
    """Take one of the rows whose labels a person's values do not contradict: the prosecutor's attack.

    Where values were changed at random by published probabilities (PRAM), the likeliest row is taken.
    """

    skill: ClassVar[str] = " and picks one of a person's candidate rows"

    def evaluate(self, found: Candidates, known: Table, release: Release[Any]) -> Finding:
        many = found.candidate_counts
        details = {
            "candidate rows": _histogram(many),
            "fewest candidate rows": int(many[many > 0].min()) if (many > 0).any() else 0,
            "measured": "by links" if found.truth is not None else "from the numbers of candidate rows",
        }
        meaning = (
            "Share of people whose own row the attacker picks, at random among the candidates; 0 is best, 1 "
            "means that everyone is re-identified. With k candidates each it is 1 / k."
        )
        return chance_finding(self.name, found.success, found.guess_rate, meaning=meaning, found=found, details=details)


@declare(ATTACKS, "uniqueness", rank=2)
class Uniqueness(Matching):
    """Sample uniques: only one row may be theirs, and it may be no one else's."""

    skill: ClassVar[str] = " and looks for people with one candidate row"

    def evaluate(self, found: Candidates, known: Table, release: Release[Any]) -> Finding:
        meaning = (
            "Share of people with exactly one candidate row, so that all its values are theirs; 0 is best, "
            "and one person is too many."
        )
        return certainty_finding(
            self.name, found.certain, found.right, found.guess_rate, meaning=meaning, found=found, details={}
        )


@declare(ATTACKS, "population uniqueness", rank=34)
class PopulationUniques(Matching):
    """Population uniques: estimated share of the ``people`` that the rows were drawn from who are unique.

    The rows are taken for a random sample. The figure is the largest of several estimates (``models/estimators.py``);
    where the rows do not fit them, it is the share of rows that are alone. The interval reaches from the lowest to the
    highest estimate: it shows how far methods disagree, and is no confidence interval, for all of them may be wrong
    together.
    """

    people: int = parameter("Size of the population that the rows were drawn from.", default=0)

    @property
    def skill(self) -> str:
        return f", in a population of {self.people:,} of which the rows are a sample"

    def applies(self, release: Release[Any]) -> str | None:
        """For tables of rows that are a sample of a population of known size."""
        return super().applies(release) or (
            None if self.people else "The size of the population is unknown: give it with --population."
        )

    def evaluate(self, found: Candidates, known: Table, release: Release[Any]) -> Finding:
        if self.people < len(found.class_of):
            raise DataError(
                f"A population of {self.people:,} people is smaller than the sample of {len(found.class_of):,} rows."
            )
        size, many = np.unique(found.class_sizes, return_counts=True)
        sizes = dict(zip(size.tolist(), many.tolist(), strict=True))
        said = estimates(sizes, self.people)
        low, high = said.range
        meaning = (
            f"The share of the {self.people:,} people who are population uniques, estimated from the rows; a "
            "row that is unique here and in the population is certainly that person's. 0 is best."
        )
        return Finding(
            self.name,
            "",
            Outcome.BROKE if said.largest * len(found.class_of) >= 1 else Outcome.NOTHING,
            said.largest,
            (low, max(high, said.largest)),
            0.0,
            meaning,
            (),
            {
                "estimates": dict(said.shares),
                "sample uniques": sizes.get(1, 0),
                **({"warnings": list(said.warnings)} if said.warnings else {}),
            },
            interval_is="by all estimators, not 95 %",
        )


def _histogram(many: Array) -> dict[str, int]:
    """Number of people by the number of their candidate rows."""
    found = {}
    for low, high in (*pairwise(_BORDERS), (_BORDERS[-1], None)):
        inside = (many >= low) & (many < (math.inf if high is None else high))
        label = f"{low} or more" if high is None else str(low) if high == low + 1 else f"{low} to {high - 1}"
        found[label] = int(inside.sum())
    return found
