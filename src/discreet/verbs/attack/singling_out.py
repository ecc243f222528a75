"""Singling out: a predicate, made from the release alone, that fits exactly one person in the original.

Cohen and Nissim (2020), "Towards formalizing the GDPR's notion of singling out"; the predicates are those of Giomi,
Boenisch, Wehmeyer and Tasnádi (2023), "A unified framework for quantifying privacy risk in synthetic data".
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar

import numpy as np

from discreet.core.catalogue import register
from discreet.core.families import ATTACKS
from discreet.core.release import Release
from discreet.core.table import Table
from discreet.errors import DataError
from discreet.noise.masking import Generator, generator
from discreet.verbs.attack.finding import Array, Finding
from discreet.verbs.attack.guesses import (
    DEFAULT_GUESSES,
    ControlledAttack,
    GuessResults,
    evaluate_guesses,
    targets_and_control,
)

Term = tuple[int, int, float | None]
"""A column, how it compares (-1 at most, 0 equal, 1 at least), and with what; None is NULL."""
Predicate = tuple[Term, ...]

_MEANING = (
    "Share of descriptions made from the release that fit exactly one person of the original; the guessing "
    "rate is best, 1 means that all unique rows of the release are unique people."
)
_TRIES_PER_GUESS = 10
"""Random rows and columns tried for each predicate."""


class By(Enum):
    """Columns of a predicate."""

    ONE = "one column"
    """An extreme or unique value of a single column."""
    SEVERAL = "several columns"
    """Values of several columns of a released row."""


@dataclass(frozen=True)
class SinglingOut(ControlledAttack):
    """Predicates that fit one released row, tried on the original.

    Guessing is to put predicates together of values from different rows, by the same columns. An attacker who knows
    the distribution of values, but no one, may do better: whatever has probability 1/n fits exactly one of n people in
    37 % of all files, and nothing does more often (Cohen and Nissim). So without a control only more than that is
    learned, as it cannot be general. A control of more people counts as one of n drawn from it (exactly, not by
    drawing); of fewer, its share is raised to the most that n could give.
    """

    by: By = By.SEVERAL
    control: Table | None = None
    columns: int = 3
    """Number of columns of a predicate, if several."""
    guesses: int = DEFAULT_GUESSES
    seed: int = 1

    knows: ClassVar[str] = "The attacker knows the release and nothing else."

    @property
    def name(self) -> str:  # type: ignore[override]  # a name for each kind of predicate
        return f"singling out by {self.by.value}"

    def evaluate(self, release: Release[Any], known: Table) -> Finding:
        """The share of predicates that single out a person."""
        both = targets_and_control(release, known, self.control)
        rng, released, numeric = generator(self.seed), both.data.released, both.data.numeric
        if self.by is By.ONE:
            made = _unique_values(released, numeric, rng, self.guesses)
        else:
            made = _unique_rows(released, numeric, rng, self.guesses, min(self.columns, released.shape[1]))
        if not made:
            raise DataError("No released row is unique, so there is no description to try.")
        people = len(both.people)
        fits = [np.flatnonzero(_fits(both.people, one)) for one in made]
        right = np.array([len(who) == 1 for who in fits], dtype=float)
        victims = np.array([who[0] if len(who) == 1 else -1 for who in fits])
        naive = np.mean([_fits(both.people, one).sum() == 1 for one in _naive(released, numeric, rng, made)])
        ceiling = (1 - 1 / people) ** (people - 1)
        details: dict[str, Any] = {"columns": list(both.data.columns), "described by": self.by.value}
        meaning, control, scale = _MEANING, None, 1.0
        if both.control is not None:
            others = both.control
            control = np.array([_one_of(int(_fits(others, one).sum()), len(others), people) for one in made])
            scale = max(people / len(others), 1.0)
        else:
            meaning += f" Up to {ceiling:.0%} is possible without any knowledge; only more counts as learned."
            details["ceiling without any knowledge"] = ceiling
        results = GuessResults(right, victims, control, float(naive), ceiling, scale)
        return evaluate_guesses(self.name, self.knows, results, meaning, details)


register(ATTACKS, "singling out by one column", SinglingOut, preset={"by": By.ONE}, rank=21)
register(ATTACKS, "singling out by several columns", SinglingOut, preset={"by": By.SEVERAL}, rank=22)


def _unique_values(shown: Array, numeric: Array, rng: Generator, most: int) -> list[Predicate]:
    """All values that a single released row has; and the least and the greatest, as limits."""
    made: list[Predicate] = []
    for column, number in enumerate(numeric):
        values = shown[:, column]
        there, count = np.unique(values[~np.isnan(values)], return_counts=True)
        made += [((column, 0, float(value)),) for value in there[count == 1]]
        if np.isnan(values).sum() == 1:
            made.append(((column, 0, None),))
        if number and len(there) and count[0] == 1:
            made.append(((column, -1, float(there[0])),))
        if number and len(there) and count[-1] == 1:
            made.append(((column, 1, float(there[-1])),))
    return [made[place] for place in rng.permutation(len(made))[:most]]


def _unique_rows(shown: Array, numeric: Array, rng: Generator, most: int, width: int) -> list[Predicate]:
    """Predicates of random released rows by random columns, if they fit no other row."""
    middle = _medians(shown)
    made: dict[Predicate, None] = {}
    tries = most * _TRIES_PER_GUESS
    rows = rng.integers(len(shown), size=tries).tolist()
    columns = np.sort(rng.permuted(np.tile(np.arange(shown.shape[1]), (tries, 1)), axis=1)[:, :width], axis=1)
    for row, some in dict.fromkeys(zip(rows, map(tuple, columns.tolist()), strict=True)):
        one = _predicate(shown[row], np.array(some), numeric, middle)
        if one not in made and _fits(shown, one).sum() == 1:
            made[one] = None
        if len(made) == most:
            break
    return list(made)


def _naive(shown: Array, numeric: Array, rng: Generator, like: list[Predicate]) -> list[Predicate]:
    """Predicates by the same columns, each value from another row, whether or not they fit anyone."""
    middle = _medians(shown)
    made = []
    for one in like:
        columns = np.array([term[0] for term in one])
        row = shown[rng.integers(len(shown), size=shown.shape[1]), np.arange(shown.shape[1])]
        made.append(_predicate(row, columns, numeric, middle))
    return made


def _predicate(row: Array, columns: Array, numeric: Array, middle: Array) -> Predicate:
    """The predicate of a row's values: numbers from there outwards, all else as it is."""

    def term(at: int) -> Term:
        if np.isnan(row[at]):
            return at, 0, None
        return at, (1 if row[at] >= middle[at] else -1) if numeric[at] else 0, float(row[at])

    return tuple(term(int(at)) for at in columns)


def _fits(rows: Array, predicate: Predicate) -> Array:
    """Which rows a predicate fits."""
    fits = np.ones(len(rows), dtype=bool)
    for column, way, value in predicate:
        cells = rows[:, column]
        if value is None:
            fits &= np.isnan(cells)
        else:
            fits &= cells == value if way == 0 else cells >= value if way > 0 else cells <= value
    return fits


def _one_of(fitting: int, people: int, drawn: int) -> float:
    """The probability that exactly one of ``fitting`` is among ``drawn`` of ``people``, drawn without replacement."""
    if drawn >= people:
        return float(fitting == 1)
    if not fitting or people - fitting < drawn - 1:
        return 0.0
    chance = fitting * drawn / people
    for step in range(fitting - 1):
        chance *= (people - drawn - step) / (people - 1 - step)
    return min(chance, 1.0)


def _medians(shown: Array) -> Array:
    return np.array([np.median(one[~np.isnan(one)]) if (~np.isnan(one)).any() else 0.0 for one in shown.T])
