"""Junction trees: which columns are held together in one array, and how the arrays are connected.

Two columns that are measured together have to be in one array. Joining columns until the graph of "measured together"
has no long cycle without a chord (triangulation) makes a tree of its cliques possible in which every column's cliques
are connected: the running intersection property, which makes two passes over the tree exact (``factor.py``). Which
joins make the smallest arrays is NP-hard; two greedy rules are tried and the better result is taken.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

Rule = Callable[[Sequence[int], int], float]


@dataclass(frozen=True)
class Node:
    """A clique: what it shares with its parent (the separator) and the rest. Its array has the separator first."""

    parent: int
    separator: tuple[int, ...]
    rest: tuple[int, ...]
    columns: tuple[int, ...]
    shape: tuple[int, ...]
    rows: int

    @property
    def cells(self) -> int:
        """Number of cells of the clique's array."""
        return math.prod(self.shape)


@dataclass(frozen=True)
class Tree:
    """A junction tree, a parent always before its children; node 0 is the root and has an empty separator.

    Parts that share no column are connected by empty separators, so a forest is a tree as well.
    """

    sizes: tuple[int, ...]
    nodes: tuple[Node, ...]

    def holding(self, columns: Iterable[int]) -> int:
        """The smallest node that holds all these columns; they lie in one."""
        found = self.smallest(columns)
        if found is None:
            raise ValueError(f"no node of the tree holds columns {tuple(columns)}")
        return found

    def smallest(self, columns: Iterable[int]) -> int | None:
        """The node with the fewest cells that holds all these columns, if there is one."""
        wanted = set(columns)
        holding = [at for at, node in enumerate(self.nodes) if wanted <= set(node.columns)]
        return min(holding, key=lambda at: self.nodes[at].cells, default=None)


def junction(sizes: Sequence[int], cliques: Iterable[Iterable[int]]) -> Tree:
    """A junction tree in which every given clique lies in one node. Every column is in the tree.

    A spanning tree of the cliques of a chordal graph with the largest possible sum of intersections has the running
    intersection property; it is grown here from the largest clique (Prim).
    """
    sizes = tuple(sizes)
    held = [_members(mask) for mask in _triangulate(sizes, frozenset(_mask(clique) for clique in cliques))]
    held.sort(key=lambda clique: (-_product(sizes, clique), clique))
    if not held:
        return Tree(sizes, ())
    placed = [held[0]]
    nodes = [_node(sizes, -1, (), held[0])]
    left = held[1:]
    while left:
        best = max(
            ((len(set(clique) & set(at)), -k, -j) for j, clique in enumerate(left) for k, at in enumerate(placed))
        )
        clique, parent = left.pop(-best[2]), -best[1]
        nodes.append(_node(sizes, parent, placed[parent], clique))
        placed.append(clique)
    return Tree(sizes, tuple(nodes))


def cells(sizes: Sequence[int], cliques: Iterable[Iterable[int]]) -> int:
    """Number of cells of the junction tree of these cliques, in all its arrays."""
    return _cells(tuple(sizes), frozenset(_mask(clique) for clique in cliques))


@lru_cache(maxsize=1 << 16)
def _cells(sizes: tuple[int, ...], masks: frozenset[int]) -> int:
    return sum(_product(sizes, _members(mask)) for mask in _triangulate(sizes, masks))


def _node(sizes: tuple[int, ...], parent: int, above: tuple[int, ...], clique: tuple[int, ...]) -> Node:
    # the longest axis last: sums over the others then run along it
    clique = tuple(sorted(clique, key=lambda column: (sizes[column], column)))
    separator = tuple(column for column in clique if column in above)
    rest = tuple(column for column in clique if column not in above)
    columns = separator + rest
    shape = tuple(sizes[column] for column in columns)
    return Node(parent, separator, rest, columns, shape, _product(sizes, separator))


def _mask(columns: Iterable[int]) -> int:
    return sum(1 << column for column in set(columns))


@lru_cache(maxsize=1 << 16)
def _members(mask: int) -> tuple[int, ...]:
    return tuple(column for column in range(mask.bit_length()) if mask >> column & 1)


def _product(sizes: Sequence[int], columns: Iterable[int]) -> int:
    return math.prod(sizes[column] for column in columns)


def _triangulate(sizes: tuple[int, ...], masks: frozenset[int]) -> list[int]:
    """The largest cliques of a chordal graph that has all the given ones, as bit masks.

    Columns whose neighbours are all joined already are taken out first, since that never costs anything. For the
    others the two rules are to take out the column with the smallest clique, or with the fewest pairs left to join.
    """
    near = [1 << column for column in range(len(sizes))]
    for mask in masks:
        for column in _members(mask):
            near[column] |= mask
    found: list[int] = []
    left = list(range(len(sizes)))
    while (free := next((column for column in left if _is_simplicial(near, column)), None)) is not None:
        _take(near, left, free, found)
    if not left:
        return found
    ways = [_eliminate(near, left, found, rule) for rule in (_weight(sizes), _missing_pairs)]
    return min(ways, key=lambda way: sum(_product(sizes, _members(mask)) for mask in way))


def _is_simplicial(near: Sequence[int], column: int) -> bool:
    """Whether all neighbours of a column are neighbours of each other."""
    around = near[column]
    return all(not around & ~near[other] for other in _members(around))


def _missing_pairs(near: Sequence[int], column: int) -> float:
    """Twice the number of pairs of neighbours that would have to be joined if this column were taken out."""
    around = near[column]
    return sum((around & ~near[other]).bit_count() for other in _members(around))


def _weight(sizes: Sequence[int]) -> Rule:
    """Log of the number of cells that the clique of a column would have."""
    logs = [math.log(size) for size in sizes]
    return lambda near, column: sum(logs[other] for other in _members(near[column]))


def _eliminate(near: Sequence[int], left: Sequence[int], found: Sequence[int], rule: Rule) -> list[int]:
    """Take out one column after the other by a rule; all cliques found, with those found before."""
    near, left, found = list(near), list(left), list(found)
    while left:
        scores = [rule(near, column) for column in left]
        _take(near, left, left[scores.index(min(scores))], found)
    return found


def _take(near: list[int], left: list[int], column: int, found: list[int]) -> None:
    """Take out a column, joining its neighbours; it and they are a clique, kept unless it lies in an earlier one."""
    clique = near[column]
    left.remove(column)
    rest = clique & ~(1 << column)
    for other in _members(rest):
        near[other] = (near[other] | rest) & ~(1 << column)
    if all(clique & ~before for before in found):
        found.append(clique)
