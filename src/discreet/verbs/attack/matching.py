"""Matching by quasi-identifiers: the candidate rows of each person, and what all attacks on them share.

Candidates are the released rows whose labels a person's values do not contradict: what an intruder sees who knows
people's quasi-identifiers and reads the recipe. Rows that look alike are an equivalence class, and people with the same
values share a key; which of them go together is a sparse matrix of both.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, TypeAlias

import numpy as np
import pyarrow as pa

from discreet.core.card import Column
from discreet.core.optional import extra
from discreet.core.release import Release
from discreet.core.statement import Recipe
from discreet.core.table import Table
from discreet.errors import BadInput, DataError, NotFound
from discreet.verbs.attack import labels
from discreet.verbs.attack.finding import (
    SHOWN_VICTIMS,
    Array,
    Finding,
    clopper_pearson,
    failed_finding,
    judge_outcome,
    reason_not_matchable,
    share_finding,
)
from discreet.verbs.attack.linkage import evenly_spaced, known_columns, released_rows, true_rows

Cells: TypeAlias = "pa.Array[Any]"

_MAX_PAIRS = 40_000_000
"""Most pairs of keys and classes that are compared; in larger tables evenly spaced people are attacked."""
_MAX_CELLS = 20_000_000
"""Most pairs of a value and a label that are compared in one column."""
_BLOCK_PAIRS = 4_000_000
"""Pairs that are compared at a time."""


@dataclass(frozen=True)
class Matching(ABC):
    """An attacker who knows some columns of everyone and finds the candidate rows of each person."""

    columns: tuple[str, ...] = ()
    """What the attacker knows about people (default: the quasi-identifiers)."""

    name: ClassVar[str]

    @property
    @abstractmethod
    def skill(self) -> str:
        """What the attacker does, as the end of a sentence that begins with "knows … of everyone"."""

    @abstractmethod
    def evaluate(self, found: Candidates, known: Table, release: Release[Any]) -> Finding:
        """The finding; a ``DataError`` if there can be none. ``Finding.knows`` is filled in later."""

    def applies(self, release: Release[Any]) -> str | None:
        """For rows in which something is true of someone."""
        return reason_not_matchable(release)

    def run(self, release: Release[Any], known: Table, links: Array | None = None) -> Finding:
        """Find the candidate rows, and evaluate them."""
        return self.run_on(lambda: find_candidates(release, known, links, self.columns), release, known)

    def run_on(self, match: Callable[[], Candidates], release: Release[Any], known: Table) -> Finding:
        """Evaluate the candidate rows that ``match`` gives."""
        names = ", ".join(self.columns) or "the quasi-identifiers"
        try:
            found = match()
            finding = self.evaluate(found, known, release)
        except BadInput as problem:
            return failed_finding(self.name, f"The attacker knows {names} of everyone{self.skill}.", str(problem))
        knows = f"The attacker knows {', '.join(found.columns)} of everyone{self.skill}."
        details = {"columns": list(found.columns), "people": len(found.people), **finding.details}
        return replace(finding, knows=knows, details=details)


def first_victims(found: Candidates, which: Array) -> tuple[int, ...]:
    """Row numbers of a few of the people attacked."""
    return tuple(map(int, found.people[np.flatnonzero(which)[:SHOWN_VICTIMS]]))


def chance_finding(
    name: str, success: Array, baseline: float, *, meaning: str, found: Candidates, details: Mapping[str, Any]
) -> Finding:
    """A finding about chances: ``success`` is the probability, for each person, that the attacker is right."""
    return share_finding(name, "", success, baseline, meaning, details=details, people=found.people)


def certainty_finding(
    name: str,
    sure: Array,
    right: Array,
    luck: Array | float,
    *,
    meaning: str,
    found: Candidates,
    details: Mapping[str, Any],
) -> Finding:
    """A finding about certainty: for whom the attacker is ``sure``, and ``right``.

    Guessing is to say the same of the same people without looking: ``luck`` is the chance (for each person, or for all)
    that this is right of anyone. Of what nearly everyone has, nearly nothing is learned by being sure. Where the
    attacker is never sure and wrong there is no chance in it, so that one person, of whom something was learned that
    is not everyone's, is a breach; else (rows are not what they seem) the interval has to be above guessing.
    """
    hits = sure & right
    figure, interval = float(hits.mean()), clopper_pearson(float(hits.sum()), len(hits))
    baseline = float(np.where(sure, luck, 0.0).mean())
    least = interval[0] if (sure & ~right).any() else figure
    return Finding(
        name,
        "",
        judge_outcome(figure, (least, interval[1]), baseline + 1e-12),
        figure,
        interval,
        baseline,
        meaning,
        first_victims(found, hits),
        {"sure": int(sure.sum()), "right": int(hits.sum()), **details},
    )


# -- candidate rows ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Candidates:
    """People and the released rows that may be theirs."""

    columns: tuple[str, ...]
    """Columns that the attacker knows and the release tells something of."""
    people: Array
    """Row numbers, in the original, of the people who are attacked."""
    key_of: Array
    """Key of each of them."""
    key_counts: Array
    """Number of people, of all, with each key."""
    scale: float
    """Number of people for each one who is attacked."""
    class_of: Array
    """Equivalence class of each released row."""
    class_sizes: Array
    """Number of rows of each class."""
    pair_key: Array
    """Key of each pair that goes together, in ascending order."""
    pair_class: Array
    """Class of each pair."""
    pair_weight: Array
    """Likelihood of the rows for the person: 1, unless something was changed at random."""
    truth: Array | None
    """Place of each person's released row, or -1; ``None`` if no one knows."""

    @cached_property
    def candidate_counts(self) -> Array:
        """Number of rows that may be a person's, for each person."""
        return self._key_sums(self.class_sizes[self.pair_class].astype(np.float64))[self.key_of].astype(np.int64)

    @cached_property
    def success(self) -> Array:
        """The probability that the attacker who takes the likeliest row, by lot if several are, takes the right one.

        If no one knows whose rows are whose, it is the smaller of two: that of the row among all rows that may be the
        person's, and that of the person among all people whose the row may be. (Rows may be missing, and people.)
        """
        sizes = self.class_sizes[self.pair_class]
        best = np.maximum(group_ranges(self.pair_key, self.pair_weight, len(self.key_counts))[1], 0.0)
        likeliest = self.pair_weight == best[self.pair_key]
        ties = np.maximum(self._key_sums(np.where(likeliest, sizes, 0)), 1)
        if self.truth is not None:
            own = self.weight_of_truth()
            return np.where((own > 0) & (own == best[self.key_of]), 1 / ties[self.key_of], 0.0)
        rows = best / np.maximum(self._key_sums(self.pair_weight * sizes), 1e-300)
        people = self._key_sums(np.where(likeliest, sizes * self.pair_weight / self._owners(), 0)) / ties
        return np.asarray(np.minimum(rows, people)[self.key_of])

    @property
    def certain(self) -> Array:
        """Whose row the attacker is sure of: there is only one, and it can be no one else's."""
        return np.asarray((self.candidate_counts == 1) & (self.truth is not None or self.right))

    @cached_property
    def right(self) -> Array:
        """Whether the likeliest row, being the only one, is the person's."""
        return self.success > 1 - 1e-9

    @property
    def guess_rate(self) -> float:
        """The share of people found by naming any row."""
        there = 1.0 if self.truth is None else float(np.mean(self.truth >= 0))
        return min(there / len(self.class_of), 1.0)

    def pair_matrix(self, weights: Array) -> Any:
        """Sparse matrix of the weights of the pairs, keys by classes."""
        with extra("attack"):
            from scipy.sparse import csr_array

        shape = len(self.key_counts), len(self.class_sizes)
        return csr_array((weights, (self.pair_key, self.pair_class)), shape=shape)

    def weight_of_truth(self) -> Array:
        """Likelihood of each person's own row; 0 if it is not released, or ruled out."""
        if self.truth is None:
            raise DataError("Rows cannot be linked to people.")
        own = np.asarray(self.pair_matrix(self.pair_weight)[self.key_of, self.class_of[self.truth]]).ravel()
        return np.where(self.truth >= 0, own, 0.0)

    def code_weights(self, codes: Array) -> Any:
        """Weight of each code among the candidate rows of each key; ``codes`` has one for each released row.

        A sparse matrix, keys by codes; not scaled.
        """
        with extra("attack"):
            from scipy.sparse import csr_array

        shape = len(self.class_sizes), int(codes.max(initial=0)) + 1
        return self.pair_matrix(self.pair_weight) @ csr_array(
            (np.ones(len(codes)), (self.class_of, codes)), shape=shape
        )

    def value_ranges(self, numbers: Array) -> tuple[Array, Array]:
        """Least and largest number among the candidate rows of each key; ``numbers`` has one for each released row."""
        least, most = group_ranges(self.class_of, numbers, len(self.class_sizes))
        low, _ = group_ranges(self.pair_key, least[self.pair_class], len(self.key_counts))
        _, high = group_ranges(self.pair_key, most[self.pair_class], len(self.key_counts))
        return low, high

    def _owners(self) -> Array:
        """Number of people, by weight, whose the rows of each pair may be; those not attacked are estimated."""
        weight = self.pair_weight * np.bincount(self.key_of, minlength=len(self.key_counts))[self.pair_key]
        others = np.bincount(self.pair_class, weight, minlength=len(self.class_sizes))[self.pair_class] - weight
        return np.asarray(self.pair_weight * self.key_counts[self.pair_key] + self.scale * np.maximum(others, 0))

    def _key_sums(self, values: Array) -> Array:
        return np.bincount(self.pair_key, values, minlength=len(self.key_counts))


