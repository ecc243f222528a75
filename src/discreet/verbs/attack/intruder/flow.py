"""Maximum flow (Numba). Import lazily: compilation takes a moment."""

from __future__ import annotations

import heapq
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from discreet.core.compiled import njit

Array = npt.NDArray[Any]


class Graph(NamedTuple):
    """Arcs from tails to heads, and the arcs at each node: those of node v are ``ends[starts[v]:starts[v + 1]]``."""

    tails: Array
    heads: Array
    starts: Array
    ends: Array


def graph(tails: Array, heads: Array, nodes: int) -> Graph:
    """The graph of these arcs."""
    return Graph(tails, heads, *_incident(tails, heads, nodes))


@njit(cache=True)
def _incident(tails: Array, heads: Array, nodes: int) -> tuple[Array, Array]:
    """The arcs at each node, and where those of a node start."""
    starts = np.zeros(nodes + 2, np.int64)
    for arc in range(len(tails)):
        starts[tails[arc] + 2] += 1
        starts[heads[arc] + 2] += 1
    starts = np.cumsum(starts)
    ends = np.empty(2 * len(tails), np.int32)
    for arc in range(len(tails)):
        for node in (tails[arc], heads[arc]):
            ends[starts[node + 1]] = arc
            starts[node + 1] += 1
    return starts[: nodes + 1], ends


@njit(cache=True)
def max_flow(  # noqa: PLR0917  # Numba takes arguments by position
    graph: Graph,
    rise: Array,
    fall: Array,
    share: Array,
    source: int,
    sink: int,
    closed: Array,
    enough: float,
) -> tuple[float, Array, Array, Array, Array]:
    """The most that flows from source to sink along shortest augmenting paths (Edmonds & Karp), up to ``enough``.

    An arc takes ``rise`` forwards and ``fall`` backwards, each at most ``enough`` and times its ``share``; a closed
    arc (-1: none) takes nothing. Returned are the amount, the arcs that carry some and how much, the nodes still
    reachable from the source and those from which the sink is, each a minimum cut if the amount is less than enough.
    With whole numbers all is exact.
    """
    nodes = len(graph.starts) - 1
    flow = np.zeros(len(graph.tails))
    shut = np.zeros(len(graph.tails), np.bool_)
    for arc in closed:
        if arc >= 0:
            shut[arc] = True
    forth, back = np.minimum(rise, enough) * share, np.minimum(fall, enough) * share
    slack = 1e-12 * enough if enough < np.inf else 0.0
    through = np.empty(nodes, np.int64)
    queue = np.empty(nodes, np.int64)
    seen = np.empty(nodes, np.bool_)
    amount = 0.0
    while amount < enough:
        _search(graph, forth, back, 1.0, flow, shut, source, sink, slack, through, queue, seen)
        if not seen[sink]:
            break
        step = _room(graph, through, source, sink, enough - amount, forth, back, flow)
        if step == np.inf:
            amount = np.inf
            break
        _push(graph, through, source, sink, step, flow)
        amount += step
        if enough - amount <= slack:
            amount = enough
    before = np.zeros(nodes, np.bool_)
    if amount < enough:
        _search(graph, back, forth, -1.0, flow, shut, sink, source, slack, through, queue, before)
    moved = np.flatnonzero(flow)
    return amount, moved, flow[moved], seen, before


@njit(cache=True)
def _search(  # noqa: PLR0917
    graph: Graph,
    forth: Array,
    back: Array,
    sense: float,
    flow: Array,
    shut: Array,
    source: int,
    sink: int,
    slack: float,
    through: Array,
    queue: Array,
    seen: Array,
) -> None:
    """Breadth first from the source over arcs with room left; ``through`` is how each node seen was come to.

    With a ``sense`` of -1 and forth and back exchanged, against the flow.
    """
    seen[:] = False
    seen[source] = True
    queue[0] = source
    first, last = 0, 1
    while first < last:
        node = queue[first]
        first += 1
        for place in range(graph.starts[node], graph.starts[node + 1]):
            arc = graph.ends[place]
            forwards = graph.tails[arc] == node
            other = graph.heads[arc] if forwards else graph.tails[arc]
            if seen[other] or shut[arc]:
                continue
            room = forth[arc] - sense * flow[arc] if forwards else back[arc] + sense * flow[arc]
            if room > slack:
                seen[other] = True
                through[other] = arc
                if other == sink:
                    return
                queue[last] = other
                last += 1


@njit(cache=True)
def cheap_flow(  # noqa: PLR0917
    graph: Graph,
    rise: Array,
    fall: Array,
    price: Array,
    source: int,
    sink: int,
    closed: Array,
    enough: float,
) -> tuple[float, Array]:
    """Arcs that let ``enough`` flow, of small price together: one cheapest path after another (Dijkstra).

    The price of an arc is paid once, however much it takes; of a path that cannot take all that is left, it counts as
    often as the arc would be needed. Returned are the amount and the arcs that carry some.
    """
    nodes = len(graph.starts) - 1
    flow = np.zeros(len(graph.tails))
    through = np.empty(nodes, np.int64)
    done = np.empty(nodes, np.bool_)
    distance = np.empty(nodes)
    amount = 0.0
    while amount < enough:
        left = enough - amount
        done[:] = False
        distance[:] = np.inf
        distance[source] = 0.0
        waiting = [(0.0, source)]
        while len(waiting) > 0:
            far, node = heapq.heappop(waiting)
            if done[node]:
                continue
            done[node] = True
            if node == sink:
                break
            for place in range(graph.starts[node], graph.starts[node + 1]):
                arc = graph.ends[place]
                forwards = graph.tails[arc] == node
                other = graph.heads[arc] if forwards else graph.tails[arc]
                if done[other]:
                    continue
                room = rise[arc] - flow[arc] if forwards else fall[arc] + flow[arc]
                if room <= 1e-12 * enough or (closed == arc).any():
                    continue
                longer = far + (price[arc] * max(1.0, left / room) if flow[arc] == 0.0 else 0.0)
                if longer < distance[other]:
                    distance[other] = longer
                    through[other] = arc
                    heapq.heappush(waiting, (longer, other))
        if not done[sink]:
            break
        step = _room(graph, through, source, sink, left, rise, fall, flow)
        _push(graph, through, source, sink, step, flow)
        amount += step
        if enough - amount <= 1e-12 * enough:
            amount = enough
    return amount, np.flatnonzero(flow)


@njit(cache=True)
def _push(graph: Graph, through: Array, source: int, sink: int, step: float, flow: Array) -> None:  # noqa: PLR0917
    """Let so much more flow along the path found."""
    node = sink
    while node != source:
        arc = through[node]
        forwards = graph.heads[arc] == node
        flow[arc] += step if forwards else -step
        node = graph.tails[arc] if forwards else graph.heads[arc]


@njit(cache=True)
def _room(  # noqa: PLR0917
    graph: Graph,
    through: Array,
    source: int,
    sink: int,
    most: float,
    forth: Array,
    back: Array,
    flow: Array,
) -> float:
    """How much more may flow along the path found, up to ``most``."""
    node = sink
    while node != source:
        arc = through[node]
        forwards = graph.heads[arc] == node
        most = min(most, forth[arc] - flow[arc] if forwards else back[arc] + flow[arc])
        node = graph.tails[arc] if forwards else graph.heads[arc]
    return most
