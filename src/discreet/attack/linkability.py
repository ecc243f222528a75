"""Linkability: two files about the same people, with different columns, are joined through the release.

Giomi, Boenisch, Wehmeyer and Tasnádi (2023), "A unified framework for quantifying privacy risk in synthetic data".
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from discreet.attack.finding import Finding, failed
from discreet.attack.gower import distances
from discreet.attack.guesses import GUESSES, Guesses, attacked, judged, sides, values_only
from discreet.core.release import Release
from discreet.core.table import Table
from discreet.errors import BadInput, DataError
from discreet.noise.masking import Generator, generator

Array = npt.NDArray[Any]

_LOT = 1e-9

_MEANING = (
    "The share of people whose two halves the attacker joins, because both lie next to the same released row; "
    "guessing is best, 1 means that files can be joined through the release."
)


@dataclass(frozen=True)
class Linkability:
    """The attacker looks up the released rows nearest to each half of a person; the halves are joined if both lead to
    the same row. Of equally near rows some are taken by lot."""

    first: tuple[str, ...] = ()
    """The columns of one file (default: every other one of those compared, from the first)."""
    second: tuple[str, ...] = ()
    """Those of the other file (default: the rest)."""
    neighbours: int = 1
    control: Table | None = None
    guesses: int = GUESSES
    seed: int = 1

    name: ClassVar[str] = "linkability"

    def applies(self, release: Release[Any]) -> str | None:
        return values_only(release)

    def run(self, release: Release[Any], known: Table, links: Array | None = None) -> Finding:
        """The share of people whose halves are joined; ``links`` are not needed."""
        knows = "The attacker knows some columns of everybody from one file and the others from another."
        try:
            both = sides(release, known, self.control, (*self.first, *self.second))
            names, shown, numeric = both.sight.columns, both.sight.shown, both.sight.numeric
            first, second = self._halves(names)
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
        details = {part: [names[at] for at in half] for part, half in (("first", first), ("second", second))}
        return judged(self.name, knows, Guesses(right, who, control, chance), _MEANING, details)

    def _halves(self, names: tuple[str, ...]) -> tuple[list[int], list[int]]:
        if bool(self.first) != bool(self.second) or set(self.first) & set(self.second):
            raise DataError("The two files need columns of their own, each some and none in both.")
        if self.first:
            halves = [[at for at, name in enumerate(names) if name in half] for half in (self.first, self.second)]
        else:
            halves = [list(range(0, len(names), 2)), list(range(1, len(names), 2))]
        if not all(halves):
            raise DataError("The release has too few of the columns to make two files of.")
        return halves[0], halves[1]


def _nearest(people: Array, rows: Array, numeric: Array, count: int, rng: Generator) -> Array:
    """The rows nearest to each person, ``count`` of them; equally near ones by lot."""
    found = []
    for far in distances(people, rows, numeric):
        lots = far + _LOT * rng.random(far.shape)
        found.append(np.argpartition(lots, count - 1, axis=1)[:, :count])
    return np.concatenate(found)
