"""Inference: a person's secret is read off the released row that is most like them.

Giomi, Boenisch, Wehmeyer and Tasnádi (2023), "A unified framework for quantifying privacy risk in synthetic data".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from discreet.attack.applies import not_values
from discreet.attack.finding import Finding, failed
from discreet.attack.gower import distances
from discreet.attack.guesses import GUESSES, Guesses, attacked, judged, sides
from discreet.attack.linkage import every
from discreet.core.card import Role
from discreet.core.release import Release
from discreet.core.table import Table
from discreet.errors import BadInput, DataError

Array = npt.NDArray[Any]

_TRIED = 2_000


@dataclass(frozen=True)
class Inference:
    """The attacker takes the secret of the nearest released row for the person's; of equally near rows one by lot.

    Numbers are guessed rightly within ``tolerance`` of the true value. Mere guessing is to name, for
    everybody, the value that fits most released rows.
    """

    secret: str = ""
    """What the attacker wants to know (default: the first sensitive column, or the last of all)."""
    columns: tuple[str, ...] = ()
    """What the attacker knows (default: the quasi-identifiers, or all other columns)."""
    tolerance: float = 0.05
    control: Table | None = None
    guesses: int = GUESSES

    name: ClassVar[str] = "inference"

    def applies(self, release: Release[Any]) -> str | None:
        return not_values(release)

    def run(self, release: Release[Any], known: Table, links: Array | None = None) -> Finding:
        """The share of people whose secret is guessed; ``links`` are not needed."""
        secret, columns = self._roles(known)
        knows = f"The attacker knows {', '.join(columns) or 'nothing'} of everybody, and wants to know {secret}."
        try:
            both = sides(release, known, self.control, (*columns, secret))
            names = both.sight.columns
            if secret not in names:
                raise DataError(f"The release does not show values of {secret}.")
            used = np.array([name != secret for name in names])
            if not used.any():
                raise DataError("The release shows no values of what the attacker knows.")
            shown, numeric, at = both.sight.shown, both.sight.numeric, names.index(secret)
            tolerance = self.tolerance if numeric[at] else 0.0

            def guessed(people: Array) -> tuple[Array, Array]:
                who = attacked(people, shown, self.guesses)
                truth = people[who, at]
                credit: list[float] = []
                for far in distances(people[who][:, used], shown[:, used], numeric[used]):
                    nearest = far <= far.min(axis=1, keepdims=True) + 1e-12
                    mine = truth[len(credit) : len(credit) + len(far), None]
                    credit += ((nearest & _same(shown[None, :, at], mine, tolerance)).sum(1) / nearest.sum(1)).tolist()
                return np.array(credit), who

            right, who = guessed(both.people)
            control = guessed(both.control)[0] if both.control is not None else None
        except BadInput as problem:
            return failed(self.name, knows, str(problem))
        chance = float(_same(np.array([_popular(shown[:, at], tolerance)]), both.people[:, at], tolerance).mean())
        details = {"secret": secret, "columns": [name for name in names if name != secret], "tolerance": tolerance}
        meaning = (
            f"The share of people whose {secret} the attacker reads off the release; what most people have is guessed "
            "anyway, 1 means that everybody's is told."
        )
        return judged(self.name, knows, Guesses(right, who, control, chance), meaning, details)

    def _roles(self, known: Table) -> tuple[str, tuple[str, ...]]:
        card = known.card
        names = [c.name for c in card.columns if c.role is not Role.IDENTIFIER and c.name != card.unit]
        sensitive = [column.name for column in card.having(Role.SENSITIVE) if column.name in names]
        secret = self.secret or (sensitive or names)[0 if sensitive else -1]
        quasi = [column.name for column in card.having(Role.QUASI)]
        columns = self.columns or tuple(name for name in quasi or names if name != secret)
        return secret, tuple(columns)


def _same(guess: Array, truth: Array, tolerance: float) -> Array:
    """Whether guesses are right: equal or, for numbers, within a share of the truth; NULL is guessed by NULL."""
    with np.errstate(invalid="ignore"):
        near = np.abs(guess - truth) <= tolerance * np.abs(truth)
    return np.asarray(near | (np.isnan(guess) & np.isnan(truth)))


def _popular(values: Array, tolerance: float) -> float:
    """The value that is a right guess for most rows."""
    there = values[~np.isnan(values)]
    tried = np.unique(there)
    tried = tried[every(len(tried), _TRIED)]
    fits = [int(_same(there, one, tolerance).sum()) for one in tried]
    if max(fits, default=0) < len(values) - len(there):
        return float("nan")
    return float(tried[int(np.argmax(fits))])
