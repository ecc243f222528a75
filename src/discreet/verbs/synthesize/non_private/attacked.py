"""Synthetic rows are attacked before they leave, and their holder is told what came of it.

Nothing bounds what can be learnt from such rows, so it is tried: whether people who are alone in the table are in the
release, value by value; whether descriptions made from the release fit one person; whether secrets can be read off it;
who was in the table. What was found is for the holder alone. It names rows, and even its figures would tell an intruder
where to look.

Much of what can be read off a release is true of everybody, and no harm to those it was learnt from. Only beside people
who are not in the table can the two be told apart. Where the holder has no such *control*, there is a *rehearsal*: the
same method learns from half of the people, drawn by lot, and the other half is the control.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.core.card import Role
from discreet.core.release import Release
from discreet.core.table import Table
from discreet.engines.read import read
from discreet.errors import BadInput
from discreet.noise.masking import generator
from discreet.verbs.attack.attack import attack
from discreet.verbs.attack.finding import Attack, Finding, Outcome
from discreet.verbs.attack.inference import Inference
from discreet.verbs.attack.membership import ClosestRecord
from discreet.verbs.attack.report import Report, headline
from discreet.verbs.attack.sample_uniques import MatchedUniques
from discreet.verbs.attack.singling_out import By, SinglingOut
from discreet.verbs.attack.uniqueness import Uniqueness
from discreet.verbs.publish.mask.values import Array
from discreet.verbs.publish.recoding import Progress
from discreet.verbs.synthesize.non_private.copies import COPY
from discreet.verbs.synthesize.non_private.synthesizer import people_of

T = TypeVar("T")
_WORK = 10_000_000
"""Rows looked at by an attack, about: of a larger table fewer people are attacked."""
_GUESSES = (50, 500)
_MUCH = 0.25
"""An attack that gets so much of what guessing leaves open is warned of."""
_REHEARSED = "This was found in a rehearsal: half of the people were learnt from, and the others are the control."


def alarms(report: Report) -> tuple[str, ...]:
    """What the holder has to know before this leaves, as sentences; none, if nothing was found."""
    return tuple(f"WARNING: {warned}" for one in report.findings if (warned := _warned(one)))


def attacked(
    release: Release[T],
    table: Table,
    again: Callable[[Table], Release[Any]],
    *,
    control: Table | None,
    seed: int | None,
    progress: Progress,
) -> Report:
    """What a few quick attacks find in a release; ``again`` makes another of other people.

    ``control`` holds people of the same kind who are not in the table, if there are any at hand.
    """
    kept = set(release.recipe.parameters["kept"])
    known = tuple(column.name for column in table.card.having(Role.QUASI) if column.name in kept)
    progress(0.0, MatchedUniques.name)
    reports = [attack(release, table, attacks=[MatchedUniques()])]
    if known:
        reports.append(attack(_one_copy(release), table, attacks=[Uniqueness(known)]))
    progress(0.3, "a rehearsal")
    scene = _Scene(release, table, control) if control is not None else _rehearsal(release, table, again, seed)
    guesses = min(max(_WORK // max(table.count(), 1), _GUESSES[0]), _GUESSES[1])
    describing = replace(scene, release=_one_copy(scene.release))
    reports += [
        describing.attacked([SinglingOut(by, guesses=guesses) for by in By], _part(progress, 0.5, 0.7)),
        scene.attacked(
            [MatchedUniques(), Inference(guesses=guesses), ClosestRecord(guesses=guesses)], _part(progress, 0.7, 1.0)
        ),
    ]
    return Report(
        release.title,
        table.card.name,
        tuple(finding for one in reports for finding in one.findings),
        tuple(beside for one in reports for beside in one.not_applicable),
    )


def _one_copy(release: Release[T]) -> Release[T]:
    """The first of several copies, where they are several: in all of them nobody is alone."""
    if "copies" not in release.recipe.parameters:
        return release
    rows: Any = release.payload
    first = rows.filter(pc.equal(rows.column(COPY), pa.scalar(1))).drop_columns([COPY])
    return replace(release, payload=first)


@dataclass(frozen=True)
class _Scene:
    """What is attacked, whom it was made of, and who was not in it."""

    release: Release[Any]
    members: Table
    control: Table | None
    numbers: Array | None = None
    """In a rehearsal, the row numbers of the members in the table."""

    def attacked(self, attacks: Sequence[Attack], progress: Progress) -> Report:
        report = attack(self.release, self.members, attacks=attacks, control=self.control, progress=progress)
        if self.numbers is None:
            return report
        return replace(report, findings=tuple(_rehearsed(one, self.numbers) for one in report.findings))


def _rehearsal(release: Release[Any], table: Table, again: Callable[[Table], Release[Any]], seed: int | None) -> _Scene:
    """The same of half of the people, each with all their rows; where they are too few for that, the release itself,
    without a control."""
    rows = table.fetch()
    people = people_of(table.card, rows)
    lots = np.array_split(generator(seed).permutation(int(people.max(initial=-1)) + 1), 2)
    mine, others = (np.flatnonzero(np.isin(people, half)) for half in lots)
    halves = [read(rows.take(pa.array(half, pa.int64())), table.card) for half in (mine, others)]
    try:
        return _Scene(again(halves[0]), halves[0], halves[1], mine)
    except BadInput:
        return _Scene(release, table, None)


def _rehearsed(finding: Finding, numbers: Array) -> Finding:
    """A finding of a rehearsal, about rows of the table."""
    meaning = f"{finding.meaning} {_REHEARSED}" if finding.outcome is not Outcome.FAILED else finding.meaning
    return replace(finding, victims=tuple(int(numbers[row]) for row in finding.victims), meaning=meaning)


def _part(progress: Progress, start: float, end: float) -> Progress:
    """Progress of a part of the whole."""
    return lambda share, what: progress(start + (end - start) * share, what)


def _warned(finding: Finding) -> str | None:
    """What is to be warned of: people who are alone and were copied, or much more learnt than by guessing."""
    if finding.details.get("matched") and _REHEARSED not in finding.meaning:
        matched, unique = finding.details["matched"], finding.details["unique"]
        return (
            f"Of {unique:,} people with values that nobody else has, {matched:,} are in the release, value by value: "
            "whether by chance or not, whoever finds them there will take the row for theirs."
        )
    beyond = finding.figure - finding.baseline
    if finding.outcome is not Outcome.BROKE or beyond < _MUCH * (1 - finding.baseline):
        return None
    return f"{finding.attack}: {headline(finding)}. {finding.meaning}"