def find_candidates(
    release: Release[Any], known: Table, links: Array | None = None, columns: tuple[str, ...] = ()
) -> Candidates:
    """The candidate rows of ``release`` for each person, by ``columns`` (default: the quasi-identifiers, or all).

    Columns that the release lacks, or that were changed in a way that rules nothing out, are left out; if none is
    left, that is an error.
    """
    rows, mine = released_rows(release), known.fetch()
    if not rows.num_rows or not mine.num_rows:
        raise DataError("There are no rows to attack.")
    links = release.links if links is None else links
    names = columns or known_columns(known.card)
    for name in names:
        if name not in mine.column_names:
            raise NotFound(f"The attacker's table has no column {name!r}.")
    kept = tuple(name for name in names if name in rows.column_names and labels.is_informative(release.recipe, name))
    if not kept:
        raise DataError(f"The release has no usable values of what the attacker knows: {', '.join(names)}.")
    pairs = [_ColumnPair.of(known.card[name], mine[name], rows[name], release.recipe) for name in kept]
    truth = None if links is None else true_rows(np.asarray(links), mine.num_rows, rows.num_rows)
    people = np.arange(mine.num_rows)
    class_of = number_rows([pair.released for pair in pairs])
    while isinstance(joined := _join(pairs, people, class_of), int):
        people = evenly_spaced(mine.num_rows, joined)
    key_of, key_counts, matches = joined
    scale, own = mine.num_rows / len(people), None if truth is None else truth[people]
    return Candidates(kept, people, key_of, key_counts, scale, class_of, np.bincount(class_of), *matches, own)


