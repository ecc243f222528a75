"""Special uniques (SUDA; Elliot, Manning and Ford 2002): people whom very few of their values single out.

A *minimal sample unique* of a row is a set of columns in which no one has the same values, and of which no part is
already unique. The smaller it is and the more of them a row has, the more special the person.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import prod
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.core.catalogue import declare, parameter
from discreet.core.families import ATTACKS
from discreet.core.release import Release
from discreet.core.table import Table
from discreet.verbs.attack.finding import Array, Finding
from discreet.verbs.attack.matching import Candidates, Matching, certainty_finding, encode, number_rows

Uniques = Mapping[tuple[int, ...], Array]
"""For each set of columns (by place) the rows for which it is a minimal sample unique."""


@declare(ATTACKS, "special uniques", rank=3)
class SpecialUniques(Matching):
    """People whom at most ``size`` of the values an attacker may know single out, whichever these are."""

    size: int = parameter("Maximum number of values an attacker knows.", default=3)

    @property
    def skill(self) -> str:
        return f", but only the {self.size} most identifying values of each person"

    def evaluate(self, found: Candidates, known: Table, release: Release[Any]) -> Finding:
        rows = release.payload
        uniques = minimal_uniques(rows, found.columns, self.size)
        least = np.full(rows.num_rows, len(found.columns) + 1)
        for subset, who in uniques.items():
            least[who] = np.minimum(least[who], len(subset))
        fewest = found.value_ranges(least)[0][found.key_of]  # values that single out a row that may be theirs
        told = fewest <= self.size
        by_size = {f"{size}": int(np.sum(fewest[found.right] == size)) for size in range(1, self.size + 1)}
        points = scores(uniques, rows.num_rows, len(found.columns), self.size)
        meaning = f"Share of people who are singled out by at most {self.size} of their values; 0 is best."
        details = {"by number of values": by_size, "highest score": float(points.max(initial=0))}
        return certainty_finding(
            self.name,
            told & found.certain,
            found.right,
            found.guess_rate,
            meaning=meaning,
            found=found,
            details=details,
        )


def minimal_uniques(rows: pa.Table, names: Sequence[str], size: int) -> dict[tuple[int, ...], Array]:
    """Minimal sample uniques: for each set of columns (by place) the rows it is one of; NULL is never part of one.

    Sets are looked at from small to large, and only rows that are not unique in a part of the set count.
    """
    codes = [encode(rows.column(name))[0] for name in names]
    missing = [np.asarray(rows.column(name).is_null().to_numpy(zero_copy_only=False)) for name in names]
    found: dict[tuple[int, ...], Array] = {}
    unique: dict[tuple[int, ...], Array] = {}
    for width in range(1, min(size, len(names)) + 1):
        for subset in combinations(range(len(names)), width):
            label = number_rows([codes[place] for place in subset])
            absent = np.any([missing[place] for place in subset], axis=0)
            alone = unique[subset] = (np.bincount(label, minlength=1)[label] == 1) & ~absent
            for part in combinations(subset, width - 1):
                alone = alone & ~unique.get(part, np.zeros(rows.num_rows, np.bool_))
            if alone.any():
                found[subset] = np.flatnonzero(alone)
    return found


def scores(uniques: Uniques, rows: int, columns: int, size: int) -> Array:
    """SUDA score of each row: a minimal sample unique of k columns counts (a - k)(a - k - 1)…(a - m), where a is the
    number of columns and m the largest size that was looked for, less than a; 0 for a row that has none."""
    found = np.zeros(rows)
    for subset, who in uniques.items():
        found[who] += prod(columns - width for width in range(len(subset), min(size, columns - 1) + 1))
    return found
