"""Findings of attacks, with intervals and baselines; the interface of an attack and of its scope."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from discreet.core.optional import extra
from discreet.core.release import Release
from discreet.core.table import Table
from discreet.errors import BadInput

Array: TypeAlias = npt.NDArray[Any]
"""Any NumPy array."""

SHOWN_VICTIMS = 5
"""Largest number of victims that a finding names for the steward."""
_NOTEWORTHY_GAIN = 0.1
"""Gain over the baseline, as a share of the possible gain, that is never reported as nothing."""
SEVERAL_ROWS = ("unlinked", "linked")
"""What recipes say of people if a release has all their rows."""
_GENERALISED = ("publish", "safepub")
_SYNTHETIC = "synthesize"
"""First word of the methods of synthetic releases; columns that were not synthesized are ``kept`` in the recipe."""


class Outcome(Enum):
    """Outcome of an attack, worst first: finding nothing is good news; being unable to tell, or to run, is no news."""

    BROKE = "learned something"
    UNSURE = "too few people to tell"
    NOTHING = "found nothing"
    FAILED = "could not run"


@dataclass(frozen=True)
class Finding:
    """Result of one attack on one release."""

    attack: str
    knows: str
    """What the attacker knows, as a sentence."""
    outcome: Outcome
    figure: float
    """Success rate, or the quantity ``meaning`` describes; NaN if the attack could not run."""
    interval: tuple[float, float]
    """Confidence interval, of the kind ``interval_is``; for shares Clopper–Pearson."""
    baseline: float
    """Success rate of guessing without the release."""
    meaning: str
    """Meaning of the figure for a steward, and which direction is worse."""
    victims: tuple[int, ...] = field(default=(), repr=False)
    """Row numbers of a few victims in the original, for the steward only."""
    details: Mapping[str, Any] = field(default_factory=dict)
    interval_is: str = "95 %"
    """Kind of interval, as the words before "from … to …"."""

    def __post_init__(self) -> None:
        low, high = self.interval
        if self.outcome is not Outcome.FAILED and not low <= self.figure <= high:
            raise BadInput(f"The figure {self.figure} of a finding is outside its interval, {low} to {high}.")

    def without_victims(self) -> Finding:
        """The finding without row numbers, safe to pass on."""
        return replace(self, victims=())

    def to_dict(self, *, victims: bool = False) -> dict[str, Any]:
        """The finding as plain data for JSON, with victims on request."""
        data = {
            "attack": self.attack,
            "knows": self.knows,
            "outcome": self.outcome.value,
            "figure": _number(self.figure),
            "interval": [_number(end) for end in self.interval],
            "interval_is": self.interval_is,
            "baseline": _number(self.baseline),
            "meaning": self.meaning,
            "details": dict(self.details),
        }
        return data | {"victims": list(self.victims)} if victims else data

    def __str__(self) -> str:
        if self.outcome is Outcome.FAILED:
            return f"{self.attack}: could not run. {self.meaning}"
        low, high = self.interval
        return (
            f"{self.attack}: {self.outcome.value}. {self.figure:.2%} ({self.interval_is}: {low:.2%} to {high:.2%}; "
            f"guessing: {self.baseline:.2%}). {self.meaning}"
        )


class Attack(Protocol):
    """An attack: an intruder with a release, its recipe, and a table of background knowledge."""

    def run(self, release: Release[Any], known: Table, links: Array | None = None) -> Finding:
        """Attack ``release``; ``links`` (row in the original of each released row) measure success only."""
        ...


@runtime_checkable
class Applicable(Attack, Protocol):
    """An attack with a name and a scope: the releases it applies to."""

    @property
    def name(self) -> str:
        """Unique name in reports."""

    def applies(self, release: Release[Any]) -> str | None:
        """``None`` if the attack applies to the release, else the reason why not, as a sentence."""


def share_finding(
    attack: str,
    knows: str,
    success: Array,
    baseline: float,
    meaning: str,
    *,
    details: Mapping[str, Any] | None = None,
    people: Array | None = None,
) -> Finding:
    """Finding about a share of people; ``success`` is each one's probability of a correct guess.

    The probabilities of independent people sum to less spread than coins of the same mean, so that the interval
    of Clopper and Pearson for as many coins covers at least as often as it says. ``people`` are the row numbers of
    those who were attacked (default: everyone, in order).
    """
    right, count = float(success.sum()), len(success)
    interval = clopper_pearson(right, count)
    certain = np.flatnonzero(success > 1 - 1e-9)[:SHOWN_VICTIMS]
    return Finding(
        attack,
        knows,
        judge_outcome(right / count, interval, baseline),
        right / count,
        interval,
        baseline,
        meaning,
        tuple(map(int, certain if people is None else people[certain])),
        details or {},
    )


def judge_outcome(figure: float, interval: tuple[float, float], baseline: float) -> Outcome:
    """Outcome of a figure: the baseline is beaten only if the whole interval lies above it.

    If the figure is above it by a noteworthy gain and the interval is not, there are too few people to tell.
    """
    if interval[0] > baseline:
        return Outcome.BROKE
    return Outcome.UNSURE if figure - baseline > _NOTEWORTHY_GAIN * (1 - baseline) else Outcome.NOTHING


def severity(outcome: Outcome) -> int:
    """Rank of an outcome, worst first."""
    return list(Outcome).index(outcome)


def worst_finding(findings: Iterable[Finding]) -> Finding:
    """The most serious of several findings: by outcome, then by the gain over guessing."""
    return min(findings, key=lambda one: (severity(one.outcome), one.baseline - one.figure))


def failed_finding(attack: str, knows: str, why: str) -> Finding:
    """The finding of an attack that could not run."""
    return Finding(attack, knows, Outcome.FAILED, math.nan, (0.0, 1.0), math.nan, why)


def clopper_pearson(successes: float, trials: int, confidence: float = 0.95) -> tuple[float, float]:
    """Exact confidence interval of a share (Clopper and Pearson 1934); ``successes`` may be a sum of probabilities."""
    if trials < 1 or not 0 <= successes <= trials:
        raise BadInput(
            f"Successes must be between 0 and the number of trials, which is at least 1: got {successes} of {trials}."
        )
    with extra("attack"):
        from scipy.special import betaincinv
    tail, failures = (1 - confidence) / 2, trials - successes
    share = successes / trials
    low = float(betaincinv(successes, failures + 1, tail)) if successes > 0 else 0.0
    high = float(betaincinv(successes + 1, failures, 1 - tail)) if failures > 0 else 1.0
    return min(low, share), max(high, share)


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value


# -- which releases an attack is for ----------------------------------------------------------------------------------


def reason_not_rows(release: Release[Any]) -> str | None:
    """Why an attack on microdata with one row a person does not apply; ``None`` if it does."""
    if release.recipe.parameters.get("people") in SEVERAL_ROWS:
        return "People have several rows in it; attack it by known rows."
    printed = "tables" in release.recipe.parameters
    return None if isinstance(release.payload, pa.Table) and not printed else "The release is not a table of rows."


def reason_not_values(release: Release[Any]) -> str | None:
    """Why an attack that compares values does not apply (to ranges or groups of values); ``None`` if it does."""
    if reason_not_rows(release) is None and release.recipe.method in _GENERALISED:
        return "Values were generalised, not changed; attack it by matching quasi-identifiers."
    return reason_not_rows(release)


def reason_not_linkable(release: Release[Any]) -> str | None:
    """Why record linkage by values does not apply; ``None`` if it does."""
    if reason_not_rows(release) is None and _is_synthetic(release):
        return "Rows are synthetic: none belongs to a person, so there is none to find."
    return reason_not_values(release)


def reason_not_matchable(release: Release[Any]) -> str | None:
    """Why matching by quasi-identifiers does not apply; ``None`` if it does."""
    if reason_not_rows(release) is None and _is_synthetic(release) and not release.recipe.parameters.get("kept"):
        return "Rows are synthetic: they rule out no candidate."
    return reason_not_rows(release)


def reason_not_composable(release: Release[Any]) -> str | None:
    """Why rows are not laid beside those of other releases of the same people; ``None`` if they are."""
    if release.recipe.parameters.get("people") == "one-row":
        return "One row of each person was drawn for it, perhaps a different one from other releases."
    return reason_not_matchable(release)


def _is_synthetic(release: Release[Any]) -> bool:
    return release.recipe.method.split(" ")[0] == _SYNTHETIC
