"""Spending an allowance on a private table: noisy marginals, choices between marginals, and measured distances.

This is the only place of ``synthesize`` that sees true counts (``Counts``, counted on the engine), and only the
``Meter`` looks at them. Everything else works on what comes out of it.

Why this is private. A unit has at most r rows, and a row is in one cell of a marginal (or in none), so adding or
removing a unit changes the counts of a marginal by at most r in all, and by at most r in Euclidean distance.

* **Measuring** adds exact discrete noise to each count: Pure(r / scale) by Laplace, Concentrated(r² / 2σ²) by Gaussian
  noise (``noise/laplace.py``, ``noise/gaussian.py``).
* **Choosing** is the exponential mechanism on scores w (‖true − expected‖₁ − penalty). What is expected, the weights
  and the penalties are public: they follow from declarations and from earlier answers. A unit moves ‖true − expected‖₁
  by at most r (triangle inequality), so each score by at most Δ = r · max w, and with weights e^(score ε / 2Δ) this is
  Pure(ε) (McSherry, Talwar 2007). The logarithm of the ratio of chances lies in a range of length ε, so it is
  Concentrated(ε² / 8) (Cesar, Rogers 2021). Expected counts and penalties are put on a grid first: scores and
  sensitivity are exact rationals.
* **Comparing** measures one number, ‖true − expected‖₁ on the grid, which a unit moves by at most r.

Each answer loses its share of the allowance at the most. Which answers are asked for may depend on earlier ones; the
shares add up, and whatever would make them more than the whole is refused before anything is counted (for pure losses
Rogers, Roth, Ullman, Vadhan 2016, for concentrated ones Whitehouse, Ramdas, Rogers, Wu 2023: a filter on losses that
are fixed when an answer is asked for is free). So all answers together lose the allowance at most.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from discreet.core import sql
from discreet.core.exact import round_up, sqrt_lower
from discreet.core.loss import Concentrated, Pure
from discreet.core.table import Table
from discreet.engines.contribution import OwnedRows, owned_rows
from discreet.engines.limits import fetch
from discreet.engines.measures import COUNT, cell_counts
from discreet.errors import BadInput, NoPromise
from discreet.noise.deviation import Noise
from discreet.noise.entropy import Entropy
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.laplace import DiscreteLaplace
from discreet.noise.selection import Exponential
from discreet.verbs.synthesize.attributes import Attribute, Listed, Merged
from discreet.verbs.synthesize.domain import Domain
from discreet.verbs.synthesize.graph.measurement import Measurement

GRID = 64
"""Steps of the grid in a count of one: expected counts are rounded to it."""
Allowance: TypeAlias = Pure | Concentrated
Array: TypeAlias = NDArray[np.float64]
_LARGEST = 2.0**48


class Step(Protocol):
    """Something that was asked of the data, to be gone through again by an audit. It holds no true count."""

    def lost(self, ours: Counts, theirs: Counts) -> Allowance:
        """Privacy loss of this step on two neighbouring tables: exact, or a bound that is not above the claim."""


@dataclass(frozen=True)
class Measured:
    """A marginal that was measured."""

    domain: Domain
    columns: tuple[int, ...]
    noise: Noise

    def lost(self, ours: Counts, theirs: Counts) -> Allowance:
        """Noise of that scale on counts that differ as these do."""
        return _lost(self.noise, ours.on(self.domain).over(self.columns) - theirs.on(self.domain).over(self.columns))


@dataclass(frozen=True)
class Compared:
    """A marginal whose distance from what was expected was measured."""

    domain: Domain
    columns: tuple[int, ...]
    expected: NDArray[np.int64]
    noise: Noise

    def lost(self, ours: Counts, theirs: Counts) -> Allowance:
        """Noise of that scale on distances that differ as these do."""
        mine, other = (distance(one.on(self.domain).over(self.columns), self.expected) for one in (ours, theirs))
        return _lost(self.noise, np.array([mine - other]))


@dataclass(frozen=True)
class Chosen:
    """A choice between marginals."""

    domain: Domain
    candidates: tuple[tuple[int, ...], ...]
    expected: tuple[NDArray[np.int64], ...]
    weights: tuple[Fraction, ...]
    penalties: tuple[int, ...]
    scale: Fraction
    concentrated: bool

    def scores(self, counts: Counts) -> list[Fraction]:
        """Score of each candidate on a table."""
        return [
            weight * (distance(counts.on(self.domain).over(columns), expected) - penalty)
            for columns, expected, weight, penalty in zip(
                self.candidates, self.expected, self.weights, self.penalties, strict=True
            )
        ]

    def lost(self, ours: Counts, theirs: Counts) -> Allowance:
        """The length of the range in which the logarithms of the ratios of chances lie, which is what counts."""
        moved = [one - other for one, other in zip(self.scores(ours), self.scores(theirs), strict=True)]
        length = (max(moved) - min(moved)) / self.scale
        return Concentrated(length**2 / 8) if self.concentrated else Pure(length)


@dataclass(frozen=True)
class Distance:
    """Noisy L1 distance between expected and true counts."""

    value: float
    noise: Noise

    def at_most(self, beta: Fraction) -> float:
        """Upper bound on the distance, with probability 1 - beta."""
        return max(self.value + self.noise.error(2 * beta) / GRID, 0.0)


class Meter:
    """Answers about a private table, each for a share of an allowance, until nothing is left.

    Why this is private: the argument is at the head of this module.
    """

    def __init__(
        self, counts: Counts, allowance: Allowance, most: int, entropy: Entropy, trail: list[Step] | None = None
    ) -> None:
        """``most`` is how many rows a unit may have. All that is asked is added to ``trail``, for audits."""
        self._counts = counts
        self._allowance = allowance
        self._most = most
        self._entropy = entropy
        self._trail = trail
        self._left = Fraction(1)

    @property
    def domain(self) -> Domain:
        """The columns that can be asked about."""
        return self._counts.domain

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of codes of each column."""
        return self.domain.sizes

    @property
    def left(self) -> Fraction:
        """The share of the allowance that is not spent."""
        return self._left

    @property
    def most(self) -> int:
        """Number of rows that a unit may have."""
        return self._most

    def part(self, share: Fraction, counts: Counts | None = None, most: int | None = None) -> Meter:
        """A meter of its own for a share of the allowance, which is spent here at once.

        It may be of other counts of the same people, of whom each has ``most`` rows in them.
        """
        self._spend(share)
        most = most or self._most
        return Meter(counts or self._counts, _of(self._allowance, share), most, self._entropy, self._trail)

    def measure(self, columns: tuple[int, ...], share: Fraction) -> Measurement:
        """The counts over some columns with noise that loses a share of the allowance."""
        noise = least_noise(self._allowance, share, self._most)
        self._spend(share, Measured(self.domain, columns, noise))
        noisy = noise.add_all(self._counts.over(columns), self._entropy)
        return Measurement(columns, noisy.astype(np.float64), self.deviation(share))

    def choose(
        self,
        candidates: Sequence[tuple[int, ...]],
        expected: Sequence[Array],
        weights: Sequence[int | Fraction],
        penalties: Sequence[float],
        share: Fraction,
    ) -> int:
        """Which of the candidates to measure: one of those most wrong, by weight · (distance − penalty), nearly."""
        if not candidates or min(weights) < 0 or max(weights) <= 0:
            raise BadInput("There is nothing to choose: at least one candidate needs a weight above zero.")
        step = Chosen(
            self.domain,
            tuple(candidates),
            tuple(on_grid(one) for one in expected),
            tuple(map(Fraction, weights)),
            tuple(int(on_grid(np.array(one))) for one in penalties),
            2 * self._most * GRID * Fraction(max(weights)) / self._epsilon(share),
            isinstance(self._allowance, Concentrated),
        )
        self._spend(share, step)
        return Exponential(step.scale).choose(step.scores(self._counts), self._entropy)

    def compare(self, columns: tuple[int, ...], expected: Array, share: Fraction) -> Distance:
        """Noisy distance between expected and true counts over some columns."""
        noise, whole = least_noise(self._allowance, share, self._most * GRID), on_grid(expected)
        self._spend(share, Compared(self.domain, columns, whole, noise))
        true = np.array([distance(self._counts.over(columns), whole)])
        return Distance(int(noise.add_all(true, self._entropy)[0]) / GRID, noise)

    def deviation(self, share: Fraction) -> float:
        """The standard deviation of the noise that a count gets for a share."""
        noise = least_noise(self._allowance, share, self._most)
        return max(math.sqrt(noise.variance), 1 / GRID)  # next to no noise is no reason to trust a count without end

    def sharper(self, share: Fraction) -> Fraction:
        """The share for which the noise is half as wide."""
        return share * (2 if isinstance(self._allowance, Pure) else 4)

    def _epsilon(self, share: Fraction) -> Fraction:
        """The ε that a choice may have: ε² / 8 is what it loses of a concentrated allowance. Rounded down."""
        loss = _of(self._allowance, share)
        return loss.epsilon if isinstance(loss, Pure) else sqrt_lower(8 * loss.rho)

    def _spend(self, share: Fraction, step: Step | None = None) -> None:
        if not isinstance(share, Fraction | int) or not 0 < share <= self._left:
            raise NoPromise(
                f"A share of {share} cannot be spent where {self._left} of the allowance is left.",
                hint="Shares are exact, above zero, and add up to one.",
            )
        self._left -= share
        if step is not None and self._trail is not None:
            self._trail.append(step)


