"""Probabilistic record linkage: match weights of Fellegi and Sunter, estimated by expectation–maximisation."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from discreet.core.catalogue import declare
from discreet.core.families import ATTACKS
from discreet.core.statement import Recipe
from discreet.errors import BadInput
from discreet.verbs.attack.finding import Array
from discreet.verbs.attack.linkage import MAX_PAIRS, Linkage, LinkageData, LinkResult, evenly_spaced, tie_success

NEAR = (0.0, 0.01, 0.04, 0.12)
"""Levels of agreement of numbers: largest difference in rank, as a share of the known people; beyond, none."""
TAUGHT = 300
"""Most people whose pairs the attacker estimates from."""
_MAX_ROUNDS, _MAX_SWEEPS = 500, 30
_SMOOTHING = 1e-6
"""Share added to every level's frequency, so that none is zero."""


@dataclass(frozen=True)
class FellegiSunter:
    """Frequency of each level of agreement, column by column: ``m`` among true pairs, ``u`` among others.

    Columns are taken to be independent given the truth (Fellegi and Sunter 1969). NULL, level -1, says nothing.
    """

    prior: float
    m: tuple[Array, ...]
    u: tuple[Array, ...]

    def weights(self, patterns: Array) -> Array:
        """Match weight of each pattern (a row): log2 of its likelihood ratio, true pair against chance."""
        total = np.zeros(len(patterns))
        for levels, m, u in zip(patterns.T, self.m, self.u, strict=True):
            total += np.append(np.log2(m / u), 0.0)[levels]
        return total

    def posterior(self, patterns: Array) -> Array:
        """The probability that a pair with each pattern is a true one."""
        weight = self.weights(patterns) + np.log2(self.prior / (1 - self.prior))
        return np.asarray(1.0 / (1.0 + np.exp2(-np.clip(weight, -1000, 1000))))


def estimate(patterns: Array, counts: Array, levels: tuple[int, ...]) -> FellegiSunter:
    """The model that makes the patterns (a row each, seen ``counts`` times) most likely, by expectation–maximisation:
    no pair's truth is needed. Level 0 is full agreement, at first taken to be likelier for true pairs."""
    if patterns.shape != (len(counts), len(levels)) or not len(counts):
        raise BadInput("Each agreement pattern needs a count, and a level for each column.")
    model = FellegiSunter(0.05, tuple(map(_initial_shares, levels)), _frequencies(patterns, counts, levels))
    for _ in range(_MAX_ROUNDS):
        true = model.posterior(patterns) * counts
        prior = float(np.clip(true.sum() / counts.sum(), 1e-12, 1 - 1e-12))
        last = model
        model = FellegiSunter(
            prior, _frequencies(patterns, true, levels), _frequencies(patterns, counts - true, levels)
        )
        if _largest_change(last, model) < 1e-7:
            break
    return model


