"""What all linking attacks share: an intruder names, for each known person, the released row they take for theirs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from discreet.core.release import Release
from discreet.core.statement import Recipe
from discreet.core.table import Table
from discreet.errors import BadInput
from discreet.verbs.attack.finding import Finding, failed, share
from discreet.verbs.attack.linkage_matrix import Sight, see
from discreet.verbs.attack.scope import not_linked, not_rows

Array = npt.NDArray[Any]

PAIRS = 400_000_000
"""Attacks that compare every pair compare so many at most; in larger tables every so-manieth person is attacked."""


@dataclass(frozen=True)
class Linked:
    """Of each person the probability that the attacker names the right row, and figures for the report."""

    credits: Array
    details: Mapping[str, Any]
    baseline: float
    people: Array | None = None
    """The row numbers of those who were attacked; None: everybody, in order."""


@dataclass(frozen=True)
class Linkage(ABC):
    """A linking attack. An attacker who is torn between equally good rows takes one of them by lot.

    NULL is a value like any other to the attacker: it is unlike all values, and like NULL.
    """

    columns: tuple[str, ...] = ()
    """What the attacker knows about people (default: the quasi-identifiers)."""

    name: ClassVar[str]
    methods: ClassVar[tuple[str, ...]] = ()
    """The methods of the recipes that this attack is made for; none: any."""

    @property
    @abstractmethod
    def skill(self) -> str:
        """What the attacker does, as the end of a sentence that begins with "knows the columns … of everybody,"."""

    @abstractmethod
    def link(self, sight: Sight, recipe: Recipe) -> Linked:
        """Name a row for each person in sight; a ``DataError`` if that cannot be done."""

    def applies(self, release: Release[Any]) -> str | None:
        """For rows whose values were changed, by one of the ``methods`` this is made for."""
        method = release.recipe.method
        if self.methods and method not in self.methods:
            return (
                not_rows(release)
                or f"This attack is on {' and '.join(self.methods)}; the release was made by {method}."
            )
        return not_linked(release)

    def run(self, release: Release[Any], known: Table, links: Array | None = None) -> Finding:
        """The share of people whose released row the attacker finds."""
        knows = f"The attacker knows the columns {', '.join(self.columns or known.columns)} of everybody, {self.skill}."
        if self.methods and (why := self.applies(release)):
            return failed(self.name, knows, why)
        try:
            sight = see(release, known, links, self.columns)
            linked = self.link(sight, release.recipe)
        except BadInput as problem:
            return failed(self.name, knows, str(problem))
        knows = f"The attacker knows {_listed(sight.columns)} of everybody, {self.skill}."
        meaning = (
            "The share of people whose own row in the release the attacker points at; 0 is best, "
            "1 means that everybody is re-identified."
        )
        details = {"columns": list(sight.columns), "people": len(linked.credits), **linked.details}
        return share(self.name, knows, linked.credits, linked.baseline, meaning, details=details, people=linked.people)


def by_lot(ties: Array, found: Array) -> Array:
    """The probability to be right: one of ``ties`` rows by lot, if the true one is among them."""
    return np.where(found, 1.0 / np.maximum(ties, 1), 0.0)


def every(count: int, most: int) -> Array:
    """Evenly spaced places among ``count``, at most ``most`` of them."""
    return np.arange(0, count, -(-count // max(most, 1)))


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(names[:-1]) + " and " + names[-1] if len(names) > 1 else names[0]
