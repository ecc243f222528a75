"""Record linkage: an intruder names, for each known person, the released row they take for that person's.

What all linkage attacks share: known people and released rows aligned as numbers, and the finding.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from discreet.core.card import Card, Role
from discreet.core.release import Release
from discreet.core.statement import Recipe
from discreet.core.table import Table
from discreet.errors import BadInput, DataError, NotFound
from discreet.utility.pair import comparable_columns, require_links
from discreet.verbs.attack.finding import (
    Array,
    Finding,
    failed_finding,
    reason_not_linkable,
    reason_not_rows,
    share_finding,
)

MAX_PAIRS = 400_000_000
"""Most pairs of a person and a row that are compared; in larger tables evenly spaced people are attacked."""


@dataclass(frozen=True)
class LinkResult:
    """Probability, for each person, that the attacker names the right row, and figures for the report."""

    success: Array
    details: Mapping[str, Any]
    baseline: float
    people: Array | None = None
    """Row numbers of those who were attacked; None: everyone, in order."""


@dataclass(frozen=True)
class Linkage(ABC):
    """A linkage attack. An attacker who is torn between equally good rows takes one of them by lot.

    NULL is a value like any other to the attacker: it is unlike all values, and like NULL.
    """

    columns: tuple[str, ...] = ()
    """What the attacker knows about people (default: the quasi-identifiers)."""

    name: ClassVar[str]
    methods: ClassVar[tuple[str, ...]] = ()
    """Methods of the recipes that the attack is made for; none: any."""

    @property
    @abstractmethod
    def skill(self) -> str:
        """What the attacker does, as the end of a sentence that begins with "knows the columns … of everyone,"."""

    @abstractmethod
    def link(self, data: LinkageData, recipe: Recipe) -> LinkResult:
        """Name a row for each person; a ``DataError`` if that cannot be done."""

    def applies(self, release: Release[Any]) -> str | None:
        """For rows whose values were changed, by one of the ``methods`` the attack is made for."""
        method = release.recipe.method
        if self.methods and method not in self.methods:
            wrong = f"This attack is on {' and '.join(self.methods)}; the release was made by {method}."
            return reason_not_rows(release) or wrong
        return reason_not_linkable(release)

    def run(self, release: Release[Any], known: Table, links: Array | None = None) -> Finding:
        """Share of people whose released row the attacker finds."""
        knows = f"The attacker knows the columns {', '.join(self.columns or known.columns)} of everyone, {self.skill}."
        if self.methods and (why := self.applies(release)):
            return failed_finding(self.name, knows, why)
        try:
            data = linkage_data(release, known, links, self.columns)
            linked = self.link(data, release.recipe)
        except BadInput as problem:
            return failed_finding(self.name, knows, str(problem))
        *names, last = data.columns
        listed = f"{', '.join(names)} and {last}" if names else last
        knows = f"The attacker knows {listed} of everyone, {self.skill}."
        meaning = (
            "Share of people whose own row in the release the attacker finds; 0 is best, 1 means that "
            "everyone is re-identified."
        )
        details = {"columns": list(data.columns), "people": len(linked.success), **linked.details}
        return share_finding(
            self.name, knows, linked.success, linked.baseline, meaning, details=details, people=linked.people
        )


@dataclass(frozen=True)
class LinkageData:
    """Columns that known people and released rows share, as float64: numbers, dates and times as they are, text and
    truth values as shared codes. NULL is NaN."""

    columns: tuple[str, ...]
    numeric: Array
    """For each column, whether differences mean something; codes are only equal or not."""
    known: Array
    """Values of the known people, one row each."""
    released: Array
    """Values of the released rows."""
    truth: Array
    """Place of each person's released row, or -1: for measuring success, not for the attacker."""

    def with_columns(self, which: Array) -> LinkageData:
        """The same people and rows, with these columns only."""
        names = tuple(np.array(self.columns, dtype=object)[which])
        known, released = self.known[:, which], self.released[:, which]
        return replace(self, columns=names, numeric=self.numeric[which], known=known, released=released)

    def with_people(self, which: Array) -> LinkageData:
        """The same rows and columns, with these people only."""
        return replace(self, known=self.known[which], truth=self.truth[which])

    @property
    def guess_rate(self) -> float:
        """The share of people found by naming any released row."""
        return float(np.mean(self.truth >= 0)) / len(self.released)


def linkage_data(
    release: Release[Any], known: Table, links: Array | None, columns: tuple[str, ...] = ()
) -> LinkageData:
    """Align a release with known people by ``columns`` (default: the quasi-identifiers, or all if there are none).

    A release in its holder's hands has its links with it. Columns that the release lacks, or shows as another kind of
    value (an age as "30 to 39"), or that hold nothing but NULL on one side, are left out.
    """
    links = release.links if links is None else links
    payload = released_rows(release)
    if links is None:
        raise DataError(
            "Scoring this attack needs the links between original and released rows.",
            hint="Give the links from the holder's copy of publish.",
        )
    return align_columns(payload, known.fetch(), links, columns or known_columns(known.card))


def align_columns(payload: pa.Table, people: pa.Table, links: Array, columns: tuple[str, ...]) -> LinkageData:
    """Released rows and those of known people, compared by ``columns``."""
    if not payload.num_rows or not people.num_rows:
        raise DataError("There are no rows to link.")
    for name in columns:
        if name not in people.column_names:
            raise NotFound(f"The attacker's table has no column {name!r}.")
    both = {name: comparable_columns(people[name], payload[name]) for name in columns if name in payload.column_names}
    found = {
        name: one for name, one in both.items() if one is not None and not any(np.isnan(side).all() for side in one[1:])
    }
    if not found:
        raise DataError("The release has no column that the attacker knows.")
    truth = true_rows(np.asarray(links), people.num_rows, payload.num_rows)
    numeric, left, right = zip(*found.values(), strict=True)
    return LinkageData(tuple(found), np.array(numeric), np.column_stack(left), np.column_stack(right), truth)


def released_rows(release: Release[Any]) -> pa.Table:
    """The rows of a release; an error if it has none."""
    if not isinstance(release.payload, pa.Table):
        raise DataError("The release is not a table of rows.")
    return release.payload


def known_columns(card: Card) -> tuple[str, ...]:
    """What attackers are taken to know about people: the quasi-identifiers or, if there are none, all but names."""
    return tuple(column.name for column in card.having(Role.QUASI)) or describing_columns(card)


def describing_columns(card: Card) -> tuple[str, ...]:
    """All columns but identifiers and the unit."""
    return tuple(c.name for c in card.columns if c.role is not Role.IDENTIFIER and c.name != card.unit)


def true_rows(links: Array, people: int, rows: int) -> Array:
    """Place of each person's released row, or -1, by ``links``; an error if these make no sense."""
    require_links(links, people, rows)
    real = np.flatnonzero(links >= 0)
    truth = np.full(people, -1, np.int64)
    truth[links[real]] = real
    if np.count_nonzero(truth >= 0) != len(real):
        raise DataError("Two links lead to the same row of the original.")
    return truth


def tie_success(ties: Array, found: Array) -> Array:
    """Probability to be right when one of ``ties`` rows is taken by lot, if the true one is among them."""
    return np.where(found, 1.0 / np.maximum(ties, 1), 0.0)


def evenly_spaced(count: int, most: int) -> Array:
    """Evenly spaced places among ``count``, at most ``most`` of them."""
    return np.arange(0, count, -(-count // max(most, 1)))
