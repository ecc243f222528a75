"""Attacks that guess: success on people in the data, compared with a control group and with guessing.

A release also teaches about people who are not in it: that is what it is for. So success is compared with a control,
people of the same kind whose rows were not used (Giomi, Boenisch, Wehmeyer and Tasnádi 2023, "A unified framework for
quantifying privacy risk in synthetic data"). Without a control the only baseline is guessing without the release.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa

from discreet.core.release import Release
from discreet.core.table import Table
from discreet.errors import BadInput, DataError, NotFound
from discreet.verbs.attack.finding import (
    SHOWN_VICTIMS,
    Array,
    Finding,
    Outcome,
    clopper_pearson,
    failed_finding,
    judge_outcome,
    reason_not_values,
    severity,
)
from discreet.verbs.attack.linkage import LinkageData, align_columns, describing_columns, evenly_spaced, released_rows

DEFAULT_GUESSES = 1_000
"""Number of guesses per attack."""
_MAX_PAIRS = 100_000_000
"""Most pairs of a target and a released row that are compared."""


class ControlledAttack(ABC):
    """An attack on released values whose success is compared with that on a control group.

    ``control``: people of the same kind whose rows were not used for the release.
    """

    name: ClassVar[str]
    control: Table | None

    @property
    @abstractmethod
    def knows(self) -> str:
        """What the attacker knows, as a sentence."""

    def with_control(self, control: Table | None) -> Self:
        """The attack with this control, unless it has one of its own."""
        attack: Any = self
        return replace(attack, control=control) if self.control is None else self

    @abstractmethod
    def evaluate(self, release: Release[Any], known: Table) -> Finding:
        """The finding; a ``BadInput`` says why the attack cannot run."""

    def applies(self, release: Release[Any]) -> str | None:
        """For rows with values, not ranges or groups of them."""
        return reason_not_values(release)

    def run(self, release: Release[Any], known: Table, links: Array | None = None) -> Finding:
        """Attack ``release``; ``links`` are not needed."""
        try:
            return self.evaluate(release, known)
        except BadInput as problem:
            return failed_finding(self.name, self.knows, str(problem))


@dataclass(frozen=True)
class GuessResults:
    """Success probability of each guess, for targets in the data and for a control group."""

    target_success: Array
    target_rows: Array
    """Row number, in the original table, of the person each guess is about."""
    control_success: Array | None
    """Success on people who are not in the data; None without a control."""
    naive_rate: float
    """Success rate of an attacker who has not seen the release."""
    uninformed_ceiling: float = 0.0
    """Success rate that is possible without any leakage, if there is no control; only more counts as learned."""
    control_scale: float = 1.0
    """Factor by which the control's rate bounds that of as many people as are in the data; 1 if they are as many."""


def evaluate_guesses(
    attack: str, knows: str, results: GuessResults, meaning: str, details: Mapping[str, Any]
) -> Finding:
    """The finding: something was learned if targets are guessed better than naively and, surely, than the control.

    Both ends of the risk's interval take the worse ends of two intervals of 97.5 %, so that it covers in 95 %.
    """
    right, count = float(results.target_success.sum()), len(results.target_success)
    rate, interval = right / count, clopper_pearson(right, count)
    baseline, rates = results.naive_rate, {"guessing": results.naive_rate}
    outcomes = [judge_outcome(rate, interval, results.naive_rate)]
    if results.control_success is None:
        outcomes.append(judge_outcome(rate, interval, results.uninformed_ceiling))
        meaning += " Without a control group, how much of that is general knowledge is unknown."
    else:
        others, trials, scale = (
            float(results.control_success.sum()),
            len(results.control_success),
            results.control_scale,
        )
        control = min(scale * others / trials, 1.0)
        ends = [clopper_pearson(*one, confidence=0.975) for one in ((right, count), (others, trials))]
        least, most = (min(scale * end, 1.0) for end in ends[1])
        low, high = added_risk(ends[0][0], most), added_risk(ends[0][1], least)
        risk = added_risk(rate, control)
        rates |= {"control": control, "risk": risk, "risk from": low, "risk to": high}
        baseline = max(baseline, control)
        outcomes.append(judge_outcome(risk, (low, high), 0.0))
    outcome = max(outcomes, key=severity)
    certain = results.target_rows[(results.target_success >= 1.0) & (outcome is not Outcome.NOTHING)]
    victims = tuple(map(int, dict.fromkeys(certain.tolist())))[:SHOWN_VICTIMS]
    details = {"guesses": count, **rates, **details}
    return Finding(attack, knows, outcome, rate, interval, baseline, meaning, victims, details)


def added_risk(rate: float, control: float) -> float:
    """What the release adds to the attack, as a share of what it could add; not below 0."""
    return max((rate - control) / (1 - control), 0.0) if control < 1 else 0.0


@dataclass(frozen=True)
class TargetsAndControl:
    """Released rows, the people in the data and the control group, aligned as numbers."""

    data: LinkageData
    members: int
    """Number of known people who are in the data; the rest are the control."""

    @property
    def people(self) -> Array:
        return self.data.known[: self.members]

    @property
    def control(self) -> Array | None:
        return self.data.known[self.members :] if len(self.data.known) > self.members else None


def targets_and_control(
    release: Release[Any], known: Table, control: Table | None, columns: tuple[str, ...] = ()
) -> TargetsAndControl:
    """Align the release with ``known`` and ``control`` by ``columns`` (default: all but identifiers)."""
    names = list(columns or describing_columns(known.card))
    payload, rows = released_rows(release), known.fetch()
    if absent := set(names) - set(rows.column_names):
        raise NotFound(f"The attacker's table has no column {', '.join(sorted(absent))}.")
    people = rows.select(names)
    members = people.num_rows
    if control is not None:
        others = control.fetch()
        if missing := set(names) - set(others.column_names):
            raise DataError(f"The control has no column {', '.join(sorted(missing))}.")
        if not others.num_rows:
            raise DataError("The control group is empty.")
        try:
            people = pa.concat_tables([people, others.select(names).cast(people.schema)])
        except pa.ArrowException as problem:
            raise DataError(f"The control group has other types of values than the original: {problem}.") from problem
    no_links = np.full(payload.num_rows, -1)
    return TargetsAndControl(align_columns(payload, people, no_links, tuple(names)), members)


def sample_targets(people: Array, rows: Array, guesses: int) -> Array:
    """Evenly spaced targets: one per guess, fewer if the release is very large."""
    return evenly_spaced(len(people), max(min(guesses, _MAX_PAIRS // len(rows)), 1))
