"""Supervised record linkage: the worst case, an intruder who has learnt a distance from true links of others.

The distance is linear in what is learnt, as in the programs of Abril, Navarro-Arribas and Torra (2012), "Improving
record linkage with supervised learning for disclosure risk assessment". Few people: the weights that link most of them,
by a mixed-integer program. Many: a conditional logit of the true row among the nearest impostors, which is convex.
"""

from __future__ import annotations

from enum import Enum

import numpy as np

from discreet.core.catalogue import declare, parameter
from discreet.core.families import ATTACKS
from discreet.core.optional import extra
from discreet.core.programs import Program
from discreet.core.statement import Recipe
from discreet.errors import DataError
from discreet.verbs.attack.distance import difference_rate, standardised
from discreet.verbs.attack.finding import Array
from discreet.verbs.attack.linkage import MAX_PAIRS, Linkage, LinkageData, LinkResult, evenly_spaced, tie_success

FEW = 24
"""Most people trained on for whom the weights are optimal."""
TAUGHT = 500
"""Most people the attacker learns from."""
_NEAREST, _STRANGERS, _ROUNDS, _RIDGE = 20, 60, 3, 1e-9
"""Impostors of each person: the nearest rows, and others evenly spaced; rounds of fitting; ridge penalty."""


class Shape(Enum):
    """Form of the learnt distance."""

    WEIGHTS = "weights"
    """A weight for each column."""
    METRIC = "metric"
    """A positive semidefinite matrix, so that columns may correct each other (a Mahalanobis distance)."""
    CHOQUET = "Choquet integral"
    """Of squared differences, with a fuzzy measure in which pairs of columns count more or less than their sum."""


