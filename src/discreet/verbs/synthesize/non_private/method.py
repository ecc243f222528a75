"""Synthetic rows without a promise as a release: no impossible rows, in an order that tells nothing, and attacked.

Edit rules. Rows that the card calls impossible are made again. A table is made anew as a whole, and of the rows that
cannot be, those at the same places are taken: what is kept stays with its row, and copies stay apart. A synthesizer
does not know the conditions, so its rows are those it would make if others did not come up. What remains wrong is left
out.

Attacks. Nothing bounds what can be learnt from such rows, so it is tried: whether people who are alone in the table are
in the release, value by value; whether descriptions made from the release fit one person; whether secrets can be read
off it; who was in the table. What was found is for the holder alone. It names rows, and even its figures would tell an
intruder where to look.

Much of what can be taken from a release is true of everyone, and no harm to those it was learnt from. Only beside
people who are not in the table can the two be told apart. Where the holder has no such *control*, there is a
*rehearsal*: the same method learns from half of the people, drawn by lot, and the other half is the control.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.core.card import Card, Column, Role
from discreet.core.holder_copy import HolderCopy
from discreet.core.identifiers import said_of_withheld
from discreet.core.kind import Kind
from discreet.core.release import Release
from discreet.core.report import notes
from discreet.core.sql import content_order
from discreet.core.statement import Evidence, Statement
from discreet.core.table import Table
from discreet.core.text import number
from discreet.engines.read import read
from discreet.errors import BadInput
from discreet.noise.masking import Draws, generator
from discreet.releases.method import Bench, Made, Method, Progress
from discreet.releases.pipeline import draft
from discreet.verbs.attack.attack import attack
from discreet.verbs.attack.finding import Attack, Finding, Outcome
from discreet.verbs.attack.inference import Inference
from discreet.verbs.attack.membership import ClosestRecord
from discreet.verbs.attack.report import Report, headline
from discreet.verbs.attack.sample_uniques import MatchedUniques
from discreet.verbs.attack.singling_out import By, SinglingOut
from discreet.verbs.attack.uniqueness import Uniqueness
from discreet.verbs.publish.mask.report import pictures
from discreet.verbs.publish.mask.values import Array, bounds_steps, clamp_to_bounds, limits_of
from discreet.verbs.publish.recoding import published_columns
from discreet.verbs.synthesize.non_private.copies import COPY
from discreet.verbs.synthesize.non_private.synthesizer import Synthesizer, Synthetic, person_numbers
from discreet.verbs.synthesize.structural_zeros import Impossible


@dataclass(frozen=True)
class NonPrivate(Method[Any]):
    """Synthetic rows without a privacy loss, attacked before they leave; the holder is told what was found."""

    synthesizer: Synthesizer
    control: Table | None = None
    seed: int | None = None

    @property
    def name(self) -> str:  # type: ignore[override]
        return self.synthesizer.name

    @property
    def parameters(self) -> Mapping[str, Any]:
        """None: those of the synthesizer come with what it makes."""
        return {}

    def promise(self, card: Card) -> Statement:
        """A statement that promises nothing."""
        caveats = (
            "Synthetic does not mean safe: these rows were learned from people, without a bound on what they reveal.",
            "This is not differential privacy: one person may change the release a lot.",
        )
        assumes = (card.whose,) if card.rows_are_people else ()
        return Statement(card.unit or "person", None, (), None, Evidence.ARGUED, assumes, caveats)

    def make(self, table: Table, bench: Bench) -> Made[Any]:
        """The rows, and for the holder what attackers find in them."""
        bench.progress(0.0, "fitting and sampling")
        made = self._rows(table)
        report = attack_report(
            self._draft(table, made),
            table,
            lambda people: self._draft(people, self._rows(people)),
            control=self.control,
            seed=self.seed,
            progress=lambda share, what: bench.progress(0.4 + 0.6 * share, f"attack: {what}"),
        )
        found = pa.Table.from_pylist(
            [{"attack": one.attack, "outcome": one.outcome.value, "meaning": one.meaning} for one in report.findings],
            pa.schema([("attack", pa.string()), ("outcome", pa.string()), ("meaning", pa.string())]),
        )
        warnings = holder_warnings(report)
        holder = HolderCopy("findings", found, draw=lambda: notes(warnings) + report._repr_html_(), details=report)
        return replace(made, holder=holder, notices=warnings)

    def _rows(self, table: Table) -> Made[Any]:
        made = possible_rows(table, self.synthesizer, self.seed)
        rows = made.rows.take(content_order(made.rows))
        own = (Column(COPY, Kind.INTEGER),) if COPY in rows.column_names and COPY not in table.card else ()
        shown = read(rows, table.card.without_unit((*published_columns(table.card), *own)))
        return Made(
            rows,
            {**made.parameters, "table": table.card.name, "rows": table.count()},
            (*made.steps, *bounds_steps(limits_of(table.card, made.parameters))),
            caveats=_caveats(table, made.not_promised),
            pictures=pictures(shown, made.parameters["columns"]),
            seed=self.seed,
            title=f"{table.card.name}, synthetic",
        )

    def _draft(self, table: Table, made: Made[Any]) -> Release[Any]:
        return draft(self, table, self.promise(table.card), made, None)


def _caveats(table: Table, not_promised: Sequence[str]) -> tuple[str, ...]:
    card, caveats = table.card, list(not_promised)
    if card.unit is not None and card.rows_per_unit != 1:
        caveats.append(
            f"Rows are made one by one: which of them belong to the same {card.unit} is lost, and people "
            "with several rows weigh more."
        )
    caveats += said_of_withheld(table)
    return (*caveats, "It was attacked before release; attacks that find nothing prove nothing.")


_AGAIN = 6


def possible_rows(table: Table, synthesizer: Synthesizer, seed: int | None) -> Synthetic:
    """Rows within their bounds, none of which the card calls impossible."""
    made = _synthesize_bounded(table, synthesizer, seed)
    impossible = Impossible.among(table.card, made.rows.schema)
    rows, wrong = made.rows, impossible.met(made.rows)
    first, seeds = len(wrong), Draws.of(seed)
    for again in range(1, _AGAIN + 1):
        if not len(wrong):
            break
        other = _synthesize_bounded(table, synthesizer, int(seeds.at(again).integers(2**63))).rows
        if other.num_rows != rows.num_rows:
            break
        rows = _exchange_rows(rows, other, wrong)
        wrong = impossible.met(rows)
    kept = np.ones(rows.num_rows, np.bool_)
    kept[wrong] = False
    steps = list(made.steps)
    if first:
        said = f"{number(first, 'row')} that the card declares impossible {'was' if first == 1 else 'were'} redrawn"
        never = f"; {len(wrong):,} of them stayed impossible and were left out" if len(wrong) else ""
        steps.append(f"{said}{never}.")
    left_out = [f"This impossible condition of the card is not enforced: {text}." for text in impossible.left_out]
    return replace(
        made,
        rows=rows if kept.all() else rows.filter(pa.array(kept)),
        steps=tuple(steps),
        not_promised=(*made.not_promised, *left_out),
    )


def _synthesize_bounded(table: Table, synthesizer: Synthesizer, seed: int | None) -> Synthetic:
    made = synthesizer.synthesize(table, seed)
    return replace(made, rows=clamp_to_bounds(made.rows, limits_of(table.card, made.parameters)))


def _exchange_rows(rows: pa.Table, other: pa.Table, places: Array) -> pa.Table:
    """The rows, at some places those of another table."""
    at = np.arange(rows.num_rows)
    at[places] = rows.num_rows + places
    return pa.concat_tables([rows, other]).take(at)


T = TypeVar("T")
_WORK = 10_000_000
"""Rows looked at by an attack, about: of a larger table fewer people are attacked."""
_GUESSES = (50, 500)
_MUCH = 0.25
"""An attack that gets so much of what guessing leaves open is warned of."""
_REHEARSED = "Measured in a rehearsal: half of the people were the training set, the others the control group."


def holder_warnings(report: Report) -> tuple[str, ...]:
    """Warnings for the holder before this leaves; none, if nothing was found."""
    return tuple(f"WARNING: {warned}" for one in report.findings if (warned := _warning_of(one)))


def attack_report(
    release: Release[T],
    table: Table,
    again: Callable[[Table], Release[Any]],
    *,
    control: Table | None,
    seed: int | None,
    progress: Progress,
) -> Report:
    """Report of a few quick attacks on a release; ``again`` makes another of other people.

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
        describing.attacked([SinglingOut(by, guesses=guesses) for by in By], _partial_progress(progress, 0.5, 0.7)),
        scene.attacked(
            [MatchedUniques(), Inference(guesses=guesses), ClosestRecord(guesses=guesses)],
            _partial_progress(progress, 0.7, 1.0),
        ),
    ]
    return Report(
        release.title,
        table.card.name,
        tuple(finding for one in reports for finding in one.findings),
        tuple(beside for one in reports for beside in one.not_applicable),
    )


