"""Adoption: what left beside a card counts in the register of a workspace that is made from that card.

The lines of the same people are copied, with the facts they tell and the groups of their people. Each copy names the
digest of the line it was copied from, so that no line is adopted twice. Into a register that lists nothing of these
people yet, everything is copied at once. Otherwise one line after the other is linked with what is there already, as
if it were registered now: what it tells is read from the register it comes from, so that no row is looked at.

Fails closed: a register that is damaged or rolled back is an error before anything is copied, and so are lines of which
no one can say who is who.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from discreet.core.card import Card, ExposurePolicy
from discreet.errors import BadInput, Taken
from discreet.releases.atoms import Space
from discreet.releases.exposure import check
from discreet.releases.linking import STABLE, load_spaces
from discreet.releases.records import Recorded, Records, Told
from discreet.releases.register import Addition, Entry, Register, same_people
from discreet.releases.registration import attempts, known_lines, quoted

ADOPTED = "adopted"
"""What a line tells of the line it was copied from: its digest."""


@dataclass(frozen=True)
class Chain:
    """The lines of one population in a register, the oldest first, and the groups of its people."""

    entries: tuple[Entry, ...]
    digests: tuple[str, ...]
    facts: tuple[bytes | None, ...]
    people: bytes | None


def read_chains(places: Sequence[str], card: Card, source: str) -> tuple[Chain, ...]:
    """What registers list of the people of a card's table; ``Unsound`` if one of them is not as it was written."""
    mine = Entry(0, card.people, card.name, source, "", "", 0)
    chains = []
    for place in places:
        with Register(place) as register:
            register.verify()
            lines = list(zip(register.entries(), register.digests(), strict=True))
            for population in dict.fromkeys(one.population for one, _ in lines if same_people(mine, one)):
                entries, digests = zip(*((one, at) for one, at in lines if one.population == population), strict=True)
                facts = tuple(register.facts(one.number) for one in entries)
                people = register.people(population)
                chains.append(Chain(entries, digests, facts, None if people is None else people[1]))
    return tuple(chains)


def adopt(chains: Sequence[Chain], was: Card, card: Card, place: str, folder: Path | None = None) -> int:
    """Copy lines into the register of a workspace; how many there were. Those that are there already are left out.

    ``was`` is the card whose lines they are, and ``card`` the same in the workspace, where its table may have another
    name. ``folder`` is where the register will lie.
    """
    count = 0
    with Register(place, folder=folder) as register:
        for chain in chains:
            name = {was.people: card.people}
            entries = tuple(
                replace(
                    one,
                    population=name.get(one.population, one.population),
                    table=card.name if one.table == was.name else one.table,
                    told={**one.told, ADOPTED: digest},
                )
                for one, digest in zip(chain.entries, chain.digests, strict=True)
            )
            count += _adopt(register, replace(chain, entries=entries), card)
    return count


def _adopt(register: Register, chain: Chain, card: Card) -> int:
    for _ in attempts():
        there = register.entries()
        due = [place for place, one in enumerate(chain.entries) if not any(_is_copy(one, other) for other in there)]
        if not due:
            break
        try:
            if any(one.population == chain.entries[0].population for one in there):
                _link_all(register, chain, due, card)
            else:
                register.add_all(_copied(chain, len(there)), lines=len(there))
            break
        except Taken:
            continue
    return len(due)


def _is_copy(one: Entry, other: Entry) -> bool:
    """Whether a line was adopted before, or is of a release that was registered in both places when it was made.

    Two tables of a workspace may have been made by one card: the people of each have the line.
    """
    if one.told[ADOPTED] == other.told.get(ADOPTED) and one.population == other.population:
        return True
    both = replace(one, number=0, told={}, facts="", note="") == replace(other, number=0, told={}, facts="", note="")
    return both and bool(one.release) and one.told.get("where") == other.told.get("where")


def _copied(chain: Chain, lines: int) -> list[Addition]:
    """The lines as they are, numbered from a new place on; the groups of people are those of the last figures."""
    numbers = {one.number: lines + place for place, one in enumerate(chain.entries, 1)}
    last = max((place for place, one in enumerate(chain.facts) if one is not None), default=-1)
    return [
        Addition(_renumbered(one, numbers), chain.facts[place], chain.people if place == last else None)
        for place, one in enumerate(chain.entries)
    ]


def _renumbered(entry: Entry, numbers: Mapping[int, int]) -> Entry:
    """A line with the numbers of those it was checked with as they are now."""
    checked = [numbers[line] for line in entry.told.get("checked", ()) if line in numbers]
    return replace(entry, told={**entry.told, "checked": checked} if "checked" in entry.told else entry.told)


def _link_all(register: Register, chain: Chain, due: Sequence[int], card: Card) -> None:
    """Register lines one after the other, each linked with what the register knows of its people."""
    figures = [(one.number, "", data) for one, data in zip(chain.entries, chain.facts, strict=True) if data is not None]
    spaces = load_spaces(figures, chain.people)
    mine = [one for one in register.entries() if one.population == chain.entries[0].population]
    known = {one.told[ADOPTED]: one.number for one in mine if ADOPTED in one.told}
    numbers = {one.number: known[at] for one, at in zip(chain.entries, chain.digests, strict=True) if at in known}
    for place in due:
        entry = chain.entries[place]
        card = replace(card, population=entry.population)
        lines, _, earlier = known_lines(register, card, entry)
        told = people = None
        if chain.facts[place] is not None:
            title = entry.title or entry.method
            checked = check(_recorded(spaces, entry.number), title, card, lines, ExposurePolicy(), judge=False)
            told, people = checked.told, checked.people
            if told is None:
                why = "; ".join(checked.exposure.undecided)
                raise BadInput(
                    f"{quoted(entry)} cannot be checked together with what this workspace has released about "
                    f"{entry.population}: {why}.",
                    hint="Make a separate workspace for this table.",
                )
        after = earlier[-1].number if earlier else 0
        added = register.add(_renumbered(entry, numbers), told, people, after=after)
        numbers[entry.number] = added.number


def _recorded(spaces: Mapping[str, Space], line: int) -> tuple[Recorded, ...]:
    """What a line tells, in the state of the table that has most of it, with the people it tells of."""
    states = sorted((name for name in spaces if name != STABLE), key=int)
    items = {name: [one for one in spaces[name].told if one.number == line] for name in spaces}
    state = max(states, key=lambda name: (len(items[name]), int(name)))
    stable = [_records(spaces[STABLE], one) for one in items.get(STABLE, ())]
    return tuple(
        Recorded(*_records(spaces[state], one), stable=stable[place] if place < len(stable) else None)
        for place, one in enumerate(items[state])
    )


def _records(space: Space, told: Told) -> tuple[Records, Told]:
    """The people that a release tells of, as they were registered."""
    people = space.people
    group = told.group[people.atom]
    here = np.flatnonzero(group >= 0)
    at = pa.array(here)
    amounts = people.amounts[told.measure][here] if told.measure else None
    records = Records(
        people.key.take(at),
        people.unit.take(at),
        people.copies[here],
        group[here],
        np.zeros(len(here), np.int64),
        {name: people.values[name].take(at) for name in told.tells},
        amounts,
        space.by,
    )
    return records, replace(told, number=0, group=group[:0])
