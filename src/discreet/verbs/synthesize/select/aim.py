"""AIM: adaptively measure the marginal that the model gets most wrong, for as long as it pays.

McKenna, Mullins, Sheldon, Miklau 2022. A model is fitted to what was measured so far; among all marginals, the one is
chosen that the model gets most wrong, less the error that measuring it would make itself, and weighted by how much of
the workload it tells about; it is measured, and the model fitted again. Each round costs little. When a measurement
changed the model by no more than its noise, the rounds were too cheap, and each one from then on costs more
(annealing): how many rounds there are follows from the data, and what they cost is known beforehand.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from discreet.verbs.synthesize.graph.fitting import fit
from discreet.verbs.synthesize.graph.measurement import Measurement
from discreet.verbs.synthesize.graph.model import Model
from discreet.verbs.synthesize.graph.tree import cells
from discreet.verbs.synthesize.select.workload import USUAL_ERROR, Columns, closure, relevance, size, ways

if TYPE_CHECKING:
    from discreet.verbs.synthesize.spending import Meter

ROUNDS = 16
"""Rounds for each column, if no round is dearer than the first."""
MEASURED = Fraction(9, 10)
"""The part of a round that is spent on its measurement; the rest on its choice."""
LARGEST = 1 << 20
"""Cells that the model may have when the allowance is spent."""


def select(
    meter: Meter, known: Sequence[Measurement], workload: Sequence[Columns] = (), largest: int = LARGEST
) -> list[Measurement]:
    """The marginals that were chosen, some perhaps more than once.

    Why this is private: it only asks the meter, which refuses to spend more than is left. What is chosen, how dear a
    round is and when it ends follow from the meter's earlier answers alone; the losses of an adaptive sequence add up
    as those of a fixed one, since the sum of what it may spend is fixed beforehand (a filter: Whitehouse, Ramdas,
    Rogers, Wu 2023; for pure losses Rogers, Roth, Ullman, Vadhan 2016).
    """
    sizes, whole = meter.sizes, meter.left
    wanted = workload or ways(len(sizes), min(2, len(sizes)))
    weights = {columns: relevance(columns, wanted) for columns in closure(wanted)}
    share = whole / (ROUNDS * len(sizes))
    found: list[Measurement] = []
    model = fit(sizes, known)
    while meter.left:
        if meter.left < 2 * share:
            share = meter.left
        room = largest * float(1 - (meter.left - share) / whole)
        candidates = [columns for columns in weights if _fits(model, columns, room)]
        chosen = _choose(meter, model, candidates, weights, share)
        found.append(meter.measure(chosen, MEASURED * share))
        before, model = model, fit(sizes, [*known, *found], start=model)
        if _within_noise(before, model, found[-1]):
            share = meter.sharper(share)
    return found


def _fits(model: Model, columns: Columns, room: float) -> bool:
    """Whether the model has these columns together already, or would not become too large with them."""
    inside = set(columns)
    return (
        any(inside <= set(clique) for clique in model.cliques) or cells(model.sizes, [*model.cliques, columns]) <= room
    )


def _choose(
    meter: Meter, model: Model, candidates: Sequence[Columns], weights: dict[Columns, int], share: Fraction
) -> Columns:
    noise = USUAL_ERROR * meter.deviation(MEASURED * share)
    at = meter.choose(
        candidates,
        model.marginals(candidates),
        [weights[columns] for columns in candidates],
        [noise * size(model.sizes, columns) for columns in candidates],
        (1 - MEASURED) * share,
    )
    return candidates[at]


def _within_noise(before: Model, after: Model, last: Measurement) -> bool:
    """Whether a measurement changed the model by no more than its noise would have."""
    changed = np.abs(after.marginal(last.columns) - before.marginal(last.columns)).sum()
    return bool(changed <= USUAL_ERROR * last.deviation * last.counts.size)