def least_noise(allowance: Allowance, share: Fraction, sensitivity: int) -> Noise:
    """The least noise that loses a share of an allowance, rounded up a little where it takes too many digits."""
    loss = _of(allowance, share)
    if isinstance(loss, Pure):
        return DiscreteLaplace(round_up(DiscreteLaplace.for_loss(loss, sensitivity).scale))
    return DiscreteGaussian(round_up(DiscreteGaussian.for_loss(loss, sensitivity).sigma_squared))


def on_grid(expected: Array) -> NDArray[np.int64]:
    """Expected counts as whole multiples of the grid's step; what is no number is zero."""
    cut = np.clip(np.nan_to_num(np.asarray(expected, np.float64)), -_LARGEST, _LARGEST)
    return np.rint(cut * GRID).astype(np.int64)


def distance(counts: NDArray[np.int64], expected: NDArray[np.int64]) -> int:
    """‖counts − expected‖₁ in steps of the grid, exactly."""
    if counts.shape != expected.shape:
        raise BadInput(f"What is expected of a marginal has its shape, {counts.shape}, not {expected.shape}.")
    return int(np.abs(counts * GRID - expected).sum())


def _of(allowance: Allowance, share: Fraction) -> Allowance:
    return Pure(allowance.epsilon * share) if isinstance(allowance, Pure) else Concentrated(allowance.rho * share)


