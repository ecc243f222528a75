"""Matching attacks: an intruder matches people with their candidate rows by quasi-identifiers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from discreet.core.release import Release
from discreet.core.table import Table
from discreet.errors import BadInput
from discreet.verbs.attack.candidates import Candidates, find_candidates
from discreet.verbs.attack.finding import (
    SHOWN_VICTIMS,
    Array,
    Finding,
    clopper_pearson,
    failed_finding,
    judge_outcome,
    reason_not_matchable,
    share_finding,
)


@dataclass(frozen=True)
class Matching(ABC):
    """An attacker who knows some columns of everybody and finds the candidate rows of each person."""

    columns: tuple[str, ...] = ()
    """What the attacker knows about people (default: the quasi-identifiers)."""

    name: ClassVar[str]

    @property
    @abstractmethod
    def skill(self) -> str:
        """What the attacker does, as the end of a sentence that begins with "knows … of everybody"."""

    @abstractmethod
    def evaluate(self, found: Candidates, known: Table, release: Release[Any]) -> Finding:
        """The finding; a ``DataError`` if there can be none. ``Finding.knows`` is filled in later."""

    def applies(self, release: Release[Any]) -> str | None:
        """For rows in which something is true of somebody."""
        return reason_not_matchable(release)

    def run(self, release: Release[Any], known: Table, links: Array | None = None) -> Finding:
        """Find the candidate rows, and evaluate them."""
        return self.run_on(lambda: find_candidates(release, known, links, self.columns), release, known)

    def run_on(self, match: Callable[[], Candidates], release: Release[Any], known: Table) -> Finding:
        """Evaluate the candidate rows that ``match`` gives."""
        names = ", ".join(self.columns) or "the quasi-identifiers"
        try:
            found = match()
            finding = self.evaluate(found, known, release)
        except BadInput as problem:
            return failed_finding(self.name, f"The attacker knows {names} of everybody{self.skill}.", str(problem))
        knows = f"The attacker knows {', '.join(found.columns)} of everybody{self.skill}."
        details = {"columns": list(found.columns), "people": len(found.people), **finding.details}
        return replace(finding, knows=knows, details=details)


def first_victims(found: Candidates, which: Array) -> tuple[int, ...]:
    """Row numbers of a few of the people attacked."""
    return tuple(map(int, found.people[np.flatnonzero(which)[:SHOWN_VICTIMS]]))


def chance_finding(
    name: str, success: Array, baseline: float, *, meaning: str, found: Candidates, details: Mapping[str, Any]
) -> Finding:
    """A finding about chances: ``success`` is the probability, for each person, that the attacker is right."""
    return share_finding(name, "", success, baseline, meaning, details=details, people=found.people)


def certainty_finding(
    name: str,
    sure: Array,
    right: Array,
    luck: Array | float,
    *,
    meaning: str,
    found: Candidates,
    details: Mapping[str, Any],
) -> Finding:
    """A finding about certainty: for whom the attacker is ``sure``, and ``right``.

    Guessing is to say the same of the same people without looking: ``luck`` is the chance (for each person, or for all)
    that this is right of anybody. Of what nearly everybody has, nearly nothing is learned by being sure. Where the
    attacker is never sure and wrong there is no chance in it, so that one person, of whom something was learned that
    is not everybody's, is a breach; else (rows are not what they seem) the interval has to be above guessing.
    """
    hits = sure & right
    figure, interval = float(hits.mean()), clopper_pearson(float(hits.sum()), len(hits))
    baseline = float(np.where(sure, luck, 0.0).mean())
    least = interval[0] if (sure & ~right).any() else figure
    return Finding(
        name,
        "",
        judge_outcome(figure, (least, interval[1]), baseline + 1e-12),
        figure,
        interval,
        baseline,
        meaning,
        first_victims(found, hits),
        {"sure": int(sure.sum()), "right": int(hits.sum()), **details},
    )
