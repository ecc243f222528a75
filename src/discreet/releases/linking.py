"""Linking: which people of earlier releases the figures of a new release tell of.

A population has a space for each state of its table, in which all that was told is as it was then, and one for the
columns that never change. The figures of a new release are linked with every state that agrees with them, and begin a
new one if none does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow.compute as pc

from discreet.core.card import Card
from discreet.core.programs import Numbers
from discreet.errors import BadInput, DataError
from discreet.releases.atoms import Space, link, load_people, load_told, nobody, same_values
from discreet.releases.facts import Figures
from discreet.releases.records import Ambiguous, Answered, Recorded, Records, Told, all_keys, fetch_records, told_by

STABLE = "stable"
"""Space of the columns that never change for a unit, whatever the state of the table."""


@dataclass(frozen=True)
class Known:
    """Earlier figures about a population, as the register stores them."""

    earlier: Sequence[tuple[int, str, bytes]] = ()
    """Line, title and told figures of every release."""
    people: bytes | None = None
    same_source: bool = True
    """Whether some of them were made of the same source."""
    sensitive: Collection[str] = ()
    """Columns that were sensitive for any of them."""
    held: Mapping[int, str] = field(default_factory=dict)
    """Holder of the table, by line, for lines that are no releases."""


def load_spaces(earlier: Sequence[tuple[int, str, bytes]], people: bytes | None) -> dict[str, Space]:
    """The spaces of a population, with what all earlier releases tell of today's atoms."""
    spaces = {} if people is None else load_people(people)
    now = {name: np.arange(space.people.atoms) for name, space in spaces.items()}
    told: dict[str, list[Told]] = {name: [] for name in spaces}
    for line, title, data in sorted(earlier, reverse=True):
        found, parents = load_told(data, line, title)
        for name, items in found.items():
            told[name] += [one.at(now[name]) for one in items]
        for name, parent in parents.items():
            now[name] = np.where(now[name] >= 0, parent[np.maximum(now[name], 0)], -1)
    return {name: replace(space, told=tuple(reversed(told[name]))) for name, space in spaces.items()}