def _lost(noise: Noise, moved: NDArray[np.int64]) -> Allowance:
    if isinstance(noise, DiscreteLaplace):
        return Pure(int(np.abs(moved).sum()) / noise.scale)
    return Concentrated(sum(int(one) ** 2 for one in moved.flat if one) / (2 * noise.sigma_squared))


_KEPT = 1 << 24
"""Cells of counts that are cached, in all."""


class Counts:
    """The counts of a private table over a domain. Rows stay on the engine; a GROUP BY gives each marginal."""

    def __init__(self, table: Table, domain: Domain, coded: OwnedRows | None = None) -> None:
        self.table = table
        self.domain = domain
        self._coded_rows = coded or _coded_rows(table, domain)
        self._others: dict[int, Counts] = {}
        self._kept: dict[tuple[int, ...], NDArray[np.int64]] = {}

    def on(self, domain: Domain) -> Counts:
        """The counts of the same table over another domain."""
        if domain is self.domain:
            return self
        return self._others.setdefault(id(domain), Counts(self.table, domain))

    def over(self, columns: tuple[int, ...]) -> NDArray[np.int64]:
        """Number of rows of each combination of codes: an axis for each of the columns."""
        found = self._kept.get(columns)
        if found is None:
            found = self._count_cells(columns)
            if sum(one.size for one in self._kept.values()) + found.size <= _KEPT:
                self._kept[columns] = found
        return found

    def _count_cells(self, columns: tuple[int, ...]) -> NDArray[np.int64]:
        keys = {_name(place): sql.column(_name(place)) for place in columns}
        rows = fetch(self.table.engine, cell_counts(self._coded_rows, keys))
        sizes = [self.domain.sizes[place] for place in columns]
        at = np.zeros(rows.num_rows, np.int64)
        there = np.ones(rows.num_rows, np.bool_)
        for place, size in zip(columns, sizes, strict=True):
            codes = self.domain.attributes[place].codes(rows.column(_name(place)))
            there &= codes >= 0
            at = at * size + codes
        counts = np.zeros(prod(sizes), np.int64)
        np.add.at(counts, at[there], rows.column(COUNT).to_numpy()[there])
        return counts.reshape(sizes)


@contextmanager
def counting(table: Table, domain: Domain) -> Iterator[Counts]:
    """Counts for as long as the block runs.

    DuckDB works the codes out once and keeps them, a few bytes a row: counting all pairs of ten columns of ten
    million rows then takes a fifth of the time. (One query for several marginals, by GROUPING SETS, took longer.)
    """
    if not table.engine.embedded:
        yield Counts(table, domain)
        return
    name = table.engine.new_name("discreet codes")
    stored = _coded_rows(table, domain, small=True).stored(table.engine, name)
    try:
        yield Counts(table, domain, stored)
    finally:
        table.engine.drop(name)


def _coded_rows(table: Table, domain: Domain, *, small: bool = False) -> OwnedRows:
    """The rows as what they are grouped by, each column under the number of its attribute."""
    keys = [_small(one) if small else one.key() for one in domain.attributes]
    return owned_rows(table, rename=False).select({_name(place): key for place, key in enumerate(keys)})


def _small(attribute: Attribute) -> exp.Expr:
    """A key in few bytes: text as a place in a list of DuckDB's, codes as short numbers."""
    key, fine = attribute.key(), attribute.fine if isinstance(attribute, Merged) else attribute
    if not isinstance(fine, Listed):
        return exp.cast(key, exp.DType.SMALLINT)
    if isinstance(fine.values[0], str):
        listed = ", ".join(sql.text(str(value), "duckdb") for value in fine.values)
        return exp.TryCast(this=key, to=exp.DataType.build(f"ENUM({listed})", dialect="duckdb"))
    return key


def _name(place: int) -> str:
    return f"k{place}"
