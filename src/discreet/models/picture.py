"""How large the classes of a table are, drawn."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from discreet.core.report import Picture, bars

_BORDERS = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1_000)


def by_size(title: str, sizes: Mapping[int, int], caption: str) -> Picture:
    """How many rows are in classes of what size; ``sizes``: how many classes there are of each.

    Sizes below those that occur are shown, too: that nobody is alone is what one looks for.
    """
    rows = dict.fromkeys(_BORDERS, 0)
    for size, count in sizes.items():
        rows[max(border for border in _BORDERS if border <= size)] += size * count
    last = max(place for place, border in enumerate(_BORDERS) if rows[border])
    ends = dict(pairwise(_BORDERS))
    shown = _BORDERS[: last + 1]
    return bars(title, [_between(low, ends.get(low)) for low in shown], [rows[low] for low in shown], caption=caption)


def _between(low: int, high: int | None) -> str:
    if high is None:
        return f"{low:,} or more"
    return str(low) if high == low + 1 else f"{low:,} to {high - 1:,}"
