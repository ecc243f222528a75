"""Attribute disclosure: learning people's sensitive values without finding their rows.

An equivalence class of k rows hides a person, but not what all k have in common. Machanavajjhala, Kifer, Gehrke and
Venkitasubramaniam (2007) name homogeneity and background knowledge; Li, Li and Venkatasubramanian (2007) skewness and
similarity.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from discreet.core.card import Column, Role
from discreet.core.catalogue import declare, parameter
from discreet.core.families import ATTACKS
from discreet.core.kind import NUMBERS
from discreet.core.optional import extra
from discreet.core.release import Release
from discreet.core.table import Table
from discreet.errors import DataError
from discreet.verbs.attack.finding import Array, Finding, worst_finding
from discreet.verbs.attack.labels import at_level, is_unchanged
from discreet.verbs.attack.matching import Candidates, Matching, certainty_finding, chance_finding, encode, group_ranges


@dataclass(frozen=True)
class Disclosure(Matching):
    """An attack on the sensitive values of a person's candidate rows; of several sensitive columns the worst counts."""

    on: str = parameter("Column to infer; default: each sensitive one.", default="", clause="on", column="any")

    def evaluate(self, found: Candidates, known: Table, release: Release[Any]) -> Finding:
        rows = release.payload
        names = [self.on] if self.on else [column.name for column in known.card.having(Role.SENSITIVE)]
        if not names:
            raise DataError("The card declares no sensitive column, so there is nothing to infer.")
        there = [name for name in names if name in rows.column_names and is_unchanged(release.recipe, name)]
        if not there:
            raise DataError(f"The release does not show these columns unchanged: {', '.join(names)}.")
        mine = known.fetch()
        each, problems = [], []
        for name in there:
            try:
                each.append(self.learn(found, SensitiveColumn.of(known.card[name], mine[name], rows[name], found)))
            except DataError as problem:
                problems.append(problem)
        if not each:
            raise problems[0]
        return worst_finding(each)

    @abstractmethod
    def learn(self, found: Candidates, what: SensitiveColumn) -> Finding:
        """The finding about one column."""


@dataclass(frozen=True)
class SensitiveColumn:
    """A sensitive column: true values of the people attacked, and released values, as shared codes."""

    column: Column
    values: Any
    """Value of each code."""
    true: Array
    shown: Array
    beliefs: Any
    """Probability of each code for each key: sparse, rows sum to 1, or to 0 without a candidate row."""
    overall: Array
    """Frequency of each code in the release."""

    @classmethod
    def of(cls, column: Column, mine: Any, theirs: Any, found: Candidates) -> SensitiveColumn:
        a, b = mine.combine_chunks(), theirs.combine_chunks()
        if a.type != b.type:
            raise DataError(f"The release shows {column.name!r} with another type of values.")
        codes, values = encode(pa.concat_arrays([a, b]))
        shown, kinds = codes[len(a) :], len(values)
        counts = found.code_weights(shown)
        counts.resize((counts.shape[0], kinds))
        total = np.asarray(counts.sum(axis=1)).ravel()
        with extra("attack"):
            from scipy.sparse import diags_array

        beliefs = (diags_array(1 / np.maximum(total, 1e-300)) @ counts).tocsr()
        overall = np.bincount(shown, minlength=kinds) / len(shown)
        return cls(column, values, codes[: len(a)][found.people], shown, beliefs, overall)

    def top(self) -> tuple[Array, Array]:
        """The likeliest code of each key (-1: none), and how many codes are possible."""
        possible = np.diff(self.beliefs.indptr)
        best = np.asarray(self.beliefs.argmax(axis=1)).ravel()
        return np.where(possible > 0, best, -1), possible


@declare(ATTACKS, "homogeneity", rank=4)
class Homogeneity(Disclosure):
    """All candidate rows of a person have the same sensitive value: then it is theirs."""

    skill: ClassVar[str] = " and checks whether all candidate rows of a person agree"

    def learn(self, found: Candidates, what: SensitiveColumn) -> Finding:
        best, possible = what.top()
        sure = (possible == 1)[found.key_of]
        guess = best[found.key_of]
        meaning = (
            f"Share of people whose {what.column.name} the attacker knows with certainty, without knowing "
            "which row is theirs (homogeneity); 0 is best. The baseline is the overall frequency of these values."
        )
        luck = what.overall[guess]
        details = {"column": what.column.name, **_frequency(luck[sure])}
        return certainty_finding(
            self.name, sure, guess == what.true, luck, meaning=meaning, found=found, details=details
        )


@declare(ATTACKS, "background knowledge", rank=5)
class BackgroundKnowledge(Disclosure):
    """The attacker can rule out ``excludes`` of the possible sensitive values, the worst that are wrong."""

    excludes: int = 1

    @property
    def skill(self) -> str:
        values = "value" if self.excludes == 1 else "values"
        return f", and of each person {self.excludes} sensitive {values} that they do not have"

    def learn(self, found: Candidates, what: SensitiveColumn) -> Finding:
        _, possible = what.top()
        belief = _posterior(what, found)
        sure = ((possible >= 1) & (possible <= 1 + self.excludes))[found.key_of]
        everything = np.count_nonzero(what.overall) <= 1 + self.excludes
        meaning = (
            f"Share of people whose {what.column.name} is known with certainty to an attacker who can rule "
            f"out {self.excludes} other; 0 is best. It counts people who are close to disclosure."
        )
        luck = np.ones(len(sure)) if everything else what.overall[what.true]
        details = {"column": what.column.name, "excludes": self.excludes, **_frequency(luck[sure])}
        return certainty_finding(self.name, sure, belief > 0, luck, meaning=meaning, found=found, details=details)


