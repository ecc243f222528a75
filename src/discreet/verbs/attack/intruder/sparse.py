"""Sparse matrices and connected components, from SciPy (an optional dependency)."""

from __future__ import annotations

from types import ModuleType

import numpy as np

from discreet.core.optional import extra
from discreet.core.programs import Numbers


def sparse() -> ModuleType:
    """``scipy.sparse``."""
    with extra("tabulate"):
        import scipy.sparse
    return scipy.sparse  # type: ignore[no-any-return]


def components(one: Numbers, other: Numbers, nodes: int) -> Numbers:
    """The number of each node's connected component, if edges join node ``one[n]`` with node ``other[n]``."""
    with extra("tabulate"):
        from scipy.sparse.csgraph import connected_components

    graph = sparse().coo_array((np.ones(len(one), np.int8), (one, other)), shape=(nodes, nodes))
    labels: Numbers = connected_components(graph, directed=False)[1]
    return labels


def signed_components(one: Numbers, other: Numbers, opposite: Numbers, nodes: int) -> tuple[Numbers, ...]:
    """Components of nodes that are the same or, where an edge says so, ``opposite``.

    Of each node its component, whether it is turned round in it, and whether it is its own opposite. Every node is in
    the graph twice, as it is and turned round.
    """
    shift = np.where(opposite, nodes, 0)
    ends = np.concatenate([one, one + nodes]), np.concatenate([other + shift, other + nodes - shift])
    plain, turned = np.split(components(*ends, 2 * nodes), 2)
    return np.unique(np.minimum(plain, turned), return_inverse=True)[1], turned < plain, plain == turned
