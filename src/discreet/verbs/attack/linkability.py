"""Linkability: two files about the same people, with different columns, are joined through the release.

Giomi, Boenisch, Wehmeyer and Tasnádi (2023), "A unified framework for quantifying privacy risk in synthetic data".
"""

from __future__ import annotations

from math import comb
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from discreet.core.catalogue import declare, parameter
from discreet.core.families import ATTACKS
from discreet.core.release import Release
from discreet.core.table import Table
from discreet.errors import BadInput, DataError
from discreet.noise.masking import Generator, generator
from discreet.verbs.attack.candidates import numbered
from discreet.verbs.attack.finding import Finding, failed
from discreet.verbs.attack.gower import distances
from discreet.verbs.attack.guesses import GUESSES, Guesses, attacked, judged, sides
from discreet.verbs.attack.linkage import every
from discreet.verbs.attack.scope import not_values

Array = npt.NDArray[Any]

_LOT = 1e-9
_LOOKED_AT = 2_000
"""By so many rows columns are split."""
_NEARLY = 0.95

_MEANING = (
    "The share of people whose two halves the attacker joins, because both lie next to the same released row; "
    "guessing is best, 1 means that files can be joined through the release."
)


@declare(ATTACKS, "linkability", rank=31)
class Linkability:
    """The attacker looks up the released rows nearest to each half of a person; the halves are joined if both lead to
    the same row. Of equally near rows some are taken by lot."""

    first: tuple[str, ...] = ()
    """The columns of one file (default: split so that both files tell released rows apart as well as can be)."""
    second: tuple[str, ...] = ()
    """Those of the other file (default: the rest)."""
    neighbours: int = parameter("Number of nearest rows looked up for each half.", default=1)
    control: Table | None = None
    guesses: int = GUESSES
    seed: int = 1

    name: ClassVar[str]

    def applies(self, release: Release[Any]) -> str | None:
        return not_values(release)

    def run(self, release: Release[Any], known: Table, links: Array | None = None) -> Finding:
        """The share of people whose halves are joined; ``links`` are not needed."""
        knows = "The attacker knows some columns of everybody from one file and the others from another."
        try:
            if bool(self.first) != bool(self.second) or set(self.first) & set(self.second):
                raise DataError("The two files need columns of their own, each some and none in both.")
            both = sides(release, known, self.control, (*self.first, *self.second))
            names, shown, numeric = both.sight.columns, both.sight.shown, both.sight.numeric
            first, second = self._halves(names, shown)
            rng, taken = generator(self.seed), min(self.neighbours, len(shown))

            def joined(people: Array) -> tuple[Array, Array]:
                who = attacked(people, shown, self.guesses)
                near = [
                    _nearest(people[who][:, half], shown[:, half], numeric[half], taken, rng)
                    for half in (first, second)
                ]
                same = (near[0][:, :, None] == near[1][:, None, :]).any(axis=(1, 2))
                return same.astype(float), who

            right, who = joined(both.people)
            control = joined(both.control)[0] if both.control is not None else None
        except BadInput as problem:
            return failed(self.name, knows, str(problem))
        chance = 1 - comb(len(shown) - taken, taken) / comb(len(shown), taken)
        most = _joined(_coded(shown), [first, second]) if taken == 1 else 1.0
        details: dict[str, Any] = {
            "first file": [names[at] for at in first],
            "second file": [names[at] for at in second],
        }
        meaning = _MEANING
        if most < _NEARLY:
            meaning += (
                f" With these two files even a copy would give no more than about {most:.0%}: people are alike in one."
            )
            details["a copy would give"] = most
        return judged(self.name, knows, Guesses(right, who, control, chance), meaning, details)

    def _halves(self, names: tuple[str, ...], shown: Array) -> tuple[list[int], list[int]]:
        if self.first:
            halves = [[at for at, name in enumerate(names) if name in half] for half in (self.first, self.second)]
        else:
            halves = telling_halves(shown[every(len(shown), _LOOKED_AT)])
        if not all(halves):
            raise DataError("The release has too few of the columns to make two files of.")
        return halves[0], halves[1]


def telling_halves(rows: Array) -> list[list[int]]:
    """Two sets of columns by which most rows could be joined: the worst that an attacker's two files may be.

    Both must tell rows apart, so columns are dealt out from the most to the least telling, each to the set that tells
    less so far (or has fewer, if both tell all), and then moved or exchanged as long as that helps.
    """
    codes = _coded(rows)
    halves: list[list[int]] = [[], []]
    for column in np.argsort([-_told_apart(codes, [one]) for one in range(len(codes))], kind="stable"):
        min(halves, key=lambda half: (_told_apart(codes, half), len(half))).append(int(column))
    best, found = -1.0, _joined(codes, halves)
    while found > best + 1e-12:
        best, kept = found, halves
        tried = [[sorted({*half} ^ moved) for half in kept] for moved in _moves(kept)]
        found, halves = max(((_joined(codes, one), one) for one in tried if all(one)), default=(best, kept))
    return [sorted(half) for half in kept]


def _coded(rows: Array) -> list[Array]:
    return [np.unique(column, return_inverse=True)[1] for column in rows.T]


def _moves(halves: list[list[int]]) -> list[set[int]]:
    """What may change sides: a column, or one of either side."""
    return [{column} for half in halves for column in half] + [{a, b} for a in halves[0] for b in halves[1]]


def _crowd(codes: list[Array], columns: list[int]) -> Array:
    """Of each row how many have the same values in ``columns``."""
    label = numbered([codes[column] for column in columns] or [np.zeros(len(codes[0]), np.int64)])
    return np.asarray(np.bincount(label)[label])


def _told_apart(codes: list[Array], columns: list[int]) -> float:
    return float(np.mean(1 / _crowd(codes, columns)))


def _joined(codes: list[Array], halves: list[list[int]]) -> float:
    """The share of a copy's rows that are joined: each half leads to one of the rows that are alike in it, by lot."""
    alike = _crowd(codes, [*halves[0], *halves[1]])
    return float(np.mean(alike / _crowd(codes, halves[0]) / _crowd(codes, halves[1])))


def _nearest(people: Array, rows: Array, numeric: Array, count: int, rng: Generator) -> Array:
    """The rows nearest to each person, ``count`` of them; equally near ones by lot."""
    found = []
    for far in distances(people, rows, numeric):
        lots = far + _LOT * rng.random(far.shape)
        found.append(np.argpartition(lots, count - 1, axis=1)[:, :count])
    return np.concatenate(found)
