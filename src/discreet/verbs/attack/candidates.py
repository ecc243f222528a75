"""Which released rows may be a person's: the rows whose labels the person's values do not contradict.

This is what an intruder sees who knows people's quasi-identifiers and reads the recipe. Rows that look alike are one
class, people with the same values one combination; how well they go together is a sparse matrix of both.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from discreet.core.optional import extra
from discreet.core.release import Release
from discreet.core.statement import Recipe
from discreet.core.table import Table
from discreet.errors import DataError, NotFound
from discreet.verbs.attack import labels
from discreet.verbs.attack.linkage import every
from discreet.verbs.attack.linkage_matrix import expected, true_rows

Array = npt.NDArray[Any]
Cells: TypeAlias = "pa.Array[Any]"

_PAIRS = 40_000_000
"""So many pairs of combinations and classes are compared; in larger tables every so-manieth person is attacked."""
_CELLS = 20_000_000
"""So many pairs of a value and a label are looked at in one column."""
_BLOCK = 4_000_000


@dataclass(frozen=True)
class Cover:
    """People and rows that may belong together."""

    columns: tuple[str, ...]
    """What the attacker knows and the release tells something of."""
    people: Array
    """The row numbers, in the original, of those who are attacked."""
    of: Array
    """The combination of each of them."""
    counts: Array
    """How many of all people have each combination."""
    scale: float
    """How many people there are for each one who is attacked."""
    where: Array
    """The class of each released row."""
    sizes: Array
    """How many rows each class has."""
    combination: Array
    """Of each pair that goes together, in ascending order, the combination,"""
    group: Array
    """the class,"""
    weight: Array
    """and how likely the row is for the person: 1, unless something was changed at random."""
    truth: Array | None
    """Of each person the place of the released row, or -1; ``None`` if nobody knows."""

    @cached_property
    def candidates(self) -> Array:
        """How many rows may be a person's, for each person."""
        return self._summed(self.sizes[self.group].astype(np.float64))[self.of].astype(np.int64)

    @cached_property
    def credits(self) -> Array:
        """The probability that the attacker who takes the likeliest row, by lot if several are, takes the right one.

        If nobody knows whose rows are whose, it is the smaller of two: that of the row among all rows that may be the
        person's, and that of the person among all people whose the row may be. (Rows may be missing, and people.)
        """
        best = self._highest()
        likeliest = self.weight == best[self.combination]
        ties = self._summed(np.where(likeliest, self.sizes[self.group], 0))
        if self.truth is not None:
            found = self.weight_of_truth()
            return np.where((found > 0) & (found == best[self.of]), 1 / np.maximum(ties[self.of], 1), 0.0)
        rows = best / np.maximum(self._summed(self.weight * self.sizes[self.group]), 1e-300)
        share = np.where(likeliest, self.sizes[self.group] * self.weight / self._owners(), 0)
        people = self._summed(share) / np.maximum(ties, 1)
        return np.asarray(np.minimum(rows, people)[self.of])

    @property
    def alone(self) -> Array:
        """Whose row the attacker is sure of: there is only one, and it can be nobody else's."""
        return np.asarray((self.candidates == 1) & (self.truth is not None or self._found))

    @property
    def right(self) -> Array:
        """Whether the likeliest row, being the only one, is the person's."""
        return self._found

    @property
    def guessing(self) -> float:
        """The share of people found by naming any row."""
        there = 1.0 if self.truth is None else float(np.mean(self.truth >= 0))
        return min(there / len(self.where), 1.0)

    def weight_of_truth(self) -> Array:
        """How likely each person's own row is for them; 0 if it is not released, or ruled out."""
        if self.truth is None:
            raise DataError("Nobody knows which row is whose.")
        keys = self.combination * len(self.sizes) + self.group
        order = np.argsort(keys, kind="stable")
        own = self.of * len(self.sizes) + self.where[self.truth]
        place = np.searchsorted(keys[order], own).clip(0, max(len(keys) - 1, 0))
        there = (self.truth >= 0) & (len(keys) > 0)
        if not len(keys):
            return np.zeros(len(self.of))
        return np.where(there & (keys[order][place] == own), self.weight[order][place], 0.0)

    def spread(self, codes: Array) -> Any:
        """For each combination how likely each code is: the rows that may be theirs, counted by ``codes`` (one a row).

        A sparse matrix, combinations by codes; not scaled.
        """
        with extra("attack"):
            from scipy.sparse import csr_array

        counted = csr_array(
            (np.ones(len(codes)), (self.where, codes)), shape=(len(self.sizes), int(codes.max(initial=0)) + 1)
        )
        pairs = csr_array((self.weight, (self.combination, self.group)), shape=(len(self.counts), len(self.sizes)))
        return pairs @ counted

    def ends(self, numbers: Array) -> tuple[Array, Array]:
        """For each combination the least and the largest number (one a row, no NaN) of the rows that may be theirs."""
        least, most = np.full(len(self.sizes), np.inf), np.full(len(self.sizes), -np.inf)
        np.minimum.at(least, self.where, numbers)
        np.maximum.at(most, self.where, numbers)
        low, high = np.full(len(self.counts), np.inf), np.full(len(self.counts), -np.inf)
        np.minimum.at(low, self.combination, least[self.group])
        np.maximum.at(high, self.combination, most[self.group])
        return low, high

    @cached_property
    def _found(self) -> Array:
        return self.credits > 1 - 1e-9

    def _owners(self) -> Array:
        """Of each pair how many people, by weight, the row may belong to; those who are not attacked are estimated."""
        met = np.bincount(self.of, minlength=len(self.counts))
        attacked = np.bincount(self.group, self.weight * met[self.combination], minlength=len(self.sizes))
        others = attacked[self.group] - self.weight * met[self.combination]
        return np.asarray(self.weight * self.counts[self.combination] + self.scale * np.maximum(others, 0))

    def _summed(self, values: Array) -> Array:
        return np.bincount(self.combination, values, minlength=len(self.counts))

    def _highest(self) -> Array:
        best = np.zeros(len(self.counts))
        np.maximum.at(best, self.combination, self.weight)
        return best


