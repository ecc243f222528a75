"""The Gaussian copula: each column keeps its distribution, and all depend on each other as normal variables do.

Every column, numbers and categories alike, is taken for steps of a latent normal variable. Categories that are not
numbers get the order that maximises association (the first dimension of a homogeneity analysis; Gifi 1990),
what is missing is the lowest step. New rows are normal with the correlations that were found; each variable is then
turned back into the value that is at its place of the column.

A column with few values is a normal variable of which only the step is seen that it fell on. Scores of steps (the mean
of the normal variable within) correlate less than the variables themselves, by a formula that can be inverted: with the
coefficients c and d of two columns' scores in Hermite polynomials, variables with correlation ρ give scores with
correlation Σ c_k d_k ρ^k (Mehler's formula). Scores rise with the variable, so that this rises with ρ (Slepian 1962),
and halving the interval finds ρ.

Why this is not private. Only correlations and the columns themselves are learnt, so that combinations of values are
rarely someone's; but each column leaves nearly as it was, up to the values of its most extreme people, which are
coded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from discreet.core.catalogue import declare, parameter
from discreet.core.families import SYNTHESIZERS
from discreet.core.kind import NUMBERS
from discreet.core.optional import extra
from discreet.core.table import Table
from discreet.noise.masking import Generator, generator
from discreet.verbs.publish.mask.moments import root
from discreet.verbs.publish.mask.values import Array, Cells, numbers
from discreet.verbs.synthesize.non_private.sorted_column import SortedColumn, rare_values_step
from discreet.verbs.synthesize.non_private.synthesizer import LEAST, ColumnSynthesizer, Synthetic

_ROUNDS = 30


@declare(SYNTHESIZERS, "copula", extra="attack")
class Copula(ColumnSynthesizer):
    """Columns drawn at once by a Gaussian copula, depending on those given.

    ``margins``: numbers are spread as in the table, or by the likeliest of a few distributions; those of which one
    value is a tenth of all or more stay spread as they are.
    """

    name: ClassVar[str] = "synthesize copula"
    margins: Literal["empirical", "parametric"] = parameter("Distribution of numbers.", default="empirical")

    def synthesize(self, table: Table, seed: int | None = None) -> Synthetic:
        """All rows at once, from correlated normal variables."""
        lesson = self._lesson(table, LEAST, LEAST)
        parts, count, rng = lesson.parts, lesson.count, generator(seed)
        columns = _in_order([*lesson.learnt.values()])
        drawn = _draw_normals([Latent.of(one.codes) for one in columns], len(parts.given), count, rng)
        made, laws = {}, {}
        for one, normal in zip(columns[len(parts.given) :], drawn.T, strict=True):
            cells = one.at(normal_cdf(normal) * len(one.codes) - 0.5, rng)
            if self.margins == "parametric" and table.card[one.name].kind in NUMBERS and one.many:
                laws[one.name] = fit_distribution(one.coded(numbers(one.cells).values))
                cells = _draw_numbers(laws[one.name], one, cells, normal, rng)
            made[one.name] = cells
        on = f", given {', '.join(parts.given)}" if parts.given else ""
        steps = [f"{', '.join(parts.made)}: drawn by a Gaussian copula{on}, with the correlations of the table."]
        steps += [f"{name}: drawn from a {law.name} distribution fitted to the column." for name, law in laws.items()]
        warnings = (
            "Each column keeps its distribution: its range, except for the extremes, is visible.",
            "Columns depend on each other as normal variables do: higher-order and non-monotone relations are lost.",
        )
        said = {"margins": self.margins, "laws": {name: law.name for name, law in laws.items()}}
        return lesson.synthetic(made, said, (*steps, rare_values_step(LEAST)), warnings)


def _in_order(columns: Sequence[SortedColumn]) -> list[SortedColumn]:
    """The columns, categories in the order that correlates most with the other columns.

    Rows get the mean of their columns' scores, categories that of their rows, in turns: this converges to the first
    dimension. Columns of numbers keep their order.
    """
    counts = [np.maximum(one.counts, 1) for one in columns]
    rank = [np.arange(len(one.counts)) for one in columns]
    for _ in range(_ROUNDS if not all(one.ordered for one in columns) and len(columns) > 1 else 0):
        scores = [Latent.of(ranks[one.codes]).scores for one, ranks in zip(columns, rank, strict=True)]
        total = np.sum(scores, axis=0)
        before = rank
        rank = [
            ranks if one.ordered else _rank_categories(np.bincount(one.codes, total - score, len(many)) / many)
            for one, ranks, score, many in zip(columns, rank, scores, counts, strict=True)
        ]
        if all(np.array_equal(*both) for both in zip(before, rank, strict=True)):
            break
    return [one if one.ordered else one.reordered(ranks) for one, ranks in zip(columns, rank, strict=True)]


def _rank_categories(says: Array) -> Array:
    ranks = np.empty(len(says), np.int64)
    ranks[1:][np.argsort(says[1:], kind="stable")] = np.arange(1, len(says))
    ranks[0] = 0  # what is missing stays the lowest
    return ranks


def _draw_normals(columns: list[Latent], given: int, count: int, rng: Generator) -> Array:
    """Normal variables of the columns after the first ``given``, of which the scores are known.

    Scores of a given column and the variable behind another have the covariance c₁ρ, and scores their own: so the best
    linear guess, and what it leaves open, are known.
    """
    behind = latent_correlations(columns)
    if not given:
        return np.asarray(rng.standard_normal((count, len(columns))) @ root(behind).T)
    known = np.column_stack([one.scores for one in columns[:given]])
    first = np.array([one.coefficients[0] for one in columns[:given]])
    across = behind[:given, given:] * first[:, None]
    guess = np.linalg.pinv(known.T @ known / len(known), hermitian=True) @ across
    left = behind[given:, given:] - across.T @ guess
    noise = rng.standard_normal((count, len(columns) - given)) @ root(left).T
    return np.asarray(known @ guess + noise)


def _draw_numbers(law: Distribution, column: SortedColumn, cells: Cells, normal: Array, rng: Generator) -> Cells:
    """Cells with numbers drawn from a distribution; missing cells stay missing."""
    there = numbers(cells).there
    gaps = column.missing / len(column.codes)
    shares = (normal_cdf(normal[there]) - gaps) / (1 - gaps)
    return column.holding(law.at(np.clip(shares, 1e-9, 1 - 1e-9)), cells, there, rng)


@dataclass(frozen=True)
class Distribution:
    """A distribution with two parameters: mean and deviation (of the logarithm, if log-normal), or minimum and mean."""

    name: str
    first: float
    second: float

    def at(self, shares: Array) -> Array:
        """The values below which these shares lie."""
        if self.name == "exponential":
            return np.asarray(self.first - (self.second - self.first) * np.log1p(-shares))
        normal = self.first + self.second * normal_quantiles(shares)
        return np.asarray(np.exp(normal) if self.name == "log-normal" else normal)


def fit_distribution(values: Array) -> Distribution:
    """The distribution of highest likelihood; for a constant, a normal one without spread."""
    mean, deviation, least = float(values.mean()), float(values.std()), float(values.min())
    if deviation == 0.0:
        return Distribution("normal", mean, 0.0)
    found = {Distribution("normal", mean, deviation): -np.log(deviation) - 0.5 - 0.5 * np.log(2 * np.pi)}
    if least >= 0:
        found[Distribution("exponential", 0.0, mean)] = -np.log(mean) - 1
    if least > 0:
        logs = np.log(values)
        center, width = float(logs.mean()), float(logs.std())
        found[Distribution("log-normal", center, width)] = -np.log(width) - center - 0.5 - 0.5 * np.log(2 * np.pi)
    return max(found, key=lambda law: found[law])


_TERMS = 40
_MOST = 0.9999
"""No two columns are taken for one."""
_STEPS = 2_000
"""With more steps than this, a column is as good as the normal variable itself."""


@dataclass(frozen=True)
class Latent:
    """The scores of a column's rows, with mean 0 and variance 1, and their coefficients from the first on."""

    scores: Array
    coefficients: Array

    @classmethod
    def of(cls, codes: Array) -> Latent:
        """The latent variable of a column whose codes are in their order."""
        counts = np.bincount(codes)
        here = counts > 0
        edges = normal_quantiles(np.cumsum(counts[here]) / len(codes))[:-1]
        height = np.concatenate([[0.0], np.exp(-(edges**2) / 2) / np.sqrt(2 * np.pi), [0.0]])
        shares = counts[here] / len(codes)
        score = -np.diff(height) / shares
        spread = float(np.sqrt(shares @ score**2))
        full = np.zeros(len(counts))
        if spread == 0.0:
            return cls(full[codes], np.zeros(_TERMS))
        full[here] = score / spread
        coefficients = np.zeros(_TERMS)
        coefficients[0] = spread
        if here.sum() <= _STEPS:
            coefficients = _hermite(edges, height, score / spread)
        return cls(full[codes], coefficients)


