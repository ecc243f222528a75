"""What a fidelity report shows: columns side by side, heat maps of pairs, and how rows are told apart."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from discreet.core.report import Picture, beside, heat

if TYPE_CHECKING:
    from discreet.utility.faithful.report import Spread

Array = npt.NDArray[Any]

_MOST = 8
"""Columns that are drawn, the worst first."""
_VALUES = 12
_STEPS = 10


def columns(spreads: Sequence[Spread]) -> Iterable[Picture]:
    """The columns that are furthest apart, value by value."""
    for spread in sorted(spreads, key=lambda one: -one.apart)[:_MOST]:
        there = np.flatnonzero(spread.original + spread.synthetic)
        kept = np.sort(there[np.argsort(-(spread.original + spread.synthetic)[there], kind="stable")][:_VALUES])
        series = {
            "original": [100 * float(spread.original[place]) for place in kept],
            "synthetic": [100 * float(spread.synthetic[place]) for place in kept],
        }
        caption = f"Per cent of the rows. {100 * spread.apart:.1f} % of them are in the wrong place."
        yield beside(spread.name, [spread.labels[place] for place in kept], series, caption=caption)


def pair_errors(names: Sequence[str], errors: Array) -> Picture:
    """How far two columns together are from the original, for every two."""
    caption = "The share of rows in the wrong place, of two columns together. Dark is bad."
    return heat("Errors of pairs", names, errors, caption=caption)


def changed(names: Sequence[str], original: Array, synthetic: Array) -> Picture:
    """How far the strength with which columns hang together has moved."""
    both = np.isnan(original) & np.isnan(synthetic)
    moved = np.abs(np.nan_to_num(original) - np.nan_to_num(synthetic))
    caption = "How far correlations, of whatever kind, are from the original ones. Dark is bad."
    return heat("Changes of correlations", names, np.where(both, np.nan, moved), caption=caption)


def propensities(original: Array, synthetic: Array) -> Picture:
    """How likely synthetic rows seem that are, and rows that are not."""
    edges = np.linspace(0, 1, _STEPS + 1)
    shares = [np.histogram(side, edges)[0] / len(side) * 100 for side in (original, synthetic)]
    labels = [f"{low:.1f} to {high:.1f}" for low, high in pairwise(edges)]
    caption = "Per cent of the rows of each side, by how likely a model takes them for synthetic. Alike is good."
    return beside(
        "Told apart",
        labels,
        {"original": shares[0].tolist(), "synthetic": shares[1].tolist()},
        caption=caption,
    )
