"""Flows through networks: cheapest paths, and arcs that have exactly the room that is needed."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from discreet.verbs.attack.intruder.flow import cheap_flow, graph, max_flow

NONE = np.array([-1])
FIRST, MIDDLE, LAST = map(np.int32, (0, 2, 6))


def network(seed, nodes=7, arcs=16):
    rng = np.random.default_rng(seed)
    ends = np.array([rng.choice(nodes, 2, replace=False) for _ in range(arcs)], np.int32)
    return graph(ends[:, 0].copy(), ends[:, 1].copy(), nodes), rng


@pytest.mark.parametrize("seed", range(12))
def test_one_cheapest_path_is_taken_where_it_has_room_for_all(seed):
    """Arcs are used either way, and have room for exactly what flows, or for less and are left out."""
    arcs, rng = network(seed)
    count = len(arcs.tails)
    price = rng.integers(1, 50, count).astype(float)
    rise, fall = (np.where(rng.random(count) < 0.7, 3.0, 0.0) for _ in range(2))
    closed = rng.choice(count, 2)
    lengths = np.full((7, 7), np.inf)
    for arc in set(range(count)) - set(closed.tolist()):
        tail, head = arcs.tails[arc], arcs.heads[arc]
        lengths[tail, head] = min(lengths[tail, head], price[arc] if rise[arc] else np.inf)
        lengths[head, tail] = min(lengths[head, tail], price[arc] if fall[arc] else np.inf)
    shortest = dijkstra(csr_array(np.where(np.isinf(lengths), 0, lengths)), indices=0)[6]
    amount, moved = cheap_flow(arcs, rise, fall, price, FIRST, LAST, closed, 3.0)
    assert (amount, price[moved].sum()) == ((3.0, shortest) if np.isfinite(shortest) else (0.0, 0.0))
    assert not set(moved.tolist()) & set(closed.tolist())


@pytest.mark.parametrize("seed", range(12))
def test_what_flows_is_kept_at_every_node_and_within_the_room_of_every_arc(seed):
    arcs, rng = network(seed, arcs=14)
    count = len(arcs.tails)
    rise, fall = rng.integers(0, 6, (2, count)).astype(float)
    share = np.ones(count)
    amount, moved, by, near, far = max_flow(arcs, rise, fall, share, FIRST, LAST, NONE, np.inf)
    flow = np.zeros(count)
    flow[moved] = by
    assert (flow <= rise).all() and (-flow <= fall).all()
    out = np.bincount(arcs.tails, flow, 7) - np.bincount(arcs.heads, flow, 7)
    assert out.tolist() == [amount, 0, 0, 0, 0, 0, -amount]
    for inside in (near, ~far):  # no cut lets more through: the flow is the largest
        assert inside[0] and not inside[6]
        out_of, into = inside[arcs.tails], inside[arcs.heads]
        leaving, entering = out_of & ~into, into & ~out_of
        assert rise[leaving].sum() + fall[entering].sum() == amount
    for enough, wanted in ((amount, amount), (amount + 1, amount), (max(amount - 1, 0), max(amount - 1, 0))):
        if enough:
            assert max_flow(arcs, rise, fall, share, FIRST, LAST, NONE, enough)[0] <= wanted
            reached, chosen = cheap_flow(arcs, rise, fall, share, FIRST, LAST, NONE, enough)
            assert reached <= enough
            if reached == enough:
                only = np.isin(np.arange(count), chosen)
                assert max_flow(arcs, rise * only, fall * only, share, FIRST, LAST, NONE, enough)[0] == enough


def test_arcs_without_room_or_closed_take_nothing_and_shares_take_their_part():
    arcs = graph(np.array([0, 1, 0], np.int32), np.array([1, 2, 2], np.int32), 3)
    ones = np.ones(3)
    assert max_flow(arcs, 2 * ones, 0 * ones, ones, FIRST, MIDDLE, NONE, 10.0)[0] == 4
    assert max_flow(arcs, 2 * ones, 0 * ones, ones, FIRST, MIDDLE, np.array([2]), 10.0)[0] == 2
    assert max_flow(arcs, 2 * ones, 0 * ones, np.array([1, 0.25, 1]), FIRST, MIDDLE, NONE, 10.0)[0] == 2.5
    assert max_flow(arcs, 0 * ones, 2 * ones, ones, FIRST, MIDDLE, NONE, 10.0)[0] == 0
    assert max_flow(arcs, 0 * ones, 2 * ones, ones, MIDDLE, FIRST, NONE, 10.0)[0] == 4
    assert max_flow(arcs, np.array([9, 9, np.inf]), 0 * ones, ones, FIRST, MIDDLE, NONE, np.inf)[0] == np.inf
    assert max_flow(arcs, 2 * ones, 0 * ones, ones, FIRST, MIDDLE, NONE, 3.0)[0] == 3
    assert cheap_flow(arcs, 2 * ones, 0 * ones, ones, FIRST, MIDDLE, NONE, 5.0)[0] == 4
    assert cheap_flow(arcs, 2 * ones, 0 * ones, np.array([1.0, 1.0, 5.0]), FIRST, MIDDLE, NONE, 2.0)[1].tolist() == [
        0,
        1,
    ]
    assert cheap_flow(arcs, 2 * ones, 0 * ones, np.array([1.0, 1.0, 1.5]), FIRST, MIDDLE, NONE, 2.0)[1].tolist() == [2]
    # a path that takes half is needed twice: 2 · 1.5 is more than 2.5
    narrow = np.array([4.0, 4.0, 2.0])
    assert cheap_flow(arcs, narrow, 0 * ones, np.array([1.0, 1.5, 1.5]), FIRST, MIDDLE, NONE, 4.0)[1].tolist() == [0, 1]