@declare(ATTACKS, "probabilistic linkage", rank=9)
class ProbabilisticLinkage(Linkage):
    """Link each person to the row with the highest match weight.

    A pair's agreement has a level for each column: text is equal or not, numbers are near in rank. No truth is used:
    strangers agree as all pairs do; true pairs' agreement is estimated knowing that each person has one row, so that
    rows compete for a person. (Without that, estimation takes people who are alike in all columns for the same.)
    """

    skill: ClassVar[str] = "and picks the row with the highest match weight (Fellegi and Sunter)"

    def link(self, data: LinkageData, recipe: Recipe) -> LinkResult:
        chosen = evenly_spaced(len(data.known), MAX_PAIRS // len(data.released))
        sample = data.with_people(chosen)
        people, rows = _ranked(data, sample.known), _ranked(data, data.released)
        limits = np.where(data.numeric[:, None], NEAR, (0.0, np.inf, np.inf, np.inf))
        model = _one_row_model(people[evenly_spaced(len(people), TAUGHT)], rows, limits)
        ties, found = _most_agreeing(people, rows, limits, _level_weights(model), sample.truth)
        agree = {name: [round(float(level), 6) for level in m] for name, m in zip(data.columns, model.m, strict=True)}
        return LinkResult(tie_success(ties, found), {"agreement of true pairs": agree}, sample.guess_rate, chosen)


def _most_agreeing(people: Array, rows: Array, limits: Array, table: Array, truth: Array) -> tuple[Array, Array]:
    """Number of rows with the highest match weight, and whether the true one is among them, for each person.

    Columns with few values come first, so that many rows begin alike and share most of the work.
    """
    from discreet.verbs.attack.linkage_kernels import highest_weights, prefix_tree

    columns = np.argsort([len(np.unique(column)) for column in rows.T], kind="stable")
    order = np.lexsort(rows.T[columns[::-1]])
    place = np.empty(len(rows), np.int64)
    place[order] = np.arange(len(rows))
    known, ordered = np.ascontiguousarray(people[:, columns]), np.ascontiguousarray(rows[order][:, columns])
    where = np.where(truth >= 0, place[truth], -1)
    ties, found = highest_weights(known, ordered, limits[columns], table[columns], where, *prefix_tree(ordered))
    return np.asarray(ties), np.asarray(found)


@dataclass(frozen=True)
class _PairPatterns:
    """Patterns of agreement of some people's pairs, each with its person and how many rows have it.

    Sweeps of expectation–maximisation need no more of the pairs, and there are far fewer patterns than rows.
    """

    person: Array
    levels: Array
    """Agreement level of each pattern (a row) in each column; -1 where a NULL says nothing."""
    count: Array

    @classmethod
    def of(cls, people: Array, rows: Array, limits: Array) -> _PairPatterns:
        """Of all pairs of ``people`` and ``rows``."""
        from discreet.verbs.attack.linkage_kernels import agreement_patterns

        base = limits.shape[1] + 2
        width = int(62 / np.log2(base))  # columns whose pattern fits into 64 bits
        parts = [slice(first, first + width) for first in range(0, len(limits), width)]
        persons, levels, counts = [], [], []
        for number, person in enumerate(people):
            codes = np.stack([agreement_patterns(person[one], rows[:, one], limits[one]) for one in parts], axis=1)
            if len(parts) == 1:  # far faster than by rows
                found, count = np.unique(codes[:, 0], return_counts=True)
                found = found[:, None]
            else:
                found, count = np.unique(codes, axis=0, return_counts=True)
            persons.append(np.full(len(count), number))
            levels.append(np.hstack([_digits(found[:, [n]], base, limits[one]) for n, one in enumerate(parts)]))
            counts.append(count)
        return cls(*map(np.concatenate, (persons, levels, counts)))

    def level_sums(self, table: Array) -> tuple[Array, ...]:
        """Frequency of each level of each column, where each person counts once, shared among the rows by their odds:
        two to the power of the sum of their levels' weights in ``table``."""
        padded = np.hstack([table, np.zeros((len(table), 1))])  # level -1 is the last one
        weights = np.zeros(len(self.count))
        for column, levels in zip(padded, self.levels.T, strict=True):
            weights += column[levels]
        odds = np.exp2(weights) * self.count
        share = odds / np.bincount(self.person, weights=odds)[self.person]
        return tuple(
            np.bincount(levels[levels >= 0], weights=share[levels >= 0], minlength=table.shape[1])
            for levels in self.levels.T
        )


def _digits(codes: Array, base: int, limits: Array) -> Array:
    """The levels that patterns stand for, a column for each of ``limits``."""
    powers = base ** np.arange(len(limits) - 1, -1, -1, dtype=np.int64)
    return np.asarray(codes // powers % base - 1)


def _one_row_model(people: Array, rows: Array, limits: Array) -> FellegiSunter:
    """The model of pairs when each person has exactly one true row."""
    pairs = _PairPatterns.of(people, rows, limits)
    levels = limits.shape[1] + 1
    start = tuple(_initial_shares(levels) for _ in limits)
    flat = FellegiSunter(1 / len(rows), start, start)
    model = FellegiSunter(1 / len(rows), start, _shares(pairs.level_sums(_level_weights(flat))))
    for _ in range(_MAX_SWEEPS):
        last = model
        model = replace(model, m=_shares(pairs.level_sums(_level_weights(model))))
        if _largest_change(last, model) < 1e-3:
            break
    return model


def _level_weights(model: FellegiSunter) -> Array:
    """Match weight of each level of each column."""
    return np.asarray(np.log2(np.array(model.m) / np.array(model.u)))


def _ranked(data: LinkageData, values: Array) -> Array:
    """Numbers as the share of known people below them (of equals half), codes as they are."""
    ranked = values.copy()
    for column in np.flatnonzero(data.numeric):
        known = np.sort(data.known[:, column])
        known = known[~np.isnan(known)]
        here = values[:, column]
        below, up_to = np.searchsorted(known, here, "left"), np.searchsorted(known, here, "right")
        ranked[:, column] = np.where(np.isnan(here), np.nan, (below + up_to) / (2 * len(known)))
    return ranked


def _frequencies(patterns: Array, counts: Array, levels: tuple[int, ...]) -> tuple[Array, ...]:
    sums = []
    for column, count in zip(patterns.T, levels, strict=True):
        there = column >= 0
        sums.append(np.bincount(column[there], weights=counts[there], minlength=count))
    return _shares(sums)


def _shares(sums: Iterable[Array]) -> tuple[Array, ...]:
    """Frequency of each level of each column; never quite zero."""
    lifted = (column + _SMOOTHING * max(float(column.sum()), 1.0) for column in sums)
    return tuple(column / column.sum() for column in lifted)


def _largest_change(last: FellegiSunter, model: FellegiSunter) -> float:
    return max(float(np.abs(a - b).max()) for a, b in zip(last.m + last.u, model.m + model.u, strict=True))


def _initial_shares(levels: int) -> Array:
    """Starting frequencies: level 0 the likeliest, each further one a quarter of the one before."""
    shares = 0.25 ** np.arange(levels)
    return np.asarray(shares / shares.sum())
