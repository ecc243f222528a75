"""MST: a maximum spanning tree of pairs, chosen privately, and a few pairs that no tree can hold.

Winner of a NIST competition (McKenna, Miklau, Sheldon 2021). The columns are joined to a tree, pair by pair, each time
by the pair that the columns taken alone explain worst; and the pairs of the tree are measured. A tree has the fewest
pairs that leave no column on its own, so each gets much of the allowance, and a model of it is fitted and drawn from at
once.

What is worst in such data is not noise: it is a pair whose columns both depend on a third one, and on each other
besides. So a few more pairs are measured, each the one that the model so far gets most wrong. On 13 columns of Adult
this takes a third off the worst pair and off the mean (``bench/synthesize.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from discreet.verbs.synthesize.graph.fitting import fit
from discreet.verbs.synthesize.graph.measurement import Measurement
from discreet.verbs.synthesize.graph.tree import cells
from discreet.verbs.synthesize.select import independent
from discreet.verbs.synthesize.select.workload import USUAL_ERROR, Columns, size, ways

if TYPE_CHECKING:
    from discreet.verbs.synthesize.spending import Meter

CHOICES = Fraction(1, 8)
"""The part of what is left that is spent on choosing. Distances are of hundreds of rows or more where it matters which
pair is chosen: on seven tables a third of the whole, as in the paper, was better on two, by 2 % at the most, and worse
on five."""
COLUMNS_A_PAIR = 2
"""Columns for which there is one pair more than those of the tree."""
SPOILT = 0.5
"""The part of its noise (in a cell that holds less than its noise: of what it holds) that a measurement is thought to
spoil: the fit pulls what is mostly noise back to independence. With the whole noise large pairs were hardly ever
chosen. With half of it, over six turns or more beside three, the worst pair was better by a tenth or so on three of
seven tables and about the same on the others, and the mean over pairs was worse by 2 % at most; a quarter was no
better."""
LARGEST = 1 << 17
"""Cells that the model may have with a pair that no tree can hold."""
WIDEST = 1 << 20
"""Cells that the pairs of a tree may have together."""


def select(meter: Meter, known: Sequence[Measurement]) -> list[Measurement]:
    """The pairs of a tree over all columns, and a few more.

    Why this is private: it only asks the meter, for shares that add up to what the meter has left. The pairs are
    chosen by the exponential mechanism, one after the other, each beside counts that follow from the columns' known
    counts, or from those of the tree; how many choices there are and what each may cost follows from the sizes of the
    columns and from earlier choices. What is not spent on more pairs, since they are too large, is spent on the same
    ones again.
    """
    pairs = [pair for pair in ways(len(meter.sizes), 2) if size(meter.sizes, pair) <= WIDEST]
    if not pairs:
        return independent.select(meter, known)
    joins = len(meter.sizes) - 1
    more = max(min(len(meter.sizes) // COLUMNS_A_PAIR, len(pairs) - joins), 0)
    choice, share = (part * meter.left / (joins + more) for part in (CHOICES, 1 - CHOICES))
    found = [meter.measure(pair, share) for pair in _tree(meter, known, pairs, choice)]
    model = fit(meter.sizes, [*known, *found])
    noise = USUAL_ERROR * meter.deviation(share)  # of a cell
    for _ in range(more):
        held = {one.columns for one in found}
        others = [pair for pair in pairs if pair not in held]
        left = [pair for pair in others if cells(meter.sizes, [*held, pair]) <= LARGEST]
        if not left:
            break
        expected = model.marginals(left)
        penalties = [SPOILT * float(np.minimum(one, noise).sum()) for one in expected]
        at = meter.choose(left, expected, [1] * len(left), penalties, choice)
        found.append(meter.measure(left[at], share))
        model = fit(meter.sizes, [*known, *found], start=model)
    if meter.left:
        again = meter.left / len(found)
        found += [meter.measure(one.columns, again) for one in tuple(found)]
    return found


def _tree(meter: Meter, known: Sequence[Measurement], pairs: Sequence[Columns], choice: Fraction) -> list[Columns]:
    """A spanning tree of the columns, by Kruskal's rule with noise in it; where pairs would be too large, several."""
    expected = dict(zip(pairs, fit(meter.sizes, known).marginals(pairs), strict=True))
    chosen, part = list[Columns](), list(range(len(meter.sizes)))
    room = WIDEST
    while left := [pair for pair in pairs if part[pair[0]] != part[pair[1]] and size(meter.sizes, pair) <= room]:
        at = meter.choose(left, [expected[pair] for pair in left], [1] * len(left), [0] * len(left), choice)
        chosen.append(left[at])
        room -= size(meter.sizes, left[at])
        one, other = (part[column] for column in left[at])
        part = [one if where == other else where for where in part]
    return chosen
