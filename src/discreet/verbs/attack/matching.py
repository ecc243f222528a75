"""What attacks share that match people with the rows that may be theirs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from discreet.core.release import Release
from discreet.core.table import Table
from discreet.errors import BadInput
from discreet.verbs.attack.candidates import Cover, cover
from discreet.verbs.attack.finding import SHOWN_VICTIMS, Finding, clopper_pearson, failed, outcome, share
from discreet.verbs.attack.scope import not_matched

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Matching(ABC):
    """An attacker who knows some columns of everybody and looks which rows may be whose."""

    columns: tuple[str, ...] = ()
    """What the attacker knows about people (default: the quasi-identifiers)."""

    name: ClassVar[str]

    @property
    @abstractmethod
    def skill(self) -> str:
        """What the attacker does, as the end of a sentence that begins with "knows … of everybody"."""

    @abstractmethod
    def judge(self, found: Cover, rows: pa.Table, known: Table, release: Release[Any]) -> Finding:
        """What is found; a ``DataError`` if that cannot be said. ``Finding.knows`` is filled in later."""

    def applies(self, release: Release[Any]) -> str | None:
        """For tables of rows in which something is true of somebody."""
        return not_matched(release)

    def run(self, release: Release[Any], known: Table, links: Array | None = None) -> Finding:
        """Match, and judge."""
        return self.look(lambda: cover(release, known, links, self.columns), release, known)

    def look(self, match: Callable[[], Cover], release: Release[Any], known: Table) -> Finding:
        """What is found in the rows that ``match`` says may be whose."""
        said = ", ".join(self.columns) or "the quasi-identifiers"
        try:
            found = match()
            finding = self.judge(found, release.payload, known, release)
        except BadInput as problem:
            return failed(self.name, f"The attacker knows {said} of everybody{self.skill}.", str(problem))
        knows = f"The attacker knows {', '.join(found.columns)} of everybody{self.skill}."
        details = {"columns": list(found.columns), "people": len(found.people), **finding.details}
        return replace(finding, knows=knows, details=details)


def few(found: Cover, which: Array) -> tuple[int, ...]:
    """A few of those attacked, by their row numbers."""
    return tuple(map(int, found.people[np.flatnonzero(which)[:SHOWN_VICTIMS]]))


def likely(
    name: str, credits: Array, baseline: float, *, meaning: str, found: Cover, details: Mapping[str, Any]
) -> Finding:
    """A finding about chances: ``credits`` says of each person how likely the attacker is right."""
    return share(name, "", credits, baseline, meaning, details=details, people=found.people)


def certain(
    name: str, sure: Array, right: Array, luck: Array | float, *, meaning: str, found: Cover, details: Mapping[str, Any]
) -> Finding:
    """A finding about certainty: of whom the attacker is ``sure``, and ``right``.

    Guessing is to say the same of the same people without looking: ``luck`` is the chance (of each person, or of all)
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
        outcome(figure, (least, interval[1]), baseline + 1e-12),
        figure,
        interval,
        baseline,
        meaning,
        few(found, hits),
        {"sure": int(sure.sum()), "right": int(hits.sum()), **details},
    )
