"""Synthesis by sequential CART trees (Reiter 2005, "Using CART to generate partially synthetic public use microdata").

Columns are made one after the other. A tree parts the people by the columns before, so that those in a leaf are alike
in this one; a new row falls into a leaf by what it has so far, and takes the value of someone there, by lot. Nothing
is assumed about how columns depend on each other. All rows of a person count for one in a tree, so that as many people
are in a leaf as there should be.

Numbers are parted by their ranks, so that a few large ones do not take all splits. Categories are put in an order by
what they say of the column to be made, which is the best there is for a tree that looks at one figure (Breiman,
Friedman, Olshen and Stone 1984), and along the first principal direction where there are several classes.
What is missing is a value of its own. A number that few share is drawn from between its neighbours in the leaf.

Why this is not private. Every value that is given out is someone's, or near it; a leaf has few people in it. What
keeps it from being a copy is only that columns are drawn from different people.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from discreet.core.catalogue import declare, parameter
from discreet.core.families import SYNTHESIZERS
from discreet.core.optional import extra
from discreet.core.table import Table
from discreet.noise.masking import Generator, generator
from discreet.verbs.publish.mask.values import Array
from discreet.verbs.synthesize.non_private.sorted_column import SortedColumn, rare_values_step
from discreet.verbs.synthesize.non_private.synthesizer import LEAST, ColumnSynthesizer, Synthetic

_SLACK = 1e-6
"""Tolerance for rounding in a sum of weights."""
_CLASSES = 32
"""Largest number of categories a tree distinguishes; all rarer ones are pooled, and still drawn."""


@declare(SYNTHESIZERS, "cart", rank=0, paper="Reiter 2005", extra="attack")
class Cart(ColumnSynthesizer):
    """Columns drawn one after the other from trees, depending on those given and those drawn before.

    ``smooth``: what fewer people share than are in a leaf is not given out; numbers are drawn from around it, and in
    place of a text that the card does not list stands another.
    """

    name: ClassVar[str] = "synthesize cart"
    leaf: int = parameter("Minimum number of people in a leaf.", default=LEAST, least=2)
    proper: bool = parameter("Whether each tree is grown on a bootstrap sample.", default=False)
    smooth: bool = parameter("Whether rare values are smoothed.", default=True)

    def synthesize(self, table: Table, seed: int | None = None) -> Synthetic:
        """Synthesize all rows, one column after the other, in the card's order."""
        lesson = self._lesson(table, self.leaf, self.leaf if self.smooth else 0)
        parts, learnt, count = lesson.parts, lesson.learnt, lesson.count
        rng = generator(seed)
        donors = {name: np.arange(count) for name in parts.given}
        made = {}
        for name in parts.made:
            before = [(learnt[other], learnt[other].codes[drawn]) for other, drawn in donors.items()]
            donors[name], below, above = self._draw_donors(learnt[name], before, count, rng)
            made[name] = learnt[name].at(learnt[name].around(donors[name], below, above, rng), rng)
        on = f" given {', '.join(parts.given)} and earlier columns" if parts.given else " given earlier columns"
        steps = [f"{', '.join(parts.made)}: drawn one after another from the leaves of trees{on}."]
        steps.append(f"A leaf has at least {self.leaf} people; a value is that of one of them.")
        steps += [rare_values_step(self.leaf)] if self.smooth else []
        steps += ["Each tree was grown on a bootstrap sample."] if self.proper else []
        warnings = [] if self.smooth else ["Values are copied from people, including values that only one person has."]
        warnings += [
            "Combinations that only one person has may be reproduced.",
            "A leaf in which all have the same value reveals it for everyone in it.",
        ]
        said = {"leaf": self.leaf, "proper": self.proper, "smooth": self.smooth}
        return lesson.synthetic(made, said, steps, warnings)

    def _draw_donors(
        self, target: SortedColumn, before: Sequence[tuple[SortedColumn, Array]], count: int, rng: Generator
    ) -> tuple[Array, Array, Array]:
        """Donor row of each new row, and the donors next below and above it in its leaf."""
        rows = len(target.codes)
        sample = rng.integers(0, rows, rows) if self.proper else np.arange(rows)
        weights = _weights(target.people[sample])
        if weights.sum() < self.leaf - _SLACK:  # a bootstrap sample of too few people
            sample, weights = np.arange(rows), _weights(target.people)
        share = (self.leaf - _SLACK) / weights.sum()
        if not before or not np.ptp(target.codes[sample]) or share > 0.5:
            drawn = sample[rng.integers(0, rows, count)]
            return drawn, drawn, drawn
        wanted = _figures(target.codes[sample], target)
        ranks = [_ranks(one, one.codes[sample], wanted) for one, _ in before]
        known = [rank[one.codes[sample]] for (one, _), rank in zip(before, ranks, strict=True)]
        asked = [rank[new] for (_, new), rank in zip(before, ranks, strict=True)]
        tree = _grow_tree(_matrix(known), wanted, weights, share, rng)
        leaves = tree.apply(_matrix(known)), tree.apply(_matrix(asked))
        drawn, below, above = (sample[one] for one in _from_leaves(*leaves, target.place[sample], rng))
        return drawn, below, above


