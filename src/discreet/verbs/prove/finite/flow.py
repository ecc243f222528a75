"""The largest flow through a network with rational capacities (Dinic's algorithm)."""

from __future__ import annotations

from collections import deque
from fractions import Fraction


class Network:
    """Nodes numbered from 0, and edges that take so much at most. The number of rounds does not depend on the
    capacities, so fractions do no harm."""

    def __init__(self, nodes: int) -> None:
        self._edges: list[list[int]] = [[] for _ in range(nodes)]
        self._heads: list[int] = []
        self._left: list[Fraction] = []

    def add(self, tail: int, head: int, capacity: Fraction) -> int:
        """A new edge; its number."""
        number = len(self._heads)
        for start, end, left in ((tail, head, capacity), (head, tail, Fraction(0))):
            self._edges[start].append(len(self._heads))
            self._heads.append(end)
            self._left.append(left)
        return number

    def carried(self, edge: int) -> Fraction:
        """What an edge carries: what its opposite could give back."""
        return self._left[edge ^ 1]

    def fill(self, source: int, sink: int) -> Fraction:
        """Send as much as possible; how much that is."""
        total = Fraction(0)
        while (levels := self._levels(source, sink)) is not None:
            waiting = [0] * len(self._edges)
            while sent := self._send(source, sink, None, levels, waiting):
                total += sent
        return total

    def _levels(self, source: int, sink: int) -> list[int] | None:
        levels = [-1] * len(self._edges)
        levels[source] = 0
        queue = deque([source])
        while queue:
            node = queue.popleft()
            for edge in self._edges[node]:
                if self._left[edge] and levels[self._heads[edge]] < 0:
                    levels[self._heads[edge]] = levels[node] + 1
                    queue.append(self._heads[edge])
        return levels if levels[sink] >= 0 else None

    def _send(self, node: int, sink: int, most: Fraction | None, levels: list[int], waiting: list[int]) -> Fraction:
        """Along one way that gets nearer to the sink with every edge; depth is at most the number of levels."""
        if node == sink:
            return most or Fraction(0)
        while waiting[node] < len(self._edges[node]):
            edge = self._edges[node][waiting[node]]
            head = self._heads[edge]
            if self._left[edge] and levels[head] == levels[node] + 1:
                narrow = self._left[edge] if most is None else min(most, self._left[edge])
                if sent := self._send(head, sink, narrow, levels, waiting):
                    self._left[edge] -= sent
                    self._left[edge ^ 1] += sent
                    return sent
            waiting[node] += 1
        return Fraction(0)
