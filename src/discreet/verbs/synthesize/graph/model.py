"""A fitted distribution over the columns: its marginals, and rows drawn from it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from discreet.errors import BadInput
from discreet.noise.masking import Generator
from discreet.verbs.synthesize.graph.factor import Array, multiplied, summed
from discreet.verbs.synthesize.graph.sampling import Codes, dealt, settled
from discreet.verbs.synthesize.graph.tree import Tree

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
        """How many values each column has."""
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
        return [self._asked(tuple(columns), known) * self.total for columns in wanted]

    def sample(self, rows: int, rng: Generator) -> Codes:
        """Rows of codes, one column a column, in random order: counts in proportion, rounded up or down (``sampling``).

        It is no sample of independent rows: each clique's counts are less than one away from what is expected
        given its separator, so rows are as like the model as whole rows can be.
        """
        return next(self.blocks(rows, rng, max(rows, 1)), np.empty((0, len(self.sizes)), dtype=np.int32))

    def blocks(self, rows: int, rng: Generator, size: int = 1 << 18) -> Iterator[Codes]:
        """The same as ``sample`` in blocks of at most `size` rows: memory for a block, and counts as of one sample.

        All blocks together have the distribution that one sample of `rows` rows has.
        """
        if rows < 0 or size < 1:
            raise BadInput(
                f"The rows are not negative and blocks have at least one, got {rows} rows in blocks of {size}."
            )
        return dealt(self.tree, settled(self.tree, self.probabilities, rows, rng), size, rng)

    def _asked(self, columns: tuple[int, ...], known: Tables) -> Array:
        wanted = frozenset(columns)
        if len(wanted) < len(columns) or not all(0 <= column < len(self.sizes) for column in wanted):
            raise BadInput(f"A marginal is over different columns below {len(self.sizes)}, got {columns!r}.")
        at = self.tree.smallest(wanted)
        if at is not None:
            return summed(self.probabilities[at], self.tree.nodes[at].columns, columns)
        at = self._top(wanted)
        found, cells = self._joined(at, self.probabilities[at], wanted, known)
        return summed(cells, found, columns)

    def _top(self, wanted: frozenset[int]) -> int:
        """The lowest node whose subtree, with its separator, has all these columns."""
        at = 0
        while True:
            within = [c for c in self._children[at] if wanted <= self._below[c] | set(self.tree.nodes[c].separator)]
            if not within:
                return at
            at = within[0]

    def _joined(
        self,
        at: int,
        cells: Array,
        wanted: frozenset[int],
        known: Tables,
    ) -> tuple[tuple[int, ...], Array]:
        """The node's cells times what the wanted columns below it need; the rest but its separator summed out."""
        node = self.tree.nodes[at]
        tables = [
            self._given(child, wanted & self._below[child], known)
            for child in self._children[at]
            if wanted & self._below[child]
        ]
        kept = set(node.separator) | wanted
        needed = kept.union(*(columns for columns, _ in tables))
        columns: tuple[int, ...] = tuple(column for column in node.columns if column in needed)
        cells = summed(cells, node.columns, columns)
        for position, (others, table) in enumerate(tables):
            later = set().union(*(set(columns) for columns, _ in tables[position + 1 :]))
            out = tuple(column for column in dict.fromkeys(columns + others) if column in kept | later)
            cells, columns = multiplied(cells, columns, table, others, out), out
        return columns, cells

    def _given(self, at: int, wanted: frozenset[int], known: Tables) -> tuple[tuple[int, ...], Array]:
        """P(wanted columns below this node | its separator)."""
        if (at, wanted) not in known:
            node = self.tree.nodes[at]
            flat = self.probabilities[at].reshape(node.rows, -1)
            whole = flat.sum(axis=1, keepdims=True)
            cells = np.divide(flat, whole, out=np.zeros_like(flat), where=whole > 0)
            known[at, wanted] = self._joined(at, cells.reshape(node.shape), wanted, known)
        return known[at, wanted]
