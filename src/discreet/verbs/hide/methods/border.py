"""Watch the border: BBA and MaxMin.

Sun and Yu (2005), "A border-based approach for hiding sensitive frequent itemsets"; Moustakides and Verykios (2008), "A
maxmin approach for hiding frequent itemsets". All innocent itemsets stay frequent if the largest of them do, the
*border*: each other one is part of one of these and has at least its support. So of all cells (transaction, item of the
secret) that one is changed which does least harm to the border.

Harm is counted differently. For BBA each border itemset has a weight that grows as its support gets near the threshold,
and jumps when it is lost; the cell with the least sum of weights is taken. MaxMin looks at each item's most endangered
border itemset, takes the item for which this one has the largest support, and a transaction that does not have it, or
else the one that has fewest of the endangered.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

import numpy as np

from discreet.core.catalogue import declare
from discreet.core.families import HIDING
from discreet.releases.method import Progress, silent
from discreet.verbs.hide.methods.edit import Working, until_hidden
from discreet.verbs.hide.mining.frequent import Itemset
from discreet.verbs.hide.problem import HidingProblem, HidingResult
from discreet.verbs.hide.secrets import Secret
from discreet.verbs.hide.transactions import Array


class Watched:
    """The border itemsets that hiding one secret can touch: their supports, and which transactions have them."""

    def __init__(self, working: Working, border: tuple[Itemset, ...], secret: Secret) -> None:
        self.working, self.secret = working, secret
        self.least = working.problem.least
        self.itemsets = [one for one in border if one & secret.consequent]
        self.rows = working.rows(secret.whole)
        self.live = np.ones(len(self.rows), bool)
        """Which of the transactions still have the secret."""
        self.held = working.after.holds(self.itemsets, self.rows)
        self.before = np.array([working.before.support(one) for one in self.itemsets], np.int64)
        self.now = np.array([working.support(one) for one in self.itemsets], np.int64)
        self.has = {item: np.array([item in one for one in self.itemsets], bool) for item in secret.consequent}

    def take(self, place: int, item: str, why: str) -> None:
        """Take an item out of a transaction, given by its place in ``rows``."""
        self.working.change(int(self.rows[place]), item, self.secret, why)
        lost = self.has[item] & self.held[:, place]
        self.now[lost] -= 1
        self.held[lost, place] = False
        self.live[place] = False

    def first(self, *harm: Array) -> int:
        """The transaction with the secret of least harm, the first measure counting most; then the shortest."""
        live = np.flatnonzero(self.live)
        rows = self.rows[live]
        order = np.lexsort((rows, self.working.lengths[rows], *(one[live] for one in reversed(harm))))
        return int(live[order[0]])


class _Border:
    """Longer secrets first, and of the same length the rarer: what they take may be enough for others."""

    def apply(self, problem: HidingProblem, progress: Progress = silent) -> HidingResult:
        """Change one cell at a time, the one that does least harm to the border as it is then."""
        working = Working(problem)
        supports = {one: problem.transactions.support(one.whole) for one in problem.secrets}
        order = sorted(problem.secrets, key=lambda one: (-len(one.whole), supports[one], str(one)))

        def hide_one(secret: Secret) -> None:
            watched = Watched(working, problem.border, secret)
            while working.excess(secret):
                self._step(watched)

        until_hidden(working, hide_one, progress, order)
        return working.outcome()

    @abstractmethod
    def _step(self, watched: Watched) -> None:
        """Take one item out of one transaction."""


@declare(HIDING, "bba", paper="Sun and Yu 2005")
class BBA(_Border):
    """The cell with the least sum of weights of border itemsets."""

    name: ClassVar[str]

    def _step(self, watched: Watched) -> None:
        gone = watched.before - watched.now
        room = np.maximum(watched.before - watched.least, 1)
        near = (gone + 1) / room
        weight = np.where(watched.now > watched.least, near, len(watched.itemsets) + gone)
        weight[watched.now < watched.least] = 0.0  # lost already, and no harm can be done any more
        best = None
        for item in sorted(watched.secret.consequent):
            harm = (weight * watched.has[item]) @ watched.held
            place = watched.first(harm)
            if best is None or harm[place] < best[0]:
                best = (float(harm[place]), place, item)
        assert best is not None  # noqa: S101  # a secret has items
        watched.take(best[1], best[2], f"the border loses a weight of {best[0]:.3g} by it, the least")


@declare(HIDING, "maxmin", paper="Moustakides and Verykios 2008")
class MaxMin(_Border):
    """The item whose most endangered border itemset is the most frequent."""

    name: ClassVar[str]

    def _step(self, watched: Watched) -> None:
        alive = watched.now >= watched.least
        best: tuple[float, str, Array] | None = None
        for item in sorted(watched.secret.consequent):
            mine = watched.has[item] & alive
            low = float(watched.now[mine].min()) if mine.any() else np.inf
            if best is None or low > best[0]:
                best = (low, item, mine)
        assert best is not None  # noqa: S101  # a secret has items
        low, item, mine = best
        endangered = (mine & (watched.now == low)) @ watched.held.astype(np.int64)
        touched = mine @ watched.held.astype(np.int64)
        said = f"its rarest border itemset is in {low:,.0f} transactions" if np.isfinite(low) else "no border has it"
        watched.take(watched.first(endangered, touched), item, f"{said}, more than those of other items")
