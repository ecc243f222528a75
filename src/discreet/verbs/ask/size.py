"""Size of a query before it runs: nodes of its tree, and characters of the texts it makes for a row.

A question is short, and its query need not be: a SELECT of WITH stands in the query as often as it is named, and what
stands in it again as often; and engines put what a column was computed of wherever it is used. Time for planning grows
with the nodes, and memory on the engine with the characters: it works on a few thousand rows at a time, and holds every
text that is made of them. So both are counted in the query as the engine gets it, and as it makes it.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from discreet.errors import BadQuery
from discreet.verbs.ask.value import CHARACTERS, WEIGHT

MOST_NODES = 15_000
MOST_WEIGHT = 60_000
"""Nodes of the query, with every column replaced by what it was computed of."""
MOST_CHARACTERS = 100_000
"""Of all texts that are made for one row."""
_ROW = 20
_CHARACTERS_A_NODE = 3


@dataclass
class Size:
    """What was counted so far."""

    nodes: int = 0
    weight: int = 0
    characters: int = 0

    @property
    def work(self) -> int:
        """What is done for one row, in nodes: some characters take as long as one, and the row itself as some."""
        return _ROW + self.weight + self.characters // _CHARACTERS_A_NODE

    def add(self, query: exp.Expr) -> None:
        """Count a query, or a part of one; an error if it is too much."""
        for node in query.walk():
            self.nodes += 1
            if node._meta:
                self.characters += node.meta.get(CHARACTERS, 0)
                self.weight += node.meta.get(WEIGHT, 0)
            if self.nodes > MOST_NODES or self.weight > MOST_WEIGHT:
                raise BadQuery(
                    "The question is too large.", hint="Name what WITH defines less often, or ask several questions."
                )
            if self.characters > MOST_CHARACTERS:
                raise BadQuery(
                    f"The texts that this makes of one row could have more than {MOST_CHARACTERS:,} characters in all.",
                    hint="Cut the texts before: LEFT(x, 20). The card can say how long the texts of a column are.",
                )
