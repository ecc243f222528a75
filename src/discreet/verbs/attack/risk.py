"""Disclosure risk as one figure: DR = ½ ID + ¼ DLD + ¼ PLD (Domingo-Ferrer and Torra 2001)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.core.release import Release
from discreet.core.table import Table
from discreet.errors import DataError
from discreet.verbs.attack.distance import DistanceLinkage
from discreet.verbs.attack.finding import Attack, Outcome
from discreet.verbs.attack.interval import IntervalDisclosure, Width
from discreet.verbs.attack.probabilistic import ProbabilisticLinkage

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class DisclosureRisk:
    """Shares from 0 (best) to 1."""

    interval: float
    """ID: the mean of the interval disclosure by rank and by standard deviation."""
    distance: float
    """DLD: distance linkage."""
    probabilistic: float
    """PLD: probabilistic linkage."""

    @property
    def total(self) -> float:
        """Half of it is interval disclosure, a quarter each distance and probabilistic linkage."""
        return self.interval / 2 + self.distance / 4 + self.probabilistic / 4


def disclosure_risk(
    release: Release[Any], known: Table, links: Array, sets: Sequence[tuple[str, ...]] = ((),)
) -> DisclosureRisk:
    """The risk of ``release``. ``sets`` are the sets of columns a linking attacker may know: both linkages are averaged
    over them (default: the quasi-identifiers, all at once). Intervals are of all quasi-identifiers."""

    def mean(attacks: Sequence[Attack]) -> float:
        findings = [attack.run(release, known, links) for attack in attacks]
        for finding in findings:
            if finding.outcome is Outcome.FAILED:
                raise DataError(f"The risk cannot be measured: {finding.meaning}")
        return float(np.mean([finding.figure for finding in findings]))

    return DisclosureRisk(
        mean([IntervalDisclosure(width) for width in Width]),
        mean([DistanceLinkage(columns) for columns in sets]),
        mean([ProbabilisticLinkage(columns) for columns in sets]),
    )