@declare(ATTACKS, "skewness", rank=6)
class Skewness(Disclosure):
    """A person's candidate rows have other frequencies than all rows: beliefs about the person shift."""

    skill: ClassVar[str] = " and uses the frequencies among a person's candidate rows"

    def learn(self, found: Candidates, what: SensitiveColumn) -> Finding:
        prior = what.overall[what.true]
        covered = found.candidate_counts > 0
        belief = np.where(covered, _posterior(what, found), prior)
        rare = what.beliefs.tocoo()
        factor = rare.data / np.maximum(what.overall[rare.col], 1e-300)
        worst = int(np.argmax(factor)) if len(factor) else -1
        details: dict[str, Any] = {"column": what.column.name}
        if worst >= 0:
            details["largest growth of belief"] = {
                "value": str(what.values[int(rare.col[worst])].as_py()),
                "from": float(what.overall[rare.col[worst]]),
                "to": float(rare.data[worst]),
            }
        meaning = (
            f"Mean probability that the attacker assigns to a person's true {what.column.name}; the baseline "
            "uses the frequencies in the whole table. 1 means certainty about everyone."
        )
        return chance_finding(self.name, belief, float(prior.mean()), meaning=meaning, found=found, details=details)


@declare(ATTACKS, "similarity", rank=7)
class Similarity(Disclosure):
    """The sensitive values of all candidate rows of a person are alike, if not the same: numbers within ``width`` of
    their whole range, or categories with a common label below the top of their hierarchy."""

    width: float = 0.1

    skill: ClassVar[str] = " and checks whether all candidate rows of a person are similar"

    def learn(self, found: Candidates, what: SensitiveColumn) -> Finding:
        sure, right, luck = self._numbers(found, what) or _categories(found, what)
        meaning = (
            f"Share of people whose {what.column.name} the attacker knows approximately: within "
            f"{self.width:.0%} of its range, or its group; 0 is best."
        )
        details = {"column": what.column.name, "width": self.width, **_frequency(luck[sure])}
        return certainty_finding(self.name, sure, right, luck, meaning=meaning, found=found, details=details)

    def _numbers(self, found: Candidates, what: SensitiveColumn) -> tuple[Array, Array, Array] | None:
        if what.column.kind not in NUMBERS:
            return None
        values = np.asarray(what.values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), dtype=float)
        shown, true = values[what.shown], values[what.true]
        gap = np.isnan(shown)
        there = shown[~gap]
        whole = float(np.ptp(there)) if len(there) else 0.0
        low, high = found.value_ranges(
            np.where(gap, there.min(initial=0) - 2 * whole, shown)
        )  # a gap is far from everything
        narrow = (high - low <= self.width * whole) & (low >= there.min(initial=0)) & (whole > 0) & np.isfinite(low)
        there.sort()
        often = (np.searchsorted(there, high, "right") - np.searchsorted(there, low, "left")) / len(shown)
        return (narrow[found.key_of], (low[found.key_of] <= true) & (true <= high[found.key_of]), often[found.key_of])


def _posterior(what: SensitiveColumn, found: Candidates) -> Array:
    """Posterior probability of each person's true value."""
    return np.asarray(what.beliefs[found.key_of, what.true]).ravel()


def _frequency(luck: Array) -> dict[str, float]:
    return {"overall frequency of the known values": float(luck.mean()) if len(luck) else 0.0}


def _categories(found: Candidates, what: SensitiveColumn) -> tuple[Array, Array, Array]:
    """For whom all possible values share a label at some level below the top of their hierarchy; whether it is right;
    and how frequent the lowest such label is among all rows."""
    hierarchy = what.column.hierarchy
    if hierarchy is None:
        raise DataError(
            f"Similarity of {what.column.name} is not declared: it is not a number and has no hierarchy.",
            hint="Give it a hierarchy in the card.",
        )
    sure, right, luck = (
        np.zeros(len(found.key_of), bool),
        np.zeros(len(found.key_of), bool),
        np.zeros(len(found.key_of)),
    )
    possible = what.beliefs.tocoo()
    for level in range(1, hierarchy.height):
        group, _ = encode(at_level(what.column, what.values, level))
        if len(np.unique(group[what.shown])) == 1:
            continue  # everyone's, so that nothing is learned
        low, high = group_ranges(possible.row, group[possible.col], len(found.key_counts))
        one = (low == high)[found.key_of]
        often = np.bincount(group[what.shown], minlength=len(group)) / len(what.shown)
        luck = np.where(one & ~sure, often[np.where(one, low[found.key_of], 0).astype(np.int64)], luck)
        sure |= one
        right |= one & (low[found.key_of] == group[what.true])
    return sure, right, luck