def cover(release: Release[Any], known: Table, links: Array | None = None, columns: tuple[str, ...] = ()) -> Cover:
    """Which rows of ``release`` may be whose, by ``columns`` (default: the quasi-identifiers, or all).

    Columns that the release lacks, or that were changed in a way that rules nothing out, are left out; if none is
    left, that is an error.
    """
    rows, mine = table_of(release), known.fetch()
    if not rows.num_rows or not mine.num_rows:
        raise DataError("There are no rows to attack.")
    links = release.links if links is None else links
    names = columns or expected(known)
    for name in names:
        if name not in mine.column_names:
            raise NotFound(f"The attacker's table has no column {name!r}.")
    kept = tuple(name for name in names if name in rows.column_names and labels.told(release.recipe, name))
    if not kept:
        raise DataError(f"The release tells nothing, row by row, of what the attacker knows: {', '.join(names)}.")
    sides = [_Side.of(known, mine[name], rows[name], release.recipe, name) for name in kept]
    truth = None if links is None else true_rows(np.asarray(links), mine.num_rows, rows.num_rows)
    people = np.arange(mine.num_rows)
    where = numbered([side.shown for side in sides])
    while True:
        made = _joined(sides, people, where)
        if not isinstance(made, int):
            break
        people = every(mine.num_rows, made)
    of, counts, pairs = made
    scale = mine.num_rows / len(people)
    return Cover(
        kept, people, of, counts, scale, where, np.bincount(where), *pairs, None if truth is None else truth[people]
    )


def table_of(release: Release[Any]) -> pa.Table:
    """The rows of a release; an error if it has none."""
    if not isinstance(release.payload, pa.Table):
        raise DataError("The release is not a table of rows.")
    return release.payload


def numbered(columns: list[Array]) -> Array:
    """A number for each row, from 0, equal where all columns are."""
    number = np.zeros(len(columns[0]), np.int64)
    for codes in columns:
        number = np.unique(number * (int(codes.max(initial=0)) + 1) + codes, return_inverse=True)[1]
    return number.astype(np.int64)


