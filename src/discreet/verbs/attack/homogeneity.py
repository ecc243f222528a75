"""Learning what people want to keep to themselves, without finding their rows.

A crowd of k rows hides a person; it does not hide what all k have in common. Machanavajjhala, Kifer, Gehrke and
Venkitasubramaniam (2007) name homogeneity and background knowledge; Li, Li and Venkatasubramanian (2007) skewness and
similarity.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from discreet.core.card import Column, Role
from discreet.core.catalogue import declare, parameter
from discreet.core.families import ATTACKS
from discreet.core.optional import extra
from discreet.core.release import Release
from discreet.core.table import Table
from discreet.errors import DataError
from discreet.verbs.attack.candidates import Cover
from discreet.verbs.attack.finding import Finding, worst
from discreet.verbs.attack.labels import at_level, untouched
from discreet.verbs.attack.matching import Matching, certain, likely

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Disclosure(Matching):
    """An attack on what is in the rows that may be a person's: of several sensitive columns the worst counts."""

    on: str = parameter("Column to learn; by default each sensitive one.", default="", clause="on", column="any")

    def judge(self, found: Cover, rows: pa.Table, known: Table, release: Release[Any]) -> Finding:
        names = [self.on] if self.on else [column.name for column in known.card.having(Role.SENSITIVE)]
        if not names:
            raise DataError("The card calls no column sensitive, so there is nothing to learn.")
        there = [name for name in names if name in rows.column_names and untouched(release.recipe, name)]
        if not there:
            raise DataError(f"The release does not show what there is to learn as it was: {', '.join(names)}.")
        mine = known.fetch()
        each, problems = [], []
        for name in there:
            try:
                each.append(self.learn(found, Learned.of(known.card[name], mine[name], rows[name], found)))
            except DataError as problem:
                problems.append(problem)
        if not each:
            raise problems[0]
        return worst(each)

    @abstractmethod
    def learn(self, found: Cover, what: Learned) -> Finding:
        """What is learned of one column."""


@dataclass(frozen=True)
class Learned:
    """A sensitive column: the true values of the people attacked, and those in the rows, as shared codes."""

    column: Column
    values: Any
    """The value of each code."""
    true: Array
    shown: Array
    beliefs: Any
    """How likely each code is for each combination: sparse, rows sum to 1, or to 0 where no row may be theirs."""
    overall: Array
    """How frequent each code is in the release."""

    @classmethod
    def of(cls, column: Column, mine: Any, theirs: Any, found: Cover) -> Learned:
        a, b = mine.combine_chunks(), theirs.combine_chunks()
        if a.type != b.type:
            raise DataError(f"The release shows {column.name!r} as another kind of value.")
        encoded = pa.concat_arrays([a, b]).dictionary_encode(null_encoding="encode")
        codes = np.asarray(encoded.indices.to_numpy(zero_copy_only=False), dtype=np.int64)
        shown, kinds = codes[len(a) :], len(encoded.dictionary)
        counts = found.spread(shown)
        counts.resize((counts.shape[0], kinds))
        total = np.asarray(counts.sum(axis=1)).ravel()
        with extra("attack"):
            from scipy.sparse import diags_array

        beliefs = (diags_array(1 / np.maximum(total, 1e-300)) @ counts).tocsr()
        overall = np.bincount(shown, minlength=kinds) / len(shown)
        return cls(column, encoded.dictionary, codes[: len(a)][found.people], shown, beliefs, overall)

    def top(self) -> tuple[Array, Array]:
        """Of each combination the likeliest code (-1: none), and how many codes are possible."""
        possible = np.diff(self.beliefs.indptr)
        best = np.asarray(self.beliefs.argmax(axis=1)).ravel()
        return np.where(possible > 0, best, -1), possible


@declare(ATTACKS, "homogeneity", rank=4)
class Homogeneity(Disclosure):
    """All rows that may be a person's have the same sensitive value: then it is theirs."""

    name: ClassVar[str]

    @property
    def skill(self) -> str:
        return " and looks whether all rows that may be a person's say the same"

    def learn(self, found: Cover, what: Learned) -> Finding:
        best, possible = what.top()
        sure = (possible == 1)[found.of]
        guess = best[found.of]
        meaning = (
            f"The share of people whose {what.column.name} the attacker knows for sure, without knowing which row is "
            "theirs; 0 is best. Guessing is to say the same of these people unseen: what nearly everybody has is known "
            "anyway."
        )
        luck = what.overall[guess]
        details = {"column": what.column.name, **_frequency(luck[sure])}
        return certain(self.name, sure, guess == what.true, luck, meaning=meaning, found=found, details=details)


@declare(ATTACKS, "background knowledge", rank=5)
class BackgroundKnowledge(Disclosure):
    """Of the sensitive values that are possible the attacker can rule out ``excludes``, the worst that are wrong."""

    excludes: int = 1

    name: ClassVar[str]

    @property
    def skill(self) -> str:
        values = "value" if self.excludes == 1 else "values"
        return f", and of each person {self.excludes} sensitive {values} that they do not have"

    def learn(self, found: Cover, what: Learned) -> Finding:
        _, possible = what.top()
        belief = _belief(what, found)
        sure = ((possible >= 1) & (possible <= 1 + self.excludes))[found.of]
        everything = np.count_nonzero(what.overall) <= 1 + self.excludes
        meaning = (
            f"The share of people whose {what.column.name} is known for sure by an attacker who can rule out "
            f"{self.excludes} other; 0 is best. It shows how many are one piece of gossip away from disclosure."
        )
        luck = np.ones(len(sure)) if everything else what.overall[what.true]
        details = {"column": what.column.name, "excludes": self.excludes, **_frequency(luck[sure])}
        return certain(self.name, sure, belief > 0, luck, meaning=meaning, found=found, details=details)


