"""Every column by itself: the simplest selection of marginals, and the baseline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from discreet.verbs.synthesize.graph.measurement import Measurement

if TYPE_CHECKING:
    from discreet.verbs.synthesize.spending import Meter


def select(meter: Meter, known: Sequence[Measurement]) -> list[Measurement]:
    """Each column's counts once more, with as much of what is left for each.

    Why this is private: it only asks the meter, for shares that add up to what the meter has left.
    """
    share = meter.left / len(meter.sizes)
    return [meter.measure((column,), share) for column in range(len(meter.sizes))]
