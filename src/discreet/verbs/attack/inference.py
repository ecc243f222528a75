"""Attribute inference: a person's secret is taken from the released rows that are most like them.

Giomi, Boenisch, Wehmeyer and Tasnádi (2023), "A unified framework for quantifying privacy risk in synthetic data".
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from discreet.core.card import Role
from discreet.core.catalogue import declare, parameter
from discreet.core.families import ATTACKS
from discreet.core.release import Release
from discreet.core.table import Table
from discreet.errors import BadInput, DataError
from discreet.verbs.attack.distance import gower_distances
from discreet.verbs.attack.finding import Array, Finding, Outcome, failed_finding, worst_finding
from discreet.verbs.attack.guesses import (
    DEFAULT_GUESSES,
    ControlledAttack,
    GuessResults,
    evaluate_guesses,
    sample_targets,
    targets_and_control,
)
from discreet.verbs.attack.linkage import describing_columns


@declare(ATTACKS, "inference", rank=32)
class Inference(ControlledAttack):
    """The attacker takes the secret of the nearest released row for the person's; of equally near rows the commonest,
    and of equally common ones any by lot.

    Numbers are guessed rightly within ``tolerance`` of the true value, and the commonest is the one that is right for
    most. Mere guessing is to name, for everyone, the value that fits most released rows.
    """

    secret: str = ""
    """Column the attacker wants to know (default: each sensitive one, of which the worst counts, or the last)."""
    columns: tuple[str, ...] = ()
    """Columns the attacker knows (default: the quasi-identifiers, or all other columns)."""
    tolerance: float = parameter("Tolerance of a correct guess, as a share of the true value.", default=0.05)
    control: Table | None = None
    guesses: int = DEFAULT_GUESSES

    knows: ClassVar[str] = ""

    def evaluate(self, release: Release[Any], known: Table) -> Finding:
        """Share of people whose secret is guessed, of the worst secret."""
        each = [self._infer(release, known, *roles) for roles in self._roles(known)]
        ran = [one for one in each if one.outcome is not Outcome.FAILED]
        return worst_finding(ran) if ran else each[0]

    def _infer(self, release: Release[Any], known: Table, secret: str, columns: tuple[str, ...]) -> Finding:
        knows = f"The attacker knows {', '.join(columns) or 'nothing'} of everyone, and wants to know {secret}."
        try:
            both = targets_and_control(release, known, self.control, (*columns, secret))
            names = both.data.columns
            if secret not in names:
                raise DataError(f"The release does not show values of {secret}.")
            used = np.array([name != secret for name in names])
            if not used.any():
                raise DataError("The release shows no values of what the attacker knows.")
            shown, numeric, at = both.data.released, both.data.numeric, names.index(secret)
            tolerance = self.tolerance if numeric[at] else 0.0
            answers: dict[bytes, Array] = {}  # by which rows are nearest: many people share them

            def guess(people: Array) -> tuple[Array, Array]:
                who = sample_targets(people, shown, self.guesses)
                truth = people[who, at]
                success: list[float] = []
                for far in gower_distances(people[who][:, used], shown[:, used], numeric[used]):
                    for nearest in far <= far.min(axis=1, keepdims=True) + 1e-12:
                        key = np.packbits(nearest).tobytes()
                        if key not in answers:
                            answers[key] = _commonest(shown[nearest, at], tolerance)
                        success.append(float(_same(answers[key], truth[len(success)], tolerance).mean()))
                return np.array(success), who

            right, who = guess(both.people)
            control = guess(both.control)[0] if both.control is not None else None
        except BadInput as problem:
            return failed_finding(self.name, knows, str(problem))
        chance = float(_same(_commonest(shown[:, at], tolerance)[:1], both.people[:, at], tolerance).mean())
        details = {"secret": secret, "columns": [name for name in names if name != secret], "tolerance": tolerance}
        meaning = (
            f"Share of people whose {secret} the attacker infers from the release; the baseline is guessing "
            "the most frequent value, 1 means that everyone's is revealed."
        )
        return evaluate_guesses(self.name, knows, GuessResults(right, who, control, chance), meaning, details)

    def _roles(self, known: Table) -> list[tuple[str, tuple[str, ...]]]:
        """Each secret, and what the attacker knows who is after it."""
        card, names = known.card, describing_columns(known.card)
        sensitive = [column.name for column in card.having(Role.SENSITIVE) if column.name in names]
        quasi = [column.name for column in card.having(Role.QUASI)]
        return [
            (secret, self.columns or tuple(name for name in quasi or names if name != secret))
            for secret in ([self.secret] if self.secret else sensitive or names[-1:])
        ]


def _same(guess: Array, truth: Array, tolerance: float) -> Array:
    """Whether guesses are right: equal or, for numbers, within a share of the truth; NULL is guessed by NULL."""
    with np.errstate(invalid="ignore"):
        near = np.abs(guess - truth) <= tolerance * np.abs(truth)
    return np.asarray(near | (np.isnan(guess) & np.isnan(truth)))


def _commonest(values: Array, tolerance: float) -> Array:
    """Which of the values are a right guess for most of them, NaN (for NULL) last."""
    there = values[~np.isnan(values)]
    tried = np.unique(there)
    with np.errstate(invalid="ignore"):
        slack = tolerance * np.abs(there)
        low, high = np.sort(there - slack), np.sort(there + slack)
    fits = np.searchsorted(low, tried, "right") - np.searchsorted(high, tried, "left")
    gaps = len(values) - len(there)
    most = max(int(fits.max(initial=0)), gaps)
    return np.concatenate([tried[fits == most], [np.nan] if gaps == most else []])
