"""What an attack says of the releases it is for, and what attacks on rows have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from discreet.attack.cover import Cover, cover
from discreet.attack.finding import SHOWN_VICTIMS, Finding, Outcome, clopper_pearson, failed
from discreet.attack.interval import IntervalDisclosure
from discreet.attack.linkage import Linkage
from discreet.core.release import Release
from discreet.core.table import Table
from discreet.errors import BadInput

Array = npt.NDArray[Any]

_GENERALISED = ("publish", "safepub")


@runtime_checkable
class Applicable(Protocol):
    """An attack that knows which releases it is for."""

    @property
    def name(self) -> str:
        """What it is called in a report; no two attacks share a name."""

    def applies(self, release: Release[Any]) -> str | None:
        """``None`` if this attack is for such a release, else why not, as a sentence."""

    def run(self, release: Release[Any], known: Table, links: Array | None = None) -> Finding:
        """Attack ``release``; ``links`` tell who was right."""


@dataclass(frozen=True)
class Linking:
    """A linking attack or interval disclosure, for releases in which values were changed rather than made coarser."""

    attack: Linkage | IntervalDisclosure

    @property
    def name(self) -> str:
        attack = self.attack
        return f"{attack.name} by {attack.width.value}" if isinstance(attack, IntervalDisclosure) else attack.name

    def applies(self, release: Release[Any]) -> str | None:
        method = release.recipe.method
        if why := not_rows(release):
            return why
        if method in _GENERALISED:
            return "Values were made coarser and not changed; matching by quasi-identifiers is the attack on that."
        methods = () if isinstance(self.attack, IntervalDisclosure) else self.attack.methods
        if methods and method not in methods:
            return f"This attack is on {' and '.join(methods)}; the release was made by {method}."
        return None

    def run(self, release: Release[Any], known: Table, links: Array | None = None) -> Finding:
        return replace(self.attack.run(release, known, links), attack=self.name)


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
        """For tables of rows."""
        return not_rows(release)

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


def not_rows(release: Release[Any]) -> str | None:
    """Why an attack on rows does not apply; ``None`` if it does."""
    return None if isinstance(release.payload, pa.Table) else "The release is not a table of rows."


def few(found: Cover, which: Array) -> tuple[int, ...]:
    """A few of those attacked, by their row numbers."""
    return tuple(map(int, found.people[np.flatnonzero(which)[:SHOWN_VICTIMS]]))


def by_lot(
    name: str, credits: Array, baseline: float, *, meaning: str, found: Cover, details: Mapping[str, Any]
) -> Finding:
    """A finding about chances: ``credits`` says of each person how likely the attacker is right."""
    interval = clopper_pearson(float(credits.sum()), len(credits))
    figure = float(credits.mean())
    outcome = Outcome.BROKE if interval[0] > baseline else Outcome.NOTHING
    return Finding(
        name, "", outcome, figure, _around(figure, interval), baseline, meaning, few(found, credits > 1 - 1e-9), details
    )


def certain(
    name: str, sure: Array, right: Array, luck: float, *, meaning: str, found: Cover, details: Mapping[str, Any]
) -> Finding:
    """A finding about certainty: of whom the attacker is ``sure``, and ``right``.

    Guessing is never sure, so that one person is enough for a breach. Only where the attacker is sure and wrong
    (rows are not what they seem) does ``luck``, the chance that such a guess is right, count as guessing.
    """
    hits = sure & right
    figure, interval = float(hits.mean()), clopper_pearson(float(hits.sum()), len(hits))
    baseline = float(sure.mean()) * luck if luck >= 1 or (sure & ~right).any() else 0.0
    outcome = Outcome.BROKE if interval[0] > baseline else Outcome.NOTHING
    return Finding(
        name,
        "",
        outcome,
        figure,
        _around(figure, interval),
        baseline,
        meaning,
        few(found, hits),
        {"sure": int(sure.sum()), "right": int(hits.sum()), **details},
    )


def _around(figure: float, interval: tuple[float, float]) -> tuple[float, float]:
    return min(interval[0], figure), max(interval[1], figure)
