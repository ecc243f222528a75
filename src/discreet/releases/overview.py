"""Overview of exposure: everything that left of a population, and what all of it tells together.

The check in the pipeline speaks of one new release; this speaks of all that is out. It is for the holder: sizes of
groups and counts of people, never a name or a value.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from time import thread_time
from typing import Any

import numpy as np

from discreet.core import loss as losses
from discreet.core.card import ExposurePolicy
from discreet.core.loss import Loss, sequential
from discreet.core.programs import Numbers
from discreet.errors import Exposed, NoPromise
from discreet.releases.atoms import Space
from discreet.releases.exposure import known_counts
from discreet.releases.linking import load_spaces
from discreet.releases.register import RECIPIENT, Entry, Register
from discreet.releases.registration import rehearsal

CHECKED, OVERRIDDEN, NOT_CHECKED, LOSS, HELD = "checked", "overridden", "not checked", "privacy loss", "held"
"""What became of the check of a release."""
_SHOWN_GROUPS = 10
"""Number of the smallest groups that are listed."""
_OVERLAPPING = 60
"""Number of releases, the last ones, that are compared with each other."""


@dataclass(frozen=True)
class Departure:
    """A release that left, or an answer that was charged."""

    number: int
    """Line in the register, or in the ledger for an answer."""
    at: str
    """When, by UTC."""
    title: str
    method: str
    table: str
    state: str
    """``checked``, ``overridden``, ``not checked`` or ``privacy loss``; ``held`` of a table that did not leave here."""
    why: str = ""
    """Why it was not checked."""
    checked: tuple[int, ...] = ()
    """Lines of the earlier releases it was checked with."""
    loss: str = ""
    note: str = ""
    """Reason it was released although something spoke against it."""
    release: str = ""
    """Its folder."""
    answer: bool = False
    """Whether it is an answer in the ledger, and not a line of the register."""
    attack: str = ""
    """What came of attacking it together with releases it was not checked with; confidential."""


@dataclass(frozen=True)
class Group:
    """One of the smallest groups that all releases together distinguish."""

    people: int
    releases: tuple[int, ...]
    """Lines of the releases that tell of it."""
    known: tuple[str, ...]
    """Columns of which a count in this group follows exactly from everything that left."""


@dataclass(frozen=True)
class Overlap:
    """Two releases that tell of the same people."""

    first: int
    second: int
    people: int
    columns: tuple[str, ...]
    """Columns whose values both tell."""


@dataclass(frozen=True)
class Standing:
    """What all releases of one state of a population tell together."""

    state: str
    """Number of the state, or ``stable`` for columns that never change."""
    releases: tuple[int, ...]
    people: int
    """How many people they tell of."""
    groups: int
    """How many groups they tell apart."""
    smallest: int
    """People in the smallest of these groups: no one is worse placed."""
    in_smallest: int
    """How many people are in a group of that size."""
    in_small: int
    """How many people are in groups of fewer than ``smallest_group``."""
    counts: int
    """Counts of sensitive values in these small groups."""
    determined: int
    """Counts of small groups, or of several that are small together, that follow exactly from everything that left."""
    exposed: int
    """How many people are in a group with such a count."""
    most_exposed: tuple[Group, ...]
    undecided: tuple[str, ...]
    overlaps: tuple[Overlap, ...]


@dataclass(frozen=True)
class Population:
    """Everything that left of the same people, the oldest first, and what it tells together."""

    name: str
    departures: tuple[Departure, ...]
    standings: tuple[Standing, ...]
    policy: ExposurePolicy
    total: str = ""
    """Privacy loss of all registered releases that have one, added up."""

    def to_dict(self) -> dict[str, Any]:
        """This as plain data, for JSON."""
        return asdict(self) | {"policy": self.policy.to_dict()}


@dataclass(frozen=True)
class Spent:
    """What was spent of a budget: of a table, or of an analyst on it."""

    table: str
    analyst: str
    spent: str
    limit: str


@dataclass(frozen=True)
class Overview:
    """Exposure of all populations of a register."""

    populations: tuple[Population, ...]
    spent: tuple[Spent, ...] = ()
    recipient: str = ""
    """Whose releases these are; empty for all."""

    def to_dict(self) -> dict[str, Any]:
        """This as plain data, for JSON."""
        return {
            "recipient": self.recipient or None,
            "populations": [one.to_dict() for one in self.populations],
            "spent": [asdict(one) for one in self.spent],
        }


def populations_in(
    place: str, policy: ExposurePolicy, *, only: str | None = None, lines: Collection[int] | None = None
) -> tuple[Population, ...]:
    """The populations of the register at a place, or one of them.

    ``lines`` leaves some releases only, and shows what someone can tell who has no others. Tables that a recipient
    holds are listed, and count only if they are among these.
    """
    with Register(place) as register:
        entries = register.entries(only)
        return tuple(
            _population(register, name, [one for one in entries if one.population == name], policy, lines)
            for name in dict.fromkeys(one.population for one in entries)
        )


def _population(
    register: Register, name: str, entries: Sequence[Entry], policy: ExposurePolicy, lines: Collection[int] | None
) -> Population:
    figures = [one for one in entries if one.facts == "figures"]
    told = [(one.number, one.title, data) for one in figures if (data := register.facts(one.number)) is not None]
    people = register.people(name) if told else None
    sensitive = {column for one in figures for column in one.told.get("sensitive") or one.told.get("tells", ())}
    deadline = thread_time() + policy.seconds
    held = {one.number for one in entries if RECIPIENT in one.told}
    seen = {one.number for one in entries} - held if held and lines is None else lines
    standings = []
    for state, space in load_spaces(told, people[1] if people is not None else None).items():
        kept = space if seen is None else space.restricted(seen)
        if kept.told:
            standings.append(_standing(state, kept, sensitive, policy, deadline))
    shown = [one for one in entries if lines is None or one.number in lines]
    return Population(name, tuple(map(departure, shown)), tuple(standings), policy, _total(shown))


@dataclass(frozen=True)
class WhatIf:
    """Whether a draft would be released, together with everything that left."""

    passes: bool
    message: str
    hint: str = ""
    checked: tuple[int, ...] = ()
    """Lines of the earlier releases it was checked with."""
    unchecked: tuple[Departure, ...] = ()
    """Earlier releases it was not checked with."""
    attack: str = ""
    """What came of attacking it together with these."""

    def to_dict(self) -> dict[str, Any]:
        """This as plain data, for JSON."""
        return asdict(self)


def what_if(make: Callable[[], object]) -> WhatIf:
    """Check what ``make`` would release, in memory, together with earlier releases; nothing leaves or is registered."""
    with rehearsal() as found:
        try:
            make()
        except Exposed as error:
            return WhatIf(False, error.message, error.hint)
    unchecked = tuple(departure(one) for weighed in found for one in weighed.left_out)
    checked = {line for weighed in found for *_, check, _ in weighed.checks for line in check.exposure.checked}
    said = [text for weighed in found for text in weighed.caveats]
    nothing = "There is no earlier release of these people to check it with."
    attacked = " ".join(weighed.attack for weighed in found if weighed.attack)
    return WhatIf(True, " ".join(said) or nothing, "", tuple(sorted(checked)), unchecked, attacked)


def departure(entry: Entry) -> Departure:
    """A line of the register."""
    state = HELD if RECIPIENT in entry.told else {"figures": CHECKED, "loss": LOSS}.get(entry.facts, NOT_CHECKED)
    why = str(entry.told.get("why", "")) if entry.facts == "opaque" else ""
    loss = _loss(entry)
    return Departure(
        entry.number,
        entry.at,
        entry.title or entry.method,
        entry.method,
        entry.table,
        OVERRIDDEN if entry.note else state,
        why,
        tuple(entry.told.get("checked", ())),
        "" if loss is None else str(loss),
        entry.note,
        entry.release,
        attack=str(entry.told.get("attack", "")),
    )


def _loss(entry: Entry) -> Loss | None:
    return losses.from_dict(entry.told["loss"]) if entry.facts == "loss" and "loss" in entry.told else None


def _total(entries: Sequence[Entry]) -> str:
    known = [loss for one in entries if (loss := _loss(one)) is not None]
    try:
        return str(sequential(known)) if known else ""
    except NoPromise:  # of kinds that do not add up
        return ""


def _standing(
    state: str, space: Space, sensitive: Collection[str], policy: ExposurePolicy, deadline: float
) -> Standing:
    people, sizes = space.people, space.people.unit_counts
    covered = np.any([one.group >= 0 for one in space.told], axis=0)
    small = np.flatnonzero(covered & (sizes < policy.smallest_group))
    known = known_counts(space, small, sensitive, policy, deadline)
    columns: dict[int, set[str]] = {}
    for one in known.determined:
        for atom in one.atoms:
            columns.setdefault(atom, set()).add(one.column)
    order = sorted(np.flatnonzero(covered).tolist(), key=lambda atom: (sizes[atom], atom not in columns, atom))
    smallest = int(sizes[order[0]]) if order else 0
    groups = [
        Group(
            int(sizes[atom]),
            tuple(dict.fromkeys(one.number for one in space.told if one.group[atom] >= 0)),
            tuple(sorted(columns.get(atom, ()))),
        )
        for atom in order[:_SHOWN_GROUPS]
    ]
    return Standing(
        state,
        tuple(dict.fromkeys(one.number for one in space.told)),
        people=people.count(np.array(order, np.int64)),
        groups=len(order),
        smallest=smallest,
        in_smallest=people.count(np.flatnonzero(covered & (sizes == smallest))),
        in_small=people.count(small),
        counts=known.counts,
        determined=len(known.determined),
        exposed=people.count(np.array(list(columns), np.int64)),
        most_exposed=tuple(groups),
        undecided=known.undecided,
        overlaps=tuple(_overlaps(space)),
    )


def _overlaps(space: Space) -> Iterator[Overlap]:
    covers: dict[int, Numbers] = {}
    tells: dict[int, set[str]] = {}
    for one in space.told:
        covers[one.number] = covers.get(one.number, False) | (one.group >= 0)
        measure = [one.measure.rpartition(" in 10^-")[0]] if one.measure else []
        tells[one.number] = tells.get(one.number, set()) | {*one.tells, *measure}
    sizes = space.people.unit_counts
    once = int(sizes.sum()) == space.people.count(np.arange(len(sizes)))  # no one is in two groups
    for first, second in combinations(list(covers)[-_OVERLAPPING:], 2):
        both = np.flatnonzero(covers[first] & covers[second])
        if len(both):
            people = int(sizes[both].sum()) if once else space.people.count(both)
            yield Overlap(first, second, people, tuple(sorted(tells[first] & tells[second])))
