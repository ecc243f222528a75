"""Fit a distribution to noisy marginals.

Measured are counts yᵢ over some sets of columns, with noise of standard deviation σᵢ; they may be negative, and do not
agree with each other. The fit is the distribution p of N rows, with expected counts μᵢ, that makes

    ½ Σᵢ ‖μᵢ − yᵢ‖² / σᵢ²  +  λ · N · KL(p ‖ q)

least: the squared misfit, and a pull towards q, in which all columns are independent and each is distributed as the
measurements alone say (where cells are impossible, as independent as that leaves them). As p is a distribution, nothing
is negative and all marginals agree. The minimum is unique (convex plus strictly convex), and p is q times a product of
one factor for each measured set of columns. It therefore lives on the junction tree of these sets, and says no more
about the columns' dependence than was measured.

For λ → 0 it becomes the least-squares fit of largest entropy relative to q (the idea of McKenna, Sheldon and Miklau
2019). That fit follows the noise into every cell. With λ = 1/σ a cell that is e times what independence says is moved
by one standard deviation: small cells, which are mostly noise, fall back on independence, large ones hardly move, and
the bias vanishes with the noise. On Adult, with the same marginals measured at σ = 15, 40 and 100, 0.6 or 2 times
this λ changed the mean error over all pairs by some 5 %; a tenth of it made the worst pair up to 1.7 times as wrong.
λ also has a part 10/N, which counts only when the noise is as large as the table: then nothing was learnt, and q is
the answer.

It is solved in the dual. The best p is q·exp(Σ θᵢ) up to a constant, where θ makes

    N · log Z(θ) − Σ ⟨θᵢ, yᵢ⟩ + ½ λ Σ σᵢ² ‖θᵢ‖²

least: smooth, strictly convex, with the gradient g = μ − y + λσ²θ, which one calibration of the tree gives. By weak
duality the misfit and pull at μ(θ) are at most ½ Σ (gᵢ/σᵢ)² above their minimum; the fit stops when this is small
beside the noise's own share of it, ½ a cell. The method is L-BFGS, scaled by the Hessian's diagonal.

All of it uses only what was measured, so it is post-processing and costs no privacy.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadInput
from discreet.verbs.synthesize.graph.factor import Array, align, calibrate, sum_out
from discreet.verbs.synthesize.graph.measurement import Measurement, Zeros, check, combine_measurements
from discreet.verbs.synthesize.graph.model import Model
from discreet.verbs.synthesize.graph.tree import Tree, cells, junction

MEMORY = 8  # steps that L-BFGS remembers
SHORTEST = 1e-6  # a step shortened further than this gains nothing that can be told from rounding

Step = tuple[Array, Array, float]


def fit(
    sizes: Sequence[int],
    measurements: Iterable[Measurement],
    *,
    total: float | None = None,
    zeros: Iterable[Zeros] = (),
    start: Model | None = None,
    pull: float = 1.0,
    tolerance: float = 0.005,
    iterations: int = 200,
    largest: int = 1 << 24,
) -> Model:
    """The distribution over columns of these sizes that fits the measurements best (see above).

    `total` is the number of rows, estimated from the measurements by precision unless given. `start` is a model of
    some of the same measurements to begin at: the best fit does not depend on it, the time does. `pull` multiplies λ,
    for which the mean 1/σ of the measured sets of several columns is taken. The search ends when the misfit is at most
    `tolerance` a measured cell above the best, or after ``iterations``. More than `largest` cells in the junction
    tree are refused.
    """
    if not sizes or min(sizes) < 1:
        raise BadInput(f"A model needs at least one column, each with at least one value, got sizes {tuple(sizes)}.")
    if total is not None and not (math.isfinite(total) and total > 0):
        raise BadInput(f"The number of rows is positive, got {total!r}.")
    if not pull > 0:
        raise BadInput(f"The pull towards independence is positive, got {pull!r}.")
    groups, zeros = combine_measurements(sizes, measurements), tuple(zeros)
    for one in zeros:
        check(sizes, one.columns, one.possible)
    cliques = [*(one.columns for one in groups), *(one.columns for one in zeros)]
    if (size := cells(sizes, cliques)) > largest:
        raise BadInput(
            f"A model of these marginals has {size:,} cells; the limit is {largest:,}.",
            hint="Measure fewer or smaller marginals, or use fewer bins.",
        )
    problem = objective(junction(sizes, cliques), groups, zeros, total, pull)
    begin = np.zeros(len(problem.counts))  # independence for what an older model does not have
    for part in problem.parts:
        if start is not None and part.columns in start.potentials:
            begin[part.place] = start.potentials[part.columns].reshape(-1)
    found = _least(problem, begin, tolerance * len(problem.counts), iterations)
    potentials = {part.columns: found.parameters[part.place].reshape(part.shape) for part in problem.parts}
    return Model(problem.tree, problem.total, potentials, tuple(found.probabilities))


def _least(problem: Objective, parameters: Array, enough: float, iterations: int) -> Point:
    """Descend until the gap is small enough; the point with the smallest gap on the way."""
    here = best = problem.at(parameters)
    steps: list[Step] = []
    for _ in range(iterations):
        if best.gap <= enough:
            break
        # the Hessian's diagonal; a cell far below its count is about to grow, so the count is the safer guess
        scale = 1 / (np.maximum(here.expected, problem.counts) + problem.ridge)
        following = _line(problem, here, -_newton(here.gradient, steps, scale))
        if following is None:
            break
        moved, turned = following.parameters - here.parameters, following.gradient - here.gradient
        if (curved := dot(moved, turned)) > 0:
            steps = [*steps[1 - MEMORY :], (moved, turned, 1 / curved)]
        here = following
        best = min(best, here, key=lambda point: point.gap)
    return best


def _line(problem: Objective, here: Point, direction: Array) -> Point | None:
    """The first of the full step, its half, its quarter … that descends by its share (Armijo); None if none does."""
    slope = dot(here.gradient, direction)
    length = 1.0
    while length > SHORTEST:
        there = problem.at(here.parameters + length * direction)
        if there.value <= here.value + 1e-4 * length * slope:
            return there
        length /= 2
    return None


def _newton(gradient: Array, steps: Sequence[Step], scale: Array) -> Array:
    """The gradient times an estimate of the inverse Hessian from the last steps (two-loop recursion of L-BFGS)."""
    result = gradient.copy()
    shares: list[float] = []
    for moved, turned, inverse in reversed(steps):
        shares.append(inverse * dot(moved, result))
        result -= shares[-1] * turned
    result *= scale
    if steps:
        _, turned, inverse = steps[-1]
        result /= inverse * dot(turned, scale * turned)
    for (moved, turned, inverse), share in zip(steps, reversed(shares), strict=True):
        result += (share - inverse * dot(turned, result)) * moved
    return result


FEW = 10  # noise of a tenth of all rows doubles the pull
RAKED = 40  # rounds in which a reference is fitted to its columns
CLOSE = 1e-3  # the part of all rows by which it may still be wrong about one
FLOOR = 0.01  # the least a reference gives a possible value, in standard deviations


@dataclass(frozen=True)
class Part:
    """One group's place among all parameters, and the smallest array that its cells are sums of.

    The array is that of another group, which holds all its columns and comes earlier, or that of a node.
    """

    columns: tuple[int, ...]
    shape: tuple[int, ...]
    place: slice
    group: int | None
    node: int


@dataclass(frozen=True, eq=False)
class Point:
    """The objective at some parameters, its gradient, and the distribution they stand for.

    `gap` bounds how far penalty and misfit of this distribution are above the smallest possible.
    """

    parameters: Array
    value: float
    gradient: Array
    expected: Array
    probabilities: list[Array]
    gap: float


@dataclass(frozen=True, eq=False)
class Objective:
    """Measured counts (adjusted to the total), their variances, and the distribution to fall back on."""

    tree: Tree
    parts: tuple[Part, ...]
    total: float
    counts: Array
    variances: Array
    weight: float
    base: list[Array] = field(repr=False)

    @property
    def ridge(self) -> Array:
        """The curvature that the penalty gives each parameter."""
        return self.weight * self.variances

    def at(self, parameters: Array) -> Point:
        """Calibrate the tree at these parameters."""
        expected, probabilities, log_sum = _expected_cells(self.tree, self.parts, self.base, parameters)
        expected *= self.total
        pulled = self.ridge * parameters
        gradient = expected - self.counts + pulled
        return Point(
            parameters,
            self.total * log_sum - dot(parameters, self.counts) + dot(parameters, pulled) / 2,
            gradient,
            expected,
            probabilities,
            dot(gradient, gradient / self.variances) / 2,
        )


def objective(
    tree: Tree, groups: Sequence[Measurement], zeros: Sequence[Zeros], total: float | None, pull: float
) -> Objective:
    """Put the groups on the tree: where their cells are, which are possible, the total, and the reference."""
    parts = _parts(tree, groups)
    groups = sorted(groups, key=lambda one: -one.counts.size)
    base = [np.zeros(node.shape) for node in tree.nodes]
    for one in zeros:
        _put(tree, base, one.columns, _log_possible(one))
    counts = np.concatenate([one.counts.reshape(-1) for one in groups]) if groups else np.zeros(0)
    uniform, _, log_sum = _expected_cells(tree, parts, base, np.zeros(len(counts)))
    if log_sum == -math.inf:
        raise BadInput(
            "The structural zeros leave no possible cell.", hint="Check the impossible conditions on the card."
        )
    possible = uniform > 0
    counts[~possible] = 0.0
    whole = _total(parts, groups, counts, possible) if total is None else float(total)
    for part in parts:
        can = possible[part.place]
        counts[part.place][can] += (whole - counts[part.place].sum()) / can.sum()
    variances = np.concatenate([np.full(one.counts.size, one.deviation**2) for one in groups]) if groups else counts
    references = _references(tree.sizes, groups, parts, counts, whole)
    for column, reference in _rake(tree.sizes, zeros, references).items():
        _put(tree, base, (column,), reference)
    joint = [one.deviation for one in groups if len(one.columns) > 1] or [one.deviation for one in groups] or [1.0]
    weight = pull * (sum(1 / deviation for deviation in joint) / len(joint) + FEW / whole)
    return Objective(tree, parts, whole, counts, variances, weight, base)


def dot(one: Array, other: Array) -> float:
    """An inner product without BLAS, whose threads take far longer to wake up than these vectors take to add."""
    return float(np.einsum("i,i->", one, other))


def simplex(counts: Array, total: float) -> Array:
    """The nearest counts that are not negative and add up to the total (Euclidean projection)."""
    falling = np.sort(counts)[::-1]
    excess = (np.cumsum(falling) - total) / np.arange(1, len(falling) + 1)
    level = float(excess[np.flatnonzero(falling > excess)[-1]])
    return np.maximum(counts - level, 0.0)


def _parts(tree: Tree, groups: Sequence[Measurement]) -> tuple[Part, ...]:
    """The parameters' places, largest group first, so that a group's source always comes before it."""
    found: list[Part] = []
    start = 0
    for one in sorted(groups, key=lambda one: -one.counts.size):
        wider = [at for at, part in enumerate(found) if set(one.columns) < set(part.columns)]
        end = start + one.counts.size
        node = tree.holding(one.columns)
        found.append(Part(one.columns, one.counts.shape, slice(start, end), wider[-1] if wider else None, node))
        start = end
    return tuple(found)


def _put(tree: Tree, arrays: list[Array], columns: tuple[int, ...], array: Array) -> None:
    at = tree.holding(columns)
    arrays[at] += align(array, columns, tree.nodes[at].columns)


def _expected_cells(
    tree: Tree, parts: Sequence[Part], base: Sequence[Array], parameters: Array
) -> tuple[Array, list[Array], float]:
    """The probabilities of all groups' cells and of all nodes' cells, and the log partition function.

    Parameters are added up and probabilities summed along the chain of sources, so that the large arrays of the
    nodes are touched once for each widest group.
    """
    added = parameters.copy()
    potentials = [array.copy() for array in base]
    for part in reversed(parts):
        own = added[part.place].reshape(part.shape)
        if part.group is None:
            potentials[part.node] += align(own, part.columns, tree.nodes[part.node].columns)
        else:
            above = parts[part.group]
            wide = added[above.place].reshape(above.shape)
            wide += align(own, part.columns, above.columns)
    probabilities, log_sum = calibrate(tree, potentials)
    for part in parts:
        if part.group is None:
            own = sum_out(probabilities[part.node], tree.nodes[part.node].columns, part.columns)
        else:
            above = parts[part.group]
            own = sum_out(added[above.place].reshape(above.shape), above.columns, part.columns)
        added[part.place] = own.reshape(-1)
    return added, probabilities, log_sum


def _total(parts: Sequence[Part], groups: Sequence[Measurement], counts: Array, possible: NDArray[np.bool_]) -> float:
    """The number of rows: the mean of all groups' sums by precision, the best of all unbiased linear estimates.

    A sum over n possible cells has n times the variance of one. There is at least one row.
    """
    precisions = [1 / (possible[part.place].sum() * one.deviation**2) for part, one in zip(parts, groups, strict=True)]
    sums = [counts[part.place].sum() for part in parts]
    weighted = sum(precision * whole for precision, whole in zip(precisions, sums, strict=True))
    return max(float(weighted / sum(precisions)), 1.0) if parts else 1.0


def _references(
    sizes: Sequence[int], groups: Sequence[Measurement], parts: Sequence[Part], counts: Array, total: float
) -> dict[int, Array]:
    """For each measured column the logarithm of its own distribution, estimated by precision from all its groups."""
    sums = {column: np.zeros(size) for column, size in enumerate(sizes)}
    precisions = dict.fromkeys(sums, 0.0)
    for one, part in zip(groups, parts, strict=True):
        for column in one.columns:
            precision = sizes[column] / (one.counts.size * one.deviation**2)
            sums[column] += precision * sum_out(counts[part.place].reshape(part.shape), part.columns, (column,))
            precisions[column] += precision
    return {
        column: np.log(np.maximum(simplex(sums[column] / precision, total), FLOOR * precision**-0.5) / total)
        for column, precision in precisions.items()
        if precision
    }


def _rake(sizes: Sequence[int], zeros: Sequence[Zeros], references: dict[int, Array]) -> dict[int, Array]:
    """Contribution of each column to the reference, in logarithms: with the structural zeros, the distribution still
    has the columns' own (iterative proportional fitting).

    Without it a value of which much is impossible would be too rare in the reference, and the pull would make it too
    rare in the model. Where no distribution has zeros and columns, since they are noisy, it ends after some rounds.
    """
    found = dict(references)
    tied = sorted({column for one in zeros for column in one.columns} & set(found))
    tree = junction(sizes, [one.columns for one in zeros])
    for _ in range(RAKED if tied else 0):
        furthest = 0.0
        for column in tied:
            base = [np.zeros(node.shape) for node in tree.nodes]
            for one in zeros:
                _put(tree, base, one.columns, _log_possible(one))
            for other, reference in found.items():
                _put(tree, base, (other,), reference)
            probabilities, _ = calibrate(tree, base)
            at = tree.holding((column,))
            has = sum_out(probabilities[at], tree.nodes[at].columns, (column,))
            wanted = np.where(has > 0, np.exp(references[column]), 0.0)
            wanted /= wanted.sum()
            furthest = max(furthest, float(np.abs(has - wanted).sum()))
            found[column] = found[column] + np.log(np.divide(wanted, has, out=np.ones_like(has), where=has > 0))
        if furthest < CLOSE:
            break
    return found


def _log_possible(one: Zeros) -> Array:
    with np.errstate(divide="ignore"):
        return np.log(one.possible.astype(np.float64))