def _one_copy(release: Release[T]) -> Release[T]:
    """The first of several copies: in all of them together no one is unique."""
    if "copies" not in release.recipe.parameters:
        return release
    rows: Any = release.payload
    first = rows.filter(pc.equal(rows.column(COPY), pa.scalar(1))).drop_columns([COPY])
    return replace(release, payload=first)


@dataclass(frozen=True)
class _Scene:
    """A release to attack, its members, and a control of people who are not in it."""

    release: Release[Any]
    members: Table
    control: Table | None
    numbers: Array | None = None
    """In a rehearsal, the row numbers of the members in the table."""

    def attacked(self, attacks: Sequence[Attack], progress: Progress) -> Report:
        report = attack(self.release, self.members, attacks=attacks, control=self.control, progress=progress)
        if self.numbers is None:
            return report
        return replace(report, findings=tuple(_rehearsal_finding(one, self.numbers) for one in report.findings))


def _rehearsal(release: Release[Any], table: Table, again: Callable[[Table], Release[Any]], seed: int | None) -> _Scene:
    """A release of half of the people, each with all their rows; where they are too few for that, the release itself,
    without a control."""
    rows = table.fetch()
    people = person_numbers(table.card, rows)
    lots = np.array_split(generator(seed).permutation(int(people.max(initial=-1)) + 1), 2)
    mine, others = (np.flatnonzero(np.isin(people, half)) for half in lots)
    halves = [read(rows.take(pa.array(half, pa.int64())), table.card) for half in (mine, others)]
    try:
        return _Scene(again(halves[0]), halves[0], halves[1], mine)
    except BadInput:
        return _Scene(release, table, None)


def _rehearsal_finding(finding: Finding, numbers: Array) -> Finding:
    """A finding of a rehearsal, about rows of the table."""
    meaning = f"{finding.meaning} {_REHEARSED}" if finding.outcome is not Outcome.FAILED else finding.meaning
    return replace(finding, victims=tuple(int(numbers[row]) for row in finding.victims), meaning=meaning)


def _partial_progress(progress: Progress, start: float, end: float) -> Progress:
    """Progress of a part of the whole."""
    return lambda share, what: progress(start + (end - start) * share, what)


def _warning_of(finding: Finding) -> str | None:
    """The warning of a finding: uniques that were copied, or much more learnt than by guessing."""
    if finding.details.get("matched") and _REHEARSED not in finding.meaning:
        matched, unique = finding.details["matched"], finding.details["unique"]
        return (
            f"Of {unique:,} unique people, {matched:,} are in the release with all their values: whether by "
            "chance or not, the rows will be taken for theirs."
        )
    beyond = finding.figure - finding.baseline
    if finding.outcome is not Outcome.BROKE or beyond < _MUCH * (1 - finding.baseline):
        return None
    return f"{finding.attack}: {headline(finding)}. {finding.meaning}"