def _figures(codes: Array, target: SortedColumn) -> Array:
    """Training target of a tree: a category, or the rank among all values, and whether it is missing."""
    if not target.ordered:
        counts = np.bincount(codes)
        common = np.argsort(-counts, kind="stable")[:_CLASSES]
        kept = np.full(len(counts), len(common))
        kept[common] = np.arange(len(common))
        return kept[codes]
    there = codes > 0
    counts = np.bincount(codes[there], minlength=1)
    middle = (np.cumsum(counts) - counts / 2) / max(int(there.sum()), 1)
    figures = np.where(there, middle[np.minimum(codes, len(middle) - 1)], 0.5)
    return figures if there.all() else np.column_stack([figures, ~there])


def _ranks(known: SortedColumn, codes: Array, wanted: Array) -> Array:
    """Order in which a tree sees the codes of a column: rank by code."""
    if known.ordered:
        return np.arange(len(known.counts))
    counts = np.maximum(np.bincount(codes, minlength=len(known.counts)), 1)
    if wanted.dtype.kind == "f":
        first = wanted if wanted.ndim == 1 else wanted[:, 0]
        says = np.bincount(codes, first, len(known.counts)) / counts
    else:
        classes = int(wanted.max()) + 1
        shares = np.bincount(codes * classes + wanted, minlength=len(known.counts) * classes)
        says = _direction(shares.reshape(-1, classes) / counts[:, None], counts)
    ranks = np.empty(len(says), np.int64)
    ranks[np.argsort(says, kind="stable")] = np.arange(len(says))
    return ranks


def _direction(shares: Array, counts: Array) -> Array:
    """Score of each category along the first principal direction of the class shares."""
    weights = counts / counts.sum()
    around = shares - weights @ shares
    spread = (around * weights[:, None]).T @ around
    return np.asarray(around @ np.linalg.eigh(spread)[1][:, -1])


def _matrix(columns: Sequence[Array]) -> Array:
    """Training matrix of a tree: exact as float32, for codes are below 2^24."""
    return np.column_stack(columns).astype(np.float32)


def _weights(people: Array) -> Array:
    """Weights of rows, 1 in total for each person: a weight of five means at least five people."""
    return 1 / np.bincount(people)[people]


def _grow_tree(known: Array, wanted: Array, weights: Array, share: float, rng: Generator):  # type: ignore[no-untyped-def]
    """A scikit-learn tree with at least ``share`` of the weights in each leaf."""
    with extra("attack"):
        from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
    kind = DecisionTreeRegressor if wanted.dtype.kind == "f" else DecisionTreeClassifier
    tree = kind(min_weight_fraction_leaf=share, random_state=int(rng.integers(2**31)))
    return tree.fit(known, wanted, sample_weight=weights)


def _from_leaves(people: Array, asked: Array, place: Array, rng: Generator) -> tuple[Array, Array, Array]:
    """For each leaf of ``asked``, a random row in it, and its neighbours by ``place`` (at an end, itself)."""
    order = np.lexsort((place, people))
    there = people[order]
    first, after = np.searchsorted(there, asked), np.searchsorted(there, asked, "right")
    drawn = first + (rng.random(len(asked)) * (after - first)).astype(np.int64)
    return order[drawn], order[np.maximum(drawn - 1, first)], order[np.minimum(drawn + 1, after - 1)]
