"""Linkability: two files about the same people, with different columns, are linked through the release.

Giomi, Boenisch, Wehmeyer and Tasnádi (2023), "A unified framework for quantifying privacy risk in synthetic data".
"""

from __future__ import annotations

from math import comb
from typing import Any, ClassVar

import numpy as np

from discreet.core.catalogue import declare, parameter
from discreet.core.families import ATTACKS
from discreet.core.release import Release
from discreet.core.table import Table
from discreet.errors import DataError
from discreet.noise.masking import Generator, generator
from discreet.verbs.attack.distance import gower_distances
from discreet.verbs.attack.finding import Array, Finding
from discreet.verbs.attack.guesses import (
    DEFAULT_GUESSES,
    ControlledAttack,
    GuessResults,
    evaluate_guesses,
    sample_targets,
    targets_and_control,
)
from discreet.verbs.attack.linkage import evenly_spaced
from discreet.verbs.attack.matching import number_rows

_TIE_BREAKER = 1e-9
"""Largest random amount added to a distance, so that ties are broken by lot."""
_SPLIT_ROWS = 2_000
"""Most rows by which columns are split into two files."""
_NEARLY_ALL = 0.95
"""Share of a copy's rows that must be linked, or the split is reported to be a weak one."""

_MEANING = (
    "Share of people whose two halves the attacker links because both are nearest to the same released row; "
    "the guessing rate is best, 1 means that files can be joined through the release."
)


@declare(ATTACKS, "linkability", rank=31)
class Linkability(ControlledAttack):
    """The attacker looks up the released rows nearest to each half of a person; the halves are joined if both lead to
    the same row. Ties are broken by lot."""

    first: tuple[str, ...] = ()
    """Columns of one file (default: split so that both files tell released rows apart as well as can be)."""
    second: tuple[str, ...] = ()
    """Columns of the other file (default: the rest)."""
    neighbours: int = parameter("Number of nearest rows considered for each half.", default=1)
    control: Table | None = None
    guesses: int = DEFAULT_GUESSES
    seed: int = 1

    knows: ClassVar[str] = "The attacker knows some columns of everyone from one file, and the others from another."

    def evaluate(self, release: Release[Any], known: Table) -> Finding:
        """Share of people whose halves are joined."""
        if bool(self.first) != bool(self.second) or set(self.first) & set(self.second):
            raise DataError("The two files need different columns, at least one each.")
        both = targets_and_control(release, known, self.control, (*self.first, *self.second))
        names, released, numeric = both.data.columns, both.data.released, both.data.numeric
        first, second = self._halves(names, released)
        rng, taken = generator(self.seed), min(self.neighbours, len(released))

        def join(people: Array) -> tuple[Array, Array]:
            who = sample_targets(people, released, self.guesses)
            near = [
                _nearest(people[who][:, half], released[:, half], numeric[half], taken, rng) for half in (first, second)
            ]
            same = (near[0][:, :, None] == near[1][:, None, :]).any(axis=(1, 2))
            return same.astype(float), who

        right, who = join(both.people)
        control = join(both.control)[0] if both.control is not None else None
        chance = 1 - comb(len(released) - taken, taken) / comb(len(released), taken)
        most = _joined_share(_column_codes(released), [first, second]) if taken == 1 else 1.0
        details: dict[str, Any] = {
            "first file": [names[at] for at in first],
            "second file": [names[at] for at in second],
        }
        meaning = _MEANING
        if most < _NEARLY_ALL:
            meaning += (
                f" With these two files, even an exact copy would link no more than about {most:.0%}, "
                "because people are equal in one of them."
            )
            details["upper limit from an exact copy"] = most
        return evaluate_guesses(self.name, self.knows, GuessResults(right, who, control, chance), meaning, details)

    def _halves(self, names: tuple[str, ...], released: Array) -> tuple[list[int], list[int]]:
        if self.first:
            halves = [[at for at, name in enumerate(names) if name in half] for half in (self.first, self.second)]
        else:
            halves = telling_halves(released[evenly_spaced(len(released), _SPLIT_ROWS)])
        if not all(halves):
            raise DataError("The release has too few of the columns to make two files of.")
        return halves[0], halves[1]


def telling_halves(rows: Array) -> list[list[int]]:
    """The two sets of columns by which the most rows can be joined: an attacker's best two files.

    Both must tell rows apart, so columns are dealt out from the most to the least telling, each to the set that tells
    less so far (or has fewer, if both tell all), and then moved or exchanged as long as that helps.
    """
    codes = _column_codes(rows)

    def telling(columns: list[int]) -> float:
        return float(np.mean(1 / _class_sizes(codes, columns)))

    halves: list[list[int]] = [[], []]
    for column in np.argsort([-telling([one]) for one in range(len(codes))], kind="stable"):
        min(halves, key=lambda half: (telling(half), len(half))).append(int(column))
    best, found = -1.0, _joined_share(codes, halves)
    while found > best + 1e-12:
        best, kept = found, halves
        moves = [{column} for half in kept for column in half] + [{a, b} for a in kept[0] for b in kept[1]]
        tried = [[sorted({*half} ^ moved) for half in kept] for moved in moves]
        found, halves = max(((_joined_share(codes, one), one) for one in tried if all(one)), default=(best, kept))
    return [sorted(half) for half in kept]


def _column_codes(rows: Array) -> list[Array]:
    return [np.unique(column, return_inverse=True)[1] for column in rows.T]


def _class_sizes(codes: list[Array], columns: list[int]) -> Array:
    """Size of each row's equivalence class on ``columns``."""
    label = number_rows([codes[column] for column in columns] or [np.zeros(len(codes[0]), np.int64)])
    return np.asarray(np.bincount(label)[label])


def _joined_share(codes: list[Array], halves: list[list[int]]) -> float:
    """Share of a copy's rows that are joined correctly, where each half picks one of the rows alike in it at random."""
    alike = _class_sizes(codes, [*halves[0], *halves[1]])
    return float(np.mean(alike / _class_sizes(codes, halves[0]) / _class_sizes(codes, halves[1])))


def _nearest(people: Array, rows: Array, numeric: Array, count: int, rng: Generator) -> Array:
    """The ``count`` rows nearest to each person; ties are broken at random."""
    found = []
    for far in gower_distances(people, rows, numeric):
        lots = far + _TIE_BREAKER * rng.random(far.shape)
        found.append(np.argpartition(lots, count - 1, axis=1)[:, :count])
    return np.concatenate(found)
