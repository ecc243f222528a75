"""Uniques matched: is somebody whose values nobody else has in the release, exactly as they are?

Synthetic does not mean safe, nor does a promise of differential privacy with a large epsilon. NIST counts the unique
people of the original whose row is released (SDNist, "unique exact matches"); how many would be by chance is said here.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from discreet.core.catalogue import declare
from discreet.core.families import ATTACKS
from discreet.core.release import Release
from discreet.core.table import Table
from discreet.errors import BadInput, DataError
from discreet.verbs.attack.candidates import numbered
from discreet.verbs.attack.finding import Finding, failed
from discreet.verbs.attack.guesses import Guesses, Sides, judged, sides
from discreet.verbs.attack.scope import not_values

Array = npt.NDArray[Any]

_MEANING = (
    "The share of people with values that nobody else has, of whom all that is known is released exactly; guessing is "
    "best. 1 means that whoever is alone is in the release, made up or not."
)


@declare(ATTACKS, "uniques matched exactly", rank=30)
class MatchedUniques:
    """People who are alone in the original, looked for in the release value by value.

    Guessing is to draw as many rows as the release has, each value by how frequent it is there: of somebody with
    values of frequencies p, q, … one of m rows is equal with probability 1 − (1 − pq…)ᵐ. Data in which columns hang
    together as in the original match more people than that although nobody is in them; people who are alone in a
    control say how many.
    """

    columns: tuple[str, ...] = ()
    """What counts (default: all columns but identifiers)."""
    control: Table | None = None
    """People of the same kind who are not in the data."""

    name: ClassVar[str]

    def applies(self, release: Release[Any]) -> str | None:
        return not_values(release)

    def run(self, release: Release[Any], known: Table, links: Array | None = None) -> Finding:
        """The share of unique people who are matched; ``links`` are not needed."""
        knows = "The attacker knows the release, and looks whether somebody is in it."
        try:
            both = sides(release, known, self.control, self.columns)
            return self._found(both, knows)
        except BadInput as problem:
            return failed(self.name, knows, str(problem))

    def _found(self, both: Sides, knows: str) -> Finding:
        shown, people = both.sight.shown, both.people
        stacked = np.concatenate([both.sight.known, shown])
        codes = [np.unique(column, return_inverse=True)[1] for column in stacked.T]
        row = numbered(codes)
        mine, others, made = np.split(row, [len(people), len(both.sight.known)])
        alone = _alone(mine)
        if not len(alone):
            raise DataError("Nobody is alone in the original: there is no unique row to be matched.")
        there = np.isin(mine[alone], made)
        control = None
        if both.control is not None:
            outsiders = _alone(others)
            if not len(outsiders):
                raise DataError("Nobody is alone in the control.")
            control = np.isin(others[outsiders], made).astype(float)
        log = sum(
            _log_share(code[: len(people)][alone], code[len(both.sight.known) :], int(code.max()) + 1) for code in codes
        )
        with np.errstate(divide="ignore"):
            chance = float(np.mean(-np.expm1(len(made) * np.log1p(-np.exp(log)))))
        single = made[_alone(made)]
        details = {
            "columns": list(both.sight.columns),
            "unique": len(alone),
            "matched": int(there.sum()),
            "rows alone in the release that are somebody unique": float(np.isin(single, mine[alone]).mean())
            if len(single)
            else 0.0,
        }
        return judged(self.name, knows, Guesses(there.astype(float), alone, control, chance), _MEANING, details)


def _alone(rows: Array) -> Array:
    """The places of numbers that occur once."""
    _, first, many = np.unique(rows, return_index=True, return_counts=True)
    return np.sort(first[many == 1])


def _log_share(asked: Array, made: Array, kinds: int) -> Array:
    """The logarithm of how frequent each value is among those that were ``made``; minus infinity if it is not."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.bincount(made, minlength=kinds) / len(made)))[asked]
