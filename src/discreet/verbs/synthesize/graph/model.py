"""A fitted distribution over the columns: its marginals, and rows drawn from it.

Rows are drawn in proportion rather than by chance where that is possible. They are settled as whole counts first. The
root's cells get their expected counts rounded up or down (systematic rounding: one random offset along the running
total), then each node, given how many rows fell in each cell of its separator, shares those rows out over its other
columns in the same way. So every cell gets less than one row more or less than expected given its separator, in
expectation exactly what is expected, and the counts of all nodes agree. An independent draw of each row would add the
noise of a sample on top of what the model says.

Then rows are dealt from these counts without replacement, at random within each separator cell: given its separator a
node is independent of the rest, as the model says. Dealing block by block, with a multivariate hypergeometric draw of
what each block gets, gives the same distribution of rows as dealing them all at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadInput
from discreet.noise.masking import Generator
from discreet.verbs.synthesize.graph.factor import Array, multiply, sum_out
from discreet.verbs.synthesize.graph.tree import Node, Tree

Tables = dict[tuple[int, frozenset[int]], tuple[tuple[int, ...], Array]]


@dataclass(frozen=True, eq=False, repr=False)
class Model:
    """A distribution on a junction tree. `potentials` are its parameters, one array for each measured set of columns.

    It was fitted to what had its noise already, so whatever is asked of it costs no privacy.
    """

    tree: Tree
    total: float
    potentials: dict[tuple[int, ...], Array]
    probabilities: tuple[Array, ...]
    _below: tuple[frozenset[int], ...] = field(init=False)
    _children: tuple[tuple[int, ...], ...] = field(init=False)

    def __post_init__(self) -> None:
        nodes = self.tree.nodes
        below = [set(node.rest) for node in nodes]
        children: list[list[int]] = [[] for _ in nodes]
        for at in range(len(nodes) - 1, 0, -1):
            below[nodes[at].parent] |= below[at]
            children[nodes[at].parent].append(at)
        object.__setattr__(self, "_below", tuple(frozenset(one) for one in below))
        object.__setattr__(self, "_children", tuple(tuple(one) for one in children))

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of values of each column."""
        return self.tree.sizes

    @property
    def cliques(self) -> tuple[tuple[int, ...], ...]:
        """The columns held together in one array, rising, one tuple a clique."""
        return tuple(tuple(sorted(node.columns)) for node in self.tree.nodes)

    def marginal(self, columns: Sequence[int]) -> Array:
        """Expected counts over any columns, in their order. They add up to `total`."""
        return self.marginals([columns])[0]

    def marginals(self, wanted: Iterable[Sequence[int]]) -> list[Array]:
        """Expected counts over many sets of columns; what they have in common is computed once.

        Columns of different cliques are joined along the tree: the part below a node that a question needs is
        summed up to P(asked columns below | separator), and these tables are shared by all the questions.
        """
        known: Tables = {}
        return [self._marginal(tuple(columns), known) * self.total for columns in wanted]

    def sample(self, rows: int, rng: Generator) -> Codes:
        """Rows of codes, one column a column, in random order: counts in proportion, rounded up or down.

        It is no sample of independent rows: each clique's counts are less than one away from what is expected
        given its separator, so rows are as like the model as whole rows can be.
        """
        return next(self.blocks(rows, rng, max(rows, 1)), np.empty((0, len(self.sizes)), dtype=np.int32))

    def blocks(self, rows: int, rng: Generator, size: int = 1 << 18) -> Iterator[Codes]:
        """Rows as of one ``sample``, in blocks of at most `size` rows: memory for a block.

        All blocks together have the distribution that one sample of `rows` rows has.
        """
        if rows < 0 or size < 1:
            raise BadInput(
                f"The rows are not negative and blocks have at least one, got {rows} rows in blocks of {size}."
            )
        return deal_rows(self.tree, round_counts(self.tree, self.probabilities, rows, rng), size, rng)

    def _marginal(self, columns: tuple[int, ...], known: Tables) -> Array:
        wanted = frozenset(columns)
        if len(wanted) < len(columns) or not all(0 <= column < len(self.sizes) for column in wanted):
            raise BadInput(f"A marginal is over different columns below {len(self.sizes)}, got {columns!r}.")
        at = self.tree.smallest(wanted)
        if at is not None:
            return sum_out(self.probabilities[at], self.tree.nodes[at].columns, columns)
        at = self._top(wanted)
        found, cells = self._join_below(at, self.probabilities[at], wanted, known)
        return sum_out(cells, found, columns)

    def _top(self, wanted: frozenset[int]) -> int:
        """The lowest node whose subtree, with its separator, has all these columns."""
        at = 0
        while True:
            within = [c for c in self._children[at] if wanted <= self._below[c] | set(self.tree.nodes[c].separator)]
            if not within:
                return at
            at = within[0]

    def _join_below(
        self, at: int, cells: Array, wanted: frozenset[int], known: Tables
    ) -> tuple[tuple[int, ...], Array]:
        """The node's cells times what the wanted columns below it need; the rest but its separator summed out."""
        node = self.tree.nodes[at]
        tables = [
            self._conditional(child, wanted & self._below[child], known)
            for child in self._children[at]
            if wanted & self._below[child]
        ]
        kept = set(node.separator) | wanted
        needed = kept.union(*(columns for columns, _ in tables))
        columns: tuple[int, ...] = tuple(column for column in node.columns if column in needed)
        cells = sum_out(cells, node.columns, columns)
        for position, (others, table) in enumerate(tables):
            later = set().union(*(set(columns) for columns, _ in tables[position + 1 :]))
            out = tuple(column for column in dict.fromkeys(columns + others) if column in kept | later)
            cells, columns = multiply(cells, columns, table, others, out), out
        return columns, cells

    def _conditional(self, at: int, wanted: frozenset[int], known: Tables) -> tuple[tuple[int, ...], Array]:
        """P(wanted columns below this node | its separator)."""
        if (at, wanted) not in known:
            node = self.tree.nodes[at]
            flat = self.probabilities[at].reshape(node.rows, -1)
            whole = flat.sum(axis=1, keepdims=True)
            cells = np.divide(flat, whole, out=np.zeros_like(flat), where=whole > 0)
            known[at, wanted] = self._join_below(at, cells.reshape(node.shape), wanted, known)
        return known[at, wanted]


