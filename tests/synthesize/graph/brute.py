"""The same by enumerating every cell of a small domain."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from discreet.verbs.synthesize.graph.factor import align, calibrate
from discreet.verbs.synthesize.graph.measurement import Measurement
from discreet.verbs.synthesize.graph.model import Model
from discreet.verbs.synthesize.graph.tree import junction


def marginal(joint, columns):
    """Sum out of a full array everything but these rising columns."""
    return joint.sum(axis=tuple(axis for axis in range(joint.ndim) if axis not in columns))


def subsets(count, most=None):
    """All sets of columns, up to so many at once."""
    return [some for size in range(1, (most or count) + 1) for some in combinations(range(count), size)]


def measured(joint, cliques, deviation, rng=None):
    """Marginals of a full array, with Gaussian noise if a generator is given."""
    found = []
    for columns in cliques:
        exact = marginal(joint, columns)
        noise = rng.normal(0, deviation, exact.shape) if rng is not None else 0.0
        found.append(Measurement(columns, exact + noise, deviation))
    return found


def random_model(sizes, cliques, rng, impossible=0.0):
    """A model with random potentials on these cliques, its full array, and the log of its partition function."""
    tree = junction(sizes, cliques)
    potentials = [np.zeros(node.shape) for node in tree.nodes]
    full = np.zeros(sizes)
    for columns in cliques:
        factor = rng.normal(0, 3, [sizes[column] for column in columns])
        factor[rng.random(factor.shape) < impossible] = -np.inf
        at = tree.holding(columns)
        potentials[at] += align(factor, columns, tree.nodes[at].columns)
        full = full + align(factor, columns, range(len(sizes)))
    probabilities, log_sum = calibrate(tree, potentials)
    weights = np.exp(full)
    return (
        Model(tree, 100.0, {}, tuple(probabilities)),
        weights * 100 / max(weights.sum(), 1e-300),
        log_sum,
        weights.sum(),
    )