def number_rows(columns: list[Array]) -> Array:
    """A number for each row, from 0, equal where all columns are."""
    number = np.zeros(len(columns[0]), np.int64)
    for codes in columns:
        number = np.unique(number * (int(codes.max(initial=0)) + 1) + codes, return_inverse=True)[1]
    return number.astype(np.int64)


def group_ranges(groups: Array, values: Array, count: int) -> tuple[Array, Array]:
    """Least and largest value of each of ``count`` groups; infinities where there is none."""
    low, high = np.full(count, np.inf), np.full(count, -np.inf)
    np.minimum.at(low, groups, values)
    np.maximum.at(high, groups, values)
    return low, high


def encode(column: Any) -> tuple[Array, Cells]:
    """Codes of the values of a column, and the value of each code; NULL is a value like any other."""
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    encoded: Any = whole.dictionary_encode(null_encoding="encode")
    return np.asarray(encoded.indices.to_numpy(zero_copy_only=False), dtype=np.int64), encoded.dictionary


@dataclass(frozen=True)
class _ColumnPair:
    """A column of the known people and of the release, as codes: shared ones if a label stands for itself only."""

    known: Array
    released: Array
    exact: bool
    values: Cells
    labels: Cells
    column: Column
    recipe: Recipe

    @classmethod
    def of(cls, column: Column, known: Any, released: Any, recipe: Recipe) -> _ColumnPair:
        mine, theirs = known.combine_chunks(), released.combine_chunks()
        if labels.is_exact(column, mine, theirs, recipe):
            codes, values = encode(pa.concat_arrays([mine, theirs]))
            return cls(codes[: len(mine)], codes[len(mine) :], True, values, values, column, recipe)
        (codes, values), (others, texts) = encode(mine), encode(theirs)
        return cls(codes, others, False, values, texts, column, recipe)

    def likelihoods(self, people: Array) -> tuple[Array, Array] | int:
        """The code of each person among the values that ``people`` have, and how likely each label is for each value;
        instead, if there are too many, how many people kinds."""
        met, codes = np.unique(self.known[people], return_inverse=True)
        if len(met) * len(self.labels) > _MAX_CELLS:
            return max(_MAX_CELLS // len(self.labels), 1)
        return codes, labels.likelihoods(self.column, self.values.take(pa.array(met)), self.labels, self.recipe)


def _join(
    columns: list[_ColumnPair], people: Array, class_of: Array
) -> tuple[Array, Array, tuple[Array, Array, Array]] | int:
    """The keys of ``people``, how many have each, and the matching pairs; or how many people kinds."""
    key_of = number_rows([column.known[people] for column in columns])
    _, first = np.unique(key_of, return_index=True)
    _, rows = np.unique(class_of, return_index=True)
    exact, tests = [column for column in columns if column.exact], []
    for column in columns:
        if not column.exact:
            found = column.likelihoods(people)
            if isinstance(found, int):
                return found
            tests.append((found[0][first], column.released[rows], found[1]))
    joint = number_rows(
        [np.concatenate([column.known[people][first], column.released[rows]]) for column in exact]
        or [np.zeros(len(first) + len(rows), np.int64)]
    )
    mine, theirs = joint[: len(first)], joint[len(first) :]
    order = np.argsort(theirs, kind="stable")
    start = np.searchsorted(theirs[order], mine, "left")
    length = np.searchsorted(theirs[order], mine, "right") - start
    if length.sum() > _MAX_PAIRS and len(people) > 1:
        return max(int(len(people) * (_MAX_PAIRS / length.sum()) * 0.9), 1)
    everybody = number_rows([column.known for column in columns])
    counts = np.bincount(everybody)[everybody[people[first]]]
    return key_of, counts, _matching_pairs(start, length, order, tests)


def _matching_pairs(start: Array, length: Array, order: Array, tests: list[Any]) -> tuple[Array, Array, Array]:
    """The joined pairs that pass all tests, some keys at a time."""
    cuts = np.searchsorted(np.cumsum(length), np.arange(_BLOCK_PAIRS, length.sum(), _BLOCK_PAIRS), "left")
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