Codes = NDArray[np.int32]
Counts = NDArray[np.int64]


def round_counts(tree: Tree, probabilities: Sequence[Array], rows: int, rng: Generator) -> list[Counts]:
    """Whole counts for every node, separator by rest, that add up to `rows` and agree with each other."""
    found: list[Counts] = []
    for node, cells in zip(tree.nodes, probabilities, strict=True):
        if node.parent < 0:
            given = np.array([rows], dtype=np.int64)
        else:
            above = tree.nodes[node.parent]
            given = sum_out(found[node.parent].reshape(above.shape), above.columns, node.separator).reshape(-1)
        found.append(_round_systematically(cells.reshape(node.rows, -1), given, rng))
    return found


def deal_rows(tree: Tree, counts: list[Counts], size: int, rng: Generator) -> Iterator[Codes]:
    """Blocks of at most `size` rows that have the given counts together. The counts are used up."""
    left = int(counts[0].sum()) if counts else 0
    while left:
        block = min(size, left)
        codes = np.empty((block, len(tree.sizes)), dtype=np.int32)
        for at, node in enumerate(tree.nodes):
            given = _cell_numbers(tree, node.separator, codes)
            wanted = np.bincount(given, minlength=node.rows)
            taken = counts[at] if block == left else _take_rows(counts[at], wanted, rng)
            counts[at] = counts[at] - taken
            _write(tree, node, codes, taken, _shuffle_within(given, node.rows, rng))
        left -= block
        yield codes


def _round_systematically(shares: Array, given: Counts, rng: Generator) -> Counts:
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


def _take_rows(cells: Counts, wanted: Counts, rng: Generator) -> Counts:
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


def _cell_numbers(tree: Tree, columns: Sequence[int], codes: Codes) -> NDArray[np.int64]:
    """Which cell of these columns each row is in."""
    cell = np.zeros(len(codes), dtype=np.int64)
    for column in columns:
        cell *= tree.sizes[column]
        cell += codes[:, column]
    return cell


def _shuffle_within(cell: NDArray[np.int64], cells: int, rng: Generator) -> NDArray[np.int64]:
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