@declare(ATTACKS, "skewness", rank=6)
class Skewness(Disclosure):
    """The rows that may be a person's have other frequencies than all rows: beliefs about the person shift."""

    name: ClassVar[str]

    @property
    def skill(self) -> str:
        return " and believes what is frequent among the rows that may be a person's"

    def learn(self, found: Cover, what: Learned) -> Finding:
        prior = what.overall[what.true]
        covered = found.candidates > 0
        belief = np.where(covered, _belief(what, found), prior)
        rare = what.beliefs.tocoo()
        factor = rare.data / np.maximum(what.overall[rare.col], 1e-300)
        worst = int(np.argmax(factor)) if len(factor) else -1
        details: dict[str, Any] = {"column": what.column.name}
        if worst >= 0:
            details["belief that grew most"] = {
                "value": str(what.values[int(rare.col[worst])].as_py()),
                "from": float(what.overall[rare.col[worst]]),
                "to": float(rare.data[worst]),
            }
        meaning = (
            f"How strongly, on average, the attacker believes in the {what.column.name} a person really has; guessing "
            "is to believe in what is frequent among all. 1 means certainty about everybody."
        )
        return likely(self.name, belief, float(prior.mean()), meaning=meaning, found=found, details=details)


@declare(ATTACKS, "similarity", rank=7)
class Similarity(Disclosure):
    """The sensitive values of all rows that may be a person's are alike, if not the same: numbers within ``width`` of
    their whole range, or categories with a common label below the top of their hierarchy."""

    width: float = 0.1

    name: ClassVar[str]

    @property
    def skill(self) -> str:
        return " and looks whether what all rows that may be a person's say is much the same"

    def learn(self, found: Cover, what: Learned) -> Finding:
        sure, right, luck = self._numbers(found, what) or _categories(found, what)
        meaning = (
            f"The share of people of whom the attacker knows almost what their {what.column.name} is: within "
            f"{self.width:.0%} of its range, or the kind of it; 0 is best."
        )
        details = {"column": what.column.name, "width": self.width, **_frequency(luck[sure])}
        return certain(self.name, sure, right, luck, meaning=meaning, found=found, details=details)

    def _numbers(self, found: Cover, what: Learned) -> tuple[Array, Array, Array] | None:
        kind = what.values.type
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
            return None
        values = np.asarray(what.values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), dtype=float)
        shown, true = values[what.shown], values[what.true]
        gap = np.isnan(shown)
        there = shown[~gap]
        whole = float(np.ptp(there)) if len(there) else 0.0
        low, high = found.ends(np.where(gap, there.min(initial=0) - 2 * whole, shown))  # a gap is far from everything
        narrow = (high - low <= self.width * whole) & (low >= there.min(initial=0)) & (whole > 0) & np.isfinite(low)
        there.sort()
        often = (np.searchsorted(there, high, "right") - np.searchsorted(there, low, "left")) / len(shown)
        return narrow[found.of], (low[found.of] <= true) & (true <= high[found.of]), often[found.of]


def _belief(what: Learned, found: Cover) -> Array:
    """How strongly the attacker believes in each person's true value."""
    return np.asarray(what.beliefs[found.of, what.true]).ravel()


def _frequency(luck: Array) -> dict[str, float]:
    return {"how frequent what is known is among all": float(luck.mean()) if len(luck) else 0.0}


def _categories(found: Cover, what: Learned) -> tuple[Array, Array, Array]:
    """Who is known by the label that all possible values share at some level below the top of their hierarchy; whether
    it is right; and how frequent the lowest such label is among all rows."""
    hierarchy = what.column.hierarchy
    if hierarchy is None:
        raise DataError(
            f"Which values of {what.column.name} are alike is not declared: it is no number and has no hierarchy.",
            hint="Give it a hierarchy in the card.",
        )
    sure, right, luck = np.zeros(len(found.of), bool), np.zeros(len(found.of), bool), np.zeros(len(found.of))
    possible = what.beliefs.tocoo()
    for level in range(1, hierarchy.height):
        texts: Any = at_level(what.column, what.values, level).dictionary_encode(null_encoding="encode")
        group = np.asarray(texts.indices.to_numpy(zero_copy_only=False), dtype=np.int64)
        if len(np.unique(group[what.shown])) == 1:
            continue  # everybody's, so that nothing is learned
        low, high = np.full(len(found.counts), np.inf), np.full(len(found.counts), -np.inf)
        np.minimum.at(low, possible.row, group[possible.col])
        np.maximum.at(high, possible.row, group[possible.col])
        one = (low == high)[found.of]
        often = np.bincount(group[what.shown], minlength=len(group)) / len(what.shown)
        luck = np.where(one & ~sure, often[np.where(one, low[found.of], 0).astype(np.int64)], luck)
        sure |= one
        right |= one & (low[found.of] == group[what.true])
    return sure, right, luck
