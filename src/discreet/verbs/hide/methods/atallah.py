"""The greedy walk through the lattice of itemsets.

Atallah, Bertino, Elmagarmid, Ibrahim and Verykios (1999), "Disclosure limitation of sensitive rules". Where is least
lost by a change? From the secret itemset go to that of its parts, with one item less, which most transactions have, and
on until one item is left: of many, one fewer is missed least. This item leaves the transaction, of those that have the
secret, where it is in fewest pairs that are frequent (and of these in fewest pairs at all). Again until the secret is
hidden.

Why nothing appears that was not there: items only leave, so that no support rises.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from discreet.core.catalogue import declare
from discreet.core.families import HIDING
from discreet.releases.method import Progress, silent
from discreet.verbs.hide.methods.edit import Working, until_hidden
from discreet.verbs.hide.mining.rules import written
from discreet.verbs.hide.problem import HidingProblem, HidingResult
from discreet.verbs.hide.secrets import Secret


@declare(HIDING, "atallah", paper="Atallah and others 1999")
class Atallah:
    """The item that most have, out of the transaction where it touches fewest pairs."""

    name: ClassVar[str]

    def apply(self, problem: HidingProblem, progress: Progress = silent) -> HidingResult:
        """Take one item out of one transaction at a time."""
        working = Working(problem)
        friends: dict[str, list[str]] = {}
        for itemset, _ in problem.frequent:
            if len(itemset) == 2:
                for item in itemset:
                    friends.setdefault(item, []).extend(itemset - {item})

        def hide_one(secret: Secret) -> None:
            while working.excess(secret):
                item, path = _descended(working, secret)
                rows = working.rows(secret.whole)
                pairs = working.has(friends.get(item, []), rows).sum(axis=0)
                best = int(np.lexsort((rows, working.lengths[rows], pairs))[0])
                why = f"{path}; of {len(rows):,} transactions this one touches fewest pairs ({pairs[best]} frequent)"
                working.change(int(rows[best]), item, secret, why)

        until_hidden(working, hide_one, progress)
        return working.outcome()


def _descended(working: Working, secret: Secret) -> tuple[str, str]:
    """The item at the end of the walk, and the walk in words. A rule's item is one of its consequent."""
    here, told = secret.whole, []
    while len(here) > 1:
        parts = [here - {item} for item in sorted(here, reverse=True) if (here - {item}) & secret.consequent]
        supports = [working.support(part) for part in parts]
        here = parts[int(np.argmax(supports))]
        told.append(f"{{{written(here)}}} has the largest support, {max(supports):,}")
    (item,) = here
    return item, ", then ".join(told) or "it is the only item"