def normal_quantiles(shares: Array) -> Array:
    """The normal variable below which these shares lie."""
    with extra("attack"):
        from scipy.special import ndtri
    found: Array = ndtri(shares)
    return found


def normal_cdf(values: Array) -> Array:
    """The share of a normal variable below these values."""
    with extra("attack"):
        from scipy.special import ndtr

    found: Array = ndtr(values)
    return found


def latent_correlations(columns: list[Latent]) -> Array:
    """The correlations of what is behind the columns, as a matrix that some normal variables have."""
    scores = np.column_stack([one.scores for one in columns])
    seen = scores.T @ scores / len(scores)
    behind = _invert_correlations(seen, np.array([one.coefficients for one in columns]))
    return nearest_correlation(behind)


def nearest_correlation(matrix: Array) -> Array:
    """The matrix without negative eigenvalues, and ones on its diagonal."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    positive = (vectors * np.maximum(values, 1e-8)) @ vectors.T
    scale = np.sqrt(np.diag(positive))
    made: Array = positive / np.outer(scale, scale)
    return made


def _hermite(edges: Array, height: Array, score: Array) -> Array:
    """∫ h_k φ over a step is the difference of h_(k−1) φ at its ends by √k, for polynomials h of norm 1."""
    coefficients = np.empty(_TERMS)
    before, now = np.zeros(len(edges)), np.ones(len(edges))
    for k in range(1, _TERMS + 1):
        ends = np.concatenate([[0.0], now * height[1:-1], [0.0]])
        coefficients[k - 1] = score @ -np.diff(ends) / np.sqrt(k)
        before, now = now, (edges * now - np.sqrt(k - 1) * before) / np.sqrt(k)
    return coefficients


def _invert_correlations(seen: Array, coefficients: Array) -> Array:
    """For each pair of columns the correlation that is behind what is seen."""
    products = np.einsum("ik,jk->kij", coefficients, coefficients)
    low, high = np.full(seen.shape, -_MOST), np.full(seen.shape, _MOST)
    for _ in range(40):
        middle = (low + high) / 2
        value = np.zeros(seen.shape)
        for product in products[::-1]:
            value = (value + product) * middle
        low, high = np.where(value < seen, middle, low), np.where(value < seen, high, middle)
    found = np.where(products.any(axis=0), (low + high) / 2, 0.0)  # a constant hangs together with nothing
    np.fill_diagonal(found, 1.0)
    return found
