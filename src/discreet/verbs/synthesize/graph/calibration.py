"""Two passes over a junction tree: from log potentials of the cliques to the exact probabilities of each.

The distribution is p(x) ∝ exp(Σ potentials). The pass up takes the nodes from the leaves: all that hangs below a node
depends on the rest of the tree only through its separator (running intersection), so summing a node's columns but its
separator gives a factor over the separator that stands for the whole subtree, and what is left is the conditional
probability of the node's other columns given its separator. At the root the sum is the partition function. The pass
down multiplies each conditional by the separator's probability, which the parent then knows. Both are sums of products
in another order, so the result is exact, and each row of a node is scaled by its own largest potential, so nothing
overflows or vanishes that matters. A potential of −∞ is an impossible cell and stays one.
"""

from __future__ import annotations

import math

import numpy as np

from discreet.verbs.synthesize.graph.factor import Array, aligned, summed
from discreet.verbs.synthesize.graph.tree import Tree


def calibrated(tree: Tree, potentials: list[Array]) -> tuple[list[Array], float]:
    """The probabilities of every node's cells, and the logarithm of the partition function (−∞: nothing is possible).

    The arrays given, one a node, are used up.
    """
    log_sum = 0.0
    for at in range(len(tree.nodes) - 1, -1, -1):
        node = tree.nodes[at]
        flat = potentials[at].reshape(node.rows, -1)
        top = flat.max(axis=1)
        np.maximum(top, -np.finfo(np.float64).max, out=top)
        flat -= top[:, None]
        np.exp(flat, out=flat)
        total = flat.sum(axis=1)
        with np.errstate(divide="ignore"):
            message = np.log(total)
        np.maximum(total, np.finfo(np.float64).tiny, out=total)
        flat /= total[:, None]
        message += top
        if at:
            above = tree.nodes[node.parent]
            potentials[node.parent] += aligned(
                message.reshape(node.shape[: len(node.separator)]), node.separator, above.columns
            )
        else:
            log_sum = float(message[0])
    for at, node in enumerate(tree.nodes[1:], start=1):
        above = tree.nodes[node.parent]
        share = summed(potentials[node.parent], above.columns, node.separator)
        potentials[at].reshape(node.rows, -1)[...] *= share.reshape(-1, 1)
    return potentials, log_sum if math.isfinite(log_sum) else -math.inf
