"""Rows from a calibrated junction tree, in proportion rather than by chance where that is possible.

The rows are settled as whole counts first. The root's cells get their expected counts rounded up or down (systematic
rounding: one random offset along the running total), then each node, given how many rows fell in each cell of its
separator, shares those rows out over its other columns in the same way. So every cell gets less than one row more or
less than expected given its separator, in expectation exactly what is expected, and the counts of all nodes agree. An
independent draw of each row would add the noise of a sample on top of what the model says.

Then rows are dealt from these counts without replacement, at random within each separator cell: given its separator a
node is independent of the rest, as the model says. Dealing block by block, with a multivariate hypergeometric draw of
what each block gets, gives the same distribution of rows as dealing them all at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from discreet.noise.masking import Generator
from discreet.verbs.synthesize.graph.factor import Array, summed
from discreet.verbs.synthesize.graph.tree import Node, Tree

Codes = NDArray[np.int32]
Counts = NDArray[np.int64]


def settled(tree: Tree, probabilities: Sequence[Array], rows: int, rng: Generator) -> list[Counts]:
    """Whole counts for every node, separator by rest, that add up to `rows` and agree with each other."""
    found: list[Counts] = []
    for node, cells in zip(tree.nodes, probabilities, strict=True):
        if node.parent < 0:
            given = np.array([rows], dtype=np.int64)
        else:
            above = tree.nodes[node.parent]
            given = summed(found[node.parent].reshape(above.shape), above.columns, node.separator).reshape(-1)
        found.append(_rounded(cells.reshape(node.rows, -1), given, rng))
    return found


def dealt(tree: Tree, counts: list[Counts], size: int, rng: Generator) -> Iterator[Codes]:
    """Blocks of at most `size` rows that have the given counts together. The counts are used up."""
    left = int(counts[0].sum()) if counts else 0
    while left:
        block = min(size, left)
        codes = np.empty((block, len(tree.sizes)), dtype=np.int32)
        for at, node in enumerate(tree.nodes):
            given = _flat(tree, node.separator, codes)
            wanted = np.bincount(given, minlength=node.rows)
            taken = counts[at] if block == left else _taken(counts[at], wanted, rng)
            counts[at] = counts[at] - taken
            _write(tree, node, codes, taken, _shuffled(given, node.rows, rng))
        left -= block
        yield codes


def _rounded(shares: Array, given: Counts, rng: Generator) -> Counts:
    """Share out `given` rows in each line in proportion to it, every cell rounded up or down."""
    running = np.cumsum(shares, axis=1)
    whole = running[:, -1:]
    np.divide(running, whole, out=running, where=whole > 0)
    running *= given[:, None]
    running += rng.random((len(given), 1))
    ends = np.minimum(np.floor(running).astype(np.int64), given[:, None])
    # rounding errors must not lose a row at the end, nor give one to a cell that is impossible
    last = shares.shape[1] - 1 - np.argmax(shares[:, ::-1] > 0, axis=1)
    ends = np.where(np.arange(shares.shape[1]) < last[:, None], ends, given[:, None])
    return np.diff(ends, axis=1, prepend=0)


def _taken(cells: Counts, wanted: Counts, rng: Generator) -> Counts:
    """Draw `wanted` rows from each line of counts without replacement (multivariate hypergeometric)."""
    taken = np.zeros_like(cells)
    lines, width = cells.shape
    if lines <= width:
        for line in np.flatnonzero(wanted):
            taken[line] = rng.multivariate_hypergeometric(cells[line], wanted[line], method="marginals")
        return taken
    left, wanted = cells.sum(axis=1), wanted.copy()
    for column in range(width):
        left -= cells[:, column]
        taken[:, column] = rng.hypergeometric(cells[:, column], left, wanted)
        wanted -= taken[:, column]
    return taken


def _flat(tree: Tree, columns: Sequence[int], codes: Codes) -> NDArray[np.int64]:
    """Which cell of these columns each row is in."""
    cell = np.zeros(len(codes), dtype=np.int64)
    for column in columns:
        cell *= tree.sizes[column]
        cell += codes[:, column]
    return cell


def _shuffled(cell: NDArray[np.int64], cells: int, rng: Generator) -> NDArray[np.int64]:
    """The rows in the order of their cells, and at random within a cell."""
    mixed = rng.permutation(len(cell))
    if cells == 1:
        return mixed
    key = cell[mixed]
    return mixed[np.argsort(key.astype(np.uint16) if cells <= 1 << 16 else key, kind="stable")]


def _write(tree: Tree, node: Node, codes: Codes, taken: Counts, order: NDArray[np.int64]) -> None:
    """Give the rows, in the order of their separator cells, what the node's counts say."""
    width = taken.shape[1]
    rest = np.repeat(np.arange(taken.size) % width, taken.reshape(-1))
    for column in reversed(node.rest):
        size = tree.sizes[column]
        codes[order, column] = rest % size
        rest //= size
