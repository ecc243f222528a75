"""An intruder who knows rows of a person with several rows, and looks for the person in the release."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from itertools import combinations
from typing import Any, ClassVar, TypeAlias

import numpy as np
import pyarrow as pa

from discreet.core.catalogue import Checked, declare
from discreet.core.families import ATTACKS
from discreet.core.release import Release
from discreet.core.table import Table
from discreet.errors import BadInput, DataError
from discreet.utility.pair import require_links
from discreet.verbs.attack.finding import (
    SEVERAL_ROWS,
    SHOWN_VICTIMS,
    Array,
    Finding,
    clopper_pearson,
    failed_finding,
    judge_outcome,
)
from discreet.verbs.attack.linkage import released_rows

_Rows: TypeAlias = tuple[Hashable, ...]
"""The labels of a row; or of all rows of a person, sorted."""
_PAIRED = 100
"""Most rows of a person of whom pairs are tried."""


@declare(ATTACKS, "known rows", rank=3)
class KnownRows(Checked):
    """Find each person by one, two or all of their rows, those that the fewest people share.

    Where a pseudonym links rows, one of the people is taken who have the rows that are known (all: and no others).
    Where none does, one of the rows is taken that look like the row that is known; it is someone's with as many
    chances as she has of those rows. Who that is can then be told by the holder alone.
    """

    name: ClassVar[str]

    def applies(self, release: Release[Any]) -> str | None:
        """For releases with all rows of people with several."""
        if release.recipe.parameters.get("people") in SEVERAL_ROWS:
            return None
        return "Everyone has one row in it, or is assumed to."

    def run(self, release: Release[Any], known: Table, links: Array | None = None) -> Finding:
        """The share of people who are found by all of their rows."""
        knows = "The attacker knows the quasi-identifiers of one, two or all rows of a person."
        if why := self.applies(release):
            return failed_finding(self.name, knows, why)
        try:
            return self._found(release, known, release.links if links is None else links, knows)
        except BadInput as problem:
            return failed_finding(self.name, knows, str(problem))

    def _found(self, release: Release[Any], known: Table, links: Array | None, knows: str) -> Finding:
        said, rows = release.recipe.parameters, released_rows(release)
        linked = said["people"] == "linked"
        owners, first = _owners(rows, known, links, said.get("pseudonym") if linked else None)
        people = _people(release, rows, owners)
        if not people:
            raise DataError("There are no people to attack.")
        chances = {name: _chances(people, known_rows) for name, known_rows in _KNOWN.items()}
        worst = {name: [one for one in found.values() if one] for name, found in chances.items()}
        fewest = {name: min(found, default=None) for name, found in worst.items()}
        by_all = chances["all"] if linked else _shares(people)
        success = np.array([1 / by_all[person] for person in people])
        figure, baseline = float(success.mean()), 1 / len(people)
        interval = clopper_pearson(float(success.sum()), len(success))
        meaning = (
            "Share of people re-identified by an attacker who knows all their rows; 0 is best, 1 means that "
            "everyone is re-identified. With k candidates each it is 1 / k."
            if linked
            else "Share of people for whom an attacker who knows their most revealing row picks the right one; "
            "0 is best. Where no person has more than 1 / k of the equal rows, it is at most that."
        )
        victims = [first[person] for person in people if by_all[person] == 1 and person in first]
        return Finding(
            self.name,
            knows,
            judge_outcome(figure, interval, baseline),
            figure,
            interval,
            baseline,
            meaning,
            tuple(victims[:SHOWN_VICTIMS]),
            {"people": len(people), "fewest people by known rows": fewest, "highest chance": float(success.max())},
        )


def _owners(
    rows: pa.Table, known: Table, links: Array | None, pseudonym: str | None
) -> tuple[list[Hashable], dict[Hashable, int]]:
    """Person of each released row, by its pseudonym or, for the holder, by the links; and an original row of each.

    An error if pseudonyms and links do not say the same.
    """
    shown = None if pseudonym is None else rows.column(pseudonym).to_pylist()
    if links is None:
        if shown is None:
            raise DataError(
                "Scoring this attack needs the links between original and released rows.",
                hint="Give the holder's copy that publish wrote (--links).",
            )
        return shown, {}
    mine, unit = known.fetch(), known.card.unit
    if unit is None:
        raise DataError(
            "The original names no column that identifies the person of each row.", hint="Declare the unit on its card."
        )
    require_links(links, mine.num_rows, rows.num_rows)
    owners = mine.column(unit).take(links).to_pylist()
    pairs = set(zip(owners, shown or owners, strict=True))
    if len({a for a, _ in pairs}) != len(pairs) or len({b for _, b in pairs}) != len(pairs):
        raise DataError("Pseudonyms and links disagree: two people share a pseudonym, or one has two.")
    return shown or owners, dict(zip(shown or owners, map(int, links), strict=True))


def _people(release: Release[Any], rows: pa.Table, owners: Iterable[Hashable]) -> dict[Hashable, list[_Rows]]:
    """Quasi-identifiers of all rows of each person, with those of the linked table."""
    quasi = release.recipe.parameters["quasi_identifiers"]
    labels = rows.select([name for name in quasi if name in rows.column_names])
    about: dict[Hashable, _Rows] = {}
    if isinstance(release.also, pa.Table):
        also = release.also
        told = also.select([name for name in quasi if name in also.column_names])
        names = also.column(release.recipe.parameters["pseudonym"]).to_pylist()
        about = dict(zip(names, _tuples(told), strict=True))
    found: dict[Hashable, list[_Rows]] = {person: [] for person in about}
    for person, label in zip(owners, _tuples(labels), strict=True):
        if about and person not in about:
            raise DataError("A row is linked to no one in the other table.")
        found.setdefault(person, []).append((*about.get(person, ()), *label))
    return {person: sorted(own, key=repr) or [(*about[person], None)] for person, own in found.items()}


def _tuples(rows: pa.Table) -> list[_Rows]:
    columns = [column.to_pylist() for column in rows.columns]
    return list(zip(*columns, strict=True)) if columns else [()] * rows.num_rows


def _chances(people: Mapping[Hashable, list[_Rows]], known: Any) -> dict[Hashable, int]:
    """For each person the smallest number of people who match the known rows; 0 if they have fewer rows."""
    parts = {person: known(own) for person, own in people.items()}
    many = Counter(part for own in parts.values() for part in own)
    return {person: min((many[part] for part in own), default=0) for person, own in parts.items()}


def _shares(people: Mapping[Hashable, list[_Rows]]) -> dict[Hashable, float]:
    """For each person the smallest ratio of equal rows in the release to their own rows of that kind."""
    many = Counter(row for own in people.values() for row in own)
    return {person: min(many[row] / count for row, count in Counter(own).items()) for person, own in people.items()}


_KNOWN = {
    "1": set,
    "2": lambda own: set(combinations(own, 2)) if len(own) <= _PAIRED else set(),
    "all": lambda own: {tuple(own)},
}
"""What can be known of a person, by the number of rows."""
