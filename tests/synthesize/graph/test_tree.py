"""Junction trees: every clique in one node, every column's nodes connected, cells counted as they are."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.verbs.synthesize.graph.tree import cells, junction

CLIQUES = st.lists(st.sets(st.integers(0, 6), min_size=1, max_size=4), max_size=9)
SIZES = st.lists(st.integers(1, 9), min_size=7, max_size=7)


@settings(max_examples=40, deadline=None)
@given(SIZES, CLIQUES)
def test_it_is_a_junction_tree(sizes, cliques):
    tree = junction(sizes, cliques)
    assert set().union(*(node.columns for node in tree.nodes)) == set(range(7))
    for clique in cliques:
        assert tree.smallest(clique) is not None
    for column in range(7):
        # as many nodes with the column as separators with it, plus one: they hang together
        held = sum(column in node.columns for node in tree.nodes)
        assert held - sum(column in node.separator for node in tree.nodes) == 1
    for at, node in enumerate(tree.nodes):
        assert (node.parent < at) and node.columns == node.separator + node.rest
        assert at == 0 or set(node.separator) == set(node.columns) & set(tree.nodes[node.parent].columns)
    assert cells(sizes, cliques) == sum(node.cells for node in tree.nodes)


def test_no_node_lies_in_another():
    tree = junction([2] * 5, [(0, 1), (0,), (1, 2), (0, 1, 2), (3, 4)])
    assert sorted(tuple(sorted(node.columns)) for node in tree.nodes) == [(0, 1, 2), (3, 4)]


def test_a_cycle_is_cut_where_it_is_cheapest():
    # a cycle of four: joining 1 and 3 makes two cliques of 100·2·2, joining 0 and 2 two of 100·100·2
    assert cells([100, 2, 100, 2], [(0, 1), (1, 2), (2, 3), (0, 3)]) == 800


def test_chordal_graphs_get_no_further_joins():
    rng = np.random.default_rng(3)
    for _ in range(20):
        sizes = rng.integers(2, 6, 8).tolist()
        edges = [(int(rng.integers(0, at)), at) for at in range(1, 8)]
        assert cells(sizes, edges) == sum(math.prod(sizes[column] for column in edge) for edge in edges)
