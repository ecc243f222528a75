"""The Gaussian copula: each column keeps how it is spread, and all hang together as normal variables do.

Every column, numbers and categories alike, is taken for steps of a normal variable (``latent.py``). Categories that are
not numbers get the order that makes columns hang together most (the first dimension of a homogeneity analysis; Gifi
1990), what is missing is the lowest step. New rows are normal with the correlations that were found; each variable is
then turned back into the value that is at its place of the column.

Why this is not private. Only correlations and the columns themselves are learnt, so that combinations of values are
rarely somebody's; but each column leaves nearly as it was, up to the values of its most extreme people, which are
coded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from discreet.core.catalogue import declare, parameter
from discreet.core.families import SYNTHESIZERS
from discreet.core.kind import NUMBERS
from discreet.core.table import Table
from discreet.noise.masking import Generator, generator
from discreet.verbs.publish.mask.moments import root
from discreet.verbs.publish.mask.values import Array, Cells, numbers
from discreet.verbs.synthesize.non_private.latent import Latent, below, correlations, quantiles
from discreet.verbs.synthesize.non_private.sorted_column import Learnt, said_of_few
from discreet.verbs.synthesize.non_private.synthesizer import LEAST, Anew, Parts, Synthetic, assembled

_ROUNDS = 30


@declare(SYNTHESIZERS, "copula", extra="attack")
class Copula(Anew):
    """Columns drawn at once by a Gaussian copula, depending on those given.

    ``margins``: numbers are spread as in the table, or by the likeliest of a few laws; those of which one value is a
    tenth of all or more stay spread as they are.
    """

    name: ClassVar[str] = "synthesize copula"
    margins: Literal["empirical", "parametric"] = parameter("How numbers are spread.", default="empirical")

    def synthesize(self, table: Table, seed: int | None = None) -> Synthetic:
        """All rows at once."""
        lesson = self._lesson(table, LEAST, LEAST)
        parts, count, rng = lesson.parts, lesson.count, generator(seed)
        columns = _in_order([*lesson.learnt.values()])
        drawn = _drawn([Latent.of(one.codes) for one in columns], len(parts.given), count, rng)
        made, laws = {}, {}
        for one, normal in zip(columns[len(parts.given) :], drawn.T, strict=True):
            cells = one.at(below(normal) * len(one.codes) - 0.5, rng)
            if self.margins == "parametric" and table.card[one.name].kind in NUMBERS and _many(one):
                laws[one.name] = likeliest(one.coded(numbers(one.cells).values))
                cells = _by_law(laws[one.name], one, cells, normal, rng)
            made[one.name] = cells
        return Synthetic(
            assembled(lesson.rows, made),
            self._parameters(parts, count, laws),
            self._steps(parts, laws),
            self._warnings(parts),
        )

    def _parameters(self, parts: Parts, count: int, laws: Mapping[str, Law]) -> dict[str, object]:
        return {
            "columns": list(parts.made),
            "given": list(parts.given),
            "kept": list(parts.kept),
            "margins": self.margins,
            "laws": {name: law.name for name, law in laws.items()},
            "made": count,
        }

    def _steps(self, parts: Parts, laws: Mapping[str, Law]) -> tuple[str, ...]:
        on = f", given {', '.join(parts.given)}" if parts.given else ""
        spread = [f"{name}: spread as a {law.name} law is, fitted to the column." for name, law in laws.items()]
        return (
            f"{', '.join(parts.made)}: drawn by a Gaussian copula{on}, with the correlations of the table.",
            *spread,
            said_of_few(LEAST),
        )

    def _warnings(self, parts: Parts) -> tuple[str, ...]:
        return (
            *parts.warnings(),
            "Each column leaves as it was spread: where its values lie, but for the most extreme, can be seen.",
            "Columns hang together as normal variables do: what goes beyond pairs, and up and down again, is lost.",
        )


def _in_order(columns: Sequence[Learnt]) -> list[Learnt]:
    """The columns, categories in the order in which they hang together most with the rest.

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
            ranks if one.ordered else _ranked(np.bincount(one.codes, total - score, len(many)) / many)
            for one, ranks, score, many in zip(columns, rank, scores, counts, strict=True)
        ]
        if all(np.array_equal(*both) for both in zip(before, rank, strict=True)):
            break
    return [one if one.ordered else one.reordered(ranks) for one, ranks in zip(columns, rank, strict=True)]


def _ranked(says: Array) -> Array:
    ranks = np.empty(len(says), np.int64)
    ranks[1:][np.argsort(says[1:], kind="stable")] = np.arange(1, len(says))
    ranks[0] = 0  # what is missing stays the lowest
    return ranks


def _drawn(columns: list[Latent], given: int, count: int, rng: Generator) -> Array:
    """Normal variables of the columns after the first ``given``, of which the scores are known.

    Scores of a given column and the variable behind another have the covariance c₁ρ, and scores their own: so the best
    linear guess, and what it leaves open, are known.
    """
    behind = correlations(columns)
    if not given:
        return np.asarray(rng.standard_normal((count, len(columns))) @ root(behind).T)
    known = np.column_stack([one.scores for one in columns[:given]])
    first = np.array([one.coefficients[0] for one in columns[:given]])
    across = behind[:given, given:] * first[:, None]
    guess = np.linalg.pinv(known.T @ known / len(known), hermitian=True) @ across
    left = behind[given:, given:] - across.T @ guess
    noise = rng.standard_normal((count, len(columns) - given)) @ root(left).T
    return np.asarray(known @ guess + noise)


def _many(column: Learnt) -> bool:
    """Whether the values are so many that a law may stand for them."""
    there = len(column.codes) - column.missing
    return column.between and bool(column.counts[1:].max() * 10 < there)


def _by_law(law: Law, column: Learnt, cells: Cells, normal: Array, rng: Generator) -> Cells:
    """Numbers of a law instead of the cells that hold one; what is missing stays so."""
    there = numbers(cells).there
    gaps = column.missing / len(column.codes)
    shares = (below(normal[there]) - gaps) / (1 - gaps)
    return column.holding(law.at(np.clip(shares, 1e-9, 1 - 1e-9)), cells, there, rng)


@dataclass(frozen=True)
class Law:
    """A law and its two parameters: mean and deviation (of the logarithm, for the log-normal), or least and mean."""

    name: str
    first: float
    second: float

    def at(self, shares: Array) -> Array:
        """The values below which these shares lie."""
        if self.name == "exponential":
            return np.asarray(self.first - (self.second - self.first) * np.log1p(-shares))
        normal = self.first + self.second * quantiles(shares)
        return np.asarray(np.exp(normal) if self.name == "log-normal" else normal)


def likeliest(values: Array) -> Law:
    """The law under which these values are likeliest; of a constant a normal law without spread."""
    mean, deviation, least = float(values.mean()), float(values.std()), float(values.min())
    if deviation == 0.0:
        return Law("normal", mean, 0.0)
    found = {Law("normal", mean, deviation): -np.log(deviation) - 0.5 - 0.5 * np.log(2 * np.pi)}
    if least >= 0:
        found[Law("exponential", 0.0, mean)] = -np.log(mean) - 1
    if least > 0:
        logs = np.log(values)
        center, width = float(logs.mean()), float(logs.std())
        found[Law("log-normal", center, width)] = -np.log(width) - center - 0.5 - 0.5 * np.log(2 * np.pi)
    return max(found, key=lambda law: found[law])
