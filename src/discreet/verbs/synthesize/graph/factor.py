"""Arrays whose axes are columns, and the calibration of a junction tree: from log potentials to exact probabilities.

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
import string
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.verbs.synthesize.graph.tree import Tree

Array = NDArray[np.float64]
Number = TypeVar("Number", bound=np.number[Any])

PLAIN = 1 << 20  # products below this many terms are summed here: BLAS wakes threads, which costs more


def align(array: Array, columns: Sequence[int], onto: Sequence[int]) -> Array:
    """The array over `columns` as a view that broadcasts against an array over `onto`, which holds them all."""
    order = sorted(range(len(columns)), key=lambda axis: onto.index(columns[axis]))
    present = {columns[axis]: array.shape[axis] for axis in order}
    return array.transpose(order).reshape([present.get(column, 1) for column in onto])


def sum_out(array: NDArray[Number], columns: Sequence[int], onto: Sequence[int]) -> NDArray[Number]:
    """The array over `columns` with everything but `onto` summed out; its axes in the order of `onto`."""
    gone = tuple(axis for axis, column in enumerate(columns) if column not in onto)
    kept = [column for column in columns if column in onto]
    result: NDArray[Number] = np.asarray(array.sum(axis=gone))
    return result.transpose([kept.index(column) for column in onto])


def multiply(one: Array, columns: Sequence[int], other: Array, others: Sequence[int], onto: Sequence[int]) -> Array:
    """The product of two arrays over columns, with everything but `onto` summed out."""
    sizes = dict(zip(columns, one.shape, strict=True)) | dict(zip(others, other.shape, strict=True))
    names = dict(zip(sizes, string.ascii_letters, strict=False))
    left, right, out = ("".join(names[column] for column in some) for some in (columns, others, onto))
    terms = math.prod(sizes.values())
    result: Array = np.einsum(f"{left},{right}->{out}", one, other, optimize=terms > PLAIN)
    return result


def calibrate(tree: Tree, potentials: list[Array]) -> tuple[list[Array], float]:
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
            potentials[node.parent] += align(
                message.reshape(node.shape[: len(node.separator)]), node.separator, above.columns
            )
        else:
            log_sum = float(message[0])
    for at, node in enumerate(tree.nodes[1:], start=1):
        above = tree.nodes[node.parent]
        share = sum_out(potentials[node.parent], above.columns, node.separator)
        potentials[at].reshape(node.rows, -1)[...] *= share.reshape(-1, 1)
    return potentials, log_sum if math.isfinite(log_sum) else -math.inf
