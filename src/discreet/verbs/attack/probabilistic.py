"""Probabilistic linkage: how much more likely is this agreement for a person's own row than for a stranger's?"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from discreet.core.catalogue import declare
from discreet.core.families import ATTACKS
from discreet.core.statement import Recipe
from discreet.errors import BadInput
from discreet.verbs.attack.linkage import PAIRS, Linkage, Linked, by_lot, every
from discreet.verbs.attack.linkage_matrix import Sight

Array = npt.NDArray[Any]

NEAR = (0.0, 0.01, 0.04, 0.12)
"""Numbers agree in levels: ranks within so large a share of the known people of each other; beyond, not at all."""
TAUGHT = 300
"""So many people's pairs the attacker estimates from."""
_ROUNDS, _SWEEPS = 500, 30
_SMOOTH = 1e-6


@dataclass(frozen=True)
class FellegiSunter:
    """How often each level of agreement is seen, column by column: ``m`` among true pairs, ``u`` among others.

    Columns are taken to be independent given the truth (Fellegi and Sunter 1969). NULL, level -1, says nothing.
    """

    prior: float
    m: tuple[Array, ...]
    u: tuple[Array, ...]

    def weights(self, patterns: Array) -> Array:
        """The match weight of each pattern (a row): log2 of its odds for truth, against those for chance."""
        total = np.zeros(len(patterns))
        for levels, m, u in zip(patterns.T, self.m, self.u, strict=True):
            total += np.append(np.log2(m / u), 0.0)[levels]
        return total

    def posterior(self, patterns: Array) -> Array:
        """The probability that a pair with each pattern is a true one."""
        weight = self.weights(patterns) + np.log2(self.prior / (1 - self.prior))
        return np.asarray(1.0 / (1.0 + np.exp2(-np.clip(weight, -1000, 1000))))


def estimate(patterns: Array, counts: Array, levels: tuple[int, ...]) -> FellegiSunter:
    """The model that makes the patterns (a row each, seen ``counts`` times) most likely, by expectation and
    maximisation: no pair's truth is needed. Level 0 is full agreement, at first taken to be likelier for true pairs."""
    if patterns.shape != (len(counts), len(levels)) or not len(counts):
        raise BadInput("Patterns of agreement are a row each, with a count, and a level for each column.")
    model = FellegiSunter(0.05, tuple(map(_hopeful, levels)), _frequencies(patterns, counts, levels))
    for _ in range(_ROUNDS):
        true = model.posterior(patterns) * counts
        prior = float(np.clip(true.sum() / counts.sum(), 1e-12, 1 - 1e-12))
        last = model
        model = FellegiSunter(
            prior, _frequencies(patterns, true, levels), _frequencies(patterns, counts - true, levels)
        )
        if _moved(last, model) < 1e-7:
            break
    return model


@declare(ATTACKS, "probabilistic linkage", rank=9)
class ProbabilisticLinkage(Linkage):
    """Link each person to the row with the highest match weight.

    A pair's agreement is graded by column: text is equal or not, numbers are so near in rank. Nobody's truth is used:
    strangers agree as all pairs do; true pairs' agreement is estimated knowing that each person has one row, so that
    rows compete for a person. (Without that, estimation takes people who are alike in all columns for the same.)
    """

    name: ClassVar[str]

    @property
    def skill(self) -> str:
        return "and takes the row whose agreement is the least likely by chance (Fellegi and Sunter)"

    def link(self, sight: Sight, recipe: Recipe) -> Linked:
        from discreet.verbs.attack.agreement import best

        chosen = every(len(sight.known), PAIRS // len(sight.shown))
        sample = sight.people(chosen)
        people, rows = _graded(sight, sample.known), _graded(sight, sight.shown)
        limits = np.where(sight.numeric[:, None], NEAR, (0.0, np.inf, np.inf, np.inf))
        model = _competing(people[every(len(people), TAUGHT)], rows, limits)
        ties, found = best(people, rows, limits, _table(model), sample.truth)
        agree = {name: [round(float(level), 6) for level in m] for name, m in zip(sight.columns, model.m, strict=True)}
        return Linked(by_lot(ties, found), {"agreement of true pairs": agree}, sample.guessing, chosen)


def _competing(people: Array, rows: Array, limits: Array) -> FellegiSunter:
    """The model of pairs when each person has exactly one true row."""
    from discreet.verbs.attack.agreement import sweep

    levels = limits.shape[1] + 1
    start = tuple(_hopeful(levels) for _ in limits)
    flat = FellegiSunter(1 / len(rows), start, start)
    model = FellegiSunter(1 / len(rows), start, _shares(sweep(people, rows, limits, _table(flat))))
    for _ in range(_SWEEPS):
        last = model
        model = replace(model, m=_shares(sweep(people, rows, limits, _table(model))))
        if _moved(last, model) < 1e-3:
            break
    return model


def _table(model: FellegiSunter) -> Array:
    """The weight of each level of each column."""
    return np.asarray(np.log2(np.array(model.m) / np.array(model.u)))


def _graded(sight: Sight, values: Array) -> Array:
    """Numbers as the share of known people below them (of equals half), codes as they are."""
    graded = values.copy()
    for column in np.flatnonzero(sight.numeric):
        known = np.sort(sight.known[:, column])
        known = known[~np.isnan(known)]
        here = values[:, column]
        below, up_to = np.searchsorted(known, here, "left"), np.searchsorted(known, here, "right")
        graded[:, column] = np.where(np.isnan(here), np.nan, (below + up_to) / (2 * len(known)))
    return graded


def _frequencies(patterns: Array, counts: Array, levels: tuple[int, ...]) -> tuple[Array, ...]:
    sums = []
    for column, count in zip(patterns.T, levels, strict=True):
        there = column >= 0
        sums.append(np.bincount(column[there], weights=counts[there], minlength=count))
    return _shares(sums)


def _shares(sums: Iterable[Array]) -> tuple[Array, ...]:
    """How often each level of each column is seen; never quite zero."""
    lifted = (column + _SMOOTH * max(float(column.sum()), 1.0) for column in sums)
    return tuple(column / column.sum() for column in lifted)


def _moved(last: FellegiSunter, model: FellegiSunter) -> float:
    return max(float(np.abs(a - b).max()) for a, b in zip(last.m + last.u, model.m + model.u, strict=True))


def _hopeful(levels: int) -> Array:
    """Level 0 the likeliest, each further one a quarter of it."""
    shares = 0.25 ** np.arange(levels)
    return np.asarray(shares / shares.sum())
