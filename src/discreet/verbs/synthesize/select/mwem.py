"""Multiplicative weights with the exponential mechanism (MWEM), on a model that never lists the whole domain.

Hardt, Ligett, McSherry 2012: start from the columns alone; in each of a fixed number of rounds choose the marginal that
the model gets most wrong, measure it, and learn from it. Weights of all cells of the domain, as in the paper, are out
of reach from some ten columns on; the distribution of maximum entropy with the measured marginals takes their place
(McKenna, Sheldon, Miklau 2019), of which multiplicative weights are an approximation. A baseline: it spends as much on
every round, and does not ask what its own noise would spoil.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from discreet.verbs.synthesize.graph.fitting import fit
from discreet.verbs.synthesize.graph.measurement import Measurement
from discreet.verbs.synthesize.graph.tree import cells
from discreet.verbs.synthesize.select import independent
from discreet.verbs.synthesize.select.workload import ways

if TYPE_CHECKING:
    from discreet.verbs.synthesize.spending import Meter

LARGEST = 1 << 20
"""Cells that the model may have."""


def select(meter: Meter, known: Sequence[Measurement]) -> list[Measurement]:
    """One pair of columns for each round, of which there are as many as columns.

    Why this is private: it only asks the meter, for shares that add up to what the meter has left; how many rounds
    there are does not depend on the data, and each one's choice follows from earlier answers alone. Marginals that are
    too large are left out by the sizes of the columns; where none is left, the columns alone get the rest.
    """
    sizes = meter.sizes
    left = ways(len(sizes), min(2, len(sizes)))
    rounds = min(len(sizes), len(left))
    share = meter.left / (2 * rounds)
    found: list[Measurement] = []
    model = fit(sizes, known)
    for _ in range(rounds):
        left = [columns for columns in left if cells(sizes, [*model.cliques, columns]) <= LARGEST]
        if not left:
            return found + independent.select(meter, known)
        at = meter.choose(left, model.marginals(left), [1] * len(left), [0] * len(left), share)
        found.append(meter.measure(left.pop(at), share))
        model = fit(sizes, [*known, *found], start=model)
    return found