@dataclass(frozen=True)
class _Side:
    """A column on both sides, as codes: of shared values, if a label stands for itself only, or each side its own."""

    known: Array
    shown: Array
    exact: bool
    values: Cells
    labels: Cells
    card: Table
    recipe: Recipe
    name: str

    @classmethod
    def of(cls, table: Table, mine: Any, theirs: Any, recipe: Recipe, name: str) -> _Side:
        a, b = mine.combine_chunks(), theirs.combine_chunks()
        if labels.exact(table.card[name], a, b, recipe):
            both = pa.concat_arrays([a, b])
            codes, values = _encoded(both)
            return cls(codes[: len(a)], codes[len(a) :], True, values, values, table, recipe, name)
        (known, values), (shown, texts) = _encoded(a), _encoded(b)
        return cls(known, shown, False, values, texts, table, recipe, name)

    def chances(self, people: Array) -> tuple[Array, Array] | int:
        """The code of each person among the values that ``people`` have, and how likely each label is for each value;
        instead, if there are too many, how many people can be looked at."""
        met, codes = np.unique(self.known[people], return_inverse=True)
        if len(met) * len(self.labels) > _CELLS:
            return max(_CELLS // len(self.labels), 1)
        values = self.values.take(pa.array(met))
        return codes, labels.chances(self.card.card[self.name], values, self.labels, self.recipe)


def _joined(sides: list[_Side], people: Array, where: Array) -> tuple[Array, Array, tuple[Array, Array, Array]] | int:
    """The combinations of ``people``, how many have each, and the pairs; or how many people can be looked at."""
    of = numbered([side.known[people] for side in sides])
    _, first = np.unique(of, return_index=True)
    _, rows = np.unique(where, return_index=True)
    joins, tests = [side for side in sides if side.exact], []
    for side in sides:
        if not side.exact:
            found = side.chances(people)
            if isinstance(found, int):
                return found
            tests.append((found[0][first], side.shown[rows], found[1]))
    key = numbered(
        [np.concatenate([side.known[people][first], side.shown[rows]]) for side in joins]
        or [np.zeros(len(first) + len(rows), np.int64)]
    )
    mine, theirs = key[: len(first)], key[len(first) :]
    order = np.argsort(theirs, kind="stable")
    start = np.searchsorted(theirs[order], mine, "left")
    length = np.searchsorted(theirs[order], mine, "right") - start
    if length.sum() > _PAIRS and len(people) > 1:
        return max(int(len(people) * (_PAIRS / length.sum()) * 0.9), 1)
    pairs = _compared(start, length, order, tests)
    everybody = numbered([side.known for side in sides])
    return of, np.bincount(everybody)[everybody[people[first]]], pairs


def _compared(start: Array, length: Array, order: Array, tests: list[Any]) -> tuple[Array, Array, Array]:
    """The pairs that are joined and pass all tests, some combinations at a time."""
    cuts = np.searchsorted(np.cumsum(length), np.arange(_BLOCK, length.sum(), _BLOCK), "left")
    found = []
    for low, high in pairwise([0, *cuts.tolist(), len(length)]):
        many = length[low:high]
        one = np.repeat(np.arange(low, high), many)
        offset = np.arange(len(one)) - np.repeat(np.cumsum(many) - many, many)
        other = order[np.repeat(start[low:high], many) + offset]
        weight = np.ones(len(one))
        for codes, texts, chance in tests:
            weight = weight * chance[codes[one], texts[other]]
            stays = weight > 0
            one, other, weight = one[stays], other[stays], weight[stays]
        found.append((one, other, weight))
    return tuple(np.concatenate(part) for part in zip(*found, strict=True))  # type: ignore[return-value]


def _encoded(column: Cells) -> tuple[Array, Cells]:
    encoded: Any = column.dictionary_encode(null_encoding="encode")
    return np.asarray(encoded.indices.to_numpy(zero_copy_only=False), dtype=np.int64), encoded.dictionary
