"""Unique exact matches: sample uniques of the original whose values are released exactly.

Synthetic does not mean safe, nor does a promise of differential privacy with a large epsilon. NIST counts the unique
people of the original whose row is released (SDNist, "unique exact matches"); how many would be by chance is said here.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from discreet.core.catalogue import declare
from discreet.core.families import ATTACKS
from discreet.core.release import Release
from discreet.core.table import Table
from discreet.errors import DataError
from discreet.verbs.attack.finding import Array, Finding
from discreet.verbs.attack.guesses import ControlledAttack, GuessResults, evaluate_guesses, targets_and_control
from discreet.verbs.attack.matching import number_rows

_MEANING = (
    "Share of unique people whose known values are released exactly; the guessing rate is best. 1 means that "
    "every unique person is in the release, synthetic or not."
)


@declare(ATTACKS, "uniques matched exactly", rank=30)
class MatchedUniques(ControlledAttack):
    """Sample uniques of the original, looked for in the release value by value.

    Guessing is to draw as many rows as the release has, each value by how frequent it is there: of someone with
    values of frequencies p, q, … one of m rows is equal with probability 1 − (1 − pq…)ᵐ. Data in which columns hang
    together as in the original match more people than that although no one is in them; people who are alone in a
    control say how many.
    """

    columns: tuple[str, ...] = ()
    """Columns that count (default: all but identifiers)."""
    control: Table | None = None

    knows: ClassVar[str] = "The attacker has the release, and checks whether a person is in it."

    def evaluate(self, release: Release[Any], known: Table) -> Finding:
        """The share of unique people who are matched."""
        both = targets_and_control(release, known, self.control, self.columns)
        stacked = np.concatenate([both.data.known, both.data.released])
        codes = [np.unique(column, return_inverse=True)[1] for column in stacked.T]
        mine, others, made = np.split(number_rows(codes), [both.members, len(both.data.known)])
        alone = _single_places(mine)
        if not len(alone):
            raise DataError("No one is unique in the original, so there is no row to match.")
        there = np.isin(mine[alone], made)
        control = None
        if both.control is not None:
            outsiders = _single_places(others)
            if not len(outsiders):
                raise DataError("No one is unique in the control group.")
            control = np.isin(others[outsiders], made).astype(float)
        shares = np.ones(len(alone))
        for code in codes:  # how frequent each value is among those that were released
            shares *= (np.bincount(code[len(both.data.known) :], minlength=int(code.max()) + 1) / len(made))[
                code[alone]
            ]
        with np.errstate(divide="ignore"):
            chance = float(np.mean(-np.expm1(len(made) * np.log1p(-shares))))
        single = made[_single_places(made)]
        details = {
            "columns": list(both.data.columns),
            "unique": len(alone),
            "matched": int(there.sum()),
            "unique released rows that match a unique person": float(np.isin(single, mine[alone]).mean())
            if len(single)
            else 0.0,
        }
        results = GuessResults(there.astype(float), alone, control, chance)
        return evaluate_guesses(self.name, self.knows, results, _MEANING, details)


def _single_places(rows: Array) -> Array:
    """The places of numbers that occur once."""
    _, first, many = np.unique(rows, return_index=True, return_counts=True)
    return np.sort(first[many == 1])