class Linking:
    """Adds the figures of a new release to the spaces of its population."""

    def __init__(self, spaces: Mapping[str, Space], card: Card, title: str, known: Known) -> None:
        self.spaces, self._card, self._title, self._known = dict(spaces), card, title, known
        self.new: list[str] = []
        self.parents: dict[str, Numbers] = {}
        self._unsure: set[str] = set()

    def add(self, facts: Sequence[Figures | Answered | Recorded]) -> None:
        """Link all figures of the release with the people that earlier releases told of."""
        found = [(one, *self._read(one)) for one in facts]
        agreeing = [self._agreeing(figures, records, told) for figures, records, told in found]
        new = [] if set.intersection(*map(set, agreeing)) else [str(len(self._states()) + 1)]
        for (figures, records, told), states in zip(found, agreeing, strict=True):
            for name in (*states, *new):
                self._link(name, records, told)
            self._add_stable(figures, records)

    def whole(self, facts: Sequence[Figures | Answered | Recorded]) -> list[str]:
        """The spaces in which all figures of the release are, and in which it is known who is who.

        Of several, what was told in one is not put beside what was told in another, so that it was checked with one.
        """
        many = {name: sum(one.number == 0 for one in self.spaces[name].told) for name in self.new}
        stable = all(set(one.tells) <= set(self._card.stable) for one in facts)
        sure = (name for name in self.new if name not in self._unsure and (name != STABLE or stable))
        return [name for name in sure if many[name] == len(facts)]

    def lines(self, space: str) -> set[int]:
        """The earlier releases of which all figures are in a space, or all that is told of columns that never change.

        Others tell more in another state, which nothing here was put beside.
        """
        if space == STABLE:
            return {one.number for one in self.spaces[STABLE].told if one.number} - self._told_in_part()
        counts = {name: Counter(one.number for one in self.spaces[name].told if one.number) for name in self._states()}
        return {line for line, n in counts[space].items() if n == max(one[line] for one in counts.values())}

    def _told_in_part(self) -> set[int]:
        """Releases that tell more of the columns that never change than what was linked of these alone.

        Of figures that are about other columns, too, that is all only if it is exact, and no others are of that state:
        else values of those columns may go with some of these and not with others.
        """
        states = [[one for one in self.spaces[name].told if one.number] for name in self._states()]
        whole: dict[int, list[Told]] = {}
        for one in (one for told in states for one in told):
            whole.setdefault(one.number, []).append(one)
        lasting = [one for one in self.spaces[STABLE].told if one.number]
        part = [one for one in lasting if not any(map(one.says_as_much, whole.get(one.number, ())))]
        found = {one.number for one in part if not one.exact}
        for told in states:
            lines = {one.number for one in told}
            here = [one.number for one in part if one.number in lines]
            found |= set(here) if len(here) > 1 else set()
        return found

    def _read(self, figures: Figures | Answered | Recorded) -> tuple[Records, Told]:
        by = next((self.spaces[name].by for name in self._states()), ())
        if not isinstance(figures, Figures):
            records, told = figures.records(self._card.unit or "")
            if by and records.by != by:
                raise Ambiguous("people had several rows in earlier releases, so rows cannot be matched")
            return records, replace(told, title=self._title)
        records = fetch_records(figures, by)
        return records, told_by(figures, records, self._title)

    def _add_stable(self, figures: Figures | Answered | Recorded, records: Records) -> None:
        """Link what is told of columns that never change with all states of the table."""
        if isinstance(figures, Recorded):
            found = figures.stable
        else:
            plain = isinstance(figures, Figures) and self._card.stable
            lasting = figures.project(self._card.stable) if plain else None  # type: ignore[union-attr]  # just seen
            if lasting is None or records.by != (self._card.unit,):
                return
            stable = fetch_records(lasting, records.by)
            found = stable, told_by(lasting, stable, self._title)
        if found is None:
            return
        records, told = found
        if STABLE in self.spaces and not same_values(self.spaces[STABLE].people, records, told)[1]:
            raise DataError(
                f"A column that the card of {self._card.name} declares stable has changed for a person since "
                "it was released.",
                hint="Remove it from stable, or correct the table.",
            )
        self._link(STABLE, records, told)

    def _link(self, name: str, records: Records, told: Told) -> None:
        before = self.spaces.get(name, nobody())
        linked = link(before, records, told)
        parent = np.full(linked.people.atoms, -1, np.int64)
        parent[linked.people.atom[: len(before.people)]] = before.people.atom
        known = self.parents.get(name)
        self.parents[name] = parent if known is None else np.where(parent >= 0, known[np.maximum(parent, 0)], -1)
        self.spaces[name] = linked
        if name not in self.new:
            self.new.append(name)

    def _agreeing(self, figures: Figures | Answered | Recorded, records: Records, told: Told) -> list[str]:
        """The states of the table that agree with the present one on everything told, for everyone who is in both.

        More than one, if what changed between them is something else: anyone who guesses that a value stayed is right.
        """
        alike = self._states()
        found = {name: same_values(self.spaces[name].people, records, told) for name in alike}
        strangers = alike and not any(common for common, _ in found.values())
        same_source = self._known.same_source
        if isinstance(figures, Figures) and alike and (strangers or records.by != (self._card.unit,)):
            keys = all_keys(figures.rows, records.by)
            there = {name: pc.is_in(self.spaces[name].people.key, value_set=keys) for name in alike}
            if records.by == (self._card.unit,):
                same_source &= any(pc.any(one).as_py() for one in there.values())
            else:  # rows are told apart by their content: of one that is gone no one can say which it is now
                here = pc.all(pc.is_in(records.key, value_set=keys)).as_py()
                self._unsure |= {name for name, one in there.items() if not here or not pc.all(one).as_py()}
        if strangers and not same_source and records.by == (self._card.unit,):
            raise BadInput(
                f"The register's population {self._card.people!r} has other people: none of them is in this table.",
                hint='If these are other people, declare a different population on their card: population = "…".',
            )
        if strangers and same_source:
            return alike[-1:]  # other rows of the same source
        return [name for name, (common, same) in found.items() if common and same]

    def _states(self) -> list[str]:
        return sorted((name for name in self.spaces if name != STABLE), key=int)