@declare(ATTACKS, "learned linkage", rank=10)
class LearnedLinkage(Linkage):
    """Learn from every other person's true link, then link the rest. The figure is of the rest; the details also give
    that of the people trained on, which is the bound the literature reports."""

    shape: Shape = parameter("Form of the learned distance.", default=Shape.WEIGHTS)

    @property
    def skill(self) -> str:
        return f"and the true rows of every other person, from which a distance was learned ({self.shape.value})"

    def link(self, data: LinkageData, recipe: Recipe) -> LinkResult:
        from discreet.verbs.attack.linkage_kernels import closest_by_rule

        if not np.any(data.truth[::2] >= 0) or len(data.truth) < 2:
            raise DataError("There are too few true links to learn from.")
        chosen = evenly_spaced(len(data.known), max(MAX_PAIRS // 10 // len(data.released), 2))
        sample = data.with_people(chosen)
        people, rows = _comparable(data, sample.known), _comparable(data, data.released)
        scales = _scales(data)
        taught = np.arange(0, len(people), 2)
        taught = taught[sample.truth[taught] >= 0]
        taught = taught[evenly_spaced(len(taught), TAUGHT)]
        rule = learn(people[taught], rows, sample.truth[taught], data.numeric, scales, shape=self.shape)
        asked = np.arange(1, len(people), 2)
        links = [
            tie_success(*closest_by_rule(people[who], rows, sample.truth[who], data.numeric, scales, *rule))
            for who in (asked, taught)
        ]
        names = {name: round(float(weight), 6) for name, weight in zip(data.columns, rule[0], strict=True)}
        details = {"shape": self.shape.value, "people trained on": float(links[1].mean()), "weights": names}
        return LinkResult(links[0], details, sample.with_people(asked).guess_rate, chosen[asked])


def learn(
    people: Array, rows: Array, truth: Array, numeric: Array, scales: Array, *, shape: Shape
) -> tuple[Array, Array]:
    """The rule that makes people's true rows nearest: weights of columns, and of pairs (products, minima, maxima).

    Every measure in which columns interact by pairs only is a mixture of single columns, minima and maxima of two
    (Miranda, Combarro and Gil 2006), so that nonnegative weights are all a Choquet integral of that kind needs.
    """
    from discreet.verbs.attack.linkage_kernels import closest_by_rule, differences, impostors

    columns = people.shape[1]
    rule = np.full(columns, 1.0 / columns), np.zeros((3, columns, columns))
    if len(people) <= FEW and shape is Shape.WEIGHTS:
        everyone = np.array([[own, *(row for row in range(len(rows)) if row != own)] for own in truth])
        squares = differences(people, rows, everyone, numeric, scales) ** 2
        return optimal_weights(squares[:, 1:] - squares[:, :1]), rule[1]
    near = np.arange(min(_NEAREST, len(rows) - 1))
    far = len(near) + evenly_spaced(len(rows) - 1 - len(near), _STRANGERS)
    stands_for = np.log((len(rows) - 1 - len(near)) / max(len(far), 1)) if len(far) else 0.0
    offsets = np.concatenate([np.zeros(1 + len(near)), np.full(len(far), stands_for)])
    tried = []
    for _ in range(_ROUNDS):
        tried.append((float(tie_success(*closest_by_rule(people, rows, truth, numeric, scales, *rule)).sum()), rule))
        others = impostors(people, rows, truth, numeric, scales, *rule, np.concatenate([near, far]))
        signed = differences(people, rows, np.column_stack([truth, others]), numeric, scales)
        rule = _fitted(signed, offsets, shape)
    tried.append((float(tie_success(*closest_by_rule(people, rows, truth, numeric, scales, *rule)).sum()), rule))
    return max(tried, key=lambda one: one[0])[1]


def optimal_weights(gaps: Array, margin: float = 1e-6) -> Array:
    """The weights (summing to 1) for which most people's true rows are nearest: ``gaps`` holds, for each person and
    impostor, by how much the impostor's squared difference exceeds the true row's, column by column."""
    with extra("attack"):
        from scipy.sparse import csr_array, hstack, kron, vstack

    people, others, columns = gaps.shape
    large = float(np.abs(gaps).max(initial=0.0)) + 2 * margin
    missed = kron(csr_array(np.eye(people)), np.ones((others, 1))) * large
    switch = np.arange(columns + people) >= columns
    matrix = vstack([hstack([csr_array(gaps.reshape(-1, columns)), missed]), csr_array([~switch * 1.0])], format="csr")
    low, high = (np.append(np.full(people * others, end), 1.0) for end in (margin, np.inf))
    solved = Program(switch * 1.0, matrix, low, high, 0.0, 1.0, integral=switch).solve()
    if solved.x is None:
        raise DataError(f"No weights were found: {solved.status.value}.")
    return solved.x[:columns]


def _fitted(signed: Array, offsets: Array, shape: Shape) -> tuple[Array, Array]:
    """The rule that fits the alternatives of everyone (differences; the first is true) best."""
    columns = signed.shape[2]
    features, kinds = _features(signed, shape)
    found = _logit(features, offsets, np.array([kind == 0 for kind, _, _ in kinds]))
    weights, pairs = np.zeros(columns), np.zeros((3, columns, columns))
    for value, (kind, one, two) in zip(found, kinds, strict=True):
        if kind < 0:
            weights[one] = value
        else:
            pairs[kind, one, two] = value
    if shape is Shape.METRIC:
        weights, pairs[0] = _semidefinite(weights, pairs[0])
    return weights, pairs


def _logit(features: Array, offsets: Array, free: Array) -> Array:
    """Weights that make the first of each person's alternatives likeliest; not negative, unless ``free``. Convex.

    Far alternatives stand for many (``offsets``, in logarithms): were only the nearest looked at, a true row
    that is not among them would teach that nearness is bad.
    """
    with extra("attack"):
        from scipy.optimize import minimize
        from threadpoolctl import threadpool_limits

    def loss(weights: Array) -> tuple[float, Array]:
        score = offsets - features @ weights
        top = score.max(axis=1, keepdims=True)
        odds = np.exp(score - top)
        chance = odds / odds.sum(axis=1, keepdims=True)
        likelihood = np.log(odds.sum(axis=1)) + top[:, 0] - score[:, 0]
        slope = features[:, 0] - (chance[:, None, :] @ features)[:, 0]
        return (float(likelihood.mean()) + _RIDGE * float(weights @ weights), slope.mean(axis=0) + 2 * _RIDGE * weights)

    bounds = [(None, None) if sign else (0, None) for sign in free]
    start = np.where(free, 0.0, 1.0 / features.shape[2])
    with threadpool_limits(1, "blas"):  # the matrices are tiny: threads would only wait for each other
        found = minimize(loss, start, jac=True, bounds=bounds, method="L-BFGS-B", options={"maxiter": 200})
    return np.asarray(found.x)


def _features(signed: Array, shape: Shape) -> tuple[Array, list[tuple[int, int, int]]]:
    """Terms of the weighted sum that a distance is, with their kinds: -1 square, 0 product, 1 minimum, 2 maximum."""
    squares = signed**2
    columns = signed.shape[2]
    made, kinds = [squares[..., one] for one in range(columns)], [(-1, one, one) for one in range(columns)]
    for one in range(columns if shape is not Shape.WEIGHTS else 0):
        for two in range(one + 1, columns):
            if shape is Shape.METRIC:
                made.append(signed[..., one] * signed[..., two])
                kinds.append((0, one, two))
            else:
                made += [
                    np.minimum(squares[..., one], squares[..., two]),
                    np.maximum(squares[..., one], squares[..., two]),
                ]
                kinds += [(1, one, two), (2, one, two)]
    return np.stack(made, axis=-1), kinds


def _semidefinite(weights: Array, products: Array) -> tuple[Array, Array]:
    """The nearest matrix under which no distance is negative."""
    values, axes = np.linalg.eigh(np.diag(weights) + (products + products.T) / 2)
    matrix = (axes * np.maximum(values, 0.0)) @ axes.T
    return np.diag(matrix).copy(), 2 * np.triu(matrix, 1)


def _comparable(data: LinkageData, values: Array) -> Array:
    """Numbers in standard deviations, codes as they are; NaN stays."""
    made = values.copy()
    made[:, data.numeric] = standardised(data.known[:, data.numeric], values[:, data.numeric])[1]
    return made


def _scales(data: LinkageData) -> Array:
    """Difference that counts when codes differ, or when one value is NULL: that of two strangers' numbers."""
    scales = np.full(len(data.columns), np.sqrt(2.0))
    for column in np.flatnonzero(~data.numeric):
        both = np.nan_to_num(np.concatenate([data.known[:, column], data.released[:, column]]), nan=-1.0)
        scales[column] = np.sqrt(2.0 / max(difference_rate(both), 1e-9))
    return scales
